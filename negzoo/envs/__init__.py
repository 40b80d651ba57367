"""Negotiations as reinforcement-learning environments."""

from negzoo.envs.aec import AGENTS, NegotiationEnv, env, raw_env
from negzoo.envs.codec import Codec
from negzoo.envs.settings import NegotiationSettings

__all__ = ["AGENTS", "Codec", "NegotiationEnv", "NegotiationSettings", "env", "raw_env"]

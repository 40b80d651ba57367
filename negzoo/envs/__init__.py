"""Negotiations as reinforcement-learning environments."""

from negzoo.envs.aec import AGENTS, NegotiationEnv, env, raw_env
from negzoo.envs.codec import Codec
from negzoo.envs.settings import NegotiationSettings
from negzoo.envs.vector_env import NegotiationVectorEnv, vector

__all__ = [
    "AGENTS",
    "Codec",
    "NegotiationEnv",
    "NegotiationSettings",
    "NegotiationVectorEnv",
    "env",
    "raw_env",
    "vector",
]

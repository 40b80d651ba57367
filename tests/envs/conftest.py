"""Hypothesis strategies: random scenarios, settings, and finished negotiations under them."""

from typing import NamedTuple

from hypothesis import strategies as st

from negzoo.engine import ACCEPT, FAULT, NOTHING, WALK
from negzoo.envs import NegotiationSettings
from negzoo.scenario import Issue, Profile, Scenario

shares = st.floats(0, 1)


@st.composite
def profiles(draw, name, shape):
    """A profile for issues of `shape` options each."""
    evaluations = tuple(tuple(draw(st.lists(shares, min_size=k, max_size=k))) for k in shape)
    weights = draw(st.lists(shares, min_size=len(shape), max_size=len(shape)))
    return Profile(name, tuple(weights), evaluations)


@st.composite
def scenarios(draw):
    """Scenarios of 1 to 6 issues, of 1 to 4 options each."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    issues = tuple(Issue(f"issue {i}", tuple(f"option {o}" for o in range(k))) for i, k in enumerate(shape))
    return Scenario("drawn", issues, (draw(profiles("Ann", shape)), draw(profiles("Bob", shape))))


def settings_of(**fixed):
    """Settings of every kind, but short negotiations; `fixed` ones as they are given."""
    varied = {
        "rounds": st.integers(1, 6),
        "clock": st.sampled_from(["paper", "genius"]),
        "first_accept": st.sampled_from(["mask", "fail"]),
        "allow_end": st.booleans(),
        "action_encoding": st.sampled_from(["outcome", "issues"]),
        "mask_in": st.sampled_from(["observation", "info"]),
        "no_deal_reward": st.floats(-1, 0),
        "swap_profiles": st.booleans(),
        "history": st.integers(1, 4),
        "observe_utilities": st.booleans(),
    }
    return st.builds(NegotiationSettings, **varied | {name: st.just(value) for name, value in fixed.items()})


class Game(NamedTuple):
    """A negotiation from its opening to its end."""

    scenario: Scenario
    settings: NegotiationSettings
    moves: list[int]


@st.composite
def games(draw, by_actions=False, **fixed):
    """Finished negotiations; `by_actions`: only such as players can bring about by their actions."""
    scenario, settings = draw(scenarios()), draw(settings_of(**fixed))
    limit = 2 * settings.rounds
    offers = draw(st.lists(st.integers(0, scenario.size - 1), max_size=limit))
    if len(offers) == limit:
        return Game(scenario, settings, offers)
    closing = [ACCEPT, WALK, NOTHING, FAULT]
    if by_actions:
        closing = [ACCEPT, WALK] if settings.allow_end else [ACCEPT]
    return Game(scenario, settings, [*offers, draw(st.sampled_from(closing))])

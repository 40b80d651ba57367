"""The AEC environment: turns, pay, endings, infos, seeds and seated opponents."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import negzoo
from negzoo.engine import ACCEPT, WALK, Ending
from negzoo.envs import AGENTS, NegotiationSettings
from negzoo.errors import MoveError, NegzooError, OpponentError, ScenarioError, SettingsError
from negzoo.opponents import Accept, Offer, Pool, PythonOpponent, Walk, play, resolve
from negzoo.opponents.python import OpponentFault
from negzoo.scenario import load
from negzoo.scenario.catalogue import data_folder
from tests.envs.conftest import games

LAPTOP = load("laptop")
ACCEPTS = LAPTOP.size
INFOS = {"round", "ending", "agreement", "utility", "reply", "member"}


def negotiated(*actions, seed=0, **options):
    """A negotiation over a laptop in which `actions` have been played."""
    env = negzoo.env("laptop", **options)
    env.reset(seed=seed)
    for action in actions:
        env.step(action)
    return env


def played(env, moves):
    """What `last` said at every turn of a negotiation of these `moves`, dead ones too: (agent, reward, over, info)."""
    said, left = [], iter(moves)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        assert not truncated
        said.append((agent, reward, terminated, info))
        env.step(None if terminated else env.unwrapped.codec.to_action(next(left)))
    return said


def replies(env):
    """The negotiation as its seated opponents play it, as a list of the engine's moves."""
    for _ in env.agent_iter():
        *_, terminated, _, info = env.last()
        env.step(None if terminated else info["reply"])
    return env.unwrapped.negotiations.history(0).tolist()


@dataclass(frozen=True)
class Answers(PythonOpponent):
    """Gives the same answer at each turn, and raises it if it is an error."""

    answer: object

    def respond(self, view):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Gambler(PythonOpponent):
    """Offers whatever its random numbers say."""

    def respond(self, view):
        return Offer(int(view.rng.integers(len(view.utilities))))


# Turns


def test_before_the_opening():
    env = negotiated()
    assert env.agents == env.possible_agents == AGENTS == ["player_0", "player_1"]
    assert env.agent_selection == "player_0"
    assert env.rewards == {"player_0": 0, "player_1": 0}
    assert env.terminations == env.truncations == {"player_0": False, "player_1": False}
    observation, reward, *_ = env.last()
    assert (observation["observation"].any(), reward) == (False, 0)


@given(games(by_actions=True))
def test_players_take_turns_and_everyone_hears_of_the_end(game):
    env = negzoo.env(game.scenario, settings=game.settings)
    env.reset()
    turns = [(agent, over) for agent, _, over, _ in played(env, game.moves)]
    assert turns[: len(game.moves)] == [(AGENTS[step % 2], False) for step in range(len(game.moves))]
    assert sorted(turns[len(game.moves) :]) == [("player_0", True), ("player_1", True)]
    assert env.agents == []


def test_forty_rounds_are_forty_moves_of_each():
    env = negotiated(rounds=40)
    turns = [agent for agent, _, over, _ in played(env, [0] * 80) if not over]
    assert [turns.count(agent) for agent in AGENTS] == [40, 40]
    assert env.unwrapped.ending == Ending.DEADLINE


def test_player_1_may_accept_at_its_fortieth_move():
    env = negotiated()
    played(env, [5] * 79 + [ACCEPT])
    assert (env.unwrapped.ending, env.unwrapped.agreement) == (Ending.AGREEMENT, 5)


def test_the_mask_of_whoever_is_not_to_move_is_all_zeros():
    env = negotiated(3)
    assert env.observe("player_1")["action_mask"].all()
    assert not env.observe("player_0")["action_mask"].any()
    env.step(ACCEPTS)
    assert not any(env.observe(agent)["action_mask"].any() for agent in AGENTS)


# Pay


@given(games(by_actions=True))
def test_what_last_pays_sums_up_to_the_utility_of_the_agreement(game):
    scenario, options, moves = game
    env = negzoo.env(scenario, settings=options)
    env.reset()
    paid = dict.fromkeys(AGENTS, 0.0)
    for agent, reward, _, _ in played(env, moves):
        paid[agent] += reward
    if moves[-1] == ACCEPT and len(moves) > 1:
        expected = [scenario.utilities[side][moves[-2]] for side in options.sides]
    else:
        expected = [options.no_deal_reward] * 2
    assert list(paid.values()) == expected


@given(games(by_actions=True))
def test_nobody_is_paid_before_the_end(game):
    env = negzoo.env(game.scenario, settings=game.settings)
    env.reset()
    assert all(reward == 0 for _, reward, over, _ in played(env, game.moves) if not over)


def test_one_negotiation_turn_by_turn():
    """An offer, another, and player_0 accepts: both are paid for the second offer when they are next asked."""
    buyer, seller = LAPTOP.utilities[:, 20]
    assert [turn[:3] for turn in played(negotiated(), [3, 20, ACCEPT])] == [
        ("player_0", 0, False),
        ("player_1", 0, False),
        ("player_0", 0, False),
        ("player_1", seller, True),
        ("player_0", buyer, True),
    ]


@pytest.mark.parametrize(
    ("moves", "ending"),
    [
        ([3, ACCEPT], Ending.AGREEMENT),
        ([3, 4, ACCEPT], Ending.AGREEMENT),
        ([WALK], Ending.WALKED),
        ([3, WALK], Ending.WALKED),
        ([ACCEPT], Ending.BREAKDOWN),
        ([3, 4, 5, 6], Ending.DEADLINE),
    ],
)
@pytest.mark.parametrize("encoding", ["outcome", "issues"])
def test_every_ending_terminates_both_and_pays_both(moves, ending, encoding):
    env = negotiated(rounds=2, allow_end=True, action_encoding=encoding, no_deal_reward=-0.5)
    for move in moves:
        env.step(env.unwrapped.codec.to_action(move))
    assert env.unwrapped.ending == ending
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    pay = LAPTOP.utilities[:, moves[-2]] if ending == Ending.AGREEMENT else [-0.5, -0.5]
    assert list(env.rewards.values()) == list(pay)


def test_swapped_players_are_paid_by_each_others_profile():
    env = negotiated(3, ACCEPTS, swap_profiles=True)
    assert list(env.rewards.values()) == LAPTOP.utilities[::-1, 3].tolist()


@pytest.mark.parametrize(("first_accept", "legal"), [("mask", 0), ("fail", 1)])
def test_accepting_on_the_opening_move_breaks_the_negotiation_down(first_accept, legal):
    env = negotiated(first_accept=first_accept)
    assert env.last()[0]["action_mask"][ACCEPTS] == legal
    env.step(ACCEPTS)
    assert env.unwrapped.ending == Ending.BREAKDOWN
    assert env.rewards == {"player_0": -1, "player_1": -1}


# After the end


def test_an_agent_leaves_once_it_was_told():
    env = negotiated(3, ACCEPTS)
    assert env.agents == AGENTS
    env.step(None)
    assert env.agents == ["player_1"]
    assert env.rewards == {"player_1": 0}
    env.step(None)
    assert (env.agents, env.rewards, env.terminations, env.truncations, env.infos) == ([], {}, {}, {}, {})


def test_nobody_moves_after_the_end():
    with pytest.raises(ValueError, match="the only valid action is None"):
        negotiated(3, ACCEPTS, 5)


def test_a_reset_in_the_middle_begins_afresh():
    env = negotiated(3, 4, 5)
    env.reset()
    assert env.agent_selection == "player_0"
    assert not env.last()[0]["observation"].any()
    assert [turn[:3] for turn in played(env, [7, ACCEPT])][-1] == ("player_1", LAPTOP.utilities[1, 7], True)


# Infos and state


@given(games(by_actions=True))
def test_infos_have_the_same_keys_and_types_throughout(game):
    env = negzoo.env(game.scenario, settings=game.settings)
    env.reset()
    seen = []
    for move in game.moves:
        seen.extend(env.infos.values())
        env.step(env.unwrapped.codec.to_action(move))
    seen.extend(env.infos.values())
    keys = INFOS if game.settings.mask_in_observation else {*INFOS, "action_mask"}
    assert all(info.keys() == keys for info in seen)
    assert {tuple(map(type, info.values())) for info in seen} == {tuple(map(type, seen[0].values()))}


def test_infos_tell_the_round_and_the_end():
    told = [
        [info[key] for key in ("round", "ending", "agreement", "utility")]
        for *_, info in played(negotiated(), [3, 4, 20, ACCEPT])
    ]
    assert told == [
        [1, Ending.RUNNING, -1, 0],
        [1, Ending.RUNNING, -1, 0],
        [2, Ending.RUNNING, -1, 0],
        [2, Ending.RUNNING, -1, 0],
        [2, Ending.AGREEMENT, 20, LAPTOP.utilities[0, 20]],
        [2, Ending.AGREEMENT, 20, LAPTOP.utilities[1, 20]],
    ]


def test_no_agreement_is_worth_nothing_in_the_infos():
    env = negotiated(3, 28, allow_end=True)
    assert [(info["ending"], info["utility"]) for info in env.infos.values()] == [(Ending.WALKED, 0)] * 2


@pytest.mark.parametrize("encoding", ["outcome", "issues"])
def test_masks_in_the_infos(encoding):
    env = negotiated(mask_in="info", action_encoding=encoding)
    codec = env.unwrapped.codec
    env.step(codec.to_action(3))
    for agent, expected in zip(AGENTS, (codec.no_mask(), codec.mask(1)), strict=True):
        assert np.array_equal(np.hstack(env.infos[agent]["action_mask"]), np.hstack(expected))
        assert isinstance(env.observe(agent), np.ndarray)


@given(games(by_actions=True))
def test_the_state_is_what_player_0_observes_and_whose_turn_it_is(game):
    env = negzoo.env(game.scenario, settings=game.settings)
    env.reset()
    for step, move in enumerate([*game.moves, None]):
        seen = env.observe("player_0")
        state = env.state()
        assert env.state_space.contains(state)
        assert np.array_equal(state[:-1], seen["observation"] if isinstance(seen, dict) else seen)
        assert state[-1] == step % 2
        if move is not None:
            env.step(env.unwrapped.codec.to_action(move))


@given(games(by_actions=True))
def test_observations_lie_in_their_space(game):
    env = negzoo.env(game.scenario, settings=game.settings)
    env.reset()
    for move in game.moves:
        assert all(env.observation_space(agent).contains(env.observe(agent)) for agent in AGENTS)
        env.step(env.unwrapped.codec.to_action(move))
    assert all(env.observation_space(agent).contains(env.observe(agent)) for agent in AGENTS)


# Seated opponents


def test_a_reply_is_there_at_the_seated_players_turn_and_only_then():
    best = int(LAPTOP.utilities[1].argmax())
    env, told = negotiated(opponents={"player_1": "Hardliner"}), []
    for action in (3, best, 4):
        told.append([env.infos[agent]["reply"] for agent in AGENTS])
        env.step(action)
    assert told == [[-1, -1], [-1, best], [-1, -1]]


def test_by_issues_a_reply_is_an_option_per_issue_and_a_decision():
    env = negotiated([0, 1, 0, 0], opponents={"player_1": "AcceptFirst"}, action_encoding="issues")
    assert env.infos["player_0"]["reply"].tolist() == [-1] * 4
    assert env.infos["player_1"]["reply"].tolist()[-1] == 1


def test_after_the_end_nobody_replies():
    env = negotiated(3, ACCEPTS, opponents=dict.fromkeys(AGENTS, "Hardliner"))
    assert [info["reply"] for info in env.infos.values()] == [-1, -1]


OPPONENTS = {
    "Random": resolve("Random"),
    "Linear": resolve("Linear"),
    "pool": Pool("pool", (resolve("Random"), resolve("Boulware1"), resolve("AcceptFirst"))),
    "Python": Gambler(),
}


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("second", OPPONENTS)
@pytest.mark.parametrize("first", ["Random", "Linear"])
def test_seated_on_both_sides_they_negotiate_as_they_do_without_an_environment(first, second, swap):
    """The n-th reset of an environment is the n-th negotiation of that seed."""
    players = OPPONENTS[first], OPPONENTS[second]
    env = negzoo.env(LAPTOP, opponents=dict(zip(AGENTS, players, strict=True)), swap_profiles=swap, rounds=10)
    games = play(LAPTOP, *players, games=4, seed=9, rounds=10, sides=(1, 0) if swap else (0, 1))
    for number in range(4):
        env.reset(seed=9 if number == 0 else None)
        assert env.infos["player_1"]["member"] == games.member[1, number]
        assert replies(env) == games.negotiations.history(number).tolist()


def test_looking_does_not_draw():
    """Whoever looks at a turn often sees the same reply, and the strategy goes on as if they had not."""
    looks = []
    for times in (1, 3):
        env = negotiated(opponents=dict.fromkeys(AGENTS, Gambler()), render_mode="ansi", seed=2)
        for _ in range(10):
            seen = {env.last()[4]["reply"] for _ in range(times) if env.render() and env.state().size}
            assert len(seen) == 1
            env.step(seen.pop())
        looks.append(env.unwrapped.negotiations.history(0).tolist())
    assert looks[0] == looks[1]


def test_another_action_than_the_reply_may_be_played_for_a_seated_player():
    env = negotiated(3, opponents={"player_1": "Hardliner"})
    assert env.infos["player_1"]["reply"] != 5
    env.step(5)
    env.step(ACCEPTS)
    assert env.unwrapped.agreement == 5


def test_a_pools_members_turn_up_by_name():
    env = negzoo.env(opponents={"player_1": OPPONENTS["pool"]})
    env.reset(seed=0)
    seen = set()
    for _ in range(30):
        member = env.infos["player_1"]["member"]
        assert env.infos["player_0"]["member"] == 0
        assert env.unwrapped.opponent_name == OPPONENTS["pool"].members[member].name
        seen.add(member)
        env.reset()
    assert seen == {0, 1, 2}


def test_who_sits_where_has_a_name():
    assert negotiated().unwrapped.opponent_name == ""
    assert negotiated(opponents={"player_0": "Linear"}).unwrapped.opponent_name == "Linear"
    both = {"player_0": "Linear", "player_1": "Hardliner"}
    assert negotiated(opponents=both).unwrapped.opponent_name == "Linear / Hardliner"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("swap", [False, True])
def test_an_opponent_holds_the_profile_of_its_seat(agent, swap):
    player = AGENTS.index(agent)
    env = negotiated(*[3] * player, opponents={agent: "Hardliner"}, swap_profiles=swap)
    assert env.infos[agent]["reply"] == LAPTOP.utilities[player ^ swap].argmax()


# What seated opponents do that no action says


@pytest.mark.filterwarnings("ignore::negzoo.opponents.python.OpponentFault")
@pytest.mark.parametrize("encoding", ["outcome", "issues"])
@pytest.mark.parametrize("allow_end", [False, True])
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        (ValueError("lost"), Ending.ERROR),
        ("nonsense", Ending.ERROR),
        (Offer(27), Ending.ERROR),
        (Walk(), Ending.WALKED),
        (None, Ending.BREAKDOWN),
    ],
)
def test_a_strategy_that_fails_or_leaves_ends_the_negotiation_as_what_it_is(answer, ending, agent, allow_end, encoding):
    env = negzoo.env(opponents={agent: Answers(answer)}, allow_end=allow_end, action_encoding=encoding)
    codec = env.unwrapped.codec
    env.reset()
    if agent == "player_1":
        env.step(codec.to_action(3))
    reply = env.infos[agent]["reply"]
    walks = allow_end and ending == Ending.WALKED
    assert np.array_equal(reply, codec.to_action(WALK) if walks else codec.passes())
    env.step(reply)
    assert env.unwrapped.ending == env.infos[agent]["ending"] == ending
    assert env.rewards == {"player_0": -1, "player_1": -1}
    assert all(env.terminations.values())


def test_a_failure_is_told():
    with pytest.warns(OpponentFault, match="Answers, round 1: ValueError: lost"):
        negotiated(3, opponents={"player_1": Answers(ValueError("lost"))})


def test_accepting_is_an_action_like_any_other():
    env = negotiated(3, opponents={"player_1": Answers(Accept())})
    assert env.infos["player_1"]["reply"] == ACCEPTS
    env.step(ACCEPTS)
    assert env.unwrapped.agreement == 3


def test_a_pass_is_for_seated_players_alone():
    env = negotiated(3, opponents={"player_1": Answers(None)})
    env.step(5)
    with pytest.raises(MoveError):
        env.step(env.unwrapped.codec.passes())


# Seeds


def series(seed, opponent="Random"):
    """Three negotiations of a hardliner with `opponent`."""
    env = negzoo.env(opponents={"player_0": "Hardliner", "player_1": opponent}, rounds=8)
    env.reset(seed=seed)
    moves = [replies(env)]
    for _ in range(2):
        env.reset()
        moves.append(replies(env))
    return moves


@pytest.mark.parametrize("opponent", ["Random", Gambler()])
def test_a_seed_fixes_a_series_of_negotiations(opponent):
    first, again, other = series(5, opponent), series(5, opponent), series(6, opponent)
    assert first == again
    assert first != other
    assert len({tuple(moves) for moves in first}) == 3


def test_seeding_again_begins_the_series_again():
    env = negzoo.env(opponents=dict.fromkeys(AGENTS, "Random"), rounds=8)
    runs = []
    for seed in (1, None, 1, None):
        env.reset(seed=seed)
        runs.append(replies(env))
    assert runs[:2] == runs[2:]


def test_the_seats_of_one_environment_draw_differently():
    moves = replies(negotiated(opponents=dict.fromkeys(AGENTS, Gambler()), seed=4))
    assert moves[::2] != moves[1::2]


def test_without_a_seed_one_is_drawn_that_can_be_read():
    env, other = negzoo.env(opponents={"player_0": "Random"}), negzoo.env()
    for each in (env, other):
        each.reset()
    assert env.unwrapped.seed != other.unwrapped.seed
    again = negotiated(opponents={"player_0": "Random"}, seed=env.unwrapped.seed)
    assert again.infos["player_0"]["reply"] == env.infos["player_0"]["reply"]


def test_there_is_no_seed_before_the_first_reset():
    with pytest.raises(SettingsError, match="no seed before its first reset"):
        _ = negzoo.raw_env().seed


# What is refused


@pytest.mark.parametrize("action", [28, -1, 1.0, None, "accept", True])
def test_an_action_that_is_none_is_refused_and_changes_nothing(action):
    env = negotiated(3)
    with pytest.raises(MoveError, match=r"^laptop: action .* 0 to 26 offer an outcome, 27 accepts$"):
        env.step(action)
    assert env.agent_selection == "player_1"
    assert env.unwrapped.negotiations.history(0).tolist() == [3]
    env.step(ACCEPTS)
    assert env.unwrapped.agreement == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"round": 20}, SettingsError, r'unknown setting "round" \(did you mean "rounds"\?\)'),
        ({"colour": "red"}, SettingsError, 'unknown setting "colour" .known: action_encoding, allow_end, clock, '),
        ({"rounds": 0}, SettingsError, "rounds = 0: give a whole number from 1 to 100,000"),
        ({"clock": "genus"}, SettingsError, r'clock = "genus": unknown \(did you mean "genius"\?\)'),
        ({"domain": "laptp"}, ScenarioError, r'no domain "laptp" \(did you mean "laptop"\?\)'),
        ({"domain": "nowhere.toml"}, ScenarioError, "nowhere.toml"),
        ({"opponents": {"player_1": "Lineer"}}, OpponentError, r'"Lineer" \(did you mean "Linear"\?\)'),
        ({"opponents": {"player1": "Linear"}}, OpponentError, r'no agent "player1" \(did you mean "player_1"\?\)'),
        ({"render_mode": "ascii"}, SettingsError, r'render_mode = "ascii": unknown \(did you mean "ansi"\?\)'),
    ],
)
def test_what_cannot_be_used_is_named_with_what_could_be(options, error, message):
    with pytest.raises(error, match=message) as caught:
        negzoo.env(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, np.int64(-7)])
def test_a_negative_seed_is_refused(seed):
    with pytest.raises(SettingsError) as caught:
        negzoo.env().reset(seed=seed)
    assert str(caught.value) == f"seed = {seed!r}: give a whole number of at least 0"


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: negzoo.env(opponents={"player_1": 3}),
        lambda: negzoo.env(opponents={"player_1": Gambler}),
        lambda: negzoo.env(opponents=["player_1"]),
        lambda: negzoo.env(settings={"rounds": 20}),
        lambda: negzoo.env(render_mode=5),
        lambda: negzoo.env().reset(seed="7"),
        lambda: negzoo.env().reset(seed=1.5),
    ],
    ids=["opponent 3", "a class for an opponent", "a list of opponents", "a dict of settings", "mode 5", "'7'", "1.5"],
)
def test_things_of_the_wrong_type_are_refused(misuse):
    with pytest.raises(NegzooError):
        misuse()


def test_moves_before_the_first_reset_are_refused():
    with pytest.raises(AssertionError, match="reset"):
        negzoo.env().step(3)


# Ways to make one


def test_a_domain_by_name_by_path_or_itself():
    path = data_folder() / "domains" / "laptop.toml"
    assert {negzoo.env(domain).unwrapped.scenario for domain in ("Laptop", path, str(path), LAPTOP)} == {LAPTOP}


def test_settings_together_or_one_by_one():
    together = NegotiationSettings(rounds=20, clock="genius")
    assert negzoo.env(settings=together).unwrapped.settings == negzoo.env(rounds=20, clock="genius").unwrapped.settings
    assert negzoo.env(settings=together, rounds=5).unwrapped.settings == NegotiationSettings(rounds=5, clock="genius")


def test_environments_do_not_share_a_negotiation():
    first, second = negotiated(3), negotiated(4)
    assert first.unwrapped.negotiations.history(0).tolist() == [3]
    assert second.unwrapped.negotiations.history(0).tolist() == [4]


@given(st.integers(0, 2**32 - 1))
def test_sampled_actions_under_the_mask_are_always_legal(seed):
    env = negotiated(rounds=5, allow_end=True)
    for number, agent in enumerate(AGENTS):
        env.action_space(agent).seed(seed + number)
    for agent in env.agent_iter():
        observation, _, terminated, *_ = env.last()
        env.step(None if terminated else env.action_space(agent).sample(observation["action_mask"]))
    assert env.unwrapped.ending != Ending.BREAKDOWN

"""The codec: observations against a slow reference, and actions as another way to write moves."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, FAULT, NOTHING, WALK, Negotiations
from negzoo.envs import Codec, NegotiationSettings
from negzoo.errors import MoveError
from negzoo.scenario import Issue, Profile, Scenario, load
from tests.envs.conftest import games, profiles, scenarios, settings_of

LAPTOP = load("laptop")
ROW = np.zeros(1, np.int64)
ENCODINGS = ("outcome", "issues")


def codec_of(scenario=LAPTOP, **options):
    return Codec(scenario, NegotiationSettings(**options))


# Observations


@cache
def outcomes_of(shape):
    return list(product(*map(range, shape)))


def seen_by(player, game, step):
    """What `player` is to observe after `step` moves, number by number."""
    scenario, options, _ = game
    offers = [offer for author in (player, 1 - player) for offer in latest(options.history, game.moves[author:step:2])]
    one_hot = [
        float(offer is not None and outcomes_of(scenario.shape)[offer][issue] == option)
        for offer in offers
        for issue, count in enumerate(scenario.shape)
        for option in range(count)
    ]
    own = scenario.utilities[options.sides[player]]
    worth = [0.0 if offer is None else own[offer] for offer in offers if options.observe_utilities]
    now = step / (2 * options.rounds) if options.clock == "paper" else (step // 2 + 1) / (options.rounds + 1)
    return [*one_hot, *worth, now]


def latest(count, moves):
    """The last `count` offers among `moves`, the latest first, None for each that is missing."""
    offers = [move for move in moves if move >= 0][::-1]
    return (offers + [None] * count)[:count]


@given(games())
def test_both_players_observe_the_latest_offers_and_the_time_at_every_step(game):
    scenario, options, moves = game
    codec, negotiations = Codec(scenario, options), Negotiations(1, options.rounds, options.clock)
    for step in range(len(moves) + 1):
        for player in (0, 1):
            seen, expected = codec.observe(negotiations, ROW, player), seen_by(player, game, step)
            assert seen.dtype == np.float32
            assert seen.tolist() == [np.array(expected, np.float32).tolist()]
        if step < len(moves):
            negotiations.apply(ROW, np.array(moves[step : step + 1], np.int32))


def test_one_observation_number_by_number():
    """Two issues, of 2 and 3 options; player_0 offered (0, 2), player_1 (1, 0), then player_0 (1, 1)."""
    issues = Issue("colour", ("red", "green")), Issue("size", ("S", "M", "L"))
    sides = Profile("Ann", (0.5, 0.5), ((1, 0), (0, 1, 0))), Profile("Bob", (0.25, 0.75), ((0, 1), (1, 0, 0)))
    codec = codec_of(Scenario("shirt", issues, sides), rounds=4, observe_utilities=True)
    negotiations = Negotiations(1, rounds=4)
    for offer in (2, 3, 4):
        negotiations.apply(ROW, np.array([offer], np.int32))
    nothing = [0, 0, 0, 0, 0]
    mine, before, theirs = [0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 0]
    of_player_0 = [*mine, *before, *theirs, *nothing, 0.5, 0.5, 0, 0, 3 / 8]
    of_player_1 = [*theirs, *nothing, *mine, *before, 1, 0, 0.25, 0, 3 / 8]
    assert codec.observe(negotiations, ROW, 0)[0].tolist() == of_player_0
    assert codec.observe(negotiations, ROW, 1)[0].tolist() == of_player_1


@pytest.mark.parametrize(
    ("domain", "length"),
    [("laptop", 37), ("is_bt_acquisition", 69), ("itex_vs_cypress", 61), ("grocery", 89), ("thompson", 101)],
)
def test_the_lengths_of_the_paper(domain, length):
    codec = codec_of(load(domain))
    assert codec.length == length
    assert codec.observation_space().shape == (length,)


@given(games())
def test_observations_lie_in_their_space(game):
    codec, negotiations = Codec(game.scenario, game.settings), Negotiations(1, game.settings.rounds)
    space = codec.observation_space()
    for move in game.moves:
        negotiations.apply(ROW, np.array([move], np.int32))
        assert all(space.contains(codec.observe(negotiations, ROW, player)[0]) for player in (0, 1))


@given(scenarios(), settings_of(), st.lists(st.lists(st.integers(0, 10**6), max_size=4), min_size=1, max_size=5))
def test_rows_are_observed_in_the_order_asked_for(scenario, options, offers):
    codec, batch = Codec(scenario, options), Negotiations(len(offers), options.rounds, options.clock)
    for row, own in enumerate(offers):
        for offer in own:
            batch.apply(np.array([row]), np.full(len(offers), offer % scenario.size, np.int32))
    rows = np.arange(len(offers))[::-2]
    together = codec.observe(batch, rows, 1)
    assert together.shape == (len(rows), codec.length)
    for seen, row in zip(together, rows, strict=True):
        assert np.array_equal(seen, codec.observe(batch, np.array([row]), 1)[0])


@given(games(observe_utilities=True), st.sampled_from((0, 1)), st.data())
def test_what_the_other_side_wants_cannot_be_seen(game, player, data):
    scenario, options, moves = game
    theirs, kept = options.sides[1 - player], list(scenario.profiles)
    kept[theirs] = data.draw(profiles(scenario.profiles[theirs].name, scenario.shape))
    changed = Scenario(scenario.name, scenario.issues, tuple(kept))
    negotiations = Negotiations(1, options.rounds, options.clock)
    for move in moves:
        negotiations.apply(ROW, np.array([move], np.int32))
    seen = [Codec(version, options).observe(negotiations, ROW, player) for version in (scenario, changed)]
    assert np.array_equal(*seen)


# Actions


@pytest.mark.parametrize("allow_end", [False, True])
def test_the_action_spaces(allow_end):
    by_outcome, by_issues = (codec_of(allow_end=allow_end, action_encoding=encoding) for encoding in ENCODINGS)
    assert by_outcome.action_space().n == (29 if allow_end else 28)
    assert by_issues.action_space().nvec.tolist() == [3, 3, 3, 3 if allow_end else 2]


@pytest.mark.parametrize("allow_end", [False, True])
def test_by_outcome_every_action_is_a_move_of_its_own(allow_end):
    codec = codec_of(allow_end=allow_end)
    moves = [codec.to_move(action) for action in range(codec.actions)]
    assert moves == [*range(27), ACCEPT, WALK][: codec.actions]


@given(scenarios(), st.data())
def test_by_issues_the_options_name_the_offer_and_count_for_nothing_otherwise(scenario, data):
    codec = codec_of(scenario, action_encoding="issues", allow_end=True)
    options = data.draw(st.tuples(*(st.integers(0, count - 1) for count in scenario.shape)))
    moves = [codec.to_move(np.array([*options, decision])) for decision in range(3)]
    assert moves == [outcomes_of(scenario.shape).index(options), ACCEPT, WALK]


@given(scenarios(), settings_of(), st.data())
def test_an_action_of_a_move_is_that_move(scenario, options, data):
    codec = Codec(scenario, options)
    endings = [ACCEPT, WALK] if options.allow_end else [ACCEPT]
    move = data.draw(st.integers(0, scenario.size - 1) | st.sampled_from(endings))
    action = codec.to_action(move)
    assert codec.action_space().contains(action)
    assert codec.to_move(action) == move


@given(scenarios(), settings_of(), st.integers(0, 2**32 - 1))
def test_moves_of_many_actions_are_those_of_each(scenario, options, seed):
    codec = Codec(scenario, options)
    space = codec.action_space()
    space.seed(seed)
    actions = [space.sample() for _ in range(10)]
    moves = codec.to_moves(np.array(actions))
    assert moves.dtype == np.int32
    assert moves.tolist() == [codec.to_move(action) for action in actions]


@given(scenarios(), settings_of())
def test_what_no_action_says_is_a_pass_and_no_action(scenario, options):
    codec = Codec(scenario, options)
    unsaid = [NOTHING, FAULT] if options.allow_end else [WALK, NOTHING, FAULT]
    for move in unsaid:
        assert np.array_equal(codec.to_action(move), codec.passes())
    for filler in (codec.passes(), codec.no_action()):
        assert np.shape(filler) == codec.action_space().shape
        with pytest.raises(MoveError):
            codec.to_move(filler)


# Actions that are none

WRONG = [-1, 29, 2**70, 1.0, True, None, "accept", float("nan"), {}, [3], np.array([3])]
WRONG_ISSUES = [5, [0, 0, 0], [0, 0, 0, 0, 0], [0, 3, 0, 0], [0, 0, 0, 3], [0, 0, -1, 0], [0.0] * 4, None, "accept"]


@pytest.mark.parametrize(
    ("encoding", "action"),
    [*(("outcome", action) for action in WRONG), *(("issues", action) for action in WRONG_ISSUES)],
)
def test_anything_else_is_refused_with_the_domain_and_what_is_legal(encoding, action):
    codec = codec_of(action_encoding=encoding, allow_end=True)
    with pytest.raises(MoveError) as caught:
        codec.to_move(action)
    legend = {
        "outcome": "0 to 26 offer an outcome, 27 accepts, or walk away",
        "issues": "an option per issue, then 0 to offer it, 1 to accept, or walk away",
    }
    assert str(caught.value) == f"laptop: action {action!r} is not in {codec.action_space()}; {legend[encoding]}"


@pytest.mark.parametrize(("encoding", "walk"), [("outcome", 28), ("issues", [0, 0, 0, 2])])
def test_walking_away_is_refused_where_it_is_not_allowed(encoding, walk):
    assert codec_of(action_encoding=encoding, allow_end=True).to_move(walk) == WALK
    with pytest.raises(MoveError, match=r"accepts?$"):
        codec_of(action_encoding=encoding).to_move(walk)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_ragged_actions_are_refused(encoding):
    with pytest.raises(MoveError):
        codec_of(action_encoding=encoding).to_move([0, [1, 2]])


@pytest.mark.parametrize(
    "kind", [int, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8]
)
def test_whole_numbers_of_any_type_will_do(kind):
    """Offers and the numbers of actions of this domain, 384 and 385, do not fit into a byte."""
    scenario = load("is_bt_acquisition")
    assert codec_of(scenario).to_move(kind(100)) == 100
    by_issues = codec_of(scenario, action_encoding="issues")
    highest = [size - 1 for size in scenario.shape]
    assert by_issues.to_move(np.array([*highest, 0]).astype(kind)) == 383
    assert by_issues.to_move(np.array([*highest, 1]).astype(kind)) == ACCEPT


# Masks


@given(scenarios(), settings_of(action_encoding="outcome"), st.integers(0, 11))
def test_by_outcome_every_offer_is_legal_and_accepting_once_there_is_one(scenario, options, step):
    codec = Codec(scenario, options)
    may_accept = int(step > 0 or options.first_accept == "fail")
    mask = codec.mask(step)
    assert mask.dtype == np.int8
    assert mask.tolist() == [1] * scenario.size + [may_accept] + [1] * options.allow_end


@given(scenarios(), settings_of(action_encoding="issues"), st.integers(0, 11))
def test_by_issues_there_is_a_mask_for_every_head(scenario, options, step):
    mask = Codec(scenario, options).mask(step)
    may_accept = int(step > 0 or options.first_accept == "fail")
    assert [head.tolist() for head in mask[:-1]] == [[1] * count for count in scenario.shape]
    assert mask[-1].tolist() == [1, may_accept] + [1] * options.allow_end
    assert {head.dtype for head in mask} == {np.dtype(np.int8)}


@settings(max_examples=30)
@given(scenarios(), settings_of(first_accept="mask"), st.integers(0, 2**32 - 1))
def test_gymnasium_samples_with_a_mask_and_never_accepts_on_the_opening_move(scenario, options, seed):
    codec = Codec(scenario, options)
    space = codec.action_space()
    space.seed(seed)
    assert all(codec.to_move(space.sample(codec.mask(0))) != ACCEPT for _ in range(10))


@given(scenarios(), settings_of())
def test_nothing_is_legal_for_whoever_is_not_to_move(scenario, options):
    codec = Codec(scenario, options)
    for none, some in zip(heads(codec.no_mask()), heads(codec.mask(0)), strict=True):
        assert (none.shape, none.dtype) == (some.shape, some.dtype)
        assert some.any()
        assert not none.any()


def heads(mask):
    return mask if isinstance(mask, tuple) else (mask,)

"""Saved policies: what goes in comes out, nothing foreign gets in, and a frozen policy plays as the live one did."""

import json
import pickle
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from negzoo.engine import Negotiations
from negzoo.envs import Codec, NegotiationSettings
from negzoo.errors import CheckpointError, NegzooError
from negzoo.learn import checkpoint
from negzoo.learn.checkpoint import Card, FrozenPolicy, digest_of, load_policy, save_policy
from negzoo.learn.manager import ManagerTraining
from negzoo.learn.network import greedy_actions
from negzoo.opponents import Pool, play, resolve
from negzoo.scenario import load
from tests.learn.bargains import SHORT, TINY, TOY

PPO = replace(TINY, hidden=(8, 8))


def trained(game=SHORT, seat=0):
    """A learner that is no longer quite as it was initialised."""
    training = ManagerTraining(TOY, resolve("Random"), game, PPO, seed=1, learner_seat=seat)
    for _ in training.run(30):
        pass
    return training


def card_of(game=SHORT, side=0, **changes):
    return replace(Card("mine", TOY.name, TOY.hash, side, game, PPO.hidden, {"steps": 30, "seed": 1}), **changes)


@pytest.fixture(scope="module")
def weights():
    return trained().weights_of()


@pytest.fixture
def saved(tmp_path, weights):
    path = tmp_path / "mine.safetensors"
    save_policy(path, card_of(), weights)
    return path


def with_card(path, weights, text):
    """A file like ours, with any text for its card."""
    save_file(weights, path, metadata={"negzoo_format": str(checkpoint.FORMAT), "card": text})
    return path


def with_changed_card(path, weights, **changes):
    return with_card(path, weights, json.dumps({**asdict(card_of()), **changes}))


# Round trip


GAMES = [
    SHORT,
    NegotiationSettings(
        rounds=7,
        clock="genius",
        first_accept="fail",
        allow_end=True,
        action_encoding="issues",
        no_deal_reward=-0.5,
        swap_profiles=True,
        history=3,
        observe_utilities=True,
    ),
]


@pytest.mark.parametrize("game", GAMES, ids=["default", "everything changed"])
def test_what_is_saved_is_loaded(game, tmp_path, weights):
    card = card_of(game, side=1)
    save_policy(tmp_path / "new folder" / "mine.safetensors", card, weights)
    loaded, tensors = load_policy(tmp_path / "new folder" / "mine.safetensors")
    assert loaded == card
    assert tensors.keys() == weights.keys()
    assert digest_of(tensors) == digest_of(weights)


def test_the_header_says_in_json_what_the_policy_is(saved):
    with safe_open(saved, "pt") as file:
        header = file.metadata()
    assert header["negzoo_format"] == "1"
    card = json.loads(header["card"])
    assert card["scenario_hash"] == TOY.hash
    assert card["game"]["rounds"] == SHORT.rounds
    assert card["training"] == {"steps": 30, "seed": 1}
    assert card["versions"].keys() == {"negzoo", "torch", "tianshou"}


def test_a_file_is_loaded_without_pickle(saved, monkeypatch):
    def unpickle(*_, **__):
        raise AssertionError("something was unpickled")

    for module, name in ((torch, "load"), (pickle, "load"), (pickle, "loads"), (pickle, "Unpickler")):
        monkeypatch.setattr(module, name, unpickle)
    assert FrozenPolicy.load(saved, TOY).name == "mine"


def test_a_digest_tells_weights_apart_to_the_bit(weights):
    same = {key: weights[key].clone() for key in reversed(weights)}
    assert digest_of(same) == digest_of(weights)
    same["critic.body.4.bias"] = torch.nextafter(same["critic.body.4.bias"], torch.tensor(2.0))
    assert digest_of(same) != digest_of(weights)


# Writing


def test_a_failed_write_leaves_the_old_file_and_nothing_else(saved, monkeypatch, weights):
    before = saved.read_bytes()

    def half_of_it(_weights, path, **_):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", half_of_it)
    with pytest.raises(CheckpointError, match=r"mine\.safetensors: cannot be written \(.*No space left.*\); choose"):
        save_policy(saved, card_of(), weights)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_path_that_is_a_folder_cannot_be_written(tmp_path, weights):
    (tmp_path / "mine.safetensors").mkdir()
    with pytest.raises(CheckpointError, match=r"mine\.safetensors: cannot be written"):
        save_policy(tmp_path / "mine.safetensors", card_of(), weights)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.safetensors"]


@pytest.mark.parametrize("place", ["file/mine.safetensors", "file/deeper/mine.safetensors", f"{'a' * 300}.safetensors"])
def test_what_cannot_be_a_file_is_told_with_a_way_out(tmp_path, weights, place):
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(CheckpointError) as error:
        save_policy(tmp_path / place, card_of(), weights)
    assert str(error.value).startswith(f"{tmp_path / place}: cannot be written (")
    assert str(error.value).endswith("; choose another folder")
    assert (tmp_path / "file").read_text("utf-8") == "in the way"


def test_a_policy_of_a_game_with_a_numpy_number_of_rounds_is_saved(tmp_path, weights):
    save_policy(tmp_path / "mine.safetensors", card_of(replace(SHORT, rounds=np.int64(4))), weights)
    assert load_policy(tmp_path / "mine.safetensors")[0].game.rounds == 4


# Foreign and damaged files


def refusal(path):
    with pytest.raises(CheckpointError) as error:
        FrozenPolicy.load(path, TOY)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_missing_file_is_told(tmp_path):
    assert refusal(tmp_path / "none.safetensors").startswith(f"{tmp_path / 'none.safetensors'}: no such file")


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.5, 0.999])
def test_a_truncated_file_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    assert refusal(saved).startswith(f"{saved}: not a safetensors file (")


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("dump", [lambda data, path: path.write_bytes(pickle.dumps(data)), torch.save])
def test_a_pickle_is_refused_and_not_opened(tmp_path, dump):
    path = tmp_path / "mine.safetensors"
    dump(Trap(tmp_path / "sprung"), path)
    assert refusal(path).startswith(f"{path}: not a safetensors file (")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("header", "found"), [(None, "none"), ({"format": "pt"}, "none"), ({"negzoo_format": "2", "card": "{}"}, "2")]
)
def test_safetensors_that_are_not_ours_or_of_another_format_are_refused(tmp_path, weights, header, found):
    path = tmp_path / "other.safetensors"
    save_file(weights, path, metadata=header)
    assert refusal(path).startswith(f"{path}: not a negzoo policy of format 1 (found: {found})")


def test_a_missing_card_is_told(tmp_path, weights):
    path = tmp_path / "mine.safetensors"
    save_file(weights, path, metadata={"negzoo_format": "1"})
    assert refusal(path).startswith(f"{path}: its card cannot be read")


@pytest.mark.parametrize(
    "text", ["", "{", "{}", "[]", "3", "null", '"card"', '{"game": {}}', '{"game": 3}', "[" * 9999]
)
def test_a_card_that_is_none_is_told(tmp_path, weights, text):
    path = with_card(tmp_path / "mine.safetensors", weights, text)
    assert refusal(path).startswith(f"{path}: its card cannot be read (")


@pytest.mark.parametrize(
    "changes",
    [
        {"game": {"roundz": 3}},
        {"game": {"rounds": 0}},
        {"game": {"clock": "sundial"}},
        {"game": {"no_deal_reward": "high"}},
        {"game": [4]},
        {"game": None},
        {"hidden": 64},
        {"hidden": "88"},
        {"hidden": []},
        {"hidden": [8.0, 8.0]},
        {"hidden": [8, True]},
        {"side": 2},
        {"side": "0"},
        {"side": True},
        {"side": None},
        {"name": 3},
        {"name": None},
        {"scenario": ["toy"]},
        {"scenario_hash": 0},
        {"training": "a lot"},
        {"versions": ["1.0"]},
        {"colour": "red"},
    ],
    ids=str,
)
def test_a_card_with_a_field_that_cannot_be_is_told(tmp_path, weights, changes):
    path = with_changed_card(tmp_path / "mine.safetensors", weights, **changes)
    assert refusal(path).startswith(f"{path}: its card cannot be read (")


@given(content=st.binary(max_size=400))
def test_random_bytes_are_refused(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.safetensors"
        path.write_bytes(content)
        assert refusal(path).startswith(f"{path}: not a ")


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: {},
        lambda weights: {key: weights[key] for key in weights if not key.startswith("actor.body.0")},
        lambda weights: {**weights, "actor.body.4.bias": torch.zeros(3)},
        lambda weights: {**weights, "actor.body.6.bias": torch.zeros(3)},
    ],
    ids=["none", "a layer is missing", "another shape", "one too many"],
)
def test_weights_that_do_not_fit_the_card_are_refused(tmp_path, weights, damage):
    path = tmp_path / "mine.safetensors"
    save_policy(path, card_of(), damage(weights))
    assert refusal(path).startswith("policy mine: its weights do not fit its card (")


def test_weights_of_another_precision_are_refused(tmp_path, weights):
    path = tmp_path / "mine.safetensors"
    save_policy(path, card_of(), {key: weight.double() for key, weight in weights.items()})
    assert refusal(path) == "policy mine: its weights are not float32"


# Where a policy belongs


def test_another_domain_is_refused(saved):
    with pytest.raises(CheckpointError) as error:
        FrozenPolicy.load(saved, load("laptop"))
    assert str(error.value).startswith(f"policy mine was trained on toy ({TOY.hash}), not on laptop (")


def test_the_same_domain_with_other_figures_is_refused(saved):
    buyer, seller = TOY.profiles
    dearer = replace(TOY, profiles=(replace(buyer, weights=(0.7, 0.3)), seller))
    with pytest.raises(CheckpointError, match="was trained on toy"):
        FrozenPolicy.load(saved, dearer)


def test_the_other_side_and_another_domain_are_refused_at_the_table(weights):
    policy = FrozenPolicy.of(card_of(), weights, TOY)
    with pytest.raises(CheckpointError, match="plays toy with profile 1, not toy with profile 2"):
        policy.seat(TOY, 1, 1)
    with pytest.raises(CheckpointError, match="plays toy with profile 1, not laptop with profile 1"):
        policy.seat(load("laptop"), 0, 1)


def test_a_policy_is_an_opponent_like_any_other(weights):
    policy = FrozenPolicy.of(card_of(), weights, TOY)
    actors = {key.removeprefix("actor."): weight for key, weight in weights.items() if key.startswith("actor.")}
    assert policy.name == "mine"
    assert policy.identity == f"FrozenPolicy({digest_of(actors)})"
    assert policy.members == (policy,)
    assert Pool("two", (policy, resolve("Hardliner"))).seat(TOY, 0, 3)


def test_policies_are_told_apart_as_objects_and_known_again_by_what_they_play(saved, weights):
    one, other = FrozenPolicy.load(saved, TOY), FrozenPolicy.of(card_of(), weights, TOY)
    assert one == one
    assert one != other
    assert len({one, other}) == 2
    assert one.identity == other.identity
    weights = {**weights, "actor.body.4.bias": weights["actor.body.4.bias"] + 1}
    assert FrozenPolicy.of(card_of(), weights, TOY).identity != one.identity


# A frozen policy plays as the live one


def moves_of_the_live_network(training, negotiations, rows, player):
    codec = training.codec
    logits, _ = training.learner.policy.actor(codec.observe(negotiations, rows, player))
    return codec.to_moves(greedy_actions(logits, training.learner.policy.actor.interface.heads).numpy())


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("encoding", ["outcome", "issues"])
def test_a_frozen_policy_plays_what_the_live_network_prefers(seat, encoding, tmp_path):
    game = replace(SHORT, rounds=6, action_encoding=encoding, allow_end=True, observe_utilities=True)
    training = trained(game, seat)
    save_policy(tmp_path / "mine.safetensors", card_of(game, side=seat), training.weights_of())
    policy = FrozenPolicy.load(tmp_path / "mine.safetensors", TOY)
    players = (policy, resolve("Random")) if seat == 0 else (resolve("Random"), policy)
    games = play(TOY, *players, games=50, seed=2, rounds=game.rounds)

    replayed, rows = Negotiations(50, game.rounds), np.arange(50)
    for step in range(2 * game.rounds):
        running, made = replayed.running, games.negotiations.moves[:, step]
        if running.size and step % 2 == seat:
            assert made[running].tolist() == moves_of_the_live_network(training, replayed, running, seat).tolist()
        replayed.apply(rows, made)
    assert np.array_equal(replayed.ending, games.negotiations.ending)
    assert replayed.step.max() > 2


def test_a_frozen_policy_plays_at_both_seats_of_one_table_batch(weights):
    """Rows at which either player is to move get the moves that they get alone."""
    policy = FrozenPolicy.of(card_of(), weights, TOY)
    table = Negotiations(2, SHORT.rounds)
    table.apply(np.array([1]), np.array([0, 3], np.int32))
    together, alone = np.zeros(2, np.int32), np.zeros(2, np.int32)
    seat = policy.seat(TOY, 0, 2)
    seat.reply(np.arange(2), table, together)
    for row in range(2):
        seat.reply(np.array([row]), table, alone)
    assert together.tolist() == alone.tolist()


def test_training_on_does_not_move_a_frozen_policy():
    training = ManagerTraining(TOY, resolve("Random"), SHORT, PPO, seed=1)
    learning = training.run(10**9)
    next(learning)
    policy = FrozenPolicy.of(card_of(), training.weights_of(), TOY)
    before = digest_of(dict(policy.actor.state_dict()))
    next(learning)
    learning.close()
    assert digest_of(dict(policy.actor.state_dict())) == before == policy.digest
    assert not any(weight.requires_grad for weight in policy.actor.parameters())


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("player", [0, 1])
def test_a_policy_sees_its_own_utilities_wherever_it_sits(side, player):
    game = replace(SHORT, observe_utilities=True)
    policy = FrozenPolicy.of(card_of(game, side), trained(game, side).weights_of(), TOY)
    seen = []
    policy.actor.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    table, rows = Negotiations(1, SHORT.rounds), np.zeros(1, np.int64)
    for offer in [4, 3][player:]:
        table.apply(rows, np.array([offer], np.int32))
    policy.seat(TOY, side, 1).reply(rows, table, np.zeros(1, np.int32))
    assert np.array_equal(seen[0], Codec(TOY, game).observe(table, rows, player, side))
    assert seen[0][0, -3] == np.float32(TOY.utilities[side, 3])


def test_every_refusal_is_a_users_mistake():
    assert issubclass(CheckpointError, NegzooError)

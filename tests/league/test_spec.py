"""League files: what is read, and that whatever is wrong is told with its file, its place and a way out."""

from pathlib import Path

import pytest

from negzoo.errors import LeagueError
from negzoo.league.spec import read_league
from negzoo.learn.settings import PPOSettings
from negzoo.opponents import registry, resolve
from negzoo.scenario import load
from tests.league.leagues import TEXT, league_of, write_league

AT_LEAST_1 = "give a whole number of at least 1"
LETTERS = "use letters, digits, - and _"
POOLS = '[pools]\nknown = ["Boulware2", "Linear"]\nunknown = ["Conceder1"]'
TWICE = '[[pretrain]]\npool = "known"\nsteps_per_opponent = 7\n\n[[pretrain]]\n'
SHIPPED = sorted((Path(__file__).resolve().parents[2] / "leagues").glob("*.toml"))


# What is read


def test_a_league_is_read_with_its_names_resolved(tmp_path):
    league = league_of(tmp_path)
    assert league.file.name == "small"
    assert league.scenarios == [load("laptop")]
    assert league.pools["known"].members == (resolve("Boulware2"), resolve("Linear"))
    assert league.pools["known"].weights == ()
    assert league.game.rounds == 40
    assert league.ppo == PPOSettings(horizon=32, envs=4, minibatch=16, epochs=2, hidden=(8, 8))
    assert league.learner_side == 0


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_league_is_valid(path):
    assert read_league(path).file.name == path.stem


def test_what_is_left_out_has_its_default(tmp_path):
    league = league_of(tmp_path, "[evaluation]\ngames = 10\n", "")
    assert (league.file.evaluation.games, league.file.seed, league.file.learner_seat) == (100, 0, 0)
    assert league_of(tmp_path, 'title = "A small league"\n', "").file.title == ""
    assert league_of(tmp_path, "models = 2\n", "").file.models == 10


def test_members_of_a_pool_may_have_weights_and_parameters(tmp_path):
    members = '["Linear", {opponent = "TimeDependent(e=0.3)", weight = 2}]'
    pool = league_of(tmp_path, '["Conceder1"]', members).pools["unknown"]
    assert pool.members == (resolve("Linear"), resolve("TimeDependent(e=0.3)"))
    assert pool.probabilities.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_equal_weights_are_no_weights(tmp_path):
    members = '[{opponent = "Linear", weight = 2.0}, {opponent = "Conceder1", weight = 2}]'
    assert league_of(tmp_path, '["Conceder1"]', members).pools["unknown"].weights == ()


def test_the_lineage_is_that_of_all_opponents_that_do_not_name_one(tmp_path):
    league = league_of(tmp_path, "models = 2", 'lineage = "genius"')
    assert league.pools["unknown"].members == (resolve("Conceder1", "genius"),)


def test_the_learners_side_follows_its_seat_and_the_profiles(tmp_path):
    assert league_of(tmp_path, "models = 2", "learner_seat = 1").learner_side == 1
    assert league_of(tmp_path, "rounds = 40", "swap_profiles = true").learner_side == 1


def test_a_stage_may_have_its_own_number_of_models(tmp_path):
    league = league_of(tmp_path, "steps = 100", "steps = 100\nmodels = 5")
    assert league.models(league.file.finetune[0]) == 5
    assert league.models(league.file.baseline[0]) == 2


STUBBORN = """
from negzoo.opponents import Offer, PythonOpponent, register

@register("Stubborn")
class Stubborn(PythonOpponent):
    def respond(self, view):
        return Offer(view.best)
"""


@pytest.fixture
def own_opponents(tmp_path, monkeypatch):
    """A league with opponents of one's own in a file beside it, and a registry that forgets them after the test."""
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    (tmp_path / "mine.py").write_text(STUBBORN, "utf-8")
    path = write_league(tmp_path / "league.toml", '["Conceder1"]', '["Stubborn", "Conceder1"]')
    path.write_text(f'opponent_files = ["mine.py"]\n{path.read_text("utf-8")}', "utf-8")
    return path


def test_opponents_of_ones_own_are_found_beside_the_league_file(own_opponents, monkeypatch):
    monkeypatch.chdir("/")
    league = read_league(own_opponents, scale=0.5)
    assert [opponent.name for opponent in league.pools["unknown"].members] == ["Stubborn", "Conceder1"]
    assert league.opponent_files == (own_opponents.with_name("mine.py"),)


# What the command line overrides


def test_models_and_domains_are_overridden_everywhere(tmp_path):
    league = league_of(tmp_path, "steps = 100", "steps = 100\nmodels = 5", domains=["grocery", "laptop"], models=3)
    assert [scenario.name for scenario in league.scenarios] == ["grocery", "laptop"]
    stages = [*league.file.baseline, *league.file.pretrain, *league.file.finetune]
    assert [league.models(stage) for stage in stages] == [3, 3, 3]


@pytest.mark.parametrize(("scale", "steps"), [(1.0, (500, 300, 100)), (0.5, (250, 150, 50)), (1e-9, (1, 1, 1))])
def test_the_scale_multiplies_all_steps_and_leaves_at_least_one(tmp_path, scale, steps):
    file = league_of(tmp_path, scale=scale).file
    assert (file.baseline[0].steps, file.pretrain[0].steps_per_opponent, file.finetune[0].steps) == steps


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"scale": 0.0}, "--scale 0.0: give a positive number"),
        ({"scale": -1.0}, "--scale -1.0: give a positive number"),
        ({"scale": float("nan")}, "--scale nan: give a positive number"),
        ({"scale": float("inf")}, "--scale inf: give a positive number"),
        ({"models": 0}, "--models 0: give a whole number from 1 to 10,000"),
        ({"models": -2}, "--models -2: give a whole number from 1 to 10,000"),
        ({"models": 10**11}, "--models 100000000000: give a whole number from 1 to 10,000"),
        ({"domains": ["laptp"]}, '--domains: no domain "laptp" (did you mean "laptop"?)'),
        ({"domains": ["grocery", "mine.toml"]}, "--domains: mine.toml: no such file"),
        ({"domains": ["laptop", "grocery", "laptop"]}, 'domains: "laptop" is there twice'),
    ],
)
def test_an_override_that_cannot_be_is_told(tmp_path, overrides, message):
    with pytest.raises(LeagueError) as error:
        league_of(tmp_path, **overrides)
    assert str(error.value).startswith(message)


def test_a_mistake_in_the_file_is_told_even_where_it_is_overridden(tmp_path):
    path = write_league(tmp_path / "league.toml", '["laptop"]', '["lapto"]')
    with pytest.raises(LeagueError) as error:
        read_league(path, domains=["laptop"])
    assert str(error.value).startswith(f'{path}: no domain "lapto" (did you mean "laptop"?)')


# What is wrong


def complaint(path):
    with pytest.raises(LeagueError) as error:
        read_league(path)
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"Conceder1"',
            '"Concedar1"',
            'pool "unknown", entry 1: unknown opponent "Concedar1" (did you mean "Conceder1"?)',
        ),
        ('"Linear"', '"Quadratic"', 'pool "known", entry 2: unknown opponent "Quadratic" (known: A'),
        (
            '"Conceder1"',
            '"TimeDependent(e=-1)"',
            'pool "unknown", entry 1: TimeDependent: e = -1: give a number above 0',
        ),
        ('"Conceder1"', '"Linear(f=1)"', 'pool "unknown", entry 1: opponent "Linear(f=1)": unknown parameter "f"'),
        ('"Conceder1"', '"Conceder 1"', 'pool "unknown", entry 1: cannot read opponent "Conceder 1": write a name, or'),
        ('"Linear"]', '"Boulware2"]', 'pool "known": Boulware2 is in it twice; use weights to favour a member'),
        ('["laptop"]', '["lapto"]', 'no domain "lapto" (did you mean "laptop"?)'),
        ('["laptop"]', '["mine.toml"]', "mine.toml: no such file"),
        (
            'opponents = "unknown"\nsteps = 500',
            'opponents = "unknwn"\nsteps = 500',
            "baseline 1: opponents: unknown pool ",
        ),
        ('pool = "known"', 'pool = "knwn"', 'pretrain 1: pool: unknown pool "knwn" (did you mean "known"?)'),
        ('from = "known"', 'from = "unknown"', 'finetune 1: from: no [[pretrain]] for pool "unknown"'),
        (
            'opponents = "unknown"\nsteps = 100',
            'opponents = "T9"\nsteps = 100',
            'finetune 1: opponents: unknown pool "T9" (known: known,',
        ),
        (
            '[[pretrain]]\npool = "known"\nsteps_per_opponent = 300\n',
            "",
            'finetune 1: from: no [[pretrain]] for pool "known"',
        ),
    ],
)
def test_an_unknown_name_is_told_with_its_place(tmp_path, old, new, message):
    assert complaint(write_league(tmp_path / "league.toml", old, new)).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "place", "hint"),
    [
        ("models = 2", "models = 2\nmodls = 3", 'unknown key "modls"', "models"),
        ("[evaluation]\ngames = 10", "[evaluations]\ngames = 10", 'unknown key "evaluations"', "evaluation"),
        ('["Conceder1"]', '[{opponent = "Linear", wieght = 2}]', 'pool "unknown", entry 1: ', "weight"),
        ("steps = 500", "steps = 500\nmodel = 3", "baseline 1: ", "models"),
        ("steps_per_opponent = 300", "steps_per_opponent = 300\nmdels = 3", "pretrain 1: ", "models"),
        ("steps = 100", "steps = 100\nopponent = 3", "finetune 1: ", "opponents"),
        ("games = 10", "games = 10\ngmes = 10", "evaluation: ", "games"),
        ("envs = 4", "learnig_rate = 0.1", "[ppo]: ", "learning_rate"),
        ("rounds = 40", "round = 40", "[game]: ", "rounds"),
    ],
)
def test_an_unknown_key_is_told_with_the_one_that_was_meant(tmp_path, old, new, place, hint):
    message = complaint(write_league(tmp_path / "league.toml", old, new))
    assert place in message
    assert message.endswith(f'(did you mean "{hint}"?)')


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ('name = "small"', 'nmae = "small"', "name"),
        ("steps = 500", "step = 500", "steps"),
        ('from = "known"', 'form = "known"', "from"),
    ],
)
def test_a_misspelt_key_that_has_to_be_given_is_told_with_the_one_that_was_meant(tmp_path, old, new, hint):
    message = complaint(write_league(tmp_path / "league.toml", old, new))
    assert message.endswith(f'(did you mean "{hint}"?)')


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ('name = "small"\n', "name"),
        ('domains = ["laptop"]\n', "domains"),
        ("steps = 500\n", "baseline 1: steps"),
        ('pool = "known"\n', "pretrain 1: pool"),
        ("steps_per_opponent = 300\n", "pretrain 1: steps_per_opponent"),
        ('from = "known"\n', "finetune 1: from"),
    ],
)
def test_what_has_to_be_given_is_missed(tmp_path, line, place):
    assert complaint(write_league(tmp_path / "league.toml", line, "")) == f"{place}: missing; it has to be given"


def test_a_member_without_a_name_is_missed(tmp_path):
    path = write_league(tmp_path / "league.toml", '["Conceder1"]', "[{weight = 2}]")
    assert complaint(path) == 'pool "unknown", entry 1: opponent: missing; it has to be given'


@pytest.mark.parametrize("value", ["0", "-5", "1.5", "100000.0"])
@pytest.mark.parametrize(
    ("place", "key", "given"),
    [("baseline 1", "steps", 500), ("pretrain 1", "steps_per_opponent", 300), ("finetune 1", "steps", 100)],
)
def test_steps_are_whole_numbers_of_at_least_1(tmp_path, place, key, given, value):
    message = complaint(write_league(tmp_path / "league.toml", f"{key} = {given}", f"{key} = {value}"))
    assert message.startswith(f"{place}: {key}: ")
    assert f"(given: {value})" in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 500", 'steps = "many"', "baseline 1: steps: give a whole number (given: 'many')"),
        ("steps = 500", "steps = 500\nmodels = 0", f"baseline 1: models: {AT_LEAST_1} (given: 0)"),
        ("models = 2", "models = 0", f"models: {AT_LEAST_1} (given: 0)"),
        ("models = 2", "models = 2.0", "models: give a whole number (given: 2.0)"),
        ("models = 2", 'models = "2"', "models: give a whole number (given: '2')"),
        ("models = 2", "models = true", "models: give a whole number (given: True)"),
        ("models = 2", "seed = -1", "seed: give a whole number of at least 0 (given: -1)"),
        ("models = 2", "learner_seat = -1", "learner_seat: give a whole number of at least 0 (given: -1)"),
        ("models = 2", "learner_seat = 2", "learner_seat: give a whole number of at most 1 (given: 2)"),
        ("models = 2", "learner_seat = true", "learner_seat: give a whole number (given: True)"),
        ("models = 2", "learner_seat = 1.0", "learner_seat: give a whole number (given: 1.0)"),
        ("models = 2", 'lineage = "papr"', "lineage: give 'paper' or 'genius' (given: 'papr')"),
        ("models = 2", "lineage = 3", "lineage: give 'paper' or 'genius' (given: 3)"),
        ("models = 2", 'trainer = "manger"', "trainer: give 'population' or 'manager' (given: 'manger')"),
        ('name = "small"', 'name = "a/b"', f"name: {LETTERS} (given: 'a/b')"),
        ('name = "small"', 'name = "../up"', f"name: {LETTERS} (given: '../up')"),
        ('name = "small"', 'name = "small\\n"', f"name: {LETTERS} (given: 'small\\n')"),
        ('name = "small"', 'name = ""', f"name: {LETTERS} (given: '')"),
        ('name = "small"', "name = 3", "name: give a text (given: 3)"),
        ('title = "A small league"', "title = 3", "title: give a text (given: 3)"),
        ('["laptop"]', '"laptop"', "domains: give a list (given: 'laptop')"),
        ('["laptop"]', "[3]", "domains 1: give a text (given: 3)"),
        ('["laptop"]', "[]", "domains: give at least one (given: [])"),
        ('["laptop"]', '["laptop", "grocery", "laptop"]', 'domains: "laptop" is there twice'),
        ('["laptop"]', '["laptop", "Laptop"]', 'domains: "laptop" is there twice'),
        ("models = 2", 'opponent_files = "mine.py"', "opponent_files: give a list (given: 'mine.py')"),
        ("models = 2", "opponent_files = [3]", "opponent_files 1: give a text (given: 3)"),
        (POOLS, "pools = 3", "pools: give a table (given: 3)"),
        (POOLS, "[pools]", "pools: give at least one (given: {})"),
        ('["Conceder1"]', "[3]", 'pool "unknown", entry 1: give a table (given: 3)'),
        ('["Conceder1"]', '"Conceder1"', "pool \"unknown\": give a list (given: 'Conceder1')"),
        ('["Conceder1"]', "[]", 'pool "unknown": give at least one (given: [])'),
        ('["Conceder1"]', "[{opponent = 3}]", 'pool "unknown", entry 1: opponent: give a text (given: 3)'),
        ("[[pretrain]]", "[pretrain]", "pretrain: give a list (given: {'pool': 'known', 'steps_per_opponent': 300})"),
        ("[[pretrain]]\n", TWICE, 'pretrain: pool: "known" is there twice'),
        ("[evaluation]", "[[evaluation]]", "evaluation: give a table (given: [{'games': 10}])"),
        ("[game]", "[[game]]", "game: give a table (given: [{'rounds': 40}])"),
        ("games = 10", "games = 0", f"evaluation: games: {AT_LEAST_1} (given: 0)"),
        ("games = 10", 'games = "all"', "evaluation: games: give a whole number (given: 'all')"),
        ("rounds = 40", "rounds = 0", "[game]: rounds = 0: give a whole number from 1 to 100,000"),
        ("rounds = 40", 'clock = "papr"', '[game]: clock = "papr": unknown (did you mean "paper"?)'),
        ("rounds = 40", "allow_end = 1", "[game]: allow_end = 1: give true or false"),
        ("rounds = 40", "no_deal_reward = nan", "[game]: no_deal_reward = nan: give a finite number"),
        ("rounds = 40", "no_deal_reward = true", "[game]: no_deal_reward = True: give a finite number"),
        ("envs = 4", "gamma = 1.5", "[ppo]: gamma = 1.5: give a number from 0 to 1"),
        ("envs = 4", "learning_rate = -1", "[ppo]: learning_rate = -1: give a number above 0"),
        ("envs = 4", 'normalise_advantages = "no"', "[ppo]: normalise_advantages = 'no': give true or false"),
        ("hidden = [8, 8]", "hidden = 8", "[ppo]: hidden = 8: give a list of widths, such as [64, 64]"),
        ("envs = 4", "envs = 5", "[ppo]: horizon = 32: give a multiple of envs = 5"),
        ("envs = 4", 'preset = "papr"', '[ppo]: unknown preset "papr" (did you mean "paper"?)'),
        ("envs = 4", "preset = 3", '[ppo]: unknown preset "3" (known: paper)'),
        ("envs = 4", "preset = []", '[ppo]: unknown preset "[]" (known: paper)'),
    ],
)
def test_a_value_that_cannot_be_is_told_with_its_place(tmp_path, old, new, message):
    assert complaint(write_league(tmp_path / "league.toml", old, new)) == message


@pytest.mark.parametrize(
    ("weight", "wanted"),
    [
        ("0", "give a number above 0"),
        ("-1", "give a number above 0"),
        ("nan", "give a number above 0"),
        ('"2"', "give a number (given: '2')"),
        ("true", "give a number (given: True)"),
        ("[2]", "give a number (given: [2])"),
    ],
)
def test_a_weight_is_a_number_above_0(tmp_path, weight, wanted):
    members = f'[{{opponent = "Linear", weight = {weight}}}]'
    message = complaint(write_league(tmp_path / "league.toml", '["Conceder1"]', members))
    assert message.startswith(f'pool "unknown", entry 1: weight: {wanted}')


def test_of_several_mistakes_a_key_that_is_unknown_is_told_first(tmp_path):
    """It may be the one that is missing, misspelt."""
    path = write_league(tmp_path / "league.toml", "steps = 500", 'stesp = 500\nmodels = "two"')
    path.write_text(path.read_text("utf-8").replace("models = 2\n", "models = 0\n"), "utf-8")
    assert complaint(path) == 'baseline 1: unknown key "stesp" (did you mean "steps"?)'


def test_a_pool_to_start_from_is_given_under_one_name_only(tmp_path):
    """The name that it has in Python is no key."""
    path = write_league(tmp_path / "league.toml", 'from = "known"', 'from = "known"\npretrained_on = "known"')
    assert complaint(path) == 'finetune 1: unknown key "pretrained_on" (known: from, models, opponents, steps)'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "{}: no such Python file"),
        ("\n1 / 0", "{}, line 2: ZeroDivisionError: division by zero"),
        ("x = 1\ndef", "{}, line 2: SyntaxError: "),
        ("", 'pool "unknown", entry 1: unknown opponent "Stubborn" (known: '),
    ],
)
def test_a_mistake_in_a_file_of_opponents_is_told(own_opponents, content, message):
    mine = own_opponents.with_name("mine.py")
    mine.unlink()
    if content is not None:
        mine.write_text(content, "utf-8")
    assert complaint(own_opponents).startswith(message.format(mine))


def test_a_league_that_trains_nothing_is_told(tmp_path):
    path = tmp_path / "league.toml"
    path.write_text(TEXT[: TEXT.index("[[baseline]]")], "utf-8")
    assert complaint(path) == "nothing to train: add a [[baseline]] or a [[pretrain]]"


def test_a_missing_file_is_told(tmp_path):
    assert complaint(tmp_path / "none.toml").startswith("no such file; give the path of a league file")


def test_a_folder_is_no_league(tmp_path):
    assert complaint(tmp_path).startswith("cannot be read (")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name = [", "not valid TOML: "),
        (b'name = "a"\nname = "b"', "not valid TOML: "),
        (b"\xff\xfe\x00", "cannot be read ("),
        (b"", "name: missing"),
    ],
)
def test_a_file_that_is_no_toml_is_told(tmp_path, content, message):
    path = tmp_path / "league.toml"
    path.write_bytes(content)
    assert complaint(path).startswith(message)

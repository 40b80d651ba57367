"""`negzoo bench`: what it prints."""

import json

from negzoo.bench.measure import machine
from negzoo.bridges import negmas

SMALL = ("--domains", "laptop", "--opponents", "Linear,TitForTat(gamma=3)", "--batch", "4", "--repeats", "3")


def test_a_line_per_opponent_under_the_machine(negzoo_cli, monkeypatch):
    monkeypatch.setattr(negmas, "available", lambda: False)
    result = negzoo_cli("bench", "opponents", *SMALL)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith(machine()["processor"])
    assert max(map(len, lines)) <= 80
    named = [line.split()[0] for line in lines if " to " in line and "," in line]
    assert named == ["Linear", "TitForTat(gamma=3)"]
    assert "NegMAS is not installed" in result.stdout


def test_as_json_every_repeat_is_told(negzoo_cli, monkeypatch):
    monkeypatch.setattr(negmas, "available", lambda: False)
    told = json.loads(negzoo_cli("bench", "opponents", *SMALL, "--json").stdout)
    assert told["machine"] == machine()
    assert (told["batch"], told["repeats"], told["lineage"]) == (4, 3, "paper")
    assert [measured["opponent"] for measured in told["speeds"]] == ["Linear", "TitForTat(gamma=3)"]
    for measured in told["speeds"]:
        assert len(measured["rates"]) == 3
        low, high = measured["quartiles"]
        assert low <= measured["median"] <= high


def test_an_unknown_opponent_is_told_in_one_line(negzoo_cli):
    result = negzoo_cli("bench", "opponents", "--opponents", "Lineal")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)

"""`fabric collective choose`."""

from __future__ import annotations

import json

import pytest

from fabric.cli.main import main


def test_the_table_has_a_row_for_each_size_with_the_choice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collective", "choose", "all-reduce", "--nodes", "4", "--sizes", "64MiB,1GiB"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "MiB" in line or "GiB" in line]
    assert rows[0][0] == "64MiB"
    assert rows[0][-5:-3] == ["ring", "LL128"]
    assert rows[1][-5:-3] == ["ring", "Simple"]
    assert "5813.6" in rows[1]


def test_sizes_are_spaced_by_a_factor_as_those_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collective", "choose", "all-reduce", "--sizes", "1KiB:4GiB:4", "--json"]) == 0
    assert [it["size_bytes"] for it in json.loads(capsys.readouterr().out)] == [1024 * 4**it for it in range(12)]


def test_json_has_the_reason_and_every_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collective", "choose", "all-reduce", "--nodes", "4", "--sizes", "64MiB", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["reason"] == "ring LL128 512.4 us, tree LL128 515.8 us"
    assert len(found["predictions"]) == 21
    assert {it["unusable"] is None for it in found["predictions"]} == {True, False}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--generation", "ampere"], "not known"),
        (["--sizes", "5"], "no unit"),
        (["--sizes", "2MiB:1MiB"], "is not FROM:TO[:FACTOR]"),
        (["--sizes", "1KiB:4KiB:1"], "is not FROM:TO[:FACTOR]"),
        (["--sizes", ","], "--sizes"),
        (["--channels", "16"], "COUNT:GB/S"),
        (["--channels", "0:nan"], "carries nothing"),
        (["--nodes", "0"], "nodes"),
        (["--nodes", "1", "--gpus-per-node", "1", "--channels", "8:20"], "single rank"),
        (["--generation", "ampere", "--channels", "8:20", "--nvls", "8:20"], "do not reduce"),
    ],
)
def test_bad_options_are_one_clear_error(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collective", "choose", "all-reduce", *options]) == 2
    assert text in capsys.readouterr().err

"""`fabric headroom --explain`: the table of terms as text and JSON, its options, and bad input."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.theory.headroom import TERMS

PORT = ["headroom", "--speed", "400G", "--cable", "40m", "--mtu", "9216", "--platform", "sn4700"]


def need(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main([*PORT, "--json", "--explain", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["need"]
    return found


def test_every_term_is_printed_with_bytes_time_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PORT, "--explain"]) == 0
    table = capsys.readouterr().out.partition("terms of the need:")[2]
    rows = [line.split() for line in table.splitlines() if line.split()[:1] and line.split()[0] in TERMS]
    assert [row[0] for row in rows] == list(TERMS)
    assert "reception here                     30000     600.0\n      from the last bit" in table
    assert "need                               96048" in table
    assert "`headroom: auto` of a scenario with this port, chip and latency: 220896 B" in table


def test_json_has_the_same_terms(capsys: pytest.CaptureFixture[str]) -> None:
    found = need(capsys)
    assert sum(term["bytes"] for term in found["terms"]) == found["bytes"] == 96_048
    assert {term["key"]: term["ns"] for term in found["terms"]}["response"] == 579.2
    assert found["auto_bytes"] == 220_896
    assert main([*PORT, "--json"]) == 0
    assert "terms" not in json.loads(capsys.readouterr().out)["need"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--latency", "0ns"], 66_816 - 4_176),
        (["--response", "worst"], 121_104),
        (["--response", "0ns"], 66_816),
        (["--frames", "145"], (88_302 * 10 // 1650 + 2) * 288),
        (["--frames", "64..4174"], 88_302 * 288 // 165 // 144 * 144 + 2 * 4_176),
        (["--cell", "256"], 23 * 17 * 256),
        (["--fec"], 25 * 4_176),
        (["--macsec"], 34 * 4_176),
        (["--classes", "8"], 23 * 4_176),
        (["--frames", "64..4174", "--classes", "8"], (88_302 + 588) * 288 // 165 // 144 * 144 + 2 * 4_176),
        (["--without", "latency,response"], 8 * 4_176),
        (["--without", "cells"], 88_302 + 2 * 4_194),
    ],
    ids=str,
)
def test_an_option_changes_the_need(options: list[str], expected: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert need(capsys, *options)["bytes"] == expected


def test_the_assumptions_are_stated_beside_a_checked_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PORT, "--xoff", "77824"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "xoff 77824 B is 18224 B less than the need of 96048 B if the peer stops in half of the 802.3 limit, "
        "reception takes 600ns, frames of 4174 B, cells of 144 B; below bound D of 802.3, 96520 B: lost if the peer "
        "takes as long to stop as 802.3 allows"
    )
    assert main([*PORT, "--xoff", "77824", "--latency", "0ns"]) == 0
    assert " is enough for the need of 62640 B if the peer stops in half" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(("xoff", "code"), [("96047", 1), ("96048", 0)])
def test_a_headroom_below_the_need_is_a_finding(xoff: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PORT, "--xoff", xoff]) == code
    assert main([*PORT, "--xoff", xoff, "--json"]) == code
    capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--latency", "600"], "has no unit"),
        (["--latency", "2ms"], "outside 0ns..1ms"),
        (["--response", "best"], "not a time"),
        (["--frames", "63"], "64..9638"),
        (["--frames", "4174..64"], "shorter one first"),
        (["--cell", "0"], "1..16384"),
        (["--classes", "9"], "1..8"),
        (["--without", "cable,delay"], "'delay' is no term"),
    ],
    ids=str,
)
def test_a_bad_option_is_refused(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PORT, *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--latency", "0ns"), ("--peer-response", "half")])
def test_assumptions_of_headroom_have_no_effect_on_reachability(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "nowhere", "--reach", *option]) == 2
    assert "is for checks, and --reach runs none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (("--xoff", "100000", "--response", "worst"), "xoff 100000 B is 21104 B less than the need of 121104 B"),
        (("--xoff", "96048"), "xoff 96048 B is enough for the need of 96048 B"),
        (("--xoff", "20000"), "xoff 20000 B is 76048 B less than the need of 96048 B"),
    ],
)
def test_the_need_decides_and_the_bounds_are_named_as_what_they_are(
    options: tuple[str, ...], first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*PORT, *options])
    verdict = capsys.readouterr().out.splitlines()[-1]
    assert verdict.startswith(first)
    assert "of 802.3, " in verdict or verdict.endswith("no bound of 802.3 is missed")


@pytest.mark.parametrize(
    "options",
    [
        ("--speed", "400", "--cable", "40m"),
        ("--speed", "400G", "--cable", "40"),
        ("--speed", "400G", "--latency", "250"),
    ],
)
def test_a_hint_of_a_bad_quantity_is_on_the_line_of_the_error(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["headroom", *options]) == 2
    text = capsys.readouterr().err
    assert "has no unit; write a number and one of" in text
    assert "\\n" not in text


def test_a_negative_length_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["headroom", "--speed", "400G", "--cable", "-5m"]) == 2
    text = capsys.readouterr().err
    assert "'-5m'" in text
    assert "expected one argument" not in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_tables_fit_the_terminal_and_lose_nothing(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    main([*PORT, "--explain"])
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", str(width))
    main([*PORT, "--explain"])
    narrow = capsys.readouterr().out
    assert narrow.split() == whole.split()
    tables = [line for line in narrow.splitlines() if line.startswith("  ")]
    assert max(map(len, tables)) <= width < max(map(len, whole.splitlines()))

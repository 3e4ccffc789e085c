"""`fabric validate --recommend`: each value holds, and one step worse fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.recommend import alpha, headroom
from fabric.recommend.alpha import find_alpha
from fabric.recommend.classes import PortClass, Present, SwitchClass
from fabric.recommend.headroom import Corner, find_headroom
from fabric.recommend.marking import Curve, MarkingFound, Score, _best, find_marking
from fabric.recommend.recommend import curve_verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "validate"))

from fabrics import HOSTS, small_fabric

UPLINK = PortClass("spectrum3", 400_000, 40, 9216, "switch", 4096)


def leaf(ports: int, class_: PortClass = UPLINK) -> SwitchClass:
    return SwitchClass("spectrum3", 60_817_392, 1, ((class_, ports),), ("leaf1",), Present())


@pytest.fixture
def few_corners(monkeypatch: pytest.MonkeyPatch) -> list[Corner]:
    corners = [Corner(4158, False, "worst", 0), Corner(145, False, "worst", 3), Corner(145, True, "half", 0)]
    monkeypatch.setattr(headroom, "_corners", lambda _: iter(corners))
    return corners


@pytest.fixture
def configs(tmp_path: Path) -> Path:
    folder = tmp_path / "configs"
    folder.mkdir()
    for name, tables in small_fabric().items():
        (folder / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    (folder / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")
    return folder


def test_the_recommended_headroom_loses_nothing_and_one_frame_less_than_needed_does(few_corners: list[Corner]) -> None:
    found = find_headroom(UPLINK)
    assert found.lost_below > 0
    for corner in few_corners:
        assert headroom._fill(UPLINK, corner, found.xoff_bytes).dropped == 0
    assert headroom._fill(UPLINK, found.corner, found.need_bytes).dropped == 0
    assert found.margin_bytes >= (found.need_bytes + found.jumbo_bytes) // 10
    assert found.xoff_bytes % UPLINK.asic.cell_bytes == 0


def test_a_longer_cable_needs_what_it_holds_in_both_directions(few_corners: list[Corner]) -> None:
    short, long = find_headroom(UPLINK), find_headroom(PortClass("spectrum3", 400_000, 140, 9216, "switch", 4096))
    # 100 m, twice, at 5 ns/m and 50 B/ns, in frames of 145 + 20 B that occupy two cells of 144 B
    expected = 2 * 100 * 5 * 50 * 288 / 165
    assert long.need_bytes - short.need_bytes == pytest.approx(expected, abs=2 * 288 + 4176)


def test_a_slower_reception_needs_what_comes_in_that_time(few_corners: list[Corner]) -> None:
    slow = PortClass("spectrum3", 400_000, 40, 9216, "switch", 4096, latency_ps=1_600_000)
    expected = 1_000 * 50 * 288 / 165  # 1 us at 50 B/ns, in frames of 145 + 20 B that occupy two cells of 144 B
    assert find_headroom(slow).need_bytes - find_headroom(UPLINK).need_bytes == pytest.approx(
        expected, abs=2 * 288 + 4176
    )


def test_the_largest_alpha_spares_the_other_port_and_the_next_does_not() -> None:
    pool = 58_000_000
    found = find_alpha(leaf(12), {UPLINK: 213_552}, pool)
    assert found.exponent is not None
    assert found.xoffs_above
    assert alpha._incast(UPLINK, found.senders, found.exponent, 213_552, pool).xoffs(("victim1", "victim2")) == 0
    above = alpha._incast(UPLINK, found.senders, found.exponent + 1, 213_552, pool)
    assert above.xoffs(("victim1", "victim2")) == found.xoffs_above


def test_a_pool_that_holds_no_burst_has_no_alpha() -> None:
    assert find_alpha(leaf(8), {UPLINK: 213_552}, 1_000_000).exponent is None


def test_without_room_between_the_bounds_there_is_no_curve() -> None:
    found = find_marking(UPLINK, 4, -2, 213_552, 4_000_000, control="dcqcn", present=None)
    assert found.curve is None
    assert found.highest_kmin_bytes <= found.lowest_kmin_bytes


def test_an_xoff_before_a_mark_outweighs_power() -> None:
    late, early = Curve(9000, 9000, 5), Curve(1000, 2000, 5)
    assert _best({late: Score(1.0, 1.0, 9.0, 4, 1), early: Score(0.5, 2.0, 1.0, 0, 0)}) == early
    assert _best({late: Score(1.0, 1.0, 9.0, 4, 0), early: Score(0.5, 2.0, 1.0, 0, 0)}) == late


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--peer-response", "worst"], "--peer-response: has no effect with --recommend"),
        (["--format", "html"], "html is for verdicts"),
        (["--reach"], "--reach: has no effect with --recommend"),
        (["--only", "M1"], "--only: has no effect with --recommend"),
        (["--all"], "--all: has no effect with --recommend"),
        (["--fail-on", "error"], "--fail-on: has no effect with --recommend"),
        (["--out", "."], "--out .: is a folder"),
        (["--out", "absent/x.txt"], "--out absent/x.txt: absent is no folder"),
        (["--latency", "x"], "'x' is not a time; write a number"),
    ],
)
def test_options_without_effect_are_errors(
    options: list[str], message: str, configs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(configs), "--recommend", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_switch_of_an_unknown_chip_is_named(configs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in configs.glob("[ls]*.json"):
        file.write_text(file.read_text(encoding="utf-8").replace("ACS-MSN4700", "Nobody-1"), encoding="utf-8")
    assert main(["validate", str(configs), "--recommend", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["headroom"] == []
    assert "leaf1: the memory of its chip is not known (Nobody-1)" in found["omitted"]


@pytest.mark.slow
def test_the_small_fabric_gets_values_that_do_better_than_its_own(
    configs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(configs), "--recommend", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"]
    assert {it["class"] for it in found["headroom"]} == {"400G, 5 m, to a host", "400G, 40 m, to a switch"}
    assert all(0 <= it["present_corners"] <= len(it["corners"]) for it in found["headroom"])
    for it in found["switches"]:
        marking = it["marking"]
        assert marking["lowest_kmin_bytes"] <= marking["kmin_bytes"] <= marking["highest_kmin_bytes"]
        assert marking["kmin_bytes"] < marking["kmax_bytes"] <= marking["xoff_of_one_group_bytes"]
        scores = marking["held_out"]
        assert scores["recommended"]["runs_with_xoff_before_mark"] == 0
        assert scores["recommended"]["power_per_ms"] >= scores["present"]["power_per_ms"]
        assert scores["Kmin above the pool"]["runs_with_xoff_before_mark"] > 0
    assert main(["validate", str(configs), "--recommend", "--format", "markdown"]) == 0
    assert "| recommended |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("power", "early", "kept"), [(2.0, 0, False), (1.05, 0, True), (1.06, 0, False), (9.0, 1, True)]
)
def test_the_present_curve_is_kept_where_the_search_gained_nothing_in_other_runs(
    power: float, early: int, kept: bool
) -> None:
    held = {"recommended": Score(1.0, 1.0, power, 0, early), "present": Score(1.0, 1.0, 1.0, 0, 0)}
    assert ("keep it" in curve_verdict(MarkingFound(1, 9, 10, Curve(2, 3, 5), held, (2,), 1))) is kept

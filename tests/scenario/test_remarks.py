"""What a scenario asks for and cannot get within its run is said before the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric import shipped
from fabric.cli.main import main
from fabric.runs.left_out import left_out
from fabric.scenario.load import load_scenario
from fabric.scenario.remarks import remarks

STARTERS = sorted((shipped.folder("scenarios") / "starters").glob("*.yml"))
SHIPPED = [*shipped.scenarios(), *STARTERS]


def test_no_scenario_of_the_package_has_a_remark() -> None:
    assert {path.stem: found for path in SHIPPED if (found := remarks(load_scenario(path)))} == {}


def test_the_watchdog_that_a_starter_suggests_can_act_in_its_run() -> None:
    for path in STARTERS:
        lines = [line.strip() for line in path.read_text().splitlines() if line.strip().startswith("# watchdog: {")]
        for line in lines:
            written = line.partition(": ")[2].partition("}")[0] + "}"
            assert not remarks(load_scenario(path, [f"switches.watchdog={written}"])), path.stem


@pytest.mark.parametrize(("detection", "late"), [("20ms", True), ("19ms", False), ("18500us", False)])
def test_a_watchdog_is_remarked_where_whole_polls_reach_the_end_of_the_run(detection: str, late: bool) -> None:
    [path] = [it for it in STARTERS if it.stem == "leaf-spine"]
    scenario = load_scenario(path, [f"switches.watchdog={{poll: 1ms, detection: {detection}, restoration: 2ms}}"])
    assert bool(remarks(scenario)) is late
    assert remarks(scenario, 1_000_000_000)


def test_the_check_prints_the_remark(capsys: pytest.CaptureFixture[str]) -> None:
    [path] = [it for it in STARTERS if it.stem == "leaf-spine"]
    words = ["scenario", "check", str(path), "--set", "switches.watchdog={poll: 200ms, detection: 200ms}"]
    assert main(words) == 0
    assert "note: switches.watchdog cannot act in this run" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    watchdogs = [it for it in json.loads(capsys.readouterr().out)["scenarios"][0]["remarks"] if "watchdog" in it]
    assert len(watchdogs) == 1


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ([], "run.duration (20ms) is not longer than transport.retransmit_timeout (67.11ms)"),
        (["transport.retransmit_timeout=20ms"], "transport.retransmit_timeout (20ms)"),
        (["transport.retransmit_timeout=19ms"], ""),
        (["transport.retransmit_timeout=off"], ""),
        (["run.duration=70ms"], ""),
    ],
)
def test_a_run_that_ends_before_the_timer_of_lost_packets_is_remarked(
    sets: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    [path] = [it for it in STARTERS if it.stem == "leaf-spine"]
    assert main(["scenario", "check", str(path), *(word for it in sets for word in ("--set", it))]) == 0
    out = capsys.readouterr().out
    assert said in out if said else "retransmit_timeout" not in out


def test_a_study_of_failures_is_told_that_its_runs_end_before_the_timer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", "incast", "--estimate"]) == 0
    told = capsys.readouterr()
    assert "transport.retransmit_timeout (67.11ms)" in told.err


def test_no_scenario_expects_less_than_that_no_lossless_packet_is_lost() -> None:
    for path in SHIPPED:
        if path.stem == "spray":  # bit errors lose packets there, and out-of-order recovery is what it shows
            continue
        assert "drops.lossless " not in Path(path).read_text(), path.stem


def test_a_figure_of_lossless_losses_says_what_it_does_not_count() -> None:
    assert "48,795 more" in left_out("drops.lossless", {"drops.lossless": 5, "drops.lossless_any": 48_800})
    assert left_out("drops.lossless", {"drops.lossless": 5, "drops.lossless_any": 5}) == ""


@pytest.mark.parametrize("word", ["true", "on"])
def test_a_word_where_a_mapping_may_stand_is_answered_with_its_fields(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scenario", "check", "incast", "--set", f"switches.watchdog={word}"]) == 2
    assert "valid values: off; or a mapping with kind, granularity" in capsys.readouterr().err


def test_two_entries_without_a_name_are_told_where_their_name_is_from(capsys: pytest.CaptureFixture[str]) -> None:
    entry = "{kind: incast, receiver: host1, senders: ['*'], size: 1MB}"
    assert main(["scenario", "check", "incast", "--set", f"workload=[{entry}, {entry}]"]) == 2
    err = capsys.readouterr().err
    assert "workload[1].name: 'incast' is the name of 2 entries (0, 1)" in err
    assert "without a name an entry has that of its kind; write name: in all but one" in err

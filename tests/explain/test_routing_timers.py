"""Timers of BGP that decide how long packets are lost, wherever the losses are explained."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from fabric.cli.main import main
from fabric.explain.routing_timers import change_of, routing_timers, timer_advice
from fabric.runs.rundir import RunDir

Capture = pytest.CaptureFixture[str]


def _run(folder: Path, kind: str, run: dict[str, str], **bgp: object) -> RunDir:
    """Messages between two leaves under BGP, one of whose cables fails at 100 us."""
    data = {
        "name": "cut",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
                     "host_rate": "100G", "fabric_rate": "100G"},
        "routing": "bgp",
        "bgp": {"jitter": "off", **bgp},
        "transport": {"retransmit_timeout": "300us", "retries": 2},
        "workload": [{"kind": "permutation", "shift": 4, "size": "2MB"}],
        "faults": [{"kind": kind, "link": "leaf1--spine1", "at": "100us"}],
        "run": run,
    }  # fmt: skip
    (folder / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(folder / "scenario.yml"), "--out", str(folder / "run"), "--quiet"]) in (0, 1)
    return RunDir.open(folder / "run")


def test_a_run_that_ends_before_bgp_has_decided_names_the_timer(tmp_path: Path, capsys: Capture) -> None:
    run = _run(tmp_path, "link-down", {"duration": "20ms", "stop": "duration"})
    verdict = capsys.readouterr().out
    assert "settled" not in verdict
    wait = "bgp.update_delay 50ms runs until 62.1ms at leaf1, spine1"
    assert f"BGP had not converged when the run ended: {wait}" in verdict
    assert run.summary["routing"]["events"][0]["pending"] == wait
    for question in ("roots", "drops"):
        assert main(["explain", question, str(run.path), "--json"]) == 0
        text = capsys.readouterr().out
        assert wait in text
        assert "transport.retransmit_timeout 300us, transport.retries 2" in text
        assert "until routing converges" not in text
    advice = timer_advice(run, {"leaf1"}, 20_000_000)
    assert advice.startswith("so that no message fails the next time, lower bgp.update_delay (50ms) and ")
    assert main(["explain", "roots", str(run.path), "--json"]) == 0
    assert (
        f"First: check the cable and the transceivers, unless it was shut on purpose; {advice}"
        in capsys.readouterr().out
    )
    assert main(["report", str(run.path), "--text"]) == 0
    assert "lower bgp.update_delay (50ms)" in " ".join(capsys.readouterr().out.split())
    failed = next(it["id"] for it in run.messages(["id", "state"]).to_pylist() if it["state"] == "failed")
    assert main(["explain", "message", str(run.path), failed, "--json"]) == 0
    assert wait in capsys.readouterr().out


def test_a_silent_link_names_the_hold_time_or_bfd(tmp_path: Path) -> None:
    silent = _run(tmp_path, "link-silent", {"duration": "5ms", "stop": "duration"})
    assert "bgp.hold 9s with BFD off runs until" in routing_timers(silent, {"leaf1"}, 5_000_000)
    (tmp_path / "bfd").mkdir()
    fast = _run(tmp_path / "bfd", "link-silent", {"duration": "5ms", "stop": "duration"}, bfd="on")
    text = routing_timers(fast, {"leaf1"}, 5_000_000)
    assert "bgp.bfd, which detects after 900ms runs until" in text
    assert "hold" not in text
    assert "turn on bgp.bfd (bgp.hold is 9s)" in timer_advice(silent, {"leaf1"}, 5_000_000)
    assert "shorten the detection by bgp.bfd (900ms)" in timer_advice(fast, {"leaf1"}, 5_000_000)


DOWN = "bgp.carrier_delay 12ms, bgp.update_delay 50ms, bgp.fib_delay 10.5ms"


@pytest.mark.parametrize(
    ("timers", "limit_ms", "change"),
    [
        (DOWN, 32, "lower bgp.update_delay (50ms) to less than 4.75ms"),
        (DOWN, 20, "lower bgp.update_delay (50ms) and lower bgp.carrier_delay (12ms), each to less than 3.167ms"),
        (DOWN, 122.5, ""),
        (DOWN, 122, "lower bgp.update_delay (50ms) to less than 49.75ms"),
        ("bgp.hold 9s with BFD off, bgp.update_delay 50ms", 2_000,
         "turn on bgp.bfd (bgp.hold is 9s) to detect in less than 1.9s"),
        ("bgp.hold 9s with BFD off, bgp.update_delay 50ms", 4_000,
         "turn on bgp.bfd, or lower bgp.hold (9s) to detect in less than 3.9s"),
        ("bgp.bfd, which detects after 900ms, bgp.update_delay 50ms", 500,
         "shorten the detection by bgp.bfd (900ms) to less than 400ms"),
    ],
)  # fmt: skip
def test_the_advice_names_the_fewest_settings_that_keep_the_limit(timers: str, limit_ms: float, change: str) -> None:
    assert change_of(timers, round(limit_ms * 1_000_000)) == change


def test_a_run_that_outlasts_convergence_names_the_timers_that_decided(tmp_path: Path) -> None:
    run = _run(
        tmp_path, "link-down", {"duration": "30ms", "stop": "duration"},
        update_delay="2ms", fib_delay="1ms", carrier_delay="3ms",
    )  # fmt: skip
    [event] = run.summary["routing"]["events"]
    assert event["pending"] == ""
    assert event["timers"] == "bgp.carrier_delay 3ms, bgp.update_delay 2ms, bgp.fib_delay 1ms"
    assert event["timers"] in routing_timers(run, {"spine1"}, 30_000_000)


def test_no_setting_is_named_where_no_message_waited(tmp_path: Path) -> None:
    run = _run(
        tmp_path, "link-down", {"duration": "5ms", "stop": "duration"},
        update_delay="10us", fib_delay="10us", carrier_delay="10us",
    )  # fmt: skip
    assert not run.summary["metrics"]["messages.failed"]
    assert timer_advice(run, {"leaf1"}, 5_000_000) == ""

"""Texts about packets that were reordered, lost, or sent without end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.explain.evidence import Evidence
from fabric.explain.message import explain_message
from fabric.runs import simulate as simulating
from fabric.runs.rundir import RunDir
from fabric.scenario.load import build_scenario

SPRAYED: dict[str, Any] = {
    "name": "sprayed",
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 8,
        "hosts_per_leaf": 8,
        "host_rate": "100G",
        "fabric_rate": "100G",
    },
    "switches": {"load_balancing": "spray"},
    "workload": [{"kind": "permutation", "size": "1MB", "shift": 8}],
    "faults": [{"kind": "link-rate", "link": "leaf1--spine1", "rate": "50G", "at": "1us"}],
    "telemetry": {"interval": "100us"},
    "run": {"duration": "3ms", "seed": 1},
}


def simulated(path: Path, **changes: Any) -> RunDir:  # noqa: ANN401  sections of a scenario
    file = path / "scenario.yml"
    file.write_text("{}", encoding="utf-8")
    compiled, plan = simulating.prepare(build_scenario({**SPRAYED, **changes}, file))
    simulating.simulate(compiled, plan, simulating.Options(path / "out"))
    return RunDir.open(path / "out")


def sentences(run: RunDir, level: str) -> str:
    return "\n".join(it["text"] for it in run.summary["verdict"] if it["level"] == level)


def test_a_sprayed_run_is_well_and_says_what_was_placed_out_of_order(tmp_path: Path) -> None:
    run = simulated(tmp_path)
    metrics = run.summary["metrics"]
    assert metrics["messages.done"] == 16
    assert metrics["transport.retransmits"] == metrics["transport.spurious"] == 0
    assert metrics["transport.out_of_order"] > 100
    assert f"{metrics['transport.out_of_order']:,} packets placed out of order" in sentences(run, "note")
    assert not sentences(run, "problem")


def test_reordering_that_is_taken_for_loss_is_a_problem_with_its_remedy(tmp_path: Path) -> None:
    run = simulated(tmp_path, transport={"recovery": "go-back-n"})
    metrics = run.summary["metrics"]
    assert metrics["drops.total"] == 0
    assert metrics["transport.retransmits"] > 1000
    texts = sentences(run, "problem")
    assert "switches spray packets, and NICs took" in texts
    assert f"{metrics['transport.retransmits']:,} sent again, 0 dropped; use transport.recovery: out-of-order" in texts
    assert "NICs took" in run.summary["headline"]
    worst = max(run.messages().to_pylist(), key=lambda it: it["retransmits"])
    verdict = explain_message(Evidence(run), worst["id"]).verdict
    assert f"{worst['retransmits']:,} of its packets sent again although none was lost: they overtook" in verdict


@pytest.mark.parametrize(("choice", "spray"), [("packet", True), ("queue-pair", False)])
def test_losses_of_a_queue_pair_that_keeps_its_source_route_are_no_reordering(
    tmp_path: Path, choice: str, spray: bool
) -> None:
    routes = {"choice": choice, "withdrawal": "20us"}
    run = simulated(
        tmp_path,
        switches={"load_balancing": "source-routed"},
        transport={"recovery": "go-back-n", "source_routes": routes, "retransmit_timeout": "300us"},
        faults=[{"kind": "link-down", "link": "leaf1--spine1", "at": "10us"}],
    )
    metrics = run.summary["metrics"]
    assert metrics["transport.retransmits"] > metrics["drops.total"] > 0
    assert ("NICs spray packets, and NICs took" in sentences(run, "problem")) is spray


def test_a_window_that_was_too_small_is_named_by_the_message_that_paid(tmp_path: Path) -> None:
    run = simulated(tmp_path, transport={"reorder_window": "1us"})
    metrics = run.summary["metrics"]
    assert metrics["transport.spurious"] > 0
    assert metrics["messages.done"] == 16
    worst = max(run.messages().to_pylist(), key=lambda it: it["retransmits"])
    assert "later than transport.reorder_window allows" in explain_message(Evidence(run), worst["id"]).verdict


@pytest.mark.parametrize(("recovery", "livelock"), [("go-back-0", True), ("go-back-n", False)])
def test_a_livelock_is_distinguished_from_waiting_for_a_timer(tmp_path: Path, recovery: str, livelock: bool) -> None:
    """Guo et al., SIGCOMM 2016, section 4.1: one packet in a hundred lost, and messages of 500. Go-back-N stops where
    the packet sent again is lost, too: there is one NAK for a gap, and then the timeout, after the end. It takes a
    placement of flows that cause this.
    """
    run = simulated(
        tmp_path,
        switches={"hash": {"algorithm": "crc32"}},
        transport={"recovery": recovery, "mtu": "1024B"},
        workload=[{"kind": "permutation", "size": "500KB", "shift": 8}],
        faults=[{"kind": "drop-every", "port": "host9:eth0", "every": 100, "at": "0s"}],
    )
    texts = sentences(run, "problem")
    assert ("livelock: 1 queue pair not done sent mostly repeats to the end" in texts) == livelock
    assert "although 1 message waited" in texts
    assert run.summary["stop"]["reason"] == "duration"
    assert run.summary["stop"]["stalled_since_ns"] < 1_000_000


def test_a_run_with_progress_until_its_end_is_not_stalled(tmp_path: Path) -> None:
    run = simulated(
        tmp_path, workload=[{"kind": "permutation", "size": "10MB", "shift": 8}], run={"duration": "500us", "seed": 1}
    )
    assert run.summary["metrics"]["messages.done"] == 0
    assert run.summary["stop"]["stalled_since_ns"] is None
    assert not sentences(run, "problem")


def test_repeats_of_a_queue_pair_that_makes_progress_are_no_livelock(tmp_path: Path) -> None:
    """One packet in ten is lost for a while, and go-back-N sends a round trip's worth again for each."""
    run = simulated(
        tmp_path,
        transport={"recovery": "go-back-n", "nak_interval": "20us"},
        switches={},
        workload=[{"kind": "permutation", "size": "20MB", "shift": 8}],
        faults=[{"kind": "drop-every", "port": "host9:eth0", "every": 10, "at": "0s", "until": "1ms"}],
        run={"duration": "1200us", "seed": 1},
    )
    texts = [it for it in run.summary["verdict"] if "mostly repeats" in it["text"]]
    assert [it["level"] for it in texts] == ["warning"]
    assert "livelock" not in texts[0]["text"]


def test_a_run_in_which_nothing_ever_arrives_gives_no_moment_of_its_last_delivery(tmp_path: Path) -> None:
    run = simulated(
        tmp_path, faults=[{"kind": "route", "switches": ["leaf1", "leaf2"], "hosts": ["*"], "via": [], "at": "0s"}]
    )
    assert "nothing was delivered at all although 16 messages waited" in sentences(run, "problem")

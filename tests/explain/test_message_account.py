"""Time in which a sender waits for acknowledgements is named as that, whatever its rate is meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.explain.evidence import Evidence
from fabric.explain.message import explain_message
from fabric.explain.pfc import explain_pfc, groups
from fabric.render.document import Table
from fabric.render.json import to_json
from tests.explain.explained import incast, simulated

STORM = {"kind": "pause-storm", "hosts": ["host5"], "at": "150us", "duration": "2ms"}


def storm(folder: Path, **sections: Any) -> Evidence:  # noqa: ANN401  a scenario's sections
    """Host 5 stops its switch port, which acknowledgements for its own messages need; host 6 sends beside it."""
    fields: dict[str, Any] = {
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate": "100G",
            "fabric_rate": "400G",
        },
        "transport": {"cc": "dcqcn"},
        "switches": {"asic": "trident3", "ecn": {"kmin": "60KB", "kmax": "60001B", "pmax": 1.0}},
        "workload": incast(4, "1MB"),
        "faults": [STORM],
    }  # fmt: skip
    return simulated(folder, **{**fields, **sections})


def account(evidence: Evidence, name: str) -> dict[str, Any]:
    rows = to_json(explain_message(evidence, name))["time"]["account"]
    message = evidence.run.messages().slice(evidence.message_row(name), 1).to_pylist()[0]
    end_ns = evidence.end_ns if message["end_ns"] is None else message["end_ns"]
    assert sum(row["time_ns"] for row in rows) == end_ns - message["start_ns"]
    return {row["what"]: row for row in rows}


def test_acknowledgements_held_by_a_pause_are_not_blamed_on_the_congestion_control(tmp_path: Path) -> None:
    evidence = storm(tmp_path)
    rows = account(evidence, "incast/0")
    held = rows["delivered, not acknowledged: leaf2:Ethernet0 paused by host5"]
    assert held["cause"] == "broken NIC host5:eth0 (class 3)"
    assert held["time_ns"] > 1_000_000
    verdict = explain_message(evidence, "incast/0").verdict
    assert "leaf2:Ethernet0 paused by host5, caused by broken NIC host5:eth0 (class 3)" in verdict
    beside = account(evidence, "incast/1")
    assert not [what for what in beside if "paused by host5" in what]


def test_groups_that_came_nowhere_near_their_limit_are_counted_and_not_foretold(tmp_path: Path) -> None:
    evidence = storm(tmp_path, workload=incast(1, "64KB"))
    document = explain_pfc(evidence)
    [table] = [block for section in document.sections for block in section.blocks if isinstance(block, Table)]
    whole = groups(evidence)
    assert len(table.rows) < len(whole)
    assert f"{len(whole) - len(table.rows)} more group" in table.note
    assert not [cell for row in table.rows for cell in row if "," in str(cell) and "senders" in str(cell)]


def test_a_window_that_held_acknowledgements_keep_full_is_named_by_the_pause(tmp_path: Path) -> None:
    evidence = storm(tmp_path, workload=incast(4, "8MB"), transport={"cc": "dctcp"})
    rows = account(evidence, "incast/0")
    held = rows["nothing sent, unacknowledged: leaf2:Ethernet0 paused by host5"]
    assert held["cause"] == "broken NIC host5:eth0 (class 3)"
    assert held["time_ns"] > 1_500_000


@pytest.mark.parametrize(("timer", "words"), [("60ms", "(60ms, transport.retransmit_timeout)"), ("off", "is off")])
def test_a_lost_acknowledgement_that_no_timer_repaired_is_named(tmp_path: Path, timer: str, words: str) -> None:
    watchdog = {"poll": "200us", "detection": "200us", "restoration": "400us"}
    evidence = storm(
        tmp_path,
        transport={"cc": "dcqcn", "retransmit_timeout": timer},
        switches={"asic": "trident3", "watchdog": watchdog},
    )
    message = evidence.run.messages().slice(evidence.message_row("incast/0"), 1).to_pylist()[0]
    assert message["state"] == "outstanding"
    assert message["arrived_ns"] is not None
    verdict = explain_message(evidence, "incast/0").verdict
    assert verdict.startswith("Delivered in ")
    assert "of its acknowledgements lost at" in verdict or "emptied of" in verdict
    assert words in verdict
    rows = account(evidence, "incast/0")
    assert rows["delivered, not acknowledged: acknowledgements lost"]["time_ns"] > 1_000_000
    assert rows.get("rate below line rate", {"share_ratio": 0.0})["share_ratio"] < 0.5


def test_without_congestion_control_lost_packets_that_nobody_missed_are_named(tmp_path: Path) -> None:
    """The end of a message is lost, so the receiver sees no gap, and the timer is longer than the run."""
    evidence = simulated(
        tmp_path,
        transport={"cc": "none", "retransmit_timeout": "60ms"},
        workload=incast(1, "1MB"),
        faults=[{"kind": "route", "switches": ["leaf2"], "hosts": ["host1"], "via": [], "at": "40us"}],
    )
    rows = account(evidence, "incast/0")
    silent = rows["nothing sent: lost packets not sent again"]
    assert silent["time_ns"] > 4_000_000
    assert "of its packets lost at leaf2 (no_route)" in silent["cause"]

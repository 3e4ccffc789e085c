"""TIMELY, HPCC and HPCC-PINT under model asic: flows share a link fairly, it is as full as their laws want.

Its queue is short.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify.fidelity.experiment import jain, port

US: Final = 10**6


@dataclass(frozen=True)
class Course:
    """The bottleneck over the second half of a run."""

    queue_bytes: np.ndarray[Any, np.dtype[np.float64]]
    jain: float
    load_ratio: float
    pauses: int


def course(flows: int, end_us: int, **transport: Any) -> Course:  # noqa: ANN401
    sends = [{"src": f"host{n + 2}", "dst": "host1", "size": "200MB", "start": f"{200 * n}us"} for n in range(flows)]
    raw = {
        "name": "shared",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 1,
            "spines": 1,
            "hosts_per_leaf": flows + 1,
            "host_rate": "100G",
            "fabric_rate": "400G",
        },
        "switches": {"ecn": "off"},
        "transport": {"mtu": "1024B", **transport},
        "workload": [{"kind": "messages", "messages": sends}],
        "run": {"duration": "20ms"},
        "telemetry": {"events": []},
    }
    case = compile_scenario(build_scenario(raw, Path("shared.yml")))
    engine, egress = Emulator(case.fabric, case.params), port(case.fabric, "leaf1", "host1")
    engine.advance(end_us // 2 * US)
    before, busy_ps = engine.state.rqps["expected_psn"].copy(), int(engine.state.ports["busy_ps"][egress])
    queue = []
    for now_us in range(end_us // 2 + 5, end_us + 1, 5):
        engine.advance(now_us * US)
        queue.append(float(engine.state.queues["depth_bytes"][egress * 8 + 3]))
    state = engine.state
    return Course(
        np.array(queue),
        jain((state.rqps["expected_psn"] - before).astype(float)),
        (int(state.ports["busy_ps"][egress]) - busy_ps) / (end_us // 2 * US),
        int(state.prios["tx_xoff_pkts"].sum()),
    )


@pytest.mark.parametrize("law", [{}, {"increase_stages": 5}, {"multi_rate": True}])
def test_two_flows_of_hpcc_share_a_link_at_its_target_without_a_queue(law: dict[str, Any]) -> None:
    found = course(2, 3000, cc="hpcc", hpcc=law)
    assert found.jain > 0.99
    assert found.load_ratio == pytest.approx(0.95, abs=0.01)
    assert np.percentile(found.queue_bytes, 99) < 5_000  # packets that meet: 1144 bytes each
    assert found.pauses == 0


def test_hpccs_target_is_what_it_is_held_at() -> None:
    found = course(2, 2000, cc="hpcc", hpcc={"target": 0.7})
    assert found.load_ratio == pytest.approx(0.7, abs=0.01)


def test_two_flows_of_timely_share_a_link_between_its_two_round_trips() -> None:
    found = course(2, 6000, cc="timely", timely={"low_rtt": "10us", "high_rtt": "50us", "min_rtt": "5us"})
    assert found.jain > 0.99
    assert found.load_ratio > 0.85
    limit = 50e-6 * 100e9 / 8  # a queue that makes a round trip of T_high
    assert 0 < np.mean(found.queue_bytes) < limit
    assert np.percentile(found.queue_bytes, 90) < limit
    assert found.pauses == 0


def test_two_flows_of_hpcc_pint_share_a_link_near_its_target_without_a_queue() -> None:
    found = course(2, 3000, cc="hpcc-pint")
    assert found.jain > 0.98
    assert found.load_ratio == pytest.approx(0.95, abs=0.03)
    assert np.percentile(found.queue_bytes, 99) < 10_000
    assert found.pauses == 0

"""DCTCP against the sawtooth of Alizadeh et al., SIGCOMM 2010, section 3.3, and against itself: fair and full."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.theory.dctcp import Sawtooth
from fabric.verify.fidelity.experiment import frame_bytes, jain, port, wire_bytes

US: Final = 10**6
_STEP_PS: Final = US // 2
"""A twelfth of the base round trip."""


@dataclass(frozen=True)
class Course:
    """The bottleneck over the last 3 ms of 6."""

    theory: Sawtooth
    queue_pkts: np.ndarray[Any, np.dtype[np.float64]]
    alpha: float
    jain: float
    utilisation_ratio: float
    pauses: int


def course(flows: int, threshold_bytes: int, apart_us: int = 0, **transport: Any) -> Course:  # noqa: ANN401
    case = compile_scenario(
        build_scenario(
            {
                "name": "sawtooth",
                "topology": {
                    "kind": "leaf-spine",
                    "leaves": 2,
                    "spines": 1,
                    "hosts_per_leaf": flows + 1,
                    "host_rate": "100G",
                    "fabric_rate": "100G",
                    "host_cable": "200m",
                },
                "switches": {
                    "ecn": {"kmin": f"{threshold_bytes}B", "kmax": f"{threshold_bytes + 1}B", "pmax": 1.0},
                    "memory": "32MB",
                },
                "transport": {"cc": "dctcp", "mtu": "1024B", **transport},
                "workload": [
                    {
                        "kind": "messages",
                        "messages": [
                            {"src": f"host{n + 2}", "dst": "host1", "size": "100MB", "start": f"{n * apart_us}us"}
                            for n in range(flows)
                        ],
                    }
                ],
                "run": {"duration": "10ms", "seed": 1},
                "telemetry": {"events": []},
            },
            Path("sawtooth.yml"),
        )
    )
    engine, egress = Emulator(case.fabric, case.params), port(case.fabric, "leaf1", "host1")
    begin_ps, end_ps = 3000 * US, 6000 * US
    engine.advance(begin_ps)
    state = engine.state
    expected, busy_ps = state.rqps["expected_psn"].copy(), int(state.ports["busy_ps"][egress])
    queue = []
    for now_ps in range(begin_ps + _STEP_PS, end_ps + 1, _STEP_PS):
        engine.advance(now_ps)
        queue.append(int(engine.state.queues["depth_bytes"][egress * 8 + 3]))
    state = engine.state
    return Course(
        Sawtooth(flows, case.params.transport.window_bytes / wire_bytes(case), threshold_bytes / frame_bytes(case)),
        np.array(queue) / frame_bytes(case),
        float(state.qps["alpha"].mean()),
        jain((state.rqps["expected_psn"] - expected).astype(float)),
        (int(state.ports["busy_ps"][egress]) - busy_ps) / (end_ps - begin_ps),
        int(state.ports["tx_pause_pkts"].sum()),
    )


@pytest.mark.parametrize(("flows", "threshold_bytes"), [(2, 70_000), (2, 35_000), (4, 150_000), (4, 70_000)])
def test_the_queue_is_the_papers_sawtooth(flows: int, threshold_bytes: int) -> None:
    found = course(flows, threshold_bytes)
    theory, queue = found.theory, found.queue_pkts
    assert np.percentile(queue, 99) == pytest.approx(theory.peak_pkts, abs=2)
    assert np.percentile(queue, 1) == pytest.approx(theory.trough_pkts, abs=0.35 * theory.amplitude_pkts)
    assert found.alpha == pytest.approx(theory.alpha, rel=0.15)
    assert found.utilisation_ratio > 0.999
    assert found.pauses == 0


def test_the_papers_sawtooth_detects_a_gain_that_is_too_large() -> None:
    found = course(2, 70_000, dctcp={"gain": 0.9})
    assert abs(np.percentile(found.queue_pkts, 1) - found.theory.trough_pkts) > 0.35 * found.theory.amplitude_pkts


def test_one_flow_alone_is_never_marked() -> None:
    found = course(1, 70_000)
    assert found.queue_pkts.max() < 2
    assert found.utilisation_ratio > 0.999


@pytest.mark.parametrize("flows", [2, 4])
def test_flows_that_start_at_different_times_share_equally(flows: int) -> None:
    assert course(flows, 70_000, apart_us=100).jain > 0.98


def test_coalesced_acks_hold_the_same_queue() -> None:
    every, eighth = course(2, 70_000, variable_window=False), course(2, 70_000, variable_window=False, ack_every=8)
    assert eighth.jain > 0.95
    assert eighth.utilisation_ratio > every.utilisation_ratio - 0.02
    assert np.percentile(eighth.queue_pkts, 99) < np.percentile(every.queue_pkts, 99) + 16


@pytest.mark.parametrize(("flows", "bdp", "threshold"), [(2, 72.3, 64.5), (40, 100.0, 65.0), (1, 500.0, 80.0)])
def test_the_root_of_the_sawtooth_is_near_the_papers_approximation(flows: int, bdp: float, threshold: float) -> None:
    """alpha ~ sqrt(2 / W*), and so A ~ sqrt(2 N (C RTT + K)) / 2, equations (6) and (9)."""
    saw = Sawtooth(flows, bdp, threshold)
    assert saw.alpha**2 * (1 - saw.alpha / 4) == pytest.approx((2 * saw.window_pkts + 1) / (saw.window_pkts + 1) ** 2)
    small = math.sqrt(2 / saw.window_pkts)
    assert small * (1 - small) < saw.alpha < 1.1 * small
    assert saw.peak_pkts - saw.amplitude_pkts == saw.trough_pkts

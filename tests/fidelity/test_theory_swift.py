"""Swift against the steady state of Kumar et al., SIGCOMM 2020, and against itself: fair, full, and split by cause."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.theory.swift import DelayTarget
from fabric.verify.fidelity.experiment import jain, port, wire_bytes

US: Final = 10**6
PS: Final = 10**12


@dataclass(frozen=True)
class Course:
    """The bottleneck over the second half of a run."""

    theory: DelayTarget
    delay_s: np.ndarray[Any, np.dtype[np.float64]]
    jain: float
    load_ratio: float
    pauses: int
    host_pkts: float
    fabric_pkts: float


def scenario(flows: int, transport: dict[str, Any]) -> dict[str, Any]:
    """Flows of one leaf to its first host."""
    return {
        "name": "held",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 1,
            "spines": 1,
            "hosts_per_leaf": flows + 1,
            "host_rate": "100G",
            "fabric_rate": "400G",
        },
        "switches": {"ecn": "off", "memory": "64MB"},
        "transport": {"mtu": "1024B", "cc": "swift", **transport},
        "workload": [
            {
                "kind": "messages",
                "messages": [{"src": f"host{n + 2}", "dst": "host1", "size": "400MB"} for n in range(flows)],
            }
        ],
        "run": {"duration": "20ms"},
        "telemetry": {"events": []},
    }


def course(flows: int, end_us: int, **sections: Any) -> Course:  # noqa: ANN401
    case = compile_scenario(build_scenario({**scenario(flows, {}), **sections}, Path("held.yml")))
    engine, egress = Emulator(case.fabric, case.params), port(case.fabric, "leaf1", "host1")
    engine.advance(end_us // 2 * US)
    before, busy_ps = engine.state.rqps["expected_psn"].copy(), int(engine.state.ports["busy_ps"][egress])
    law = case.params.transport.swift
    assert law is not None
    base_s = law.base_rtt_ns / 1e9
    delays = []
    for now_us in range(end_us // 2 + 5, end_us + 1, 5):
        engine.advance(now_us * US)
        delays.append(base_s + float(engine.state.queues["depth_bytes"][egress * 8 + 3]) * 8 / 1e11)
    state = engine.state
    theory = DelayTarget(
        flows,
        1e11 / 8 / wire_bytes(case),
        (law.base_target_ps + law.hop_target_ps) / PS,
        law.flow_range_ps / PS,
        law.flow_min_pkts,
        law.flow_max_pkts,
        law.increment_pkts,
    )
    return Course(
        theory,
        np.array(delays),
        jain((state.rqps["expected_psn"] - before).astype(float)),
        (int(state.ports["busy_ps"][egress]) - busy_ps) / (end_us // 2 * US),
        int(state.prios["tx_xoff_pkts"].sum()),
        float(state.swift["host_pkts"].mean()),
        float(state.swift["fabric_pkts"].mean()),
    )


@pytest.mark.parametrize("flows", [2, 4, 16, 48])
def test_delay_and_windows_are_those_of_the_steady_state(flows: int) -> None:
    found, theory = course(flows, 6000), course_theory(flows)
    assert found.theory == theory
    assert found.delay_s.mean() == pytest.approx(theory.delay_s, abs=theory.swing_s / 2 + 0.4e-6)
    assert np.percentile(found.delay_s, 99) < theory.delay_s + theory.swing_s
    assert np.percentile(found.delay_s, 1) > theory.delay_s - theory.swing_s - 0.5e-6
    assert found.fabric_pkts == pytest.approx(theory.window_pkts, rel=0.05)
    assert found.jain > 0.99
    assert found.load_ratio > 0.999
    assert found.pauses == 0


def test_the_target_grows_with_flows_as_the_law_says() -> None:
    delays = [course_theory(flows).delay_s for flows in (2, 16, 48)]
    assert delays[0] == pytest.approx(26e-6)
    assert delays == sorted(delays)


def test_a_slow_receiver_is_held_by_the_host_window_without_a_queue_in_the_fabric() -> None:
    found = course(4, 4000, hosts={"overrides": [{"host": "host1", "drain": "50G"}]})
    assert found.host_pkts < found.fabric_pkts
    assert found.delay_s.mean() < 3e-6
    assert found.load_ratio == pytest.approx(0.51, abs=0.02)
    assert found.pauses == 0
    assert found.jain > 0.99


def course_theory(flows: int) -> DelayTarget:
    """The closed form of course() with the default parameters: frames of 1118 bytes on the wire."""
    return DelayTarget(flows, 1e11 / 8 / 1118, 26e-6, 50e-6, 0.1, 100, 1.0)


@pytest.mark.parametrize(
    ("transport", "field"),
    [
        ({"window": "off"}, "transport.window"),
        ({"variable_window": False}, "transport.variable_window"),
        ({"swift": {"flow_min_window": 200}}, "transport.swift.flow_min_window"),
    ],
)
def test_settings_that_contradict_swift_are_refused(transport: dict[str, Any], field: str) -> None:
    with pytest.raises(InputErrors) as caught:
        compile_scenario(build_scenario(scenario(2, transport), Path("held.yml")))
    assert [problem.path for problem in caught.value.problems] == [f"held.yml: {field}"]


def test_the_simulators_model_has_no_swift() -> None:
    with pytest.raises(InputErrors, match="swift is not part of model hpcc-ns3"):
        compile_scenario(build_scenario({**scenario(2, {}), "model": "hpcc-ns3"}, Path("held.yml")))

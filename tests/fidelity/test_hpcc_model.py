"""`model: hpcc-ns3` as a user sees it: equal to the simulator through a scenario file, and no option without effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.cli.main import main
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Semantics
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.scenario.presets.ns3_rdma import alpha_shift, default_buffer_bytes, headroom_bytes

G = 10**9
LEAF_SPINE = {
    "kind": "leaf-spine",
    "leaves": 4,
    "spines": 4,
    "hosts_per_leaf": 16,
    "host_rate": "100G",
    "fabric_rate": "100G",
    "host_cable": "200m",
    "fabric_cable": "200m",
}
SMALL = {**LEAF_SPINE, "leaves": 2, "spines": 1, "hosts_per_leaf": 2}
INCAST = [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "100KB"}]


def compiled(**sections: Any) -> CompiledScenario:  # noqa: ANN401
    raw = {"name": "x", "model": "hpcc-ns3", "topology": SMALL, "workload": INCAST, "run": {"duration": "20ms"}}
    return compile_scenario(build_scenario({**raw, **sections}, Path("x.yml")))


def refused(**sections: Any) -> dict[str, str]:  # noqa: ANN401
    with pytest.raises(InputErrors) as caught:
        compiled(**sections)
    return {problem.path.removeprefix("x.yml: "): problem.text for problem in caught.value.problems}


@pytest.mark.parametrize(("name", "acks"), [("D_step", "stock"), ("D_step_ackq0", "strict")])
def test_a_scenario_file_with_a_flow_list_gives_the_simulators_times_to_the_nanosecond(
    ns3_dir: Path, tmp_path: Path, name: str, acks: str
) -> None:
    case = json.loads((ns3_dir / "cases" / f"{name}.json").read_text())
    lines = ["id,src,dst,size_bytes,start_ns,priority,after"]
    lines += [
        f"f{flow['id']},host{flow['src'] + 1},host{flow['dst'] + 1},{flow['size_bytes']},0,3," for flow in case["flows"]
    ]
    (tmp_path / "flows.csv").write_text("\n".join(lines) + "\n")
    raw = {
        "name": "twin",
        "model": "hpcc-ns3",
        "topology": LEAF_SPINE,
        "run": {"duration": "20ms"},
        "switches": {"ecn": {"kmin": "400000B", "kmax": "400001B", "pmax": 1.0}},
        "transport": {"acks": acks, "dcqcn": "hpcc-dcqcn"},
        "workload": [{"kind": "messages", "file": "flows.csv"}],
    }
    scenario = compile_scenario(build_scenario(raw, tmp_path / "twin.yml"))
    engine = Emulator(scenario.fabric, scenario.params, scheduler="sequential", order="insertion")
    engine.advance(scenario.duration_ps)
    messages = engine.state.messages[1:]
    ours = (messages["end_ps"] - messages["start_ps"]) // 1000
    result = json.loads((ns3_dir / "results" / f"{name}.json").read_text())
    theirs = {flow["id"]: flow["fct_ns"] for flow in result["flows"]}
    assert {flow["id"]: int(ours[row]) for row, flow in enumerate(case["flows"])} == theirs


def test_the_ideal_time_is_the_time_of_a_message_alone() -> None:
    alone = [{"kind": "messages", "messages": [{"src": "host4", "dst": "host1", "size": "12345B"}]}]
    scenario = compiled(workload=alone)
    engine = Emulator(scenario.fabric, scenario.params)
    engine.advance(scenario.duration_ps)
    message = engine.state.messages[1]
    assert int(message["end_ps"] - message["start_ps"]) == int(scenario.ideal_ps[0])


@pytest.mark.parametrize(
    ("rate_gbps", "nic_gbps", "shift"),
    [(100, 100, 3), (25, 100, 3), (200, 100, 2), (400, 100, 1), (800, 100, 0), (1600, 100, 0), (400, 25, 0)],
)
def test_each_doubling_above_the_nic_doubles_a_ports_share(rate_gbps: int, nic_gbps: int, shift: int) -> None:
    assert alpha_shift(rate_gbps * G, nic_gbps * G) == shift


def test_headroom_is_three_one_way_products_in_integers_and_the_buffer_grows_with_the_nic() -> None:
    assert headroom_bytes(100 * G, 1_000_000) == 37_500
    assert headroom_bytes(25 * G, 333_000) == 25 * G * 333 // 8 // G * 3
    assert default_buffer_bytes(100 * G) == 32 << 20


def test_ports_of_each_speed_get_their_own_thresholds_marking_and_headroom() -> None:
    scenario = compiled(topology={**SMALL, "fabric_rate": "400G"})
    params, fabric = scenario.params, scenario.fabric
    leaf = fabric.switches[0]
    down, up = params.ports[leaf.first_port], params.ports[leaf.first_port + 2]
    assert params.semantics is Semantics.NS3_RDMA
    assert (down.pgs[3].dynamic_th, up.pgs[3].dynamic_th) == (-3, -1)
    assert (down.pgs[3].xoff_bytes, up.pgs[3].xoff_bytes) == (37_500, 150_000)
    assert down.queues[3].ecn is not None
    assert up.queues[3].ecn is not None
    assert (down.queues[3].ecn.kmin_bytes, up.queues[3].ecn.kmin_bytes) == (400_000, 1_600_000)
    assert params.switches[leaf.id].pools[0].size_bytes == (32 << 20) - 3 * 4096 - 2 * 37_500 - 150_000


def test_presets_bring_their_window_and_their_ack_queue() -> None:
    plain, windowed = compiled().params.transport, compiled(transport={"dcqcn": "hpcc-dcqcn-vwin"}).params.transport
    assert (plain.window_bytes, plain.ack_strict, plain.ack_strict_at_host) == (0, False, True)
    # Four hops of 1 us and 80 ns a payload each: (2 * 4000 + 4 * 80) ns at 100G.
    assert (windowed.window_bytes, windowed.variable_window) == (8320 * 100 // 8, True)
    assert (windowed.ack_strict, windowed.ack_strict_at_host) == (False, False)
    assert plain.dcqcn is not None
    assert (plain.dcqcn.min_rate_bps, plain.dcqcn.additive_bps) == (G, 20 * 10**6)


@pytest.mark.parametrize(
    ("preset", "kmin", "kmax"),
    [("hpcc-dcqcn", 400_000, 1_600_000), ("simai", 400_000, 1_600_000), ("hawkeye-deadlock", 40_000, 160_000)],
)
def test_a_preset_brings_the_thresholds_of_its_own_configuration(preset: str, kmin: int, kmax: int) -> None:
    scenario = compiled(transport={"dcqcn": preset})
    ecn = scenario.params.ports[scenario.fabric.switches[0].first_port].queues[3].ecn
    assert ecn is not None
    assert (ecn.kmin_bytes, ecn.kmax_bytes) == (kmin, kmax)


def test_a_window_bounds_the_bytes_in_flight() -> None:
    scenario = compiled(transport={"window": "5000B", "cc": "none"})
    engine = Emulator(scenario.fabric, scenario.params)
    engine.advance(scenario.duration_ps)
    peak = engine.snapshot().queues["peak_bytes"][:, 3].max()
    assert engine.finished
    assert peak <= 3 * 5 * 1048


def test_no_congestion_control_means_no_marks() -> None:
    scenario = compiled(transport={"cc": "none"}, switches={"memory": "1MiB"})
    engine = Emulator(scenario.fabric, scenario.params)
    engine.advance(scenario.duration_ps)
    assert int(engine.state.queues["marked_pkts"].sum()) == 0
    assert int(np.count_nonzero(engine.state.messages["end_ps"][1:] > 0)) == 3


@pytest.mark.parametrize(
    ("sections", "path", "text"),
    [
        ({"switches": {"cell": "254B"}}, "switches.cell", "is not part of model hpcc-ns3"),
        ({"switches": {"buffer": {"dynamic_th": 1}}}, "switches.buffer.dynamic_th", "is not part of"),
        (
            {"switches": {"overrides": [{"role": "leaf", "memory": "1MB"}]}},
            "switches.overrides",
            "one setting serves all",
        ),
        ({"hosts": {"latency": "1us"}}, "hosts.latency", "is not part of"),
        ({"transport": {"ack_every": 2}}, "transport.ack_every", "is not part of"),
        ({"transport": {"dcqcn": "mlx5"}}, "transport.dcqcn", "has a byte counter"),
        ({"transport": {"dcqcn": {"cnp_interval": "4us"}}}, "transport.dcqcn.cnp_interval", "is not part of"),
        (
            {"transport": {"dcqcn": {"alpha_timer": "1500ns"}}},
            "transport.dcqcn.alpha_timer",
            "no whole number of micro",
        ),
        (
            {"transport": {"cc": "none"}, "switches": {"ecn": "paper-2015"}},
            "switches.ecn",
            "has no effect with cc: none",
        ),
        ({"switches": {"ecn": "off"}}, "switches.ecn", "DCQCN never acts"),
        (
            {"transport": {"dcqcn": "simai"}, "topology": {**SMALL, "host_rate": "25G"}},
            "switches.ecn",
            "no thresholds for ports of 25G",
        ),
        ({"pfc": "off"}, "pfc", "cannot be off"),
        ({"vxlan": {}}, "vxlan", "is not part of"),
        (
            {"faults": [{"kind": "link-down", "link": "host1 - leaf1", "at": "1us"}]},
            "faults[0]",
            "link-down is not part",
        ),
        (
            {"workload": [{**INCAST[0], "priority": 4}]},
            "workload[0].priority",
            "every flow of this model has priority 3",
        ),
        ({"topology": {**SMALL, "host_cable": "0.5m"}}, "topology", "counts nanoseconds"),
        ({"switches": {"memory": "100KB"}}, "switches.memory", "headroom and reserve"),
    ],
)
def test_what_the_simulator_has_no_rule_for_is_refused(sections: dict[str, Any], path: str, text: str) -> None:
    found = refused(**sections)
    assert list(found) == [path]
    assert text in found[path]


def test_the_queue_of_acks_belongs_to_this_model_only() -> None:
    assert "has no effect with model: asic" in refused(model="asic", transport={"acks": "stock"})["transport.acks"]


def test_insertion_needs_the_sequential_scheduler(capsys: pytest.CaptureFixture[str], repo_root: Path) -> None:
    assert main(["run", str(repo_root / "scenarios" / "hpcc-ns3.yml"), "--order", "insertion"]) == 2
    assert "--order: insertion needs one global list" in capsys.readouterr().err

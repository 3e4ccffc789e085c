"""Broadcast ARP in the data plane: suppression answers at the leaf, flooding is ingress replication."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import ArpKnown, Edit, FloodList
from fabric.errors import InputErrors
from fabric.ids import NodeId
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify import conservation

LEAVES, PER_LEAF = 3, 2
HOSTS = LEAVES * PER_LEAF
FABRIC = {
    "kind": "leaf-spine",
    "leaves": LEAVES,
    "spines": 2,
    "hosts_per_leaf": PER_LEAF,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
END_PS = 10**9


def scenario(vxlan: dict[str, Any] | None, *workload: dict[str, Any], **topology: str) -> dict[str, Any]:
    raw = {
        "name": "arp",
        "topology": {**FABRIC, **topology},
        "workload": list(workload),
        "run": {"duration": "1ms", "stop": "duration"},
    }
    return raw if vxlan is None else {**raw, "vxlan": vxlan}


def asking(host: str, targets: list[str] | str, **more: str) -> dict[str, Any]:
    return {"kind": "arp", "hosts": [host], "targets": targets, "interval": "20us", "stop": "200us", **more}


def simulated(raw: dict[str, Any], edits: tuple[Edit, ...] = (), **options: Any) -> Emulator:  # noqa: ANN401  the emulator's own
    compiled = compile_scenario(build_scenario(raw, Path("arp.yml")))
    engine = Emulator(compiled.fabric, compiled.params, (*compiled.edits, *edits), **options)
    for share in range(1, 11):
        engine.advance(share * END_PS // 10)
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    return engine


def counted(engine: Emulator, field: str) -> int:
    return int(engine.state.segments[field].sum())


def received(engine: Emulator) -> list[int]:
    return engine.state.hosts["arp_requests_received"].tolist()


def answered(engine: Emulator) -> int:
    return int((engine.snapshot().asks["answered_ps"] >= 0).sum())


def test_a_suppressed_request_never_leaves_its_leaf() -> None:
    engine = simulated(scenario({}, asking("host1", ["host5"])))
    assert counted(engine, "arp_suppressed") == counted(engine, "arp_requests") == 10
    assert counted(engine, "bum_sent_pkts") == counted(engine, "encap_pkts") == 0
    assert received(engine) == [0] * HOSTS
    assert answered(engine) == 10


def test_without_suppression_every_host_of_the_segment_receives_every_request() -> None:
    engine = simulated(scenario({"arp_suppression": "off"}, asking("host1", ["host5"])))
    assert counted(engine, "arp_flooded") == 10
    assert counted(engine, "bum_sent_pkts") == 10 * (LEAVES - 1) == counted(engine, "bum_received_pkts")
    assert received(engine) == [0] + [10] * (HOSTS - 1)
    assert answered(engine) == 10


def test_an_unknown_target_is_flooded_in_spite_of_suppression() -> None:
    engine = simulated(scenario({}, asking("host1", "nobody")))
    assert counted(engine, "arp_flooded") == 10
    assert answered(engine) == 0


def test_a_request_for_a_known_local_target_stays_at_its_leaf() -> None:
    engine = simulated(scenario({}, asking("host1", ["host2"])))
    assert received(engine) == [0, 10, 0, 0, 0, 0]
    assert counted(engine, "bum_sent_pkts") == counted(engine, "arp_suppressed") == 0
    assert answered(engine) == 10


def test_broadcasts_stay_within_their_tenant() -> None:
    tenants = [
        {"name": "red", "vni": 100, "hosts": ["host1", "host3", "host5"], "arp_suppression": "off"},
        {"name": "blue", "vni": 200, "hosts": ["host2", "host4", "host6"]},
    ]
    engine = simulated(scenario({"tenants": tenants}, asking("host1", ["host5"])))
    assert received(engine) == [0, 0, 10, 0, 10, 0]


def test_a_dated_flood_list_and_forgotten_addresses_act_at_their_time() -> None:
    """The leaf loses its entry for host5 half-way and floods to one other leaf only."""
    leaf1, leaf3 = NodeId(HOSTS), NodeId(HOSTS + 2)
    engine = simulated(
        scenario({}, asking("host1", ["host5"])),
        (ArpKnown(10**8, leaf1, NodeId(4), known=False), FloodList(10**8, leaf1, 0, (leaf3,))),
    )
    suppressed, flooded = counted(engine, "arp_suppressed"), counted(engine, "arp_flooded")
    assert (suppressed, flooded) == (5, 5)
    assert received(engine) == [0, 5, 0, 0, 5, 5]
    assert answered(engine) == 10


def test_an_arp_storm_takes_bandwidth_from_data_unless_it_is_suppressed() -> None:
    data = {"kind": "messages", "messages": [{"src": "host2", "dst": "host6", "size": "1MB", "priority": 0}]}
    storm = [{**asking("host1", ["host6"], interval="200ns", stop="2ms"), "hosts": ["host1", "host3", "host4"]}]
    slow = {"host_rate": "10G", "fabric_rate": "10G"}
    ends = {}
    for suppression in ("on", "off"):
        raw = scenario({"arp_suppression": suppression}, data, *storm, **slow)
        raw["run"] = {"duration": "20ms"}
        compiled = compile_scenario(build_scenario(raw, Path("arp.yml")))
        engine = Emulator(compiled.fabric, compiled.params, compiled.edits)
        engine.advance(2 * 10**10)
        assert engine.finished
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
        ends[suppression] = int(engine.state.messages["end_ps"][1])
    assert ends["off"] > 1.05 * ends["on"]


@pytest.mark.parametrize("options", [{"threads": 2}, {"scheduler": "sequential"}])
def test_replication_does_not_depend_on_the_scheduler_and_threads(options: dict[str, Any]) -> None:
    raw = scenario({"arp_suppression": "off"}, *[asking(f"host{n}", ["*"], name=f"a{n}") for n in range(1, HOSTS + 1)])
    assert simulated(raw, **options).digest() == simulated(raw).digest()


@pytest.mark.parametrize(
    ("vxlan", "work", "topology", "says"),
    [
        (None, asking("host1", ["host5"]), {}, "no overlay"),
        ({}, asking("host1", ["host1"]), {}, "shares its segment with none"),
        ({}, asking("host1", ["host9"]), {}, "host9"),
        ({}, asking("host1", ["host5"], interval="1ps"), {}, "more than"),
        ({}, asking("host1", ["host5"], interval="300us"), {}, "no whole interval"),
    ],
)
def test_requests_that_cannot_be_are_refused_with_a_reason(
    vxlan: dict[str, Any] | None, work: dict[str, Any], topology: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputErrors) as caught:
        compile_scenario(build_scenario(scenario(vxlan, work, **topology), Path("arp.yml")))
    assert says in str([problem.text for problem in caught.value.problems])

"""Reductions of a scenario: what is left out, and hosts that keep their places under other names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.load import build_scenario
from fabric.topology.model import Fabric
from telemetry.sources import reducing
from telemetry.sources.reducing import Data, Smaller, places_of
from tests.diagnosis.conftest import scenario


def fabric_of(data: Data) -> Fabric | None:
    whole = {"name": "x", "topology": data["topology"], "workload": [{"kind": "all-to-all", "size": "1KB"}]}
    return admitted_fabric(build_scenario(whole | {"run": {"duration": "1ms"}}, Path("x.yml")))


def made(family: reducing.Family, data: Data) -> dict[str, Data]:
    return {it.text: it.data for it in family(data, fabric_of)}


def incast(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  values of a scenario file
    return {"name": "in", "kind": "incast", "receiver": "host1", "senders": ["host[5-8]", "host13"], "size": "1MB"} | (
        fields
    )


STORM = {"kind": "pause-storm", "hosts": ["host5"], "duration": "1ms", "at": "1ms"}
OPTIC = {"name": "dirty", "kind": "bit-errors", "link": "host6--leaf2", "ratio": 1e-6, "at": "1ms", "until": "5ms"}


def test_a_host_keeps_its_leaf_and_its_number_there() -> None:
    data = scenario(STORM, OPTIC, workload=[incast()])
    smaller = made(reducing.fewer_devices, data)["topology.hosts_per_leaf 4 to 2"]
    assert smaller["workload"][0]["senders"] == ["host3", "host4", "host7"]  # host7, host8 of four are gone
    assert smaller["workload"][0]["receiver"] == "host1"
    assert smaller["faults"][0]["hosts"] == ["host3"]
    assert smaller["faults"][1]["link"] == "host4--leaf2"
    old, new = fabric_of(data), fabric_of(smaller)
    assert old is not None
    assert new is not None
    assert places_of(old)["host13"] == places_of(new)["host7"] == ("leaf4", "0")


def test_a_port_leads_where_it_did_and_settings_of_those_that_are_gone_go() -> None:
    loss = {"kind": "drop-every", "port": "leaf3:Ethernet20", "every": 50, "at": "1ms"}
    overrides = [{"port": "leaf1:Ethernet16", "mtu": "4170B"}, {"port": "leaf1:Ethernet12", "mtu": "4170B"}]
    data = scenario(loss, switches={"asic": "trident3", "overrides": overrides})
    smaller = made(reducing.fewer_devices, data)["topology.hosts_per_leaf 4 to 2"]
    assert smaller["faults"][0]["port"] == "leaf3:Ethernet12"  # to spine2
    assert smaller["switches"]["overrides"] == [{"port": "leaf1:Ethernet8", "mtu": "4170B"}]
    assert "topology.spines 2 to 1" not in made(reducing.fewer_devices, data)


def test_a_fabric_without_a_host_that_is_needed_is_not_tried() -> None:
    gone = scenario(workload=[incast(receiver="host4")])
    assert "topology.hosts_per_leaf 4 to 2" not in made(reducing.fewer_devices, gone)
    nobody = scenario(workload=[incast(senders=["host13"])])
    assert "topology.leaves 4 to 2" not in made(reducing.fewer_devices, nobody)
    assert "topology.spines 2 to 1" in made(reducing.fewer_devices, nobody)


def test_numbers_that_count_hosts_shrink_with_them() -> None:
    across = {"name": "across", "kind": "permutation", "shift": 8, "size": "1MB"}
    some = across | {"name": "some", "hosts": ["host[1-4]", "host[9-12]"], "shift": 4}
    many = {"name": "many", "kind": "incast", "receiver": "host1", "fan_in": 12, "size": "1MB"}
    smaller = made(reducing.fewer_devices, scenario(workload=[across, some, many]))["topology.hosts_per_leaf 4 to 2"]
    entries = smaller["workload"]
    assert [it.get("shift") for it in entries] == [4, 2, None]  # still to the leaf on the other side
    assert entries[2]["fan_in"] == 7


def test_a_number_that_makes_nothing_smaller_is_not_tried() -> None:
    data = scenario()
    data["topology"] = {**data["topology"], "host_breakout": 1}
    assert not [it for it in made(reducing.fewer_devices, data) if "breakout" in it]


def test_loads_and_faults_end_with_a_shorter_run() -> None:
    data = scenario(STORM, OPTIC)
    tried = made(reducing.shorter, data)
    assert list(tried) == ["run.duration 6ms to 3ms", "run.duration 6ms to 4500us"]
    half = tried["run.duration 6ms to 3ms"]
    assert half["workload"][0]["stop"] == "3ms"
    assert "until" not in half["faults"][1]
    assert data["faults"][1]["until"] == "5ms"
    short = scenario(run={"duration": "1200us", "stop": "duration"})
    assert made(reducing.shorter, short) == {}


def test_lists_lose_halves_then_single_names() -> None:
    data = scenario(workload=[incast(senders=["host[5-8]"])])
    kept = [it.data["workload"][0]["senders"] for it in reducing.fewer_names(data, fabric_of)]
    assert kept[:2] == [["host7", "host8"], ["host5", "host6"]]
    assert [len(it) for it in kept] == [2, 2, 3, 3, 3, 3]


def test_each_fault_and_each_entry_is_left_out_but_for_the_last_entry() -> None:
    data = scenario(STORM, OPTIC, workload=[incast(), incast(name="more")])
    assert list(made(reducing.fewer_faults, data)) == ["fault dirty", "fault pause-storm"]
    assert "faults" not in made(reducing.fewer_faults, scenario(STORM))["fault pause-storm"]
    assert list(made(reducing.fewer_entries, data)) == ["workload more", "workload in"]
    assert made(reducing.fewer_entries, scenario(workload=[incast()])) == {}


def test_a_setting_goes_with_the_section_that_it_leaves_empty() -> None:
    tried = made(reducing.fewer_settings, scenario(OPTIC))
    assert "switches" not in tried["switches.asic"]
    assert tried["transport.qp.per"]["transport"] == {"retransmit_timeout": "1ms"}
    assert "until" not in tried["faults[0].until"]["faults"][0]
    assert not {"faults[0].kind", "faults[0].at", "run", "telemetry", "topology"} & set(tried)


@pytest.mark.parametrize("family", reducing.FAMILIES)
def test_no_reduction_changes_the_scenario_that_it_is_made_from(family: reducing.Family) -> None:
    data = scenario(STORM, OPTIC, workload=[incast(repeat=4), incast(name="more")], routing="bgp", vxlan={})
    before = repr(data)
    tried: list[Smaller] = list(family(data, fabric_of))
    assert tried
    assert repr(data) == before
    assert all(repr(it.data) != before for it in tried)

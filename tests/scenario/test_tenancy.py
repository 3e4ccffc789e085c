"""Tenants placed on a fabric: hosts of a VNI, their subnets and gateways."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Any

import pytest

from fabric.errors import InputErrors, Problem
from fabric.scenario.compile.tenancy import Tenancy, tenancy_of
from fabric.scenario.schema.endpoints import VxlanSpec
from fabric.topology.addressing import addressing
from fabric.topology.model import Fabric
from fabric.topology.registry import build_topology
from fabric.topology.spec import LeafSpineSpec


def fabric_of(leaves: int = 2, hosts: int = 4) -> Fabric:
    return build_topology(
        LeafSpineSpec.model_validate(
            {
                "kind": "leaf-spine",
                "leaves": leaves,
                "spines": 1,
                "hosts_per_leaf": hosts,
                "host_rate": "100G",
                "fabric_rate": "100G",
            }
        ),
        Path(),
    )


def placed(fabric: Fabric, *tenants: dict[str, Any]) -> Tenancy:
    problems: list[Problem] = []
    found = tenancy_of(VxlanSpec.model_validate({"tenants": tenants}), fabric, "", problems)
    if problems:
        raise InputErrors("placing", problems)
    return found


def routed(*segments: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"name": "blue", "l3_vni": 900, "segments": list(segments), **more}


def test_a_segment_is_one_subnet_wherever_its_hosts_are_and_the_rest_keeps_the_plans_addresses() -> None:
    fabric = fabric_of()
    found = placed(
        fabric,
        routed(
            {"name": "a", "vni": 10, "hosts": ["host1", "host5"]},
            {"name": "b", "vni": 11, "hosts": ["host2", "host6"]},
            routed=["host3", "host7"],
        ),
        {"name": "red", "vni": 12, "hosts": ["host4", "host8"]},
    )
    addresses, plan = found.addresses(fabric), addressing(fabric)
    assert [str(IPv4Address(int(it))) for it in addresses.host_ip[:8]] == [
        "172.16.0.2",
        "172.16.1.2",
        "10.64.0.4",
        "10.64.0.5",
        "172.16.0.3",
        "172.16.1.3",
        "10.64.1.4",
        "10.64.1.5",
    ]
    assert [it.gateway for it in found.segments] == ["172.16.0.1/24", "172.16.1.1/24", ""]
    kept = [2, 3, 6, 7]
    assert addresses.host_ip[kept].tolist() == plan.host_ip[kept].tolist()
    host1 = fabric.hosts[0].first_port
    assert int(addresses.port_ip[fabric.ports[host1].peer]) == int(IPv4Address("172.16.0.1"))
    assert len({*addresses.host_ip[:8].tolist()}) == 8


def test_given_subnets_and_gateways_are_taken_and_no_other_segment_is_put_there() -> None:
    found = placed(
        fabric_of(),
        routed(
            {"name": "a", "vni": 10, "hosts": ["host[1-3]"], "subnet": "172.16.0.0/29", "gateway": "172.16.0.2"},
            {"name": "b", "vni": 11, "hosts": ["host[4-8]"]},
        ),
    )
    assert [it.gateway for it in found.segments] == ["172.16.0.2/29", "172.16.1.1/24"]
    assert [str(IPv4Address(found.address[host])) for host in range(4)] == [
        "172.16.0.1",
        "172.16.0.3",
        "172.16.0.4",
        "172.16.1.2",
    ]


def test_many_hosts_get_a_larger_subnet_and_all_of_them_are_inside() -> None:
    fabric = fabric_of(leaves=8, hosts=64)
    found = placed(
        fabric,
        routed(
            {"name": "a", "vni": 10, "hosts": ["host[1-9]"]}, {"name": "b", "vni": 11, "hosts": ["host[1-9][0-9]*"]}
        ),
    )
    network = IPv4Interface(found.segments[1].gateway).network
    assert network.prefixlen == 23
    mine = [found.address[host] for host in found.segments[1].hosts]
    assert len(set(mine)) == len(mine) == 503
    assert all(IPv4Address(address) in network for address in mine)
    assert not network.overlaps(IPv4Interface(found.segments[0].gateway).network)


def test_two_tenants_may_use_the_same_subnet() -> None:
    one = routed(
        {"name": "a", "vni": 10, "hosts": ["host1"], "subnet": "10.9.0.0/24"},
        {"name": "b", "vni": 11, "hosts": ["host2", "host5", "host6"]},
    )
    two = {
        **routed(
            {"name": "a", "vni": 12, "hosts": ["host3"], "subnet": "10.9.0.0/24"},
            {"name": "b", "vni": 13, "hosts": ["host4", "host7", "host8"]},
        ),
        "name": "red",
        "l3_vni": 901,
    }
    found = placed(fabric_of(), one, two)
    assert found.address[0] == found.address[2]


def test_a_space_that_is_used_up_is_said() -> None:
    taken = [{"name": f"s{n}", "vni": 10 + n, "hosts": ["host1"], "subnet": f"172.{16 + 8 * n}.0.0/13"} for n in (0, 1)]
    with pytest.raises(InputErrors, match="has no room left for 7 hosts"):
        placed(
            fabric_of(),
            routed(*taken[:1], {"name": "t", "vni": 30, "hosts": ["host[2-8]"]}, {**taken[1], "hosts": ["host1"]}),
        )


def test_segments_without_room_are_said_to_have_none_and_not_to_overlap() -> None:
    taken = {"name": "s", "vni": 10, "hosts": ["host1"], "subnet": "172.16.0.0/12"}
    more = [{"name": f"t{vni}", "vni": vni, "hosts": [f"host{vni - 10}"]} for vni in (12, 13)]
    with pytest.raises(InputErrors) as caught:
        placed(fabric_of(hosts=2), routed(taken, *more, routed=["host4"]))
    assert [(it.path, it.text) for it in caught.value.problems] == [
        (f"vxlan.tenants[0].segments[{place}].subnet", "172.16.0.0/12 has no room left for 1 host") for place in (1, 2)
    ]

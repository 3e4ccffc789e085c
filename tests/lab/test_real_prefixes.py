"""The subnet of a router's ports in Type-5 routes of FRR and of the model: announced while one port has carrier."""

from __future__ import annotations

import time

import pytest

from fabric.lab.frr import Daemons
from tests.lab.owned import owned
from tests.lab.routers import needs_frr
from tests.network.test_tenant_routing import MS, port_down, port_up, run

pytestmark = [needs_frr, pytest.mark.slow]

VTEP = "10.255.1.1"
BGPD = f"""hostname real
router bgp 65101
 bgp router-id {VTEP}
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
 address-family l2vpn evpn
  advertise-all-vni
  advertise ipv4 unicast
 exit-address-family
"""
"""The L3 VNI belongs to the default VRF, so that kernels without VRF devices suffice."""


def modelled() -> list[bool]:
    """Whether leaf4 of the model announces the subnet of its two ports: both up, one, none, one again."""
    found = run([port_down(9, 100), port_down(10, 400), port_up(9, 700)])
    tables = [found.at(at_ms * MS).switches[found.plan.by_name["leaf4"].row].vtep for at_ms in (50, 300, 600, 900)]
    return [
        any(key.ip == "10.64.3.0" for key, _ in vtep.vrfs["blue"].own_routes()) for vtep in tables if vtep is not None
    ]


def test_frr_takes_a_subnets_type_5_route_back_with_the_last_of_its_ports_and_so_does_the_model() -> None:
    with owned() as (record, spaces):
        leaf = spaces.add("leaf")
        leaf.address("lo", VTEP, 32)
        leaf.add("br1", "bridge")  # one subnet on several ports, as behind the model's leaf
        leaf.add("br50010", "bridge")
        for number in (1, 2):
            spaces.add(f"host{number}")
            spaces.cable("leaf", f"port{number}", f"host{number}", "eth0")
            leaf.run("ip", "link", "set", f"port{number}", "master", "br1")
        leaf.run(
            "ip",
            "link",
            "add",
            "vx50010",
            "type",
            "vxlan",
            "id",
            "50010",
            "dstport",
            "4789",
            "local",
            VTEP,
            "nolearning",
        )
        leaf.run("ip", "link", "set", "vx50010", "master", "br50010")
        for name in ("br1", "br50010", "vx50010"):
            leaf.up(name)
        leaf.address("br1", "10.64.3.1", 24)
        frr = Daemons("leaf", leaf, record)
        frr.start("vni 50010\n", BGPD)

        def announced() -> bool:
            return "10.64.3.0" in frr.shell("show bgp l2vpn evpn route type prefix json")

        def settled(*, wanted: bool) -> bool:
            """The value, once it is as expected and stable for half a second; after 20 s at the latest."""
            until_s = time.monotonic() + 20
            while announced() != wanted and time.monotonic() < until_s:
                time.sleep(0.02)
            time.sleep(0.5)
            return announced()

        expected, seen = modelled(), []
        moves = (
            lambda: None,
            lambda: spaces["host1"].down("eth0"),
            lambda: spaces["host2"].down("eth0"),
            lambda: spaces["host1"].up("eth0"),
        )
        for move, wanted in zip(moves, expected, strict=True):
            move()
            seen.append(settled(wanted=wanted))
    assert seen == expected == [True, True, False, True]

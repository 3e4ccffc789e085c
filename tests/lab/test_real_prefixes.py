"""The subnet of a router's ports in Type-5 routes of FRR and of the model: announced while one port has carrier."""

from __future__ import annotations

import itertools
import json

from fabric.lab.frr import Daemons
from tests.lab.owned import owned
from tests.lab.routers import REAL
from tests.network.test_tenant_routing import MS, port_down, port_up, run
from tests.waiting import until

pytestmark = REAL

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

        def announced(prefix: str = "10.64.3.0") -> bool:
            return prefix in frr.shell("show bgp l2vpn evpn route type prefix json")

        def states(source: str) -> dict[str, bool]:
            """Whether an interface has carrier, of the kernel or of zebra."""
            if source == "kernel":
                return {it["ifname"]: it["operstate"] == "UP" for it in json.loads(leaf.run("ip", "-j", "link"))}
            [found] = frr.show("show interface json")
            return {name: it["operationalStatus"] == "up" for name, it in found.items()}

        def check(*, wanted: bool, ports: tuple[bool, bool]) -> None:
            """Whether it is announced, once bgpd has got to know all that followed from the change of a port."""
            watched = {"port1": ports[0], "port2": ports[1], "br1": any(ports)}
            for source in ("kernel", "zebra"):
                until(lambda source=source: watched.items() <= states(source).items(), f"{source} has {watched}")
            # A later address is announced when what came before it is done.
            later = f"10.255.2.{next(numbers)}"
            leaf.address("lo", later, 32)
            until(lambda: announced(later), f"{later} is announced")
            until(lambda: announced() == wanted, f"the subnet is announced: {wanted}")

        numbers = itertools.count(1)
        expected = modelled()
        assert expected == [True, True, False, True]
        moves = (
            (lambda: None, (True, True)),
            (lambda: spaces["host1"].down("eth0"), (False, True)),
            (lambda: spaces["host2"].down("eth0"), (False, False)),
            (lambda: spaces["host1"].up("eth0"), (True, False)),
        )
        for (move, ports), wanted in zip(moves, expected, strict=True):
            move()
            check(wanted=wanted, ports=ports)

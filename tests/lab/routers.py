"""One real FRR router beside our speaker, in two namespaces with a cable between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest

from fabric.capture.journal import recording, speaker_of
from fabric.controlplane.bgp.actions import Action
from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.evpn.evpn_attributes import ENCAPSULATION_VXLAN, pmsi_ingress_replication
from fabric.controlplane.evpn.evpn_nlri import EVPN, Payload, mac_ip_key, multicast_key, prefix_key
from fabric.controlplane.evpn.rd import auto_rd
from fabric.lab.frr import PROGRAMS, Daemons
from fabric.lab.netns import Namespace, laboratory_problems
from fabric.lab.sockets import Ports, SpeakerSockets
from fabric.lab.speaker_setup import session_config
from tests.lab.owned import owned
from tests.waiting import LIMIT_S

MISSING = laboratory_problems(PROGRAMS)
needs_frr = pytest.mark.skipif(bool(MISSING), reason="; ".join(f"{it.path} {it.text}" for it in MISSING))
REAL = [needs_frr, pytest.mark.slow, pytest.mark.timed]
"""Marks of a test of real daemons, which take their own time."""

OURS, THEIRS = "192.0.2.1", "192.0.2.0"
OUR_ASN, THEIR_ASN = 65009, 65101
OUR_VTEP, THEIR_VTEP = "10.255.9.1", "10.255.1.1"
VNI = 10100
L3_VNI = 50_000
ROUTED_MAC = "02:00:00:00:09:02"
"""MAC of a host whose MAC+IP route also has a label of the L3 VNI (RFC 9135 section 5.1)."""
S = 1_000_000_000

ZEBRA = """frr defaults datacenter
hostname real
no zebra nexthop kernel enable
"""
BGPD = f"""frr defaults datacenter
hostname real
router bgp {THEIR_ASN}
 bgp router-id {THEIR_VTEP}
 no bgp default ipv4-unicast
 neighbor {OURS} remote-as {OUR_ASN}
 neighbor {OURS} timers 30 90
 neighbor {OURS} timers connect 1
 address-family ipv4 unicast
  network {THEIR_VTEP}/32
  neighbor {OURS} activate
 exit-address-family
 address-family l2vpn evpn
  neighbor {OURS} activate
  advertise-all-vni
 exit-address-family
exit
"""


def real(test: Callable[..., None]) -> Callable[..., None]:
    """A test with the marks REAL."""
    for mark in REAL:
        test = mark(test)
    return test


@dataclass
class Beside:
    """Our sockets, the router, and the journal of the session."""

    sockets: SpeakerSockets
    speaker: Speaker
    frr: Daemons
    there: Namespace
    journal: StringIO
    seen: list[Action]

    @property
    def established(self) -> bool:
        return self.speaker.peers[THEIRS].established is not None

    def until(self, done: Callable[[], bool]) -> None:
        """Serves the sockets until `done`, which is checked at every event and every 50 ms."""
        sockets, until_ns = self.sockets, self.sockets.now_ns + int(LIMIT_S * S)
        while not done():
            if sockets.now_ns >= until_ns:
                raise AssertionError(f"not within {LIMIT_S} s")
            sockets.run_until(lambda: False, sockets.now_ns + S // 20)

    def route(self, command: str) -> Any:  # noqa: ANN401  whatever FRR prints
        return self.frr.show(f"{command} json")[0]

    def evpn_paths(self) -> dict[str, Any]:
        """Route -> its first path in FRR's EVPN table, our routes only."""
        table = self.route("show bgp l2vpn evpn route")
        return {
            name: route["paths"][0][0] if isinstance(route["paths"][0], list) else route["paths"][0]
            for rd, routes in table.items()
            if isinstance(routes, dict) and rd.startswith(OUR_VTEP)
            for name, route in routes.items()
            if isinstance(route, dict)
        }

    def originate_all(self) -> None:
        """A loopback, a MAC, a MAC+IP, one with two labels, a flood list entry and an IP prefix, as a VTEP would."""
        rd, vtep = auto_rd(OUR_VTEP, 2), bytes(map(int, OUR_VTEP.split(".")))
        target = b"\0\2" + OUR_ASN.to_bytes(2) + VNI.to_bytes(4)
        its = Attributes(ext_communities=(ENCAPSULATION_VXLAN, target))
        flood = Attributes(ext_communities=its.ext_communities, pmsi_tunnel=pmsi_ingress_replication(VNI, OUR_VTEP))
        router_mac = b"\x06\x03" + bytes.fromhex("02fa00000009")
        l3_target = b"\0\2" + OUR_ASN.to_bytes(2) + L3_VNI.to_bytes(4)
        routed = Attributes(ext_communities=(ENCAPSULATION_VXLAN, l3_target, router_mac))
        mac = "02:00:00:00:09:01"
        do = self.sockets.do
        do("originate", family=IPV4_UNICAST, keys=(b"\x20" + vtep,), attributes=Attributes(med=0))
        do(
            "originate",
            family=EVPN,
            keys=(mac_ip_key(rd, mac), mac_ip_key(rd, mac, "172.16.101.91")),
            attributes=its,
            next_hop=vtep,
            payload=Payload((VNI,)),
        )
        do("originate", family=EVPN, keys=(multicast_key(rd, OUR_VTEP),), attributes=flood, next_hop=vtep)
        both = Attributes(ext_communities=(ENCAPSULATION_VXLAN, target, l3_target, router_mac))
        do(
            "originate",
            family=EVPN,
            keys=(mac_ip_key(rd, ROUTED_MAC, "172.16.101.92"),),
            attributes=both,
            next_hop=vtep,
            payload=Payload((VNI, L3_VNI)),
        )
        do(
            "originate",
            family=EVPN,
            keys=(prefix_key(rd, "172.16.109.0", 24),),
            attributes=routed,
            next_hop=vtep,
            payload=Payload((L3_VNI,)),
        )


@contextmanager
def router() -> Iterator[Namespace]:
    """FRR with one VNI that waits for a neighbour; the namespace at the other end of its cable."""
    with _two() as (us, _, _):
        yield us


@contextmanager
def _two() -> Iterator[tuple[Namespace, Namespace, Daemons]]:
    """Our namespace, the router's, and its daemons."""
    with owned() as (record, spaces):
        us, there = spaces.add("us"), spaces.add("real")
        spaces.cable("us", "eth0", "real", "eth0")
        us.address("eth0", OURS, 31)
        there.address("eth0", THEIRS, 31)
        there.address("lo", THEIR_VTEP, 32)
        there.add(f"br{VNI}", "bridge")
        there.add(f"vx{VNI}", "vxlan", vxlan_id=VNI, vxlan_local=THEIR_VTEP, vxlan_port=4789, vxlan_learning=False)
        there.set(f"vx{VNI}", master=there.index(f"br{VNI}"))
        for interface in (f"br{VNI}", f"vx{VNI}"):
            there.up(interface)
        frr = Daemons("real", there, record)
        frr.start(ZEBRA, BGPD)
        yield us, there, frr


@contextmanager
def beside(*, passive: bool = False, hold_time_s: int = 90) -> Iterator[Beside]:
    """FRR with one VNI and us as neighbour; our speaker started."""
    with _two() as (us, there, frr), us.inside():
        config = session_config(
            OURS, THEIRS, OUR_ASN, THEIR_ASN, OUR_VTEP, "emulated", passive=passive, hold_time_s=hold_time_s
        )
        speaker, journal, seen = speaker_of(config), StringIO(), list[Action]()
        sockets = SpeakerSockets(
            recording(speaker, journal),
            speaker,
            Ports((OURS, 179) if passive else None),
            lambda _, actions: seen.extend(actions),
        )
        sockets.start()
        found = Beside(sockets, speaker, frr, there, journal, seen)
        yield found
        if sockets.open:
            sockets.stop()

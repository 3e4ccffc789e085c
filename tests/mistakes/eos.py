"""The plan in Arista EOS, from the documented syntax."""

from __future__ import annotations

from collections.abc import Sequence

from tests.mistakes import plan
from tests.mistakes.plan import Port, Switch

PORTS = {number: f"Ethernet{number}/1" for number in range(1, 257)}

_QOS = """\
qos map dscp 24 25 27 28 29 30 31 to traffic-class 1
qos map dscp 26 to traffic-class 3
qos map dscp 48 to traffic-class 6
priority-flow-control pause watchdog default timeout 0.20
priority-flow-control pause watchdog default recovery-time 0.20
priority-flow-control pause watchdog default polling-interval 0.10
!
qos profile ROCE
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control pause watchdog
   uc-tx-queue 0
      no priority
      bandwidth percent 10
   uc-tx-queue 3
      no priority
      bandwidth percent 90
      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes max-mark-probability 20 weight 0
   uc-tx-queue 6
      priority strict
!
"""


def good(of: Sequence[Switch] = plan.SWITCHES, *, loopbacks: bool = False) -> dict[str, str]:
    """{file name: text} of the working fabric; `loopbacks`: EVPN has separate sessions, between loopbacks."""
    files = {f"{switch.name}.cfg": _switch(switch, loopbacks) for switch in of}
    return {**files, "topology.json": plan.cabling(PORTS, of), "hosts.json": plan.HOSTS}


def _switch(switch: Switch, loopbacks: bool) -> str:
    text = f"! device: {switch.name} (DCS-7060X6-64PE, EOS-4.32.1F)\n!\nhostname {switch.name}\n!\nip routing\n!\n"
    if switch.leaf:
        text += f"vlan {plan.VLAN}\n!\nip virtual-router mac-address {plan.GATEWAY_MAC}\n!\n"
    text += _QOS + "".join(map(_port, switch.ports))
    text += f"interface Loopback0\n   ip address {switch.loopback}/32\n!\n"
    if switch.leaf:
        text += f"interface Vlan{plan.VLAN}\n   mtu 9214\n   ip address virtual {plan.GATEWAY}\n!\n"
        text += (
            "interface Vxlan1\n   vxlan source-interface Loopback0\n   vxlan udp-port 4789\n"
            f"   vxlan vlan {plan.VLAN} vni {plan.VNI}\n!\n"
        )
    return text + _bgp(switch, loopbacks)


def _port(port: Port) -> str:
    text = f"interface {PORTS[port.number]}\n   description {port.peer}\n   mtu 9214\n   speed 400g-8\n"
    text += "   error-correction encoding reed-solomon\n"
    if port.to_host:
        text += f"   switchport access vlan {plan.VLAN}\n"
    else:
        text += f"   no switchport\n   ip address {port.address}\n"
    return text + "   service-profile ROCE\n!\n"


def _bgp(switch: Switch, loopbacks: bool) -> str:
    peers = [port for port in switch.ports if not port.to_host]
    text = f"router bgp {switch.asn}\n   router-id {switch.loopback}\n   no bgp default ipv4-unicast\n"
    text += f"   timers bgp {plan.KEEPALIVE_S} {plan.HOLD_S}\n   maximum-paths {switch.paths}\n"
    overlay = [plan.LOOPBACKS[port.peer] if loopbacks else port.peer_address for port in peers]
    for port, address in zip(peers, overlay, strict=True):
        if loopbacks:
            text += f"   neighbor {port.peer_address} remote-as {port.peer_asn}\n"
        text += f"   neighbor {address} remote-as {port.peer_asn}\n"
        if loopbacks:
            text += f"   neighbor {address} update-source Loopback0\n"
            text += f"   neighbor {address} ebgp-multihop {plan.HOPS}\n"
        text += f"   neighbor {address} send-community extended\n"
        if not switch.leaf:
            text += f"   neighbor {address} next-hop-unchanged\n"
    if switch.leaf:
        text += f"   vlan {plan.VLAN}\n      rd {switch.loopback}:{plan.VNI}\n"
        text += f"      route-target both {plan.ROUTE_TARGET}\n      redistribute learned\n"
    for family, neighbors in (("evpn", overlay), ("ipv4", [port.peer_address for port in peers])):
        text += f"   address-family {family}\n"
        text += "".join(f"      neighbor {address} activate\n" for address in neighbors)
        if family == "ipv4":
            text += f"      network {switch.loopback}/32\n"
    return text

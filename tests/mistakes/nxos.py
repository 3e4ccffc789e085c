"""The plan in Cisco NX-OS, from the documented syntax."""

from __future__ import annotations

from collections.abc import Sequence

from tests.mistakes import plan
from tests.mistakes.plan import Port, Switch

PORTS = {number: f"Ethernet1/{number}" for number in range(1, 257)}

_QOS = """\
priority-flow-control watch-dog-interval on
policy-map type network-qos qos_network
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
class-map type qos match-any CNP
  match dscp 48
class-map type qos match-any ROCEv2
  match dscp 26
policy-map type qos QOS_CLASSIFICATION
  class ROCEv2
    set qos-group 3
  class CNP
    set qos-group 7
  class class-default
    set qos-group 0
policy-map type queuing QOS_EGRESS
  class type queuing c-out-8q-q3
    bandwidth remaining percent 50
    random-detect minimum-threshold 950 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 50
  class type queuing c-out-8q-q7
    priority level 1
system qos
  service-policy type queuing output QOS_EGRESS
  service-policy type network-qos qos_network
"""


def good(of: Sequence[Switch] = plan.SWITCHES, *, loopbacks: bool = False) -> dict[str, str]:
    """{file name: text} of the working fabric; `loopbacks`: EVPN has separate sessions, between loopbacks."""
    files = {f"{switch.name}.cfg": _switch(switch, loopbacks) for switch in of}
    return {**files, "topology.json": plan.cabling(PORTS, of), "hosts.json": plan.HOSTS}


def _switch(switch: Switch, loopbacks: bool) -> str:
    text = (
        f"! device: {switch.name} (N9K-C9364D-GX2A, NX-OS 10.4)\nhostname {switch.name}\nnv overlay evpn\nfeature bgp\n"
    )
    if switch.leaf:
        text += "feature interface-vlan\nfeature vn-segment-vlan-based\nfeature nv overlay\n"
        text += f"fabric forwarding anycast-gateway-mac {_dotted(plan.GATEWAY_MAC)}\n"
        text += f"vlan {plan.VLAN}\n  vn-segment {plan.VNI}\n"
    text += _QOS
    if not switch.leaf:
        text += "route-map NH_UNCHANGED permit 10\n  set ip next-hop unchanged\n"
    if switch.leaf:
        text += f"interface Vlan{plan.VLAN}\n  no shutdown\n  mtu 9216\n  ip address {plan.GATEWAY}\n"
        text += "  fabric forwarding mode anycast-gateway\n"
        text += "interface nve1\n  no shutdown\n  host-reachability protocol bgp\n  source-interface loopback0\n"
        text += f"  member vni {plan.VNI}\n    ingress-replication protocol bgp\n"
    text += "".join(map(_port, switch.ports))
    text += f"interface loopback0\n  ip address {switch.loopback}/32\n"
    return text + _bgp(switch, loopbacks)


def _port(port: Port) -> str:
    text = f"interface {PORTS[port.number]}\n  description {port.peer}\n"
    text += f"  switchport\n  switchport access vlan {plan.VLAN}\n" if port.to_host else "  no switchport\n"
    text += "  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n"
    text += "  speed 400000\n  fec rs-fec\n  mtu 9216\n"
    if not port.to_host:
        text += f"  ip address {port.address}\n"
    return text + "  service-policy type qos input QOS_CLASSIFICATION\n  no shutdown\n"


def _bgp(switch: Switch, loopbacks: bool) -> str:
    text = f"router bgp {switch.asn}\n  router-id {switch.loopback}\n  timers bgp {plan.KEEPALIVE_S} {plan.HOLD_S}\n"
    text += f"  address-family ipv4 unicast\n    network {switch.loopback}/32\n    maximum-paths {switch.paths}\n"
    text += f"  address-family l2vpn evpn\n    maximum-paths {switch.paths}\n"
    if not switch.leaf:
        text += "    retain route-target all\n"
    for port in switch.ports:
        if port.to_host:
            continue
        text += f"  neighbor {port.peer_address}\n    remote-as {port.peer_asn}\n    address-family ipv4 unicast\n"
        if loopbacks:
            text += f"  neighbor {plan.LOOPBACKS[port.peer]}\n    remote-as {port.peer_asn}\n"
            text += f"    update-source loopback0\n    ebgp-multihop {plan.HOPS}\n"
        text += "    address-family l2vpn evpn\n      send-community extended\n"
        if not switch.leaf:
            text += "      route-map NH_UNCHANGED out\n"
    if switch.leaf:
        text += f"evpn\n  vni {plan.VNI} l2\n    rd auto\n"
        text += f"    route-target import {plan.ROUTE_TARGET}\n    route-target export {plan.ROUTE_TARGET}\n"
    return text


def _dotted(mac: str) -> str:
    digits = mac.replace(":", "")
    return ".".join(digits[at : at + 4] for at in range(0, 12, 4))

"""Mistakes of changes to a running NX-OS fabric: ranges of ports, class maps, VRFs, segments, breakout."""

from __future__ import annotations

from typing import Final

from tests.mistakes import nxos
from tests.mistakes.mistake import Edit, Mistake, both, replaced

_UP, _OTHER_UP, _HOST = "Ethernet1/3", "Ethernet1/4", "Ethernet1/1"
_ENDS: Final = "leaf1 spine1"
_QOS: Final = "  service-policy type qos input QOS_CLASSIFICATION\n"


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("nxos", title, checks, devices, where, file, edit)


def appended(text: str) -> Edit:
    """Lines at the end of the file, as a change pastes them."""
    return lambda content: content + text


def uplinks_in_one_block(text: str) -> str:
    """The lines that both uplinks share are in one block of a range."""
    shared = (
        "  no switchport\n  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n"
        "  speed 400000\n  fec rs-fec\n  mtu 9216\n"
    )
    first, end = text.index(f"interface {_UP}\n"), text.index("\ninterface loopback0") + 1
    blocks = text[first:end].replace(shared, "").replace(_QOS, "")
    return text[:first] + f"interface Ethernet1/3-4\n{shared}{_QOS}" + blocks + text[end:]


def tenant(*, late_on: str = "") -> Edit:
    """The VLAN's interface is in VRF RED on every leaf; on one, `late_on`, its address stands before the VRF."""

    def edit(text: str) -> str:
        text = text.replace(
            "interface Vlan100\n",
            "vrf context RED\n  rd auto\n  address-family ipv4 unicast\n    route-target both auto evpn\n"
            "interface Vlan100\n",
        )
        before = "  ip address 172.16.100.1/24\n" if f"hostname {late_on}\n" in text else "interface Vlan100\n"
        return text.replace(before, f"{before}  vrf member RED\n", 1)

    return edit


def _moved_marking(text: str) -> str:
    line = (
        "    random-detect minimum-threshold 950 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn\n"
    )
    text = text.replace(line, "")
    return text.replace("  class type queuing c-out-8q-q7\n", f"{line}  class type queuing c-out-8q-q7\n")


def _evpn_of_leaf2(text: str) -> str:
    other = nxos.good()["leaf2.cfg"]
    return text[: text.index("\ninterface loopback0") + 1] + other[other.index("\ninterface loopback0") + 1 :]


CASES: Final = (
    _case(
        "the classifying policy is taken off one port of a range",
        "M1 M3 L9 M2",
        "leaf1",
        _UP,
        both(
            uplinks_in_one_block, appended(f"interface {_UP}\n  no service-policy type qos input QOS_CLASSIFICATION\n")
        ),
    ),
    _case(
        "PFC is taken off one port of a range",
        "L1 L9 M7 M14 L11",
        _ENDS,
        _UP,
        both(uplinks_in_one_block, appended(f"interface {_UP}\n  no priority-flow-control mode\n")),
    ),
    _case(
        "the MTU is taken off one port of a range",
        "L4 T1",
        "leaf1 spine2",
        _OTHER_UP,
        both(uplinks_in_one_block, appended(f"interface {_OTHER_UP}\n  no mtu\n")),
    ),
    _case("the class map of RoCE has DSCP 24", "M1 M2", "leaf1", "", replaced("match dscp 26", "match dscp 24")),
    _case("the policy sets group 4 for RoCE", "M1 M2 L9", "leaf1", "", replaced("set qos-group 3", "set qos-group 4")),
    _case(
        "the VRF of the gateway is set after its address",
        "V18 V6 R9",
        "leaf1",
        "Vlan100",
        tenant(late_on="leaf1"),
        "leaf*.cfg",
    ),
    _case(
        "an access list denies a range of ports around RoCE's",
        "A1",
        "leaf1",
        _HOST,
        both(
            replaced(
                "interface Ethernet1/1\n",
                "ip access-list HOSTS\n  10 deny udp any any range 4790 4799\n  20 permit ip any any\n"
                "interface Ethernet1/1\n",
            ),
            replaced("  mtu 9216\n", "  mtu 9216\n  ip port access-group HOSTS in\n", after="interface Ethernet1/1\n"),
        ),
    ),
    _case(
        "the port is split and its block stays",
        "L2 R9 R1 L12",
        _ENDS,
        _UP,
        replaced("interface Vlan100\n", "interface breakout module 1 port 3 map 100g-4x\ninterface Vlan100\n"),
    ),
    _case("loopback, BGP and EVPN copied from the other leaf", "I1 I2 I3 P2 P3 P9", "leaf1 leaf2", "", _evpn_of_leaf2),
    _case(
        "the other spine's address in two neighbours",
        "P9 P3 P2 P19",
        _ENDS,
        "10.1.0.",
        replaced("  neighbor 10.1.0.1\n", "  neighbor 10.1.0.11\n"),
    ),
    _case(
        "the weight of the RoCE queue lost a digit",
        "M11",
        "leaf1",
        "",
        replaced("bandwidth remaining percent 50", "bandwidth remaining percent 5"),
    ),
    _case(
        "the uplink's mask is that of a LAN",
        "P1 I1 I8",
        _ENDS,
        "10.1.0.",
        replaced("ip address 10.1.0.0/31", "ip address 10.1.0.0/24"),
    ),
)

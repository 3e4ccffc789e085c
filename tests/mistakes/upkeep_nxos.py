"""Mistakes of daily upkeep in NX-OS, invented and tried before the checks knew them."""

from __future__ import annotations

from typing import Final

from tests.mistakes import nxos
from tests.mistakes.mistake import Edit, Mistake, both, everywhere, replaced

_UP, _UP2, _HOST = "interface Ethernet1/3\n", "interface Ethernet1/4\n", "interface Ethernet1/1\n"
_FAMILY = "    address-family ipv4 unicast\n"
_ALL = "leaf1 leaf2 spine1 spine2"


def _nxos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    """`title` says where EVPN runs between loopbacks."""
    return Mistake("nxos", title, checks, devices, where, file, edit, loopbacks="between loopbacks" in title)


def _before(line: str, text: str) -> Edit:
    """Lines in front of a line."""
    return replaced(line, text + line)


def _behind(line: str, text: str, *, after: str = "") -> Edit:
    """Lines behind a line."""
    return replaced(line, line + text, after=after)


def _copied(text: str) -> str:
    """The file of leaf1 under leaf2's name."""
    assert "hostname leaf2" in text
    return (
        nxos.good()["leaf1.cfg"].replace("hostname leaf1", "hostname leaf2").replace("device: leaf1", "device: leaf2")
    )


def lag(modes: dict[str, str], more: dict[str, str] | None = None, *, feature: str = "feature lacp\n") -> Edit:
    """The cable between leaf1 and spine1 as a LAG at both ends, each with its mode, and lines at the bundles."""
    ports = {"leaf1": "Ethernet1/3", "spine1": "Ethernet1/1"}

    def edit(text: str) -> str:
        switch = text.split("hostname ")[1].split("\n", maxsplit=1)[0]
        if switch not in ports:
            return text
        address = f"  ip address 10.1.0.{0 if switch == 'leaf1' else 1}/31\n"
        bundle = f"interface port-channel10\n  no switchport\n  mtu 9216\n{(more or {}).get(switch, '')}{address}"
        line = f"  channel-group 10 mode {modes[switch]}\n"
        text = replaced(address, line, after=f"interface {ports[switch]}\n")(text)
        text = replaced("feature bgp\n", f"feature bgp\n{feature}")(text)
        return replaced("interface ", f"{bundle}interface ", after="interface ")(text)

    return edit


def _at_ends(old: str, new: str) -> Edit:
    """A line of both ends of the cable between leaf1 and spine1."""
    return lambda text: replaced(old, new, after=_UP if "hostname leaf1" in text else _HOST)(text)


CASES: Final = (
    _nxos(
        "the classification's name is in the wrong case at one uplink",
        "R1",
        "leaf1",
        "qos_classification",
        replaced("input QOS_CLASSIFICATION", "input qos_classification", after=_UP),
    ),
    _nxos("RoCE is matched by precedence", "M8 M2 M1", "leaf1", "", replaced("match dscp 26", "match precedence 3")),
    _nxos(
        "the groups of RoCE and CNPs are swapped",
        "M1 M2 M6 M4",
        "leaf1",
        "",
        both(
            replaced("set qos-group 3", "set qos-group X"),
            replaced("set qos-group 7", "set qos-group 3"),
            replaced("set qos-group X", "set qos-group 7"),
        ),
    ),
    _nxos(
        "the RoCE queue has no share",
        "M11 R5",
        "leaf1",
        "",
        replaced("bandwidth remaining percent 50", "bandwidth remaining percent 0"),
    ),
    _nxos(
        "a LAG without its feature",
        "R9",
        "leaf1",
        "lacp",
        lambda text: lag(
            {"leaf1": "active", "spine1": "active"}, feature="" if "hostname leaf1" in text else "feature lacp\n"
        )(text),
        "*.cfg",
    ),
    _nxos(
        "both ends of a LAG are passive",
        "L8 L12 R9 L7",
        "leaf1 spine1",
        "assive",
        lag({"leaf1": "passive", "spine1": "passive"}),
        "*.cfg",
    ),
    _nxos(
        "a LAG is static at one end",
        "L8 L12 R9 L7",
        "leaf1 spine1",
        "static",
        lag({"leaf1": "on", "spine1": "active"}),
        "*.cfg",
    ),
    _nxos(
        "a LAG is shut at one end",
        "L12 L8",
        "leaf1",
        "down",
        lag({"leaf1": "active", "spine1": "active"}, {"leaf1": "  shutdown\n"}),
        "*.cfg",
    ),
    _nxos(
        "the VLAN is shut", "V17", "leaf1", "100", replaced("  vn-segment 10100\n", "  vn-segment 10100\n  shutdown\n")
    ),
    _nxos(
        "an inherited template is in the wrong case",
        "R1 P11",
        "leaf1",
        "Spine",
        both(
            _behind("    maximum-paths 4\n", "", after="l2vpn evpn\n"),
            replaced(
                "  neighbor 10.1.0.1\n    remote-as 65000\n",
                "  template peer SPINE\n    remote-as 65000\n  neighbor 10.1.0.1\n    inherit peer Spine\n",
            ),
        ),
    ),
    _nxos(
        "the spines' template is shut",
        "P6 P3",
        "leaf1",
        "",
        both(
            replaced(
                "  neighbor 10.1.0.1\n    remote-as 65000\n",
                "  template peer SPINE\n    remote-as 65000\n    shutdown\n"
                "  neighbor 10.1.0.1\n    inherit peer SPINE\n",
            )
        ),
    ),
    _nxos(
        "a prefix list's name is in the wrong case",
        "R1",
        "leaf1",
        "loopbacks",
        both(
            _before("router bgp", "ip prefix-list LOOPBACKS seq 5 permit 10.0.0.0/24 le 32\n"),
            everywhere(_FAMILY, f"{_FAMILY}      prefix-list loopbacks in\n"),
        ),
    ),
    _nxos(
        "every spine sends the aggregate only",
        "P23",
        _ALL,
        "10.0.0.0/24",
        _behind("    maximum-paths 4\n", "    aggregate-address 10.0.0.0/24 summary-only\n"),
        "spine*.cfg",
    ),
    _nxos(
        "an aggregate suppresses one leaf's loopback",
        "P23",
        _ALL,
        "10.0.0",
        both(
            _before(
                "router bgp",
                "ip prefix-list ONE seq 5 permit 10.0.0.2/32\nroute-map ONE permit 10\n"
                "  match ip address prefix-list ONE\n",
            ),
            _behind("    maximum-paths 4\n", "    aggregate-address 10.0.0.0/24 suppress-map ONE\n"),
        ),
        "spine*.cfg",
    ),
    _nxos("another leaf's file under the own name", "I1 I2 I3 I5 P2 P1", "leaf1 leaf2", "", _copied, "leaf2.cfg"),
    _nxos(
        "a port's list drops RoCE",
        "A1",
        "leaf1",
        "HOSTS",
        both(
            _before(
                "interface Vlan100", "ip access-list HOSTS\n  10 deny udp any any eq 4791\n  20 permit ip any any\n"
            ),
            _behind(_HOST, "  ip port access-group HOSTS in\n"),
        ),
    ),
    _nxos(
        "MTU is small at both ends of one cable",
        "T1 T7",
        "leaf1 spine1",
        "1500",
        _at_ends("mtu 9216", "mtu 1500"),
        "*1.cfg",
    ),
    _nxos(
        "PFC is off at both ends of one cable",
        "L9 M14 M4 M1 L1",
        "leaf1 spine1",
        "",
        _at_ends("priority-flow-control mode on", "priority-flow-control mode off"),
        "*1.cfg",
    ),
    _nxos(
        "a stale shutdown at the end of a port",
        "L12",
        "leaf1",
        "Ethernet1/3",
        _before("\ninterface loopback0", "\ninterface Ethernet1/3\n  shutdown"),
    ),
    _nxos(
        "an older block of a port comes again",
        "L1 L11",
        "leaf1",
        "Ethernet1/3",
        _before("\ninterface loopback0", "\ninterface Ethernet1/3\n  no priority-flow-control mode"),
    ),
    _nxos(
        "the next hop's route map passes one type of route",
        "V11 P18",
        "spine1 spine2 leaf1 leaf2",
        "NH_UNCHANGED",
        _behind("route-map NH_UNCHANGED permit 10\n", "  match evpn route-type 5\n"),
        "spine*.cfg",
    ),
    _nxos(
        "TTL security at one end",
        "P16",
        "leaf1 spine1",
        "ttl",
        _behind("    remote-as 65000\n", "    ttl-security hops 1\n"),
    ),
    _nxos(
        "a password at one end",
        "P13",
        "leaf1 spine1",
        "password",
        _behind("    remote-as 65000\n", "    password 3 1a2b3c\n"),
    ),
    _nxos(
        "a host port has storm control",
        "R10 M15",
        "leaf1",
        "storm",
        _behind(_HOST, "  storm-control unicast level 1.00\n"),
    ),
    _nxos(
        "a spine is still isolated",
        "P20",
        "spine1",
        "isolate",
        _behind("  timers bgp 3 9\n", "  isolate\n"),
        "spine1.cfg",
    ),
    _nxos(
        "a spine is still in maintenance mode",
        "P20",
        "spine1",
        "maintenance",
        _before("router bgp", "system mode maintenance\n"),
        "spine1.cfg",
    ),
    _nxos(
        "the watchdog looks once in 5 s",
        "W3 W6 W5 R10",
        "leaf1",
        "",
        _before("policy-map type network-qos", "priority-flow-control watch-dog interval 5000\n"),
    ),
    _nxos(
        "the hash has addresses only",
        "D6",
        "leaf1",
        "",
        _before("interface Vlan100", "ip load-sharing address source-destination\n"),
    ),
    _nxos(
        "a spine has half of the equal paths",
        "D7",
        "leaf1",
        "maximum-paths",
        replaced("    maximum-paths 4\n", "    maximum-paths 1\n"),
    ),
    _nxos(
        "EVPN between loopbacks: a policy drops one spine's loopback",
        "P22",
        "leaf1 spine1",
        "10.0.0.11",
        both(
            _before(
                "router bgp",
                "ip prefix-list NOT seq 5 permit 10.0.0.11/32\nroute-map IN deny 10\n"
                "  match ip address prefix-list NOT\nroute-map IN permit 20\n",
            ),
            everywhere(
                "    remote-as 65000\n    address-family ipv4 unicast\n",
                "    remote-as 65000\n    address-family ipv4 unicast\n      route-map IN in\n",
            ),
        ),
    ),
    _nxos(
        "EVPN between loopbacks: a spine does not advertise its loopback",
        "P22",
        "leaf1 leaf2 spine1",
        "10.0.0.11",
        replaced("    network 10.0.0.11/32\n", ""),
        "spine1.cfg",
    ),
    _nxos(
        "a neighbour's timers are swapped", "I6 R5", "leaf1", "", _behind("    remote-as 65000\n", "    timers 9 3\n")
    ),
    _nxos(
        "the VTEP's loopback is in a VRF",
        "V4 V7",
        "leaf1",
        "VRF",
        both(
            _before("\ninterface loopback0", "\nvrf context TENANT"),
            _behind("\ninterface loopback0\n", "  vrf member TENANT\n"),
        ),
    ),
    _nxos(
        "the network's route map matches another prefix",
        "V7 V11",
        "leaf1",
        "10.0.0.1",
        both(
            _before(
                "router bgp",
                "ip prefix-list OWN seq 5 permit 10.0.0.2/32\nroute-map OWN permit 10\n"
                "  match ip address prefix-list OWN\n",
            ),
            replaced("network 10.0.0.1/32", "network 10.0.0.1/32 route-map OWN"),
        ),
    ),
    _nxos(
        "the pausing class has the name of another scheme",
        "R1 M1 M14 R9 T7",
        "leaf1",
        "nq3",
        replaced("class type network-qos c-8q-nq3", "class type network-qos c-nq3"),
    ),
    _nxos(
        "the queuing class is of four queues", "R1 R9 E4 M11", "leaf1", "c-out-q3", replaced("c-out-8q-q3", "c-out-q3")
    ),
    _nxos("marking lost its last word", "E3", "leaf1 ", "", everywhere("weight 0 ecn", "weight 0"), "leaf1.cfg"),
    _nxos(
        "the gateway filters its hosts",
        "A1",
        "leaf1",
        "GUARD",
        both(
            _before("interface Vlan100", "ip access-list GUARD\n  10 permit tcp any any\n  20 permit icmp any any\n"),
            _behind("interface Vlan100\n", "  ip access-group GUARD in\n"),
        ),
    ),
    _nxos(
        "only half of the uplinks were brought over",
        "P3 P9 P1 L7 I8 P10",
        "leaf1 spine2",
        "10.1.0",
        replaced("  neighbor 10.1.0.3\n", "  neighbor 10.1.1.3\n"),
    ),
    _nxos(
        "PFC's DCBX words at one end",
        "L11",
        "leaf1",
        "Ethernet1/3",
        replaced("priority-flow-control mode on", "priority-flow-control mode auto", after=_UP),
    ),
)

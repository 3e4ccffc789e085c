"""A pattern of nvue/coverage.py claims a leaf: changing it changes the model or the defects."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from fabric.configs.load import parse_device
from fabric.configs.nvue.coverage import READ
from tests.model_values import values_of

WORDS: Final = {
    "address-family": "ipv4-unicast",
    "acl": "F",
    "domain": "br_default",
    "vlan": "10",
    "vni": "10010",
    "vrf": "red",
    "neighbor": "10.0.0.0",
    "peer-group": "G",
    "interface": "vlan10",
    "dscp": "26",
    "traffic-pool": "default-lossless",
    "egress-shaper": "default-global",
    "static": "10.9.0.0/16",
    "rule": "10",
    "prefix-list": "P",
    "as-path-list": "A",
    "community-list": "C",
    "route-map": "M",
    "area": "0",
}
"""Word below which a '*' stands -> what it is here; else the profile 'p', or class 3."""
CONDITIONAL: Final = frozenset(
    (
        "qos mapping * port-default-sp",  # with trust l2 or port
        "qos pfc * port-buffer",  # together, in a profile that a port with PFC has
        "qos pfc * xoff-threshold",
        "qos pfc * xon-threshold",
        "qos pfc-watchdog robustness",  # where a port has the watchdog
        "qos traffic-pool * memory-percent",  # where the chip's buffer is known
        "qos traffic-pool * switch-priority",
    )
)
"""Patterns whose value may be read and have no effect on the model."""
POLICIES: Final = ("prefix-list", "as-path-list", "community-list", "route-map")
VALUES: Final[dict[str, tuple[Any, Any]]] = {
    **{
        f"vrf * router bgp {kind} * {key}": values
        for kind in ("neighbor", "peer-group")
        for key, values in {
            "address-family * enable": ("on", "off"),
            "address-family * policy": ({"inbound": {"route-map": "M"}}, {}),
            "address-family * route-reflector-client": ("on", "off"),
            "address-family * attribute-mod next-hop-self": ("on", "off"),
            "address-family * nexthop-setting": ("self", "auto"),
            "address-family ipv4-unicast prefix-limits inbound warning-only": ("on", "off"),
            "local-as enable": ("on", "off"),
            "passive-mode": ("on", "off"),
            "ttl-security enable": ("on", "off"),
        }.items()
    },
    **dict.fromkeys(
        ("system global anycast-mac", "system global fabric-mac", "system global system-mac", "mlag mac-address"),
        ("00:1c:73:00:00:01", "00:1c:73:00:00:02"),
    ),
    **{
        f"system forwarding ecmp-hash {it}": ("on", "off")
        for it in ("ip-protocol", "source-ip", "destination-ip", "source-port", "destination-port")
    },
    "interface * ip vrr mac-address": ("00:1c:73:00:00:01", "00:1c:73:00:00:02"),
    **dict.fromkeys(("evpn enable", "evpn state", "router bgp enable", "vrf default router bgp enable"), ("on", "off")),
    "vrf default router bgp address-family * enable": ("on", "off"),
    **dict.fromkeys(("router ospf enable", "vrf default router ospf enable"), ("on", "off")),
    "vrf default router ospf max-metric administrative": ("on", "off"),
    "vrf default router ospf area * network": ({"10.1.0.0/16": {}}, {"10.2.0.0/16": {}}),
    "vrf default router ospf redistribute connected": ({"enable": "on"}, {"enable": "off"}),
    **{
        f"interface * router ospf {it}": ("on", "off")
        for it in ("enable", "passive", "authentication enable", "mtu-ignore")
    },
    "vrf default router bgp address-family ipv4-unicast network": ({}, {"10.0.0.1/32": {}}),
    "vrf default router bgp address-family ipv4-unicast redistribute connected": ({}, {"enable": "on"}),
    "interface swp link auto-negotiate": ("on", "off"),
    "vrf * router bgp peer-group * shutdown": ("on", "off"),
    "vrf * router bgp neighbor * enable": ("on", "off"),
    "vrf * router bgp neighbor * shutdown": ("on", "off"),
    "vrf * router bgp neighbor * type": ("numbered", "unnumbered"),
    "vrf * router bgp neighbor * peer-group": ("G", "H"),
    "vrf * loopback ip address": ({"10.0.0.1/32": {}}, {"10.0.0.2/32": {}}),
    "vrf default router static * via": ({"10.0.0.1": {}}, {"10.0.0.2": {}}),
    "bridge domain * vlan * vni": ({"10": {}}, {"20": {}}),
    "vrf * evpn vni": ({"10": {}}, {"20": {}}),
    "evpn vni * route-target": ({"import": {"1:1": {}}}, {"import": {"1:2": {}}}),
    "nve vxlan enable": ("on", "off"),
    "nve vxlan state": ("enabled", "disabled"),
    "nve vxlan encapsulation dscp action": ("set", "copy"),
    "nve vxlan source address": ("10.0.0.1", "10.0.0.2"),
    "qos advance-buffer-config default-global": ({}, {"ingress-lossy-buffer": {}, "nothing": {}}),
    "qos congestion-control * traffic-class * ecn": ("enable", "disable"),
    "qos congestion-control * traffic-class * red": ("enable", "disable"),
    "qos egress-scheduler * traffic-class * mode": ("strict", "dwrr"),
    "qos mapping * trust": ("l2", "l3"),
    "qos pfc * rx": ("enable", "disable"),
    "qos pfc * tx": ("enable", "disable"),
    "qos pfc-watchdog polling-interval": (200, 300),
    "qos remark * rewrite": ("l2", "l3"),
    "qos roce enable": ("on", "off"),
    "qos roce state": ("enabled", "disabled"),
    "qos roce mode": ("lossless", "lossy"),
    "acl * rule * action": ({"permit": {}}, {"deny": {}}),
    "acl * rule * match": ({"ip": {"protocol": "udp"}}, {"ip": {"protocol": "tcp"}}),
    "acl * type": ("ipv4", "ipv6"),
    "interface * acl": ({"F": {"inbound": {}}}, {"F": {"outbound": {}}}),
    "interface * bond lacp-bypass": ("on", "off"),
    "interface * bond mode": ("lacp", "static"),
    "interface * bond member": ({"swp1": {}}, {"swp2": {}}),
    "interface * bridge domain": ({"br_default": {}}, {}),
    "interface * ip address": ({"10.0.0.1/31": {}}, {"10.0.0.2/31": {}}),
    "interface * ip vrf": ("red", "blue"),
    "interface * ip vrr enable": ("on", "off"),
    "interface * ip vrr state": ("up", "down"),
    "interface * ip ipv4 forward": ("on", "off"),
    "maintenance unit * mode": ("enabled", "disabled"),
    "router bgp graceful-shutdown": ("on", "off"),
    "interface vlan link mtu": (1500, 9000),
    "interface vlan link state": ("up", "down"),
    "nve vxlan flooding enable": ("on", "off"),
    "nve vxlan flooding state": ("enabled", "disabled"),
    **{f"router policy {kind} * rule * action": ("permit", "deny") for kind in POLICIES},
    "router policy prefix-list * rule * match": ({"10.0.0.0/8": {}}, {"10.0.0.0/9": {}}),
    "router policy prefix-list * type": ("ipv4", "ipv6"),
    "router policy route-map * rule * match": ({"as-path-list": "A"}, {"as-path-list": "B"}),
    "router policy route-map * rule * set community": ({"1:1": {}}, {"1:2": {}}),
    "interface * ip vrr address": ({"10.0.0.1/31": {}}, {"10.0.0.2/31": {}}),
    "interface swp link fec": ("rs", "off"),
    "interface swp link mtu": (1500, 9000),
    "interface swp link speed": ("100G", "200G"),
    "interface swp link state": ("up", "down"),
    "interface swp qos pfc-watchdog": ({"state": "enable"}, {"state": "disable"}),
    "interface * type": ("swp", "bond"),
}
BESIDE: Final[dict[str, dict[str, Any]]] = {
    "bond": {"member": {"swp1": {}}},
    "local-as": {"enable": "on", "asn": 65_000},
    "ttl-security": {"enable": "on", "hops": 1},
    "inbound": {"maximum": 5},
}
"""Word above a leaf -> leaves that it has no effect without."""
CONTEXT: Final[dict[str, Any]] = {
    "acl": {"F": {"rule": {"10": {"action": {"permit": {}}, "match": {"ip": {"protocol": "udp"}}}}}},
    "qos": {
        "pfc": {"p": {"switch-priority": {"3": {}}}},
        "mapping": {"p": {"trust": "l3"}},
        "remark": {"p": {"rewrite": "l3", "switch-priority": {"3": {"dscp": 7}}}},
        "congestion-control": {"p": {"traffic-class": {"3": {"min-threshold": 1}}}},
        "egress-scheduler": {"p": {"traffic-class": {"3": {"mode": "dwrr"}}}},
        "link-pause": {"p": {}},
    },
    "interface": {
        "swp1": {"qos": {name: {"profile": "p"} for name in ("pfc", "remark", "mapping")}},
        "swp2": {"qos": {name: {"profile": "p"} for name in ("congestion-control", "egress-scheduler")}},
        "lo": {"ip": {"address": {"10.1.1.1/32": {}}}},
        "vlan10": {
            "ip": {"address": {"10.3.0.2/24": {}}, "vrr": {"address": {"10.3.0.1/24": {}}}},
            "router": {"ospf": {"area": "0"}},
        },
    },
    "bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {"10010": {}}}}}}},
    "router": {
        "bgp": {"autonomous-system": 7},
        "policy": {
            "prefix-list": {"P": {"rule": {"10": {"match": {"10.0.0.0/8": {}}}}}},
            "as-path-list": {"A": {"rule": {"10": {"aspath-exp": "^1$"}}}},
            "community-list": {"C": {"rule": {"10": {"community": {"1:1": {}}}}}},
            "route-map": {"M": {"rule": {"10": {}}}},
        },
    },
    "nve": {"vxlan": {"source": {"address": "10.0.0.9"}}},
    "vrf": {
        "red": {
            "router": {"bgp": {"neighbor": {"10.0.0.0": {"peer-group": "G"}}, "peer-group": {"G": {"remote-as": 7}}}}
        },
        "default": {"router": {"bgp": {"neighbor": {"10.0.0.8": {"remote-as": 7}}}, "ospf": {"enable": "on"}}},
    },
}


def path_of(pattern: tuple[str, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for word in pattern:
        before = found[-1] if found else ""
        if word == "*":
            default = "3" if before in {"switch-priority", "traffic-class"} else "p"
            found.append(WORDS.get(before, default))
        else:
            port = {"swp": "swp1", "vlan": "vlan10"}.get(word, word)
            found.append(port if before == "interface" else word)
    if found[0] == "interface" and found[2] in {"bond", "type", "bridge"}:
        found[1] = "bond1" if found[2] == "bond" else "swp1"
    return tuple(found)


def meaning(path: tuple[str, ...], value: Any) -> tuple[Any, ...]:  # noqa: ANN401
    tree = json.loads(json.dumps(CONTEXT))
    here = tree
    for word in path[:-1]:
        here = here.setdefault(word, {})
    here[path[-1]] = value
    for name, sibling in BESIDE.get(path[-2], {}).items():
        here.setdefault(name, sibling)
    if path[-1] == "vlan-vni-offset":
        here["vlan"] = {"100": {"vni": {"auto": {}}}}
    if path[:3] == ("qos", "roce", "cable-length"):
        tree["qos"]["roce"]["enable"] = "on"
        tree["interface"]["swp1"]["qos"].pop("pfc")
    device = parse_device(json.dumps({"set": tree}), "x.json")
    unread = [item.what for item in device.unread]
    return (dict(values_of(device)), [it.text for it in device.defects], unread)


@pytest.mark.parametrize("pattern", [it for it in READ if " ".join(it) not in CONDITIONAL], ids=" ".join)
def test_a_pattern_claims_nothing_that_is_not_read(pattern: tuple[str, ...]) -> None:
    one, two = VALUES.get(" ".join(pattern), ("1", "2"))
    if pattern[-1] == "profile":
        one, two = "p", "default-global"
    path = path_of(pattern)
    assert meaning(path, one) != meaning(path, two)

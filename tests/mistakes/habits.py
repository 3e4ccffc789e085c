"""Mistakes of a later part: BGP that is shut or waits at both ends, lines taken back, addresses said twice."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes.changes_eos import appended
from tests.mistakes.mistake import Edit, Mistake, both, put, replaced

_BGP: Final = ("vrf", "default", "router", "bgp")


def _with(lines: str, more: str) -> Edit:
    return replaced(lines, lines + more)


_WAITS: Final[dict[str, tuple[Edit, Edit]]] = {
    "eos": (
        _with("   neighbor 10.1.0.1 remote-as 65000\n", "   neighbor 10.1.0.1 passive\n"),
        _with("   neighbor 10.1.0.0 remote-as 65101\n", "   neighbor 10.1.0.0 passive\n"),
    ),
    "nxos": (
        _with("  neighbor 10.1.0.1\n    remote-as 65000\n", "    transport connection-mode passive\n"),
        _with("  neighbor 10.1.0.0\n    remote-as 65101\n", "    transport connection-mode passive\n"),
    ),
    "nvue": (
        put(*_BGP, "neighbor", "10.1.0.1", "passive-mode", value="on"),
        put(*_BGP, "neighbor", "10.1.0.0", "passive-mode", value="on"),
    ),
    "sonic": (
        put("BGP_NEIGHBOR", "default|10.1.0.1", "passive_mode", value="true"),
        put("BGP_NEIGHBOR", "default|10.1.0.0", "passive_mode", value="true"),
    ),
}
"""Both ends of the session between leaf1 and spine1 wait for each other: the edit of leaf1, and of spine1."""
_OF_LEAF1: Final = {
    "eos": "neighbor 10.1.0.1 ",
    "nxos": "neighbor 10.1.0.1\n",
    "nvue": "'10.1.0.1': {",
    "sonic": "'default|10.1.0.1'",
}
"""What only leaf1 has: the session to spine1."""


def _ends(language: str) -> Mistake:
    suffix = {"sonic": "json", "nvue": "yaml"}.get(language, "cfg")
    leaf, spine = _WAITS[language]

    def edit(content: Any) -> Any:  # noqa: ANN401  text or JSON
        return (leaf if _OF_LEAF1[language] in str(content) else spine)(content)

    title = "both ends of a session wait"
    loopbacks = language == "sonic"
    return Mistake(language, title, "P25", "leaf1 spine1", "10.1.0.", f"*1.{suffix}", edit, loopbacks=loopbacks)


def _same_lanes(tree: dict[str, Any]) -> dict[str, Any]:
    for number, name in enumerate(("Ethernet8", "Ethernet16", "Ethernet24", "Ethernet24", "Ethernet32")):
        tree["PORT"][name]["lanes"] = ",".join(str(8 * min(number, 3) + lane) for lane in range(1, 9))
    return tree


def _version_6_only(tree: dict[str, Any]) -> dict[str, Any]:
    del tree["INTERFACE"]["Ethernet24|10.1.0.0/31"]
    tree["INTERFACE"]["Ethernet24|fd00::/127"] = {}
    return tree


def _only_version_6(tree: dict[str, Any]) -> dict[str, Any]:
    tree["interface"]["swp3"]["ip"]["address"] = {"fd00::/127": {}}
    return tree


_MPLS: Final = "      neighbor default encapsulation mpls next-hop-self source-interface Loopback0\n"

CASES: tuple[Mistake, ...] = (
    *(_ends(language) for language in _WAITS),
    Mistake("sonic", "two ports have the same lanes", "R9", "leaf1", "lane", "leaf1.json", _same_lanes),
    Mistake("sonic", "an uplink has IPv6 only", "P1 P9 P14", "leaf1", "Ethernet24", "leaf1.json", _version_6_only),
    Mistake("nvue", "an uplink has IPv6 only", "P1 P9 P14", "leaf1", "swp3", "leaf1.yaml", _only_version_6),
    Mistake(
        "eos",
        "an uplink has IPv6 only",
        "P1 P9 P14",
        "leaf1",
        "Ethernet3/1",
        "leaf1.cfg",
        replaced("ip address 10.1.0.0/31", "ipv6 address fd00::/127"),
    ),
    Mistake(
        "nxos",
        "an uplink has IPv6 only",
        "P1 P9 P14",
        "leaf1",
        "Ethernet1/3",
        "leaf1.cfg",
        replaced("ip address 10.1.0.0/31", "ipv6 address fd00::/127"),
    ),
    Mistake(
        "nvue",
        "the hash has no ports",
        "D6",
        "leaf1",
        "ecmp-hash",
        "leaf1.yaml",
        put("system", "forwarding", "ecmp-hash", value={"source-port": "off", "destination-port": "off"}),
    ),
    Mistake(
        "eos",
        "BGP as a whole is shut",
        "P6",
        "leaf1",
        "shutdown",
        "leaf1.cfg",
        replaced("   router-id 10.0.0.1\n", "   router-id 10.0.0.1\n   shutdown\n"),
    ),
    Mistake(
        "nxos",
        "BGP as a whole is shut",
        "P6",
        "leaf1",
        "shutdown",
        "leaf1.cfg",
        replaced("  router-id 10.0.0.1\n", "  router-id 10.0.0.1\n  shutdown\n"),
    ),
    Mistake(
        "eos",
        "lines of the DSCP map are taken back",
        "M8",
        "leaf1",
        "24",
        "leaf1.cfg",
        appended("no qos map dscp 24 25 27-31 to traffic-class 0\n"),
    ),
    Mistake(
        "eos",
        "EVPN routes are those of MPLS",
        "R9",
        "leaf1",
        "mpls",
        "leaf1.cfg",
        replaced("   address-family evpn\n", f"   address-family evpn\n{_MPLS}"),
    ),
    Mistake(
        "eos",
        "two loopbacks have one address",
        "I8",
        "leaf1",
        "Loopback1",
        "leaf1.cfg",
        appended("interface Loopback1\n   ip address 10.0.0.1/32\n"),
    ),
    Mistake(
        "nxos",
        "two loopbacks have one address",
        "I8",
        "leaf1",
        "loopback1",
        "leaf1.cfg",
        appended("interface loopback1\n  ip address 10.0.0.1/32\n"),
    ),
    Mistake(
        "sonic",
        "two loopbacks have one address",
        "I8",
        "leaf1",
        "Loopback1",
        "leaf1.json",
        both(
            put("LOOPBACK_INTERFACE", "Loopback1", value={}),
            put("LOOPBACK_INTERFACE", "Loopback1|10.0.0.1/32", value={}),
        ),
    ),
    Mistake(
        "nxos",
        "broadcast is copied to the switch itself",
        "V15",
        "leaf1",
        "10.0.0.1",
        "leaf1.cfg",
        replaced("ingress-replication protocol bgp", "ingress-replication protocol static\n      peer-ip 10.0.0.1"),
    ),
    Mistake(
        "eos",
        "broadcast is copied to the switch itself",
        "V15",
        "leaf1",
        "10.0.0.1",
        "leaf1.cfg",
        appended("interface Vxlan1\n   vxlan vlan 100 flood vtep 10.0.0.1\n"),
    ),
)

"""Mistakes of change tickets: a default route of a leaf, a strict check of sources, a management address."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Edit, Mistake, both, put, replaced

_EUP, _NUP = "   ip address 10.1.0.0/31\n", "  ip address 10.1.0.0/31\n"
_BGP: Final = ("vrf", "default", "router", "bgp")
_STRICT: Final = "ip verify unicast source reachable-via rx\n"


def _management(
    language: str, file: str, edit: Edit, *, of: str = "the hosts' subnet", address: str = "172.16.100.9"
) -> Mistake:
    return Mistake(language, f"a management address of {of}", "I11", "leaf1", address, file, edit)


CASES: Final = (
    Mistake(
        "eos",
        "a leaf sends the default route to a spine",
        "P27",
        "leaf1",
        "10.1.0.1",
        "leaf1.cfg",
        replaced("   address-family ipv4\n", "   address-family ipv4\n      neighbor 10.1.0.1 default-originate\n"),
    ),
    Mistake(
        "eos",
        "paths towards one spine are still longer after a change",
        "P20",
        "leaf1",
        "spine1",
        "leaf1.cfg",
        both(
            replaced("router bgp", "route-map PRE permit 10\n   set as-path prepend 65101 65101\n!\nrouter bgp"),
            replaced("   address-family ipv4\n", "   address-family ipv4\n      neighbor 10.1.0.1 route-map PRE out\n"),
        ),
    ),
    Mistake(
        "eos",
        "a host's port joins a LAG that no line makes",
        "R1",
        "leaf1",
        "Port-Channel5",
        "leaf1.cfg",
        replaced("interface Ethernet1/1\n", "interface Ethernet1/1\n   channel-group 5 mode on\n"),
    ),
    Mistake(
        "eos",
        "a leaf announces a default that it drops",
        "P27 D10",
        "leaf1",
        "",
        "leaf1.cfg",
        both(
            replaced("   address-family ipv4\n", "   address-family ipv4\n      network 0.0.0.0/0\n"),
            replaced("router bgp", "ip route 0.0.0.0/0 Null0\n!\nrouter bgp"),
        ),
    ),
    Mistake(
        "nxos",
        "a leaf sends the default route to a spine",
        "P27",
        "leaf1",
        "default-originate",
        "leaf1.cfg",
        replaced(
            "    address-family ipv4 unicast\n",
            "    address-family ipv4 unicast\n      default-originate\n",
            after="neighbor 10.1.0.1",
        ),
    ),
    Mistake(
        "nvue",
        "a leaf sends the default route to a spine",
        "P27",
        "leaf1",
        "default-route-origination",
        "leaf1.yaml",
        put(
            *(*_BGP, "neighbor", "10.1.0.1", "address-family", "ipv4-unicast", "default-route-origination", "enable"),
            value="on",
        ),
    ),
    Mistake(
        "eos",
        "strict checks of sources",
        "P28",
        "leaf1",
        "Ethernet3/1",
        "leaf1.cfg",
        replaced(_EUP, f"{_EUP}   {_STRICT}"),
    ),
    Mistake(
        "nxos",
        "strict checks of sources",
        "P28",
        "leaf1",
        "Ethernet1/3",
        "leaf1.cfg",
        replaced(_NUP, f"{_NUP}  {_STRICT}"),
    ),
    _management(
        "eos",
        "leaf1.cfg",
        replaced(
            "interface Loopback0\n", "interface Management1\n   ip address 172.16.100.9/24\n!\ninterface Loopback0\n"
        ),
    ),
    _management(
        "nxos",
        "leaf1.cfg",
        replaced(
            "\ninterface loopback0\n",
            "\ninterface mgmt0\n  vrf member management\n  ip address 172.16.100.9/24\ninterface loopback0\n",
        ),
    ),
    _management(
        "nvue",
        "leaf1.yaml",
        put("interface", "eth0", value={"type": "eth", "ip": {"address": {"172.16.100.9/24": {}}, "vrf": "mgmt"}}),
    ),
    _management(
        "sonic",
        "leaf1.json",
        put("MGMT_INTERFACE", value={"eth0|10.1.0.0/24": {"gwaddr": "10.1.0.254"}}),
        of="a link",
        address="10.1.0.0",
    ),
)

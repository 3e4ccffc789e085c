"""Changes of a working fabric that look like a mistake of the corpus and are none: no new warning or error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes.changes_twins import TWINS as CHANGES
from tests.mistakes.mistake import Edit, Mistake, both, everywhere, put, renamed, replaced
from tests.mistakes.score import scores
from tests.mistakes.tree_edits import (
    each,
    every_row,
    moved_to_vlan_10,
    nvue_bond,
    nvue_vrf,
    sonic_lag,
    sonic_list,
    sonic_vrf,
    updated,
)
from tests.mistakes.upkeep_twins import TWINS as UPKEEP

_EOS_UP, _NXOS_UP = "interface Ethernet3/1\n", "interface Ethernet1/3\n"
_EOS_FAMILY, _NXOS_FAMILY = "   address-family ipv4\n", "    address-family ipv4 unicast\n"

_NVUE_UP = ("interface", "swp3")
_NEIGHBOR = ("vrf", "default", "router", "bgp", "neighbor")
_NO_FORWARDING = {"ipv4": {"forward": "off"}}


def _twin(language: str, title: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake(language, title, "", "", "", file, edit)


def _eos_maps(lines: str, way: str, *neighbors: str) -> Edit:
    uses = "".join(f"      neighbor {it} route-map TAG {way}\n" for it in neighbors)
    return both(
        replaced("router bgp", f"route-map TAG permit 10\n{lines}router bgp"), replaced(_EOS_FAMILY, _EOS_FAMILY + uses)
    )


def _lag(language: str) -> Edit:
    """The cable between leaf1 and spine1 as a LAG at both ends, in the files of these two."""
    name, indent = ("Port-Channel10", "   ") if language == "eos" else ("port-channel10", "  ")
    ports = {"leaf1": ("Ethernet3/1", "Ethernet1/3"), "spine1": ("Ethernet1/1", "Ethernet1/1")}

    def edit(text: str) -> str:
        switch = text.split("hostname ")[1].split("\n", maxsplit=1)[0]
        if switch not in ports:
            return text
        header = f"interface {ports[switch][language == 'nxos']}\n"
        address = f"{indent}ip address 10.1.0.{0 if switch == 'leaf1' else 1}/31\n"
        bundle = f"interface {name}\n{indent}no switchport\n{indent}mtu 9214\n{address}"
        text = replaced(address, f"{indent}channel-group 10 mode active\n", after=header)(text)
        text = text.replace("feature bgp\n", "feature bgp\nfeature lacp\n")
        return replaced("interface ", f"{bundle}interface ", after="interface ")(text)

    return edit


TWINS = (
    _twin(
        "eos",
        "PFC is off at a port without a cable",
        replaced(
            "interface Loopback0",
            "interface Ethernet40/1\n   service-profile ROCE\n   no priority-flow-control on\n!\ninterface Loopback0",
        ),
    ),
    _twin(
        "eos",
        "a right map line follows a wrong one",
        replaced("qos map dscp 26 to", "qos map dscp 26 to traffic-class 1\nqos map dscp 26 to"),
    ),
    _twin(
        "eos",
        "the network has a mask in place of its length",
        replaced("network 10.0.0.1/32", "network 10.0.0.1 mask 255.255.255.255"),
    ),
    _twin(
        "eos",
        "a host's trunk carries its native VLAN",
        replaced(
            "   switchport access vlan 100\n",
            "   switchport mode trunk\n   switchport trunk native vlan 100\n   switchport trunk allowed vlan 100\n",
        ),
    ),
    _twin(
        "eos",
        "a description has words beside the neighbour's name",
        replaced("description spine1", "description leaf1 to spine1, patch panel B7"),
    ),
    _twin("eos", "a LAG has two ends", _lag("eos"), "*.cfg"),
    _twin("nxos", "a LAG has two ends", _lag("nxos"), "*.cfg"),
    _twin(
        "eos",
        "a community is set that no session sends",
        _eos_maps("   set community no-export\n", "out", "10.1.0.1", "10.1.0.3"),
    ),
    _twin(
        "eos",
        "learned routes are not to be exported",
        both(
            everywhere("send-community extended", "send-community standard extended"),
            _eos_maps("   set community no-export\n", "in", "10.1.0.1", "10.1.0.3"),
        ),
    ),
    _twin(
        "eos",
        "all uplinks prepend alike",
        _eos_maps("   set as-path prepend 65101 65101\n", "in", "10.1.0.1", "10.1.0.3"),
    ),
    _twin(
        "eos",
        "all uplinks have one local preference",
        _eos_maps("   set local-preference 200\n", "in", "10.1.0.1", "10.1.0.3"),
    ),
    _twin(
        "eos",
        "the other VTEP is in the flood list",
        replaced("   vxlan vlan 100 vni", "   vxlan flood vtep 10.0.0.2\n   vxlan vlan 100 vni"),
    ),
    _twin(
        "nxos",
        "a wider class comes second",
        both(
            replaced(
                "policy-map type qos QOS_CLASS",
                "class-map type qos match-any BULK\n  match dscp 24-31\npolicy-map type qos QOS_CLASS",
            ),
            replaced("  class CNP\n", "  class BULK\n    set qos-group 1\n  class CNP\n"),
        ),
    ),
    _twin(
        "nxos",
        "other traffic loses its DSCP",
        replaced("    set qos-group 0\n", "    set qos-group 0\n    set dscp 0\n"),
    ),
    _twin(
        "nxos",
        "the class keeps its DSCP",
        replaced("    set qos-group 3\n", "    set qos-group 3\n    set dscp af31\n"),
    ),
    _twin("nxos", "the route distinguisher is written out", replaced("    rd auto\n", "    rd 10.0.0.1:32867\n")),
    _twin(
        "nxos",
        "a port without a cable is broken out",
        replaced(
            "interface Vlan100",
            "interface breakout module 1 port 40 map 100g-4x\n"
            "interface Ethernet1/40/1\n  no switchport\n  mtu 9216\ninterface Vlan100",
        ),
    ),
    _twin(
        "nxos",
        "a port without a cable is shut",
        replaced("interface Vlan100", "interface Ethernet1/40\n  shutdown\ninterface Vlan100"),
    ),
    _twin(
        "nxos",
        "a VLAN filter drops telnet",
        replaced(
            "interface Vlan100",
            "ip access-list TELNET\n  10 permit tcp any any eq telnet\nvlan access-map GUARD 10\n"
            "  match ip address TELNET\n  action drop\nvlan access-map GUARD 20\n  action forward\n"
            "vlan filter GUARD vlan-list 100\ninterface Vlan100",
        ),
    ),
    _twin(
        "nxos",
        "a session is sent from its own port",
        replaced("    remote-as 65000\n", "    remote-as 65000\n    update-source Ethernet1/3\n"),
    ),
    _twin(
        "nxos",
        "a community list is defined",
        both(
            replaced("router bgp", "ip community-list standard FABRIC permit 65000:1\nrouter bgp"),
            replaced(
                "route-map NH_UNCHANGED permit 10\n",
                "route-map NH_UNCHANGED permit 5\n  match community FABRIC\n  set ip next-hop unchanged\n"
                "route-map NH_UNCHANGED permit 10\n",
            ),
        ),
        "spine1.cfg",
    ),
    _twin(
        "nxos",
        "both uplinks have one local preference",
        both(
            replaced("router bgp", "route-map PREF permit 10\n  set local-preference 200\nrouter bgp"),
            everywhere(_NXOS_FAMILY, f"{_NXOS_FAMILY}      route-map PREF in\n"),
        ),
    ),
    *(
        _twin("eos", f"a port is described as '{text}'", replaced(f"description {old}", f"description {text}"))
        for old, text in (("host1", "host1 (also on leaf2)"), ("spine1", "to leaf2 (path A)"))
    ),
    _twin(
        "eos",
        "a hypervisor's trunk is on a switch with several VLANs",
        both(
            replaced("vlan 100\n", "vlan 200\n!\nvlan 100\n"),
            replaced("   switchport access vlan 100\n", "   switchport mode trunk\n"),
        ),
    ),
    _twin(
        "eos",
        "a VTEP of another data centre is in the flood list",
        replaced("   vxlan vlan 100 vni", "   vxlan flood vtep 10.0.0.2 203.0.113.7\n   vxlan vlan 100 vni"),
    ),
    _twin("sonic", "the routing daemons' text is in the file", put("bgpraw", value="router bgp 65101\n"), "*[12].json"),
    _twin("sonic", "a table that no check reads is a list", put("SITE_NOTES", value=["rack 7"]), "leaf1.json"),
    _twin(
        "sonic",
        "a host's port is tagged in a second VLAN",
        both(
            put("VLAN", "Vlan200", value={"vlanid": "200"}),
            put("VLAN_MEMBER", "Vlan200|Ethernet8", value={"tagging_mode": "tagged"}),
        ),
        "leaf1.json",
    ),
    _twin(
        "sonic",
        "a port without a cable is down",
        put("PORT", "Ethernet400", value={"speed": "400000", "admin_status": "down", "lanes": "401,402"}),
        "leaf1.json",
    ),
    _twin(
        "nvue",
        "the management port does not forward",
        put("interface", "eth0", "ip", value={"address": {"203.0.113.9/24": {}}, "vrf": "mgmt", **_NO_FORWARDING}),
        "leaf1.yaml",
    ),
    _twin(
        "nvue",
        "the loopback does not forward",
        put("interface", "lo", "ip", "ipv4", value=_NO_FORWARDING["ipv4"]),
        "*.yaml",
    ),
    _twin(
        "nvue", "a port's description says more", put(*_NVUE_UP, "description", value="to leaf2 (path A)"), "leaf1.yaml"
    ),
    _twin(
        "nvue",
        "a hypervisor's port is tagged in several VLANs",
        both(
            put("bridge", "domain", "br_default", "vlan", "200", value={}),
            put("interface", "swp1", "bridge", "domain", "br_default", value={"vlan": {"100-200": {}}}),
        ),
        "leaf1.yaml",
    ),
)


_ENDS = "*[12].json"
TWINS += (
    _twin(
        "sonic",
        "a description says more",
        updated("PORT", "Ethernet24", description="to spine1, Kühlgang 7 "),
        "leaf1.json",
    ),
    _twin(
        "sonic", "a storm's end takes twice its detection", every_row("PFC_WD", restoration_time="400"), "leaf1.json"
    ),
    _twin(
        "sonic",
        "a LAG has two ends and needs its member",
        each(leaf1=sonic_lag("Ethernet24", min_links="1"), spine1=sonic_lag("Ethernet8")),
        _ENDS,
    ),
    _twin(
        "sonic",
        "a host is in a VLAN with a router",
        both(
            moved_to_vlan_10("Ethernet16"),
            put("VLAN_INTERFACE", "Vlan10", value={}),
            put("VLAN_INTERFACE", "Vlan10|172.16.10.1/24", value={}),
        ),
        "leaf1.json",
    ),
    _twin(
        "sonic",
        "both leaves have a second gateway",
        put("VLAN_INTERFACE", "Vlan100|172.16.101.1/24", value={}),
        "leaf*.json",
    ),
    _twin(
        "sonic",
        "a static route to the other leaf over both uplinks",
        put(
            "STATIC_ROUTE",
            value={
                "default|10.0.0.2/32": {
                    "nexthop": "10.1.0.1,10.1.0.3",
                    "ifname": "Ethernet24,Ethernet32",
                    "distance": "1,1",
                }
            },
        ),
        "leaf1.json",
    ),
    _twin(
        "sonic",
        "a rule of IPv6 in its table",
        sonic_list("Ethernet8", "L3V6", SRC_IPV6="2001:db8::1/128", PACKET_ACTION="DROP"),
        "leaf1.json",
    ),
    _twin(
        "sonic",
        "a rule redirects",
        sonic_list("Ethernet8", SRC_IP="172.16.100.66/32", PACKET_ACTION="REDIRECT:Ethernet16"),
        "leaf1.json",
    ),
    _twin(
        "sonic",
        "both ends negotiate and offer the speed",
        each(
            leaf1=updated("PORT", "Ethernet24", autoneg="on", adv_speeds="100000,400000"),
            spine1=updated("PORT", "Ethernet8", autoneg="on", adv_speeds="all"),
        ),
        _ENDS,
    ),
    _twin("sonic", "the transceiver decides about FEC", every_row("PORT", fec="auto"), _ENDS),
    _twin("sonic", "a VRF has its VNI on both leaves", sonic_vrf("50001"), "leaf*.json"),
    _twin(
        "sonic",
        "the row of a tunnel map has a free name",
        renamed("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", to="vtep|tenant7"),
        "leaf1.json",
    ),
    _twin(
        "nvue",
        "BFD watches a session from both ends",
        each(
            leaf1=put(*_NEIGHBOR, "10.1.0.1", "bfd", value={"enable": "on"}),
            spine1=put(*_NEIGHBOR, "10.1.0.0", "bfd", value={"enable": "on"}),
        ),
        "*[12].yaml",
    ),
    _twin("nvue", "a VRF has its VNI on both leaves", nvue_vrf("50001"), "leaf*.yaml"),
    _twin("nvue", "a bond has two ends", each(leaf1=nvue_bond("swp3"), spine1=nvue_bond("swp1")), "*[12].yaml"),
    _twin(
        "nvue",
        "a pause begins at the size of many frames",
        put("qos", "pfc", "default-global", "xoff-threshold", value=200_000),
        "*.yaml",
    ),
    _twin(
        "nvue",
        "static routes lead over the uplinks",
        put("vrf", "default", "router", "static", value={"10.0.0.2/32": {"via": {"10.1.0.1": {}, "10.1.0.3": {}}}}),
        "leaf1.yaml",
    ),
    _twin(
        "sonic",
        "what no route leads to is dropped",
        put("STATIC_ROUTE", value={"default|0.0.0.0/0": {"blackhole": "true"}}),
        "leaf1.json",
    ),
    _twin(
        "sonic",
        "a LAG has a smaller MTU that is large enough",
        each(leaf1=sonic_lag("Ethernet24", mtu="9100"), spine1=sonic_lag("Ethernet8", mtu="9100")),
        _ENDS,
    ),
    _twin(
        "nvue",
        "the VNI is automatic, with an offset",
        both(
            put("bridge", "domain", "br_default", "vlan", "100", "vni", value={"auto": {}}),
            put("bridge", "domain", "br_default", "vlan-vni-offset", value=10_000),
        ),
        "leaf1.yaml",
    ),
)


@pytest.mark.parametrize("twin", [*TWINS, *UPKEEP, *CHANGES], ids=lambda it: it.id)
def test_a_change_that_is_no_mistake_has_no_finding(twin: Mistake, tmp_path: Path) -> None:
    (score,) = scores(tmp_path, [twin])
    assert not score.causes, score.message
    assert not score.message.startswith("refused"), score.message


def test_a_mistake_in_no_file_is_an_error(tmp_path: Path) -> None:
    twin = _twin("nvue", "its file does not exist", lambda tree: tree, "leaf1.json")
    with pytest.raises(AssertionError, match=r"no file is leaf1\.json"):
        twin.write(tmp_path)

"""More mistakes of changes in all four languages: LAGs over two switches, VRFs, loopbacks, rows of other ports."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, renamed, replaced
from tests.mistakes.tree_edits import moved_to_vlan_10, nvue_vrf, sonic_vrf

_BGP: Final = ("vrf", "default", "router", "bgp")


def _sonic(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.json") -> Mistake:
    return Mistake("sonic", title, checks, devices, where, file, edit)


def _nvue(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.yaml") -> Mistake:
    return Mistake("nvue", title, checks, devices, where, file, edit)


def _eos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("eos", title, checks, devices, where, file, edit)


def _nxos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("nxos", title, checks, devices, where, file, edit)


def _both_uplinks_in_one_lag(tree: dict[str, Any]) -> dict[str, Any]:
    """SONiC: one LAG of the uplinks to two spines, with the address of the first."""
    tree["PORTCHANNEL"] = {"PortChannel1": {"admin_status": "up", "mtu": "9216"}}
    tree["PORTCHANNEL_MEMBER"] = {f"PortChannel1|{port}": {} for port in ("Ethernet24", "Ethernet32")}
    tree["PORTCHANNEL_INTERFACE"] = {"PortChannel1": {}, "PortChannel1|10.1.0.0/31": {}}
    del tree["INTERFACE"]
    return tree


def _spine_lags(tree: dict[str, Any]) -> dict[str, Any]:
    tree["PORTCHANNEL"] = {"PortChannel1": {"admin_status": "up", "mtu": "9216"}}
    tree["PORTCHANNEL_MEMBER"] = {"PortChannel1|Ethernet8": {}}
    rows = [key for key in tree["INTERFACE"] if key.partition("|")[0] == "Ethernet8"]
    tree["PORTCHANNEL_INTERFACE"] = {
        key.replace("Ethernet8", "PortChannel1"): tree["INTERFACE"].pop(key) for key in rows
    }
    return tree


def _sonic_two_spines(tree: dict[str, Any]) -> dict[str, Any]:
    name = tree["DEVICE_METADATA"]["localhost"]["hostname"]
    return {"leaf1": _both_uplinks_in_one_lag, "leaf2": lambda it: it}.get(name, _spine_lags)(tree)


def over_two_spines(bundle: str, first: str, second: str, down: str, indent: str) -> Edit:
    """EOS and NX-OS: the uplinks of leaf1 in one LAG, a LAG at each spine."""

    def lag(text: str, ports: tuple[str, ...]) -> str:
        address = ""
        for port in ports:
            begin = text.index(f"interface {port}\n")
            at = text.index(f"{indent}ip address ", begin)
            line = text[at : text.index("\n", at) + 1]
            address = address or line
            text = text[:at] + f"{indent}channel-group 1 mode active\n" + text[at + len(line) :]
        block = f"interface {bundle}1\n{indent}no switchport\n{indent}mtu 9214\n{address}"
        return text.replace(f"interface {ports[0]}\n", f"{block}interface {ports[0]}\n", 1)

    def edit(text: str) -> str:
        name = text.split("hostname ")[1].split("\n", maxsplit=1)[0]
        text = text.replace("feature bgp\n", "feature bgp\nfeature lacp\n")
        return text if name == "leaf2" else lag(text, (first, second) if name == "leaf1" else (down,))

    return edit


def _trunk_of_voice(tree: dict[str, Any]) -> dict[str, Any]:
    tree["DOT1P_TO_TC_MAP"] = {"D": {str(it): str(it) for it in range(8)}}
    row = tree["PORT_QOS_MAP"]["Ethernet24"]
    del row["dscp_to_tc_map"]
    row["dot1p_to_tc_map"] = "D"
    return tree


def second_loopback_eos(text: str) -> str:
    """The tunnel's source is a second loopback of leaf1."""
    own = "\ninterface Loopback1\n   ip address 10.0.1.1/32\n!\ninterface Loopback0\n"
    text = text.replace("\ninterface Loopback0\n", own)
    return text.replace("vxlan source-interface Loopback0", "vxlan source-interface Loopback1")


def _vni_by_leaf(tree: dict[str, Any]) -> dict[str, Any]:
    vni = "50001" if tree["system"]["hostname"] == "leaf1" else "50010"
    return nvue_vrf(vni)(tree)


CASES: Final = (
    _sonic(
        "the classes of an uplink come from the VLAN's priority", "M1 M3 M2", "leaf1", "Ethernet24", _trunk_of_voice
    ),
    _sonic(
        "lossless groups 3-4 where PFC is on for 3",
        "M7",
        "leaf1",
        "Ethernet24",
        renamed("BUFFER_PG", "Ethernet24|3", to="Ethernet24|3-4"),
    ),
    _sonic(
        "a digit of the speed is lost",
        "L2",
        "leaf1 spine1",
        "Ethernet24",
        put("PORT", "Ethernet24", "speed", value="40000"),
    ),
    _sonic(
        "the address is in a row of a port that is not there",
        "R1 P1",
        "leaf1 spine1",
        "Ethernet2",
        both(
            renamed("INTERFACE", "Ethernet24|10.1.0.0/31", to="Ethernet23|10.1.0.0/31"),
            renamed("INTERFACE", "Ethernet24", to="Ethernet23"),
        ),
    ),
    _sonic(
        "the neighbour's key is the other uplink's own address",
        "P19 P3 P9",
        "leaf1 spine1",
        "10.1.0.",
        renamed("BGP_NEIGHBOR", "10.1.0.1", to="10.1.0.2"),
    ),
    _sonic(
        "a static default route to an address of no link",
        "D12 D13 D10 R9",
        "leaf1",
        "0.0.0.0/0",
        put("STATIC_ROUTE", value={"default|0.0.0.0/0": {"nexthop": "10.1.0.5"}}),
    ),
    _sonic("a host's port moves to a VLAN without a VNI", "L13 V16", "leaf1", "10", moved_to_vlan_10("Ethernet8")),
    _sonic("one LAG over two spines", "L8", "leaf1", "Ethernet", _sonic_two_spines, "*[12].json"),
    _sonic(
        "the tenant's VNI is mapped to the VLAN of the hosts",
        "V1 R4 V16",
        "leaf1",
        "",
        both(sonic_vrf("50001"), put("VXLAN_TUNNEL_MAP", "vtep|map_50001_Vlan501", "vlan", value="Vlan100")),
    ),
    _nvue(
        "a neighbour of a group that is not there",
        "R1 P11",
        "leaf1",
        "underlay",
        both(
            put(*_BGP, "neighbor", "10.1.0.1", "peer-group", value="underlay"),
            put(*_BGP, "neighbor", "10.1.0.1", "remote-as", value=REMOVED),
        ),
    ),
    _nvue(
        "an unnumbered neighbour on the wrong port",
        "P3 R1 P9",
        "leaf1 spine1",
        "",
        both(
            put(*_BGP, "neighbor", "10.1.0.1", value=REMOVED),
            put(*_BGP, "neighbor", "swp5", value={"type": "unnumbered", "remote-as": "external"}),
        ),
    ),
    _nvue(
        "RoCE's priority leaves in queue 2",
        "M1 M2 E4",
        "leaf1",
        "",
        put("qos", "egress-queue-mapping", "default-global", "switch-priority", "3", "traffic-class", value=2),
    ),
    _nvue("a tenant has two L3 VNIs", "V2 V3", "leaf1 leaf2", "500", _vni_by_leaf, "leaf*.yaml"),
    _nvue(
        "a static route over an address of no link",
        "D13 D12 D10 R9",
        "leaf1",
        "10.0.0.2",
        put(*_BGP[:2], "router", "static", "10.0.0.2/32", value={"via": {"10.1.0.7": {"type": "ipv4-address"}}}),
    ),
    _nvue(
        "the own address of the VLAN is the other leaf's",
        "I1",
        "leaf1 leaf2",
        "172.16.100.3",
        renamed("interface", "vlan100", "ip", "address", "172.16.100.2/24", to="172.16.100.3/24"),
    ),
    _nvue(
        "the shared gateway has length 16",
        "V6 I8",
        "leaf1 leaf2",
        "172.16.100.1",
        renamed("interface", "vlan100", "ip", "vrr", "address", "172.16.100.1/24", to="172.16.100.1/16"),
    ),
    _eos("the tunnel's second loopback is not advertised", "V7", "leaf1", "10.0.1.1", second_loopback_eos),
    _eos(
        "the MAC-VRF is that of VLAN 101",
        "V3 R1 V13 V5 V16",
        "leaf1",
        "10",
        replaced("   vlan 100\n      rd", "   vlan 101\n      rd"),
    ),
    _eos(
        "one LAG over two spines",
        "L8",
        "leaf1",
        "Ethernet",
        over_two_spines("Port-Channel", "Ethernet3/1", "Ethernet4/1", "Ethernet1/1", "   "),
        "*.cfg",
    ),
    _eos(
        "the gateway of one leaf is in a VRF",
        "V6",
        "leaf1 leaf2",
        "RED",
        both(
            replaced("vlan 100\n", "vlan 100\n!\nvrf instance RED\n!\nip routing vrf RED\n"),
            replaced("interface Vlan100\n", "interface Vlan100\n   vrf RED\n"),
        ),
    ),
    _eos(
        "the loopback is in a VRF",
        "V7 V4",
        "leaf1",
        "10.0.0.1",
        both(
            replaced("vlan 100\n", "vlan 100\n!\nvrf instance RED\n"),
            replaced("interface Loopback0\n", "interface Loopback0\n   vrf RED\n"),
        ),
    ),
    _nxos(
        "one LAG over two spines",
        "L8",
        "leaf1",
        "Ethernet",
        over_two_spines("port-channel", "Ethernet1/3", "Ethernet1/4", "Ethernet1/1", "  "),
        "*.cfg",
    ),
    _nxos(
        "the loopback of the tunnel is in a VRF",
        "V7 V4",
        "leaf1",
        "10.0.0.1",
        both(
            replaced("interface Vlan100\n", "vrf context RED\ninterface Vlan100\n"),
            replaced(
                "interface loopback0\n", "interface loopback0\n  vrf member RED\n", after="no shutdown\ninterface"
            ),
        ),
    ),
    _nxos(
        "the class of CNP has RoCE's DSCP", "M6 N3 M10 M2", "leaf1", "48", replaced("match dscp 48", "match dscp 26")
    ),
)

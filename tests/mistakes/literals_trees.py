"""Mistakes of literal values in SONiC and NVUE: units, signs, words of another system, misplaced keys."""

from __future__ import annotations

from typing import Final

from tests.mistakes import sonic
from tests.mistakes.mistake import Edit, Mistake, both, put, renamed
from tests.mistakes.tree_edits import Tree

_ENDS: Final = "leaf1 spine1"
_PEER: Final = ("vrf", "default", "router", "bgp", "neighbor")
_UPLINK_OSPF: Final = ("interface", "swp3", "router", "ospf")


def _sonic(  # a row of the table
    title: str, checks: str, where: str, edit: Edit, *, devices: str = "leaf1", file: str = "leaf1", lb: bool = False
) -> Mistake:
    return Mistake("sonic", title, checks, devices, where, f"{file}.json", edit, loopbacks=lb)


def _nvue(  # a row of the table
    title: str, checks: str, where: str, edit: Edit, *, devices: str = "leaf1", lb: bool = False, below: str = ""
) -> Mistake:
    return Mistake(
        "nvue", title, checks, devices, where, "leaf1.yaml", edit, loopbacks=lb or bool(below), interior=below
    )


def _text(old: str, new: str) -> Edit:
    """The file's text is changed, for what a tree cannot say: it becomes text."""

    def edit(tree: Tree) -> str:
        text = sonic.text(tree)
        assert old in text, old
        return text.replace(old, new, 1)

    return edit


_TWICE: Final = '"SCHEDULER": {"data": {"type": "DWRR", "weight": "5"}, "cnp": {"type": "STRICT"}},\n "SCHEDULER": {'

CASES: Final = (
    # ===== SONiC =====
    _sonic(
        "the list of paused priorities ends with a comma",
        "R5",
        "pfc_enable",
        put("PORT_QOS_MAP", "Ethernet24", "pfc_enable", value="3,"),
    ),
    _sonic("a DSCP in hexadecimal", "R5", "0x1a", renamed("DSCP_TO_TC_MAP", "M", "26", to="0x1a")),
    _sonic("a class that does not exist", "R5", "33", put("DSCP_TO_TC_MAP", "M", "26", value="33")),
    _sonic("a negative keepalive", "R5", "keepalive", put("BGP_NEIGHBOR", "10.1.0.1", "keepalive", value="-3")),
    _sonic(
        "the tunnel's source has a length",
        "V4 R5",
        "src_ip",
        put("VXLAN_TUNNEL", "vtep", "src_ip", value="10.0.0.1/32"),
    ),
    _sonic(
        "a blank between thousands",
        "R5",
        "green_min_threshold",
        put("WRED_PROFILE", "W", "green_min_threshold", value="400 000"),
    ),
    _sonic("the scheduler's type in small letters", "R5", "dwrr", put("SCHEDULER", "data", "type", value="dwrr")),
    _sonic(
        "a negative restoration time",
        "R5",
        "restoration_time",
        put("PFC_WD", "Ethernet24", "restoration_time", value="-200"),
    ),
    _sonic(
        "a port is enabled, not up", "R5", "admin_status", put("PORT", "Ethernet24", "admin_status", value="enabled")
    ),
    _sonic("autonegotiation is true, not on", "R5", "autoneg", put("PORT", "Ethernet24", "autoneg", value="true")),
    _sonic(
        "the field of PFC has a letter too many",
        "R5 L1",
        "Ethernet24",
        renamed("PORT_QOS_MAP", "Ethernet24", "pfc_enable", to="pfc_enabled"),
    ),
    _sonic("a group's key is reversed", "R5", "3|Ethernet24", renamed("BUFFER_PG", "Ethernet24|3", to="3|Ethernet24")),
    _sonic(
        "the table of the DSCP map has a plural",
        "R5 R1",
        "DSCP_TO_TC_MAP",
        renamed("DSCP_TO_TC_MAP", to="DSCP_TO_TC_MAPS"),
    ),
    _sonic("a negative queue", "R5", "-1", put("TC_TO_QUEUE_MAP", "M", "3", value="-1")),
    _sonic(
        "the classes of RoCE and CNPs are swapped",
        "M1 M2",
        "26",
        both(put("DSCP_TO_TC_MAP", "M", "26", value="6"), put("DSCP_TO_TC_MAP", "M", "48", value="3")),
    ),
    _sonic(
        "EVPN between loopbacks: VNIs are advertised with a yes",
        "R5",
        "advertise-all-vni",
        put("BGP_GLOBALS_AF", "default|l2vpn_evpn", "advertise-all-vni", value="yes"),
        lb=True,
    ),
    _sonic(
        "the tunnel map names its VLAN by its number",
        "R1",
        "map_10100",
        put("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", "vlan", value="100"),
    ),
    _sonic("a table is in the file twice", "R8", "SCHEDULER", _text('"SCHEDULER": {', _TWICE)),
    _sonic("a comma before a closing brace", "refused", "leaf1.json", _text('"fec": "rs"', '"fec": "rs",')),
    _sonic("the own AS is 0", "P12 R5", "bgp_asn", put("DEVICE_METADATA", "localhost", "bgp_asn", value="0")),
    _sonic("a cable in feet", "R5", "40ft", put("CABLE_LENGTH", "AZURE", "Ethernet24", value="40ft")),
    _sonic("a queue names its port by the alias", "R1", "etp3", renamed("QUEUE", "Ethernet24|3", to="etp3|3")),
    _sonic("a comma between thousands", "R5", "mtu", put("PORT", "Ethernet24", "mtu", value="9,216")),
    _sonic(
        "digits of a spine's MTU are swapped",
        "L4",
        "9126",
        put("PORT", "Ethernet8", "mtu", value="9126"),
        file="spine1",
        devices=_ENDS,
    ),
    _sonic(
        "EVPN between loopbacks: no hop",
        "R5 P11",
        "ttl",
        put("BGP_PEER_GROUP", "default|OVERLAY", "ebgp_multihop_ttl", value="0"),
        lb=True,
    ),
    # ===== NVUE =====
    _nvue(
        "a probability with a percent sign",
        "R5",
        "probability",
        put("qos", "congestion-control", "default-global", "traffic-class", "3", "probability", value="20%"),
    ),
    _nvue(
        "a bandwidth with a percent sign",
        "R5",
        "bw-percent",
        put("qos", "egress-scheduler", "default-global", "traffic-class", "3", "bw-percent", value="50%"),
    ),
    _nvue(
        "a negative cable length", "R5", "cable-length", put("qos", "pfc", "default-global", "cable-length", value=-40)
    ),
    _nvue(
        "the trusted field is called dscp",
        "R5",
        "trust",
        put("qos", "mapping", "default-global", "trust", value="dscp"),
    ),
    _nvue(
        "a traffic class that does not exist",
        "R5",
        "13",
        put("qos", "egress-queue-mapping", "default-global", "switch-priority", "3", "traffic-class", value=13),
    ),
    _nvue("an MTU with its unit", "R5", "mtu", put("interface", "swp3", "link", "mtu", value="9216B")),
    _nvue(
        "EVPN between loopbacks: 300 hops",
        "R5",
        "multihop-ttl",
        put(*_PEER, "10.0.0.11", "multihop-ttl", value=300),
        lb=True,
    ),
    _nvue(
        "EVPN between loopbacks: the loopback has another system's name",
        "P7",
        "lo0",
        put(*_PEER, "10.0.0.11", "update-source", value="lo0"),
        lb=True,
    ),
    _nvue("the watchdog needs no storm", "R5", "robustness", put("qos", "pfc-watchdog", "robustness", value=0)),
    _nvue(
        "a polling interval with its unit",
        "R5",
        "polling-interval",
        put("qos", "pfc-watchdog", "polling-interval", value="100ms"),
    ),
    _nvue(
        "OSPF: it is off in the VRF",
        "O1",
        "swp3",
        put("vrf", "default", "router", "ospf", "enable", value="off"),
        below="ospf",
    ),
    _nvue(
        "OSPF: two switches have one router ID",
        "O2",
        "10.0.0.2",
        put("vrf", "default", "router", "ospf", "router-id", value="10.0.0.2"),
        devices="leaf1 leaf2",
        below="ospf",
    ),
    _nvue(
        "OSPF: the hello interval is shorter at one end",
        "O1",
        "hello",
        put(*_UPLINK_OSPF, "timers", value={"hello-interval": 5}),
        devices=_ENDS,
        below="ospf",
    ),
    _nvue("OSPF: a cost out of range", "R5 O4", "cost", put(*_UPLINK_OSPF, "cost", value=70_000), below="ospf"),
    _nvue(
        "OSPF: MTU differs",
        "L4 O1",
        "9000",
        put("interface", "swp3", "link", "mtu", value=9000),
        devices=_ENDS,
        below="ospf",
    ),
    _nvue(
        "a letter O in the VLAN's number",
        "R5",
        "1O0",
        renamed("bridge", "domain", "br_default", "vlan", "100", to="1O0"),
    ),
    _nvue(
        "the classes of RoCE and CNPs are swapped",
        "M1 M2",
        "26",
        both(
            put("qos", "mapping", "default-global", "dscp", "26", "switch-priority", value=6),
            put("qos", "mapping", "default-global", "dscp", "48", "switch-priority", value=3),
        ),
    ),
    _nvue("an uplink's name has a zero too many", "L7", "swp03", renamed("interface", "swp3", to="swp03")),
    _nvue(
        "the paused priority is 8", "R5", "8", renamed("qos", "pfc", "default-global", "switch-priority", "3", to="8")
    ),
    _nvue("a neighbour's AS is 0", "P2 R5", "10.1.0.1", put(*_PEER, "10.1.0.1", "remote-as", value=0)),
)

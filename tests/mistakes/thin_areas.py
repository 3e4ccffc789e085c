"""Mistakes of areas that the corpus had few of, invented and tried before the checks knew them: hashing, distances,
local AS numbers, queues that are shaped, policies at single interfaces, sub-interfaces, filters by ranges of ports.
"""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, replaced

_BGP = ("vrf", "default", "router", "bgp")
_NEAR = (*_BGP, "neighbor", "10.1.0.1")


def _sonic(title: str, checks: str, where: str, edit: Edit, devices: str = "leaf1") -> Mistake:
    return Mistake("sonic", title, checks, devices, where, "leaf1.json", edit)


def _eos(title: str, checks: str, where: str, edit: Edit, devices: str = "leaf1", file: str = "leaf1.cfg") -> Mistake:
    return Mistake("eos", title, checks, devices, where, file, edit)


def _nxos(title: str, checks: str, where: str, edit: Edit, devices: str = "leaf1", file: str = "leaf1.cfg") -> Mistake:
    return Mistake("nxos", title, checks, devices, where, file, edit)


def _nvue(title: str, checks: str, where: str, edit: Edit, devices: str = "leaf1") -> Mistake:
    return Mistake("nvue", title, checks, devices, where, "leaf1.yaml", edit)


def _marking_at_another_queue(tree: dict[str, Any]) -> dict[str, Any]:
    tree["QUEUE"]["Ethernet24|6"]["wred_profile"] = tree["QUEUE"]["Ethernet24|3"].pop("wred_profile")
    return tree


def _sub(tag: str = "", **fields: str) -> Edit:
    return both(
        put("INTERFACE", "Ethernet24|10.1.0.0/31", value=REMOVED),
        put("VLAN_SUB_INTERFACE", value={f"Ethernet24.{tag}": fields, f"Ethernet24.{tag}|10.1.0.0/31": {}}),
    )


def _acl(**rule: str) -> Edit:
    rest = {"PRIORITY": "1", "PACKET_ACTION": "FORWARD"}
    return both(
        put("ACL_TABLE", value={"IN": {"type": "L3", "stage": "ingress", "ports": ["Ethernet24"]}}),
        put("ACL_RULE", value={"IN|DROP": {"PRIORITY": "10", "PACKET_ACTION": "DROP", **rule}, "IN|REST": rest}),
    )


_PROFILE: Final = ("BUFFER_PROFILE", "pg_lossless_400000_40m_profile")
_UPLINK_NXOS: Final = "  ip address 10.1.0.0/31\n"
_NEIGHBOR_EOS: Final = "   neighbor 10.1.0.1 remote-as 65000\n"
_FAMILY_NXOS: Final = "    network 10.0.0.1/32\n"
_RED: Final = replaced("interface Vlan100\n", "interface Vlan100\n   vrf RED\n")
_LIST: Final = "ip prefix-list LOOPBACKS seq 10 permit 10.0.0.0/24\n!\nroute-map OUT permit 10\n"
_MATCH: Final = "   match ip address prefix-list LOOPBACKS\n!\nrouter bgp 65101\n"
_UNUSED: Final = "P26"

CASES: Final = (
    _sonic("marking is at the queue of the CNPs", "E1 E4", "Ethernet24", _marking_at_another_queue),
    _sonic("a link's address moved to a sub-interface at one end", "P1", "Ethernet24",
           _sub("100", admin_status="up"), "leaf1 spine1"),
    _sonic("a sub-interface has no number of a VLAN", "R5", "Ethernet24.5000", _sub("5000", admin_status="up")),
    _sonic("a sub-interface has a VLAN out of range", "R5", "vlan", _sub("10", vlan="4096")),
    _sonic("the resume threshold and the headroom are swapped", "H1 H3 H4 H5", _PROFILE[1],
           both(put(*_PROFILE, "xon", value="77824"), put(*_PROFILE, "xoff", value="37888"))),
    _sonic("a rule drops a range of ports with RoCE's in it", "A1 A2", "DROP",
           _acl(IP_PROTOCOL="17", L4_DST_PORT_RANGE="4700-4800")),
    _sonic("a rule drops RoCE's code point", "A1 A2", "DROP", _acl(DSCP="26")),
    _sonic("the hash has addresses only", "D6", "SWITCH_HASH",
           put("SWITCH_HASH", value={"GLOBAL": {"ecmp_hash": ["SRC_IP", "DST_IP"]}})),
    _eos("routes of BGP have the distance that is never used", _UNUSED, "distance",
         replaced("   maximum-paths 4\n", "   maximum-paths 4\n   distance bgp 255 255 255\n")),
    _eos("another AS number is shown to a spine", "P2", "65999",
         replaced(_NEIGHBOR_EOS, f"{_NEIGHBOR_EOS}   neighbor 10.1.0.1 local-as 65999 no-prepend replace-as\n"),
         "leaf1 spine1"),
    _eos("one leaf's hosts are in a VRF", "V6 V16", "VRF",
         both(replaced("vlan 100\n!\n", "vlan 100\n!\nvrf instance RED\n!\n"), _RED), "leaf1 leaf2"),
    _eos("a prefix list takes no longer prefixes", "P18", "OUT",
         both(replaced("router bgp 65101\n", _LIST + _MATCH),
              replaced(_NEIGHBOR_EOS, f"{_NEIGHBOR_EOS}   neighbor 10.1.0.1 route-map OUT out\n"))),
    _eos("RoCE's queue is shaped", "R10 M15", "shape",
         replaced("      bandwidth percent 90\n", "      bandwidth percent 90\n      shape rate 40 gbps\n")),
    _eos("a spine's routes of BGP have the distance that is never used", _UNUSED, "distance",
         replaced("   maximum-paths 4\n", "   maximum-paths 4\n   distance bgp 255\n"), "spine1", "spine1.cfg"),
    _nxos("routes of BGP have the distance that is never used", _UNUSED, "distance",
          replaced(_FAMILY_NXOS, f"{_FAMILY_NXOS}    distance 255 255 255\n")),
    _nxos("one uplink has the default queuing policy", "E1 E4", "Ethernet1/3",
          replaced(_UPLINK_NXOS, f"{_UPLINK_NXOS}  service-policy type queuing output default-8q-out-policy\n")),
    _nxos("another leaf's route distinguisher", "V10", "10.0.0.2:32867",
          replaced("    rd auto\n", "    rd 10.0.0.2:32867\n"), "leaf1 leaf2"),
    _nxos("RoCE's queue is shaped", "M15", "40 Gb/s",
          replaced("queuing c-out-8q-q3\n", "queuing c-out-8q-q3\n    shape min 1 gbps max 40 gbps\n")),
    _nxos("a host port passes little unicast", "R10", "storm-control",
          replaced("  description host1\n", "  description host1\n  storm-control unicast level 1.00\n")),
    _nxos("RoCE's queue has a tiny limit", "R10", "queue-limit",
          replaced("class type queuing c-out-8q-q3\n", "class type queuing c-out-8q-q3\n    queue-limit 10 kbytes\n")),
    _nvue("another AS number is shown to a spine", "P2", "65999",
          put(*_NEAR, "local-as", value={"enable": "on", "asn": 65999}), "leaf1 spine1"),
    _nvue("the neighbour's group is missing", "R1", "SPINES", put(*_NEAR, "peer-group", value="SPINES")),
    _nvue("the lossless pool is a number", "R5", "roce-lossless",
          put("qos", "advance-buffer-config", value={"default-global": {"ingress-pool": {"roce-lossless": 2}}})),
    _nvue("routes of BGP have the distance that is never used", _UNUSED, "distance",
          put(*_BGP, "address-family", "ipv4-unicast", "admin-distance", value={"external": 255})),
)  # fmt: skip

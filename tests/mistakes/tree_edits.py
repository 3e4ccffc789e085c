"""Edits of CONFIG_DB and NVUE trees that several parts of the corpus share."""

from __future__ import annotations

from typing import Any

from tests.mistakes.mistake import REMOVED, Edit, both, put

Tree = dict[str, Any]


def updated(*path: str, **fields: object) -> Edit:
    """Fields of one construct get values."""
    return both(*(put(*path, name, value=value) for name, value in fields.items()))


def each(**edits: Edit) -> Edit:
    """An edit for each of some switches, for mistakes with a pattern of files; the other files stay."""

    def edit(tree: Tree) -> Tree:
        name = (tree.get("DEVICE_METADATA", {}).get("localhost") or tree["system"])["hostname"]
        return edits[name](tree) if name in edits else tree

    return edit


def every_row(table: str, **fields: object) -> Edit:
    """Fields of every row of a table of CONFIG_DB, GLOBAL excepted."""

    def edit(tree: Tree) -> Tree:
        for key, row in tree[table].items():
            row.update({} if key == "GLOBAL" else fields)
        return tree

    return edit


def sonic_lag(port: str, **fields: str) -> Edit:
    """A routed port of SONiC becomes the only member of PortChannel1, which takes its address."""

    def edit(tree: Tree) -> Tree:
        rows = [key for key in tree["INTERFACE"] if key.partition("|")[0] == port]
        moved = {key.replace(port, "PortChannel1"): tree["INTERFACE"].pop(key) for key in rows}
        tree["PORTCHANNEL"] = {"PortChannel1": {"admin_status": "up", **fields}}
        tree["PORTCHANNEL_MEMBER"] = {f"PortChannel1|{port}": {}}
        tree["PORTCHANNEL_INTERFACE"] = moved
        return tree

    return edit


def nvue_bond(port: str, **link: object) -> Edit:
    """A routed port of NVUE becomes the only member of bond1, which takes its address."""

    def edit(tree: Tree) -> Tree:
        address = tree["interface"][port].pop("ip")
        bond = {"type": "bond", "bond": {"member": {port: {}}}, "ip": address, "link": {"mtu": 9216, **link}}
        tree["interface"]["bond1"] = bond
        return tree

    return edit


def sonic_vrf(vni: str) -> Edit:
    """The VLAN's interface is in a VRF, whose VNI has a VLAN of its own; '' leaves the VRF without its VNI."""
    return both(
        put("VRF", value={"VrfRed": {"vni": vni} if vni else {}}),
        put("VLAN_INTERFACE", "Vlan100", "vrf_name", value="VrfRed"),
        put("VLAN", "Vlan501", value={"vlanid": "501"}),
        put("VXLAN_TUNNEL_MAP", "vtep|map_50001_Vlan501", value={"vlan": "Vlan501", "vni": "50001"}),
    )


def nvue_vrf(vni: str) -> Edit:
    """The VLAN's interface is in a VRF; '' leaves the VRF without its VNI."""
    return both(
        put("vrf", "RED", value={"evpn": {"enable": "on", **({"vni": {vni: {}}} if vni else {})}}),
        put("interface", "vlan100", "ip", "vrf", value="RED"),
    )


def sonic_list(port: str, kind: str = "L3", **rule: str) -> Edit:
    """An access list with one rule at a port."""
    return both(
        put("ACL_TABLE", value={"T": {"type": kind, "stage": "ingress", "ports": [port]}}),
        put("ACL_RULE", value={"T|R1": {"PRIORITY": "10", **rule}}),
    )


def nvue_list(port: str, way: str, action: dict[str, Any]) -> Edit:
    """An access list that acts on UDP at a port."""
    rules = {
        "10": {"match": {"ip": {"protocol": "udp"}}, "action": action},
        "20": {"match": {"ip": {}}, "action": {"permit": {}}},
    }
    return both(
        put("acl", value={"UDP": {"type": "ipv4", "rule": rules}}),
        put("interface", port, "acl", value={"UDP": {way: {}}}),
    )


def moved_to_vlan_10(port: str) -> Edit:
    """A host's port of SONiC is in a VLAN of its own."""
    return both(
        put("VLAN", "Vlan10", value={"vlanid": "10", "mtu": "9216", "admin_status": "up"}),
        put("VLAN_MEMBER", f"Vlan100|{port}", value=REMOVED),
        put("VLAN_MEMBER", f"Vlan10|{port}", value={"tagging_mode": "untagged"}),
    )

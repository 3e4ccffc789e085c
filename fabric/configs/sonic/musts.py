"""What a CONFIG_DB must have beside right values: required fields, fields that need or exclude each other, counts.

Sources: `mandatory` and `must` of sonic-yang-models (sonic-buffer-pool, -buffer-profile, -scheduler, -vxlan, -port);
orchagent where YANG is silent (pfcwdorch.cpp l.318: detection_time; portsorch: a lane belongs to one port);
SAI saibuffer.h (SAI_BUFFER_POOL_ATTR_SIZE is mandatory on create).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from fabric.configs.model import Device
from fabric.configs.sonic.rows import Rows
from fabric.configs.text.spelling import meant, slip_of

_REQUIRED: Final = {
    "BUFFER_POOL": ("type", "mode"),
    "BUFFER_PROFILE": ("pool", "size"),
    "LOSSLESS_TRAFFIC_PATTERN": ("mtu", "small_packet_percentage"),
    "VXLAN_TUNNEL_MAP": ("vlan", "vni"),
    "VXLAN_EVPN_NVO": ("source_vtep",),
    "PFC_WD": ("detection_time",),
}
_TYPES: Final = frozenset((
    "ToRRouter", "LeafRouter", "SpineRouter", "SpineChassisFrontendRouter", "ChassisBackendRouter", "MgmtToRRouter",
    "BackEndToRRouter", "BackEndLeafRouter", "EPMS", "MgmtTsToR", "BmcMgmtToRRouter",
))  # fmt: skip
"""Roles of a switch (sonic-device_metadata.yang, type)."""
_MOST: Final = {"VXLAN_TUNNEL": 2, "VXLAN_EVPN_NVO": 1}
_WRED_NAME: Final = 32


def check_musts(rows: Rows, device: Device) -> None:
    """Add a defect for every statement that does not hold."""
    for table, names in _REQUIRED.items():
        for key, where, fields in rows.raw(table):
            optional = {"size"} if fields.get("headroom_type") == "dynamic" else set()
            missing = [name for name in names if name not in fields and name not in optional]
            if missing and not (table == "PFC_WD" and key == "GLOBAL"):
                rows.defect("R9", where, f"{table}|{key}"[:120], f"has no {' and no '.join(missing)}")
    for key, where, fields in rows.raw("DEVICE_METADATA"):
        kind = str(fields.get("type", ""))
        if kind not in _TYPES and (right := slip_of(kind, _TYPES)):
            text = f"'{kind[:40]}' is no role of a switch (did you mean '{right}'?)"
            rows.defect("R5", (*where, "type"), f"DEVICE_METADATA|{key}|type"[:120], text)
    for table, most in _MOST.items():
        if len(rows.keys(table)) > most:
            rows.defect("R9", (table,), table, f"has {len(rows.keys(table))} rows, the switch takes {most}")
    for key, where, fields in rows.raw("BUFFER_POOL"):
        if "size" not in fields and not device.dynamic_buffers:
            rows.defect(
                "R9", where, f"BUFFER_POOL|{key}"[:120], "has no size, and only the dynamic buffer model computes one"
            )
        if "percentage" in fields and ("size" in fields or not device.dynamic_buffers):
            rows.defect(
                "R9",
                (*where, "percentage"),
                f"BUFFER_POOL|{key}"[:120],
                "percentage goes without size, and in the dynamic buffer model only",
            )
    for key, where, fields in rows.raw("SCHEDULER"):
        for peak, rate in (("pir", "cir"), ("pbs", "cbs")):
            high, low = _number(fields.get(peak)), _number(fields.get(rate))
            if high is not None and (low is None or high < low):
                rows.defect(
                    "R9", (*where, peak), f"SCHEDULER|{key}"[:120], f"{peak} {high} needs a {rate} that is not larger"
                )
    for key in rows.keys("WRED_PROFILE"):
        if len(key) > _WRED_NAME:
            rows.defect(
                "R9",
                rows.where("WRED_PROFILE", key),
                f"WRED_PROFILE|{key}"[:120],
                f"its name has {len(key)} characters, YANG takes {_WRED_NAME}",
            )
    _lanes(rows)
    _aliases(rows)
    _interfaces(rows, device)
    _instances(rows)
    _vrfs(rows)
    for key, where, fields in rows.raw("FLEX_COUNTER_TABLE"):
        dogs = [name for name in rows.keys("PFC_WD") if name != "GLOBAL"]
        if key == "PFCWD" and fields.get("FLEX_COUNTER_STATUS") == "disable" and dogs:
            text = f"is disable: the watchdog of {len(dogs)} ports polls nothing (pfcwd counter_poll enable)"
            rows.defect(
                "R9", (*where, "FLEX_COUNTER_STATUS"), "FLEX_COUNTER_TABLE|PFCWD", f"FLEX_COUNTER_STATUS {text}"
            )


def _aliases(rows: Rows) -> None:
    """A port's alias is its name for LLDP and for the command line with aliases: two ports of one name are confused."""
    seen: dict[str, str] = {}
    for key, where, fields in rows.raw("PORT"):
        alias = str(fields.get("alias", ""))
        if alias and alias in seen:
            text = f"alias '{alias[:40]}' is that of {seen[alias]}, too: LLDP and `config` take one for the other"
            rows.defect("R9", (*where, "alias"), f"PORT|{key}"[:120], text)
        seen.setdefault(alias, key)


def _instances(rows: Rows) -> None:
    """The VRF in the key of a row of BGP is 'default' or in VRF: frrcfgd takes any other for one that is to come."""
    if "BGP_GLOBALS" not in rows:
        return
    known = {"default", *rows.keys("VRF"), *rows.keys("VNET")}
    for table in ("BGP_GLOBALS", "BGP_GLOBALS_AF", "BGP_PEER_GROUP"):
        for key in sorted(rows.keys(table)):
            vrf, bar, _ = key.partition("|")
            if vrf not in known and (bar or table == "BGP_GLOBALS"):
                text = f"VRF '{vrf[:40]}' is not in the file{meant(vrf, frozenset(known))}"
                rows.defect("R1", rows.where(table, key), f"{table}|{key}"[:120], text)


def _vrfs(rows: Rows) -> None:
    """An interface names a VRF that is a row (sonic-interface.yang, vrf_name: a leafref), and the VLAN of a VRF's VNI
    has its interface, where it has one, in that VRF, which routes there (SONiC HLD EVPN VXLAN, symmetric IRB).
    """
    known = rows.keys("VRF") | rows.keys("VNET") | _OWN_VRFS
    bound: dict[str, str] = {}
    for table in _ROUTED_TABLES:
        for key, where, fields in rows.raw(table):
            vrf = fields.get("vrf_name")
            if isinstance(vrf, str) and vrf and "|" not in key:
                bound[key] = vrf
                if vrf not in known:
                    text = f"VRF '{vrf[:40]}' is not in the file{meant(vrf, frozenset(known))}"
                    rows.defect("R1", (*where, "vrf_name"), f"{table}|{key}"[:120], text)
    vlans = {str(row.get("vni", "")): str(row.get("vlan", "")) for _, _, row in rows.raw("VXLAN_TUNNEL_MAP")}
    for vrf, where, fields in rows.raw("VRF"):
        vlan = vlans.get(str(fields.get("vni", "")), "")
        keys = rows.keys("VLAN_INTERFACE")
        of_hosts = any(key.startswith(f"{vlan}|") for key in keys)  # with an address it is no VLAN of a VRF's VNI (V1)
        if vlan in keys and not of_hosts and bound.get(vlan) != vrf:
            its = f"is in {bound[vlan][:40]}" if vlan in bound else "is in no VRF"
            text = f"the VNI routes at {vlan[:20]}, which {its} (vrf_name of VLAN_INTERFACE)"
            rows.defect("R9", (*where, "vni"), f"VRF|{vrf}"[:120], text)


_OWN_VRFS: Final = frozenset(("default", "mgmt"))
_ROUTED_TABLES: Final = ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE")
_NEEDS_ROW: Final = ("INTERFACE", "LOOPBACK_INTERFACE")


def _interfaces(rows: Rows, device: Device) -> None:
    """An address needs the row of its interface (intfmgrd); a port is routed, in a VLAN, or in a LAG, not two of them.

    Files of releases before 201911 have no rows of interfaces at all, and db_migrator adds them; published samples
    leave those of LAGs out.
    """
    members, bundled = (
        {key.partition("|")[2]: (table, key) for key in sorted(rows.keys(table), reverse=True)}  # the first one stays
        for table in ("VLAN_MEMBER", "PORTCHANNEL_MEMBER")
    )
    new = any("|" not in key for table in _NEEDS_ROW for key in rows.keys(table))
    for table in _ROUTED_TABLES:
        names = {key for key in rows.keys(table) if "|" not in key}
        for key in sorted(rows.keys(table) - names):
            name = key.partition("|")[0]
            if table in _NEEDS_ROW and new and name not in names:
                text = f"has no row '{table}|{name[:40]}', without which the switch ignores the address"
                rows.defect("R9", rows.where(table, key), f"{table}|{key}"[:120], text)
            if name in members:
                text = f"{name[:40]} has an address and is in VLAN {members[name][1].partition('|')[0][:20]}"
                rows.defect("R9", members[name], "|".join(members[name])[:120], text)
    bundle: dict[str, str] = {}
    for key in sorted(rows.keys("PORTCHANNEL_MEMBER")):
        lag, _, name = key.partition("|")
        if bundle.setdefault(name, lag) != lag:
            text = f"{name[:40]} is a member of {bundle[name][:40]} already, and a port has one LAG"
            rows.defect("R9", rows.where("PORTCHANNEL_MEMBER", key), f"PORTCHANNEL_MEMBER|{key}"[:120], text)
    untagged: dict[str, str] = {}
    for key, where, fields in rows.raw("VLAN_MEMBER"):
        vlan, _, name = key.partition("|")
        if fields.get("tagging_mode") == "untagged" and untagged.setdefault(name, vlan) != vlan:
            text = f"{name[:40]} is untagged in {untagged[name][:20]} already, and has one VLAN without tags"
            rows.defect("R9", (*where, "tagging_mode"), f"VLAN_MEMBER|{key}"[:120], text)
    for name in sorted(members.keys() & bundled.keys() & device.ports.keys()):
        text = f"{name[:40]} is in {bundled[name][1].partition('|')[0][:40]}, and its LAG has to be in the VLAN"
        rows.defect("R9", members[name], "|".join(members[name])[:120], text)


def _lanes(rows: Rows) -> None:
    """A lane of the chip belongs to one port: two breakouts of one cage, or a stale row.

    Where most ports have a list that another port has to the letter, it is a placeholder rather than a breakout.
    """
    owner: dict[str, tuple[str, str]] = {}
    lists = Counter(str(fields["lanes"]) for _, _, fields in rows.raw("PORT") if "lanes" in fields)
    placeholders = 2 * sum(count for count in lists.values() if count > 1) > sum(lists.values())
    for key, where, fields in rows.raw("PORT"):
        text = fields.get("lanes")
        if not isinstance(text, str):
            continue
        for lane in filter(None, (part.strip() for part in text.split(","))):
            other, its = owner.setdefault(lane, (key, text))
            if other != key and not (its == text and placeholders):
                rows.defect("R9", (*where, "lanes"), f"PORT|{key}"[:120], f"lane {lane[:20]} is {other[:40]}'s already")
                break


def _number(value: object) -> int | None:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None

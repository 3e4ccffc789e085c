"""CONFIG_DB table VLAN_SUB_INTERFACE: interfaces of a port or LAG whose frames have a VLAN tag.

The kernel's names end after 15 characters, so a sub-interface may be named short: Eth64.10 is Ethernet64.10, Po1.10 is
PortChannel1.10. The number of a long name is its tag, unless `vlan` states another; a short one has no tag of its own.
A row without `admin_status` is up. Sources: SONiC HLD "sub port interface" sections 2.1.1 and 2.1.2;
sonic-yang-models, sonic-vlan-sub-interface.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.identity import Stated
from fabric.configs.model import Device, Where
from fabric.configs.sonic.rows import Fields, Rows

TABLE: Final = "VLAN_SUB_INTERFACE"
_SHORT: Final = re.compile(r"(?:(Eth)|(Po))(\d+\.\d+)")
_MOST_TAG: Final = 4094


def read_subinterfaces(rows: Rows, device: Device) -> None:
    """Fill in their addresses, VRFs, tags, and which are shut; defects (R1, R5, R9) of rows that make none."""
    for key, where, fields in rows.rows(TABLE):
        short, bar, text = key.partition("|")
        if not bar:
            _interface(rows, device, short, where, fields)
            continue
        if short not in rows.keys(TABLE):
            said = f"has no row '{TABLE}|{short[:40]}', without which the switch ignores the address"
            rows.defect("R9", where, f"{TABLE}|{key}"[:120], said)
        try:
            device.add_address(long_name(short), text if "/" in text else "", where)
        except ValueError:
            rows.defect("R5", where, f"{TABLE}|{key}"[:120], f"'{text[:60]}' is no address with its prefix length")


def long_name(name: str) -> str:
    """'Eth64.10' -> 'Ethernet64.10'; a long name as it is."""
    match = _SHORT.fullmatch(name)
    return name if match is None else f"{'Ethernet' if match[1] else 'PortChannel'}{match[3]}"


def _interface(rows: Rows, device: Device, key: str, where: Where, fields: Fields) -> None:
    found = device.identity
    name = long_name(key)
    port, _, number = name.partition(".")
    shown = f"{TABLE}|{key}"[:120]
    if port not in device.ports and port not in rows.keys("PORTCHANNEL"):
        rows.defect("R1", where, shown, f"{port[:40]} is neither a port nor a LAG of the file")
    if vrf := str(fields.get("vrf_name", "")):
        found.interface_vrfs[name] = vrf
    if fields.get("admin_status") == "down":
        found.shut[name] = Stated("down", (*where, "admin_status"))
    stated = fields.get("vlan")
    tag = str(stated if stated is not None else number if name == key else "")
    if not tag:
        rows.defect("R9", where, shown, "has a short name and no 'vlan': the switch makes no interface of it")
    elif not (tag.isascii() and tag.isdigit() and 1 <= int(tag) <= _MOST_TAG):
        rows.defect("R5", where, shown, f"'{tag[:20]}' is no VLAN tag from 1 to {_MOST_TAG}")
    else:
        _tagged(rows, device, name, tag, (*where, "vlan") if stated is not None else where)


def _tagged(rows: Rows, device: Device, name: str, tag: str, where: Where) -> None:
    """Remember the tag of a sub-interface; a port has one of each tag that is up."""
    found = device.identity
    port = name.partition(".")[0]
    if name not in found.shut:
        for other, its in found.tags_sent.items():
            if its.value == tag and other.partition(".")[0] == port and other not in found.shut:
                text = f"{name[:40]} has VLAN tag {tag}, and so has {other[:40]}"
                rows.defect("R9", where, "|".join(where)[:120], f"{text}: a port has one sub-interface for each tag")
                break
    found.tags_sent[name] = Stated(tag, where)

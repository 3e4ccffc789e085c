"""What a CONFIG_DB must have beside right values: required fields, fields that need or exclude each other, counts.

Sources: `mandatory` and `must` of sonic-yang-models (sonic-buffer-pool, -buffer-profile, -scheduler, -vxlan, -port);
orchagent where YANG is silent (pfcwdorch.cpp l.318: detection_time; portsorch: a lane belongs to one port);
SAI saibuffer.h (SAI_BUFFER_POOL_ATTR_SIZE is mandatory on create).
"""

from __future__ import annotations

from typing import Final

from fabric.configs.model import Device
from fabric.configs.sonic_rows import Rows

_REQUIRED: Final = {
    "BUFFER_POOL": ("type", "mode"), "BUFFER_PROFILE": ("pool", "size"),
    "LOSSLESS_TRAFFIC_PATTERN": ("mtu", "small_packet_percentage"), "VXLAN_TUNNEL_MAP": ("vlan", "vni"),
    "VXLAN_EVPN_NVO": ("source_vtep",), "PFC_WD": ("detection_time",),
}
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
    for table, most in _MOST.items():
        if len(rows.keys(table)) > most:
            rows.defect("R9", (table,), table, f"has {len(rows.keys(table))} rows, the switch takes {most}")
    for key, where, fields in rows.raw("BUFFER_POOL"):
        if "size" not in fields and not device.dynamic_buffers:
            rows.defect("R9", where, f"BUFFER_POOL|{key}"[:120], "has no size, and only the dynamic buffer model "
                        "computes one")
        if "percentage" in fields and ("size" in fields or not device.dynamic_buffers):
            rows.defect("R9", (*where, "percentage"), f"BUFFER_POOL|{key}"[:120],
                        "percentage goes without size, and in the dynamic buffer model only")
    for key, where, fields in rows.raw("SCHEDULER"):
        for peak, rate in (("pir", "cir"), ("pbs", "cbs")):
            high, low = _number(fields.get(peak)), _number(fields.get(rate))
            if high is not None and (low is None or high < low):
                rows.defect("R9", (*where, peak), f"SCHEDULER|{key}"[:120],
                            f"{peak} {high} needs a {rate} that is not larger")
    for key in rows.keys("WRED_PROFILE"):
        if len(key) > _WRED_NAME:
            rows.defect("R9", rows.where("WRED_PROFILE", key), f"WRED_PROFILE|{key}"[:120],
                        f"its name has {len(key)} characters, YANG takes {_WRED_NAME}")
    _lanes(rows)


def _lanes(rows: Rows) -> None:
    """A lane of the chip belongs to one port: two breakouts of one cage, or a stale row.

    Ports whose lists are the same to the letter are left alone: that is a placeholder rather than a breakout.
    """
    owner: dict[str, tuple[str, str]] = {}
    for key, where, fields in rows.raw("PORT"):
        text = fields.get("lanes")
        if not isinstance(text, str):
            continue
        for lane in filter(None, (part.strip() for part in text.split(","))):
            other, its = owner.setdefault(lane, (key, text))
            if other != key and its != text:
                rows.defect("R9", (*where, "lanes"), f"PORT|{key}"[:120], f"lane {lane[:20]} is {other[:40]}'s already")
                break


def _number(value: object) -> int | None:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None

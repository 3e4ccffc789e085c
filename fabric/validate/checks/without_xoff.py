"""Profiles that are meant for groups with headroom and state none: a missing field, not a wrong binding."""

from __future__ import annotations

from fabric.configs.model import BufferProfile, Device
from fabric.validate.facts import Facts, Line
from fabric.validate.headroom_need import need_on
from fabric.validate.remedies import Fix, set_field

_NAMED = "pg_lossless_"
"""Begins the names that the switch itself gives to profiles with headroom (sonic-swss buffermgr.cpp)."""


def lacks_xoff(facts: Facts, device: Device, profile: BufferProfile | None) -> bool:
    """Whether a profile without headroom is one that should have it: it states when a pause ends, its name is that of
    such a profile, or other switches have headroom in the profile of this name.
    """
    if profile is None or profile.lossless or not device.capabilities.every_group_stated:
        return False
    return bool(profile.xon_bytes or profile.name.startswith(_NAMED) or _elsewhere(facts, profile.name))


def _elsewhere(facts: Facts, name: str) -> BufferProfile | None:
    """The profile of this name that a switch has with headroom."""
    its = (other.profiles.get(name) for other in facts.devices)
    return next((it for it in its if it is not None and it.lossless and not it.assumed), None)


def with_xoff(facts: Facts, line: Line, profile: BufferProfile) -> Fix | None:
    """The headroom that other switches have in this profile, else the table's row, else what the port needs."""
    xoff = _usual_xoff(facts, line, profile.name)
    return None if xoff is None else set_field(line.device, profile.where, "xoff", xoff)


def _usual_xoff(facts: Facts, line: Line, name: str) -> int | None:
    """Bytes; None where neither a switch nor a table has them, and the port's need is not known."""
    device, port = line.device, line.port
    known = _elsewhere(facts, name)
    if known is not None:
        return known.xoff_bytes
    table = facts.network.tables.find(device.hwsku, device.platform)
    row = None if table is None else table.get(port.speed_mbps or 0, port.cable_m or 0)
    if row is not None:
        return row.xoff_bytes
    need = need_on(facts, line)
    return None if need is None else -(-need.bytes // need.hop.cell_bytes) * need.hop.cell_bytes

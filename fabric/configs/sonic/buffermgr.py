"""What a SONiC switch adds to its own buffer configuration when it starts.

Traditional model: a lossless profile per (speed, cable) from pg_profile_lookup.ini, bound to the groups in
pfc_enable; an existing profile is used as it is, even if it is wrong; no row means no lossless group and a line in
syslog. Dynamic model: headroom by formula from speed, cable and MTU, and what is left of the buffer as the pool.
Without this, every configuration before its roll-out would look as if PFC had no headroom.
Sources: sonic-swss cfgmgr/buffermgr.cpp lines 146-308, buffermgrdyn.cpp lines 485-530, buffer_pool_mellanox.lua.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fabric.configs.buffers.headroom import Row, vendor_row
from fabric.configs.buffers.platforms import Chip, dynamic_chip, find_platform
from fabric.configs.model import DEFAULT_MTU, Binding, BufferProfile, Device, Port
from fabric.configs.sonic.pgtable import HeadroomTable

INGRESS_POOL: Final = "ingress_lossless_pool"
_KB: Final = 1024
_LANES_8: Final = 8
_NULL: Final = "NULL"
_TOFINO_POOL_BYTES: Final = 43_067_728
_TOFINO_SHARED_BYTES: Final = 2 * 400 * 176 * 0.7
"""Lossless pool, and shared headroom per port: two groups, 400 cells each, 70 % of them (buffer_pool_barefoot.lua)."""


def add_run_time_buffers(device: Device, table: HeadroomTable | None) -> None:
    """Add what the switch would add. `table` is None where nothing is known of the platform's headroom."""
    if device.dynamic_buffers:
        _dynamic(device, dynamic_chip(device.hwsku, device.platform))
    else:
        _traditional(device, table)


def _traditional(device: Device, table: HeadroomTable | None) -> None:
    # A file of a running switch has the groups that were made; of like ports, one without them did not get them.
    written = {
        (port.speed_mbps, port.cable_m)
        for port in device.ports.values()
        if port.lossless and all(p in port.groups and port.groups[p].profile for p in port.lossless)
    }
    for port in device.ports.values():
        missing = sorted(p for p in port.lossless if p not in port.groups or port.groups[p].profile is None)
        # A cable of 0 m tells the switch to leave a port's buffers unchanged (buffermgr.cpp line 159).
        if not missing or not port.cable_m or not port.admin_up:
            continue
        if port.speed_mbps is None:  # the HWSKU's default breakout decides, which is not in the file
            port.headroom_unknown = True
            continue
        name = f"pg_lossless_{port.speed_mbps}_{port.cable_m}m_profile"
        if table is None and (port.speed_mbps, port.cable_m) in written:
            continue
        if name not in device.profiles:
            if table is None:
                port.headroom_unknown = True
                continue
            row = table.get(port.speed_mbps, port.cable_m)
            if row is None:
                port.missing_row = (port.speed_mbps, port.cable_m)
                continue
            pool = device.pools.get(INGRESS_POOL)
            static = pool is not None and pool.mode == "static"
            device.profiles[name] = BufferProfile(
                name,
                port.cable_where,
                INGRESS_POOL,
                row.size_bytes,
                None if static else row.threshold,
                row.threshold if static else None,
                row.xon_bytes,
                row.xon_offset_bytes,
                row.xoff_bytes,
                derived=f"made by the switch from {table.source}",
            )
        for group in missing:
            port.groups[group] = Binding(port.qos_where, name, port.qos_where, made=True)


def _dynamic(device: Device, chip: Chip | None) -> None:
    known = True
    for port in device.ports.values():
        for bound in port.groups.values():
            if bound.profile != _NULL:
                continue
            if chip is None or port.speed_mbps is None or port.cable_m is None:
                port.headroom_unknown, known = True, False
                continue
            bound.profile = _dynamic_profile(device, chip, port)
    pool = device.pools.get(INGRESS_POOL)
    if pool is None or pool.size_bytes is not None or not known or chip is None:
        return
    if chip.nvidia:
        pool.size_bytes = _pool_left(device)
    else:
        pool.size_bytes = _TOFINO_POOL_BYTES
        pool.shared_headroom_bytes = pool.shared_headroom_bytes or int(len(device.ports) * _TOFINO_SHARED_BYTES)


def _dynamic_profile(device: Device, chip: Chip, port: Port) -> str:
    speed, cable = port.speed_mbps or 0, port.cable_m or 0
    eight = port.lanes == _LANES_8
    suffix = ("" if port.mtu == DEFAULT_MTU else f"_mtu{port.mtu}") + ("_8lane" if eight and chip.nvidia else "")
    name = f"pg_lossless_{speed}_{cable}m{suffix}_profile"
    if name not in device.profiles:
        pool = device.pools.get(INGRESS_POOL)
        shared = not chip.nvidia or device.over_subscribe_ratio > 0 or bool(pool and pool.shared_headroom_bytes)
        asic = replace(chip.asic, size_8_lanes_bytes=port.mtu)

        def row_of(small_percent: int | None) -> Row:
            return vendor_row(
                asic,
                speed,
                cable,
                eight_lanes=eight,
                port_mtu=port.mtu,
                lossless_mtu=device.pattern_mtu,
                small_percent=small_percent,
                shared_headroom=shared,
            )

        row, worst = row_of(device.pattern_small_percent), row_of(100)
        # Private headroom that is more than 2 KB short of the worst case gets 2 KB more (lines 185-192).
        more = 2 * _KB if not shared and row.xoff_bytes + 2 * _KB < worst.xoff_bytes else 0
        device.profiles[name] = BufferProfile(
            name,
            port.cable_where,
            INGRESS_POOL,
            row.size_bytes + more,
            device.default_dynamic_th,
            None,
            row.xon_bytes,
            0,
            row.xoff_bytes + more,
            derived=f"computed by the switch for {speed // 1000}G, {cable} m, MTU {port.mtu}",
        )
    return name


def _pool_left(device: Device) -> int | None:
    """Bytes left for the lossless pool (buffer_pool_mellanox.lua lines 186-472)."""
    egress, known = device.pools.get("egress_lossless_pool"), find_platform(device.hwsku)
    total = egress.size_bytes if egress is not None else None
    total = total if total is not None else known.mmu_bytes if known is not None else None
    if total is None:
        return None
    used = headroom = lossless_ports = 0
    for port in device.ports.values():
        if not port.admin_up:
            continue
        profiles = [device.profile_of(bound) for bound in port.groups.values()]
        lossless = [profile for profile in profiles if profile is not None and profile.lossless]
        used += sum(profile.size_bytes for profile in lossless) + 19 * _KB * (len(profiles) - len(lossless))
        used += (37 if port.lanes == _LANES_8 else 19) * _KB + 10 * _KB  # management group, egress mirror
        headroom += sum(profile.xoff_bytes for profile in lossless)
        lossless_ports += bool(lossless)
    if device.over_subscribe_ratio:
        used += headroom // device.over_subscribe_ratio - 10 * _KB * lossless_ports
    pools = [pool for pool in device.pools.values() if pool.direction == "ingress" and pool.size_bytes != 0]
    return max(0, total - used - 256 * _KB) // max(1, min(2, len(pools)))

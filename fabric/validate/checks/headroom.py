"""H: headroom, cables, and the tables they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fabric.configs.headroom import ROCE_FRAME_BYTES, bounds
from fabric.configs.model import Device
from fabric.configs.pgtable import HeadroomTable
from fabric.configs.platforms import find_platform
from fabric.validate.checks.base import Check, E, Found, I, Severity, W, check, shows
from fabric.validate.facts import Facts, Line

_NAME: Final = re.compile(r"pg_lossless_(\d+)_(\d+)m.*_profile")
_JUMBO_MTU: Final = 4200
_ROCE_4096: Final = 4096
_NXOS_DEFAULT_M: Final = 100
_MANAGEMENT_MBPS: Final = 10_000
_RACK_M: Final = 5
_ROCE_HEADERS_BYTES: Final = 78
_FEC_NS, _MACSEC_NS = 100, 500
"""One end's RS-FEC (KP4) latency, and a MACsec engine's."""


def link_mtu(facts: Facts, line: Line) -> int:
    """The larger MTU of a port and whatever is at the other end."""
    peer, host = facts.peers.get(line.end), facts.host_at(line)
    other = None if peer is None else facts.line(peer)
    return max(line.port.mtu, other.port.mtu if other else 0, (host.mtu or 0) if host else 0)


@check("H1", E, "headroom below a physical bound",
       condition="xoff >= bounds A, B, C, D of the link (A, B error; C warn; D info); `fabric headroom` prints them",
       consequence="the pause arrives too late: loss, then go-back-N; below D only with a slow peer",
       remedy="take the vendor's row for this speed and cable", source="IEEE 802.3 annex 31B.3.7; 802.1Q PFC annex")
def H1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """The worst bound that is missed, per port and priority's group."""
    hosts = [*facts.network.hosts.values(), *filter(None, [facts.network.default_host])]
    large = any((host.roce_mtu or 0) >= _ROCE_4096 for host in hosts)
    for line in facts.lossless:
        speed, cable = line.port.speed_mbps, line.port.cable_m
        if speed is None or not cable:
            continue
        mtu = link_mtu(facts, line)
        limit = bounds(speed, cable, mtu)
        for name in dict.fromkeys(bound.profile for bound in line.port.groups.values() if bound.profile):
            profile = line.device.profiles.get(name)
            if profile is None or not profile.lossless or profile.assumed or profile.xoff_bytes >= limit.d:
                continue
            xoff = profile.xoff_bytes
            if xoff < limit.a:
                bound, value, severity, why = "A", limit.a, E, "lost even with 1500-byte frames"
            elif xoff < limit.b and line.port.mtu > _JUMBO_MTU:
                bound, value, severity = "B", limit.b, E if large else W
                why = f"lost with a jumbo frame here and {ROCE_FRAME_BYTES} B of RoCE there"
            elif xoff < limit.c:
                bound, value, severity, why = "C", limit.c, W, "lost with jumbo frames at both ends"
            else:
                bound, value, severity, why = "D", limit.d, I, "relies on a peer faster than the 802.3 limit"
            yield Found(line.device.name, f"{line.port.name}|{name}", f"xoff {xoff} B < bound {bound} {value} B "
                        f"({speed // 1000}G, {cable} m, MTU {mtu}): {why}",
                        (shows(line.device, profile.where, "" if profile.derived else "xoff", xoff),
                         shows(line.device, line.port.cable_where, "", f"{cable}m", "cable")), severity)


@check("H2", E, "no headroom row for this speed and cable",
       condition="(speed, cable) of every lossless port is a row of pg_profile_lookup.ini",
       consequence="the switch creates no lossless group and says so only in syslog: PFC without headroom",
       remedy="round the cable up to a length the table has, or add a row",
       source="sonic-swss buffermgr.cpp l.238-243")
def H2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info for uncabled and management ports, and once per switch whose table is not known."""
    for device in facts.devices:
        table = facts.network.tables.find(device.hwsku, device.platform)
        unknown = [line for line in facts.lossless_of(device) if line.port.headroom_unknown]
        if unknown:
            yield Found(device.name, "headroom", _not_judged(device, unknown),
                        (shows(device, ("DEVICE_METADATA", "localhost"), "hwsku", device.hwsku),), I)
        elif table is None and device.language == "sonic" and not device.dynamic_buffers and (
                facts.lossless_profiles(device)):
            yield Found(device.name, "headroom", f"no headroom table is known for '{device.hwsku or 'no hwsku'}': its "
                        "profiles were held against the bounds, not against a vendor's row; give --pg-profile-lookup "
                        "FILE", (shows(device, ("DEVICE_METADATA", "localhost"), "hwsku", device.hwsku),), I)
        for line in facts.lossless_of(device):
            missing = line.port.missing_row or _stale_row(line, table)
            if missing is None or table is None:
                continue
            speed, cable = missing
            mild = line.end not in facts.peers and (device.name in facts.linked or speed <= _MANAGEMENT_MBPS)
            has = ", ".join(f"{length}m" for length in table.cables_m)
            yield Found(device.name, line.port.name, f"no row for {speed} Mb/s and {cable}m in {table.source} "
                        f"(cables: {has})", (shows(device, line.port.cable_where, "", f"{cable}m", "cable"),),
                        I if mild else E)


def _stale_row(line: Line, table: HeadroomTable | None) -> tuple[int, int] | None:
    """Speed and cable of a port whose group the switch made before, and could not make again: the table lacks them."""
    speed, cable = line.port.speed_mbps, line.port.cable_m
    made = any(_NAME.fullmatch(bound.profile or "") for bound in line.port.groups.values())
    if line.device.dynamic_buffers or table is None or not made or speed is None or not cable:
        return None
    return (speed, cable) if table.get(speed, cable) is None else None


def _not_judged(device: Device, lines: list[Line]) -> str:
    name, port, remedy = device.hwsku or device.platform or "a switch without hwsku", lines[0].port, ""
    if port.speed_mbps is None:
        why = "the ports' speed is not in the file"
    elif device.dynamic_buffers and port.cable_m is None:
        why = "the ports' cable length is not in the file"
    elif device.dynamic_buffers:
        why = f"no formula of the dynamic model is published for '{name}', only NVIDIA's and Tofino 2's"
        remedy = "; write its BUFFER_PROFILEs out, with xoff, xon and size"
    else:
        why, remedy = f"no headroom table is known for '{name}'", "; give --pg-profile-lookup FILE"
    return f"{why}: headroom of {len(lines)} ports was not judged{remedy}"


@check("H3", E, "headroom profile of another speed or cable",
       condition="pg_lossless_<speed>_<cable>_profile is bound to ports of that speed and cable",
       consequence="wrong headroom after a breakout or a new cable: existing profiles are never refreshed",
       remedy="remove BUFFER_PG and the profile, and let the switch make them again",
       source="sonic-swss buffermgr.cpp l.246-279")
def H3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By the numbers in the profile's name."""
    for line in facts.lossless:
        for group, bound in line.port.groups.items():
            match = _NAME.fullmatch(bound.profile or "")
            if match is None or line.port.speed_mbps is None or line.port.cable_m is None:
                continue
            if (int(match[1]), int(match[2])) != (line.port.speed_mbps, line.port.cable_m):
                yield Found(line.device.name, f"{line.port.name}|{group}", f"{bound.profile} on a port of "
                            f"{line.port.speed_mbps} Mb/s with {line.port.cable_m} m of cable",
                            (shows(line.device, bound.profile_where, "profile", bound.profile),
                             shows(line.device, line.port.where, "speed", line.port.speed_mbps),
                             shows(line.device, line.port.cable_where, "", f"{line.port.cable_m}m", "cable")))


@check("H4", W, "headroom differs from the vendor's row",
       condition="xoff, xon and size equal the row; error if xoff < 0.9 x row and < bound D",
       consequence="a hand edit: too little loses packets, too much takes shared buffer",
       remedy="use the row's values", source="the platform's pg_profile_lookup.ini")
def H4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """One finding per profile, with the row beside it."""
    for device in facts.devices:
        table = facts.network.tables.find(device.hwsku, device.platform)
        if table is None or device.dynamic_buffers or device.language != "sonic":
            continue
        for profile, groups in facts.lossless_profiles(device).values():
            port = groups[0][0].port
            match = _NAME.fullmatch(profile.name)
            speed, cable = (int(match[1]), int(match[2])) if match else (port.speed_mbps or 0, port.cable_m or 0)
            row = table.get(speed, cable)
            if row is None or profile.derived:
                continue
            pairs = (("xoff", profile.xoff_bytes, row.xoff_bytes), ("xon", profile.xon_bytes, row.xon_bytes),
                     ("size", profile.size_bytes, row.size_bytes))
            differ = [(name, ours, theirs) for name, ours, theirs in pairs if ours != theirs]
            if not differ:
                continue
            limit = bounds(speed, cable, max(link_mtu(facts, line) for line, _ in groups)).d
            severity = (E if profile.xoff_bytes < min(0.9 * row.xoff_bytes, limit)
                        else W if any(ours < theirs for _, ours, theirs in differ) else I)
            text = ", ".join(f"{name} {ours} B, row {theirs} B" for name, ours, theirs in differ)
            yield Found(device.name, f"BUFFER_PROFILE|{profile.name}", f"{text} (bound D {limit} B; {table.source})",
                        tuple(shows(device, profile.where, name, ours) for name, ours, _ in differ), severity)


@check("H5", E, "cable length too short at one end",
       condition="both ends state the same length, and not less than the links file",
       consequence="the end with the shorter length has too little headroom",
       remedy="state the measured length at both ends", source="sonic-buildimage CABLE_LENGTH; 802.3 annex 31B")
def H5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Error where the shorter statement really meant less headroom; else a warning."""
    for wire in facts.wires:
        a, b = wire.a.port.cable_m, wire.b.port.cable_m
        if a is not None and b is not None and a != b and wire.a.port.lossless | wire.b.port.lossless:
            short, other = (wire.a, wire.b) if a < b else (wire.b, wire.a)
            less = any((_xoff(facts, short, p) or 0) < (_xoff(facts, other, p) or 1) for p in short.port.lossless)
            yield Found(short.device.name, short.port.name, f"{short.port.cable_m} m here, {other.port.cable_m} m at "
                        f"{other}" + ("" if less else "; headroom is the same at both ends"),
                        (shows(short.device, short.port.cable_where, "", f"{short.port.cable_m}m", "cable"),
                         shows(other.device, other.port.cable_where, "", f"{other.port.cable_m}m", "cable")),
                        E if less else W)
        planned = wire.cable.length_m
        for line in (wire.a, wire.b):
            if planned is not None and line.port.cable_m is not None and line.port.cable_m < planned:
                yield Found(line.device.name, line.port.name,
                            f"{line.port.cable_m} m here, {planned} m in the links file",
                            (shows(line.device, line.port.cable_where, "", f"{line.port.cable_m}m", "cable"),), W)


def _xoff(facts: Facts, line: Line, priority: int) -> int | None:
    profile = facts.group_profile(line, priority)
    return None if profile is None else profile.xoff_bytes


@check("H6", W, "a cable of a rack between switches", condition="links between switches state more than 5 m",
       consequence="the template's default was left in place: too little headroom on a longer cable",
       remedy="state the real length", source="sonic-buildimage buffers_config.j2 (default_cable)")
def H6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Only for links whose other end is a switch that was given, and without a length in the links file."""
    for wire in facts.wires:
        for line in (wire.a, wire.b):
            if line.port.lossless and line.port.cable_m is not None and 0 < line.port.cable_m <= _RACK_M and (
                    wire.cable.length_m is None):
                yield Found(line.device.name, line.port.name, f"{line.port.cable_m} m on a link between switches",
                            (shows(line.device, line.port.cable_where, "", f"{line.port.cable_m}m", "cable"),))


@check("H7", E, "no cable length on a port with PFC", condition="every lossless port has a cable length above 0 m",
       consequence="the switch skips the port: no lossless group", remedy="state the cable's length",
       source="sonic-swss buffermgr.cpp l.159-163")
def H7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info where no length is stated and the groups are: their headroom is held against no bound then."""
    for line in facts.lossless:
        if line.device.language != "sonic" or line.device.dynamic_buffers or line.port.cable_m or not line.device.pools:
            continue
        severity = E
        if line.port.cable_m == 0:
            text = "cable length is 0 m"
        elif any(priority not in line.port.groups for priority in line.port.lossless):
            text = "no cable length and no lossless group"
        else:
            text, severity = "no cable length: its headroom was not judged", I
        yield Found(line.device.name, line.port.name, text, (
            shows(line.device, line.port.cable_where or ("CABLE_LENGTH",), "", "", "cable"),), severity)


@check("H8", W, "headroom computed for smaller frames than there are",
       condition="port MTU <= the table's MTU; traffic pattern's MTU >= RoCE MTU + 78",
       consequence="headroom too small by the difference, at both ends",
       remedy="set LOSSLESS_TRAFFIC_PATTERN.mtu, or lower the port's MTU",
       source="sonic-swss buffer_headroom_mellanox.lua l.96-104")
def H8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """The pattern matters in the dynamic model only."""
    hosts = [*facts.network.hosts.values(), *filter(None, [facts.network.default_host])]
    roce = max((host.roce_mtu or 0 for host in hosts), default=0)
    for device in facts.devices:
        if device.dynamic_buffers and device.pattern_mtu and roce and device.pattern_mtu < roce + _ROCE_HEADERS_BYTES:
            yield Found(device.name, "LOSSLESS_TRAFFIC_PATTERN", f"mtu {device.pattern_mtu} B, RoCE packets have "
                        f"{roce + _ROCE_HEADERS_BYTES} B", (shows(device, device.pattern_where, "mtu",
                                                                  device.pattern_mtu),))
        known = find_platform(device.hwsku)
        for line in facts.lossless_of(device) if known and not device.dynamic_buffers else ():
            if known and line.port.mtu > max(known.asic.port_mtu, 9216):
                yield Found(device.name, line.port.name, f"MTU {line.port.mtu}, the table is for {known.asic.port_mtu}",
                            (shows(device, line.port.where, "mtu", line.port.mtu),))


@check("H9", I, "delay of FEC or MACsec not in the headroom",
       condition="xoff >= bound D + RS-FEC (100 ns) and MACsec (500 ns) at both ends",
       consequence="the last fraction of a microsecond is missing in the worst case",
       remedy="add the delay to the row, or declare a longer cable", source="SONiC HLD dynamically headroom")
def H9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Only above bound D; below it H1 speaks."""
    for line in facts.lossless:
        speed, cable = line.port.speed_mbps, line.port.cable_m
        extra_ns = 2 * (_FEC_NS * (line.port.fec == "rs") + _MACSEC_NS * line.port.macsec)
        if speed is None or not cable or not extra_ns:
            continue
        level = bounds(speed, cable, link_mtu(facts, line)).d
        for name in dict.fromkeys(bound.profile for bound in line.port.groups.values() if bound.profile):
            profile = line.device.profiles.get(name)
            if profile is not None and profile.lossless and not profile.assumed and level <= profile.xoff_bytes < (
                    level + extra_ns * speed // 8000):
                yield Found(line.device.name, f"{line.port.name}|{name}", f"xoff {profile.xoff_bytes} B < {level} B + "
                            f"{extra_ns * speed // 8000} B for {extra_ns} ns of FEC and MACsec",
                            (shows(line.device, line.port.where, "fec", line.port.fec),), Severity.INFO)


@check("H10", W, "a long cable with the switch's default headroom",
       condition="NX-OS: beyond 100 m the no-drop class states its pause buffer-size",
       consequence="the default headroom is for less than 100 m: the rest of the pause's round trip is lost",
       remedy="`pause buffer-size ... pause-threshold ... resume-threshold ...` in an input queuing policy",
       source="Cisco Nexus 9000 NX-OS QoS guide, Configuring Priority Flow Control")
def H10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Lengths are those of the links file; a running-config has none."""
    for line in facts.lossless:
        if line.device.language == "nxos" and (line.port.cable_m or 0) > _NXOS_DEFAULT_M and not line.port.groups:
            yield Found(line.device.name, line.port.name, f"{line.port.cable_m} m and no pause buffer-size",
                        (shows(line.device, line.port.where, "", ""),))


CHECKS: Final[tuple[Check, ...]] = (H1, H2, H3, H4, H5, H6, H7, H8, H9, H10)

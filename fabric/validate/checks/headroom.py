"""H: headroom, cables, and the tables they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fabric.configs.buffers.budget import statement
from fabric.configs.buffers.headroom import ROCE_HEADERS_BYTES, Row, annex_bytes, bounds, coding_ps
from fabric.configs.buffers.platforms import find_platform
from fabric.configs.model import BufferProfile, Device
from fabric.configs.sonic.pgtable import HeadroomTable
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Severity, W, check, construct, shows
from fabric.validate.chips import is_nvidia
from fabric.validate.facts import Facts, Line
from fabric.validate.headroom_need import link_mtu, need_on, profiles_on, same_sum
from fabric.validate.remedies import Fix, bind_headroom, set_cable, set_field, set_fields

_NAME: Final = re.compile(r"pg_lossless_(\d{1,9})_(\d{1,9})m.*_profile")
_JUMBO_MTU: Final = 4200
_ROCE_4096: Final = 4096
_MANAGEMENT_MBPS: Final = 10_000
_RACK_M: Final = 5


@check(
    "H1",
    E,
    "headroom below a bound of 802.3 or the need",
    condition="xoff >= bounds A, B, C, D of the link (A, B error; C warn; D info), and >= the need with the assumed "
    "response, latency and frames (info; --peer-response, --latency); `fabric headroom --explain` prints the terms",
    consequence="the pause arrives too late: loss, then go-back-N; below D only with a slow peer, below the need only "
    "if the assumptions hold: the verdict's line `headroom:` has them",
    remedy="raise xoff to the need with the assumed response, latency and frames, in whole cells, and size with it",
    source="IEEE 802.3 annex 31B.3.7; 802.1Q PFC annex",
)
def H1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """The worst bound that is missed, per port and priority's group."""
    hosts = list(facts.network.stated_hosts.values())
    large = any((host.roce_mtu or 0) >= _ROCE_4096 for host in hosts)
    wanted = _wanted(facts)
    for line in facts.lossless:
        speed, cable = line.port.speed_mbps, line.port.cable_m
        need = need_on(facts, line)
        if speed is None or not cable or need is None:
            continue
        mtu = link_mtu(facts, line)
        limit = bounds(speed, cable, mtu)
        for profile in profiles_on(line):
            xoff, name = profile.xoff_bytes, profile.name
            if xoff >= max(limit.d, need.bytes):
                continue
            if xoff < limit.a or (xoff < limit.b and line.port.mtu > _JUMBO_MTU and large):
                severity = E
            else:
                severity = W if xoff < limit.c else I
            yield Found(
                line.device.name,
                f"{line.port.name}|{name}",
                f"{statement(xoff, limit, need)} ({speed // 1000}G, {cable} m, MTU {mtu})",
                (
                    shows(line.device, profile.where, "" if profile.derived else "xoff", xoff),
                    shows(line.device, line.port.cable_where, "", f"{cable}m", "cable"),
                    Evidence("every term", same_sum(facts, line, xoff)),
                ),
                severity,
                fix=_more_headroom(facts, line, profile, wanted[line.device.name, name]),
            )


def _wanted(facts: Facts) -> dict[tuple[str, str], int]:
    """Switch and profile to the headroom that suits all its ports: the need, at least bound C, in whole cells."""
    found: dict[tuple[str, str], int] = {}
    for line in facts.lossless:
        need, port = need_on(facts, line), line.port
        if need is None or port.speed_mbps is None or not port.cable_m:
            continue
        cell = need.hop.cell_bytes
        least = -(-max(need.bytes, bounds(port.speed_mbps, port.cable_m, link_mtu(facts, line)).c) // cell) * cell
        for profile in profiles_on(line):
            key = line.device.name, profile.name
            found[key] = max(found.get(key, 0), least)
    return found


def _more_headroom(facts: Facts, line: Line, profile: BufferProfile, xoff: int) -> Fix | None:
    """Set this xoff, and the size that the platform's rule has for it; None where the profile has it or is computed."""
    if profile.derived or xoff <= profile.xoff_bytes:
        return None
    device, port = line.device, line.port
    table = facts.network.tables.find(device.hwsku, device.platform)
    row = None if table is None else table.get(port.speed_mbps or 0, port.cable_m or 0)
    size = _size_with(device, profile, row, xoff)
    return set_fields(device, profile.where, {"xoff": xoff, **({} if size == profile.size_bytes else {"size": size})})


def _size_with(device: Device, profile: BufferProfile, row: Row | None, xoff: int) -> int:
    """The profile's size with this xoff: the row's rule, else what check B4 asks for; unchanged for shared headroom."""
    if row is not None:
        return _size_of(row, xoff)
    if profile.size_bytes < profile.xoff_bytes:
        return profile.size_bytes
    return max(profile.size_bytes, xoff + (profile.xon_bytes if is_nvidia(device) else 0))


def _size_of(row: Row, xoff: int) -> int:
    """A row's size with another xoff: private headroom is xoff and a reserve; with shared headroom xoff is no part."""
    return row.size_bytes - row.xoff_bytes + xoff if row.size_bytes >= row.xoff_bytes else row.size_bytes


@check(
    "H2",
    E,
    "no headroom row for this speed and cable",
    condition="(speed, cable) of every lossless port is a row of pg_profile_lookup.ini",
    consequence="the switch creates no lossless group and says so only in syslog: PFC without headroom",
    remedy="correct the length if it is a slip; else add a row for it to pg_profile_lookup.ini, or use dynamic buffers",
    source="sonic-swss buffermgr.cpp l.238-243",
    leads_to="H3 H5 L3 M4 L9 H1",
)
def H2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info for uncabled and management ports, and once per switch whose table is not known."""
    for device in facts.devices:
        table = facts.network.tables.find(device.hwsku, device.platform)
        unknown = [line for line in facts.lossless_of(device) if line.port.headroom_unknown]
        if unknown:
            yield Found(
                device.name,
                "headroom",
                _not_judged(device, unknown),
                (shows(device, ("DEVICE_METADATA", "localhost"), "hwsku", device.hwsku),),
                I,
            )
        elif (
            table is None
            and device.capabilities.headroom_from_table
            and not device.dynamic_buffers
            and (facts.lossless_profiles(device))
        ):
            yield Found(
                device.name,
                "headroom",
                f"no headroom table is known for '{device.hwsku or 'no hwsku'}': its "
                "profiles were held against the bounds, not against a vendor's row; give --pg-profile-lookup "
                "FILE",
                (shows(device, ("DEVICE_METADATA", "localhost"), "hwsku", device.hwsku),),
                I,
            )
        for line in facts.lossless_of(device):
            missing = line.port.missing_row or _stale_row(line, table)
            if missing is None or table is None:
                continue
            speed, cable = missing
            mild = line.end not in facts.peers and (device.name in facts.linked or speed <= _MANAGEMENT_MBPS)
            has = ", ".join(f"{length}m" for length in table.cables_m)
            other = _far(facts, line)
            stated = None if other is None else other.port.cable_m
            known = stated is not None and stated != cable and table.get(speed, stated) is not None
            yield Found(
                device.name,
                line.port.name,
                f"no row for {speed} Mb/s and {cable}m in {table.source} (cables: {has})"
                + (f"; {other} states {stated}m" if known else ""),
                (
                    shows(device, line.port.cable_where, "", f"{cable}m", "cable"),
                    *(
                        [shows(other.device, other.port.cable_where, "", f"{stated}m", f"{other} cable")]
                        if other is not None and known
                        else []
                    ),
                ),
                I if mild else E,
            )


def _far(facts: Facts, line: Line) -> Line | None:
    """The port at the other end of a link, on a switch that was given."""
    end = facts.peers.get(line.end)
    return None if end is None else facts.line(end)


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


@check(
    "H3",
    E,
    "headroom profile of another speed or cable",
    condition="pg_lossless_<speed>_<cable>_profile is bound to ports of that speed and cable",
    consequence="wrong headroom after a breakout or a new cable: existing profiles are never refreshed",
    remedy="remove BUFFER_PG and the profile, and let the switch make them again",
    source="sonic-swss buffermgr.cpp l.246-279",
    leads_to="H1 H4 E5 E7",
)
def H3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By the numbers in the profile's name."""
    for line in facts.lossless:
        for group, bound in line.port.groups.items():
            match = _NAME.fullmatch(bound.profile or "")
            if match is None or line.port.speed_mbps is None or line.port.cable_m is None:
                continue
            if (int(match[1]), int(match[2])) != (line.port.speed_mbps, line.port.cable_m):
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{group}",
                    f"{bound.profile} on a port of {line.port.speed_mbps} Mb/s with {line.port.cable_m} m of cable",
                    (
                        shows(line.device, bound.profile_where, "profile", bound.profile),
                        shows(line.device, line.port.where, "speed", line.port.speed_mbps),
                        shows(line.device, line.port.cable_where, "", f"{line.port.cable_m}m", "cable"),
                    ),
                    fix=_right_row(facts, line, group, line.port.speed_mbps, line.port.cable_m),
                )


def _right_row(facts: Facts, line: Line, group: int, speed: int, cable: int) -> Fix | None:
    """The profile of this speed and cable, made of the table's row where the file does not have it."""
    device, bound = line.device, line.port.groups[group]
    table = facts.network.tables.find(device.hwsku, device.platform)
    row = None if table is None else table.get(speed, cable)
    old = device.profiles.get(bound.profile or "")
    name = f"pg_lossless_{speed}_{cable}m_profile"
    if row is None or old is None or device.dynamic_buffers or len(bound.where) != 2:
        return None
    known = device.profiles.get(name)
    if known is not None and not known.derived:
        return set_field(device, bound.where, "profile", name)
    threshold = "dynamic_th" if old.static_th_bytes is None else "static_th"
    fields: dict[str, object] = {"pool": old.pool, "size": row.size_bytes, "xon": row.xon_bytes,
                                 "xoff": row.xoff_bytes, threshold: row.threshold}  # fmt: skip
    if row.xon_offset_bytes:
        fields["xon_offset"] = row.xon_offset_bytes
    return bind_headroom(device, bound.where, name, fields)


@check(
    "H4",
    W,
    "headroom differs from the vendor's row",
    condition="xoff, xon and size equal the row; error if xoff < 0.9 x row and < bound D; info where xoff and size are "
    "above it by the same",
    consequence="a hand edit: too little loses packets, too much takes shared buffer",
    remedy="use the row's values, with the need of H1 as xoff where it is more, and a size that is larger by as much; "
    "an xoff above the row's may stay",
    source="the platform's pg_profile_lookup.ini",
    leads_to="H1 H9 B4 B6",
)
def H4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """One finding per profile, with the row beside it. An xoff that has to change becomes what H1 asks for, too."""
    wanted = _wanted(facts)
    for device in facts.devices:
        table = facts.network.tables.find(device.hwsku, device.platform)
        if table is None or device.dynamic_buffers or not device.capabilities.headroom_from_table:
            continue
        for profile, groups in facts.lossless_profiles(device).values():
            port = groups[0][0].port
            match = _NAME.fullmatch(profile.name)
            speed, cable = (int(match[1]), int(match[2])) if match else (port.speed_mbps or 0, port.cable_m or 0)
            row = table.get(speed, cable)
            if row is None or profile.derived:
                continue
            xoff = profile.xoff_bytes  # more than the row, such as the need of H1, is kept
            if xoff < row.xoff_bytes:
                xoff = max(row.xoff_bytes, wanted.get((device.name, profile.name), 0))
            rows = (
                ("xoff", profile.xoff_bytes, row.xoff_bytes, xoff),
                ("xon", profile.xon_bytes, row.xon_bytes, row.xon_bytes),
                ("size", profile.size_bytes, row.size_bytes, _size_of(row, xoff)),
            )
            differ = [(name, ours, theirs) for name, ours, theirs, _ in rows if ours != theirs]
            values = {
                name: value
                for name, ours, _, value in rows
                if ours != value and not (name == "size" and ours > value and xoff > row.xoff_bytes)
            }
            if not differ:
                continue
            limit = bounds(speed, cable, max(link_mtu(facts, line) for line, _ in groups)).d
            severity = (
                E
                if profile.xoff_bytes < min(0.9 * row.xoff_bytes, limit)
                else W
                if any(ours < value for _, ours, _, value in rows)
                else I
            )
            text = ", ".join(f"{name} {ours} B, row {theirs} B" for name, ours, theirs in differ)
            yield Found(
                device.name,
                construct(device, "BUFFER_PROFILE", profile.name),
                f"{text} (bound D {limit} B; {table.source})",
                tuple(shows(device, profile.where, name, ours) for name, ours, _ in differ),
                severity,
                fix=set_fields(device, profile.where, values) if values else None,
            )


@check(
    "H5",
    E,
    "the two ends of a cable state different lengths",
    condition="both ends state the same length, and not less than the links file",
    consequence="the end with the shorter length has too little headroom",
    remedy="state the measured length at both ends",
    source="sonic-buildimage CABLE_LENGTH; 802.3 annex 31B",
    leads_to="L3 H3 H6 N5 H1 L8",
)
def H5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Error where the shorter statement really meant less headroom; else a warning."""
    for wire in facts.wires:
        a, b = wire.a.port.cable_m, wire.b.port.cable_m
        if a is not None and b is not None and a != b and wire.a.port.lossless | wire.b.port.lossless:
            short, other = (wire.a, wire.b) if a < b else (wire.b, wire.a)
            odd = other if _cabled_alike(facts, other) < _cabled_alike(facts, short) else short
            if _profiled(short) != _profiled(other):  # the profile of the right end fits its length
                odd = other if _profiled(short) else short
            less = any((_xoff(facts, short, p) or 0) < (_xoff(facts, other, p) or 1) for p in short.port.lossless)
            right = other if odd is short else short
            yield Found(
                odd.device.name,
                odd.port.name,
                f"{odd.port.cable_m} m here, {right.port.cable_m} m at {right}"
                + ("" if less else "; headroom is the same at both ends"),
                (
                    shows(odd.device, odd.port.cable_where, "", f"{odd.port.cable_m}m", "cable"),
                    shows(right.device, right.port.cable_where, "", f"{right.port.cable_m}m", f"{right} cable"),
                ),
                E if less else W,
                fix=set_cable(odd.device, odd.port, right.port.cable_m or 0)
                if odd is short or not (_lengths(odd) and _profiled(odd))
                else None,
            )
        planned = wire.cable.length_m
        for line in (wire.a, wire.b):
            if planned is not None and line.port.cable_m is not None and line.port.cable_m < planned:
                yield Found(
                    line.device.name,
                    line.port.name,
                    f"{line.port.cable_m} m here, {planned} m in the links file",
                    (shows(line.device, line.port.cable_where, "", f"{line.port.cable_m}m", "cable"),),
                    W,
                )


def _cabled_alike(facts: Facts, line: Line) -> tuple[int, int]:
    """Ports to other switches for which the switch states this port's length. Where it states one length for all of
    them, that is one statement, which is held against those of the other switches.
    """
    device, length = line.device, line.port.cable_m
    its = [port for port in device.ports.values() if facts.peers.get((device.name, port.name), ("",))[0] in
           facts.network.devices]  # fmt: skip
    one = len(its) > 1 and len({port.cable_where for port in its}) == 1
    if not one:
        return sum(port.cable_m == length for port in its), 0
    return 1, sum(any(port.cable_m == length for port in other.ports.values()) for other in facts.devices)


def _profiled(line: Line) -> bool:
    """Whether the names of the port's lossless profiles have its own length of cable."""
    return all(length == line.port.cable_m for length in _lengths(line))


def _lengths(line: Line) -> list[int]:
    """Lengths of cable in the names of the port's lossless profiles."""
    names = (_NAME.fullmatch(bound.profile or "") for bound in line.port.groups.values())
    return [int(match[2]) for match in names if match is not None]


def _xoff(facts: Facts, line: Line, priority: int) -> int | None:
    profile = facts.group_profile(line, priority)
    return None if profile is None else profile.xoff_bytes


@check(
    "H6",
    W,
    "a cable of a rack between switches",
    condition="links between switches state more than 5 m",
    consequence="the template's default was left in place: too little headroom on a longer cable",
    remedy="state the real length",
    source="sonic-buildimage buffers_config.j2 (default_cable)",
    leads_to="H1",
)
def H6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Only for links whose other end is a switch that was given, and without a length in the links file."""
    for wire in facts.wires:
        for line in (wire.a, wire.b):
            if (
                line.port.lossless
                and line.port.cable_m is not None
                and 0 < line.port.cable_m <= _RACK_M
                and (wire.cable.length_m is None)
            ):
                yield Found(
                    line.device.name,
                    line.port.name,
                    f"{line.port.cable_m} m on a link between switches",
                    (shows(line.device, line.port.cable_where, "", f"{line.port.cable_m}m", "cable"),),
                )


@check(
    "H7",
    E,
    "no cable length on a port with PFC",
    condition="every lossless port has a cable length above 0 m",
    consequence="the switch skips the port: no lossless group",
    remedy="state the cable's length",
    source="sonic-swss buffermgr.cpp l.159-163",
    leads_to="M4 L9 H5 L3",
)
def H7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info where no length is stated and the groups are: their headroom is held against no bound then."""
    for line in facts.lossless:
        if (
            not line.device.capabilities.headroom_from_table
            or line.device.dynamic_buffers
            or line.port.cable_m
            or not line.device.pools
        ):
            continue
        severity = E
        if line.port.cable_m == 0:
            text = "cable length is 0 m"
        elif any(priority not in line.port.groups for priority in line.port.lossless):
            text = "no cable length and no lossless group"
        else:
            text, severity = "no cable length: its headroom was not judged", I
        yield Found(
            line.device.name,
            line.port.name,
            text,
            (shows(line.device, line.port.cable_where or ("CABLE_LENGTH",), "", "", "cable"),),
            severity,
        )


@check(
    "H8",
    W,
    "headroom computed for smaller frames than there are",
    condition="port MTU <= the table's MTU; traffic pattern's MTU >= RoCE MTU + 78",
    consequence="headroom too small by the difference, at both ends",
    remedy="set LOSSLESS_TRAFFIC_PATTERN.mtu, or lower the port's MTU",
    source="sonic-swss buffer_headroom_mellanox.lua l.96-104",
)
def H8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """The pattern matters in the dynamic model only."""
    hosts = list(facts.network.stated_hosts.values())
    roce = max((host.roce_mtu or 0 for host in hosts), default=0)
    for device in facts.devices:
        if device.dynamic_buffers and device.pattern_mtu and roce and device.pattern_mtu < roce + ROCE_HEADERS_BYTES:
            yield Found(
                device.name,
                "LOSSLESS_TRAFFIC_PATTERN",
                f"mtu {device.pattern_mtu} B, RoCE packets have {roce + ROCE_HEADERS_BYTES} B",
                (shows(device, device.pattern_where, "mtu", device.pattern_mtu),),
            )
        known = find_platform(device.hwsku)
        for line in facts.lossless_of(device) if known and not device.dynamic_buffers else ():
            if known and line.port.mtu > max(known.asic.port_mtu, 9216):
                yield Found(
                    device.name,
                    line.port.name,
                    f"MTU {line.port.mtu}, the table is for {known.asic.port_mtu}",
                    (shows(device, line.port.mtu_at, "mtu", line.port.mtu),),
                )


@check(
    "H9",
    I,
    "delay of FEC or MACsec not in the headroom",
    condition="xoff >= bound D + RS-FEC (100 ns) and MACsec (500 ns) at both ends",
    consequence="the last fraction of a microsecond is missing in the worst case",
    remedy="add the delay to the row, or declare a longer cable",
    source="SONiC HLD dynamically headroom",
)
def H9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Only above bound D; below it H1 speaks."""
    for line in facts.lossless:
        speed, cable = line.port.speed_mbps, line.port.cable_m
        fec, macsec = line.port.fec == "rs", bool(line.port.macsec)
        extra_ps = coding_ps(fec=fec, macsec=macsec)
        if speed is None or not cable or not extra_ps:
            continue
        mtu = link_mtu(facts, line)
        level, more = bounds(speed, cable, mtu).d, annex_bytes(speed, cable, mtu, fec=fec, macsec=macsec)
        for profile in profiles_on(line):
            if level <= profile.xoff_bytes < more:
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{profile.name}",
                    f"xoff {profile.xoff_bytes} B < {level} B + "
                    f"{more - level} B for {extra_ps // 1000} ns of FEC and MACsec",
                    (shows(line.device, line.port.where, "fec", line.port.fec),),
                    Severity.INFO,
                )


@check(
    "H10",
    W,
    "a long cable with the switch's default headroom",
    condition="NX-OS: beyond 100 m the no-drop class states its pause buffer-size",
    consequence="the default headroom is for less than 100 m: the rest of the pause's round trip is lost",
    remedy="`pause buffer-size ... pause-threshold ... resume-threshold ...` in an input queuing policy",
    source="Cisco Nexus 9000 NX-OS QoS guide, Configuring Priority Flow Control",
)
def H10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Lengths are those of the links file; a running-config has none."""
    for line in facts.lossless:
        covered = line.device.capabilities.default_headroom_m
        if covered is not None and (line.port.cable_m or 0) > covered and not line.port.groups:
            yield Found(
                line.device.name,
                line.port.name,
                f"{line.port.cable_m} m and no pause buffer-size",
                (shows(line.device, line.port.where, "", ""),),
            )


CHECKS: Final[tuple[Check, ...]] = (H1, H2, H3, H4, H5, H6, H7, H8, H9, H10)

"""L8: link aggregation groups, their members and their ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Device, Port, Where
from fabric.configs.text.roce_effect import is_free_text
from fabric.validate.checks.base import Check, E, Found, W, check, shows
from fabric.validate.checks.identity import paired
from fabric.validate.facts import Facts, Line
from fabric.validate.routing_fixes import bring_lag_up, leave_lag, need_members


@check(
    "L8",
    W,
    "members of a LAG, or its two ends, differ, or it stays down",
    condition="PFC, maps, cable and speed are the same on all members; the other end of a member is a member, too, "
    "and LACP is spoken by both ends or by neither, actively by one (error); all members of a LAG with LACP end at one "
    "switch, or at a multi-chassis pair (error); a LAG is not shut at one end alone, and "
    "has as many members that are up as it needs (error)",
    consequence="a flow's treatment depends on the member its hash chooses; a member whose other end is none stays out "
    "of the LAG, and its link carries nothing; a LAG that is down carries nothing over any member",
    remedy="configure members alike; make both ends members, or neither; bring the LAG up, or lower min-links",
    source="IEEE 802.1AX: members carry one aggregate, and LACP needs a partner; sonic-portchannel.yang, min_links",
    leads_to="P1 P3 V11 D4 D7 M14",
)
def L8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Members against the first one, ends of links between switches, and LAGs that their own lines keep down."""
    yield from _kept_down(facts)
    for wire in facts.wires:
        near, far = sorted((wire.a, wire.b), key=lambda it: it.port.lag is None)
        if near.port.lag is not None and far.port.lag is None:
            yield Found(
                near.device.name,
                near.port.name,
                f"a member of {near.port.lag}, and {far} is in no LAG",
                (
                    shows(near.device, near.port.where, "", near.port.lag),
                    shows(far.device, far.port.where, "", "no LAG", str(far)),
                ),
                E,
                fix=leave_lag(near.device, near.port),
            )
        if near.port.lag is not None and far.port.lag is not None and (text := _unbundled(near, far)):
            yield Found(
                near.device.name,
                near.port.name,
                text,
                tuple(shows(it.device, it.port.where, "", _mode(it), f"{it} mode") for it in (near, far)),
                E,
            )
    yield from _over_several(facts)
    first: dict[tuple[str, str], Line] = {}
    for line in facts.used:
        if line.port.lag is None:
            continue
        other = first.setdefault((line.device.name, line.port.lag), line).port
        differ = [
            name
            for name, a, b in (
                ("PFC", line.port.lossless, other.lossless),
                ("maps", line.port.maps, other.maps),
                ("cable", line.port.cable_m, other.cable_m),
                ("speed", line.port.speed_mbps, other.speed_mbps),
            )
            if a != b and not (name == "PFC" and _told_by_ends(facts, line, other))
        ]
        if differ:
            yield Found(
                line.device.name,
                line.port.name,
                f"{' and '.join(differ)} differ from {other.name} of {line.port.lag}",
                (shows(line.device, line.port.qos_where or line.port.where, "", ""),),
                within=[(line.device.name, where) for port in (line.port, other) for where in _parts(port)],
            )


def _told_by_ends(facts: Facts, line: Line, other: Port) -> bool:
    """Whether the two ends of one of two members differ in PFC, which L1 says of that link."""
    for mine in (line, Line(line.device, other)):
        far = facts.line(facts.peers.get(mine.end, ("", "")))
        if far is not None and far.port.lossless != mine.port.lossless:
            return True
    return False


def _parts(port: Port) -> list[Where]:
    """The constructs of a port that members of a LAG have alike."""
    return [where for where in (port.where, port.qos_where, port.cable_where) if where]


_SHARED_SYSTEM: Final = ("ethernet-segment", "ethernet_segment", "multihoming", "lacp system")
"""Lines that make several switches one system for LACP (RFC 7432 section 5); no check reads them."""


def _over_several(facts: Facts) -> Iterator[Found]:
    """LAGs whose members end at switches that are not one system: LACP bundles the links to one of them alone."""
    ends: dict[tuple[str, str], list[tuple[Line, Line]]] = {}
    for wire in facts.wires:
        for near, far in ((wire.a, wire.b), (wire.b, wire.a)):
            if near.port.lag is not None and far.port.lag is not None and _mode(near) in {"active", "passive"}:
                ends.setdefault((near.device.name, near.port.lag), []).append((near, far))
    for pairs in ends.values():
        (near, far), *others = pairs
        for line, end in others:
            switches = (far.device, end.device)
            if end.device is far.device or paired(switches) or all(map(_shares_system, switches)):
                continue
            yield Found(
                line.device.name,
                line.port.name,
                f"{line.port.lag} has members to {far.device.name} and {end.device.name}, which are no pair for LACP",
                (
                    shows(line.device, line.port.where, "", end.device.name, str(line)),
                    shows(near.device, near.port.where, "", far.device.name, str(near)),
                ),
                E,
            )


def _shares_system(device: Device) -> bool:
    texts = [item.what.lower() for item in (*device.unread, *device.unjudged)]
    return any(word in text for text in texts if not is_free_text(text.lstrip("'")) for word in _SHARED_SYSTEM)


def _kept_down(facts: Facts) -> Iterator[Found]:
    """LAGs with a cabled member that is up. One that is shut at both ends is meant so."""
    for device in facts.devices:
        members: dict[str, list[Line]] = {}
        for port in device.ports.values():
            if port.lag is not None and port.admin_up:
                members.setdefault(port.lag, []).append(Line(device, port))
        for lag in device.lags.values():
            lines = [line for line in members.get(lag.name, ()) if line.end in facts.peers]
            if lag.shut and lines and not all(_shut_there(facts, line) for line in lines):
                yield Found(
                    device.name,
                    lag.name,
                    f"{lag.name} is down, and its members are up and cabled: {_named(lines)}",
                    (shows(device, lag.shut.where, "", "down"),),
                    E,
                    fix=bring_lag_up(device, lag),
                )
            least, present = int(lag.min_links.value or 1), len(members.get(lag.name, ()))
            if lines and not lag.shut and present < least:
                yield Found(
                    device.name,
                    lag.name,
                    f"{lag.name} needs {least} members that are up (min-links), and has {present}: it stays down",
                    (shows(device, lag.min_links.where, "", least),),
                    E,
                    fix=need_members(device, lag, present),
                )


def _shut_there(facts: Facts, line: Line) -> bool:
    """Whether the LAG at the other end of a member's link is shut as well."""
    far = facts.line(facts.peers[line.end])
    lag = None if far is None or far.port.lag is None else far.device.lags.get(far.port.lag)
    return lag is not None and bool(lag.shut)


def _mode(line: Line) -> str:
    """The mode of a member, or of its LAG."""
    lag = line.device.lags.get(line.port.lag or "")
    return line.port.lag_mode or ("" if lag is None else lag.mode)


def _unbundled(near: Line, far: Line) -> str:
    """Why LACP does not bundle a link: no end sends first, or only one of them speaks it (IEEE 802.1AX clause 6.4)."""
    modes = [_mode(near), _mode(far)]
    if modes == ["passive", "passive"]:
        return f"both ends are passive: neither this one nor {far} begins to speak LACP"
    if "on" in modes and "" not in modes and set(modes) != {"on"}:
        return f"mode {modes[0]} here and {modes[1]} at {far}: a static LAG does not speak LACP"
    return ""


def _named(lines: list[Line]) -> str:
    return ", ".join(line.port.name for line in lines)


CHECKS: Final[tuple[Check, ...]] = (L8,)

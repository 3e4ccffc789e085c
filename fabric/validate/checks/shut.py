"""L12: ports that are shut at one end of a link, and links that are shut although their session is to be up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Device, Session
from fabric.validate.checks.base import Check, E, Evidence, Found, W, check, shows
from fabric.validate.facts import Facts, Line
from fabric.validate.interfaces import interfaces_of
from fabric.validate.remedies import set_port
from fabric.validate.routing_fixes import bring_up
from fabric.validate.subinterfaces import shut_at_one_end


@check(
    "L12",
    E,
    "a port is shut at one end, or a link whose session is to be up",
    condition="both ports, and both sub-interfaces, of a link between switches are up, or both are down and no BGP "
    "session over the link is to be up; a host's port is up where others of the switch are; warn: the other end routes "
    "over its links and not over this one, the port's bundle has other ports that are up, or both ends are shut",
    consequence="the link is down: its traffic takes the other links, with less capacity; a host is cut off",
    remedy="bring the port up, or shut the other end, and the session, too",
    source="sonic-port.yang (admin_status: down where it is absent)",
    leads_to="M14 D4 D7 P22 V11",
)
def L12(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per link, at the end that is down."""
    yield from _shut_at_hosts(facts)
    yield from _shut_with_session(facts)
    yield from _shut_subinterfaces(facts)
    for wire in facts.wires:
        if wire.a.port.admin_up != wire.b.port.admin_up:
            down, other = (wire.b, wire.a) if wire.a.port.admin_up else (wire.a, wire.b)
            yield Found(
                down.device.name,
                down.port.name,
                f"down here, up at {other}",
                (
                    shows(down.device, down.port.where, "admin_status", "down"),
                    shows(other.device, other.port.where, "admin_status", "up", f"{other} admin_status"),
                ),
                E if _expected(facts, down, other) else W,
                fix=set_port(down.device, down.port, "admin_status", "up"),
            )


def _shut_with_session(facts: Facts) -> Iterator[Found]:
    """Links that are shut at both ends, with a session at each end that is not: maintenance that did not end."""
    for wire in facts.wires:
        if wire.a.port.admin_up or wire.b.port.admin_up:
            continue
        near, far = _session_over(wire.a, wire.b), _session_over(wire.b, wire.a)
        if near is not None and far is not None:
            yield Found(
                wire.a.device.name,
                wire.a.port.name,
                f"down here and at {wire.b}, and the BGP session over this link is to be up at both ends",
                (
                    shows(wire.a.device, wire.a.port.where, "admin_status", "down"),
                    shows(wire.b.device, wire.b.port.where, "admin_status", "down", f"{wire.b} admin_status"),
                    shows(wire.a.device, near.where, "", "up", "session"),
                ),
                W,
                fix=set_port(wire.a.device, wire.a.port, "admin_status", "up"),
            )


def _shut_subinterfaces(facts: Facts) -> Iterator[Found]:
    for wire in facts.wires:
        for down, other in shut_at_one_end(wire):
            device, far = down.line.device, other.line.device
            where = device.identity.shut[down.name].where
            yield Found(
                device.name,
                down.name,
                f"down here, up at {far.name}:{other.name}",
                (
                    shows(device, where, "", "down"),
                    shows(far, other.where, "", "up", f"{far.name}:{other.name} admin_status"),
                ),
                E if _expected(facts, down.line, other.line) else W,
                fix=bring_up(device, down.name),
            )


def _expected(facts: Facts, down: Line, other: Line) -> bool:
    """Whether the other end's file, or where it has no routing the topology, expects a path over a link."""
    own = down.device.ports.values()
    if down.port.lag and any(it.lag == down.port.lag and it.admin_up for it in own):
        return False
    over = _routed_over(facts, other.device)
    return not over or other.port.name in over or (other.port.lag or other.port.name) in over


def _routed_over(facts: Facts, device: Device) -> frozenset[str]:
    """Ports and bundles over which a switch's file has a BGP session that is up, or an interior routing protocol."""
    known: dict[str, frozenset[str]] = facts.notes.setdefault("routed over", {})
    if device.name not in known:
        its = interfaces_of(facts, device)
        names = [it.interface or its.facing(it.address)[0] for it in device.sessions if it.up]
        if device.identity.interior is not None and device.identity.interior.up:
            names += device.identity.interior.circuits
        loopbacks = ("loopback", "lo", "vlan")
        ports = (it.partition(".")[0] for it in names if not it.lower().startswith(loopbacks))
        known[device.name] = frozenset(filter(None, ports))
    return known[device.name]


def _session_over(near: Line, far: Line) -> Session | None:
    """The session of a switch that is up and leads to the port at the other end."""
    there = {text.partition("/")[0] for text in far.device.addresses.get(far.port.name, ())}
    return next(
        (it for it in near.device.sessions if it.up and (it.address in there or it.interface == near.port.name)), None
    )


def _shut_at_hosts(facts: Facts) -> Iterator[Found]:
    """Ports that a link joins to a host, on switches that have other hosts' ports up."""
    serving = facts.serving
    for end, far in facts.peers.items():
        line = facts.line(end)
        if line is None or line.port.admin_up or line.device.name not in serving or not facts.faces_host(line):
            continue
        yield Found(
            line.device.name,
            line.port.name,
            f"down, and a link leads from it to {far[0]}{_without_groups(line)}",
            (_down(line),),
            fix=set_port(line.device, line.port, "admin_status", "up"),
        )


def _down(line: Line) -> Evidence:
    """The field that shuts a port, or that it is absent where that shuts it, too."""
    own = line.port.where[-1]
    absent = line.device.capabilities.down_by_default and not line.port.admin_stated
    value = "not stated: down" if absent else "down"
    return shows(line.device, line.port.where, "admin_status", value, f"PORT|{own}|admin_status" if absent else "")


def _without_groups(line: Line) -> str:
    """SONiC makes lossless groups of a port when it is up (buffermgr.cpp)."""
    makes = line.device.capabilities.headroom_from_table and line.port.lossless - line.port.groups.keys()
    return "; it gets no lossless group until it is up" if makes else ""


CHECKS: Final[tuple[Check, ...]] = (L12,)

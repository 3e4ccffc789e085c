"""A cut-out as the sections of a scenario, every value with its origin.

`lower` walks the tables of rows; a setting that the scenario language learns is one row more. What a row cannot
express is kept in `not_lowered`, and what no file and no chip table states in `assumed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fabric.configs.model import Place as FilePlace
from fabric.configs.network import Host
from fabric.proof.cut import DEFAULT_MBPS, HOST_CABLE_M, SWITCH_CABLE_M, Cut, Joint, lengths
from fabric.proof.lowering.host_rows import HOST_ROWS, TRANSPORT_ROWS
from fabric.proof.lowering.port_rows import PORT_ROWS
from fabric.proof.lowering.switch_rows import SWITCH_ROWS, on_the_wire
from fabric.proof.lowering.values import HostRow, Lowered, NotLowered, Place, Row, Value, put

ACK_DSCP: Final = "data"


@dataclass
class Lowering:
    """The fabric of a scenario."""

    sections: dict[str, Any] = field(default_factory=dict)
    """topology, switches, hosts, transport; with tunnels vxlan, with given routes routing and routes."""
    origins: dict[str, str] = field(default_factory=dict)
    """'leaf1:Ethernet0 buffer.headroom' to where the value is from."""
    not_lowered: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)

    def note(self, what: str, lowered: Lowered | Iterable[Lowered], into: dict[str, Any], path: str) -> None:
        """Take what a row gave."""
        for one in (lowered,) if lowered is None or isinstance(lowered, Value | NotLowered) else lowered:
            if isinstance(one, NotLowered):
                self.not_lowered.append(f"{what.split(' ', maxsplit=1)[0]}: {one.why}")
            elif one is not None:
                put(into, path, one.value)
                self.origins[what] = one.origin
                if one.assumed:
                    self.assumed.append(f"{what} = {one.value}")


def lower(cut: Cut, dscp: int) -> Lowering:
    """The cut-out as it is configured.

    Parameters
    ----------
    dscp    RoCE's, as its senders mark it
    """
    found = Lowering()
    found.assumed += cut.assumed
    _topology(cut, found)
    _switches(cut, dscp, found)
    _hosts(cut, dscp, found)
    _tunnels(cut, found)
    _routes(cut, found)
    found.not_lowered = list(dict.fromkeys(found.not_lowered))
    return found


def _topology(cut: Cut, found: Lowering) -> None:
    with_hosts = {switch for switch, _ in cut.hosts.values()}
    nodes = [{"name": name, "role": "host"} for name in cut.hosts]
    nodes += [{"name": name, "role": "leaf" if name in with_hosts else "spine"} for name in cut.network.devices]
    found.sections["topology"] = {
        "kind": "custom",
        "nodes": nodes,
        "links": [_link(cut, it, found) for it in cut.joints],
    }


def _link(cut: Cut, joint: Joint, found: Lowering) -> dict[str, Any]:
    name = f"{joint.a[0]}--{joint.b[0]}"
    speeds = [port.speed_mbps for end in (joint.a, joint.b) if (port := cut.network.port(end)) and port.speed_mbps]
    if not speeds:
        found.assumed.append(f"{name} rate = {DEFAULT_MBPS} Mb/s")
    if len(set(speeds)) > 1:
        found.not_lowered.append(f"{name}: speeds {speeds[0]} and {speeds[1]} Mb/s; such a link stays down")
    stated = list(lengths(joint, cut.network))
    length = max(stated, default=HOST_CABLE_M if joint.a[0] in cut.hosts else SWITCH_CABLE_M)
    place = "the longer one of both ends" if len(set(stated)) > 1 else "as stated" if stated else "assumed"
    found.origins[f"{name} cable"] = f"{place}: {length} m"
    if len(set(stated)) > 1 or not stated:
        found.assumed.append(f"{name} cable = {length} m ({place})")
    link: dict[str, Any] = {
        "a": joint.a[0],
        "b": joint.b[0],
        "a_port": joint.a[1],
        "b_port": joint.b[1],
        "rate": f"{min(speeds, default=DEFAULT_MBPS)}M",
        "cable": f"{length}m",
    }
    return link


def _switches(cut: Cut, dscp: int, found: Lowering) -> None:
    overrides: list[dict[str, Any]] = []
    rewritten = on_the_wire(cut)
    for name, device in cut.network.devices.items():
        own: dict[str, Any] = {"switch": name}
        wire = rewritten.get(name, {})
        place = Place(cut, wire.get(dscp, dscp), device, wire=wire)
        if wire:
            found.assumed.append(f"{name} dscp_to_tc: of the DSCP that tc_to_dscp of the switch before has written")
        _walk(SWITCH_ROWS, place, name, own, found)
        overrides.append(own)
        overrides += _ports(place, found)
    # What is not RoCE's own must not differ from the overrides: the section itself has only what concerns all.
    found.sections["switches"] = {"mark": "enqueue", "load_balancing": "ecmp", "overrides": overrides}


def _ports(whole: Place, found: Lowering) -> Iterable[dict[str, Any]]:
    cut, device = whole.cut, whole.device
    entering = cut.entering(device.name)
    cabled = {end for joint in cut.joints for end in (joint.a, joint.b)}
    for port in device.ports.values():
        if (device.name, port.name) not in cabled:
            continue
        end = f"{device.name}:{port.name}"
        own: dict[str, Any] = {"port": end}
        _walk(PORT_ROWS, replace(whole, port=port, enters=port.name in entering), end, own, found)
        yield own


def _walk(rows: Iterable[Row], place: Place, name: str, own: dict[str, Any], found: Lowering) -> None:
    for row in rows:
        found.note(f"{name} {row.field}", row.lower(place), own, row.field)


def _hosts(cut: Cut, dscp: int, found: Lowering) -> None:
    overrides = []
    for name in cut.hosts:
        own: dict[str, Any] = {"host": name}
        host = cut.host(name) or Host(name, FilePlace("", 0))
        _walk_host(HOST_ROWS, host, name, own, found)
        overrides.append(own)
    found.sections["hosts"] = {"overrides": overrides}
    transport: dict[str, Any] = {"dscp": dscp, "ack_dscp": ACK_DSCP}
    sender = cut.host(cut.senders[0]) or Host(cut.senders[0], FilePlace("", 0))
    _walk_host(TRANSPORT_ROWS, sender, "transport", transport, found)
    found.sections["transport"] = transport


def _walk_host(rows: Iterable[HostRow], host: Host, name: str, own: dict[str, Any], found: Lowering) -> None:
    for row in rows:
        found.note(f"{name} {row.field}", row.lower(host), own, row.field or "unused")


def _tunnels(cut: Cut, found: Lowering) -> None:
    """One overlay for all leaves, as the first VTEP of the cut-out has it."""
    ends = {switch for switch, _ in cut.hosts.values()}
    tunnels = [(device, it) for device in cut.network.devices.values() for it in device.tunnels.values()]
    if not tunnels or len(ends) < 2:
        return
    device, first = tunnels[0]
    if first.ipv6:
        found.not_lowered.append(f"{device.name}: an IPv6 outer header; a scenario's is IPv4")
    if any((it.dscp_mode, it.ecn_mode) != (first.dscp_mode, first.ecn_mode) for _, it in tunnels):
        found.not_lowered.append("tunnels that differ: a scenario has one overlay")
    found.sections["vxlan"] = {
        "dscp": "uniform" if first.dscp_mode == "uniform" else 0,
        "ecn": "copy" if first.ecn_mode == "standard" else "compatibility",
    }
    found.origins["vxlan"] = str(device.place(first.where))


def _routes(cut: Cut, found: Lowering) -> None:
    """Next hops as the cut-out has them; without any a scenario takes shortest paths."""
    if not cut.routes:
        return
    found.sections["routing"] = "given"
    found.sections["routes"] = {
        name: {host: list(ports) for host, ports in table.items() if cut.hosts[host][0] != name}
        for name, table in cut.routes.items()
    }
    found.origins["routes"] = "the tables, static routes and sessions of the switches, as the rule follows them"

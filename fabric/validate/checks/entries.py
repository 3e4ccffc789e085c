"""Entries of maps and the PFC priorities of a port: the evidence and the roots that several families of checks name."""

from __future__ import annotations

from fabric.configs.model import Device, QosMap
from fabric.configs.network import Host
from fabric.validate.checks.base import Evidence, Root, listed, shows
from fabric.validate.facts import Facts, Line


def map_evidence(line: Line, kind: str, key: int) -> tuple[Evidence, ...]:
    """The entry of a map, with its line."""
    found = line.device.map_of(line.port, kind)
    if found is None:
        name = line.port.maps.get(kind, "")
        field = f"{kind}_map" if name and line.device.capabilities.tables else ""
        return (shows(line.device, line.port.qos_where or line.port.where, field, name or "none", kind),)
    return (entry(line.device, found, key),)


def entry(device: Device, map_: QosMap, key: int) -> Evidence:
    """One entry of a map. A default of the language is marked as one: its line shows another statement."""
    value = map_.entries.get(key, "absent")
    default = map_.stated is not None and key not in map_.stated
    return shows(device, map_.where, str(key), f"{value} by default" if default else value)


def queue_roots(facts: Facts, line: Line, priority: int) -> tuple[Root, ...]:
    """The entries that send a priority's classes to their queue."""
    entries = (one for tc in facts.classes_of(line, priority) for one in map_evidence(line, "tc_to_queue", tc))
    return tuple(one.root for one in entries if one.root is not None)


def pause_roots(facts: Facts, line: Line, priority: int) -> tuple[Root, ...]:
    """A port's PFC priorities, and the entries that say which queue a pause of a priority stops."""
    entries = map_evidence(line, "pfc_to_queue", priority) if line.device.map_of(line.port, "pfc_to_queue") else ()
    entries += map_evidence(line, "tc_to_queue", priority) if line.device.map_of(line.port, "tc_to_queue") else ()
    own = tuple(one.root for one in entries if one.root is not None)
    return (pfc_root(line), *own, *queue_roots(facts, line, priority))


def pfc_root(line: Line) -> Root:
    """The field with a port's PFC priorities."""
    if line.port.pfc_where:
        return line.device.name, line.port.pfc_where
    return line.device.name, (*(line.port.qos_where or line.port.where), "pfc_enable")


def host_evidence(host: Host, field: str) -> Evidence:
    """A setting of a host, where its file or output states it."""
    value = getattr(host, field)
    if isinstance(value, frozenset):
        value = listed(value)
    return Evidence(f"{host.name}.{field}", str(value), host.at(field))


def host_root(host: Host, field: str) -> Root:
    """The root of such an evidence."""
    place = host.at(field)
    return place.file, (str(place.line), f"{host.name}.{field}")


def buffer_roots(host: Host) -> tuple[Root, ...]:
    """The line that says which priorities a NIC keeps in which receive buffer."""
    said = None if host.captured is None else next(iter(host.captured.buffers.values()), None)
    return () if said is None else ((said.place.file, (str(said.place.line), "buffer")),)

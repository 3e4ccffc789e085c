"""Readings of all leaves at one time, made of the metrics that a scrape at that time would show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client.core import Metric

from telemetry.gnmi import openconfig, sonic
from telemetry.gnmi.leaf import Elem, Leaf, Scalar, Source

METRICS: Final = frozenset(leaf.metric for leaf in (*openconfig.LEAVES, *sonic.LEAVES)) | {"fabric_device_info"}
"""Metrics of the catalogue that a reading needs; fabric_device_info tells switches from hosts."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One leaf of one switch; there is one Place for each, so that it can be compared by identity."""

    device: str
    database: bool
    """In SONiC's COUNTERS_DB; else in the OpenConfig tree."""
    elems: tuple[Elem, ...]
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Reading:
    """The values of all leaves."""

    time_ns: int
    """Wall clock time, since 1970, at which the counters were read."""
    values: Mapping[Place, Scalar]
    switches: tuple[str, ...]
    """In the order of the fabric."""
    hosts: frozenset[str]
    shape: int
    """Changes when a place is added."""


class Reader:
    """Makes readings of families of prometheus_client; keeps the places."""

    def __init__(self) -> None:
        self._leaves: dict[str, list[tuple[bool, Leaf]]] = {}
        for database, leaves in ((False, openconfig.LEAVES), (True, sonic.LEAVES)):
            for leaf in leaves:
                self._leaves.setdefault(leaf.metric, []).append((database, leaf))
        self._of_labels: dict[tuple[int, tuple[str, ...]], Place] = {}
        self._places: dict[tuple[str, bool, tuple[Elem, ...]], Place] = {}
        self._ports: dict[str, dict[str, int]] = {}

    def reading(self, families: Iterable[Metric], time_ns: int) -> Reading:
        """The leaves of all switches."""
        found = {sample.name: family for family in families for sample in family.samples[:1]}
        roles = found.get("fabric_device_info")
        named = [(it.labels["device"], it.labels["role"]) for it in roles.samples] if roles is not None else []
        switches = {name for name, role in named if role != "host"}
        values: dict[Place, Scalar] = {}
        for metric, leaves in self._leaves.items():
            for sample in found[metric].samples if metric in found else ():
                device = sample.labels["device"]
                if device not in switches:
                    continue
                source = Source(sample.value, sample.labels, self._port(device, sample.labels.get("port")))
                for database, leaf in leaves:
                    value = leaf.value(source)
                    if value is None:
                        continue
                    place = self._place(device, leaf, sample.labels, database=database)
                    before = values.get(place)
                    values[place] = before + value if isinstance(before, int) and isinstance(value, int) else value
        return Reading(
            time_ns,
            values,
            tuple(name for name, role in named if role != "host"),
            frozenset(name for name, role in named if role == "host"),
            len(self._places),
        )

    def _port(self, device: str, port: str | None) -> int:
        """Position of a port at its device: fabric_port_up, of which every port has a sample, is read first."""
        if port is None:
            return -1
        ports = self._ports.setdefault(device, {})
        return ports.setdefault(port, len(ports))

    def _place(self, device: str, leaf: Leaf, labels: Mapping[str, str], *, database: bool) -> Place:
        key = id(leaf), (device, *[labels[name] for name in leaf.labels])
        place = self._of_labels.get(key)
        if place is None:
            elems = leaf.at(labels)
            place = self._places.setdefault((device, database, elems), Place(device, database, elems, leaf))
            self._of_labels[key] = place
        return place

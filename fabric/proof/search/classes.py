"""Classes of ports for a search: ports whose lowered settings and surroundings are equal, with one that stands for all.

Surroundings are all ports of the switch that are in use: the runs around one port send into the others.

Speeds in Mb/s, cables in metres, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fabric.configs.model import BufferProfile, Device
from fabric.proof.cut import Cutter
from fabric.proof.lowering.switch_rows import DEFAULT_CHIP, chip, map_entries
from fabric.proof.recipe import rate_mbps
from fabric.scenario.presets.asics import ASICS, Asic
from fabric.validate.facts import Facts, Line

MOST_SENDERS: Final = 63
"""Of one incast: a switch with more ports has more, and a run with all of them takes longer."""

_MAPS: Final = ("dscp_to_tc", "tc_to_pg", "tc_to_queue", "pfc_to_pg", "pfc_to_queue", "tc_to_dscp")


@dataclass(frozen=True, slots=True, order=True)
class PortClass:
    """What a run around a port depends on."""

    chip: str
    speed_mbps: int
    cable_m: int
    mtu: int
    peer: str
    """'host' or 'switch'."""
    xoff_bytes: int
    """Headroom of RoCE's group; 0 where it has none."""
    settings: tuple[str, ...]
    """Profiles, curve, schedulers, maps and pools, as text."""
    ports: int
    """Ports of the switch that are in use."""
    around: tuple[tuple[str, ...], ...]
    """Rate, cable, MTU, peer and settings of each of them, sorted: a run around one port uses the others, too."""

    @property
    def asic(self) -> Asic:
        """The chip's facts."""
        return ASICS[self.chip]

    @property
    def title(self) -> str:
        """'400G, 40 m, MTU 9216, to a switch'."""
        return f"{self.speed_mbps / 1000:g}G, {self.cable_m} m, MTU {self.mtu}, to a {self.peer}"


@dataclass(frozen=True, slots=True)
class Member:
    """A class with its ports."""

    kind: PortClass
    device: str
    port: str
    """The first port of the class."""
    ports: tuple[str, ...]
    """All of them, 'leaf1:Ethernet0'."""


def members(facts: Facts, cutter: Cutter, dscp: int) -> tuple[list[Member], list[str]]:
    """The classes of all lossless ports; and switches without one that can be searched, with the reason."""
    found: dict[PortClass, list[Line]] = {}
    omitted: list[str] = []
    for device in facts.devices:
        lines = facts.lossless_of(device)
        usable = set(cutter.usable(device.name))
        if lines and len(usable) < 2:
            omitted.append(f"{device.name}: fewer than two of its ports are in use, so nothing crosses it")
            continue
        texts = {name: _as_text(facts, cutter, Line(device, device.ports[name]), dscp) for name in usable}
        around = tuple(sorted(texts.values()))
        for line in lines:
            if line.port.name in usable:
                kind = _class_of(facts, cutter, line, texts[line.port.name], around)
                found.setdefault(kind, []).append(line)
    rows = [
        Member(kind, lines[0].device.name, lines[0].port.name, tuple(map(str, lines)))
        for kind, lines in sorted(found.items(), key=lambda item: item[0])
    ]
    return rows, omitted


def _class_of(
    facts: Facts, cutter: Cutter, line: Line, text: tuple[str, ...], around: tuple[tuple[str, ...], ...]
) -> PortClass:
    device, port = line.device, line.port
    return PortClass(
        chip(device) or DEFAULT_CHIP,
        rate_mbps(port),
        cutter.cable_m(device.name, port.name),
        port.mtu,
        _peer(facts, line),
        max((it.xoff_bytes for group in port.lossless if (it := facts.group_profile(line, group))), default=0),
        (*text, *_pools(device)),
        len(around),
        around,
    )


def _peer(facts: Facts, line: Line) -> str:
    return "host" if facts.faces_host(line) else "switch"


def _as_text(facts: Facts, cutter: Cutter, line: Line, dscp: int) -> tuple[str, ...]:
    """What a run depends on at one port."""
    device, port = line.device, line.port
    wire = f"{rate_mbps(port)} Mb/s {cutter.cable_m(device.name, port.name)} m MTU {port.mtu} {_peer(facts, line)}"
    return (wire, *_settings(facts, line, dscp))


def _settings(facts: Facts, line: Line, dscp: int) -> Iterable[str]:
    device, port = line.device, line.port
    for number, bound in (*sorted(port.groups.items()), *sorted(port.queues.items())):
        profile = device.profile_of(bound)
        yield f"{number}: {'' if profile is None else _values(profile)}"
    for _, _, queue in facts.lossless_queues(line):
        wred = facts.wred(device, queue)
        curve = None if wred is None or not wred.marks else wred.curve
        yield "no curve" if curve is None else f"{curve.min_bytes} {curve.max_bytes} {curve.pmax_percent}"
    for number, bound in sorted(port.queues.items()):
        own = facts.scheduler(device, bound)
        yield f"{number}: " + ("no scheduler" if own is None else f"{own.kind} {own.weight}")
    for kind in _MAPS:
        entries = map_entries(device, port, kind)
        yield f"{kind} {entries and sorted(entries.items())}"
    yield f"PFC {sorted(port.lossless)} watchdog {port.watchdog and port.watchdog.detection_ms}"
    yield f"classes {facts.lossless_class(line, dscp)}"


def _pools(device: Device) -> Iterable[str]:
    for pool in device.pools.values():
        yield f"{pool.name} {pool.size_bytes} {pool.shared_headroom_bytes}"


def _values(it: BufferProfile) -> str:
    limits = f"{it.xoff_bytes} {it.xon_bytes} {it.xon_offset_bytes} {it.dynamic_th} {it.static_th_bytes}"
    return f"{it.pool} {it.size_bytes} {limits}"

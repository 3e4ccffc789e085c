"""Ports that need the same settings, and switches that share a buffer in the same way.

A port class is chip, speed, cable, MTU and kind of peer: what the headroom of a port depends on. A switch class is
chip, memory, lossless priorities and how many ports it has of each class: what alpha and the marking curve depend on.
Units: bytes, Mb/s, metres.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from fabric.configs.buffers.mmu import chip_of
from fabric.configs.model import Device
from fabric.scenario.presets.asics import ASICS, Asic
from fabric.theory.headroom import ASSUMED_LATENCY_PS
from fabric.validate.chips import mmu_bytes
from fabric.validate.facts import Facts, Line

_ROCE_MTU: Final = 4096
"""RDMA MTU where no host says: the largest that there is, and the default of hosts with jumbo frames."""


@dataclass(frozen=True, slots=True, order=True)
class PortClass:
    """Ports of one chip that need the same headroom."""

    chip: str
    speed_mbps: int
    cable_m: int
    mtu: int
    """The larger one of its two ends, bytes."""
    peer: str
    """'host' or 'switch'."""
    roce_mtu: int
    latency_ps: int = ASSUMED_LATENCY_PS
    """Reception in the switch: assumed, as for check H1."""

    @property
    def asic(self) -> Asic:
        """The chip's facts."""
        return ASICS[self.chip]

    @property
    def title(self) -> str:
        """'400G, 40 m, to a switch'."""
        return f"{self.speed_mbps / 1000:g}G, {self.cable_m} m, to a {self.peer}"


@dataclass(frozen=True, slots=True)
class Present:
    """What the configurations have now. Empty where they differ or do not say."""

    xoff_bytes: tuple[int, ...] = ()
    dynamic_th: tuple[int, ...] = ()
    curves: tuple[tuple[int, int, int], ...] = ()
    """(Kmin bytes, Kmax bytes, Pmax percent)."""


@dataclass(frozen=True, slots=True)
class SwitchClass:
    """Switches with the same chip and the same classes of ports."""

    chip: str
    memory_bytes: int
    priorities: int
    """Lossless priorities of a port."""
    ports: tuple[tuple[PortClass, int], ...]
    """Classes and how many ports are in each."""
    switches: tuple[str, ...]
    present: Present

    @property
    def asic(self) -> Asic:
        """The chip's facts."""
        return ASICS[self.chip]

    @property
    def port_count(self) -> int:
        """Lossless ports of one switch."""
        return sum(number for _, number in self.ports)


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a network."""

    ports: dict[PortClass, tuple[str, ...]]
    """Each class with its ports, 'leaf1:Ethernet0'."""
    present: dict[PortClass, Present]
    switches: tuple[SwitchClass, ...]
    control: str
    """Congestion control of the hosts: 'dcqcn' or 'dctcp'."""
    omitted: tuple[str, ...]
    """Switches and ports without a recommendation, and why."""


def classes_of(facts: Facts) -> Classes:
    """Sort the lossless ports of a network into classes."""
    omitted: list[str] = []
    ports: dict[PortClass, list[str]] = {}
    present: dict[PortClass, list[int]] = {}
    groups: dict[tuple[str, int, int, tuple[tuple[PortClass, int], ...]], list[Device]] = {}
    roce_mtu = max((host.roce_mtu or 0 for _, host in facts.host_lines), default=0) or _ROCE_MTU
    for device in facts.devices:
        lines = facts.lossless_of(device)
        chip, memory = chip_of(device), mmu_bytes(device)
        if not lines:
            continue
        if chip is None or chip not in ASICS or memory is None:
            omitted.append(f"{device.name}: the memory of its chip is not known ({device.hwsku or 'no HWSKU'})")
            continue
        found = []
        for line in lines:
            class_ = _class_of(facts, line, chip, roce_mtu)
            if isinstance(class_, str):
                omitted.append(f"{line}: {class_}")
                continue
            found.append(class_)
            ports.setdefault(class_, []).append(str(line))
            present.setdefault(class_, []).extend(
                profile.xoff_bytes
                for priority in line.port.lossless
                if (profile := facts.group_profile(line, priority)) is not None and profile.lossless
            )
        if found:
            priorities = max(len(line.port.lossless) for line in lines)
            key = chip, memory, priorities, tuple(sorted(Counter(found).items()))
            groups.setdefault(key, []).append(device)
    switches = tuple(
        SwitchClass(chip, memory, priorities, members, tuple(it.name for it in devices), _present(facts, devices))
        for (chip, memory, priorities, members), devices in groups.items()
    )
    return Classes(
        {class_: tuple(names) for class_, names in sorted(ports.items())},
        {class_: Present(xoff_bytes=tuple(sorted(set(sizes)))) for class_, sizes in present.items()},
        switches,
        _control(facts, omitted),
        tuple(omitted),
    )


def _class_of(facts: Facts, line: Line, chip: str, roce_mtu: int) -> PortClass | str:
    """The class of a port, or why it has none."""
    if line.port.speed_mbps is None:
        return "its speed is not known"
    peer = facts.peers.get(line.end)
    other = None if peer is None else facts.network.port(peer)
    stated = next((it.length_m for it in facts.network.links if line.end in {it.a, it.b}), None)
    cable = stated if stated is not None else line.port.cable_m
    if cable is None:
        return "the length of its cable is not known: give it in the links file or in CABLE_LENGTH"
    host = facts.faces_host(line)
    mtu = max(line.port.mtu, other.mtu if other else 0)
    peer_kind = "host" if host else "switch"
    latency = facts.network.assumed.latency_ps
    return PortClass(chip, line.port.speed_mbps, cable, mtu, peer_kind, min(roce_mtu, mtu), latency)


def _present(facts: Facts, devices: list[Device]) -> Present:
    alphas: set[int] = set()
    curves: set[tuple[int, int, int]] = set()
    for device in devices:
        for profile, _ in facts.lossless_profiles(device).values():
            if profile.dynamic_th is not None:
                alphas.add(profile.dynamic_th)
        for line in facts.lossless_of(device):
            for _, _, binding in facts.lossless_queues(line):
                wred = facts.wred(device, binding)
                curve = None if wred is None or not wred.marks else wred.curve
                if curve is not None and curve.pmax_percent is not None:
                    curves.add((curve.min_bytes, curve.max_bytes, curve.pmax_percent))
    return Present(dynamic_th=tuple(sorted(alphas)), curves=tuple(sorted(curves)))


def _control(facts: Facts, omitted: list[str]) -> str:
    """The hosts' congestion control, as far as the emulator has it."""
    named = Counter(host.cc for _, host in facts.host_lines if host.cc)
    word = named.most_common(1)[0][0] if named else "dcqcn"
    if word in {"dcqcn", "dctcp"}:
        return word
    omitted.append(f"marking curves for hosts with {word}: runs have DCQCN, because {word} does not follow marks alone")
    return "dcqcn"

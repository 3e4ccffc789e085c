"""What changes between two networks: switches, hosts and links as units with levels, and the network of a mixed state.

A state gives each unit a level: 0 is OLD, the last is NEW. Levels between are a switch with some of its steps made, or
some of the hosts. Only SONiC switches have steps: of other systems the whole configuration is one step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from fabric.configs.capabilities import Language
from fabric.configs.model import Device, Place
from fabric.configs.network import Cable, Host, Network, links_of_neighbors
from fabric.configs.sonic.buffermgr import add_run_time_buffers
from fabric.configs.sonic.parse import parse_sonic
from fabric.configs.text.jsonfile import JsonText, read_file
from fabric.rollout.edits import Tables, apply, well_formed
from fabric.rollout.steps import HOSTS_RANK, LINKS_RANK, Step, merged, steps_of
from fabric.validate.baseline import changes
from fabric.validate.facts import Facts

State = tuple[int, ...]
"""The level of each unit."""
HOSTS, LINKS = "hosts", "links"
_ENDS_OF_HOSTS: Final = 2
_NOWHERE: Final = Place("", 0)


@dataclass(frozen=True, slots=True)
class Unit:
    """What changes as one: a switch, the hosts, or the links."""

    name: str
    kind: str
    """'switch', 'hosts' or 'links'."""
    steps: tuple[Step, ...]
    """One less than levels."""
    devices: tuple[Device | None, ...] = ()
    """Of a switch at each level; None where it is not there."""
    system: Language | Literal[""] = ""

    @property
    def last(self) -> int:
        """The level that is NEW."""
        return len(self.steps)

    def shown(self, level: int) -> str:
        """The name in a list of units at OLD or NEW; of a switch that is added or removed with whether it is there."""
        ends = (self.devices[0] is None, self.devices[-1] is None) if self.devices else (False, False)
        if not any(ends):
            return self.name
        what = "added" if ends[0] else "removed"
        return f"{self.name} ({what})" if level else f"{self.name} (not yet {what})"


@dataclass(frozen=True, slots=True)
class Move:
    """One unit goes to its next level."""

    unit: Unit
    step: Step
    level: int
    """Where it arrives."""

    @property
    def whole(self) -> bool:
        """Whether the unit has one step only."""
        return self.unit.last == 1

    def __str__(self) -> str:
        if self.unit.kind == HOSTS or not self.whole:
            return f"{self.unit.name}: {self.step.title}"
        return self.unit.name


class Change:
    """Two networks, and the units between them."""

    def __init__(self, old: Network, new: Network, units: Sequence[Unit], moving: Sequence[str]) -> None:
        self.old, self.new = old, new
        self.units = tuple(units)
        self.moving = tuple(moving)
        """Names of the hosts that change."""
        self._derived = _neighbors_only(old) and _neighbors_only(new)

    @property
    def start(self) -> State:
        """OLD."""
        return (0,) * len(self.units)

    @property
    def end(self) -> State:
        """NEW."""
        return tuple(unit.last for unit in self.units)

    def moves(self, state: State) -> list[tuple[State, Move]]:
        """Each state that is one step away, and the step."""
        return [
            ((*state[:index], level + 1, *state[index + 1 :]), Move(unit, unit.steps[level], level + 1))
            for index, (unit, level) in enumerate(zip(self.units, state, strict=True))
            if level < unit.last
        ]

    @property
    def replaced(self) -> list[tuple[str, str]]:
        """(removed, added) switches with the same cables: one switch with another name, or one in another's place."""
        old, new = self.old.devices.keys(), self.new.devices.keys()
        gone = {name: _cables(self.old, name) for name in sorted(old - new)}
        come = {name: _cables(self.new, name) for name in sorted(new - old)}
        return [(one, other) for one, its in gone.items() for other, those in come.items() if its and its == those]

    def network(self, state: State) -> Network:
        """The network of a state."""
        devices = dict(self.old.devices)
        links, hosts, default = self.old.links, self.old.hosts, self.old.default_host
        for unit, level in zip(self.units, state, strict=True):
            if unit.kind == HOSTS:
                hosts, default = self._hosts(level, unit.last)
            elif unit.kind == LINKS:
                links = self.new.links if level else links
            else:
                device = unit.devices[level]
                devices.pop(unit.name, None) if device is None else devices.__setitem__(unit.name, device)
        if self._derived:
            links = links_of_neighbors(devices.values())
        links = self._without_absent(links, devices)
        mixed = replace(self.old, devices=devices, links=links, hosts=hosts, default_host=default)
        every = [*hosts.values(), *([default] if default else [])]
        if every and not self.old.roce_given:
            mixed.roce_dscps = tuple(sorted({host.roce_dscp for host in every}))
            mixed.cnp_dscps = tuple(sorted({host.cnp_dscp for host in every}))
        return mixed

    def _without_absent(self, links: Sequence[Cable], devices: Mapping[str, Device]) -> tuple[Cable, ...]:
        """The links without those of switches that are not there: no file that names them makes them answer."""
        absent = (self.old.devices.keys() | self.new.devices.keys()) - devices.keys()
        return tuple(it for it in links if it.a[0] not in absent and it.b[0] not in absent)

    def _hosts(self, level: int, last: int) -> tuple[dict[str, Host], Host | None]:
        """Settings of the hosts at a level: none changed, the first, all but the last, all."""
        if level == 0:
            return self.old.hosts, self.old.default_host
        if level == last:
            return self.new.hosts, self.new.default_host
        moved = self.moving[:1] if level == 1 else self.moving[:-1]
        mixed = dict(self.old.hosts)
        for name in moved:
            host = self.new.host(name)
            if host is None:
                mixed.pop(name, None)
            else:
                mixed[name] = replace(host, name=name)
        return mixed, self.old.default_host

    def as_whole(self) -> Change:
        """The same change with one step for each switch; hosts keep their levels."""
        units = [
            replace(unit, steps=(merged(unit.steps, "all edits"),), devices=(unit.devices[0], unit.devices[-1]))
            if unit.kind == "switch" and unit.last > 1
            else unit
            for unit in self.units
        ]
        return Change(self.old, self.new, units, self.moving)

    def text_of(self, state: State) -> str:
        """'NEW: leaf1, hosts', or 'OLD: leaf1' where that is shorter; units between their levels with the step."""
        sides: dict[str, list[str]] = {"NEW": [], "OLD": []}
        between: dict[str, list[str]] = {}
        for unit, level in zip(self.units, state, strict=True):
            if 0 < level < unit.last:
                between.setdefault(unit.steps[level - 1].title, []).append(unit.name)
            else:
                sides["NEW" if level else "OLD"].append(unit.shown(level))
        if not between and not (sides["NEW"] and sides["OLD"]):
            return "all NEW" if sides["NEW"] else "all OLD"
        side = "OLD" if len(sides["OLD"]) < len(sides["NEW"]) else "NEW"
        parts = [f"{side}: {_some(sides[side])}"] if sides[side] else []
        parts += [f"all others {'OLD' if side == 'NEW' else 'NEW'}"] if side == "OLD" or not sides[side] else []
        return ", ".join([*(f"{_some(names)} after '{title}'" for title, names in between.items()), *parts])


def _cables(network: Network, name: str) -> set[tuple[str, str, str]]:
    """(port, neighbour, its port) of every cable of a switch."""
    ends = [pair for it in network.links for pair in ((it.a, it.b), (it.b, it.a))]
    return {(near[1], *far) for near, far in ends if near[0] == name}


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def change_between(
    old: Network, new: Network, release: str, raw: Callable[[Device], Tables | None] | None = None
) -> Change:
    """The units that differ. `raw` gives the CONFIG_DB of a SONiC switch; by default its file is read again.

    Raises: InputErrors where a file cannot be read any more.
    """
    raw = raw or tables_of
    lines: dict[str, list[str]] = {}
    for line in changes(old, new):
        name, _, text = line.partition(": ")
        lines.setdefault(name, []).append(text)
    units = []
    for name in dict.fromkeys((*old.devices, *new.devices)):
        before, after = old.devices.get(name), new.devices.get(name)
        unit = _switch(name, before, after, release, raw, old, lines.get(name, []))
        if unit is not None:
            units.append(unit)
    moving = _moving(old, new)
    if moving:
        units.append(_hosts_unit(moving))
    if not (_neighbors_only(old) and _neighbors_only(new)) and _ends(old) != _ends(new):
        units.append(Unit(LINKS, LINKS, (Step(LINKS_RANK, "cabling", text="the links file differs"),)))
    return Change(old, new, units, moving)


def _switch(
    name: str,
    before: Device | None,
    after: Device | None,
    release: str,
    raw: Callable[[Device], Tables | None],
    old: Network,
    lines: list[str],
) -> Unit | None:
    first, last = (None if it is None else raw(it) for it in (before, after))
    if before is not None and after is not None and first is not None and last is not None:
        steps = steps_of(first, last, release)
        devices: list[Device | None] = [before]
        tables = first
        for step in steps[:-1]:
            tables = apply(tables, step.edits)
            devices.append(device_of(tables, after.file, old))
        return Unit(name, "switch", steps, (*devices, after), after.language) if steps else None
    if before is None or after is None:
        title = "added" if before is None else "removed"
        present = after or before
        system: Language | Literal[""] = present.language if present else ""
        return Unit(name, "switch", (Step(55, title, text=title),), (before, after), system)
    if not lines:
        return None
    return Unit(name, "switch", (Step(55, "all edits", text="; ".join(lines)),), (before, after), after.language)


def tables_of(device: Device) -> Tables | None:
    """The CONFIG_DB of a switch, read from its file; None where the tables are not all of it. Raises: InputErrors.

    A switch with files of FRR beside them goes over in one step, as those of systems without tables do.
    """
    if not device.capabilities.tables or device.beside:
        return None
    return well_formed(json.loads(read_file(Path(device.file), mark=True)))


def device_of(tables: Tables, file: str, like: Network) -> Device:
    """A switch with this CONFIG_DB; places are lines of the CONFIG_DB as it would be written. Raises: InputErrors."""
    device = parse_sonic(JsonText(json.dumps(tables, indent=1), file), file)
    add_run_time_buffers(device, like.tables.find(device.hwsku, device.platform))
    return device


def _neighbors_only(network: Network) -> bool:
    """Whether the links are those of the neighbour tables."""
    return _ends(network) == {
        (*sorted((it.a, it.b)), it.length_m) for it in links_of_neighbors(network.devices.values())
    }


def _ends(network: Network) -> set[tuple[object, ...]]:
    def key(cable: Cable) -> tuple[object, ...]:
        return (*sorted((cable.a, cable.b)), cable.length_m)

    return {key(it) for it in network.links}


def _moving(old: Network, new: Network) -> tuple[str, ...]:
    """Hosts whose settings differ: those at the links, and those that a file names."""
    facts = Facts(old)
    at_links = [facts.peers[line.end][0] for line in facts.used if facts.faces_host(line)]
    names = sorted({*at_links, *old.hosts, *new.hosts})
    return tuple(name for name in names if _settings(old.host(name)) != _settings(new.host(name)))


def _settings(host: Host | None) -> Host | None:
    return None if host is None else replace(host, name="", place=_NOWHERE)


def _hosts_unit(moving: Sequence[str]) -> Unit:
    """Hosts change one after the other: checked with none, the first, all but the last, and all changed."""
    number = len(moving)
    titles = [f"{number} hosts" if number > 1 else moving[0]]
    if number > _ENDS_OF_HOSTS:
        titles = [f"the first host ({moving[0]})", "all but the last host", f"the last host ({moving[-1]})"]
    elif number == _ENDS_OF_HOSTS:
        titles = [f"the first host ({moving[0]})", f"the last host ({moving[-1]})"]
    return Unit(HOSTS, HOSTS, tuple(Step(HOSTS_RANK, title, text=title) for title in titles))

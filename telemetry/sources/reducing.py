"""Smaller scenarios out of one: what may be left out, and hosts renamed where a fabric has fewer of them.

Every function takes the plain data of a scenario file and yields smaller data; whether these are valid, and still show
what they should, is for the caller to find out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from fabric.errors import UnitError
from fabric.name_patterns import fits_pattern, is_pattern
from fabric.topology.model import Fabric
from fabric.topology.quantities import exact_time
from fabric.units import parse_time_ps

Data = dict[str, Any]
BuildFabric = Callable[[Data], Fabric | None]
"""The fabric of a scenario; None where it has none."""

NOT_SHOWN: Final = ("description", "expectations")
"""Sections without influence on a run: left out from the start."""
_KEPT: Final = frozenset({"name", "topology", "workload", "faults", "telemetry", "run", *NOT_SHOWN})
"""Sections that are not removed as a whole."""
_FEATURES: Final = (("vxlan",), ("routing", "bgp"), ("bgp",))
"""Sections that go together, the most costly first."""
_SETTINGS: Final = ("switches", "hosts", "transport", "vxlan", "bgp")
_NEEDED: Final = frozenset({"name", "kind", "at"})
"""Fields of entries that are not tried: required, or a name."""
_LEAST_PS: Final = 10**9
"""No run of less than a millisecond is tried."""
_STEP_PS: Final = 10**6


@dataclass(frozen=True, slots=True)
class Smaller:
    """A smaller scenario."""

    text: str
    """What was left out."""
    data: Data


Family = Callable[[Data, BuildFabric], Iterator[Smaller]]


def fewer_faults(data: Data, _: BuildFabric) -> Iterator[Smaller]:
    """Without one fault, the last first."""
    faults = data.get("faults") or []
    for row in range(len(faults) - 1, -1, -1):
        name = faults[row].get("name") or faults[row].get("kind")
        kept = faults[:row] + faults[row + 1 :]
        yield Smaller(f"fault {name}", _with(data, ("faults",), kept) if kept else _without_sections(data, ("faults",)))


def fewer_entries(data: Data, _: BuildFabric) -> Iterator[Smaller]:
    """Without one of several entries of the workload."""
    entries = data["workload"]
    if len(entries) > 1:
        for row in range(len(entries) - 1, -1, -1):
            name = entries[row].get("name") or entries[row].get("kind")
            yield Smaller(f"workload {name}", _with(data, ("workload",), entries[:row] + entries[row + 1 :]))


def fewer_features(data: Data, _: BuildFabric) -> Iterator[Smaller]:
    """Without overlay, without BGP."""
    for names in _FEATURES:
        if names[0] in data:
            yield Smaller(" and ".join(it for it in names if it in data), _without_sections(data, names))


def fewer_devices(data: Data, fabric_of: BuildFabric) -> Iterator[Smaller]:
    """Each number of the topology halved, and less by one; hosts are renamed, and lists lose those that are gone."""
    topology = data["topology"]
    for name, value in topology.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 2:
            continue
        for less in dict.fromkeys((value // 2, value - 1)):
            smaller = _with(data, ("topology", name), less)
            old, new = fabric_of(data), fabric_of(smaller)
            if old is None or new is None or len(new.nodes) + len(new.links) >= len(old.nodes) + len(old.links):
                continue
            renamed = _renamed(smaller, old, new)
            if renamed is not None:
                yield Smaller(f"topology.{name} {value} to {less}", renamed)


def shorter(data: Data, _: BuildFabric) -> Iterator[Smaller]:
    """Half, and three quarters of the duration; loads stop with it."""
    duration_ps = _time(data["run"].get("duration"))
    if duration_ps is None:
        return
    for share in (2, 3):
        less_ps = duration_ps * share // 4 // _STEP_PS * _STEP_PS
        if less_ps >= _LEAST_PS:
            smaller = _with(data, ("run", "duration"), exact_time(less_ps))
            for entry in smaller["workload"]:
                stop_ps = _time(entry.get("stop"))
                if stop_ps is not None and stop_ps > less_ps:
                    entry["stop"] = exact_time(less_ps)
            for fault in smaller.get("faults") or ():
                until_ps = _time(fault.get("until"))
                if until_ps is not None and until_ps >= less_ps:
                    del fault["until"]
            yield Smaller(f"run.duration {data['run']['duration']} to {exact_time(less_ps)}", smaller)


def fewer_names(data: Data, fabric_of: BuildFabric) -> Iterator[Smaller]:
    """Lists of hosts, messages, ports: without halves, then quarters, down to single items (delta debugging)."""
    spelled = data
    fabric = fabric_of(data)
    if fabric is not None:
        spelled = _spelled_out(data, [it.name for it in fabric.hosts])
    for path, items in _lists(spelled):
        part = max(len(items) // 2, 1)
        while part:
            for start in range(0, len(items), part):
                kept = items[:start] + items[start + part :]
                if kept:
                    words = f"{len(items) - len(kept)} of {len(items)}"
                    yield Smaller(f"{_spell(path)}: {words}", _with(spelled, path, kept))
            part //= 2


def fewer_settings(data: Data, _: BuildFabric) -> Iterator[Smaller]:
    """Without a section, without a setting of a section, without a field of an entry: the default takes its place."""
    for name in list(data):
        if name not in _KEPT:
            yield Smaller(name, _without_sections(data, (name,)))
    for name in _SETTINGS:
        section = data.get(name)
        if isinstance(section, Mapping):
            yield from _fields(data, (name,), section)
    for name in ("workload", "faults"):
        for row, entry in enumerate(data.get(name) or ()):
            yield from _fields(data, (name, row), entry)
    yield from _fields(data, ("topology",), data["topology"])


def fewer_repeats(data: Data, _: BuildFabric) -> Iterator[Smaller]:
    """Half of the repetitions of an entry."""
    for row, entry in enumerate(data["workload"]):
        for name in ("repeat", "count", "steps"):
            value = entry.get(name)
            if isinstance(value, int) and value > 1:
                path = ("workload", row, name)
                yield Smaller(f"{_spell(path)} {value} to {value // 2}", _with(data, path, value // 2))


FAMILIES: Final[tuple[Family, ...]] = (
    fewer_faults,
    fewer_entries,
    fewer_features,
    fewer_devices,
    shorter,
    fewer_names,
    fewer_repeats,
    fewer_settings,
)
"""In the order in which they are tried: first what makes later runs cheap."""


def places_of(fabric: Fabric) -> dict[str, tuple[str, ...]]:
    """Names that survive other hosts: of a host its leaf and its number there, of a switch its name."""
    found: dict[str, tuple[str, ...]] = {}
    at_leaf: Counter[str] = Counter()
    for node in fabric.nodes:
        if node.is_host and node.ports:
            leaf = fabric.node_of(fabric.ports[node.first_port].peer).name
            found[node.name] = (leaf, str(at_leaf[leaf]))
            at_leaf[leaf] += 1
        else:
            found[node.name] = (node.name,)
    return found


# ===== inside =====


def _fields(data: Data, path: tuple[str | int, ...], section: Mapping[str, Any]) -> Iterator[Smaller]:
    for name, value in section.items():
        own = (*path, name)
        if name not in _NEEDED:
            yield Smaller(_spell(own), _without(data, own))
        if isinstance(value, Mapping):
            yield from _fields(data, own, value)


def _lists(data: Data) -> Iterator[tuple[tuple[str | int, ...], list[Any]]]:
    """Lists of at least two items within workload and faults, the longest first."""
    found = []
    for name in ("workload", "faults"):
        for row, entry in enumerate(data.get(name) or ()):
            for field, value in entry.items():
                if isinstance(value, list) and len(value) > 1:
                    found.append(((name, row, field), value))
    yield from sorted(found, key=lambda it: -len(it[1]))


def _spelled_out(data: Data, hosts: Sequence[str]) -> Data:
    """Lists with patterns of hosts, written out."""
    found = deepcopy(data)
    for name in ("workload", "faults"):
        for entry in found.get(name) or ():
            for field, value in entry.items():
                if isinstance(value, list) and all(isinstance(it, str) for it in value):
                    entry[field] = _expanded(value, hosts)
    return found


def _expanded(patterns: Sequence[str], hosts: Sequence[str]) -> list[str]:
    found: list[str] = []
    for it in patterns:
        fits = [host for host in hosts if fits_pattern(host, it)] if is_pattern(it) else []
        found += fits or [it]
    return list(dict.fromkeys(found))


def _renamed(data: Data, old: Fabric, new: Fabric) -> Data | None:
    """The scenario with the hosts and ports of the smaller fabric: each host is where it was, by its leaf and its
    number there, and each port leads where it did; numbers of an entry that count hosts shrink with them. None where an
    entry of the workload or a fault has no host left; settings of hosts and ports that are gone go with them.
    """
    there = {place: name for name, place in places_of(new).items()}
    places = places_of(old)
    names = {it.name: there.get(places[it.name], "") for it in old.hosts}
    hosts = list(names)
    ports = {end: name for name, end in _ends_of(new).items()}
    names |= {name: ports.get(end, "") for name, end in _ends_of(old).items()}
    found = _spelled_out(data, hosts)
    for section in _SETTINGS:
        settings = found.get(section)
        if isinstance(settings, dict):
            kept = {field: _named(value, names) for field, value in settings.items()}
            found[section] = {field: value for field, value in kept.items() if value is not None}
    for section in ("workload", "faults"):
        for entry in found.get(section) or ():
            before = len(entry.get("hosts") or hosts)
            for field, value in entry.items():
                if field in {"name", "kind"}:
                    continue
                changed = _named(value, names)
                if changed is None:
                    return None
                entry[field] = changed
            _fit(entry, before, len(entry.get("hosts") or new.hosts))
    return found


def _fit(entry: dict[str, Any], before: int, after: int) -> None:
    """A shift leads as far across the fabric as it did, so to the other pod where it did; all but one may send."""
    if isinstance(entry.get("shift"), int):
        entry["shift"] = max(entry["shift"] * after // before, 1)
    if isinstance(entry.get("fan_in"), int):
        entry["fan_in"] = max(min(entry["fan_in"], after - 1), 1)


def _ends_of(fabric: Fabric) -> dict[str, tuple[object, ...]]:
    """'leaf1:Ethernet16' -> place of the device, place of the device at the other end, number of the cable to it."""
    places, cables = places_of(fabric), Counter[tuple[object, ...]]()
    found: dict[str, tuple[object, ...]] = {}
    for port in fabric.ports:
        ends = places[fabric.node_of(port.id).name], places[fabric.node_of(port.peer).name]
        found[fabric.port_name(port.id)] = (*ends, cables[ends])
        cables[ends] += 1
    return found


def _named(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401  any value of a scenario
    """A value with hosts and ports renamed; None where one is gone that it needs."""
    if isinstance(value, str):
        parts = value.split("--")
        changed = []
        for part in parts:
            device, colon, port = part.partition(":")
            own = names[part] if part in names else names.get(device, device)
            if not own:
                return None
            changed.append(own if part in names else own + colon + port)
        return "--".join(changed)
    if isinstance(value, list):
        kept = [it for it in (_named(item, names) for item in value) if it is not None]
        return kept if kept or not value else None
    if isinstance(value, Mapping):
        found = {name: _named(part, names) for name, part in value.items()}
        lost = any(part is None and value[name] is not None for name, part in found.items())
        return None if lost else found
    return value


def _time(value: object) -> int | None:
    try:
        return parse_time_ps(value) if isinstance(value, str) else None
    except UnitError:
        return None


def _with(data: Data, path: Sequence[str | int], value: object) -> Data:
    found = deepcopy(data)
    inner: Any = found
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return found


def _without(data: Data, path: Sequence[str | int]) -> Data:
    """Without one field, and without the mapping that it leaves empty."""
    found = deepcopy(data)
    inner: Any = found
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return found if inner or len(path) == 1 else _without(found, path[:-1])


def _without_sections(data: Data, names: Sequence[str]) -> Data:
    return {name: deepcopy(value) for name, value in data.items() if name not in names}


def _spell(path: Sequence[str | int]) -> str:
    return "".join(f"[{it}]" if isinstance(it, int) else f".{it}" for it in path).lstrip(".")

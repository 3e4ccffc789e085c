"""The change log of a finished run: configurations, endpoints, acts of operators, BGP sessions, routes, carriers.

Of the faults of a scenario only those are lines that a configuration archive or an orchestrator would have
(telemetry/diagnosis/changes.py); acts are those of a playbook and of the API. Sessions and routes are logged by the
routers; carriers and speeds come from the event log, which has them in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabric.controlplane.network.run import ControlRun
from fabric.controlplane.network.speakers import peer_name
from fabric.explain.repairs import OF_NICS, Repair, repairs
from fabric.name_patterns import fits_pattern
from fabric.runs.rundir import RunDir
from fabric.topology.model import Fabric
from fabric.units import count, format_rate_bps
from telemetry.diagnosis.changes import Change, Source
from telemetry.sources.recorded import control_of

BURST_NS: Final = 1_000_000
"""Changes of one router's routes that follow each other within this time are one line."""
CARRIER: Final = {"link_down": "carrier lost", "link_up": "carrier back"}
SPEED: Final = "rate_changed"
"""Kinds of events of cables."""

Objects = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Known:
    """A fault that somebody has a record of."""

    source: Source
    text: Callable[[Objects], str]
    at: tuple[str, ...]
    """Objects that name the devices that it touches."""
    spreads: bool = False
    undone: str = "reverted"


def _drift(objects: Objects) -> str:
    changes: Objects = objects["changes"]
    found = []
    for name, value in changes.items():
        if name == "ecn" and value is not None:
            found.append("ECN marking off")
        elif name == "ecn_curve" and value is not None:
            found.append(f"ECN curve Kmin {value['kmin']}, Kmax {value['kmax']}, Pmax {value['pmax']:g}")
        elif name == "dynamic_th" and value is not None:
            found.append(f"dynamic threshold {value}")
        elif name == "headroom" and value is not None:
            found.append(f"headroom {value}")
        elif name == "pfc_priorities" and value is not None:
            found.append(f"PFC for class {', '.join(map(str, value))}" if value else "PFC off")
    return "; ".join(found)


def _route(objects: Objects) -> str:
    via = ", ".join(objects["via"] or ()) or "nowhere"
    return f"static route for {_some(objects['hosts'])} via {via}"


def _policy(objects: Objects) -> str:
    side = "from" if objects["direction"] == "import" else "to"
    return f"route map of {objects['direction']}, {side} {objects.get('neighbour') or 'every neighbour'}"


KNOWN: Final[Mapping[str, _Known]] = {
    "config-drift": _Known(Source.CONFIGURATION, _drift, ("ports",)),
    "route": _Known(Source.CONFIGURATION, _route, ("switches",), spreads=True),
    "route-policy": _Known(Source.CONFIGURATION, _policy, ("switches", "neighbour"), spreads=True),
    "wrong-asn": _Known(Source.CONFIGURATION, lambda it: f"AS number {it['asn']}", ("switches",), spreads=True),
    "drain": _Known(Source.CONFIGURATION, lambda _: "drained", ("switches",), spreads=True, undone="returned"),
    "mac-move": _Known(Source.ENDPOINT, lambda it: f"{_some(it['hosts'])} moved to {it['to']}", ("hosts", "to")),
    "host-leave": _Known(Source.ENDPOINT, lambda it: f"{_some(it['hosts'])} left", ("hosts",), undone="came back"),
}
"""Faults that are changes; the others are what breaks by itself, and nobody writes it down."""


def change_log(run: RunDir) -> list[Change]:
    """Every change of a run, in order of time. Raises: RunDirError."""
    control = control_of(run)
    return log_of(run, control)


def log_of(run: RunDir, control: ControlRun | None) -> list[Change]:
    """As change_log(), of a run whose control plane has been simulated again."""
    return in_order([*_recorded(run), *_links(run), *_shortest_paths(run), *logged_by_routers(control)])


def in_order(log: Iterable[Change]) -> list[Change]:
    """The log in order of time."""
    return sorted(log, key=lambda it: (it.time_ns, it.source.value, it.places))


# ===== what people did =====


def _recorded(run: RunDir) -> Iterator[Change]:
    """Changes of the scenario, of a playbook and of the API."""
    live = (run.manifest.get("live") or {}).get("changes") or ()
    acts = (run.manifest.get("playbook") or {}).get("changes") or ()
    end_ns = int(run.summary["stop"]["time_ns"])
    return done_by_people(run.fabric, run.truth().to_pylist(), end_ns, live=live, acts=acts)


def done_by_people(
    fabric: Fabric, truth: Sequence[Objects], end_ns: int, *, live: Sequence[Objects] = (), acts: Sequence[Objects] = ()
) -> Iterator[Change]:
    """What people did up to a time.

    Parameters
    ----------
    truth : lines of truth.jsonl, of which those count that somebody has a record of (KNOWN)
    live, acts : changes through the API, acts of a playbook, as a manifest has them
    """
    injected = {(it["kind"], it["at_ns"]) for it in live if it["fault"]}
    undoing = [(int(it["at_ns"]), str(it["objects"]["fault"])) for it in acts if it["kind"] == "undo"]
    undone: set[tuple[int, str]] = set()
    repaired: dict[tuple[int, str], tuple[str, ...]] = {}
    for fault in truth:
        known, start_ns, stop_ns = KNOWN.get(fault["kind"]), int(fault["start_ns"]), int(fault["end_ns"])
        if start_ns > end_ns:
            continue
        objects = {name: value for name, value in fault["objects"].items() if value is not None}
        by_acts = [it for it in undoing if it[0] == stop_ns and fits_pattern(str(fault["name"]), it[1])]
        acted = by_acts[0] if fault["repaired"] and by_acts else None
        if known is None:
            if acted is not None:
                repaired[acted] = (*repaired.get(acted, ()), *_names(fabric, objects))
            continue
        by = "API" if (fault["kind"], start_ns) in injected else "scenario"
        places = _names(fabric, {name: objects.get(name) for name in known.at})
        text = known.text(objects)
        yield _change(fabric, start_ns, known, text, places, by)
        if fault["repaired"] and start_ns < stop_ns <= end_ns:
            if acted is not None:
                by = "playbook"
                undone.add(acted)
            yield _change(fabric, stop_ns, known, f"{known.undone}: {text}", places, by)
    for by, changes in (("playbook", acts), ("API", live)):
        for it in changes:
            act = int(it["at_ns"]), str(it["objects"].get("fault", ""))
            undo = it["kind"] == "undo"
            if it["fault"] or it["at_ns"] > end_ns or (undo and act in undone):
                continue
            words = ", ".join(f"{name} {_words(value)}" for name, value in it["objects"].items())
            places = repaired.get(act, ()) if undo else _names(fabric, it["objects"])
            text = f"{it['kind']}: {words}" if words else str(it["kind"])
            yield Change(int(it["at_ns"]), Source.ACT, text, places, _devices(fabric, places), by)


def _change(fabric: Fabric, time_ns: int, known: _Known, text: str, places: tuple[str, ...], by: str) -> Change:
    devices = _devices(fabric, places)
    if known.source is Source.ENDPOINT:  # the leaf of the host, too
        hosts = [fabric.by_name[name] for name in devices]
        devices |= {fabric.node_of(fabric.ports[port].peer).name for it in hosts if it.is_host for port in it.ports}
    return Change(time_ns, known.source, text, places, devices, by, known.spreads)


def _names(fabric: Fabric, value: object) -> tuple[str, ...]:
    """Strings in objects that name devices, ports or cables, or patterns of them, each once."""
    found: list[str] = []
    if isinstance(value, Mapping):
        for part in value.values():
            found += _names(fabric, part)
    elif isinstance(value, list | tuple):
        for part in value:
            found += _names(fabric, part)
    elif isinstance(value, str) and _devices(fabric, (value,)):
        found.append(value)
    return tuple(dict.fromkeys(found))


def _devices(fabric: Fabric, names: Sequence[str]) -> frozenset[str]:
    """Devices that any of the names is about."""
    patterns = {part.partition(":")[0] for name in names for part in name.partition("#")[0].split("--")}
    exact = {it for it in patterns if it in fabric.by_name}
    wild = patterns - exact
    return frozenset(
        exact | {it.name for it in fabric.nodes if any(fits_pattern(it.name, pattern) for pattern in wild)}
    )


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else count(len(names), "host")


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(part)}" for name, part in value.items() if part is not None)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# ===== what the network did =====


def logged_by_routers(control: ControlRun | None) -> Iterator[Change]:
    """Sessions and routes; nothing without a control plane."""
    if control is not None:
        yield from _sessions(control)
        yield from _routes(control)


def _sessions(control: ControlRun) -> Iterator[Change]:
    """Each session that went down or came up, once for both of its ends: the first end says why."""
    plan = control.plan
    interfaces = {
        (router.row, peer_name(plan, plan.interfaces[row], control.config)): plan.interfaces[row]
        for router in plan.routers
        for row in router.interfaces
    }
    state: dict[tuple[int, int], bool] = {}
    for it in control.sessions:
        own = interfaces.get((it.router, it.peer))
        name = plan.routers[it.router].name
        other = it.peer if own is None else plan.routers[plan.interfaces[own.peer].router].name
        cable = (it.router, -1) if own is None else (min(own.row, own.peer), max(own.row, own.peer))
        if state.get(cable) is it.up:
            continue
        state[cable] = it.up
        words = f"session with {other} {'up' if it.up else 'down'}" + (f": {it.reason}" if it.reason else "")
        yield Change(
            it.time_ns, Source.SESSION, words, (f"{name}--{other}",), frozenset({name, other}), "network", spreads=True
        )


def _routes(control: ControlRun) -> Iterator[Change]:
    """Bursts of changes of each router's forwarding table."""
    bursts: dict[int, list[list[Any]]] = {}
    for it in control.routes:
        own = bursts.setdefault(it.router, [])
        if not own or it.time_ns - own[-1][-1].time_ns > BURST_NS:
            own.append([])
        own[-1].append(it)
    for router, own in bursts.items():
        name = control.plan.routers[router].name
        for burst in own:
            last = {it.key: it.ports for it in burst}
            gone = sum(not ports for ports in last.values())
            words = f"next hops of {count(len(last), 'prefix', 'prefixes')} changed"
            words += f", {gone} of them have none" if gone else ""
            yield Change(burst[0].time_ns, Source.ROUTES, words, (name,), frozenset({name}), "network", spreads=True)


def _links(run: RunDir) -> Iterator[Change]:
    """Every run has these events."""
    rows = run.events([*CARRIER, SPEED], ["time_ns", "kind", "device", "port", "a", "b"]).to_pylist()
    for row in rows:
        row["port"] = run.fabric.port_called[f"{row['device']}:{row['port']}"]
    return of_cables(run.fabric, rows)


def _shortest_paths(run: RunDir) -> Iterator[Change]:
    """New shortest paths, once for all cables whose change they follow."""
    end_ns = int(run.summary["stop"]["time_ns"])
    moments: dict[int, list[Repair]] = {}
    for it in repairs(run):
        if it.computed_ns <= end_ns:
            moments.setdefault(it.computed_ns, []).append(it)
    for time_ns, its in moments.items():
        devices = frozenset(name for it in its for name in it.devices)
        what = "NICs choose source routes again" if its[0].field == OF_NICS else "shortest paths computed again"
        words = f"{what}, {its[0].delay} after the link ({its[0].field})"
        yield Change(time_ns, Source.ROUTES, words, tuple(it.cable for it in its), devices, "network", spreads=True)


def of_cables(fabric: Fabric, rows: Iterable[Objects]) -> Iterator[Change]:
    """Carriers and speeds of cables, once for both ends.

    Parameters
    ----------
    rows : time_ns; kind, of CARRIER or SPEED; port, a PortId; a and b, of SPEED the rates before and after, bit/s
    """
    once: set[tuple[int, tuple[str, ...], str]] = set()
    for row in rows:
        words = CARRIER.get(row["kind"]) or f"speed {format_rate_bps(row['a'])} to {format_rate_bps(row['b'])}"
        it = _of_cable(fabric, int(row["time_ns"]), int(row["port"]), words)
        if (it.time_ns, it.places, it.text) not in once:
            once.add((it.time_ns, it.places, it.text))
            yield it


def _of_cable(fabric: Fabric, time_ns: int, port: int, words: str) -> Change:
    """Named alike from both ends."""
    ends = sorted((int(port), int(fabric.ports[port].peer)))
    names = tuple(fabric.port_name(end) for end in ends)
    devices = frozenset(fabric.node_of(end).name for end in ends)
    return Change(time_ns, Source.LINK, words, ("--".join(names),), devices, "network")

"""Where a schedule used the fabric: its critical path on the map, and links by phase.

A phase is a kind of communication of one workload: the messages of its tensor parallelism (tp), its gradients (dp), or,
without kinds, of one collective operation. A message uses the links of its path from its posting to its arrival; paths
are those of the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.explain.critical_path import NEVER, Kind, Path
from fabric.explain.intervals import joined
from fabric.explain.step import Step
from fabric.render.document import Bar, Block, Column, Gantt, Map, MapLink, MapNode, Status, Table, Unit
from fabric.topology.model import Role
from fabric.units import PS_PER_NS, PS_PER_S

Ints = NDArray[np.int64]
MOST_LINKS: Final = 8
"""Lanes of links between servers; half as many of those within."""
MOST_PHASES: Final = 8
"""As many as there are colours."""
PIXELS: Final = 1200
_SENT: Final = (Kind.NETWORK, Kind.UNFINISHED)


def path_map(step: Step, path: Path) -> Iterator[Map]:
    """The fabric, each cable coloured by the share of the critical path that its messages took over it."""
    fabric, total = step.evidence.fabric, max(path.end_ns - path.start_ns, 1)
    held: dict[int, int] = {}
    computed: dict[str, int] = {}
    for it in path.stretches:
        if it.row == NEVER:
            continue
        transfer = int(step.found.transfer[it.row])
        if it.kind is Kind.COMPUTATION:
            computed[step.src[transfer]] = computed.get(step.src[transfer], 0) + it.end_ns - it.start_ns
        elif it.kind in _SENT:
            for port in step.ports_of(transfer):
                held[port] = held.get(port, 0) + it.end_ns - it.start_ns
    if not held:
        return
    nodes = tuple(
        MapNode(
            node.name, node.role.value, max(node.tier, 1) if not node.is_host else 0,
            Status.WARNING if computed.get(node.name, 0) >= total // 100 else Status.NEUTRAL,
        )
        for node in fabric.nodes
    )  # fmt: skip
    links = tuple(
        MapLink(
            fabric.ports[link.a].node, fabric.ports[link.b].node, link.rate_bps,
            held.get(int(link.a), 0) / total, held.get(int(link.b), 0) / total,
        )
        for link in fabric.links
    )  # fmt: skip
    note = (
        "Each half of a cable is coloured by the share of the path that messages sent there were under way; such a "
        "message takes the time of its whole path. Coloured hosts computed for 1 % of it or more."
    )
    within = sum(end - start for start, end in ((it.start_ns, it.end_ns) for it in path.stretches if _inner(step, it)))
    if within:
        note += f" Networks within servers are not drawn: {within / total:.1%} of the path."
    yield Map("path-map", "The critical path on the fabric", nodes, links, note=note, measure="share of the path")


def _inner(step: Step, it: object) -> bool:
    row, kind = getattr(it, "row", NEVER), getattr(it, "kind", None)
    if row == NEVER or kind not in _SENT:
        return False
    return any(_scale_up(step, port) for port in step.ports_of(int(step.found.transfer[row])))


def _scale_up(step: Step, port: int) -> bool:
    fabric = step.evidence.fabric
    return Role.SCALE_UP in {fabric.node_of(port).role, fabric.peer_of(port).role}


@dataclass(frozen=True)
class _Use:
    """Transfers at the ports of their paths; columns (n,), one row for each pair."""

    transfer: Ints
    port: Ints


def link_use(step: Step, path: Path) -> Iterator[Block]:
    """A table of phases, and the busiest links by time, coloured by phase."""
    found, transfers = step.found, step.transfers
    names, phase = _phases(step)
    sent = (transfers.src != transfers.dst)[found.transfer]
    until = np.where(found.arrived_ns == NEVER, step.evidence.end_ns, found.arrived_ns)
    size = np.bincount(found.transfer[sent], found.size_bytes[sent], len(transfers)).astype(np.int64)
    use = _uses(step, size)
    if not len(use.port):
        return
    rates = _rates(step, use.port)
    n_ports = len(step.evidence.fabric.ports)
    volume = np.bincount(phase, size, len(names))
    order = [int(it) for it in np.argsort(-volume, kind="stable") if volume[it]][:MOST_PHASES]
    rows = []
    for number in order:
        mine = sent & (phase[found.transfer] == number)
        active = sum(stop - start for start, stop in joined(found.start_ns, until, mine, 0))
        here = phase[use.transfer] == number
        bits = np.bincount(use.port[here], size[use.transfer[here]] * 8 * (PS_PER_S / PS_PER_NS) / rates[here], n_ports)
        inner = np.array([_scale_up(step, port) for port in np.flatnonzero(bits).tolist()])
        for within in (False, True):
            ports = np.flatnonzero(bits)[inner == within]
            if len(ports):
                best = int(ports[np.argmax(bits[ports])])
                rows.append(
                    (
                        names[number], "within servers" if within else "fabric", int(volume[number]), active,
                        step.evidence.fabric.port_name(best), bits[best] / max(active, 1),
                        float(bits[ports].mean()) / max(active, 1),
                    )
                )  # fmt: skip
    columns = (
        Column("phase", "Phase"),
        Column("network", "Network"),
        Column("sent_bytes", "Sent", Unit.BYTES),
        Column("active_ns", "Under way", Unit.NS),
        Column("busiest", "Busiest link"),
        Column("busiest_ratio", "its use", Unit.RATIO),
        Column("mean_ratio", "mean use", Unit.RATIO),
    )
    note = (
        "Use: payload over what the link could send while messages of the phase were under way; the mean is over the "
        "links that it used."
    )
    yield Table("phases", "Links by phase", columns, tuple(rows), note)
    yield _lanes(step, path, use, rates, size, phase, names, order, until)


def _lanes(
    step: Step, path: Path, use: _Use, rates: NDArray[np.float64], size: Ints, phase: Ints, names: Sequence[str],
    order: Sequence[int], until: Ints,
) -> Gantt:  # fmt: skip
    """The busiest links by time."""
    fabric, found = step.evidence.fabric, step.found
    busy = np.bincount(use.port, size[use.transfer] / rates, len(fabric.ports))
    ports = [int(port) for port in np.argsort(-busy, kind="stable") if busy[port]]
    outer = [port for port in ports if not _scale_up(step, port)][:MOST_LINKS]
    inner = [port for port in ports if _scale_up(step, port)][: MOST_LINKS // 2 if outer else MOST_LINKS]
    gap = (path.end_ns - path.start_ns) // PIXELS
    bars = []
    for lane, port in enumerate([*outer, *inner]):
        through = np.zeros(len(step.transfers), np.bool_)
        through[use.transfer[use.port == port]] = True
        rows = np.flatnonzero(through[found.transfer])
        for kind, number in enumerate(order):
            mine = phase[found.transfer[rows]] == number
            bars += [
                Bar(lane, kind, start, stop) for start, stop in joined(found.start_ns[rows], until[rows], mine, gap)
            ]
    lanes = tuple(fabric.port_name(port) for port in [*outer, *inner])
    note = "Times at which a message that crosses the link was under way, in the colour of its phase."
    return Gantt("links", "Busiest links by time", lanes, tuple(names[number] for number in order), tuple(bars), note)


def _phases(step: Step) -> tuple[list[str], Ints]:
    """(names, (n_transfers,) phase of each)."""
    table = step.evidence.run.transfers(["kind", "operation_type"])
    kinds, operations = (table[name].to_pylist() for name in ("kind", "operation_type"))
    entries = [name.partition("/")[0] for name in step.operations]
    owner = [entries[number] for number in step.transfers.operation.tolist()]
    many = len(set(entries)) > 1
    found: dict[str, int] = {}
    phase = np.empty(len(owner), np.int64)
    for row, (entry, kind, operation) in enumerate(zip(owner, kinds, operations, strict=True)):
        name = kind or operation or entry
        phase[row] = found.setdefault(f"{entry} {name}" if many and name != entry else name, len(found))
    return list(found), phase


def _uses(step: Step, size: Ints) -> _Use:
    pairs = [(row, port) for row in np.flatnonzero(size).tolist() for port in step.ports_of(row)]
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return _Use(columns[:, 0], columns[:, 1])


def _rates(step: Step, ports: Ints) -> NDArray[np.float64]:
    fabric = step.evidence.fabric
    return np.array([fabric.links[port.link].rate_bps for port in fabric.ports], float)[ports]

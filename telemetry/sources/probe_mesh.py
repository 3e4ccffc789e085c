"""Small messages as probes: which cables lose or delay them, and whether the diagnosis from counters agrees.

A mesh has probes between hosts of one leaf, which cross host cables alone, and between leaves, whose queue pairs take
different paths. Every lost probe votes for the cables on its path. The cable that explains most losses is a suspect.
Its probes are removed and the others vote again, until no cable is worse than the rest of the fabric. Probes within a
leaf distinguish a host's cable from the cables between switches.

Source: K. Liu et al., R-Pingmesh, SIGCOMM 2024, which votes for links by the paths of probes that timed out, and
removes probes of anomalous NICs first. Different here: host cables get votes like others, and the paths are those of
the routes at the end of the run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.render.document import Column, Document, Prose, Section, Status, Table, Unit
from fabric.runs.rundir import RunDir
from fabric.topology.select import nearest
from fabric.units import count, listed
from telemetry.campaign.results import wilson
from telemetry.diagnosis.root import Root
from telemetry.sources.roots import roots_of

LARGEST_BYTES: Final = 1024
"""A larger message is no probe: one packet is enough, and R-Pingmesh's probes have 50 B."""
LATE: Final = 10.0
"""Slowdown above which a probe was delayed; queues of a busy and healthy fabric slow probes down a few times."""
_LEAST: Final = 3
"""Bad probes that a suspect has at least."""
_SHOWN: Final = 3
_COLUMNS: Final = ("id", "size_bytes", "start_ns", "slowdown", "retransmits", "path", "state")
_NO_ROOT: Final = "no root there"
_NOTE: Final = (
    "Lost: sent more than once, failed, or not acknowledged when the run ended. Late: more than {late:g} times its "
    "ideal. Paths are those of the routes at the end of the run. Or from: cables that the same probes crossed."
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe."""

    path: tuple[str, ...]
    """Egress ports, the sender's first; each stands for a cable in one direction."""
    lost: bool
    late: bool


@dataclass(frozen=True, slots=True)
class Suspect:
    """A cable, in one direction, that explains bad probes."""

    port: str
    """'device:port' that sends into it."""
    bad: int
    probes: int
    """Probes that crossed the cable, without those that an earlier suspect explains."""
    alike: tuple[str, ...] = ()
    """Other cables that the same probes crossed; the fault may be at one of them."""


def explain_probes(run: RunDir, workload: str | None = None) -> Document:
    """The suspects of the mesh beside the root causes that the diagnosis finds in the counters.

    Parameters
    ----------
    workload : entry whose messages are the probes; None: every message of at most LARGEST_BYTES

    Raises: InputErrors where there is no such entry, or no probe; RunDirError.
    """
    probes = list(probes_of(run, workload))
    roots = [it for it in roots_of(run) if it.rank < 2]
    found = [
        (what, it)
        for what, bad in (("loses", [p.lost for p in probes]), ("delays", [p.late for p in probes]))
        for it in suspects([p.path for p in probes], bad)
    ]
    rows, confirmed, agree = [], set[int](), 0
    for what, it in found:
        ends = {end.partition(":")[0] for port in (it.port, *it.alike) for end in (port, _far_end(run, port))}
        same = [row for row, root in enumerate(roots) if root.devices & ends]
        confirmed |= set(same)
        agree += bool(same)
        named = listed([_root_text(roots[row]) for row in same], _SHOWN) if same else _NO_ROOT
        rows.append((what, it.port, _far_end(run, it.port), listed(it.alike, _SHOWN), it.probes, it.bad, named))
    columns = (
        Column("what", "Cable"),
        Column("from", "From"),
        Column("to", "To"),
        Column("alike", "Or from"),
        Column("probes", "Probes", Unit.COUNT),
        Column("bad", "Bad", Unit.COUNT),
        Column("counters", "Counters say"),
    )
    statuses = tuple(Status.BAD if what == "loses" else Status.WARNING for what, _ in found)
    table = Table("suspects", "Suspects", columns, tuple(rows), _NOTE.format(late=LATE), statuses)
    alone = [_root_text(root) for row, root in enumerate(roots) if row not in confirmed]
    sentence = f"Counters alone: {listed(alone, _SHOWN)}." if alone else "Every root of the counters is among them."
    verdict = (
        f"{count(len(probes), 'probe')}: {count(len(rows), 'suspect cable')}, counters agree on {agree}"
        if rows
        else f"{count(len(probes), 'probe')}: no cable loses or delays them"
    )
    blocks = ((table,) if rows else ()) + ((Prose(sentence),) if rows or alone else ())
    status = Status.BAD if any(what == "loses" for what, _ in found) else Status.WARNING if rows else Status.GOOD
    return Document("Probes", run.path.name, status, verdict, (), (Section("probes", "Probe mesh", blocks),))


def probes_of(run: RunDir, workload: str | None) -> Iterator[Probe]:
    """The probes that were sent and whose path is known. Raises: InputErrors without any."""
    rows = run.messages(list(_COLUMNS)).to_pylist()
    entries = sorted({str(it["id"]).rpartition("/")[0] for it in rows})
    if workload is not None and workload not in entries:
        problem = Problem("--workload", f"no entry '{workload}' sent messages", nearest(workload, entries, "entries"))
        raise InputErrors("options", [problem])
    mine = [
        it
        for it in rows
        if it["start_ns"] is not None
        and it["path"]
        and (str(it["id"]).rpartition("/")[0] == workload if workload else it["size_bytes"] <= LARGEST_BYTES)
    ]
    if not mine:
        text = f"no message of {workload or f'at most {LARGEST_BYTES} B'} was sent on a known path"
        hint = "add a workload of probes, as scenarios/probe-mesh.yml has one, or give --workload"
        raise InputErrors("options", [Problem(str(run.path), text, hint)])
    for it in mine:
        lost = it["retransmits"] > 0 or it["state"] != "done"
        yield Probe(tuple(it["path"]), lost, not lost and it["slowdown"] is not None and it["slowdown"] > LATE)


def suspects(paths: Sequence[Sequence[str]], bad: Sequence[bool]) -> Iterator[Suspect]:
    """Cables that explain the bad probes, the most certain first.

    The most certain is the one with the highest lower bound (95 %) of its share of bad probes. It is a suspect where
    this bound is above the share of bad ones among all other probes. All of its probes are then left out.

    Parameters
    ----------
    paths : of each probe, as Probe.path
    bad : whether each probe was lost, or late
    """
    left = list(range(len(paths)))
    while True:
        through: Mapping[str, list[int]] = defaultdict(list)
        for row in left:
            for port in paths[row]:
                through[port].append(row)
        failed = Counter({port: sum(bad[row] for row in its) for port, its in through.items()})
        possible = [port for port, number in failed.items() if number >= _LEAST]
        if not possible:
            return
        port = max(possible, key=lambda it: (wilson(failed[it], len(through[it]))[0], failed[it], it))
        others = [row for row in left if row not in set(through[port])]
        elsewhere = sum(bad[row] for row in others) / len(others) if others else 0.0
        if wilson(failed[port], len(through[port]))[0] <= elsewhere:
            return
        alike = tuple(sorted(it for it in possible if it != port and through[it] == through[port]))
        yield Suspect(port, failed[port], len(through[port]), alike)
        left = others


def _far_end(run: RunDir, port: str) -> str:
    """The port at the other end of the cable."""
    fabric = run.fabric
    return fabric.port_name(fabric.ports[fabric.port_called[port]].peer)


def _root_text(root: Root) -> str:
    return f"{root.kind.value} at {root.place}"

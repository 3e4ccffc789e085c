"""`fabric explain step`: why a schedule of transfers took as long as it did.

The critical path (critical_path.py) with the network time of its messages by cause (step_network.py), a summary by
cause, and ranks that compute longer than their peers.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.errors import RunDirError
from fabric.explain.critical_path import NEVER, Kind, Path, Recorded, Stretch, critical_path
from fabric.explain.evidence import Evidence, advice, integers
from fabric.explain.step_network import Network, Sent
from fabric.render.document import Column, Document, Fact, Facts, Prose, Section, Status, Table, Unit, show
from fabric.runs import schedule
from fabric.units import count

STRAGGLER_FACTOR: Final = 1.5
"""A rank whose computations took this many times the median of its peers, or more, is a straggler."""
MIN_PEERS: Final = 3
_NETWORK: Final = (Kind.NETWORK, Kind.UNFINISHED)
_COLUMNS: Final = (
    "transfer", "index", "size_bytes", "ready_ns", "start_ns", "arrived_ns", "end_ns", "retransmits",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the explained path."""

    what: str
    start_ns: int
    end_ns: int
    where: str
    detail: str
    cause: str
    """What the summary counts it under."""

    @property
    def lasted_ns(self) -> int:
        """Its length."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Straggler:
    """A rank that computed longer than its peers."""

    rank: int
    host: str
    operation: str
    took_ns: int
    peers_ns: int
    """Median of its peers."""


@dataclass(frozen=True)
class Choice:
    """The part of a schedule that is explained."""

    rows: NDArray[np.int64]
    """Transfers."""
    name: str
    before: NDArray[np.int64] | None = None
    """Transfers of the steps before: the part begins where the last of them ended; None: with its first message."""


class Step:
    """The schedule of a run and what became of it. Raises: RunDirError where the run has none, or not its messages."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        run = evidence.run
        self.transfers, self.operations = schedule.read(run)
        if not len(self.transfers):
            raise RunDirError(
                f"{run.path} has no transfers",
                "run a scenario whose workload is a table of transfers, such as `kind: trace`; "
                "`fabric explain message` explains single messages",
            )
        table = run.transfer_messages(_COLUMNS)
        columns = {name: integers(table[name], NEVER) for name in _COLUMNS}
        self.found = Recorded.of(columns, len(self.transfers))
        outcome = run.transfers(["src", "dst", "qp", "priority", "path", "state"])
        self.src, self.dst = (outcome[name].to_pylist() for name in ("src", "dst"))
        self.qp, self.priority = (integers(outcome[name], NEVER) for name in ("qp", "priority"))
        self.done = np.array([state == "done" for state in outcome["state"].to_pylist()], bool)
        self._paths = outcome["path"]
        self._known_paths: dict[int, list[str]] = {}

    def choose(self, operation: str | None = None, job: str | None = None, number: int | None = None) -> Choice:
        """All transfers, those of one operation, of one entry of the workload, or of one of its steps.

        Raises: RunDirError naming the nearest operations, or the entries and steps that there are.
        """
        where = self.evidence.run.path
        if operation is not None:
            if operation not in self.operations:
                near = difflib.get_close_matches(operation, self.operations, 3, 0.5)
                hint = f"nearest: {', '.join(near)}" if near else f"such as '{self.operations[0]}'"
                raise RunDirError(f"{where} has no operation '{operation}'", hint)
            rows = np.flatnonzero(self.transfers.operation == self.operations.index(operation))
            return Choice(rows, f"operation {operation}")
        if job is None and number is None:
            return Choice(np.arange(len(self.transfers)), "the whole schedule")
        names = list(dict.fromkeys(name.partition("/")[0] for name in self.operations))
        if job is None and len(names) > 1:
            raise RunDirError(f"{where} has {len(names)} jobs", f"name one with --job: {', '.join(names)}")
        job = names[0] if job is None else job
        if job not in names:
            raise RunDirError(f"{where} has no job '{job}'", f"give one of: {', '.join(names)}")
        owner = np.array([name.partition("/")[0] == job for name in self.operations], np.bool_)
        rows = np.flatnonzero(owner[self.transfers.operation])
        if number is None:
            return Choice(rows, job)
        step = integers(self.evidence.run.transfers(["step"])["step"], 0)[rows]
        known, step = np.unique(step, return_inverse=True)
        if not 0 <= number < len(known):
            hint = f"give 0 to {len(known) - 1}" if len(known) > 1 else "it has one: 0"
            raise RunDirError(f"{where}: {job} has no step {number}", hint)
        before = rows[step < number] if number else None
        return Choice(rows[step == number], f"step {number} of {job}", before)

    def path(self, choice: Choice) -> Path:
        """The critical path. Raises: RunDirError where none of its messages was posted."""
        try:
            whole = bool(self.done[choice.rows].all())
            return critical_path(
                self.transfers, self.found, choice.rows, self.evidence.end_ns, whole=whole, begin_ns=self._begin(choice)
            )
        except ValueError as error:
            text = f"{self.evidence.run.path}: {choice.name}: {error}"
            raise RunDirError(text, "run the scenario longer (run.duration)") from error

    def _begin(self, choice: Choice) -> int | None:
        """When the last transfer before the part arrived or was computed; None where nothing is before it."""
        if choice.before is None:
            return None
        rows = np.flatnonzero(np.isin(self.found.transfer, choice.before))
        local = (self.transfers.src == self.transfers.dst)[self.found.transfer[rows]]
        return int(np.where(local, self.found.end_ns[rows], self.found.arrived_ns[rows]).max(initial=0))

    @cached_property
    def network(self) -> Network:
        """Splits network times by cause."""
        return Network(self.evidence)

    def lines(self, path: Path) -> list[Line]:
        """The path by cause, without a gap."""
        return [line for stretch in path.stretches for line in self._lines(stretch)]

    def _lines(self, stretch: Stretch) -> list[Line]:
        start, end, row = stretch.start_ns, stretch.end_ns, stretch.row
        if row == NEVER:
            if stretch.kind is Kind.START:
                return [Line("start time", start, end, "", "the workload's start time had not come", "start time")]
            return [Line("not done", start, end, "", "a computation or an acknowledgement", "a part that did not end")]
        transfer = int(self.found.transfer[row])
        operation = self.operations[int(self.transfers.operation[transfer])]
        src, dst = self.rank(transfer, "src"), self.rank(transfer, "dst")
        if stretch.kind is Kind.COMPUTATION:
            return [Line("computation", start, end, src, operation, f"computation on {src}")]
        about = f"{operation}, message {self.found.index[row]} to {dst}"
        if stretch.kind is Kind.DELAY:
            return [Line(stretch.kind.value, start, end, src, about, f"{stretch.kind.value} on {src}")]
        if stretch.kind is Kind.ACKNOWLEDGEMENT:
            return [Line("acknowledgement", start, end, f"{dst} to {src}", about, "acknowledgements on their way back")]
        return [
            Line(part.what, part.start_ns, part.end_ns, part.where or f"{src} to {dst}", about, part.cause)
            for part in self.network.parts(self._sent(row, start, end, arrived=stretch.kind is Kind.NETWORK))
        ]

    def rank(self, transfer: int, end: str) -> str:
        """'rank 5 (host6)' of a transfer's source or destination."""
        return f"rank {getattr(self.transfers, end)[transfer]} ({getattr(self, end)[transfer]})"

    def ports_of(self, transfer: int) -> list[int]:
        """Ports on the path of a transfer's messages, the sender's first; none where it has no single path."""
        if transfer not in self._known_paths:
            self._known_paths[transfer] = self._paths[transfer].as_py() or []
        return [self.evidence.port_named(name) for name in self._known_paths[transfer]]

    def _sent(self, row: int, start: int, end: int, *, arrived: bool) -> Sent:
        transfer = int(self.found.transfer[row])
        qp = int(self.qp[transfer])
        if transfer not in self._known_paths:
            self._known_paths[transfer] = self._paths[transfer].as_py() or []
        mine = self._rows_of_pair[qp]
        place = int(np.flatnonzero(mine == row)[0])
        ahead = int(self.found.arrived_ns[mine[:place]].max(initial=0))
        return Sent(
            qp, int(self.priority[transfer]), self._known_paths[transfer], int(self.found.size_bytes[row]),
            start, end, ahead, arrived,
        )  # fmt: skip

    @cached_property
    def _rows_of_pair(self) -> dict[int, NDArray[np.int64]]:
        """Queue pair -> its messages in the order of their posting."""
        found = self.found
        qp = self.qp[found.transfer]
        order = np.lexsort((found.index, found.transfer, found.arrived_ns, found.start_ns, qp))
        order = order[qp[order] >= 0]
        cuts = np.flatnonzero(np.diff(qp[order])) + 1
        return {int(qp[rows[0]]): rows for rows in np.split(order, cuts) if len(rows)}

    def stragglers(self, choice: Choice) -> list[Straggler]:
        """Ranks whose computations took STRAGGLER_FACTOR times the median of their peers, longest excess first.

        Peers compute in the same operation. Of operations with fewer than MIN_PEERS ranks (a trace numbers each
        rank's operations by itself) all computations of a rank are summed and compared.
        """
        chosen = np.isin(self.found.transfer, choice.rows)
        local = (self.transfers.src == self.transfers.dst)[self.found.transfer]
        rows = np.flatnonzero(chosen & local & (self.found.end_ns >= 0))
        took = self.found.end_ns[rows] - self.found.start_ns[rows]
        transfer = self.found.transfer[rows]
        names, place = np.unique(np.array(self.src), return_inverse=True)
        host, operation = place[transfer], self.transfers.operation[transfer]  # ranks of several jobs have one number
        pairs = np.unique(np.stack([operation, host]), axis=1)
        peers = np.bincount(pairs[0], minlength=len(self.operations)) if pairs.size else np.zeros(1, np.int64)
        group = np.where(peers[operation] >= MIN_PEERS, operation, -1) if rows.size else operation
        found: dict[int, list[tuple[str, int, int]]] = {}
        order = np.argsort(group, kind="stable")
        for mine in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if rows.size else []:
            number = int(group[mine[0]])
            present, at = np.unique(host[mine], return_inverse=True)
            if len(present) < MIN_PEERS:
                continue
            total = np.bincount(at, took[mine])
            median = float(np.median(total))
            name = self.operations[number] if number >= 0 else "all computations"
            for it in np.flatnonzero((total >= STRAGGLER_FACTOR * median) & (total > 0)).tolist():
                found.setdefault(int(present[it]), []).append((name, int(total[it]), int(median)))
        rank = {int(place[it]): int(self.transfers.src[it]) for it in np.unique(transfer).tolist()}
        stragglers = [
            Straggler(
                rank[it], str(names[it]), slow[0][0] if len(slow) == 1 else f"{len(slow)} operations",
                sum(took for _, took, _ in slow), sum(median for _, _, median in slow),
            )
            for it, slow in found.items()
        ]  # fmt: skip
        return sorted(stragglers, key=lambda it: (it.peers_ns - it.took_ns, it.rank))


def by_cause(lines: Sequence[Line]) -> list[tuple[str, int]]:
    """(cause, ns), longest first."""
    found: dict[str, int] = {}
    for line in lines:
        found[line.cause] = found.get(line.cause, 0) + line.lasted_ns
    return sorted(found.items(), key=lambda it: (-it[1], it[0]))


def explain_step(
    evidence: Evidence,
    operation: str | None = None,
    more: Sequence[Section] = (),
    *,
    job: str | None = None,
    number: int | None = None,
) -> Document:
    """The whole answer, the long table of the path last; `more`: sections before all others, such as how long it takes
    without a cause. Raises: RunDirError where the run has no transfers, or no such operation, job or step.
    """
    step = Step(evidence)
    choice = step.choose(operation, job, number)
    path = step.path(choice)
    lines = step.lines(path)
    total = path.end_ns - path.start_ns
    causes = by_cause(lines)
    stragglers = step.stragglers(choice)
    facts = (
        Fact(
            "start_ns", "first message ready" if choice.before is None else "step before ended", path.start_ns, Unit.NS
        ),
        Fact("end_ns", "last arrival" if path.finished else "end of the run", path.end_ns, Unit.NS),
        Fact("took_ns", "took", total, Unit.NS),
        Fact("ranks", "ranks", len(np.unique(np.concatenate([step.transfers.src, step.transfers.dst]))), Unit.COUNT),
        Fact("transfers", "transfers", len(choice.rows), Unit.COUNT),
        Fact("stretches", "stretches of the critical path", len(lines), Unit.COUNT),
    )
    sections = [
        *more,
        Section("step", "The step", (Facts(facts),)),
        Section("causes", "Critical path by cause", (causes_table(causes, total),)),
        *([Section("stragglers", "Stragglers", (stragglers_table(stragglers),))] if stragglers else []),
        Section("path", "Critical path", (path_table(lines, path),)),
    ]
    status = Status.BAD if not path.finished else Status.NEUTRAL
    return Document(
        f"Step of {evidence.run.path.name}",
        choice.name,
        status,
        verdict(path, causes, stragglers),
        tuple(_unrecorded(evidence)),
        tuple(sections),
    )


def causes_table(causes: Sequence[tuple[str, int]], total: int) -> Table:
    """Every cause with its share."""
    columns = (Column("cause", "Cause"), Column("time_ns", "Time", Unit.NS), Column("share_ratio", "Share", Unit.RATIO))
    rows = tuple((cause, time, time / max(total, 1)) for cause, time in causes)
    return Table("causes", "", columns, rows, "Each instant of the critical path is counted once; they add up to it.")


def path_table(lines: Sequence[Line], path: Path) -> Table:
    """Every stretch, earliest first."""
    total = max(path.end_ns - path.start_ns, 1)
    columns = (
        Column("stretch", "Stretch"),
        Column("start_ns", "From", Unit.NS),
        Column("end_ns", "To", Unit.NS),
        Column("share_ratio", "Share", Unit.RATIO),
        Column("where", "Where"),
        Column("what", "What"),
        Column("cause", "Cause"),
    )
    rows = tuple((it.what, it.start_ns, it.end_ns, it.lasted_ns / total, it.where, it.detail, it.cause) for it in lines)
    return Table("path", "", columns, rows, "Each stretch ends where the next one begins.")


def stragglers_table(stragglers: Sequence[Straggler]) -> Table:
    """Ranks that computed longer than their peers."""
    columns = (
        Column("rank", "Rank", Unit.COUNT),
        Column("host", "Host"),
        Column("operation", "Operation"),
        Column("took_ns", "Computed", Unit.NS),
        Column("peers_ns", "Median of its peers", Unit.NS),
        Column("factor", "Factor", Unit.TIMES),
    )
    rows = tuple(
        (it.rank, it.host, it.operation, it.took_ns, it.peers_ns, it.took_ns / it.peers_ns if it.peers_ns else None)
        for it in stragglers
    )
    note = f"Ranks whose computations took at least {STRAGGLER_FACTOR:g} times the median of their peers."
    return Table("stragglers", "", columns, rows, note)


def verdict(path: Path, causes: Sequence[tuple[str, int]], stragglers: Sequence[Straggler]) -> str:
    """The duration, its first causes, and the first straggler."""
    total = path.end_ns - path.start_ns
    shares = "; ".join(f"{cause}: {show(time / max(total, 1), Unit.RATIO)}" for cause, time in causes[:3])
    begun = f"Took {show(total, Unit.NS)}" if path.finished else f"Not done after {show(total, Unit.NS)}"
    named = ""
    if stragglers:
        it = stragglers[0]
        named = f" {count(len(stragglers), 'straggler')}, first rank {it.rank} ({it.host})."
    return f"{begun}. {shares[:1].upper()}{shares[1:]}.{named}"


def _unrecorded(evidence: Evidence) -> list[Prose]:
    missing = [it for it in ("pause", "drop", "rate", "transport") if not evidence.records(it)]
    if not missing:
        return []
    text = f"Not recorded, so not among the causes: events of {' and '.join(missing)}; {advice(*missing)}."
    return [Prose(text, Status.WARNING)]

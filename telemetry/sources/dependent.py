"""Who was hurt among messages that depend on one another: those of collectives, jobs and traces.

A message of a transfer may begin when others have arrived, so one cable delays messages that never cross it. A message
is slow beside those of its size and workload entry that ended before the root began or, where none had, that the root
did not reach; an operation beside operations of its kind, size and number of ranks. Where an entry has a message or an
operation that failed or was late, its messages that were not done at the end of the run are hurt as well: they are the
late ones, and those that wait for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fabric.explain.evidence import Evidence
from fabric.runs import files
from fabric.runs.rundir import RunDir
from fabric.units import PS_PER_NS, count, format_time_ps, listed
from telemetry.diagnosis.root import Root

SLOWER: Final = 2.0
"""A message is hurt where it took so many times the median of similar messages."""
LONGER: Final = 1.15
"""An operation is hurt where it took so many times the median of similar ones before, as in FabricJobSlowdown."""
PEERS: Final = 3
"""Messages or operations that the root did not reach: at least so many give a median."""
_NEVER: Final = -1
_KINDS: Final = 3
_KEY: Final = ("operation_type", "algorithm", "kind", "operation_bytes", "operation_ranks")

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LateOperations:
    """Operations of one kind that took longer."""

    name: str
    """'all-reduce (dp)'."""
    number: int
    longest_ns: float
    usual_ns: float

    @property
    def words(self) -> str:
        """'3 of all-reduce (dp), up to 44ms instead of 22ms'."""
        longest, usual = (format_time_ps(round(it * PS_PER_NS)) for it in (self.longest_ns, self.usual_ns))
        return f"{self.number:,} of {self.name}, up to {longest} instead of {usual}"


@dataclass(frozen=True, slots=True)
class Dependent:
    """Messages and operations of schedules while a root lasted. All messages are those between hosts."""

    known: bool
    """Whether the run recorded its messages; else those numbers are 0."""
    messages: int
    """Posted, and under way while it lasted."""
    failed: int
    slower: int
    """Of those under way, done or late."""
    undone: int
    """Not done at the end, of entries with something late."""
    total: int
    """Messages of these entries, posted or not."""
    operations: int
    """Under way while it lasted."""
    late: tuple[LateOperations, ...]
    unlike: int
    """Operations under way for which there is no similar one to compare with."""
    hosts: tuple[tuple[str, int], ...]
    """Senders and receivers of messages that failed or were late, with their number, most first."""

    @property
    def lines(self) -> list[str]:
        """Sentences: messages, operations."""
        parts = [f"{self.failed:,} failed"] if self.failed else []
        if self.slower:
            parts.append(f"{self.slower:,} took more than {SLOWER:g} times as long as similar messages")
        if self.undone:
            parts.append(f"{self.undone:,} of {self.total:,} of their schedules were not done when the run ended")
        found = []
        if self.known:
            head = f"of {count(self.messages, 'message')} under way, which depend on one another: "
            found.append(head + (", ".join(parts) or "none failed or was late"))
        else:
            found.append("which messages it hurt is not known: the run did not record those of its transfers")
            found += parts
        late = sum(it.number for it in self.late)
        if late:
            of = f"{late:,} of {count(self.operations, 'collective operation')} took longer"
            found.append(f"{of}: {listed([it.words for it in self.late], _KINDS, '; ')}")
        if self.unlike:
            what = f"how long {count(self.unlike, 'operation')} would have taken without it is not known"
            found.append(f"{what}: no similar one ended before it, or ran elsewhere")
        return found

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "messages_recorded": self.known,
            "messages": self.messages,
            "failed": self.failed,
            "slower": self.slower,
            "undone": self.undone,
            "total": self.total,
            "operations": self.operations,
            "operations_late": [
                {"name": it.name, "number": it.number, "longest_ns": it.longest_ns, "usual_ns": it.usual_ns}
                for it in self.late
            ],
            "operations_without_like": self.unlike,
        }


@dataclass(frozen=True, slots=True)
class _Transfers:
    """Transfers of a run between hosts, columns (n,); `row` is their number in the whole schedule."""

    row: Ints
    src: NDArray[np.str_]
    dst: NDArray[np.str_]
    entry: Ints
    operation: Ints
    messages: Ints
    done: Ints
    failed: Ints
    start_ns: Ints
    end_ns: Ints
    reached: Flags
    """Whether a root's cables are on the path."""
    keys: Sequence[tuple[Any, ...]]
    """Of each operation: its entry, and the columns of _KEY."""


def dependent_hurt(run: RunDir, evidence: Evidence, root: Root, cables: set[int]) -> Dependent | None:
    """Who was hurt among messages of transfers while a root lasted; None: the run has none, or none was under way.

    Parameters
    ----------
    cables : PortIds of both ends of the root's cables, and of those that it paused
    """
    its = _read(run, evidence, cables)
    if its is None:
        return None
    stop_ns = int(run.summary["stop"]["time_ns"])
    n_operations = len(its.keys)
    begins, ends = _spans(its)
    under_way = (begins >= 0) & (begins <= root.ended_ns) & ((ends < 0) | (ends >= root.began_ns))
    if not under_way.any():
        return None
    took = np.where(ends >= 0, ends, stop_ns) - begins
    crossed = np.zeros(n_operations, np.bool_)
    crossed[its.operation[its.reached]] = True
    groups = _numbered(its.keys)
    usual, by_peers = _usual(groups, took, (begins >= 0) & (ends >= 0), ends <= root.began_ns, crossed, least=1)
    limit = np.where(by_peers, SLOWER, LONGER) * usual
    late = under_way & (took > limit) & (crossed | ~by_peers)
    unlike = under_way & np.isnan(usual)
    n_entries = int(its.entry.max()) + 1
    hurt_entries = np.zeros(n_entries, np.bool_)
    hurt_entries[[its.keys[row][0] for row in np.flatnonzero(late).tolist()]] = True
    known = files.TRANSFER_MESSAGES in run.listed
    n_messages = n_failed = n_slower = 0
    places: Counter[str] = Counter()
    if known:
        n_messages, failed, slow = _messages(run, its, root, stop_ns)
        n_failed, n_slower = len(failed), len(slow)
        for row in (*failed.tolist(), *slow.tolist()):
            places.update((str(its.src[row]), str(its.dst[row])))
        hurt_entries[its.entry[np.concatenate([failed, slow])]] = True
    else:
        n_failed = int(its.failed[under_way[its.operation]].sum())
        hurt_entries[its.entry[under_way[its.operation] & (its.failed > 0)]] = True
    mine = hurt_entries[its.entry]
    total = int(its.messages[mine].sum())
    return Dependent(
        known, n_messages, n_failed, n_slower, total - int((its.done + its.failed)[mine].sum()), total,
        int(under_way.sum()), _late(its, late, took, usual), int(unlike.sum()),
        tuple(sorted(places.items(), key=lambda it: (-it[1], it[0]))),
    )  # fmt: skip


def _read(run: RunDir, evidence: Evidence, cables: set[int]) -> _Transfers | None:
    """Transfers between different hosts; None where there are none."""
    names = ["operation", "src", "dst", "path", "messages", "done", "failed", "start_ns", "end_ns", *_KEY]
    table = run.transfers(names)
    remote = np.flatnonzero(pc.not_equal(_texts(table["src"]), _texts(table["dst"])).to_numpy(zero_copy_only=False))
    if not remote.size:
        return None
    table = table.take(pa.array(remote))
    operation = table["operation"].to_numpy(zero_copy_only=False).astype(str)
    labels, first, place = np.unique(operation, return_index=True, return_inverse=True)
    _, owner = np.unique([it.partition("/")[0] for it in labels.tolist()], return_inverse=True)
    columns = [table[name].take(pa.array(first)).to_pylist() for name in _KEY]
    src, dst = (table[name].to_numpy(zero_copy_only=False).astype(str) for name in ("src", "dst"))
    messages, done, failed = (table[name].to_numpy().astype(np.int64) for name in ("messages", "done", "failed"))
    start_ns, end_ns = (
        pc.fill_null(table[name], _NEVER).to_numpy().astype(np.int64) for name in ("start_ns", "end_ns")
    )
    return _Transfers(
        remote, src, dst, owner[place].astype(np.int64), place.astype(np.int64),
        messages, done, failed, start_ns, end_ns,
        _over(evidence, table["path"], src, dst, cables), list(zip(owner.tolist(), *columns, strict=True)),
    )  # fmt: skip


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _over(
    evidence: Evidence, paths: pa.ChunkedArray, src: NDArray[np.str_], dst: NDArray[np.str_], cables: set[int]
) -> Flags:
    """(n,) whether a transfer's packets cross one of these cables; where switches spread them, whether they may."""
    fabric = evidence.fabric
    wanted = {fabric.port_name(fabric.ports[port].id) for port in cables}
    found = np.zeros(len(src), np.bool_)
    spread: dict[tuple[str, str], bool] = {}
    for row, path in enumerate(paths.to_pylist()):
        if path is not None:
            found[row] = not wanted.isdisjoint(path)
            continue
        pair = (str(src[row]), str(dst[row]))
        if pair not in spread:
            ends = (int(fabric.by_name[name].id) for name in pair)
            spread[pair] = not cables.isdisjoint(evidence.ports_between(*ends))
        found[row] = spread[pair]
    return found


def _spans(its: _Transfers) -> tuple[Ints, Ints]:
    """(n_operations,) twice: when each began and ended in ns; _NEVER where it did not."""
    never = np.iinfo(np.int64).max
    begins = np.full(len(its.keys), never)
    np.minimum.at(begins, its.operation, np.where(its.start_ns < 0, never, its.start_ns))
    ends = np.full(len(its.keys), _NEVER)
    np.maximum.at(ends, its.operation, its.end_ns)
    undone = np.zeros(len(its.keys), np.bool_)
    undone[its.operation[its.done < its.messages]] = True
    return np.where(begins == never, _NEVER, begins), np.where(undone, _NEVER, ends)


def _numbered(keys: Sequence[tuple[Any, ...]]) -> Ints:
    """(n,) one number for each distinct key."""
    known: dict[tuple[Any, ...], int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def _usual(
    groups: Ints, took: Ints, done: Flags, before: Flags, reached: Flags, least: int = PEERS
) -> tuple[NDArray[np.float64], Flags]:
    """(n,) usual time of each row's group, nan: not known, and whether it is that of rows which a root did not reach.

    Parameters
    ----------
    before : rows that ended before the root began, of which `least` give a median
    reached : rows that it reached
    """
    usual, by_peers = np.full(len(groups), np.nan), np.zeros(len(groups), np.bool_)
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        earlier, beside = rows[done[rows] & before[rows]], rows[done[rows] & ~reached[rows]]
        if earlier.size >= least:
            usual[rows] = float(np.median(took[earlier]))
        elif beside.size >= PEERS:
            usual[rows], by_peers[rows] = float(np.median(took[beside])), True
    return usual, by_peers


def _messages(run: RunDir, its: _Transfers, root: Root, stop_ns: int) -> tuple[int, Ints, Ints]:
    """Messages under way while a root lasted, and the rows of transfers of those that failed and of those that were
    late, one a message.
    """
    table = run.transfer_messages(["transfer", "size_bytes", "start_ns", "end_ns", "state"])
    place = np.full(int(its.row.max()) + 1, _NEVER)
    place[its.row] = np.arange(len(its.row))
    transfer = table["transfer"].to_numpy().astype(np.int64)
    kept = np.flatnonzero(np.isin(transfer, its.row))
    row = place[transfer[kept]]
    size = table["size_bytes"].to_numpy()[kept].astype(np.int64)
    start, end = (
        pc.fill_null(table[name], _NEVER).to_numpy()[kept].astype(np.int64) for name in ("start_ns", "end_ns")
    )
    failed = pc.equal(_texts(table["state"]), "failed").to_numpy(zero_copy_only=False)[kept]
    under_way = (start >= 0) & (start <= root.ended_ns) & ((end < 0) | (end >= root.began_ns))
    took = np.where(end >= 0, end, stop_ns) - start
    reached = its.reached[row]
    groups = np.unique(np.stack([its.entry[row], size]), axis=1, return_inverse=True)[1].reshape(-1)
    usual, by_peers = _usual(groups, took, (end >= 0) & ~failed, end <= root.began_ns, reached)
    slow = under_way & ~failed & (took > SLOWER * usual) & (reached | ~by_peers)
    return int(under_way.sum()), row[under_way & failed], row[slow]


def _late(its: _Transfers, late: Flags, took: Ints, usual: NDArray[np.float64]) -> tuple[LateOperations, ...]:
    """Late operations by kind, those that lost most time first."""
    kinds: dict[str, list[int]] = {}
    for row in np.flatnonzero(late).tolist():
        _, operation, _, kind, *_ = its.keys[row]
        name = str(operation) or "transfer"
        kinds.setdefault(f"{name} ({kind})" if kind else name, []).append(row)
    found = []
    for name, rows in kinds.items():
        worst = max(rows, key=lambda row: took[row] - usual[row])
        lost = float((took[rows] - usual[rows]).sum())
        found.append((lost, LateOperations(name, len(rows), float(took[worst]), float(usual[worst]))))
    return tuple(it for _, it in sorted(found, key=lambda it: (-it[0], it[1].name)))

"""transfers.parquet and transfer_messages.parquet: the outcome of every transfer, and of each of its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.collectives.transfers import OperationGroup, ScheduleEntry, Transfers
from fabric.dataplane.state.codes import QpState
from fabric.dataplane.state.types import NO_QP
from fabric.runs import schemas
from fabric.runs.messages import DONE, FAILED, OUTSTANDING, STATES, WAITING
from fabric.runs.series import named
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot
    from fabric.dataplane.state.params import EngineParams

ROW: Final = np.dtype(
    [(name, np.int64) for name in ("transfer", "index", "size_bytes", "ready", "start", "first", "arrived", "end",
                                   "retransmits", "failed")]
)  # fmt: skip
"""A message of a transfer, times in picoseconds; columns of engine/issued.ISSUED_MESSAGE."""
_HELD: Final = "held_messages"


@dataclass(frozen=True)
class TransferPlan:
    """What a run's transfers are for; columns (n,), row = transfer."""

    operations: Sequence[str]
    operation: NDArray[np.int64]
    size_bytes: NDArray[np.int64]
    """Payload of all messages."""
    src: NDArray[np.int64]
    """A number for each sending host."""
    dst: NDArray[np.int64]
    """The numbers of the receiving hosts."""
    records_messages: bool
    """The times of every message are results."""
    groups: Sequence[OperationGroup] = ()
    """What the operations are, one each; empty: unknown."""


@dataclass(frozen=True, kw_only=True)
class ScheduledTransfers(TransferPlan):
    """A plan before its run, with what the run's directory keeps of the schedule."""

    schedule: Transfers
    """Its `src` and `dst` are NodeIds."""
    ranks: NDArray[np.int64]
    """(2, n) ranks that send and receive, within their entry of the workload."""
    entries: Sequence[ScheduleEntry] = ()
    """What the entries of the workload are."""

    @classmethod
    def of(cls, params: EngineParams, *, records_messages: bool) -> ScheduledTransfers | None:
        """The plan of a run; None where it has no transfers."""
        from fabric.dataplane.state.schedule import totals  # noqa: PLC0415  its parameters load much

        given = params.transfers
        if not len(given):
            return None
        size_bytes = totals(given.rows, params.frames.payload_bytes).size_bytes
        return cls(
            list(given.operations),
            given.rows.operation,
            size_bytes,
            given.rows.src,
            given.rows.dst,
            records_messages,
            list(given.groups),
            schedule=given.rows,
            ranks=given.rank_columns,
            entries=list(given.entries),
        )


def states(now: Snapshot) -> NDArray[np.int8]:
    """Position in messages.STATES of every transfer: done once all of its messages are, failed once one has."""
    rows = now.transfers
    found = np.full(len(rows), WAITING, np.int8)
    found[rows["first_ps"] >= 0] = OUTSTANDING
    todo = np.where(rows["qp"] == NO_QP, rows["count"], rows["n_sent"])
    found[rows["done_messages"] >= todo] = DONE
    found[rows["failed_messages"] > 0] = FAILED
    return found


def is_waiting(rows: NDArray[Any]) -> bool:
    """Whether a message of a transfer (rows of TRANSFER) is neither done nor failed."""
    todo = np.where(rows["qp"] == NO_QP, rows["count"], rows["n_sent"])
    return bool((rows["done_messages"] + rows["failed_messages"] < todo).any())


def is_outstanding(now: Snapshot) -> bool:
    """Whether a message of a transfer is posted and not acknowledged."""
    rows = now.transfers
    pairs = now.qps[np.unique(rows["qp"][rows["qp"] != NO_QP]).astype(np.int64)]
    return bool(((pairs["acked_psn"] < pairs["posted_psn"]) & (pairs["state"] != QpState.FAILED)).any())


def table(now: Snapshot, plan: TransferPlan, paths: pa.Array) -> pa.Table:
    """The table of schemas.TRANSFERS, one row per transfer; paths: one entry each, as of messages.table."""
    rows, received = now.transfers, now.rtransfers
    hosts = [node.name for node in now.fabric.nodes[: len(now.hosts)]]
    computes = rows["qp"] == NO_QP
    pair = (
        now.qps[np.where(computes, 0, rows["qp"]).astype(np.int64)]
        if len(now.qps)
        else np.zeros(len(rows), now.qps.dtype)
    )
    columns = {
        "transfer": pa.array(np.arange(len(rows))),
        "operation": named(plan.operation, list(plan.operations)),
        **_group_columns(plan),
        "src": named(rows["src"].astype(np.int64), hosts),
        "dst": named(rows["dst"].astype(np.int64), hosts),
        "qp": pa.array(np.where(computes, 0, rows["qp"]).astype(np.int32), pa.int32(), mask=computes),
        "priority": pa.array(pair["tc"].astype(np.int8), mask=computes),
        "path": paths,
        "messages": pa.array(np.where(computes, rows["count"], rows["n_sent"])),
        "size_bytes": pa.array(plan.size_bytes),
        "done": pa.array(np.ascontiguousarray(rows["done_messages"])),
        "failed": pa.array(np.ascontiguousarray(rows["failed_messages"])),
        "start_ns": _moment(rows["first_ps"]),
        "arrived_ns": _moment(received["arrived_ps"]),
        "end_ns": _moment(rows["completed_ps"]),
        "waited_ns": pa.array(rows["waited_ps"] // PS_PER_NS),
        "retransmits": pa.array(np.ascontiguousarray(rows["retransmitted_pkts"])),
        "state": named(states(now).astype(np.int64), list(STATES)),
    }
    return pa.table(columns, schema=schemas.TRANSFERS)


def _group_columns(plan: TransferPlan) -> dict[str, pa.Array]:
    """The operation's group at each of its transfers."""
    groups = plan.groups or [OperationGroup()] * len(plan.operations)
    found: dict[str, pa.Array] = {}
    for column, name in (("operation_type", "operation"), ("algorithm", "algorithm"), ("kind", "kind")):
        texts, place = np.unique(np.array([getattr(it, name) for it in groups], np.str_), return_inverse=True)
        found[column] = named(place[plan.operation].astype(np.int64), texts.tolist())
    for column, name in (("step", "step"), ("operation_bytes", "size_bytes"), ("operation_ranks", "ranks")):
        found[column] = pa.array(np.array([getattr(it, name) for it in groups], np.int64)[plan.operation])
    return found


def plan_of(table: pa.Table) -> TransferPlan:
    """The plan of a recorded run's transfers, from the table of schemas.TRANSFERS."""
    operations = table["operation"].to_numpy(zero_copy_only=False).astype(str)
    names, first, place = np.unique(operations, return_index=True, return_inverse=True)
    columns = {name: table[name].to_pylist() for name in ("operation_type", "algorithm", "kind")}
    numbers = {name: table[name].to_pylist() for name in ("step", "operation_bytes", "operation_ranks")}
    groups = [
        OperationGroup(*(columns[name][row] for name in columns), *(numbers[name][row] for name in numbers))
        for row in first.tolist()
    ]
    ends = [table[name].to_numpy(zero_copy_only=False).astype(str) for name in ("src", "dst")]
    hosts = np.unique(np.concatenate(ends), return_inverse=True)[1].astype(np.int64)
    return TransferPlan(
        names.tolist(),
        place.astype(np.int64),
        table["size_bytes"].to_numpy(),
        hosts[: len(table)],
        hosts[len(table) :],
        records_messages=False,
        groups=groups,
    )


def summary(now: Snapshot, plan: TransferPlan | None) -> dict[str, Any] | None:
    """The section of summary.json; None without transfers."""
    if plan is None:
        return None
    rows = now.transfers
    counts = np.bincount(states(now), minlength=len(STATES)).tolist()
    return {
        "by_state": dict(zip(STATES, counts, strict=True)),
        "messages": int(np.where(rows["qp"] == NO_QP, rows["count"], rows["n_sent"]).sum()),
        "messages_done": int(rows["done_messages"].sum()),
        "messages_failed": int(rows["failed_messages"].sum()),
        "size_bytes": int(plan.size_bytes.sum()),
        "messages_recorded": plan.records_messages,
    }


class MessageLog:
    """Messages in the order of their ends, although the engine reports some before others that ended earlier."""

    def __init__(self) -> None:
        self._held = np.empty(0, ROW)

    def take(self, rows: NDArray[Any], complete_ps: int) -> NDArray[np.void]:
        """Add rows of Emulator.drain_messages(); returns those that no later row can precede, in order: what ended
        before `complete_ps`, up to which every device has been simulated.
        """
        self._held = ordered(np.concatenate([self._held, coded(rows)]))
        whole = int(np.searchsorted(moments(self._held), complete_ps))
        found, self._held = self._held[:whole], self._held[whole:]
        return found

    def finish(self, under_way: NDArray[Any]) -> NDArray[np.void]:
        """The rows that are left, then the messages under way."""
        found, self._held = np.concatenate([self._held, ordered(coded(under_way))]), np.empty(0, ROW)
        return found

    def save(self) -> dict[str, NDArray[Any]]:
        """State for a checkpoint."""
        return {_HELD: self._held.view(np.int64)}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of save()."""
        self._held = np.ascontiguousarray(saved[_HELD]).view(ROW)


def coded(rows: NDArray[Any]) -> NDArray[np.void]:
    """Rows of the engine as rows of the stream."""
    found = np.empty(len(rows), ROW)
    for name, column in zip(ROW.names or (), rows.dtype.names or (), strict=True):
        found[name] = rows[column]
    return found


def moments(rows: NDArray[np.void]) -> NDArray[np.int64]:
    """The end of each message, or its posting where it failed at once or has not ended."""
    return np.where(rows["end"] < 0, rows["start"], rows["end"])


def ordered(rows: NDArray[np.void]) -> NDArray[np.void]:
    """By (moment, transfer, index)."""
    return rows[np.lexsort((rows["index"], rows["transfer"], moments(rows)))]


def decode(rows: pa.Table, fabric: Fabric) -> pa.Table:
    """Columns of schemas.TRANSFER_MESSAGES."""
    del fabric  # numbers only
    columns = {
        name: _moment(rows[name.removesuffix("_ns")].to_numpy()) if name.endswith("_ns") else rows[name]
        for name in schemas.TRANSFER_MESSAGES.names
        if name != "state"
    }
    state = np.where(rows["end"].to_numpy() >= 0, DONE, OUTSTANDING)
    state[rows["failed"].to_numpy() != 0] = FAILED
    columns["state"] = named(state.astype(np.int64), list(STATES))
    return pa.table(columns, schema=schemas.TRANSFER_MESSAGES)


def _moment(time_ps: NDArray[np.int64]) -> pa.Array:
    return pa.array(time_ps // PS_PER_NS, pa.int64(), mask=time_ps < 0)

"""Messages of transfers for readers: those that ended, those under way; and the growth of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import Issue
from fabric.dataplane.state.params import Transfers
from fabric.dataplane.state.schedule import cycle_of, unfinished
from fabric.dataplane.state.types import State, Table, rows
from fabric.errors import FabricError

ISSUED_MESSAGE: Final = np.dtype(
    [
        ("transfer", np.int64),
        ("index", np.int64),
        ("size_bytes", np.int64),
        ("ready_ps", np.int64),  # its needs were met and the message before it had been posted
        ("start_ps", np.int64),  # posted; of a computation: begun
        ("first_ps", np.int64),  # first packet at the receiver; -1: none
        ("arrived_ps", np.int64),  # last packet there; -1: not yet
        ("end_ps", np.int64),  # acknowledged, or computed; -1: not yet
        ("retransmitted_pkts", np.int64),
        ("failed", np.int64),
    ]
)
_MOST_NAMED: Final = 8


def finished(state: State) -> Table:
    """Rows of messages that have ended and were not read before."""
    return _read(state, np.flatnonzero(state.issued["state"] == Issue.DONE))


def under_way(state: State) -> Table:
    """Rows of messages that were posted and have not ended."""
    return _read(state, np.flatnonzero(state.issued["state"] == Issue.LIVE))


def _read(state: State, places: NDArray[np.int64]) -> Table:
    numbers = places + int(state.config[0]["n_messages"])
    found = np.empty(len(places), ISSUED_MESSAGE)
    for name in ("transfer", "index", "ready_ps"):
        found[name] = state.issued[name][places]
    for name in ("size_bytes", "start_ps", "end_ps", "retransmitted_pkts", "failed"):
        found[name] = state.messages[name][numbers]
    for name in ("first_ps", "arrived_ps"):
        found[name] = state.rmessages[name][numbers]
    return found


def in_order(parts: Sequence[Table]) -> Table:
    """One table in order of (end, or posting of what has not ended; transfer; index)."""
    table = np.concatenate([np.empty(0, ISSUED_MESSAGE), *parts])
    moment = np.where(table["end_ps"] < 0, table["start_ps"], table["end_ps"])
    return table[np.lexsort((table["index"], table["transfer"], moment))]


def grown(state: State) -> State:
    """The state with twice the rows for messages of transfers."""
    more = len(state.issued) - 1
    tables: dict[str, Any] = {}
    for name in ("messages", "rmessages", "issued", "ahead"):
        old = getattr(state, name)
        tables[name] = rows(len(old) + more, old.dtype)
        tables[name][: len(old)] = old
    return state._replace(**tables)


def check_schedule(transfers: Transfers) -> None:
    """Raises: FabricError where transfers wait for each other, so that they would never finish."""
    stuck = unfinished(transfers.rows)
    if len(stuck):
        cycle = cycle_of(transfers.rows, stuck)
        text = " -> ".join(name_of(transfers, row) for row in [*cycle[:_MOST_NAMED], cycle[0]])
        raise FabricError(
            f"{len(stuck)} transfers can never finish; these wait for each other: {text}", "remove one of these needs"
        )


def name_of(transfers: Transfers, row: int) -> str:
    """A transfer for a reader: its row, its operation and its ends."""
    rows_ = transfers.rows
    operation = int(rows_.operation[row])
    name = transfers.operations[operation] if operation < len(transfers.operations) else f"operation {operation}"
    return f"#{row} ({name}, host {rows_.src[row]} to {rows_.dst[row]})"

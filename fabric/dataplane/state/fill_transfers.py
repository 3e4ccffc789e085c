"""Initial values of transfers and their needs. The driver plans the first postings (host/transfers.begin)."""

from __future__ import annotations

import numpy as np

from fabric.collectives.transfers import Event
from fabric.dataplane.state import types as t
from fabric.dataplane.state.codes import LINE, Shared
from fabric.dataplane.state.params import EngineParams
from fabric.dataplane.state.schedule import totals
from fabric.errors import InvariantError

LEAST_ISSUED = 64
ISSUED_PER_HOST = 8
"""Message rows to begin with; the table grows."""


def issued_rows(params: EngineParams) -> int:
    """Rows of MESSAGE for messages of transfers, to begin with."""
    if not len(params.transfers):
        return 0
    return max(ISSUED_PER_HOST * len(np.unique(params.transfers.rows.src)), LEAST_ISSUED)


def fill_transfers(state: t.State, params: EngineParams) -> None:
    """Write transfers, needs grouped by their later and by their earlier transfer, and the hosts' regions.

    Raises: InvariantError for a table that no engine could carry out (scenario/compile should have refused it).
    """
    given, rows = params.transfers, params.transfers.rows
    n_messages = len(params.messages.src)
    state.shared[Shared.SPARE_MESSAGE * LINE] = n_messages + 1
    if not len(given):
        return
    _check(params)
    made = state.transfers
    for name in ("src", "dst", "count", "small_bytes", "unit_bytes", "n_longer", "modulus", "start_ps", "delay_ps",
                 "delay_fs_per_byte"):  # fmt: skip
        made[name] = getattr(rows, name)
    made["first"], made["stride"] = rows.first % rows.modulus, rows.stride % rows.modulus
    made["qp"] = np.where(given.qp < 0, t.NO_QP, given.qp)
    made["number"] = n_messages + 1 + np.cumsum(rows.count) - rows.count
    made["n_sent"] = totals(rows, params.frames.payload_bytes).messages
    made["posted_ps"] = rows.start_ps
    made["first_ps"] = made["completed_ps"] = -1
    state.rtransfers["arrived_ps"] = -1
    places = np.arange(len(given))
    by_later = np.argsort(rows.later, kind="stable")
    needs, later = state.needs[: len(by_later)], rows.later[by_later]
    for name in ("earlier", "later", "event", "lead", "per"):
        needs[name] = getattr(rows, name)[by_later]
    made["first_need"], made["n_needs"] = np.searchsorted(later, places), np.bincount(later, minlength=len(given))
    by_earlier = np.lexsort((needs["event"], needs["earlier"]))
    state.wakes[: len(by_earlier)] = by_earlier
    made["first_wake"] = np.searchsorted(needs["earlier"][by_earlier], places)
    for event, name in ((Event.ARRIVED, "n_arrived"), (Event.COMPLETED, "n_completed"), (Event.POSTED, "n_posted")):
        made[name] = np.bincount(needs["earlier"][needs["event"] == event], minlength=len(given))
    counts = np.bincount(rows.src, minlength=len(state.agendas))
    state.agendas["turns"] = np.cumsum(counts) - counts


def _check(params: EngineParams) -> None:
    given, rows, pairs = params.transfers, params.transfers.rows, params.queue_pairs
    found = list(rows.problems())
    sent = given.qp >= 0
    if (sent == (rows.src == rows.dst)).any():
        found.append("a transfer to another host has no queue pair, or a computation has one")
    elif (
        given.qp.max() >= len(pairs.src)
        or ((pairs.src[given.qp[sent]] != rows.src[sent]) | (pairs.dst[given.qp[sent]] != rows.dst[sent])).any()
    ):
        found.append("a transfer's queue pair leads elsewhere")
    if len(rows) and (rows.count.max() >= 1 << 32 or rows.modulus.max() >= 1 << 31):
        found.append("a transfer has more than 2^32 messages, or a modulus above 2^31")
    if found:
        raise InvariantError("transfers: " + "; ".join(found))

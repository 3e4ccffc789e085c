"""schedule.parquet and needs.parquet: the transfers that a run carried out, so that its readers need no other file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.collectives.transfers import NEED_COLUMNS, Event, Transfers
from fabric.runs import schemas
from fabric.runs.series import named

if TYPE_CHECKING:  # annotations only
    from fabric.runs.rundir import RunDir

_EVENTS: Final = [event.name.lower() for event in Event]


def columns_table(rows: Transfers, ranks: NDArray[np.int64]) -> pa.Table:
    """The table of schemas.SCHEDULE; ranks: (2, n) of sources and destinations."""
    given = {"transfer": np.arange(len(rows)), "src_rank": ranks[0], "dst_rank": ranks[1]}
    return pa.table(
        {
            name: pa.array(given[name] if name in given else np.ascontiguousarray(getattr(rows, name)), pa.int64())
            for name in schemas.SCHEDULE.names
        },
        schema=schemas.SCHEDULE,
    )


def needs_table(rows: Transfers) -> pa.Table:
    """The table of schemas.NEEDS."""
    columns = {name: pa.array(np.ascontiguousarray(getattr(rows, name)), pa.int64()) for name in NEED_COLUMNS[:-1]}
    return pa.table({**columns, "event": named(rows.event, _EVENTS)}, schema=schemas.NEEDS)


def read(run: RunDir) -> tuple[Transfers, list[str]]:
    """(the transfers of a run in ranks of their entries, names of the operations by number).

    Raises: RunDirError where the files are missing or damaged.
    """
    rows, needs = run.schedule(), run.needs()
    operation = run.transfers(["operation"])["operation"].combine_chunks()
    if not pa.types.is_dictionary(operation.type):
        operation = operation.dictionary_encode()

    def column(table: pa.Table, name: str) -> NDArray[np.int64]:
        return np.asarray(table[name].combine_chunks()).astype(np.int64)

    event = needs["event"].combine_chunks()
    if not pa.types.is_dictionary(event.type):
        event = event.dictionary_encode()
    codes = np.array([_EVENTS.index(name) for name in event.dictionary.to_pylist()] or [0], np.int64)
    columns = {name: column(rows, name) for name in schemas.SCHEDULE.names[3:]}
    columns |= {name: column(needs, name) for name in NEED_COLUMNS[:-1]}
    columns["src"], columns["dst"] = column(rows, "src_rank"), column(rows, "dst_rank")
    columns["operation"] = np.asarray(operation.indices).astype(np.int64)
    columns["event"] = codes[np.asarray(event.indices).astype(np.int64)] if len(event) else np.empty(0, np.int64)
    found = Transfers(**columns)
    return found, operation.dictionary.to_pylist()

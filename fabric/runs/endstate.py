"""tables.npz: the tables of counters at the end of a run, with settings that no time series has.

fabric/runs/replay.py rebuilds Snapshots from them. Links between packet rows and the last window of a port are left
out: they have no meaning without the packets, and differ between schedulers.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state import datagram_tables, transfer_tables, types
from fabric.errors import RunDirError
from fabric.runs import files
from fabric.runs.content import Content
from fabric.runs.rundir import RunDir

TABLES: Final = {
    "devices": types.DEVICE,
    "ports": types.PORT,
    "queues": types.QUEUE,
    "pgs": types.PG,
    "prios": types.PRIO,
    "pools": types.POOL,
    "switches": types.SWITCH,
    "hosts": types.HOST,
    "qps": types.QP,
    "rqps": types.RQP,
    "messages": types.MESSAGE,
    "rmessages": types.RMESSAGE,
    "drops": types.DROP,
    "groups": types.GROUP,
    "members": types.MEMBER,
    "segments": types.SEGMENT,
    "asks": types.ASK,
    "streams": datagram_tables.STREAM,
    "rstreams": datagram_tables.RSTREAM,
    "datagram_drops": types.DROP,
    "transfers": transfer_tables.TRANSFER,
    "rtransfers": transfer_tables.RTRANSFER,
}
"""Every table of a Snapshot."""
_WHERE_PRESENT: Final = ("transfers", "rtransfers", "streams", "rstreams", "datagram_drops")
"""Left out of the digest where they are empty."""
_NEEDLESS: Final = ("devices", "rmessages")
"""Only the number of rows of these tables is kept: read() returns zeros."""
LINKS: Final = ("head", "tail", "ahead", "out_window", "_first", "_last", "free_pending", "cells_row")
"""Endings of the names of fields that are left out."""


def write(
    folder: Path,
    now: Snapshot,
    ideal_ps: NDArray[np.int64],
    content: Content | None = None,
    sums: files.Sums | None = None,
) -> None:
    """Write the tables of the last Snapshot, and (n_messages,) completion times in an idle fabric.

    `content` gets them for the digest of the run, `sums` the checksum of the file.
    """
    tables: dict[str, Any] = {name: _packed(getattr(now, name), empty=name in _NEEDLESS) for name in TABLES}
    facts = np.array([now.time_ps, now.finished, now.events, now.packet_hops], np.int64)
    if content is not None:
        for name, table in tables.items():
            if name in _WHERE_PRESENT and not len(table):
                continue
            content.add_array(f"{files.TABLES} {name}", table)
        content.add_array(f"{files.TABLES} ideal_ps", ideal_ps)
    with files.replacing(folder / files.TABLES, sums) as pending, pending.open("wb") as out:
        np.savez_compressed(out, facts=facts, ideal_ps=ideal_ps, **tables)


def read(run: RunDir) -> Snapshot:
    """The last Snapshot. Raises: RunDirError."""
    found = _load(run)
    path = run.path / files.TABLES
    time_ps, finished, events, hops = found["facts"].tolist()
    return Snapshot(
        time_ps=time_ps,
        fabric=run.fabric,
        finished=bool(finished),
        events=events,
        packet_hops=hops,
        **{name: _unpacked(found[name], kind, path, name) for name, kind in TABLES.items()},
    )


def ideal_ps(run: RunDir) -> NDArray[np.int64]:
    """(n_messages,) completion times in an idle fabric. Raises: RunDirError."""
    return np.asarray(_load(run)["ideal_ps"], np.int64)


def _load(run: RunDir) -> dict[str, NDArray[Any]]:
    path = run.file(files.TABLES)
    tables: dict[str, NDArray[Any]] = {}
    try:
        with np.load(path, allow_pickle=False) as found:
            tables.update((name, found[name]) for name in ("facts", "ideal_ps", *TABLES))
        damage = ", ".join(f"{name} is no array" for name, table in tables.items() if not isinstance(table, np.ndarray))
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        zipfile.BadZipFile,
        zlib.error,
        tokenize.TokenError,
    ) as error:
        damage = str(error)
    if damage:
        raise RunDirError(
            f"{path} cannot be read: {damage}",
            "it is damaged, or another version wrote it; run the scenario again with --force",
        )
    return tables


def _packed(table: NDArray[Any], *, empty: bool) -> NDArray[Any]:
    """The rows without links and without padding, whose bytes have no meaning and may differ."""
    names = [] if empty else [name for name in table.dtype.names or () if not name.endswith(LINKS)]
    if not names:
        return np.zeros(table.shape, np.uint8)
    packed: NDArray[Any] = repack_fields(table[names])
    return packed


def _unpacked(packed: NDArray[Any], kind: np.dtype[np.void], path: Path, table_name: str) -> NDArray[Any]:
    """The rows as in the engine; fields that were left out are 0. Raises: RunDirError for an unknown column."""
    table = np.zeros(packed.shape, kind)
    for name in packed.dtype.names or ():
        if name not in (kind.names or ()):
            raise RunDirError(
                f"{path} has a column '{table_name}.{name}' that this version does not know",
                "another version wrote it; run the scenario again with --force",
            )
        table[name] = packed[name]
    return table

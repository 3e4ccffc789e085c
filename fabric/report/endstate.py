"""tables.npz: the counters' tables as a run left them, with the settings that no time series repeats.

Kept so that fabric/report/replay.py can build Snapshots again. Links between packet rows are left out, and which window
of the engine a port has sent in: they mean nothing without the packets, and differ between schedulers.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from fabric.engine.counters import Snapshot
from fabric.errors import RunDirError
from fabric.report import files
from fabric.report.content import Content
from fabric.report.rundir import RunDir
from fabric.state import types

TABLES: Final = {
    "devices": types.DEVICE, "ports": types.PORT, "queues": types.QUEUE, "pgs": types.PG, "prios": types.PRIO,
    "pools": types.POOL, "switches": types.SWITCH, "hosts": types.HOST, "qps": types.QP, "rqps": types.RQP,
    "messages": types.MESSAGE, "rmessages": types.RMESSAGE, "drops": types.DROP, "groups": types.GROUP,
    "members": types.MEMBER, "segments": types.SEGMENT, "asks": types.ASK}
"""Every table of a Snapshot."""
_NEEDLESS: Final = ("devices", "rmessages")
"""Only their number of rows is kept: read() has zeros there."""
LINKS: Final = ("head", "tail", "out_window", "_first", "_last", "free_pending", "cells_row")
"""How the names of fields end that are left out."""


def write(folder: Path, now: Snapshot, ideal_ps: NDArray[np.int64], content: Content | None = None,
          sums: files.Sums | None = None) -> None:
    """Write the tables of the last Snapshot, and (n_messages,) completion times in an idle fabric.

    `content` takes them for the run's digest, `sums` the checksum of the file.
    """
    tables: dict[str, Any] = {name: _packed(getattr(now, name), empty=name in _NEEDLESS) for name in TABLES}
    facts = np.array([now.time_ps, now.finished, now.events, now.packet_hops], np.int64)
    if content is not None:
        for name, table in tables.items():
            content.add_array(f"{files.TABLES} {name}", table)
        content.add_array(f"{files.TABLES} ideal_ps", ideal_ps)
    with files.replacing(folder / files.TABLES, sums) as pending, pending.open("wb") as out:
        np.savez_compressed(out, facts=facts, ideal_ps=ideal_ps, **tables)


def read(run: RunDir) -> Snapshot:
    """The last Snapshot. Raises: RunDirError."""
    found = _load(run)
    path = run.path / files.TABLES
    time_ps, finished, events, hops = found["facts"].tolist()
    return Snapshot(time_ps=time_ps, fabric=run.fabric, finished=bool(finished), events=events, packet_hops=hops,
                    **{name: _unpacked(found[name], kind, path, name) for name, kind in TABLES.items()})


def ideal_ps(run: RunDir) -> NDArray[np.int64]:
    """(n_messages,) completion times in an idle fabric. Raises: RunDirError."""
    return np.asarray(_load(run)["ideal_ps"], np.int64)


def _load(run: RunDir) -> dict[str, NDArray[Any]]:
    path = run.file(files.TABLES)
    try:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in ("facts", "ideal_ps", *TABLES)}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise RunDirError(f"{path} cannot be read: {error}",
                          "it is damaged, or another version wrote it; run the scenario again with --force") from error


def _packed(table: NDArray[Any], *, empty: bool) -> NDArray[Any]:
    """Without links and without the gaps between fields, whose bytes mean nothing and may differ."""
    names = [] if empty else [name for name in table.dtype.names or () if not name.endswith(LINKS)]
    if not names:
        return np.zeros(table.shape, np.uint8)
    packed: NDArray[Any] = repack_fields(table[names])
    return packed


def _unpacked(packed: NDArray[Any], kind: np.dtype[np.void], path: Path, table_name: str) -> NDArray[Any]:
    """The rows as the engine has them: what was left out is 0. Raises: RunDirError for a column that it has not."""
    table = np.zeros(packed.shape, kind)
    for name in packed.dtype.names or ():
        if name not in (kind.names or ()):
            raise RunDirError(f"{path} has a column '{table_name}.{name}' that this version does not know",
                              "another version wrote it; run the scenario again with --force")
        table[name] = packed[name]
    return table

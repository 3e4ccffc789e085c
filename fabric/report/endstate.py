"""tables.npz: the counters' tables as a run left them, with the settings that no time series repeats.

Kept so that fabric/report/replay.py can build Snapshots again. Links between packet rows are left out: they mean
nothing without the packets, and differ between schedulers.
"""

from __future__ import annotations

import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.engine.counters import Snapshot
from fabric.errors import RunDirError
from fabric.report import files
from fabric.topology.model import Fabric

TABLES: Final = tuple(it.name for it in fields(Snapshot)
                      if it.name not in {"time_ps", "fabric", "finished", "events", "packet_hops"})
"""Every table of a Snapshot."""
_NEEDLESS: Final = ("devices", "switches", "rmessages")
"""Only their number of rows is kept: their fields are 0."""
_LINKS: Final = ("head", "tail", "_first", "_last", "free_pending")


def write(folder: Path, now: Snapshot, ideal_ps: NDArray[np.int64]) -> None:
    """Write the tables of the last Snapshot, and (n_messages,) completion times in an idle fabric."""
    tables: dict[str, Any] = {name: _kept(name, getattr(now, name)) for name in TABLES}
    facts = np.array([now.time_ps, now.finished, now.events, now.packet_hops], np.int64)
    with files.replacing(folder / files.TABLES) as pending, pending.open("wb") as out:
        np.savez_compressed(out, facts=facts, ideal_ps=ideal_ps, **tables)


def read(folder: Path, fabric: Fabric) -> Snapshot:
    """The last Snapshot. Raises: RunDirError."""
    found = _load(folder)
    time_ps, finished, events, hops = found["facts"].tolist()
    return Snapshot(time_ps=time_ps, fabric=fabric, finished=bool(finished), events=events, packet_hops=hops,
                    **{name: found[name] for name in TABLES})


def ideal_ps(folder: Path) -> NDArray[np.int64]:
    """(n_messages,) completion times in an idle fabric. Raises: RunDirError."""
    return np.asarray(_load(folder)["ideal_ps"], np.int64)


def _load(folder: Path) -> dict[str, NDArray[Any]]:
    path = folder / files.TABLES
    if not path.is_file():
        raise RunDirError(f"{path} is not there: the run was killed, still runs, or an older version wrote it",
                          "finish it with `fabric run SCENARIO --out DIR --resume`, or run it again with --force")
    try:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in ("facts", "ideal_ps", *TABLES)}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise RunDirError(f"{path} cannot be read: {error}",
                          "it is damaged, or another version wrote it; run the scenario again with --force") from error


def _kept(name: str, table: NDArray[Any]) -> NDArray[Any]:
    """The table with 0 for what means nothing later."""
    if name in _NEEDLESS:
        return np.zeros_like(table)
    kept = np.zeros_like(table)
    for field in table.dtype.names or ():
        if not field.endswith(_LINKS):
            kept[field] = table[field]
    return kept

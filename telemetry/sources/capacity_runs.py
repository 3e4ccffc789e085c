"""History of utilisation from recorded runs, each with the date that it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fabric.runs.rundir import RunDir
from telemetry.capacity.history import Reading

QUANTILE = 95


def readings(runs: Sequence[tuple[float, Path]]) -> Iterator[Reading]:
    """One reading per port and run: the 95th percentile of its utilisation over the run's samples.

    Parameters
    ----------
    runs : (date in seconds since 1970, run directory) pairs

    Raises: RunDirError.
    """
    for time_s, path in runs:
        run = RunDir.open(path)
        fabric = run.fabric
        sampling = run.sampling_ns
        end = int(run.summary["stop"]["time_ns"])
        grid = np.arange(sampling, max(end, sampling) + 1, sampling)
        table = run.timeseries(["tx_utilisation_ratio"], ["time_ns", "device", "port", "value_ratio"])
        rows: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for row in table.to_pylist():
            rows.setdefault((row["device"], row["port"]), []).append((row["time_ns"], row["value_ratio"]))
        for port in fabric.ports:
            if fabric.is_scale_up(port.id):
                continue
            node, peer = fabric.node_of(port.id), fabric.peer_of(port.id)
            changes = rows.get((node.name, port.name), [])
            times = np.array([time for time, _ in changes], np.int64)
            values = np.array([0.0, *(value for _, value in changes)])
            ratio = float(np.percentile(values[np.searchsorted(times, grid, side="right")], QUANTILE))
            yield Reading(time_s, f"{node.role.value} to {peer.role.value}", f"{node.name}:{port.name}", ratio)

"""The metrics of a finished run: its directory played back through the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fabric.report.replay import snapshots
from fabric.report.rundir import RunDir
from fabric.units import PS_PER_NS
from telemetry.derive import RunInfo
from telemetry.metrics import BY_NAME, UNRECORDED
from telemetry.sampler import record
from telemetry.store import Store


def info_of(run: RunDir) -> RunInfo:
    """What the run's manifest and messages know beside its Snapshots."""
    manifest = run.manifest
    ideal_ps = run.messages(["ideal_ns"])["ideal_ns"].to_numpy().astype(np.int64) * PS_PER_NS
    return RunInfo(str(manifest["version"]), str(manifest["name"]), str(manifest["name"]), str(manifest["model"]),
                   int(manifest["seed"]), ideal_ps=ideal_ps)


def store_of(run: RunDir, only: Iterable[str] | None = None) -> Store:
    """Every metric (or those named) over the whole run, on its sampling grid. Raises: RunDirError."""
    names = [name for name in (BY_NAME if only is None else only) if BY_NAME[name].source not in UNRECORDED]
    return record(snapshots(run), info_of(run), names)

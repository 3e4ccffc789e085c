"""The metrics of a finished run: its directory played back through the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from fabric.cli.run_info import of_run
from fabric.report.replay import snapshots
from fabric.report.rundir import RunDir
from telemetry.metrics import BY_NAME, UNRECORDED
from telemetry.sampler import record
from telemetry.store import Store


def store_of(run: RunDir, only: Iterable[str] | None = None) -> Store:
    """Every metric (or those named) over the whole run, on its sampling grid. Raises: RunDirError."""
    names = [name for name in (BY_NAME if only is None else only) if BY_NAME[name].source not in UNRECORDED]
    return record(snapshots(run), of_run(run), names)

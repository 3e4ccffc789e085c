"""The metrics of a finished run: its directory played back through the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from fabric.cli.run_info import of_run
from fabric.report.replay import snapshots
from fabric.report.rundir import RunDir
from telemetry.metrics import BY_NAME, UNRECORDED
from telemetry.sampler import record
from telemetry.seen_by.eye import Eye
from telemetry.store import Store


def store_of(run: RunDir, only: Iterable[str] | None = None, eye: Eye | None = None) -> Store:
    """Every metric (or those named) over the whole run, on its sampling grid.

    With `eye`, what that monitoring would have had of them, until it has read everything once more after the run.
    Raises: RunDirError.
    """
    wanted = BY_NAME if only is None else only
    visible = BY_NAME if eye is None else eye.profile.metrics
    names = [name for name in wanted if name in visible and BY_NAME[name].source not in UNRECORDED]
    played = snapshots(run)
    return record(played if eye is None else eye.over(played), of_run(run), names)

"""The metrics of a finished run: its directory played back through the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fabric.cli.control_history import ControlHistory
from fabric.cli.run_info import of_run
from fabric.engine.counters import Snapshot
from fabric.report.replay import snapshots
from fabric.report.rundir import RunDir
from fabric.units import PS_PER_NS
from telemetry.metrics import BY_NAME, UNRECORDED
from telemetry.observation import observe
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
    played = _with_facts(run)
    return record(played if eye is None else eye.over(played), of_run(run), names)


def _with_facts(run: RunDir) -> Iterator[Snapshot]:
    """Every sample; with the control plane, and with the queues that wait in a circle where the run found some.

    A run looks for these when it ends with messages waiting. Without a find nothing is shown: nobody looked before.
    """
    found = run.events(["deadlock"], ["time_ns", "device", "port", "class"]).to_pylist()
    history = _history(run)
    for now in snapshots(run):
        here = tuple(_place(run, it) for it in found if it["time_ns"] * PS_PER_NS <= now.time_ps)
        yield observe(now, cycle=here or None, control=history.at(now.time_ps) if history is not None else None)


def _history(run: RunDir) -> ControlHistory | None:
    """The control plane, played again from the scenario that the manifest holds."""
    if run.manifest["scenario"]["resolved"].get("routing") != "bgp":
        return None
    from fabric.report.subject import load_subject  # noqa: PLC0415  the scenario's compiler, only where it is needed

    control = load_subject(run.path).compiled.control
    return ControlHistory(control) if control is not None else None


def _place(run: RunDir, event: Mapping[str, Any]) -> tuple[int, int]:
    node = run.fabric.by_name[event["device"]]
    return next(port for port in node.ports if run.fabric.ports[port].name == event["port"]), int(event["class"])

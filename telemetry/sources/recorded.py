"""The metrics of a finished run: its recorded samples as metrics of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fabric.controlplane.network.run import ControlRun
from fabric.dataplane.engine.counters import Snapshot
from fabric.runs.replay import snapshots
from fabric.runs.rundir import RunDir
from fabric.units import PS_PER_NS
from telemetry.catalogue.metrics import BY_NAME, UNRECORDED
from telemetry.catalogue.observation import observe
from telemetry.record.polling.poller import Poller
from telemetry.record.sampler import record
from telemetry.record.store import Store
from telemetry.sources.control_history import ControlHistory
from telemetry.sources.run_info import of_run


def store_of(
    run: RunDir, only: Iterable[str] | None = None, poller: Poller | None = None, control: ControlRun | None = None
) -> Store:
    """Every metric (or the named ones) over the whole run, on its sampling grid.

    With `poller`, the values that this monitoring would have had, until it has read every group once more after the
    run. `control`: control_of(run), where it is known already.
    Raises: RunDirError.
    """
    wanted = BY_NAME if only is None else only
    visible = BY_NAME if poller is None else poller.profile.metrics
    names = [name for name in wanted if name in visible and BY_NAME[name].source not in UNRECORDED]
    simulated = _with_facts(run, control or control_of(run))
    return record(simulated if poller is None else poller.over(simulated), of_run(run), names)


def _with_facts(run: RunDir, control: ControlRun | None) -> Iterator[Snapshot]:
    """Every sample, with facts of the control plane and of a deadlock where the run found one.

    A run searches for a deadlock when it ends with waiting messages. Earlier samples have no such fact: no search was
    made.
    """
    found = run.events(["deadlock"], ["time_ns", "device", "port", "class"]).to_pylist()
    history = ControlHistory(control) if control is not None else None
    for now in snapshots(run, whole_ns=True):
        here = tuple(_place(run, it) for it in found if it["time_ns"] * PS_PER_NS <= now.time_ps)
        yield observe(now, cycle=here or None, control=history.at(now.time_ps) if history is not None else None)


def control_of(run: RunDir) -> ControlRun | None:
    """The control plane, simulated again from the scenario in the manifest."""
    if run.manifest["scenario"]["resolved"].get("routing") != "bgp":
        return None
    from fabric.show.subject import load_subject  # noqa: PLC0415  the scenario's compiler, only where it is needed

    return load_subject(run.path).compiled.control


def _place(run: RunDir, event: Mapping[str, Any]) -> tuple[int, int]:
    return run.fabric.port_called[f"{event['device']}:{event['port']}"], int(event["class"])

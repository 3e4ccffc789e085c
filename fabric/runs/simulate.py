"""From a scenario to a finished run directory: the steps that `fabric run` and playbooks share."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from fabric.collectives.transfers import NEED_COLUMNS, TRANSFER_COLUMNS
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.build import laws_of
from fabric.dataplane.state.codes import RouteChoice
from fabric.dataplane.transport.registry import control_of
from fabric.errors import InputErrors, Problem, RunDirError
from fabric.runs import checkpoint, eventlog, files
from fabric.runs.folder import ENDED, claimed
from fabric.runs.job_plans import entry_plans, to_json
from fabric.runs.rundir import RunDir
from fabric.runs.serving_times import serving_plans
from fabric.runs.session import Hooks, Outcome, Plan, Session
from fabric.runs.transfers import ScheduledTransfers
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.estimate.admission import Admission, Admit
from fabric.scenario.resolved import resolved
from fabric.scenario.schema.scenario import Scenario
from fabric.units import format_time_ps

_ROOM: Final = "make room there, then {}"
_REMEDIES: Final = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EISDIR: "a file of the run belongs there: remove the folder, then {}",
    errno.EEXIST: "a folder of the run belongs there: remove the file, then {}",
    errno.ENOTDIR: "a folder belongs there: give another --out",
    errno.EACCES: "change its permissions, or give another --out",
    errno.EROFS: "give another --out",
}
"""Remedies for errors of the file system; {} is the way to continue."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the engine; only the order can change the result."""

    out: Path
    threads: int = 1
    scheduler: Literal["windows", "sequential"] = "windows"
    order: Literal["source", "insertion"] = "source"
    """Order of events at one time; insertion needs the sequential scheduler."""
    resume: bool = False
    force: bool = False
    checkpoint_every_s: float = 60.0
    """0: only when interrupted."""
    event_cap: int = eventlog.DEFAULT_CAP


def prepare(
    scenario: Scenario,
    *,
    sets: Sequence[str] = (),
    until_ps: int | None = None,
    text: str | None = None,
    admit: Admit | None = None,
) -> tuple[CompiledScenario, Plan]:
    """Compile a scenario and make the plan of its run.

    Parameters
    ----------
    scenario : Scenario          loaded, overrides applied
    sets : sequence of str       the overrides, for the manifest
    until_ps : int, optional     end earlier than the scenario's duration
    admit : callable, optional   refuses a run that is too large, before anything large is made; absent: refuses only a
                                 run that does not fit the memory of this machine
    text : str, optional         the scenario as its author wrote it, for the manifest; read from its file if absent

    Raises: InputErrors.
    """
    check_until(scenario, until_ps)
    compiled = compile_scenario(scenario, admit or Admission(scenario.file.name, confirm=lambda _: True), until_ps)
    return compiled, planned(scenario, compiled, sets=sets, until_ps=until_ps, text=text)


def planned(
    scenario: Scenario,
    compiled: CompiledScenario,
    *,
    sets: Sequence[str] = (),
    until_ps: int | None = None,
    text: str | None = None,
) -> Plan:
    """The plan of a compiled scenario; parameters as prepare()."""
    duration_ps = compiled.duration_ps if until_ps is None else until_ps
    complete = resolved(scenario, compiled.fabric)
    scheduled = ScheduledTransfers.of(compiled.params, records_messages=compiled.keep_messages)
    routes = compiled.params.source_routes
    about = {
        "seed": compiled.seed,
        "duration_ps": duration_ps,
        "sampling_ps": compiled.sampling_ps,
        "scenario": {
            "file": str(scenario.file),
            "text": scenario.file.read_text(encoding="utf-8") if text is None else text,
            "set": list(sets),
            "resolved": complete,
        },
        "model": compiled.model,
        "vnis": [] if compiled.params.vxlan is None else list(compiled.params.vxlan.vnis),
        "card": dict(compiled.card),
        "jobs": [] if scheduled is None else [to_json(it) for it in entry_plans(scheduled)],
    }
    return Plan(
        name=compiled.name,
        fabric=compiled.fabric,
        duration_ps=duration_ps,
        sampling_ps=compiled.sampling_ps,
        stop_when_done=compiled.stop_when_done,
        no_progress_ps=compiled.no_progress_ps or None,
        ideal_ps=compiled.ideal_ps,
        labels=compiled.labels,
        truth=compiled.truth,
        expectations=compiled.expectations,
        about=about,
        control=compiled.control,
        identity=_identity(compiled, complete, duration_ps),
        transfers=scheduled,
        datagrams=compiled.params.streams.entry if compiled.params.streams is not None else (),
        ideal_transfers_ps=compiled.ideal_transfers_ps,
        serving=serving_plans(scenario, compiled.fabric),
        nics_spray=routes is not None and routes.choice is RouteChoice.PACKET,
        reads_marks=any(control_of(law.congestion_control).reads_marks for law in laws_of(compiled.params)),
    )


def check_until(scenario: Scenario, until_ps: int | None) -> None:
    """Raises: InputErrors where --until is not within the scenario's duration."""
    if until_ps is not None and not 0 < until_ps <= scenario.run.duration:
        raise InputErrors(
            "options",
            [
                Problem(
                    "--until",
                    f"{format_time_ps(until_ps)} is not within the scenario's duration, "
                    f"{format_time_ps(scenario.run.duration)}",
                    "give a shorter time, or raise run.duration",
                )
            ],
        )


def simulate(compiled: CompiledScenario, plan: Plan, options: Options, hooks: Hooks | None = None) -> Outcome:
    """Simulate a prepared scenario into its directory. A run that has ended is only read.

    Raises: RunDirError where the directory cannot be used, InvariantError where the model is broken, OSError where the
    disk is full or fails.
    """
    try:
        return _simulate(compiled, plan, options, hooks)
    except OSError as error:
        hint = _REMEDIES.get(error.errno or 0)
        if hint is None:
            raise
        how = "take it up again with --resume" if (options.out / files.MANIFEST).is_file() else "run it again"
        where = error.filename2 or error.filename or options.out
        raise RunDirError(f"{where}: {error.strerror}", hint.format(how)) from error


def _simulate(compiled: CompiledScenario, plan: Plan, options: Options, hooks: Hooks | None) -> Outcome:
    # The order of events at equal times is part of the result; a run is resumed only with its own order.
    plan = replace(plan, identity=f"{plan.identity}/{options.order}")
    how = {"threads": options.threads, "scheduler": options.scheduler, "order": options.order}
    engine_options: dict[str, Any] = {**how, "record": compiled.record, "reroute_delay_ps": compiled.reroute_delay_ps}
    engine_options["keep_messages"] = compiled.keep_messages
    with claimed(options.out, resume=options.resume, force=options.force) as home:
        start = None
        if options.resume:
            start = home.resume(plan, how)
            run = RunDir.open(options.out)
            if run.status in ENDED:
                checkpoint.forget(options.out)
                return Outcome(run.status, run.summary, str(run.manifest["digest"]))
        else:
            home.begin(plan, how)
        if start is None:
            engine = Emulator(compiled.fabric, compiled.params, compiled.edits, **engine_options)
        else:
            engine = Emulator.restore(compiled.fabric, compiled.params, compiled.edits, start.engine, **engine_options)
        return Session(
            plan,
            home,
            engine,
            start=start,
            checkpoint_every_s=options.checkpoint_every_s,
            event_cap=options.event_cap,
            hooks=hooks,
        ).run()


def _identity(compiled: CompiledScenario, complete: Mapping[str, Any], duration_ps: int) -> str:
    """SHA-256 over the inputs of the result: the resolved scenario, its messages (also those from files), the end."""
    found = hashlib.sha256(json.dumps([complete, duration_ps], sort_keys=True).encode())
    messages = compiled.params.messages
    for column in (
        messages.src,
        messages.dst,
        messages.size_bytes,
        messages.start_ps,
        messages.dscp,
        messages.qp,
        messages.delay_ps,
    ):
        found.update(column.tobytes())
    found.update(repr((list(messages.after), list(messages.label))).encode())
    transfers = compiled.params.transfers
    if len(transfers):
        for name in (*TRANSFER_COLUMNS, *NEED_COLUMNS):
            found.update(getattr(transfers.rows, name).tobytes())
        found.update(transfers.qp.tobytes() + repr(list(transfers.operations)).encode())
    found.update(repr(compiled.fabric).encode())
    return found.hexdigest()

"""From a scenario to a finished run directory: the few steps that `fabric run` and playbooks share."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from fabric.engine.driver import Emulator
from fabric.errors import InputErrors, Problem, RunDirError
from fabric.report import checkpoint, eventlog, files
from fabric.report.folder import ENDED, claimed
from fabric.report.rundir import RunDir
from fabric.report.session import Hooks, Outcome, Plan, Session
from fabric.scenario.compile import CompiledScenario, compile_scenario
from fabric.scenario.resolved import resolved
from fabric.scenario.schema import Scenario
from fabric.units import format_time_ps

_ROOM: Final = "make room there, then {}"
_REMEDIES: Final = {errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM, errno.EFBIG: _ROOM,
                    errno.EISDIR: "a file of the run belongs there: remove the folder, then {}",
                    errno.EEXIST: "a folder of the run belongs there: remove the file, then {}",
                    errno.ENOTDIR: "a folder belongs there: give another --out",
                    errno.EACCES: "change its permissions, or give another --out",
                    errno.EROFS: "give another --out"}
"""What helps against an error of the file system; {} is how to go on."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to play; only the order can change the result."""

    out: Path
    threads: int = 1
    scheduler: Literal["windows", "sequential"] = "windows"
    order: Literal["source", "insertion"] = "source"
    """Of events at one instant; insertion needs the sequential scheduler."""
    resume: bool = False
    force: bool = False
    checkpoint_every_s: float = 60.0
    """0: only when interrupted."""
    event_cap: int = eventlog.DEFAULT_CAP


def prepare(
    scenario: Scenario, *, sets: Sequence[str] = (), until_ps: int | None = None
) -> tuple[CompiledScenario, Plan]:
    """Compile a scenario and say what its run is.

    Parameters
    ----------
    scenario : Scenario          loaded, overrides applied
    sets : sequence of str       the overrides, for the manifest
    until_ps : int, optional     end earlier than the scenario's duration

    Raises: InputErrors.
    """
    compiled = compile_scenario(scenario)
    if until_ps is not None and not 0 < until_ps <= compiled.duration_ps:
        raise InputErrors(
            "options",
            [
                Problem(
                    "--until",
                    f"{format_time_ps(until_ps)} is not within the scenario's duration, "
                    f"{format_time_ps(compiled.duration_ps)}",
                    "give a shorter time, or raise run.duration",
                )
            ],
        )
    duration_ps = compiled.duration_ps if until_ps is None else until_ps
    complete = resolved(scenario, compiled.fabric)
    about = {
        "seed": compiled.seed,
        "duration_ps": duration_ps,
        "sampling_ps": compiled.sampling_ps,
        "scenario": {
            "file": str(scenario.file),
            "text": scenario.file.read_text(encoding="utf-8"),
            "set": list(sets),
            "resolved": complete,
        },
        "model": compiled.model,
        "vnis": [] if compiled.params.vxlan is None else list(compiled.params.vxlan.vnis),
        "card": dict(compiled.card),
    }
    return compiled, Plan(
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
    )


def play(compiled: CompiledScenario, plan: Plan, options: Options, hooks: Hooks | None = None) -> Outcome:
    """Play a prepared scenario into its directory. A run that had ended already is only read.

    Raises: RunDirError where the directory cannot be used, InvariantError where the model is broken, OSError where the
    disk is full or fails.
    """
    try:
        return _play(compiled, plan, options, hooks)
    except OSError as error:
        hint = _REMEDIES.get(error.errno or 0)
        if hint is None:
            raise
        how = "take it up again with --resume" if (options.out / files.MANIFEST).is_file() else "run it again"
        where = error.filename2 or error.filename or options.out
        raise RunDirError(f"{where}: {error.strerror}", hint.format(how)) from error


def _play(compiled: CompiledScenario, plan: Plan, options: Options, hooks: Hooks | None) -> Outcome:
    # The order of equal moments decides the result, as the scenario does; a run is resumed in its own order only.
    plan = replace(plan, identity=f"{plan.identity}/{options.order}")
    how = {"threads": options.threads, "scheduler": options.scheduler, "order": options.order}
    engine_options: dict[str, Any] = {**how, "record": compiled.record, "reroute_delay_ps": compiled.reroute_delay_ps}
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
    """SHA-256 over what decides the result: the resolved scenario, its messages (also those from files), the end."""
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
    found.update(repr(compiled.fabric).encode())
    return found.hexdigest()

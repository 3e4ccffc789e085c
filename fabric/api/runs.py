"""Running a scenario from Python: the same engine, files and digests as `fabric run`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from fabric.api.hooks import hooks_of
from fabric.api.results import Result
from fabric.api.scenarios import Scenario, Source, load
from fabric.api.words import python_words
from fabric.errors import InputErrors, Problem, RunInterruptedError, UnitError
from fabric.runs import simulate
from fabric.runs.session import Progress as Standing
from fabric.units import PS_PER_NS, parse_time_ps


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run."""

    time_ns: int
    """Simulated time."""
    end_ns: int
    """Longest simulated time; a run may end before."""
    packet_hops: int
    packet_hops_per_s: float | None
    """Rate over the last seconds of wall time; None where it is not known yet."""
    eta_s: float | None
    """Estimated wall time to the end; None where it is not known yet."""


def run(
    scenario: Scenario | Source,
    out: str | PathLike[str] | None = None,
    *,
    seed: int | None = None,
    until: str | None = None,
    threads: int = 1,
    scheduler: Literal["windows", "sequential"] = "windows",
    order: Literal["source", "insertion"] = "source",
    check: bool = False,
    progress: Callable[[Progress], None] | None = None,
    resume: bool = False,
    force: bool = False,
    checkpoint_every_s: float = 60.0,
) -> Result:
    """Run a scenario to its end.

    Parameters
    ----------
    scenario              what fabric.load takes, or what it returned
    out                   run directory to write; without it a temporary one, which the result removes
    seed                  replaces the scenario's run.seed
    until                 end at this simulated time, such as '5ms', instead of at run.duration
    threads               threads of the engine; the result is the same for any number
    scheduler             the result is the same for both, in the same order
    order                 order of simultaneous events: by device and source, or in order of scheduling, which needs the
                          sequential scheduler; results differ between the two
    check                 check the invariants of the model at every sample
    progress              called about four times a second of wall time, in this thread
    resume                resume the run in `out` from its last checkpoint
    force                 replace the run in `out`
    checkpoint_every_s    wall time between checkpoints; 0: only when interrupted

    Returns: Result. An expectation that is not met raises no error: see Result.ok. Raises: InputErrors for a scenario
    or parameters that cannot be used, RunDirError for the directory, InvariantError where an invariant of the model is
    broken. RunInterruptedError, which is a KeyboardInterrupt, on SIGINT or SIGTERM in the main thread: the run stops,
    and the error has the usable result.

    Several threads may run scenarios at the same time, each with its own `out`; signals are handled in the main thread
    only.

    Example
    -------
    >>> with fabric.run('incast') as result:
    ...     print(result.ok, result.metrics['pfc.pause_frames'] > 0)
    True True
    """
    until_ps = _checked(out, until, threads, scheduler, order, checkpoint_every_s, resume=resume, force=force)
    loaded = load(scenario, {} if seed is None else {"run.seed": seed})
    with python_words():
        compiled, plan = simulate.prepare(loaded.spec, sets=loaded.sets, until_ps=until_ps, text=loaded.text)
        temporary = TemporaryDirectory(prefix="fabric-", ignore_cleanup_errors=True) if out is None else None
        try:
            where = Path(temporary.name) / "run" if temporary else Path(out or "")
            options = simulate.Options(where, threads, scheduler, order, resume, force, checkpoint_every_s)
            outcome = simulate.simulate(
                compiled,
                plan,
                options,
                hooks_of(check=check, on_progress=None if progress is None else lambda at: progress(_public(at))),
            )
            result = Result(where, temporary)
        except BaseException:
            if temporary is not None:
                temporary.cleanup()
            raise
    if outcome.status == "interrupted":
        raise RunInterruptedError(result)
    return result


def _public(at: Standing) -> Progress:
    return Progress(at.now_ps // PS_PER_NS, at.end_ps // PS_PER_NS, at.packet_hops, at.hops_per_s, at.eta_s)


def _checked(
    out: str | PathLike[str] | None,
    until: str | None,
    threads: int,
    scheduler: str,
    order: str,
    checkpoint_every_s: float,
    *,
    resume: bool,
    force: bool,
) -> int | None:
    """`until` in ps; every problem of the parameters together."""
    problems = []
    until_ps = None
    if until is not None:
        try:
            until_ps = parse_time_ps(until)
        except UnitError as error:
            problems.append(Problem("until", error.text, error.hint))
    if scheduler not in {"windows", "sequential"}:
        problems.append(Problem("scheduler", f"{scheduler!r} is not a scheduler", "give 'windows' or 'sequential'"))
    if order not in {"source", "insertion"}:
        problems.append(Problem("order", f"{order!r} is not an order", "give 'source' or 'insertion'"))
    if order == "insertion" and scheduler != "sequential":
        problems.append(Problem("order", "insertion needs one global list of events", "add scheduler='sequential'"))
    if threads < 1:
        problems.append(Problem("threads", f"{threads} threads are not possible", "give 1 or more"))
    if scheduler == "sequential" and threads > 1:
        problems.append(Problem("threads", "the sequential scheduler has one", "leave out threads or scheduler"))
    if not 0 <= checkpoint_every_s < float("inf"):
        problems.append(
            Problem("checkpoint_every_s", f"{checkpoint_every_s} is not a number of seconds", "give 0 or more")
        )
    if resume and force:
        problems.append(Problem("resume", "contradicts force", "give one of them"))
    problems += [
        Problem(name, "has no effect without out", "name the directory, or leave it out")
        for name, given in (("resume", resume), ("force", force))
        if given and out is None
    ]
    if problems:
        raise InputErrors("parameters", problems)
    return until_ps

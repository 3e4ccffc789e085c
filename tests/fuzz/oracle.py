"""The required result of a case: errors with place and remedy, or a run that keeps every invariant and has one digest.

A case is read from its file, checked, compiled and simulated with the conservation laws tested at every sample, as
`fabric run --check` does. Nothing is timed: a run is cut off after a number of events, and counts as stuck where the
engine handles none and time does not advance.
"""

from __future__ import annotations

import io
import traceback
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from fabric.cli.main import main
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.errors import InputErrors, Problem
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario, load_scenario
from fabric.scenario.resolved import resolved
from fabric.scenario.schema.scenario import Scenario
from fabric.verify.conservation import check
from tests.fuzz.places import known
from tests.fuzz.scenarios import Case
from tests.fuzz.sizes import too_large

Stage = Literal["reading", "schema", "compiler", "engine"]
MAX_EVENTS: Final = 300_000
"""A run is stopped after this many events; everything but its end is still checked."""
MAX_SAMPLES: Final = 40
WINDOWS: Final = 2_000
"""Simulated time of one call of the engine."""


@dataclass(frozen=True)
class How:
    """What is done beside one run with windows and one thread."""

    threads: int = 1
    sequential: bool = False
    """Compare with the sequential scheduler."""
    resume: bool = False
    """Compare with a run that goes on from a checkpoint."""
    resolved: bool = False
    """Compare with the scenario in which every default is written out."""
    command: bool = False
    """`fabric run --check` as well, with all of its results."""

    def names(self) -> list[str]:
        """What is compared."""
        return [
            *(["2 threads"] if self.threads > 1 else []),
            *(name for name in ("sequential", "resume", "resolved", "command") if getattr(self, name)),
        ]


@dataclass
class Verdict:
    """What came of a case."""

    reached: Stage
    """The last stage that began."""
    refused: Sequence[Problem] = ()
    failures: list[str] = field(default_factory=list)
    events: int = 0
    cut: bool = False
    """Cut off after MAX_EVENTS or MAX_SAMPLES."""
    too_large: bool = False
    """Not compiled (sizes.py)."""


@dataclass
class _Run:
    """A run in progress."""

    engine: Emulator
    compiled: CompiledScenario
    bounds: list[int] = field(default_factory=list)
    """Moments at which it was looked at; another run that stops at the same ones has the same digest."""
    broken: list[str] = field(default_factory=list)
    cut: bool = False

    def to(self, bound_ps: int) -> Stop:
        """Simulate up to a moment, and look at everything there."""
        stop = self._advance(bound_ps)
        if self.cut and stop is Stop.BUDGET:
            bound_ps = self.engine.now_ps + 1
            while self.engine.advance(bound_ps) is Stop.BUDGET:
                pass
        self.bounds.append(bound_ps)
        self.look()
        return stop

    def look(self) -> None:
        """Sample for the recorder, and check of the invariants."""
        engine = self.engine
        engine.snapshot(reset_watermarks=True)
        engine.drain_events()
        self.broken += [
            f"a law is broken at {engine.now_ps} ps: {law}"
            for law in check(engine.state, self.compiled.fabric, engine.now_ps)
        ]

    def _advance(self, bound_ps: int) -> Stop:
        engine = self.engine
        while True:
            before = (engine.now_ps, engine.events)
            stop = engine.advance(bound_ps, budget=WINDOWS)
            self.cut |= engine.events > MAX_EVENTS
            if stop is not Stop.BUDGET:
                return stop
            if (engine.now_ps, engine.events) == before:
                self.broken.append(f"stuck at {engine.now_ps} ps after {engine.events} events")
                self.cut = True
            if self.cut:
                return stop


def judge(case: Case, folder: Path, how: How) -> Verdict:
    """Read, check, compile and simulate one case.

    Parameters
    ----------
    folder : Path    where its files go
    """
    path = case.write(folder)
    stage: list[Stage] = ["reading"]
    with warnings.catch_warnings(), np.errstate(divide="raise", over="raise", invalid="raise"):
        warnings.simplefilter("error")
        try:
            return _judged(path, how, stage)
        except InputErrors as error:
            return Verdict(stage[-1], error.problems, list(_unclear(error.problems, case)))
        except Exception as error:  # noqa: BLE001  any exception is a finding of the fuzzer
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno} {where.name}"
            return Verdict(stage[-1], (), [f"{type(error).__name__}: {str(error)[:300]} ({place})"])


def _judged(path: Path, how: How, stage: list[Stage]) -> Verdict:
    stage.append("schema")
    scenario = load_scenario(path)
    if too_large(scenario):
        return Verdict("schema", too_large=True)
    stage.append("compiler")
    compiled = compile_scenario(scenario)
    stage.append("engine")
    first = _whole(compiled, how.threads)
    events = first.engine.events
    verdict = Verdict("engine", (), list(dict.fromkeys(first.broken)), events, first.cut)
    digest = first.engine.digest()
    verdict.failures += _resolves(scenario, first if how.resolved else None, digest, compiled)
    if how.sequential:
        _compare("the sequential scheduler", digest, _again(first, scheduler="sequential"), verdict)
    if how.threads > 1:
        _compare("1 thread", digest, _again(first), verdict)
    if how.resume:
        _compare("a run resumed from a checkpoint", digest, _again(first, half=path.parent / "half.npz"), verdict)
    if how.command and not first.cut:
        verdict.failures += _command(path, how)
    return verdict


def _resolves(scenario: Scenario, first: _Run | None, digest: str, compiled: CompiledScenario) -> list[str]:
    """The scenario with every default written out is valid, resolves to itself, and is the same run."""
    tree = resolved(scenario, compiled.fabric)
    try:
        written_out = build_scenario(tree, scenario.file)
    except InputErrors as error:
        return [f"written out with its defaults it is refused: {problem}" for problem in error.problems]
    if resolved(written_out, compiled.fabric) != tree:
        return ["written out with its defaults it resolves to something else"]
    if first is not None:
        same = _again(replace(first, compiled=compile_scenario(written_out)))
        if same.engine.digest() != digest:
            return ["written out with its defaults it has another digest"]
    return []


def _options(compiled: CompiledScenario) -> dict[str, Any]:
    return {"record": compiled.record, "reroute_delay_ps": compiled.reroute_delay_ps}


def _whole(compiled: CompiledScenario, threads: int) -> _Run:
    """As runs/session.py does: sample by sample, to the end that the scenario has."""
    engine = Emulator(compiled.fabric, compiled.params, compiled.edits, threads=threads, **_options(compiled))
    run = _Run(engine, compiled)
    run.look()
    bound = 0
    while True:
        bound = min(bound + compiled.sampling_ps, compiled.duration_ps)
        stop = run.to(bound)
        run.cut |= len(run.bounds) >= MAX_SAMPLES and bound < compiled.duration_ps
        if (
            run.cut
            or run.broken
            or stop is Stop.IDLE
            or bound >= compiled.duration_ps
            or (engine.finished and compiled.stop_when_done)
        ):
            return run


def _again(first: _Run, *, scheduler: Literal["windows", "sequential"] = "windows", half: Path | None = None) -> _Run:
    """The same scenario up to the same moments."""
    compiled = first.compiled
    options = {**_options(compiled), "scheduler": scheduler}
    run = _Run(Emulator(compiled.fabric, compiled.params, compiled.edits, **options), compiled)
    run.look()
    for number, bound in enumerate(first.bounds):
        if half is not None and number == len(first.bounds) // 2:
            run.engine.save(half)
            run.engine = Emulator.restore(compiled.fabric, compiled.params, compiled.edits, half, **options)
        while run.engine.advance(bound) is Stop.BUDGET:
            pass
        run.look()
    return run


def _compare(name: str, digest: str, other: _Run, verdict: Verdict) -> None:
    verdict.failures += [f"{name}: {law}" for law in other.broken if law not in verdict.failures]
    if other.engine.digest() != digest:
        verdict.failures.append(f"{name} has another digest")


def _command(path: Path, how: How) -> list[str]:
    """`fabric run --check` and `fabric show`: no traceback, the same digest, results that can be read."""
    out = path.parent / "run"
    text, errors = io.StringIO(), io.StringIO()
    words = [
        "run",
        str(path),
        "--out",
        str(out),
        "--force",
        "--check",
        "--quiet",
        "--json",
        "--threads",
        str(how.threads),
    ]
    with redirect_stdout(text), redirect_stderr(errors):
        code = main(words)
    if code not in {0, 1}:
        return [f"`fabric run --check` exits with {code}: {errors.getvalue().strip()[:300]}"]
    with redirect_stdout(text), redirect_stderr(errors):
        code = main(["report", str(out), "--out", str(out.with_suffix(".html"))])
    return [] if code in {0, 1} else [f"`fabric report` exits with {code}: {errors.getvalue().strip()[:300]}"]


def _unclear(problems: Sequence[Problem], case: Case) -> list[str]:
    """Problems without a text, a remedy, or a place that is in the input."""
    found = [] if problems else ["refused without a problem"]
    for problem in problems:
        if not problem.text.strip():
            found.append(f"{problem.path}: no text")
        if not problem.hint.strip():
            found.append(f"no remedy: {problem}")
        if not known(problem.path, case):
            found.append(f"no place of the input: {problem}")
        elif "no effect" in problem.text and not known(problem.path, case, written_alone=True):
            found.append(f"nothing is written there that could have an effect: {problem}")
    return found

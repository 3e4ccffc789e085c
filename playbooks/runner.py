"""Playing a playbook: its scenario with the operator's acts as dated edits, then every step against what was measured.

The run itself is the one `fabric run` makes; acts only add edits. Steps are evaluated after the run, on its recorded
evidence, so a verdict can be recomputed from the run directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fabric.engine.driver import Emulator
from fabric.engine.edits import Edit
from fabric.errors import InputErrors, Problem
from fabric.report import play
from fabric.report.compose import compose
from fabric.report.evidence import Evidence
from fabric.report.files import write_text
from fabric.report.html import to_html
from fabric.report.model import Column, Document, Markdown, Section, Status, Table, Unit
from fabric.report.paths import message_paths
from fabric.report.rundir import RunDir
from fabric.report.session import Hooks, Outcome, Plan
from fabric.scenario.compile import CompiledScenario
from fabric.scenario.load import load_scenario
from fabric.topology.select import match_hosts
from fabric.units import PS_PER_NS
from fabric.validate.deadlock import find_cycle
from playbooks import probes
from playbooks.acts import edits_of
from playbooks.catalogue import RUNBOOK
from playbooks.schema import FILE_NAME, ActStep, ObserveStep, Playbook, Step, load_playbook

PAGE: Final = "playbook.html"
"""Not report.html, which `fabric report` writes: that page knows no steps."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of one step."""

    step: Step
    met: bool | None
    """None: nothing to judge."""
    lines: tuple[str, ...]
    """What was asked, and the answer."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a playbook."""

    playbook: Playbook
    outcome: Outcome
    steps: tuple[StepResult, ...]
    directory: Path
    page: Path
    verdict: str

    @property
    def met(self) -> bool:
        """Whether every step that judges was met, and every expectation of the scenario."""
        return all(step.met is not False for step in self.steps) and self.outcome.exit_code == 0

    @property
    def exit_code(self) -> int:
        """0 met, 1 not met, 130 interrupted."""
        return self.outcome.exit_code or (0 if self.met else 1)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A playbook ready to be played."""

    folder: Path
    playbook: Playbook
    compiled: CompiledScenario
    plan: Plan


def prepare(folder: Path, sets: Sequence[str] = ()) -> Prepared:
    """Read a playbook and compile its scenario with the acts in it.

    Raises: InputErrors, with every problem of the stage that finds any.
    """
    playbook = load_playbook(folder)
    compiled, plan = play.prepare(load_scenario(folder / playbook.scenario, sets), sets=sets)
    problems: list[Problem] = []
    acts: list[Edit] = []
    for number, step in enumerate(playbook.steps):
        path = f"{FILE_NAME}: steps[{number}]"
        if isinstance(step, ActStep):
            acts += edits_of(step.do, step.at, compiled, path, problems)
            continue
        match_hosts(compiled.fabric, step.hosts, f"{path}.hosts", problems)
        problems += [Problem(f"{path}.{name}", "is beyond the scenario's run.duration", "shorten it, or run longer")
                     for name, time_ps in (("since", step.since), ("until", step.until))
                     if time_ps is not None and time_ps > compiled.duration_ps]
    if problems:
        raise InputErrors("placing the playbook's steps", problems)
    edits = sorted([*compiled.edits, *acts], key=lambda edit: edit.time_ps)
    about = {**plan.about, "playbook": {"folder": folder.name, "title": playbook.title, "acts": len(acts)}}
    return Prepared(folder, playbook, replace(compiled, edits=edits), replace(plan, about=about))


def run(prepared: Prepared, options: play.Options, hooks: Hooks | None = None) -> Result:
    """Play, judge every step, and write the page into the run directory.

    Raises: RunDirError where the directory cannot be used, InvariantError where the model is broken.
    """
    given = hooks or Hooks()
    outcome = play.play(prepared.compiled, prepared.plan, options,
                        replace(given, find_cycle=_cycle, paths=message_paths))
    evidence = Evidence(RunDir.open(options.out))
    steps = tuple(judge(step, evidence, prepared.compiled.duration_ps) for step in prepared.playbook.steps)
    page = options.out / PAGE
    result = Result(prepared.playbook, outcome, steps, options.out, page, _verdict(prepared.playbook, steps, outcome))
    write_text(page, to_html(_document(result, evidence, prepared.folder)))
    return result


def _cycle(engine: Emulator) -> Sequence[tuple[int, int]]:
    return find_cycle(engine.state, engine.fabric)


def judge(step: Step, evidence: Evidence, duration_ps: int) -> StepResult:
    """One step against the evidence."""
    if isinstance(step, ActStep):
        return StepResult(step, None, (step.do.kind,))
    hosts = match_hosts(evidence.fabric, step.hosts, "hosts", [])
    window = probes.Window(step.since or 0, duration_ps if step.until is None else step.until,
                           frozenset(int(host.id) for host in hosts) if step.hosts else None)
    if isinstance(step, ObserveStep):
        return StepResult(step, None, tuple(f"{name} is {probes.show(name, probes.read(name, evidence, window))}"
                                            for name in step.show))
    answers = [(check, probes.read(check.probe, evidence, window)) for check in step.check]
    return StepResult(step, all(check.holds(actual) for check, actual in answers),
                      tuple(f"{check}: {probes.show(check.probe, actual)}" for check, actual in answers))


def _verdict(playbook: Playbook, steps: Sequence[StepResult], outcome: Outcome) -> str:
    if outcome.status == "interrupted":
        return "The run was interrupted; the steps below speak of its beginning only."
    failed = [result for result in steps if result.met is False]
    judged = sum(result.met is not None for result in steps)
    if failed:
        first = failed[0]
        what = "did not show itself as expected" if first.step.step == "expect" else "was not resolved"
        return f"{playbook.title}: it {what} ({len(failed)} of {judged} checks failed): {first.step.text}"
    if outcome.exit_code:
        return f"{playbook.title}: every step was met, but the scenario's own expectations were not."
    return f"{playbook.title}: reproduced, mitigated and verified; all {judged} checks were met."


def steps_table(result: Result) -> Table:
    """The steps with their answers."""
    columns = (Column("when_ns", "From", Unit.NS), Column("until_ns", "To", Unit.NS), Column("step", "Step"),
               Column("met", "Met"), Column("text", "What"), Column("answer", "Answer"))
    rows, statuses = [], []
    for row in result.steps:
        step = row.step
        since, until = (step.at, None) if isinstance(step, ActStep) else (step.since or 0, step.until)
        rows.append((since // PS_PER_NS, None if until is None else until // PS_PER_NS, step.step, row.met, step.text,
                     "; ".join(row.lines)))
        statuses.append(Status.NEUTRAL if row.met is None else Status.GOOD if row.met else Status.BAD)
    return Table("steps", "", columns, tuple(rows), "Times are simulated.", tuple(statuses))


def _document(result: Result, evidence: Evidence, folder: Path) -> Document:
    steps = Section("playbook", "Playbook", (steps_table(result),))
    document = compose(evidence, result.playbook.title, (steps,))
    runbook = folder / RUNBOOK
    last = []
    if runbook.is_file():
        last.append(Section("runbook", "Runbook", (Markdown(runbook.read_text(encoding="utf-8")),)))
    return replace(document, status=Status.GOOD if result.met else Status.BAD, verdict=result.verdict,
                   sections=(*document.sections, *last))

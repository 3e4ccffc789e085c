"""Running a playbook: simulate its scenario with the operator's acts as dated edits, then check every step.

The run is the same as by `fabric run`: acts add edits, and `undo` ends faults of the scenario before it is compiled.
Steps are checked after the run. Probes of the run directory can be read from it again; roots, alerts and losses by time
come from the metrics that are sampled while the run lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import Edit
from fabric.errors import InputErrors, Problem
from fabric.explain.report import compose
from fabric.forwarding.message_ports import message_paths
from fabric.render.document import Column, Document, Markdown, Section, Status, Table, Unit, Value
from fabric.render.html import to_html
from fabric.runs import simulate
from fabric.runs.files import write_text
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks, Outcome, Plan
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.load import load_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.select import match_hosts
from fabric.units import PS_PER_NS
from fabric.verify.deadlock import find_cycle
from playbooks import checks
from playbooks.acts.registry import edits_of
from playbooks.catalogue import runbook
from playbooks.evidence import RunEvidence
from playbooks.probes.base import Window
from playbooks.schema import FILE_NAME, ActStep, Alerts, ObserveStep, Playbook, Step, load_playbook
from telemetry.alerting.evaluate import evaluate_store
from telemetry.record.store import Store
from telemetry.sources.focus import focus_of
from telemetry.sources.sampled import Watching

PAGE: Final = "playbook.html"
"""Beside report.html of `fabric report`, which has no steps."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one step."""

    step: Step
    met: bool | None
    """None: the step has no check."""
    lines: tuple[str, ...]
    """Each probe or check with its value."""
    failed: tuple[str, ...] = ()
    """Those of them that do not hold."""


@dataclass(frozen=True, slots=True)
class AlertResult:
    """The alerts of a run, compared with those of the playbook."""

    fired: tuple[str, ...]
    missing: tuple[str, ...]
    """Alerts that must fire and did not."""
    unexpected: tuple[str, ...]
    """Alerts that fired and are not named."""

    @property
    def met(self) -> bool:
        """Whether the alerts are those of the playbook."""
        return not self.missing and not self.unexpected

    @property
    def lines(self) -> tuple[str, ...]:
        """Each alert with what is said of it."""
        return (
            *(f"{name} fired" for name in self.fired if name not in self.unexpected),
            *(f"{name} did not fire" for name in self.missing),
            *(f"{name} fired, and is not in the playbook's alerts" for name in self.unexpected),
        )


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a playbook."""

    playbook: Playbook
    outcome: Outcome
    steps: tuple[StepResult, ...]
    alerts: AlertResult | None
    """None: the playbook does not judge alerts."""
    directory: Path
    page: Path
    verdict: str
    """One sentence for the page and the console. It names what the run's own summary calls a problem."""
    problems: tuple[str, ...] = ()
    """Sentences of the run's summary at the level of a problem."""

    @property
    def status(self) -> Status:
        """Colour and sign of the verdict.

        Where all checks are met and the run shows a problem, a green sign above a red one would be two verdicts.
        """
        if not self.met:
            return Status.BAD
        return Status.WARNING if self.problems else Status.GOOD

    @property
    def met(self) -> bool:
        """Whether every check of the steps, the alerts and every expectation of the scenario were met."""
        alerts = self.alerts is None or self.alerts.met
        return alerts and all(step.met is not False for step in self.steps) and self.outcome.exit_code == 0

    @property
    def exit_code(self) -> int:
        """0 met, 1 not met, 130 interrupted."""
        return self.outcome.exit_code or (0 if self.met else 1)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A playbook that is ready to run."""

    folder: Path
    playbook: Playbook
    compiled: CompiledScenario
    plan: Plan
    runbook: str
    """Markdown; '' where there is none."""


def prepare(folder: Path, sets: Sequence[str] = (), admit: Callable[[Scenario], Admit] | None = None) -> Prepared:
    """Read a playbook, and compile its scenario with the acts as edits.

    Parameters
    ----------
    admit : callable, optional    makes the check of simulate.prepare() for the scenario

    Raises: InputErrors, with every problem of the first stage that has problems.
    """
    playbook, text = load_playbook(folder), runbook(folder)
    scenario = foreseen(playbook, load_scenario(folder / playbook.scenario, sets))
    compiled, plan = simulate.prepare(scenario, sets=sets, admit=None if admit is None else admit(scenario))
    problems: list[Problem] = []
    edits = _acted(playbook, compiled, problems)
    for number, step in enumerate(playbook.steps):
        path = f"{FILE_NAME}: steps[{number}]"
        if isinstance(step, ActStep):
            continue
        match_hosts(compiled.fabric, step.hosts, f"{path}.hosts", problems)
        problems += [
            Problem(f"{path}.{name}", "is beyond the scenario's run.duration", "shorten it, or run longer")
            for name, time_ps in (("since", step.since), ("until", step.until))
            if time_ps is not None and time_ps > compiled.duration_ps
        ]
    if problems:
        raise InputErrors("placing the playbook's steps", problems)
    acts = len(edits) - len(compiled.edits)
    changes = [
        {
            "kind": step.do.kind,
            "at_ns": step.at // PS_PER_NS,
            "objects": step.do.model_dump(mode="json", exclude={"kind"}, exclude_none=True),
            "fault": False,
        }
        for step in playbook.steps
        if isinstance(step, ActStep)
    ]
    said = {"folder": folder.name, "title": playbook.title, "acts": acts, "changes": changes}
    about = {**plan.about, "playbook": said}
    return Prepared(folder, playbook, replace(compiled, edits=edits), replace(plan, about=about), text)


def _acted(playbook: Playbook, compiled: CompiledScenario, problems: list[Problem]) -> list[Edit]:
    """All edits in order of time, those of the acts included; each act starts from what the earlier ones have set."""
    edits = sorted(compiled.edits, key=lambda edit: edit.time_ps)
    acts = [(number, step) for number, step in enumerate(playbook.steps) if isinstance(step, ActStep)]
    for number, step in sorted(acts, key=lambda it: it[1].at):
        path = f"{FILE_NAME}: steps[{number}]"
        mine = edits_of(step.do, step.at, replace(compiled, edits=edits), path, problems)
        edits = sorted([*edits, *mine], key=lambda edit: edit.time_ps)
    return edits


def foreseen(playbook: Playbook, scenario: Scenario) -> Scenario:
    """The scenario with those acts that must be known before it runs. Raises: InputErrors."""
    problems: list[Problem] = []
    for number, step in enumerate(playbook.steps):
        if isinstance(step, ActStep):
            scenario = step.do.foreseen(scenario, step.at, f"{FILE_NAME}: steps[{number}].do", problems)
    if problems:
        raise InputErrors("placing the playbook's steps", problems)
    return scenario


def run(prepared: Prepared, options: simulate.Options, hooks: Hooks | None = None, *, page: bool = True) -> Result:
    """Simulate, check every step, and write the page into the run directory unless `page` is false.

    Raises: RunDirError where the directory cannot be used, InvariantError where the model is broken.
    """
    watching = Watching(prepared.compiled, prepared.plan)
    both = _beside(watching, hooks or Hooks())
    outcome = simulate.simulate(
        prepared.compiled, prepared.plan, options, replace(both, find_cycle=_cycle, paths=message_paths)
    )
    evidence = RunEvidence(RunDir.open(options.out), watching.store)
    steps = tuple(check_step(step, evidence, prepared.compiled.duration_ps) for step in prepared.playbook.steps)
    wanted = prepared.playbook.alerts
    alerts = None if wanted is None else check_alerts(wanted, watching.store)
    file = options.out / PAGE
    problems = tuple(it["text"] for it in evidence.run.summary["verdict"] if it["level"] == "problem")
    verdict = _verdict(prepared.playbook, steps, alerts, outcome, problems)
    result = Result(prepared.playbook, outcome, steps, alerts, options.out, file, verdict, problems)
    if page:
        write_text(file, to_html(_document(result, evidence, prepared)))
    return result


def _beside(watching: Watching, hooks: Hooks) -> Hooks:
    """The hooks, with the sampling of metrics before them."""

    def on_pause(engine: Emulator) -> None:
        watching.see(engine)
        if hooks.on_pause is not None:
            hooks.on_pause(engine)

    def on_sample(now: Snapshot) -> None:
        watching.sample(now)
        if hooks.on_sample is not None:
            hooks.on_sample(now)

    return replace(hooks, on_pause=on_pause, on_sample=on_sample)


def check_alerts(wanted: Alerts, store: Store) -> AlertResult:
    """Compare the alerts that fired at some time with those that must and may."""
    fired = tuple(dict.fromkeys(it.alert.name for it in evaluate_store(store).firings))
    return AlertResult(
        fired,
        tuple(it for it in wanted.fire if it not in fired),
        tuple(it for it in fired if it not in {*wanted.fire, *wanted.may}),
    )


def _cycle(engine: Emulator) -> Sequence[tuple[int, int]]:
    return find_cycle(engine.state, engine.fabric)


def check_step(step: Step, evidence: RunEvidence, duration_ps: int) -> StepResult:
    """Check one step against the evidence."""
    if isinstance(step, ActStep):
        return StepResult(step, None, (step.do.kind,))
    hosts = match_hosts(evidence.fabric, step.hosts, "hosts", [])
    window = Window(
        step.since or 0,
        duration_ps if step.until is None else step.until,
        frozenset(int(host.id) for host in hosts) if step.hosts else None,
    )
    if isinstance(step, ObserveStep):
        return StepResult(
            step,
            None,
            tuple(f"{name} is {checks.show(name, checks.read(name, evidence, window))}" for name in step.show),
        )
    values = [(check, checks.read(check.probe, evidence, window)) for check in step.check]
    return StepResult(
        step,
        all(check.holds(actual) for check, actual in values),
        tuple(f"{check}: {checks.show(check.probe, actual)}" for check, actual in values),
        tuple(f"{check}: {checks.show(check.probe, actual)}" for check, actual in values if not check.holds(actual)),
    )


def _verdict(
    playbook: Playbook,
    steps: Sequence[StepResult],
    alerts: AlertResult | None,
    outcome: Outcome,
    problems: Sequence[str] = (),
) -> str:
    if outcome.status == "interrupted":
        return "The run was interrupted; the steps below cover only its beginning."
    failed = [result for result in steps if result.met is False]
    judged = [result.met for result in steps if result.met is not None]
    judged += [] if alerts is None else [alerts.met]  # the rows of the table of steps that say yes or no
    checked = len(judged)
    if failed:
        first = failed[0]
        problem = "did not show the expected symptoms" if first.step.step == "expect" else "was not resolved"
        return f"{playbook.title}: it {problem} ({judged.count(False)} of {checked} checks failed): {first.step.text}"
    if alerts is not None and not alerts.met:
        return f"{playbook.title}: every step was met, but the alerts were not: {', '.join(alerts.lines)}."
    if outcome.exit_code:
        return f"{playbook.title}: every step was met, but the scenario's own expectations were not."
    acted = any(result.step.step == "act" for result in steps)
    done = "reproduced, mitigated and verified" if acted else "reproduced"
    checks_met = "its check was met" if checked == 1 else f"all {checked} checks were met"
    met = f"{playbook.title}: {done}; {checks_met}."
    if not problems:
        return met
    many = f"{len(problems)} problems" if len(problems) > 1 else "a problem"
    return f"{met} The run shows {many}: {'; '.join(problems)}."


def steps_table(result: Result) -> Table:
    """The steps with their values."""
    columns = (
        Column("when_ns", "From", Unit.NS),
        Column("until_ns", "To", Unit.NS),
        Column("step", "Step"),
        Column("met", "Met"),
        Column("text", "Step text"),
        Column("answer", "Values"),
    )
    rows: list[tuple[Value, ...]] = []
    statuses = []
    for row in result.steps:
        step = row.step
        since, until = (step.at, None) if isinstance(step, ActStep) else (step.since or 0, step.until)
        rows.append(
            (
                since // PS_PER_NS,
                None if until is None else until // PS_PER_NS,
                step.step,
                row.met,
                step.text,
                "; ".join(row.lines),
            )
        )
        statuses.append(Status.NEUTRAL if row.met is None else Status.GOOD if row.met else Status.BAD)
    if result.alerts is not None:
        text = "The alerts of the whole run."
        rows.append((0, None, "alerts", result.alerts.met, text, "; ".join(result.alerts.lines) or "none fired"))
        statuses.append(Status.GOOD if result.alerts.met else Status.BAD)
    return Table("steps", "", columns, tuple(rows), "Times are simulated.", tuple(statuses))


def _document(result: Result, evidence: RunEvidence, prepared: Prepared) -> Document:
    steps = Section("playbook", "Playbook", (steps_table(result),))
    document = compose(evidence, result.playbook.title, (steps,), focus_of(evidence))
    last = [Section("runbook", "Runbook", (Markdown(prepared.runbook),))] if prepared.runbook else []
    return replace(document, status=result.status, verdict=result.verdict, sections=(*document.sections, *last))

"""A what-if study from its question to its findings: the baseline, the cases, their runs, and their order by damage."""

from __future__ import annotations

import shutil
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabric.errors import FabricError, InputErrors, Problem
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.load import apply_values, build_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.studies.code import code_digest
from fabric.studies.jobs import Executor, Job
from fabric.topology.model import Fabric
from fabric.topology.risk_groups import risk_groups
from fabric.topology.select import nearest
from fabric.units import PS_PER_NS, PS_PER_US
from fabric.whatif.carry_out import Outcome, Task, carry_out
from fabric.whatif.cases import Case, CaseMaker, without_idle_delay
from fabric.whatif.damage import Damage, damage, order
from fabric.whatif.elements import Element, ElementKind, chosen, elements, pairs
from fabric.whatif.growth import grown
from fabric.whatif.measure import carried
from fabric.whatif.redundancy import Loss, Redundancy, hosts_cut
from fabric.whatif.results import Kept, Results
from fabric.whatif.seeds import Seeded, pooled, pooled_damage
from fabric.whatif.symmetry import grouped

BASELINE: Final = "baseline"
MAX_CASES: Final = 20_000
"""Runs of one study: at one second each, six hours on one core."""
_LEFT: Final = Kept(None, "interrupted: the worker was asked to end, and --resume does the run", 0.0)
_AT_SHARE: Final = 4
"""The failure begins after one part in so many of the time that the baseline takes."""


@dataclass(frozen=True)
class Question:
    """What is asked of a scenario."""

    file: Path
    data: Mapping[str, Any]
    """The scenario's data, overrides applied."""
    sets: tuple[str, ...] = ()
    singles: bool = True
    kinds: tuple[str, ...] = tuple(ElementKind)
    only: tuple[str, ...] = ()
    double: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    grow: tuple[str, ...] = ()
    run_all: bool = False
    """Every element, not one of each group of equal ones."""
    at_ps: int | None = None
    optic_errors: float = 1e-6
    confirmed: bool = False
    seeds: int = 1
    """Runs of each case: with run.seed of the scenario and the numbers after it."""

    def identity(self) -> dict[str, Any]:
        """What decides the results, for a study that is continued."""
        names = ("singles", "kinds", "only", "double", "drain", "grow", "run_all", "at_ps", "optic_errors", "seeds")
        return {"code": code_digest(), "data": self.data, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class Place:
    """A question that was checked, on its fabric."""

    scenario: Scenario
    """Of the baseline."""
    fabric: Fabric
    every: tuple[Element, ...]
    """All that can fail."""
    failures: tuple[Element, ...]
    """Of these, what is asked for."""
    doubles: tuple[tuple[Element, Element], ...]
    drains: tuple[Element, ...]
    growths: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True)
class Finding:
    """One case with its result."""

    case: Case
    outcome: Outcome | None
    failure: str
    damage: Damage | None
    """None where the run failed, or no failure was simulated."""
    loss: Loss | None
    """What is left of the paths; None for growth."""
    runs: tuple[Seeded, ...] = ()
    """Of each seed; outcome and damage are theirs as one (seeds.py). Empty where a run failed."""


@dataclass(frozen=True)
class Study:
    """Everything that was found."""

    question: Question
    place: Place
    at_ps: int | None
    baseline: Outcome | None
    """None for a static study."""
    findings: tuple[Finding, ...]
    """Failures in the order of their damage, then the others in the order of the question."""
    wall_s: float
    """Of all runs, one after the other."""

    @property
    def runs(self) -> int:
        """Runs that were made, the baseline's included."""
        return (len(self.findings) + 1) * self.question.seeds


def place(question: Question) -> Place:
    """Check a question without a simulation.

    Raises: InputErrors with every problem of the scenario, then of the options.
    """
    baseline = build_scenario(without_idle_delay(question.data), question.file)
    fabric = admitted_fabric(baseline)
    problems: list[Problem] = []
    groups = risk_groups(fabric, baseline.risk_groups or {}, f"{question.file.name}: risk_groups", problems)
    if problems:
        raise InputErrors("placing the risk groups", problems)
    every = elements(fabric, groups)
    failures = chosen(every, question.kinds, question.only) if question.singles else []
    if question.singles and not failures:
        names = [it.name for it in every]
        hint = nearest(question.only[0], names, "parts") if question.only else "give other --kinds"
        problems.append(Problem("--only", "nothing that can fail has such a name and kind", hint))
    doubles = pairs(every, question.double, problems)
    drains = [it for name in question.drain for it in _drained(every, name, baseline, problems)]
    growths = [it for text in question.grow if (it := _growth(text, question, problems)) is not None]
    count = (len(failures) + len(doubles) + 2 * len(drains) + len(growths)) * question.seeds
    if count > MAX_CASES:
        text = f"{count:,} runs are more than {MAX_CASES:,}"
        problems.append(Problem("options", text, "choose with --kinds, --only or --double, or give fewer --seeds"))
    if problems:
        raise InputErrors("options", problems)
    return Place(baseline, fabric, tuple(every), tuple(failures), tuple(doubles), tuple(drains), tuple(growths))


def static(question: Question, found: Place) -> Study:
    """Only what cables and shortest paths decide: no run."""
    maker = CaseMaker(question.data, question.sets, found.fabric, 0, question.optic_errors)
    cases = _failures(question, found, maker, {}, {}) + [maker.double(a, b) for a, b in found.doubles]
    redundancy = Redundancy(found.fabric)
    findings = [Finding(case, None, "", None, _loss(redundancy, case)) for case in cases]

    def worst(it: Finding) -> tuple[float, ...]:
        loss = it.loss
        return () if loss is None else (-loss.hosts_cut, -loss.pairs_cut, -loss.pairs_longer, loss.paths_left_ratio)

    return Study(question, found, None, None, tuple(sorted(findings, key=worst)), 0.0)


def study(
    question: Question,
    found: Place,
    results: Results,
    executor: Executor,
    on_result: Callable[[int, int, str], None] = lambda _done, _all, _name: None,
    admit: Callable[[int], None] = lambda _runs: None,
) -> Study:
    """Carry out all runs that `results` does not have yet, and order what was found.

    Parameters
    ----------
    results : Results      gets every finished run at once
    on_result : callable   gets (runs finished, runs in all, name of the last one)
    admit : callable       gets the number of runs that are left, once it is known, and may refuse them

    Raises: FabricError where the baseline cannot be simulated.
    """
    folder = results.folder.resolve()  # workers may have another working directory
    file = question.file.resolve()
    seeds = [found.scenario.run.seed + it for it in range(question.seeds)]
    bases = [folder / it for it in baselines(question)]
    kept = _baselines(question, seeds, bases, file, results, executor)
    runs = [RunDir.open(it) for it in bases]
    at_ps = _begin(question, kept[0])
    maker = CaseMaker(question.data, question.sets, found.fabric, at_ps, question.optic_errors)
    cases = _cases(question, found, maker, runs)
    tasks: dict[str, Task] = {}
    for number, seed in enumerate(seeds):
        for case in cases:
            out = folder / "runs" / f"{len(tasks):05d}"
            data = _seeded(case.data, seed, first=number == 0)
            tasks[_key(case.key, seed, number)] = Task(data, file, out, bases[number], case.at_ps, question.confirmed)
    todo = {key: task for key, task in tasks.items() if key not in results.found or results.found[key].failure}
    done = len(tasks) - len(todo)
    admit(len(todo))

    def told(key: str) -> None:
        nonlocal done
        done += 1
        on_result(done, len(tasks), key)

    _carried(executor, todo, results, told)
    shutil.rmtree(folder / "runs", ignore_errors=True)
    redundancy = Redundancy(found.fabric)
    findings = []
    for case in cases:
        mine = [results.found.get(_key(case.key, seed, number), _LEFT) for number, seed in enumerate(seeds)]
        findings.append(_finding(case, seeds, mine, kept, redundancy, found.fabric))
    wall = sum(it.wall_s for key, it in results.found.items() if key in tasks or key.startswith(BASELINE))
    return Study(question, found, at_ps, pooled(kept), tuple(sorted(findings, key=_order)), wall)


def baselines(question: Question) -> list[str]:
    """Folders of the runs without a failure, one for each seed."""
    return [BASELINE if it == 0 else f"{BASELINE}-{it + 1}" for it in range(question.seeds)]


def _key(key: str, seed: int, number: int) -> str:
    return key if number == 0 else f"{key} seed {seed}"


def _seeded(data: Mapping[str, Any], seed: int, *, first: bool) -> Mapping[str, Any]:
    """The first seed is the one that the data has."""
    return data if first else apply_values(data, {"run.seed": seed})


def _baselines(
    question: Question, seeds: Sequence[int], bases: Sequence[Path], file: Path, results: Results, executor: Executor
) -> list[Outcome]:
    """Outcomes without a failure, of each seed; those that are missing are simulated."""
    tasks = {}
    for number, (seed, base) in enumerate(zip(seeds, bases, strict=True)):
        key = _key(BASELINE, seed, number)
        if key not in results.found or not (base / "manifest.json").is_file():
            shutil.rmtree(base, ignore_errors=True)
            data = _seeded(without_idle_delay(question.data), seed, first=number == 0)
            tasks[key] = Task(data, file, base, None, None, question.confirmed)
    _carried(executor, tasks, results, lambda _key: None)
    outcomes = []
    for number, seed in enumerate(seeds):
        kept = results.found.get(_key(BASELINE, seed, number))
        if kept is None or kept.outcome is None:
            which = f" (run.seed={seed})" if number else ""
            why = "it was interrupted" if kept is None else kept.failure
            raise FabricError(f"the scenario without a failure cannot be simulated{which}: {why}", "repair it first")
        outcomes.append(kept.outcome)
    return outcomes


def _carried(executor: Executor, tasks: Mapping[str, Task], results: Results, told: Callable[[str], None]) -> None:
    for result in executor.results(carry_out, deque(Job(key, task) for key, task in tasks.items())):
        failure = result.failure
        kept = Kept(result.value, "" if failure is None else f"{failure.kind}: {failure.text}", result.wall_s)
        if failure is not None and failure.kind == "interrupted":
            continue
        results.add(result.key, kept)
        told(result.key)


def _begin(question: Question, baseline: Outcome) -> int:
    """When failures begin: as asked, else after a quarter of the baseline, in whole microseconds."""
    if question.at_ps is not None:
        return question.at_ps
    end_ps = (baseline.measured.makespan_ns or 0) * PS_PER_NS
    return max(end_ps // _AT_SHARE // PS_PER_US * PS_PER_US, PS_PER_US)


def _cases(question: Question, found: Place, maker: CaseMaker, runs: Sequence[RunDir]) -> list[Case]:
    """Parts are equal where they are with every seed; the one that carried most in all of them stands for the rest."""
    parts = [parts_of_hosts(it) for it in runs]
    labels = {host: "; ".join(it.get(host, "") for it in parts) for it in parts for host in it}
    traffic = Counter[int]()
    for run in runs:
        traffic.update(carried(run))
    cases = _failures(question, found, maker, labels, traffic)
    cases += [maker.double(a, b) for a, b in found.doubles]
    for element in found.drains:
        cases += maker.drain(element)
    return cases + [maker.growth(text, data) for text, data in found.growths]


def _failures(
    question: Question, found: Place, maker: CaseMaker, labels: Mapping[int, str], traffic: Mapping[int, int]
) -> list[Case]:
    if question.run_all:
        return [maker.failure(it, (it,)) for it in found.failures]
    groups = grouped(found.fabric, found.failures, labels, traffic) if found.failures else []
    return [maker.failure(it.representative, it.members) for it in groups]


def parts_of_hosts(run: RunDir) -> dict[int, str]:
    """NodeId of a host -> its part in the workload: which entries it sends for and receives from."""
    by_name = {host.name: host.id for host in run.fabric.hosts}
    parts: dict[int, set[str]] = {}
    for table, column in (
        (run.messages(["id", "src", "dst"]), "id"),
        (run.transfers(["operation", "src", "dst"]), "operation"),
    ):
        names = [str(it).partition("/")[0] for it in table[column].to_pylist()]
        for side in ("src", "dst"):
            for name, host in zip(names, table[side].to_pylist(), strict=True):
                parts.setdefault(by_name[host], set()).add(f"{name} {side}")
    return {host: ", ".join(sorted(found)) for host, found in parts.items()}


def _loss(redundancy: Redundancy, case: Case) -> Loss | None:
    if not case.elements:
        return None
    return redundancy.loss(_joined(case.elements))


def _joined(parts: Sequence[Element]) -> Element:
    """Several elements as one, for the analysis of paths."""
    if len(parts) == 1:
        return parts[0]
    switches = sorted({node for it in parts for node in it.switches})
    links = sorted({link for it in parts for link in it.links})
    return Element(ElementKind.GROUP, " and ".join(it.name for it in parts), tuple(switches), tuple(links))


def _finding(
    case: Case,
    seeds: Sequence[int],
    kept: Sequence[Kept],
    baseline: Sequence[Outcome],
    redundancy: Redundancy,
    fabric: Fabric,
) -> Finding:
    loss = _loss(redundancy, case)
    outcomes = [it.outcome for it in kept if it.outcome is not None]
    failure = next((it.failure for it in kept if it.failure), "")
    if len(outcomes) < len(kept):
        return Finding(case, None, failure, None, loss)
    cut = 0 if case.kind in {"growth", "drain"} else len(hosts_cut(fabric, _joined(case.elements)))
    runs = []
    for seed, mine, theirs in zip(seeds, outcomes, baseline, strict=True):
        hurt = None
        if case.kind != "growth" and mine.compared is not None:
            hurt = damage(mine.measured, mine.compared, theirs.measured, cut)
        runs.append(Seeded(seed, mine, hurt))
    hurts = [it.damage for it in runs if it.damage is not None]
    one = pooled_damage(hurts) if len(hurts) == len(runs) else None
    return Finding(case, pooled(outcomes), failure, one, loss, tuple(runs))


def _order(it: Finding) -> tuple[object, ...]:
    """Failures first, those without a result before them; the others stay in the order of the question."""
    rank = {"failure": 0, "double": 0, "drain": 1, "off": 1, "growth": 2}[it.case.kind]
    if rank:
        return (rank,)
    return (rank, -1, 0.0, it.case.name) if it.damage is None else (rank, *order(it.damage, it.case.name))


def _drained(every: Sequence[Element], name: str, scenario: Scenario, problems: list[Problem]) -> list[Element]:
    """Elements with switches of this name."""
    if scenario.routing != "bgp":
        text = "switches are drained by BGP (RFC 8326), and this scenario has " + scenario.routing + " routing"
        problems.append(Problem(f"--drain {name}", text, "add --set routing=bgp, or see a crash with --only"))
        return []
    able = [it for it in every if it.switches]
    found = [it for it in able if it.name == name]
    if not found:
        hint = nearest(name, [it.name for it in able], "switches")
        problems.append(Problem(f"--drain {name}", "no switch, pod or risk group has this name", hint))
    return found


def _growth(text: str, question: Question, problems: list[Problem]) -> tuple[str, Mapping[str, Any]] | None:
    """The grown scenario, checked."""
    try:
        data = grown(question.data, text)
    except InputErrors as error:
        problems += error.problems
        return None
    try:
        build_scenario(without_idle_delay(data), question.file)
    except InputErrors as error:
        problems += [Problem(f"--grow {text}: {it.path}", it.text, it.hint) for it in error.problems]
    return text, data

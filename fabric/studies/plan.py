"""A study before its runs: its file, scenarios and points, all problems together, and the estimate of every run.

Rules
1. A field that no scenario has, a value of the wrong kind, a scenario that is missing: the study is refused, with every
   problem. A point of the design that is no valid scenario while others are (Kmin above Kmax) is left out, and said.
2. Every run is estimated before the first one starts. A study whose runs do not fit the memory side by side gets fewer
   workers; one whose runs do not fit alone is refused; one that is likely to last long needs a confirmation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.reading import read_text
from fabric.runs.measured import WITHOUT_WARM_UP
from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.estimate.admission import Admission, compiling
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.estimate.machine import Machine
from fabric.scenario.load import apply_values, build_scenario
from fabric.scenario.problems import explain
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.yaml_input import MAX_BYTES, FileKind, read_yaml
from fabric.studies.design import Point, combined, levels_of, points
from fabric.studies.levels import Levels
from fabric.studies.schema import ParameterSpec, Study, WorkloadSpec, json_schema
from fabric.studies.simulation import Variant
from fabric.topology.model import Fabric

STAGE: Final = "checking the study"
_SHOWN: Final = 12
"""Problems of points that are shown."""


@dataclass(frozen=True)
class Workload:
    """One scenario of a study, as read."""

    name: str
    data: Mapping[str, Any]
    """Of its file, with the values of the study and of the workload."""
    file: Path


@dataclass(frozen=True)
class Cell:
    """One point with one workload: its repetitions are runs that differ in the seed alone."""

    number: int
    point: Point
    workload: Workload


@dataclass(frozen=True)
class StudyPlan:
    """A study that has been read and checked."""

    study: Study
    file: Path
    text: str
    workloads: tuple[Workload, ...]
    levels: Mapping[str, Levels]
    points: tuple[Point, ...]
    elsewhere: tuple[Workload, ...] = ()
    """Of a search: where the chosen point is compared, too."""
    search: bool = False
    """Whether points are chosen by a search (tune.py), and not by the design."""
    notes: tuple[str, ...] = ()
    """What was changed in its scenarios, in sentences."""

    @property
    def cells(self) -> Iterator[Cell]:
        """Every workload at every point."""
        for point in self.points:
            for place, workload in enumerate(self.workloads):
                yield Cell(point.number * len(self.workloads) + place, point, workload)

    @property
    def most_seeds(self) -> int:
        """Repetitions of a cell at most."""
        if self.search and self.study.tune is not None:
            return self.study.repetitions.seeds + self.study.tune.confirm
        until = self.study.repetitions.until
        return self.study.repetitions.seeds if until is None else until.at_most

    @property
    def baseline(self) -> int:
        """Number of the point with which the others are compared."""
        wanted = {name: self.levels[name].named(given) for name, given in self.study.baseline.items()}
        shown = {name: value.shown for name, value in wanted.items() if value is not None}
        return next(
            (it.number for it in self.points if all(it.values[name].shown == text for name, text in shown.items())), 0
        )

    @property
    def identity(self) -> str:
        """SHA-256 over everything that decides the runs, for --resume; the code that carries them out included."""
        from fabric.studies.code import code_digest  # noqa: PLC0415  loads the compiler, and --list has no runs

        decides = self.study.model_dump(
            mode="json", by_alias=True, include={"parameters", "design", "repetitions", "warm_up", "keep"}
        )
        decides["repetitions"].pop("confidence")
        if self.study.repetitions.until is not None:
            decides["confidence"] = self.study.repetitions.confidence
        if self.search and self.study.tune is not None:
            decides |= self.study.model_dump(mode="json", by_alias=True, include={"tune", "objectives", "constraints"})
            decides["baseline"] = {name: str(it) for name, it in self.study.baseline.items()}
        scenarios = [(it.name, it.data) for it in (*self.workloads, *self.elsewhere)]
        return hashlib.sha256(json.dumps([decides, scenarios, code_digest()], sort_keys=True).encode()).hexdigest()

    def seed(self, cell: Cell, repetition: int) -> int:
        """run.seed of a run."""
        rule = self.study.repetitions
        if rule.pairing == "paired":
            return rule.first_seed + repetition
        words = hashlib.sha256(f"{rule.first_seed}/{cell.number}/{repetition}".encode()).digest()
        return int.from_bytes(words[:7], "little")

    @property
    def seeds(self) -> str:
        """'seed 1', 'seeds 1 to 5': those of the runs of every cell; '' where they are a parameter, or drawn."""
        rule = self.study.repetitions
        if rule.pairing != "paired" or any("run.seed" in it.settings for it in self.points):
            return ""
        last = rule.first_seed + self.most_seeds - 1
        return f"seed {last}" if last == rule.first_seed else f"seeds {rule.first_seed} to {last}"

    def values(self, cell: Cell, repetition: int) -> dict[str, Any]:
        """Field -> value of a run."""
        found = cell.point.settings
        return found if "run.seed" in found else {**found, "run.seed": self.seed(cell, repetition)}

    def variant(self, cell: Cell, repetition: int, keep: Path | None = None, *, confirmed: bool = False) -> Variant:
        """The argument of the job of a run."""
        return Variant(
            cell.workload.data,
            cell.workload.file,
            self.values(cell, repetition),
            warm_up_ps=self.study.warm_up or 0,
            keep=keep,
            confirmed=confirmed,
        )


def study_kind() -> FileKind:
    """Words of messages about study files."""
    return FileKind(
        "reading the study",
        "begin with 'name:', 'scenario:', 'parameters:', 'measures:'",
        tuple(it.name for it in shipped.studies()),
        "study",
        "measures",
    )


def load_study(path: Path, *, search: bool = False) -> StudyPlan:
    """A study from its file, or one that comes with the package.

    Parameters
    ----------
    path : Path       file, or the name of a study that comes with the package
    search : bool     for `fabric tune`: the points are not those of the design, and are chosen later

    Raises: InputErrors with every problem of a stage.
    """
    file = shipped.study(path)
    kind = study_kind()
    raw = read_yaml(file, kind)
    text = read_text(file, MAX_BYTES, stage=kind.stage)
    return build_study(raw, file, text, search=search)


def build_study(raw: Mapping[str, Any], file: Path, text: str, *, search: bool = False) -> StudyPlan:
    """A study from plain data; `file` names it in messages, and scenarios are looked for in its folder.

    Raises: InputErrors.
    """
    study = _validated(raw, file)
    problems: list[Problem] = []
    workloads = list(_workloads(study, study.workloads, file, "workloads", problems))
    elsewhere = (
        () if study.tune is None else list(_workloads(study, study.tune.elsewhere, file, "tune.elsewhere", problems))
    )
    levels = levels_of(study, file.name, problems)
    problems += _without_meaning(study, file.name)
    problems += _without_value(study, workloads, file.name)
    problems += _baseline(study, levels, file.name)
    if search:
        problems += _searched(study, file.name)
    found = [] if problems or search else points(study, levels, file.name, problems)
    if problems:
        raise InputErrors(STAGE, problems)
    return StudyPlan(study, file, text, tuple(workloads), levels, tuple(found), tuple(elsewhere), search)


def read_study(file: Path) -> Study:
    """The fields of a study file, without its scenarios and points. Raises: InputErrors."""
    return _validated(read_yaml(file, study_kind()), file)


def _validated(raw: Mapping[str, Any], file: Path) -> Study:
    try:
        return Study.model_validate(dict(raw))
    except ValidationError as error:
        raise InputErrors(STAGE, explain(error, raw, file.name, json_schema())) from error


def _searched(study: Study, file: str) -> Iterator[Problem]:
    """What `fabric tune` needs."""
    missing = [name for name in study.parameters if name not in study.baseline] if study.baseline else []
    if missing:
        yield Problem(f"{file}: baseline", f"lacks {', '.join(missing)}", "name the value of every parameter, or none")
    if study.tune is not None and study.tune.elsewhere and not study.baseline:
        yield Problem(f"{file}: tune.elsewhere", "has nothing to compare with", "name the values in use as baseline")
    if study.tune is None:
        yield Problem(f"{file}: tune", "is missing", "add it: tune: {trials: 60}; or use `fabric sweep`")
    if not study.objectives:
        yield Problem(f"{file}: objectives", "is missing", "say what is searched for: objectives: {fct.p99: min}")
    if not study.parameters:
        yield Problem(f"{file}: parameters", "there is nothing to search among", "name a field and its range")
    if study.repetitions.until is not None:
        yield Problem(f"{file}: repetitions.until", "has no effect on a search", "leave it out, or use `fabric sweep`")
    if study.tune is not None and study.tune.sampler == "cmaes" and len(study.objectives) > 1:
        yield Problem(f"{file}: tune.sampler", "cmaes searches for one objective", "use nsga2 or tpe")
    if study.tune is not None and study.tune.sampler == "cmaes" and study.constraints:
        yield Problem(
            f"{file}: tune.sampler",
            "cmaes takes no account of constraints, and would go on where they are broken",
            "use tpe or nsga2, or leave out the constraints",
        )


def _workloads(
    study: Study, listed: Mapping[str, WorkloadSpec] | None, file: Path, field: str, problems: list[Problem]
) -> Iterator[Workload]:
    given = (
        {name: (f"{field}.{name}", it.scenario, it.set) for name, it in listed.items()}
        if listed is not None
        else {Path(study.scenario or "").stem: ("", study.scenario or "", {})}
    )
    for name, (place, scenario, values) in given.items():
        where = f"{place}.scenario" if place else "scenario"
        found = shipped.scenario(file.parent / scenario) if (file.parent / scenario).exists() else None
        try:
            path = found or shipped.scenario(Path(scenario))
            raw = read_yaml(path)
        except InputErrors as error:
            problems += [Problem(f"{file.name}: {where}", f"{it.path}: {it.text}", it.hint) for it in error.problems]
            continue
        try:
            data = apply_values(apply_values(raw, study.set), values)
        except InputErrors as error:
            at = f"{place}.set" if values and place else "set"
            problems += [Problem(f"{file.name}: {at}", f"{it.path} {it.text}", it.hint) for it in error.problems]
            continue
        yield Workload(name, data, path)


def _without_meaning(study: Study, file: str) -> Iterator[Problem]:
    """Measures that have no value after a warm-up."""
    if study.warm_up is None:
        return
    until = study.repetitions.until
    named = {
        "measures": study.measures,
        "objectives": tuple(study.objectives),
        "constraints": tuple(it.metric for it in study.constraints),
        "repetitions.until.measure": () if until is None else (until.measure,),
    }
    for place, metrics in named.items():
        for metric in metrics:
            if metric in WITHOUT_WARM_UP:
                yield Problem(
                    f"{file}: {place}", f"{metric} is a value of the whole run", "leave out the measure, or warm_up"
                )


_ONLY_OF: Final[Mapping[str, tuple[frozenset[str], str, str]]] = {
    "step.": (frozenset({"job", "trace"}), "training job", "a training job (kind: job or trace)"),
    "inference.": (frozenset({"inference"}), "inference", "inference (kind: inference)"),
}
"""Metrics that only runs with such a workload have: beginning of their names -> (kinds, what it is, remedy)."""


def _without_value(study: Study, workloads: Sequence[Workload], file: str) -> Iterator[Problem]:
    """Objectives that a workload cannot have, and measures that none can: found after all runs, they cost the study."""
    if any(path.startswith("workload") for it in study.parameters.values() for path in _fields_of(it)):
        return  # what a run carries differs between points
    kinds = {it.name: _kinds(it.data.get("workload")) for it in workloads}
    until = () if study.repetitions.until is None else (study.repetitions.until.measure,)
    for place, metrics in (("objectives", tuple(study.objectives)), ("measures", (*study.measures, *until))):
        for metric in metrics:
            wanted = next((it for start, it in _ONLY_OF.items() if metric.startswith(start)), None)
            lacking = [] if wanted is None else [name for name, its in kinds.items() if not its & wanted[0]]
            if wanted is not None and lacking and (place == "objectives" or len(lacking) == len(kinds)):
                text = f"{metric} has no value with {lacking[0]}, which has no {wanted[1]}"
                yield Problem(f"{file}: {place}", text, f"name scenarios with {wanted[2]}, or another measure")


def _kinds(loads: object) -> set[str]:
    """Kinds of the entries of a workload; a list that is none is told when the scenario is built."""
    entries = loads if isinstance(loads, Sequence) else ()
    return {str(it.get("kind")) for it in entries if isinstance(it, Mapping)}


def _fields_of(parameter: ParameterSpec) -> Iterator[str]:
    yield from parameter.paths
    for settings in (parameter.cases or {}).values():
        yield from settings


def _baseline(study: Study, levels: Mapping[str, Levels], file: str) -> Iterator[Problem]:
    for name, given in study.baseline.items():
        if name in levels and levels[name].named(given) is None:
            shown = ", ".join(it.shown for it in levels[name].cases[:_SHOWN]) or "a value within its range"
            yield Problem(f"{file}: baseline.{name}", f"{given!r} is no value of the parameter", f"one of: {shown}")


# ===== estimates =====


@dataclass(frozen=True, slots=True)
class CellEstimate:
    """What one run of a cell is likely to take."""

    time_s: float
    memory_bytes: float
    least_memory_bytes: float
    packet_hops: float


@dataclass
class Examined:
    """Estimates of all cells, and the cells that are no valid scenario."""

    estimates: dict[int, CellEstimate] = field(default_factory=dict)
    """By number of the cell."""
    invalid: dict[int, str] = field(default_factory=dict)
    """Number of a cell -> its problems."""


def examine(plan: StudyPlan) -> Examined:
    """Check and estimate every cell. Raises: InputErrors where a workload is valid at no point (rule 1)."""
    found = Examined()
    fabrics: dict[str, Fabric] = {}
    problems: dict[tuple[str, str, str], Problem] = {}
    valid: set[str] = set()
    for cell in plan.cells:
        try:
            found.estimates[cell.number] = _estimated(plan, cell, fabrics)
            valid.add(cell.workload.name)
        except InputErrors as error:
            found.invalid[cell.number] = "; ".join(f"{it.path}: {it.text}" for it in error.problems)
            for it in error.problems:
                key = cell.workload.name, it.path, it.text
                problems.setdefault(key, Problem(f"{cell.point.label}: {it.path}", it.text, it.hint))
    refused = [it for (name, _, _), it in problems.items() if name not in valid]
    if refused:
        raise InputErrors(STAGE, refused[:_SHOWN])
    return found


def examine_corners(plan: StudyPlan) -> Examined:
    """Estimates for a search, whose points are not known: the first, middle and last value of every parameter at once,
    with every workload of the search and elsewhere.

    Raises: InputErrors where none of them is a valid scenario of a workload.
    """
    corners = []
    for number, share in enumerate((0.0, 0.5, 0.999)):
        values = combined(plan.levels, {name: it.at(share) for name, it in plan.levels.items()})
        corners.append(Point(number, values))
    return examine(replace(plan, points=tuple(corners), workloads=(*plan.workloads, *plan.elsewhere), elsewhere=()))


def check_cell(plan: StudyPlan, cell: Cell) -> None:
    """Raises: InputErrors where the scenario of a cell is not valid."""
    build_scenario(apply_values(cell.workload.data, plan.values(cell, 0)), cell.workload.file)


def _estimated(plan: StudyPlan, cell: Cell, fabrics: dict[str, Fabric]) -> CellEstimate:
    data = apply_values(cell.workload.data, plan.values(cell, 0))
    scenario = build_scenario(data, cell.workload.file)
    figures = estimate(scenario, _fabric(scenario, fabrics))
    if figures.problems:
        raise InputErrors(STAGE, figures.problems)
    # Memory is judged for all workers together (admission.py). What no machine can do would fail at its start.
    limits = Admission(scenario.file.name, paced=True, machine=lambda: Machine(None, 0))
    if refused := [it.problem for it in limits.objections(figures) if it.final]:
        raise InputErrors(STAGE, refused)
    memory = figures["memory"]
    recorded = plan.study.keep == "runs" or scenario.routing == "bgp"  # convergence is read from a run directory
    return CellEstimate(figures.worker_s(recorded=recorded), memory.likely, memory.least, figures["packet-hops"].likely)


def _fabric(scenario: Scenario, fabrics: dict[str, Fabric]) -> Fabric:
    """The fabric of a scenario: most points of a study have the same one."""
    key = f"{scenario.file.parent} {scenario.topology!r}"
    if key not in fabrics:
        fabrics.clear()
        fabrics[key] = admitted_fabric(scenario, compiling(scenario.file.name))
    return fabrics[key]

"""Comparisons: the same traffic under several congestion controls and load balancers.

A comparison is a study (schema.py) with measures that every choice is judged by, and a report that has a table and a
drawing for each of them instead of effects and a front. Studies of any parameters can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from fabric.errors import InputErrors, Problem
from fabric.render.document import Column, Document, Picture, Prose, Section, Status, Table, Value
from fabric.scenario.compile.controls import CONTROLS
from fabric.scenario.compile.recovery import SOURCE_ROUTED
from fabric.scenario.schema.expectations import summary_key
from fabric.studies.analysis import Analysis, CellFigures
from fabric.studies.design import Point
from fabric.studies.figures import heat_maps, shown, unit_of
from fabric.studies.plan import STAGE, StudyPlan, build_study
from fabric.studies.statistics import difference
from fabric.topology.select import nearest
from fabric.units import count

MEASURES: Final[Mapping[str, str]] = {
    "fct.p99": "min",
    "fct.max": "min",
    "goodput.total": "max",
    "goodput.jain": "max",
    "queue.peak": "min",
    "pfc.paused_time": "min",
    "pfc.pauses": "min",
    "ecn.marked_ratio": "min",
    "drops.total": "min",
    "transport.out_of_order": "min",
    "transport.naks": "min",
    "transport.retransmits": "min",
    "messages.unfinished": "min",
}
"""What every choice is judged by, and whether little or much of it is wanted."""
_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "Messages": ("fct.p99", "fct.max", "goodput.total", "goodput.jain"),
    "Network": ("queue.peak", "pfc.paused_time", "pfc.pauses", "ecn.marked_ratio", "drops.total"),
    "Recovery": ("transport.out_of_order", "transport.naks", "transport.retransmits", "messages.unfinished"),
}
"""Title of a table -> the measures in it, few enough for a terminal."""

_FIELDS: Final = ["source-ip", "destination-ip", "source-port", "destination-port"]
BALANCERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ecmp": {"switches.load_balancing": "ecmp"},
    "e-ecmp": {"switches.load_balancing": "ecmp", "switches.hash.fields": [*_FIELDS, "destination-qp"]},
    "weighted": {"switches.load_balancing": "weighted"},
    "flowlet": {"switches.load_balancing": "flowlet"},
    "spray": {"switches.load_balancing": "spray"},
    "adaptive": {"switches.load_balancing": "adaptive"},
    "adaptive-notices": {"switches.load_balancing": "adaptive", "switches.congestion_notices": "50KB"},
    SOURCE_ROUTED: {"switches.load_balancing": SOURCE_ROUTED},
}
"""Name -> the fields that it sets; e-ecmp hashes the destination queue pair as well, adaptive-notices has congestion
notices (docs/load-balancing.md).
"""


_ROUTES: Final = "transport.source_routes"
"""What NICs alone read that choose paths; every other balancer refuses it."""


def comparison_of(
    scenarios: Sequence[Path], controls: Sequence[str], balancers: Sequence[str], seeds: int
) -> StudyPlan:
    """The comparison of scenarios that options describe.

    Parameters
    ----------
    scenarios : files, or names of scenarios that come with the package
    controls, balancers : names; none: as each scenario has it
    seeds : runs of each combination

    Raises: InputErrors.
    """
    problems = [*_unknown("--cc", controls, tuple(CONTROLS)), *_unknown("--balance", balancers, tuple(BALANCERS))]
    names = [path.stem for path in scenarios]
    problems += [
        Problem("SCENARIO", f"'{name}' is named twice", "name each scenario once")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if problems:
        raise InputErrors("options", problems)
    parameters: dict[str, Any] = {}
    if controls:
        parameters["control"] = {"cases": {name: {"transport.cc": name} for name in controls}}
    if balancers:
        parameters["balance"] = {"cases": {name: dict(BALANCERS[name]) for name in balancers}}
    raw = {
        "name": "compare-" + "-".join(names)[:40].rstrip("-"),
        "workloads": {path.stem: {"scenario": str(path)} for path in scenarios},
        "parameters": parameters,
        "repetitions": {"seeds": seeds},
        "measures": list(MEASURES),
    }
    file = Path("comparison")
    plan = build_study(raw, file, yaml.safe_dump(raw, sort_keys=False))
    routed = [it.name for it in plan.workloads if (it.data.get("transport") or {}).get("source_routes") is not None]
    others = [name for name in balancers if name != SOURCE_ROUTED]
    if not routed or not others:
        return plan
    for name in others:
        parameters["balance"]["cases"][name][_ROUTES] = None
    note = f"{_ROUTES} of {', '.join(routed)} is left out with {', '.join(others)}: only {SOURCE_ROUTED} has it"
    return replace(build_study(raw, file, yaml.safe_dump(raw, sort_keys=False)), notes=(note,))


def with_measures(plan: StudyPlan) -> StudyPlan:
    """A study with the measures of comparisons before its own. Raises: InputErrors where nothing differs."""
    if len(plan.points) < 2:
        text = "has one point, so there is nothing to compare"
        raise InputErrors(STAGE, [Problem(plan.file.name, text, "add parameters, or name two of --cc or --balance")])
    measures = tuple(dict.fromkeys([*MEASURES, *plan.study.measures]))
    return replace(plan, study=plan.study.model_copy(update={"measures": measures}))


def _unknown(option: str, given: Sequence[str], known: Sequence[str]) -> Iterator[Problem]:
    for name in given:
        if name not in known:
            yield Problem(option, f"'{name}' is none", nearest(name, list(known), "names"))
    yield from (
        Problem(option, f"'{name}' is named twice", "name each once")
        for name in dict.fromkeys(given)
        if given.count(name) > 1
    )


_TAIL: Final = "fct.p99"
_MOST: Final = 3
"""Measures told where the first one does not differ."""
_WORDS: Final = {
    "pfc.pauses": "pauses",
    "queue.peak": "deepest queue",
    "drops.total": "drops",
    "goodput.total": "goodput",
    "goodput.jain": "fairness of goodput",
    "fct.max": "longest completion time",
    "pfc.paused_time": "paused time",
    "ecn.marked_ratio": "marks",
    "transport.out_of_order": "packets out of order",
    "transport.naks": "NAKs",
    "transport.retransmits": "retransmissions",
    "messages.unfinished": "messages not done",
}
"""What the first sentences call the measures beside the tail, in their order."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best and the worst point of one workload in one measure."""

    workload: str
    measure: str
    best: CellFigures
    alike: tuple[CellFigures, ...]
    """Others whose mean is printed alike, or whose difference from the best has an interval that contains 0."""
    worst: CellFigures
    apart: CellFigures | None
    """The worst of those that are not alike; None: there is no difference."""

    @property
    def differs(self) -> bool:
        """Whether a point is told apart from the best."""
        return self.apart is not None

    def printed(self, cell: CellFigures) -> str:
        """The mean of a point, as it is printed."""
        return shown(self.measure, cell.measures[self.measure].mean)


def bests(found: Analysis) -> list[Best]:
    """By workload and measure; measures in which no point differs from another are left out."""
    made = []
    for workload in dict.fromkeys(it.workload for it in found.cells):
        for measure, goal in MEASURES.items():
            cells = [it for it in found.cells if it.workload == workload and measure in it.measures]
            ordered = sorted(cells, key=_by_mean(measure, reverse=goal == "max"))
            if len(ordered) < 2 or ordered[0].measures[measure].mean == ordered[-1].measures[measure].mean:
                continue
            alike = tuple(it for it in ordered[1:] if _alike(found.plan, ordered[0], it, measure))
            apart = next((it for it in ordered[:0:-1] if it not in alike), None)
            made.append(Best(workload, measure, ordered[0], alike, ordered[-1], apart))
    return made


def _by_mean(measure: str, *, reverse: bool) -> Callable[[CellFigures], float]:
    sign = -1 if reverse else 1
    return lambda it: sign * it.measures[measure].mean


def _alike(plan: StudyPlan, best: CellFigures, other: CellFigures, measure: str) -> bool:
    if shown(measure, best.measures[measure].mean) == shown(measure, other.measures[measure].mean):
        return True
    rule = plan.study.repetitions
    paired = rule.pairing == "paired"
    change = difference(other.values.get(measure, {}), best.values.get(measure, {}), rule.confidence, paired=paired)
    return change is not None and change.low is not None and change.high is not None and change.low <= 0 <= change.high


def comparison_json(found: Analysis) -> list[dict[str, Any]]:
    """The best points, for --json."""
    return [
        {
            "workload": it.workload,
            "measure": summary_key(it.measure),
            "goal": MEASURES[it.measure],
            "best": it.best.point.number,
            "alike": [other.point.number for other in it.alike],
            "worst": it.worst.point.number,
            "differs": it.differs,
        }
        for it in bests(found)
    ]


def compose_comparison(found: Analysis, left_out: Mapping[int, str], *, complete: bool, drawn: bool = True) -> Document:
    """The comparison as one document; arguments as those of report.compose()."""
    best = bests(found)
    reasons = []
    if not complete:
        reasons.append(Prose("not every planned run is done: these are the figures so far", Status.WARNING))
    reasons += [Prose(f"{count(runs, 'run')} failed: {why}", Status.WARNING) for why, runs in found.failures.items()]
    if left_out:
        why = next(iter(left_out.values()))
        text = f"{count(len(left_out), 'combination')} left out, being no valid scenario: {why}"
        reasons.append(Prose(text, Status.WARNING))
    tails = [it for it in best if it.measure == _TAIL]
    reasons += [Prose(note) for note in found.plan.notes]
    sections = [
        Section("best", "Best of each measure", (_best_table(best),) if best else ()),
        *(
            Section(f"workload-{number}", name, tuple(_tables(found, name)))
            for number, name in enumerate(dict.fromkeys(it.workload for it in found.cells))
        ),
        Section("drawings", "Drawings", tuple(_drawings(found)) if drawn else ()),
    ]
    return Document(
        title=found.plan.study.name,
        subtitle=f"{count(len(found.plan.points), 'point')}, {count(len(found.plan.workloads), 'workload')}, "
        f"{count(found.runs, 'run')}{f', {found.plan.seeds}' if found.plan.seeds else ''}",
        status=Status.WARNING
        if any(it.status is Status.WARNING for it in reasons)
        else Status.GOOD
        if any(it.differs for it in tails)
        else Status.NEUTRAL,
        verdict=comparison_verdict(found),
        reasons=(*reasons, *_elsewhere(best)),
        sections=tuple(it for it in sections if it.blocks),
    )


def comparison_verdict(found: Analysis) -> str:
    """Which point has the shortest tail of completion times; where none has, that, and in what they do differ."""
    best = bests(found)
    apart, same = [], []
    for workload in dict.fromkeys(it.workload for it in found.cells):
        tails = [it for it in found.cells if it.workload == workload and _TAIL in it.measures]
        first = next((it for it in best if (it.workload, it.measure) == (workload, _TAIL)), None)
        if first is not None and first.differs:
            apart.append(f"{workload}: {_named(first)}")
        elif tails:
            value = shown(_TAIL, min(it.measures[_TAIL].mean for it in tails))
            same.append(f"{workload} ({value}){_in_what(best, workload)}")
    parts = []
    if apart:
        parts.append(f"shortest 99th percentile of completion times: {'; '.join(apart)}")
    if same:
        seeds = max(it.measures[_TAIL].count for it in found.cells if _TAIL in it.measures)
        within = "with one seed" if seeds == 1 else f"beyond the spread of {seeds} seeds"
        parts.append(f"no difference {within} in the 99th percentile of completion times: {'; '.join(same)}")
    return "; ".join(parts) or "no message was completed, so that no completion times are compared"


def _named(it: Best) -> str:
    """'dcqcn ecmp (3.923ms), as good: dctcp ecmp and 2 others'."""
    named = f"{name_of(it.best.point)} ({it.printed(it.best)})"
    if not it.alike:
        return named
    more = f" and {count(len(it.alike) - 1, 'other')}" if len(it.alike) > 1 else ""
    return f"{named}, as good: {name_of(it.alike[0].point)}{more}"


def _in_what(best: Sequence[Best], workload: str) -> str:
    """', which differ in pauses, deepest queue'; '' where no measure tells them apart."""
    words = [_WORDS[it.measure] for it in _beside(best, workload)]
    return f", which differ in {', '.join(words)}" if words else ", and none in another measure"


def _beside(best: Sequence[Best], workload: str) -> list[Best]:
    """The measures beside the tail in which the points of a workload differ, in the order of _WORDS."""
    there = {it.measure: it for it in best if it.workload == workload and it.differs}
    return [there[measure] for measure in _WORDS if measure in there]


def _elsewhere(best: Sequence[Best]) -> Iterator[Prose]:
    """By how much points differ, of workloads whose tails of completion times do not."""
    told_apart = {it.workload for it in best if it.measure == _TAIL and it.differs}
    for workload in dict.fromkeys(it.workload for it in best if it.workload not in told_apart):
        for it in _beside(best, workload)[:_MOST]:
            assert it.apart is not None  # noqa: S101  it differs
            most, least = (f"{it.printed(cell)} with {name_of(cell.point)}" for cell in (it.best, it.apart))
            yield Prose(f"{workload}: {_WORDS[it.measure]}: {most}, {least}")


def name_of(point: Point) -> str:
    """'dcqcn spray': the values of a point, without the names of the parameters."""
    return " ".join(it.shown for it in point.values.values())


def _best_table(best: Sequence[Best]) -> Table:
    columns = (
        Column("workload", "workload"),
        Column("measure", "measure"),
        Column("best", "best"),
        Column("value", "its mean"),
        Column("alike", "as good"),
        Column("worst_value", "worst"),
    )
    rows = tuple(
        (
            it.workload,
            it.measure.removeprefix("transport."),
            name_of(it.best.point),
            shown(it.measure, it.best.measures[it.measure].mean),
            count(len(it.alike), "other"),
            shown(it.measure, it.worst.measures[it.measure].mean),
        )
        for it in best
    )
    note = "As good: others that are printed alike, or, with several seeds, whose difference from the best may be 0."
    return Table("best", "", columns, rows, note)


def _tables(found: Analysis, workload: str) -> Iterator[Table]:
    """A row for each point; the study's own further measures are in the last table."""
    cells = [it for it in found.cells if it.workload == workload]
    own = tuple(it for it in found.plan.study.measures if it not in MEASURES)
    for title, names in (*_TABLES.items(), ("Others", own)):
        there = [name for name in names if any(name in it.measures for it in cells)]
        if not there:
            continue
        columns = [Column(name, name) for name in found.plan.levels]
        columns += [
            Column(summary_key(name), name.removeprefix("transport.").removeprefix("messages."), unit_of(name))
            for name in there
        ]
        rows: list[tuple[Value, ...]] = []
        for cell in cells:
            values = [cell.measures.get(name) for name in there]
            labels = (it.shown for it in cell.point.values.values())
            rows.append((*labels, *(None if it is None else it.mean for it in values)))
        yield Table(title.lower(), title, tuple(columns), tuple(rows))


def _drawings(found: Analysis) -> Iterator[Picture]:
    for measure in MEASURES:
        drawn = heat_maps(found, measure)
        if drawn is not None:
            yield drawn

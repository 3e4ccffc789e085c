"""The report of a search: the front with its intervals, the chosen point, its patch, importances, all trials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fabric.render.document import Column, Document, Markdown, Picture, Prose, Section, Status, Table, Unit, Value, show
from fabric.scenario.schema.expectations import METRICS, summary_key
from fabric.studies.analysis import Analysis
from fabric.studies.figures import unit_of
from fabric.studies.patch import Patch, patches
from fabric.studies.statistics import Interval
from fabric.studies.tune import Confirmed, Tuned
from fabric.studies.tune_figures import tune_pictures
from fabric.units import count, listed

if TYPE_CHECKING:  # it loads the checks of configurations
    from fabric.studies.config_patch import ConfigPatches

_WHOLE_PERCENT: Final = 0.005
"""Smallest share that is shown without decimals."""
_SHOWN: Final = 8
"""Files, reasons and findings that are named."""


def tune_document(found: Tuned, analysis: Analysis, *, drawn: bool = True) -> Document:
    """The report as one document; `analysis` is that of the table of runs."""
    study = found.plan.study
    made: list[Picture] = tune_pictures(found, analysis) if drawn else []
    sections = (
        Section("front", "Pareto front" if len(study.objectives) > 1 else "Best point", tuple(_front(found))),
        Section("patch", "The chosen point as configuration", tuple(_patches(found))),
        Section("workloads", "What it costs with each workload", tuple(_workloads(found))),
        Section("importances", "What matters", tuple(_importances(found))),
        Section("drawings", "Drawings", tuple(made)),
        Section("study", "The study", (Markdown(f"```yaml\n{found.plan.text.rstrip().replace('```', '` ` `')}\n```"),)),
    )
    return Document(
        title=study.name,
        subtitle=f"{count(found.trials, 'trial')}, {count(analysis.runs, 'run')}, "
        f"{count(len(found.plan.workloads), 'workload')}",
        status=Status.GOOD if found.chosen is not None else Status.WARNING,
        verdict=_verdict(found),
        reasons=tuple(_reasons(found)),
        sections=tuple(it for it in sections if it.blocks),
    )


def tune_json(found: Tuned, analysis: Analysis) -> dict[str, Any]:
    """For --json and points.json."""
    return {
        "name": found.plan.study.name,
        "trials": found.trials,
        "stopped": found.stopped,
        "failed": found.failed,
        "runs": analysis.runs,
        "front": [_point_json(it) for it in found.front],
        "chosen": None if found.chosen is None else _point_json(found.chosen),
        "baseline": None if found.baseline is None else _point_json(found.baseline),
        "importances": {summary_key(name): dict(it) for name, it in found.importances.items()},
        "workloads": [
            {
                "workload": it.workload,
                "measure": summary_key(it.measure),
                "baseline": it.baseline.as_json(),
                "difference": it.change.as_json(),
            }
            for it in found.elsewhere
        ],
        "patches": [
            {"language": it.language, "lines": it.lines, "missing": it.missing} for it in chosen_patches(found)
        ],
        **({} if found.configs is None else {"configs": _configs_json(found.configs)}),
    }


def _configs_json(found: ConfigPatches) -> dict[str, Any]:
    return {
        "folder": str(found.folder),
        "files": dict(found.files),
        "missing": list(found.missing),
        "new_findings": list(found.new_findings),
    }


def chosen_patches(found: Tuned) -> list[Patch]:
    """The settings of the chosen point in every language."""
    return patches(varied(found), json.loads(found.scenario)) if varied(found) else []


def varied(found: Tuned) -> list[str]:
    """Fields of the scenario that the chosen point sets; [] where there is none."""
    if found.chosen is None or not found.scenario:
        return []
    return [path for value in found.chosen.point.values.values() for path, _ in value.settings]


def _point_json(it: Confirmed) -> dict[str, Any]:
    return {
        "point": it.point.number,
        "parameters": {name: value.shown for name, value in it.point.values.items()},
        "settings": it.point.settings,
        "feasible": it.feasible,
        "objectives": {summary_key(name): known.as_json() for name, known in it.objectives.items()},
        "differences": {summary_key(name): known.as_json() for name, known in it.gains.items()},
    }


def _verdict(found: Tuned) -> str:
    if found.chosen is None:
        if found.front:
            return "no point met the constraints with new seeds"
        none = found.failed == found.trials
        return "no trial has a value of every objective" if none else "no trial met the constraints"
    texts = []
    for name, known in found.chosen.objectives.items():
        text = f"{name} {show(known.mean, unit_of(name))}"
        change = found.chosen.gains.get(name)
        base = found.baseline.objectives.get(name) if found.baseline is not None else None
        if change is not None and base is not None and base.mean:
            share = change.mean / abs(base.mean)
            if change.low is not None and change.high is not None and change.low <= 0 <= change.high:
                text += " (not told apart from the baseline)"
            else:
                amount = f"{abs(share):.0%}" if abs(share) >= _WHOLE_PERCENT else f"{abs(share):.2%}"
                text += f" ({amount} {'less' if share < 0 else 'more'} than the baseline)"
        texts.append(text)
    return f"{found.chosen.point.label}: {', '.join(texts)}"


def _reasons(found: Tuned) -> Iterator[Prose]:
    if found.failed:
        yield Prose(
            f"{count(found.failed, 'trial')} had no value: no valid scenario, or a run failed or lacks the measure",
            Status.NEUTRAL,
        )
    if found.stopped:
        yield Prose(
            f"{count(found.stopped, 'trial')} stopped before all seeds: a broken constraint, or far from the best"
        )
    worse = [it for it in found.front if not it.feasible]
    if worse:
        yield Prose(f"{count(len(worse), 'point')} of the front broke a constraint with new seeds", Status.WARNING)


def _half(known: Interval | None) -> float | None:
    return None if known is None else known.half_width


def _front(found: Tuned) -> Iterator[Table]:
    if not found.front:
        return
    names = list(found.plan.study.objectives)
    columns = [Column("point", "point", Unit.COUNT), *(Column(it, it) for it in found.plan.levels)]
    for name in names:
        columns += [
            Column(summary_key(name), name, unit_of(name)),
            Column(f"{summary_key(name)}.half_width", "±", unit_of(name)),
        ]
    columns.append(Column("remark", "remark"))
    rows = []
    listed = sorted(found.front, key=lambda it: it.objectives[names[0]].mean if names[0] in it.objectives else 0.0)
    extra = [] if found.baseline is None or found.baseline.point in [it.point for it in listed] else [found.baseline]
    for it in [*listed, *extra]:
        row: list[Value] = [it.point.number, *(value.shown for value in it.point.values.values())]
        for name in names:
            known = it.objectives.get(name)
            row += [None if known is None else known.mean, _half(known)]
        remarks = [
            *(["chosen"] if found.chosen is not None and it.point == found.chosen.point else []),
            *(["baseline"] if found.baseline is not None and it.point == found.baseline.point else []),
            *([] if it.feasible else ["breaks a constraint"]),
        ]
        rows.append((*row, ", ".join(remarks)))
    level = found.plan.study.repetitions.confidence
    seeds = found.plan.study.tune.confirm if found.plan.study.tune is not None else 0
    how = f"{count(seeds, 'new seed')} each" if seeds else "the seeds of the search, which favour these points"
    yield Table("front", "", tuple(columns), tuple(rows), f"Means and {level:.0%} intervals over {how}.")


def _patches(found: Tuned) -> Iterator[Markdown | Prose]:
    if found.configs is not None:
        yield from _of_configs(found.configs)
        return
    for it in chosen_patches(found):
        if it.lines:
            body = "\n".join(it.lines)
            yield Markdown(f"**{it.language}**\n\n```\n{body}\n```")
        if it.missing:
            yield Prose(f"{it.language} has no line for {', '.join(it.missing)}")
    if any(it.lines for it in chosen_patches(found)):
        yield Prose("Names of profiles, queues and ports are those of a default configuration; --configs takes yours.")


def _of_configs(found: ConfigPatches) -> Iterator[Markdown | Prose]:
    if found.files:
        names = listed([f"patch-{it}" for it in found.files], _SHOWN)
        yield Prose(f"{count(len(found.files), 'patch', 'patches')} of {found.folder}: {names}.")
        name, text = next(iter(found.files.items()))
        yield Markdown(f"**patch-{name}**\n\n```\n{text.rstrip()}\n```")
    else:
        yield Prose(f"Nothing of {found.folder} is changed.", Status.WARNING)
    for it in found.missing[:_SHOWN]:
        yield Prose(f"Not changed: {it}")
    if len(found.missing) > _SHOWN:
        yield Prose(f"and {len(found.missing) - _SHOWN:,} more that are not changed")
    for it in found.new_findings[:_SHOWN]:
        yield Prose(f"New in the changed files: {it}", Status.WARNING)
    if len(found.new_findings) > _SHOWN:
        yield Prose(f"and {len(found.new_findings) - _SHOWN:,} more that are new", Status.WARNING)
    if found.files and not found.new_findings:
        yield Prose(
            "`fabric validate` finds nothing in the changed files that the present ones do not have.", Status.GOOD
        )


def _workloads(found: Tuned) -> Iterator[Table]:
    if not found.elsewhere:
        return
    columns = (
        Column("workload", "workload"),
        Column("measure", "measure"),
        Column("baseline", "baseline"),
        Column("difference", "difference"),
        Column("interval", "interval"),
        Column("relative_ratio", "relative", Unit.TEXT),
    )
    rows = []
    for it in found.elsewhere:
        unit = unit_of(it.measure)
        ends = "-" if it.change.low is None else f"{show(it.change.low, unit)} to {show(it.change.high, unit)}"
        share = f"{it.change.mean / abs(it.baseline.mean):+.1%}" if it.baseline.mean else "-"
        rows.append((it.workload, it.measure, show(it.baseline.mean, unit), show(it.change.mean, unit), ends, share))
    note = "The chosen point less the baseline, seed by seed."
    yield Table("workloads", "", columns, tuple(rows), note)


def _importances(found: Tuned) -> Iterator[Table]:
    if not found.importances:
        return
    names = [it for it in found.importances if it in METRICS]
    columns = (Column("parameter", "parameter"), *(Column(summary_key(it), it, Unit.RATIO) for it in names))
    parameters = sorted(
        found.plan.levels, key=lambda it: -float(np.mean([found.importances[name].get(it, 0.0) for name in names]))
    )
    rows = tuple((it, *(found.importances[name].get(it) for name in names)) for it in parameters)
    note = "Share of the variance of each objective over the searched space that a parameter explains (fANOVA)."
    yield Table("importances", "", columns, rows, note)

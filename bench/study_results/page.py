"""The page of all searches as Markdown: docs/study-results.md."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bench.study_results.carried_out import COMPARED, GRID, AgainstGrid, Search
from fabric.render.document import show
from fabric.scenario.schema.expectations import METRICS, summary_key
from fabric.studies.figures import unit_of
from fabric.studies.schema import ParameterSpec
from fabric.units import count

COMMAND: Final = "python -m bench.study_results --write docs/study-results.md"
FRONT_PICTURE: Final = "study-ecn-front.svg"
SURFACE_PICTURE: Final = "study-ecn-surface.svg"
LANGUAGES: Final = ("sonic", "eos")
"""Languages whose patch is on the page; the folder has all."""
MOST_ROWS: Final = 8
"""Points of a front that are listed, beside the chosen one and the baseline."""
_MEASURE_OF: Final = {summary_key(name): name for name in METRICS}
Figures = Mapping[str, Any]


def page(searches: Sequence[Search], grid: AgainstGrid, machine: Mapping[str, Any]) -> str:
    """The whole page; `machine` is of bench.machine.conditions(), before the runs."""
    parts = [*_head(searches, grid, machine)]
    for number, search in enumerate(searches):
        parts += _section(search)
        if number == 0:
            parts += _against_grid(search, grid)
    return "\n".join(parts)


def _head(searches: Sequence[Search], grid: AgainstGrid, machine: Mapping[str, Any]) -> Iterator[str]:
    runs = sum(it.runs for it in searches) + grid.grid.runs
    yield "# The searches that come with the package, and what they found\n"
    yield _prose(
        f"Made by `{COMMAND}`: {runs:,} runs, and the first search again with other seeds of its sampler. Each "
        "search is `fabric tune NAME`, and [howto/sweep.md](howto/sweep.md) explains its parts. The figures are "
        "those of the scenarios: for your fabric, put yours in their place."
    )
    yield "| search | knobs | objectives | trials | runs | time of the runs |"
    yield "|---|---|---|---:|---:|---:|"
    for it in searches:
        study = it.plan.study
        goals = ", ".join(f"{name} {goal}" for name, goal in study.objectives.items())
        knobs = ", ".join(it.plan.levels)
        link = f"[{study.name}](#{study.name})"
        yield f"| {link} | {knobs} | {goals} | {it.result.figures['trials']} | {it.runs:,} | {it.runs_s:.0f} s |"
    yield ""
    yield _prose(
        "Intervals are of 95 %, over seeds that the search has not seen: points of a front were chosen for their "
        "values, which would be less good again. Values are means over the workloads. Differences are the chosen "
        "point less the baseline, seed by seed. What a knob explains is its share of the variance over the "
        "searched space (fANOVA). Times of runs are wall times in their workers, added up: "
        f"{machine['cpu']}, {machine['cores']} cores, load average {machine['load_average'][0]:.1f} before, "
        f"{machine['date']}."
    )


def _prose(text: str) -> str:
    """A paragraph, wrapped as the pages are."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _section(search: Search) -> Iterator[str]:
    study, figures = search.plan.study, search.result.figures
    yield f"## {study.name}\n"
    yield _prose(study.description)
    yield from _knobs(search, figures)
    yield from _front(search, figures)
    yield from _costs(search, figures)
    yield from _patch(figures)


def _knobs(search: Search, figures: Figures) -> Iterator[str]:
    names = [name for name in search.plan.study.objectives if summary_key(name) in figures["importances"]]
    head = [f"explains of {name}" for name in names]
    base, chosen = (_parameters(figures[which]) for which in ("baseline", "chosen"))
    yield "| " + " | ".join(["knob", "field", "searched", "baseline", "chosen", *head]) + " |"
    yield "|---|---|---|---:|---:|" + "---:|" * len(head)
    for name, spec in search.plan.study.parameters.items():
        shares = [figures["importances"][summary_key(it)].get(name) for it in names]
        cells = [
            name,
            ", ".join(f"`{it}`" for it in spec.paths),
            _searched(spec),
            base.get(name, "-"),
            chosen.get(name, "-"),
            *("-" if it is None else f"{it:.0%}" for it in shares),
        ]
        yield "| " + " | ".join(cells) + " |"
    yield ""


def _parameters(point: Figures | None) -> dict[str, str]:
    return {} if point is None else dict(point["parameters"])


def _searched(spec: ParameterSpec) -> str:
    factor = f" x {spec.factor_of}" if spec.factor_of else ""
    if spec.values is not None:
        return ", ".join(str(it) for it in spec.values) + factor
    if spec.cases is not None:
        return ", ".join(spec.cases)
    ends = spec.range or spec.log_range
    assert ends is not None  # one of the four is given
    return f"{ends.start} to {ends.to}{factor}{', by ratio' if spec.log_range else ''}"


def _front(search: Search, figures: Figures) -> Iterator[str]:
    goals, front = search.plan.study.objectives, list(figures["front"])
    base, chosen = figures["baseline"], figures["chosen"]
    first = summary_key(next(iter(goals)))
    front.sort(key=lambda it: it["objectives"].get(first, {"mean": 0.0})["mean"])
    number = None if chosen is None else chosen["point"]
    others = [it for it in front if it["point"] != number]
    alike = {tuple(known["mean"] for known in it["objectives"].values()) for it in front if it["point"] == number}
    others = list(_distinct(others, alike))
    listed = [it for it in front if it["point"] == number] + _spread(others, MOST_ROWS - 1)
    listed.sort(key=lambda it: it["objectives"].get(first, {"mean": 0.0})["mean"])
    if base is not None and base["point"] not in {it["point"] for it in listed}:
        listed.append(base)
    kind = "Points of the Pareto front" if len(goals) > 1 else "The best point"
    left = len(front) - len([it for it in listed if it["point"] in {one["point"] for one in front}])
    more = f" ({left} more, some with equal values, are in the folder)" if left else ""
    rule = search.plan.study.tune
    yield f"{kind} with {count(rule.confirm, 'new seed') if rule else 'its seeds'} each{more}:\n"
    names = list(search.plan.levels)
    yield "| " + " | ".join([*names, *goals, ""]) + " |"
    yield "|" + "---:|" * (len(names) + len(goals)) + "---|"
    for it in listed:
        notes = [
            *(["**chosen**"] if it["point"] == number else []),
            *(["baseline"] if base is not None and it["point"] == base["point"] else []),
            *([] if it["feasible"] else ["breaks a constraint with the new seeds"]),
        ]
        cells = [*it["parameters"].values(), *(_interval(it["objectives"], name) for name in goals), ", ".join(notes)]
        yield "| " + " | ".join(cells) + " |"
    yield ""


def _distinct(points: Sequence[Any], seen: set[tuple[float, ...]]) -> Iterator[Any]:
    """Points whose objectives no other point before them has."""
    for it in points:
        values = tuple(known["mean"] for known in it["objectives"].values())
        if values not in seen:
            seen.add(values)
            yield it


def _spread(points: Sequence[Any], most: int) -> list[Any]:
    """At most so many of them, both ends included, at equal steps."""
    if len(points) <= most:
        return list(points)
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]


def _interval(objectives: Figures, name: str) -> str:
    known = objectives.get(summary_key(name))
    if known is None:
        return "-"
    text = show(known["mean"], unit_of(name))
    return text if known["low"] is None else f"{text} ± {show((known['high'] - known['low']) / 2, unit_of(name))}"


def _costs(search: Search, figures: Figures) -> Iterator[str]:
    if not figures["workloads"]:
        return
    rule = search.plan.study.tune
    elsewhere = rule.elsewhere if rule is not None else {}
    where = " of the search and elsewhere" if elsewhere else ""
    yield f"What the chosen point changes with each workload{where}:\n"
    yield "| workload | measure | baseline | chosen less baseline | 95 % interval | |"
    yield "|---|---|---:|---:|---:|---:|"
    for it in figures["workloads"]:
        name = _MEASURE_OF[it["measure"]]
        change, before, unit = it["difference"], it["baseline"]["mean"], unit_of(name)
        if not before and not change["mean"]:
            continue
        place = f"{it['workload']} (elsewhere)" if it["workload"] in elsewhere else it["workload"]
        ends = "-" if change["low"] is None else f"{show(change['low'], unit)} to {show(change['high'], unit)}"
        share = f"{change['mean'] / abs(before):+.1%}" if before else "-"
        apart = change["low"] is None or not change["low"] <= 0 <= change["high"]
        told = "" if apart else ", not told apart" if change["low"] < change["high"] else ", equal"
        cells = [place, name, show(before, unit), show(change["mean"], unit), ends, f"{share}{told}"]
        yield "| " + " | ".join(cells) + " |"
    yield ""


def _patch(figures: Figures) -> Iterator[str]:
    made = {it["language"]: it for it in figures["patches"] if it["lines"]}
    if not made:
        yield "No language has lines for the values of these knobs.\n"
        return
    yield "The chosen point as configuration; names of profiles and ports are those of a default configuration:\n"
    shown = [it for it in LANGUAGES if it in made] or list(made)[:1]
    for language in shown:
        yield f"{language}:\n\n```\n" + "\n".join(made[language]["lines"]) + "\n```\n"
    missing: dict[str, list[str]] = {}
    for language, it in made.items():
        for field in it["missing"]:
            missing.setdefault(field, []).append(language)
    for field, languages in missing.items():
        yield f"No line for `{field}`: {', '.join(languages)}.\n"
    others = [language for language in made if language not in shown]
    if others:
        yield f"The folder has the same for {', '.join(others)}.\n"


def _against_grid(search: Search, found: AgainstGrid) -> Iterator[str]:
    grid, drawn = found.grid, found.drawn
    first = next(iter(found.searches.values()))
    share = first.runs / grid.runs
    yield f"### {COMPARED} against a grid\n"
    yield _prose(
        f"`fabric sweep {GRID}` has {grid.points} points in the same space: {grid.runs:,} runs. The "
        f"{first.points} trials of the search are {first.runs} runs, {share:.0%} of them. Both are compared on "
        f"the {found.seeds} seeds that both have: by the area of objective space that a front covers up to the "
        "grid's worst values (hypervolume), and by the most by which some point of the grid's front is better "
        "than each point of the search (additive epsilon), as a share of the range of the grid's values; "
        "negative where the search is better everywhere."
    )
    yield "| | points | runs | covered area | behind the grid's front by |"
    yield "|---|---:|---:|---:|---:|"
    yield f"| the whole grid | {grid.points} | {grid.runs:,} | 100 % | 0 % |"
    for seed, it in found.searches.items():
        name = "the search" if it is first else f"the search with seed {seed} of the sampler"
        yield f"| {name} | {it.points} | {it.runs} | {it.covered_ratio:.1%} | {it.lag_ratio:.1%} |"
    yield (
        f"| {drawn.points} points of the grid by chance, mean of {drawn.draws} draws | {drawn.points} | "
        f"{drawn.points * grid.runs // grid.points} | {drawn.mean_ratio:.1%} | |"
    )
    yield ""
    yield _prose(
        f"The search covers more than {drawn.beaten} of {drawn.draws} random draws of as many points of the grid, "
        f"of which the best covers {drawn.best_ratio:.1%}. An area above 100 % is possible: the search is not "
        "bound to the values of the grid."
    )
    yield f"![the points of the grid and of the search](images/{FRONT_PICTURE})\n"
    yield f"The grid's means of {next(iter(search.plan.study.objectives))} over two of the knobs:\n"
    yield f"![the same measure over two knobs](images/{SURFACE_PICTURE})\n"

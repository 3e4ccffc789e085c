"""Two runs side by side: one map of both with the same layer, scale and moment, and tables of what changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fabric.explain import layers
from fabric.explain.diff import messages_title
from fabric.explain.diff_words import row_change, short_text, side_text
from fabric.explain.evidence import Evidence
from fabric.explain.fabric_map import KEY, Focus, opening, pane, step
from fabric.render.document import Answer, Column, Document, LayeredMap, Pane, Prose, Section, Status, Table, Unit, show


def diff_document(
    found: Mapping[str, Any], runs: tuple[Evidence, Evidence], names: tuple[str, str], focuses: tuple[Focus, Focus]
) -> Document:
    """The page of a comparison; `found` is that of fabric.explain.diff.compare()."""
    short = Path(names[0]).resolve().name, Path(names[1]).resolve().name
    names = short if short[0] != short[1] else names
    answer = Answer(Status.NEUTRAL, f"Before: {_brief(focuses[0])}. After: {_brief(focuses[1])}.", target=KEY)
    sections = (
        Section("map", "Map", (_map(runs, names, focuses),)),
        Section("metrics", "What changed", (*_roots(focuses, names), *_metrics(found, names))),
        Section("scenario", "What was changed", _scenario(found, names)),
        Section("messages", "Messages", _messages(found, names)),
    )
    return Document(
        f"{names[0]} and {names[1]}", "fabric diff", Status.NEUTRAL, found["sentence"], (), sections, answer
    )


def _brief(focus: Focus) -> str:
    """'broken-nic at host1:eth0 (class 3)', or 'none'."""
    facts = {fact.key: fact.value for fact in focus.answer.facts}
    return f"{facts['kind']} at {facts['place']}" if facts else "none"


def _roots(focuses: tuple[Focus, Focus], names: tuple[str, str]) -> tuple[Table, ...]:
    """The first root causes beside each other; no table where neither run has one."""
    sides = [{fact.key: fact for fact in focus.answer.facts} for focus in focuses]
    keys = list(dict.fromkeys(key for side in sides for key in side))
    columns = (Column("what", ""), Column("a", names[0]), Column("b", names[1]))
    rows = tuple(
        (
            next(side[key].title for side in sides if key in side),
            *(show(side[key].value, side[key].unit) if key in side else "none" for side in sides),
        )
        for key in keys
    )
    return (Table("first_roots", "First root cause", columns, rows),) if rows else ()


def _most_different(panes: tuple[Pane, Pane], layer: int, intervals: int) -> int | None:
    """The interval in which the steps of the two maps differ most, the first of equals; None: they are equal."""
    apart = np.zeros(intervals)
    for place in {place for it in panes for place in it.layers[layer].values}:
        steps = []
        for it in panes:
            own = np.zeros(intervals)
            for row, value in it.layers[layer].values.get(place, ()):
                own[row:] = step(it.layers[layer], value)
            steps.append(own)
        apart += np.abs(steps[0] - steps[1])
    return int(np.argmax(apart)) if apart.any() else None


def _map(runs: tuple[Evidence, Evidence], names: tuple[str, str], focuses: tuple[Focus, Focus]) -> LayeredMap:
    sample_ns = max(it.run.sampling_ns for it in runs)
    edges = layers.equal_edges(sample_ns, max(it.end_ns for it in runs))
    while True:
        made = [layers.layers_within(it, edges) for it in runs]
        least = min((own for own, _ in made), key=len)
        if len(least) == len(edges):
            break
        edges = least
    keys = {layer.key for _, own in made for layer in own}
    panes = tuple(
        pane(it, layers.with_all(own, keys), focus, f"{side}: {name}")
        for it, (_, own), focus, side, name in zip(runs, made, focuses, ("Before", "After"), names, strict=True)
    )
    first = 0 if focuses[0].layer or not focuses[1].layer else 1
    layer, interval = opening(edges, panes[first], focuses[first])
    differs = _most_different((panes[0], panes[1]), layer, len(edges) - 1)
    interval = interval if differs is None else differs
    note = "Both maps show the same layer and interval, in the same colours; they open where they differ most. "
    note += (
        "After the end of the shorter run its counters do not change, and its depths and rates stay as they were last."
    )
    return LayeredMap(KEY, "Before and after", tuple(edges.tolist()), panes, layer, interval, note)


def _metrics(found: Mapping[str, Any], names: tuple[str, str]) -> tuple[Prose | Table, ...]:
    if not found["metrics"]:
        return (Prose("No metric differs."),)
    columns = (Column("metric", "Metric"), Column("a", names[0]), Column("b", names[1]), Column("change", "Change"))
    rows = tuple((it["metric"], side_text(it, "a"), side_text(it, "b"), row_change(it)) for it in found["metrics"])
    return (Table("metrics", "Metrics that differ", columns, rows),)


def _scenario(found: Mapping[str, Any], names: tuple[str, str]) -> tuple[Prose | Table, ...]:
    if not found["scenario"]:
        return (Prose("The scenarios are the same."),)
    columns = (Column("field", "Field"), Column("a", names[0]), Column("b", names[1]))
    rows = tuple((name, short_text(a), short_text(b)) for name, (a, b) in found["scenario"].items())
    return (Table("scenario", "Fields that differ", columns, rows),)


def _messages(found: Mapping[str, Any], names: tuple[str, str]) -> tuple[Prose | Table, ...]:
    both = found["messages"]
    if both is None:
        return (Prose("No message is in both runs."),)
    columns = (
        Column("quantile", "Time"),
        Column("a_ns", names[0], Unit.NS),
        Column("b_ns", names[1], Unit.NS),
        Column("ratio", "After / before", Unit.TIMES),
        Column("factor", "After / before, each", Unit.TIMES),
    )
    rows = tuple((name, *(both[key][name] for key in ("a_ns", "b_ns", "ratio", "factor"))) for name in both["a_ns"])
    note = (
        "Each: the quotient is taken message by message. "
        f"Not done, or absent, in the other: {both['only_a']:,} of {names[0]}, {both['only_b']:,} of {names[1]}."
    )
    return (Table("messages", messages_title(both), columns, rows, note),)

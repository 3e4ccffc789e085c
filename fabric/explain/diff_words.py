"""What fabric diff says first: which settings two runs differ in, and what that changed most. And its cells as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from fabric.render import run_page as page
from fabric.runs.left_out import OF_COMPLETED
from fabric.visible import visible

COUNTED: Final = {"step.": ("step.done", "steps"), "inference.": ("inference.done", "requests")}
"""Metrics of steps and requests that ended: their number, and what they are."""
_NAMED: Final = 3
"""Settings, and figures, that the sentence names."""
_LABELS: Final = frozenset({"name", "description"})
"""Fields of a scenario that set nothing."""
_FIGURES: Final = (
    "messages.done",
    "fct.p99",
    "step.mean",
    "inference.ttft.p99",
    "goodput.total",
    "drops.total",
    "pfc.pauses",
    "ecn.marked",
    "queue.peak",
    "transport.retransmits",
    "convergence.max",
    "watchdog.storms",
)
"""What the sentence names first, one metric of each family; of equal changes the first. Others where too few differ."""


def sentence(found: Mapping[str, Any]) -> str:
    """The findings of compare() in one: the settings that differ, and up to three figures that changed most."""
    if found["same"]:
        return f"The same result: the digests are equal{_although(found)}."
    settings = _settings(found)
    begin = _listed(settings) if settings else "No setting differs"
    if not settings and "version" in found["manifest"]:
        begin += f", but the program does: {' -> '.join(map(str, found['manifest']['version']))}"
    return f"{begin}; {_changed(found)}."


def _settings(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pair for name, pair in found["scenario"].items() if name not in _LABELS}


def _although(found: Mapping[str, Any]) -> str:
    settings = _settings(found)
    return f", although {_listed(settings)[0].lower()}{_listed(settings)[1:]}" if settings else ""


def _listed(settings: Mapping[str, Any]) -> str:
    """'One setting differs, switches.ecn.kmin 100KB -> 20MB'."""
    named = ", ".join(f"{name} {_sides(*pair)}" for name, pair in list(settings.items())[:_NAMED])
    left = len(settings) - _NAMED
    more = f" and {left} more" if left > 0 else ""
    many = "One setting differs" if len(settings) == 1 else f"{len(settings)} settings differ"
    return visible(f"{many}, {named}{more}")


def _sides(before: object, after: object) -> str:
    """'100KB -> 20MB', and what only one run has."""
    if before is None:
        return f"only in the second run ({short_text(after)})"
    if after is None:
        return f"only in the first run ({short_text(before)})"
    return f"{short_text(before)} -> {short_text(after)}"


def _changed(found: Mapping[str, Any]) -> str:
    rows = {row["metric"]: row for row in found["metrics"]}
    if not rows:
        return "no metric differs"
    ranked = sorted((name for name in _FIGURES if name in rows), key=lambda name: -_size(rows[name]))
    families = {name.partition(".")[0] for name in ranked}
    for name in sorted(rows, key=lambda name: -_size(rows[name])):
        if (family := name.partition(".")[0]) not in families:
            families.add(family)
            ranked.append(name)
    named = ", ".join(_figure(rows[name]) for name in ranked[:_NAMED])
    left = len(rows) - len(ranked[:_NAMED])
    return f"most changed: {named}{f' ({left} more metrics differ)' if left else ''}"


def _figure(row: Mapping[str, Any]) -> str:
    """'fct.p99 3.923ms -> 6.102ms (+55.5%)'."""
    change = row_change(row)
    return f"{row['metric']} {side_text(row, 'a')} -> {side_text(row, 'b')}{f' ({change})' if change else ''}"


def _size(row: Mapping[str, Any]) -> float:
    """How much a metric changed, by factors; one that was 0 or had no value has changed most."""
    change = row["change"]
    return math.inf if change is None else abs(math.log(max(1 + change, 1e-12)))


def side_text(row: Mapping[str, Any], side: str) -> str:
    """The value of one side ('a' or 'b') of a row of compare()'s metrics, and what it leaves out."""
    return page.measured(row["metric"], row[side], row[f"{side}_left_out"])


def row_change(row: Mapping[str, Any]) -> str:
    """The change of a row of compare()'s metrics, and that its sides are figures of different messages, steps or
    requests.
    """
    text, metric = change_text(row["change"]), row["metric"]
    what = ""
    if metric.startswith(OF_COMPLETED):
        what = "messages" if row["a_left_out"] != row["b_left_out"] else ""
    elif metric.startswith(tuple(COUNTED)) and row["a_count"] != row["b_count"]:
        what = next(plural for prefix, (_, plural) in COUNTED.items() if metric.startswith(prefix))
    return f"{text} (not the same {what})" if text and what else text


def change_text(change: float | None) -> str:
    """0.25 -> '+25.0%'; '' where there is none."""
    return "" if change is None else f"{change:+.1%}"


def short_text(value: object) -> str:
    """A value as a scenario file has it, at most 60 characters."""
    text = "-" if value is None else _text(value)
    return visible(text if len(text) <= 60 else text[:57] + "...")


def _text(value: object) -> str:
    """A value as a scenario file has it."""
    if isinstance(value, dict):
        first = sorted(value, key=lambda name: name != "kind")
        return "{" + ", ".join(f"{name}: {_text(value[name])}" for name in first) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)

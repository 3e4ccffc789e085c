"""Differences between two runs: how they were made, their metrics, and the outcome of the same messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final, TextIO

import numpy as np
import pyarrow as pa
from rich import box
from rich.table import Table
from rich.text import Text

from fabric.explain.diff_words import COUNTED, row_change, sentence, short_text, side_text
from fabric.render.tables import cell, make_console
from fabric.runs.left_out import left_out
from fabric.runs.messages import distribution
from fabric.runs.rundir import RunDir
from fabric.scenario.schema.expectations import METRICS, UNITS, summary_key
from fabric.units import format_time_ps
from fabric.visible import visible

_MADE: Final = ("version", "status", "duration_ps", "digest")
"""Fields of the manifest beside the scenario; duration_ps is shorter than run.duration with --until."""
EACH: Final = "b / a of each message"
"""Heading of the quantiles of quotients. The 90th percentile: a tenth of the messages is further apart."""
WORST: Final = 5
"""Messages listed of each kind: most slowed down, most sped up."""


def compare(a: RunDir, b: RunDir) -> dict[str, Any]:
    """Everything that differs, as data.

    Returns: `sentence` (the settings that differ, and what changed most), `same` (equal digests), `manifest` {field:
    [a, b]}, `scenario` {path: [a, b]} (of the resolved scenarios, so a default that only one of them spells out is no
    difference), `metrics` rows {metric, unit, a, b, change (b / a -
    1, None where a is 0 or has no value), a_left_out, b_left_out (see fabric/runs/left_out.py), a_count, b_count (steps
    or requests that a metric is of; None for other metrics)} and `messages` (see below; None without a common id).
    Raises: RunDirError where a file of either run is damaged: equal digests say nothing of such files.
    """
    for run in (a, b):
        run.verify()
    scenario = dict(_leaves(a.manifest["scenario"]["resolved"], b.manifest["scenario"]["resolved"]))
    explained = {"duration_ps"} if "run.duration" in scenario else set()
    found = {
        "same": a.manifest.get("digest") == b.manifest.get("digest"),
        "manifest": {
            name: [a.manifest.get(name), b.manifest.get(name)]
            for name in _MADE
            if name not in explained and a.manifest.get(name) != b.manifest.get(name)
        },
        "scenario": scenario,
        "metrics": [
            {
                "metric": name,
                "unit": UNITS[METRICS[name][0]],
                "a": before,
                "b": after,
                "change": _change(before, after),
                "a_left_out": left_out(name, a.summary["metrics"]),
                "b_left_out": left_out(name, b.summary["metrics"]),
                "a_count": _count(name, a.summary["metrics"]),
                "b_count": _count(name, b.summary["metrics"]),
            }
            for name, (before, after) in _pairs(a.summary["metrics"], b.summary["metrics"]).items()
            if before != after
        ],
        "messages": _messages(a, b),
    }
    return {"sentence": sentence(found), **found}


def print_diff(found: Mapping[str, Any], names: tuple[str, str], out: TextIO) -> None:
    """Print compare()'s findings for people."""
    console = make_console(out)
    console.print(Text(found["sentence"]))
    made = {
        name.removesuffix("_ps"): [format_time_ps(value) if name.endswith("_ps") else value for value in pair]
        for name, pair in found["manifest"].items()
    }
    for title, pairs in (("How they were made", made), ("Scenario", found["scenario"])):
        if pairs:
            grid = _grid(title, ("", *names))
            for name, (before, after) in pairs.items():
                grid.add_row(*map(Text, (visible(name), visible(short_text(before)), visible(short_text(after)))))
            console.print(grid)
    if found["metrics"]:
        grid = _grid("Metrics", ("metric", *names, "change"))
        for row in found["metrics"]:
            change = row_change(row)
            grid.add_row(row["metric"], side_text(row, "a"), side_text(row, "b"), change)
        console.print(grid)
    if found["messages"] is not None:
        _print_messages(found["messages"], names, console.print)


def _messages(a: RunDir, b: RunDir) -> dict[str, Any] | None:
    """Messages of the same id, src, dst and size that are done in both runs: quantiles of both completion times, their
    `ratio` (b / a), `factor`, quantiles of the quotients of each message, and the ones that changed most.
    """
    columns = ["id", "src", "dst", "size_bytes", "fct_ns"]
    left, right = (_plain(run.messages(columns)) for run in (a, b))
    both = left.join(right, columns[:4], join_type="inner", right_suffix="_b")
    if not both.num_rows:
        return None
    both = both.drop_null().sort_by("id")
    before, after = both["fct_ns"].to_numpy(), both["fct_ns_b"].to_numpy()
    factor = after / np.maximum(before, 1)
    order = np.argsort(factor, kind="stable")
    picked = [*order[::-1][:WORST], *order[:WORST]] if len(order) > 2 * WORST else list(order[::-1])
    a_ns, b_ns = distribution(before), distribution(after)
    return {
        "in_both": both.num_rows,
        "total_a": left.num_rows,
        "total_b": right.num_rows,
        "only_a": left.num_rows - both.num_rows,
        "only_b": right.num_rows - both.num_rows,
        "unchanged": int((before == after).sum()),
        "a_ns": a_ns,
        "b_ns": b_ns,
        "ratio": {name: b_ns[name] / a_ns[name] if a_ns[name] else None for name in a_ns},
        "factor": distribution(factor),
        "most_changed": [
            {
                "id": both["id"][int(row)].as_py(),
                "a_ns": int(before[row]),
                "b_ns": int(after[row]),
                "factor": float(factor[row]),
            }
            for row in picked
            if before[row] != after[row]
        ],
    }


def messages_title(found: Mapping[str, Any]) -> str:
    """'Completion time of the 22 of 46 and 48 messages done in both, 8 of them unchanged'; found: compare()'s messages.

    One total where both runs have as many.
    """
    of = f"{found['total_a']:,}"
    if found["total_b"] != found["total_a"]:
        of += f" and {found['total_b']:,}"
    done = f"{found['in_both']:,} of {of} messages done in both"
    return f"Completion time of the {done}, {found['unchanged']:,} of them unchanged"


def _print_messages(found: Mapping[str, Any], names: tuple[str, str], show: Any) -> None:  # noqa: ANN401  Console.print
    grid = _grid(messages_title(found), ("", *names, "b / a", EACH))
    for name in found["a_ns"]:
        grid.add_row(
            name,
            cell(found["a_ns"][name], "ns"),
            cell(found["b_ns"][name], "ns"),
            cell(found["ratio"][name], "factor"),
            cell(found["factor"][name], "factor"),
        )
    show(grid)
    if found["only_a"] or found["only_b"]:
        left = f"{found['only_a']:,} of {names[0]}, {found['only_b']:,} of {names[1]}"
        show(Text(f"not done, or absent, in the other: {left}", style="dim"))
    if found["most_changed"]:
        left = found["in_both"] - found["unchanged"] - len(found["most_changed"])
        more = f" ({left:,} more: --json has the distribution, messages.parquet every message)" if left else ""
        grid = _grid(f"Most changed{more}", ("message", *names, "b / a"))
        for row in found["most_changed"]:
            times = cell(row["a_ns"], "ns"), cell(row["b_ns"], "ns")
            grid.add_row(visible(row["id"]), *times, cell(row["factor"], "factor"))
        show(grid)


def _grid(title: str, heads: tuple[str, ...]) -> Table:
    grid = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for place, head in enumerate(heads):
        grid.add_column(head, justify="right" if place else "left", overflow="fold")
    return grid


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (a.get(summary_key(name)), b.get(summary_key(name))) for name in METRICS}


def _change(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else after / before - 1


def _leaves(a: object, b: object, path: str = "") -> Iterator[tuple[str, list[object]]]:
    """Paths at which two resolved scenarios differ."""
    if path.endswith("]") and (a is None or b is None or _kind(a) != _kind(b)):  # an additional or a different entry
        yield path, [a, b]
    elif isinstance(a, dict | None) and isinstance(b, dict | None):  # a section that only one run has: field by field
        one, other = a or {}, b or {}
        for key in dict.fromkeys([*one, *other]):
            yield from _leaves(one.get(key), other.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(a, list) and isinstance(b, list) and _of_mappings(a) and _of_mappings(b):
        for place, (it, its) in enumerate(zip_longest(a, b)):
            yield from _leaves(it, its, f"{path}[{place}]")
    elif a != b:
        yield path, [a, b]


def _of_mappings(entries: list[object]) -> bool:
    return all(isinstance(it, dict) for it in entries)


def _kind(value: object) -> object:
    return value.get("kind") if isinstance(value, dict) else None


def _count(metric: str, metrics: Mapping[str, Any]) -> int | None:
    """Steps or requests that a metric is of; None for other metrics, and for the count itself."""
    for prefix, (counter, _) in COUNTED.items():
        if metric.startswith(prefix) and metric != counter:
            return int(metrics.get(summary_key(counter)) or 0)
    return None


def _plain(table: pa.Table) -> pa.Table:
    """Names as strings: tables of two runs have different dictionaries."""
    return table.cast(
        pa.schema(
            [pa.field(it.name, pa.string() if pa.types.is_dictionary(it.type) else it.type) for it in table.schema]
        )
    )

"""The summary of a run as text: verdict, expectations, the numbers that matter, and the worst places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fabric.render.fitting import fit, note
from fabric.render.tables import cell, make_console
from fabric.runs.convergence import CLOCKS
from fabric.runs.job_summary import job_rows
from fabric.runs.left_out import left_out
from fabric.scenario.sampling import USUAL_INTERVAL_PS, default_interval_ps
from fabric.scenario.schema.expectations import METRICS
from fabric.units import PS_PER_NS, format_bit_rate, format_measured_bytes, format_time_ps
from fabric.visible import command, visible

_MARKS: Final = {
    "problem": ("✗", "bold red"),
    "warning": ("!", "yellow"),
    "note": ("·", "default"),
    "good": ("✓", "green"),
}

_WORST: Final = (
    (
        "Longest paused",
        ("pfc", "paused_ports"),
        {
            "port": "text",
            "class": "text",
            "by": "text",
            "paused_ns": "ns",
            "paused_ratio": "ratio",
            "pauses": "times",
            "longest_ns": "ns",
        },
        "pfc",
    ),
    (
        "Losses",
        ("drops", "ports"),
        {"port": "text", "class": "text", "pkts": "packets", "bytes": "bytes", "reasons": "text"},
        "drops",
    ),
    (
        "Deepest queues",
        ("buffers", "queues"),
        {"port": "text", "class": "text", "peak_bytes": "bytes", "now_bytes": "bytes"},
        "queues",
    ),
    (
        "Headroom",
        ("buffers", "headroom"),
        {"port": "text", "class": "text", "peak_bytes": "bytes", "limit_bytes": "bytes"},
        "queues",
    ),
    (
        "Marking",
        ("ecn", "queues"),
        {"port": "text", "class": "text", "marked_pkts": "packets", "ecn_capable_pkts": "packets"},
        "ecn",
    ),
    (
        "PFC watchdog",
        ("watchdog",),
        {"port": "text", "class": "text", "storms": "storms", "restored": "storms", "dropped_pkts": "packets"},
        "queues",
    ),
)
_ROUTING: Final = {
    "event": "text",
    "time_ns": "ns",
    "reaction_ns": "delay",
    "convergence_ns": "delay",
    "updates": "updates",
    "sessions_lost": "ends",
    "packets_lost": "packets",
    "messages_under_way": "messages",
    "slowdown_p50": "factor",
    "slowdown_max": "factor",
}
_JOBS: Final = {
    "name": "text",
    "ranks": "ranks",
    "steps_done": "text",
    "step_p50_ns": "ns",
    "step_max_ns": "ns",
    "compute_ratio": "ratio",
    "bubble_ratio": "ratio",
    "slow_ranks_ratio": "ratio",
    "exposed_ratio": "ratio",
    "completion_ns": "ns",
}
_COLLECTIVES: Final = {
    "workload": "text",
    "kind": "text",
    "operation": "text",
    "algorithm": "text",
    "done": "operations",
    "duration_p50_ns": "ns",
    "busbw_p50_bytes_per_s": "byte/s",
    "busbw_min_bytes_per_s": "byte/s",
    "sent_bytes": "bytes",
}
_ROWS: Final = 5
_HEADINGS: Final = {
    "paused_ratio": "of the run",
    "pkts": "packets",
    "marked_pkts": "packets marked",
    "ecn_capable_pkts": "ECN-capable",
    "dropped_pkts": "packets dropped",
    "now_bytes": "at the end",
    "slowdown_p50": "median slowdown",
    "slowdown_max": "worst slowdown",
    "name": "job",
    "steps_done": "steps",
    "step_p50_ns": "step p50",
    "step_max_ns": "step max",
    "compute_ratio": "computing",
    "bubble_ratio": "bubble",
    "slow_ranks_ratio": "slow ranks",
    "exposed_ratio": "exposed communication",
    "completion_ns": "completion",
    "done": "operations",
    "duration_p50_ns": "p50",
    "busbw_p50_bytes_per_s": "busbw p50",
    "busbw_min_bytes_per_s": "slowest",
    "sent_bytes": "sent",
}
"""Headings of columns whose name does not explain the content."""
MOST_JOBS: Final = 20
MOST_COLLECTIVES: Final = 20
_ENDS: Final = {"duration": "run.duration was over"}
"""Reasons of the end in words."""


def measured(metric: str, value: float | None, left_out: str = "") -> str:
    """A metric's value, as summary.json has it, with its unit, for people; and the messages that it leaves out."""
    if left_out:
        return f"{measured(metric, value)} ({left_out})"
    if value is None:
        return "no value"
    kind = METRICS[metric][0]
    if kind == "time":
        return format_time_ps(value * PS_PER_NS)
    if kind == "size":
        return format_measured_bytes(value)
    if kind == "rate":
        return format_bit_rate(value)
    return f"{value:.4g}" if kind == "ratio" else f"{value:,.0f}"


def _sampled(manifest: Mapping[str, Any]) -> str:
    """The sampling interval, where the run may be so long that the default is not the usual one."""
    if default_interval_ps(manifest["duration_ps"]) <= USUAL_INTERVAL_PS:
        return ""
    return f", sampled every {format_time_ps(manifest['sampling_ps'])} (telemetry.interval)"


def print_summary(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], out: TextIO, directory: Path,
    first: tuple[str, str] | None = None,
) -> None:  # fmt: skip
    """Print a run on one page. `directory` is named where a table has more rows than are shown; `first`: level and text
    of a line before the verdict.
    """
    console = make_console(out)
    stop, metrics = summary["stop"], summary["metrics"]
    console.print(
        Text.assemble(
            (visible(str(manifest["name"])), "bold"),
            f"  {manifest['status']}: {_ENDS.get(stop['reason'], stop['reason'])} at ",
            format_time_ps(stop["time_ns"] * PS_PER_NS),
            f", seed {manifest['seed']}",
        )
    )
    lines = [(str(it["level"]), str(it["text"])) for it in summary["verdict"]]
    for level, text in lines if first is None else [first, *lines]:
        mark, style = _MARKS[level]
        console.print(Text.assemble(("  " + mark + " ", style), visible(text)))
    console.print()
    _expectations(console, summary["expectations"])
    print_jobs(console, summary, directory)
    _sizes(console, summary["messages"]["by_size"])
    if summary.get("routing"):
        events = summary["routing"]["events"][:_ROWS]
        _worst(console, "Routing", events, _ROUTING)
        _more(console, summary["routing"]["n_events"] - len(events), command("fabric", "report", directory, "--text"))
        if any((row["reaction_ns"] or 0) > (row["convergence_ns"] or 0) for row in events):
            console.print(Text(CLOCKS, style="dim"))
    for title, keys, units, view in _WORST:
        rows: Any = summary
        for key in keys:
            rows = rows[key]
        _worst(console, title, rows[:_ROWS], units)
        left = summary["row_counts"][".".join(keys)] - len(rows[:_ROWS])
        _more(console, left, command("fabric", "show", directory, view))
    console.print(
        Text(
            f"goodput {measured('goodput.total', metrics['goodput.total_bps'], left_out('goodput.total', metrics))}, "
            f"{metrics['transport.retransmits']:,} packets sent again, {metrics['cnp.sent']:,} CNPs"
            + _sampled(manifest),
            style="dim",
        )
    )


def print_jobs(console: Console, summary: Mapping[str, Any], directory: Path) -> None:
    """Jobs and collectives of a run; nothing where it has none."""
    jobs = [{**it, "steps_done": f"{len(it['steps']):,} of {it['steps_planned']:,}"} for it in job_rows(summary)]
    _worst(console, "Jobs", jobs[:MOST_JOBS], _JOBS)
    _more(console, len(jobs) - MOST_JOBS, command("fabric", "job", "report", directory))
    if summary.get("jobs_jain_ratio") is not None:
        text = f"fairness {summary['jobs_jain_ratio']:.3f}: Jain's index over the jobs' progress"
        console.print(Text(text, style="dim"))
        console.print()
    found = sorted(summary.get("collectives", ()), key=lambda it: (it["workload"], -it["sent_bytes"]))
    _worst(console, "Collective operations", found[:MOST_COLLECTIVES], _COLLECTIVES)
    _more(console, len(found) - MOST_COLLECTIVES, command("fabric", "show", directory, "--json"))


def _more(console: Console, left: int, printer: str) -> None:
    """Say below a table how many rows it leaves out, and what prints them."""
    if left > 0:
        console.print(Text(f"{left:,} more: {printer}", style="dim", overflow="fold"))


def _print(console: Console, grid: Table) -> None:
    """Print a table; in a narrow terminal leave out the columns that do not fit, and name them."""
    left_out = fit(grid, console.width)
    console.print(grid)
    if left_out:
        console.print(note(left_out, "widen the terminal, or --json"))


def _expectations(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    grid = Table(title="Expectations", box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    grid.add_column("expectation", no_wrap=True)
    grid.add_column("measured", justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    for row in rows:
        verdict = Text("met", style="green") if row["met"] else Text("NOT MET", style="bold red")
        value = measured(row["metric"], row["actual"], row.get("left_out", ""))
        grid.add_row(visible(row["expectation"]), value, verdict)
    _print(console, grid)


def _sizes(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    grid = Table(title="Messages by size", box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for title in ("size", "done", "FCT mean", "p50", "p99", "max", "slowdown mean", "p50", "p99", "max"):
        grid.add_column(title, justify="left" if title == "size" else "right", no_wrap=True)
    for row in rows:
        times = [cell(row["fct_ns"][name], "ns") for name in ("mean", "p50", "p99", "max")]
        factors = [cell(row["slowdown"][name], "factor") for name in ("mean", "p50", "p99", "max")]
        grid.add_row(row["size"], f"{row['done']:,} of {row['messages']:,}", *times, *factors)
    _print(console, grid)


def _worst(console: Console, title: str, rows: Sequence[Mapping[str, Any]], units: Mapping[str, str]) -> None:
    if not rows:
        return
    grid = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for name, unit in units.items():
        heading = _HEADINGS.get(name) or name.removesuffix("_ns" if unit == "delay" else f"_{unit}").replace("_", " ")
        grid.add_column(heading, justify="left" if unit == "text" else "right", no_wrap=True)
    for row in rows:
        values = [
            visible(", ".join(row[name])) if isinstance(row[name], list) else cell(row[name], unit)
            for name, unit in units.items()
        ]
        grid.add_row(*values)
    _print(console, grid)

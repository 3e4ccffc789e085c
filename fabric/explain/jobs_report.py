"""The section of a report about the jobs and collective operations of a run."""

from __future__ import annotations

from typing import Final

from fabric.explain.evidence import Evidence
from fabric.render.document import Block, Column, Prose, Section, Table, Unit
from fabric.runs.job_summary import job_rows
from fabric.units import format_measured_bytes
from fabric.visible import command

MOST_JOBS: Final = 20
MOST_COLLECTIVES: Final = 24
_JOBS: Final = (
    Column("name", "Job"),
    Column("ranks", "Ranks", Unit.COUNT),
    Column("steps", "Steps done"),
    Column("step_p50_ns", "Step, p50", Unit.NS),
    Column("step_max_ns", "longest", Unit.NS),
    Column("compute_ratio", "Computing", Unit.RATIO),
    Column("bubble_ratio", "Bubble", Unit.RATIO),
    Column("slow_ranks_ratio", "Slow ranks", Unit.RATIO),
    Column("exposed_ratio", "Exposed communication", Unit.RATIO),
    Column("completion_ns", "Completion", Unit.NS),
)
_COLLECTIVES: Final = (
    Column("workload", "Workload"),
    Column("kind", "Kind"),
    Column("operation", "Operation"),
    Column("algorithm", "Algorithm"),
    Column("done", "Done", Unit.COUNT),
    Column("duration_p50_ns", "p50", Unit.NS),
    Column("busbw", "Bus bandwidth, p50"),
    Column("slowest", "slowest"),
    Column("sent_bytes", "Sent", Unit.BYTES),
)


def jobs_section(evidence: Evidence) -> tuple[Section, ...]:
    """No section where the run has neither; a line for each job and each kind of collective operation."""
    summary = evidence.run.summary
    jobs, found = job_rows(summary), summary.get("collectives") or []
    blocks: list[Block] = []
    if jobs:
        rows = tuple(
            tuple(f"{len(it['steps']):,} of {it['steps_planned']:,}" if c.key == "steps" else it[c.key] for c in _JOBS)
            for it in jobs[:MOST_JOBS]
        )
        all_of_them = command("fabric", "job", "report", evidence.run.path)
        note = (
            f"The parts of all steps add up to their time. Every step: {all_of_them}; with --alone also the slowdown."
        )
        blocks.append(Table("jobs", "Steps", _JOBS, rows, note))
    if summary.get("jobs_jain_ratio") is not None:
        text = f"Fairness: Jain's index over the jobs' progress is {summary['jobs_jain_ratio']:.3f}."
        blocks.append(Prose(text))
    if found:
        ordered = sorted(found, key=lambda it: (it["workload"], -it["sent_bytes"]))[:MOST_COLLECTIVES]
        shown = [
            {**it, "busbw": _speed(it["busbw_p50_bytes_per_s"]), "slowest": _speed(it["busbw_min_bytes_per_s"])}
            for it in ordered
        ]
        left = len(found) - len(ordered)
        note = "Bus bandwidth as nccl-tests defines it, of each group of ranks by itself." + (
            f" {left:,} more kinds are in summary.json." if left else ""
        )
        rows = tuple(tuple(it[column.key] for column in _COLLECTIVES) for it in shown)
        blocks.append(Table("collectives", "Collective operations", _COLLECTIVES, rows, note))
    return (Section("jobs", "Jobs", tuple(blocks)),) if blocks else ()


def _speed(value: float | None) -> str:
    return "-" if value is None else f"{format_measured_bytes(value)}/s"

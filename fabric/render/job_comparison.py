"""A comparison of jobs as a document: one row for each job of each variant, and one for each variant."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from fabric.render.document import Column, Document, Section, Status, Table, Unit, show
from fabric.runs.job_compare import Comparison, Row, Whole

_ROW: Final = {
    "variant": ("Variant", Unit.TEXT),
    "name": ("Job", Unit.TEXT),
    "steps": ("Steps", Unit.COUNT),
    "step_ns": ("Step, mean", Unit.NS),
    "longest_step_ns": ("Longest", Unit.NS),
    "exposed_ns": ("Exposed", Unit.NS),
    "alone_step_ns": ("Alone", Unit.NS),
    "slowdown": ("Slowdown", Unit.TIMES),
    "checkpoint_ns": ("Checkpoint", Unit.NS),
    "message_p99_ns": ("Messages, p99", Unit.NS),
    "storage_p99_ns": ("Storage, p99", Unit.NS),
    "ttft_p99_ns": ("TTFT, p99", Unit.NS),
    "tpot_p99_ns": ("TPOT, p99", Unit.NS),
}
_WHOLE: Final = {
    "variant": ("Variant", Unit.TEXT),
    "pauses": ("Pauses", Unit.COUNT),
    "longest_pause_ns": ("Longest pause", Unit.NS),
    "paused_ns": ("Paused time", Unit.NS),
    "marked": ("Packets marked", Unit.COUNT),
    "lossless_drops": ("Lossless drops", Unit.COUNT),
    "fairness": ("Fairness", Unit.COUNT),
}
_NOTE: Final = (
    "Steps are means over the run, the first included. Exposed: what the network, storage included, adds to a step. "
    "Alone: the same job on the same GPUs without the others; slowdown: step over step alone. Checkpoint: the longest "
    "write. Messages: over the network, from posting to acknowledgement, between ranks, and from and to storage nodes."
)


def comparison_document(subject: str, found: Comparison) -> Document:
    """Columns without any value are left out."""
    blocks = (
        _table("jobs", "Jobs", _ROW, found.rows, _NOTE),
        _table(
            "variants", "Variants", _WHOLE, found.wholes,
            "Pauses of classes by link flow control, of all ports; fairness: Jain's index of the slowdowns.",
        ),
    )  # fmt: skip
    return Document(
        f"Comparison of {subject}",
        "",
        Status.NEUTRAL,
        _verdict(found),
        (),
        (Section("comparison", "Comparison", blocks),),
    )


def _verdict(found: Comparison) -> str:
    slowed = [row for row in found.rows if row.slowdown is not None]
    if slowed:
        worst = max(slowed, key=lambda row: row.slowdown or 0.0)
        return (
            f"{worst.name} with {worst.variant} is slowed down most: {show(worst.slowdown, Unit.TIMES)} its step alone."
        )
    steps = [row for row in found.rows if row.longest_step_ns is not None]
    if not steps:
        return "Inference only."
    longest = max(steps, key=lambda row: row.longest_step_ns or 0.0)
    return f"The longest step is that of {longest.name} in {longest.variant}: {show(longest.longest_step_ns, Unit.NS)}."


def _table(
    key: str, title: str, columns: dict[str, tuple[str, Unit]], rows: tuple[Row, ...] | tuple[Whole, ...], note: str
) -> Table:
    kept = [
        field.name
        for field in fields(rows[0])
        if field.name in columns and any(getattr(row, field.name) is not None for row in rows)
    ]
    return Table(
        key,
        title,
        tuple(Column(name, *columns[name]) for name in kept),
        tuple(tuple(getattr(row, name) for name in kept) for row in rows),
        note,
    )

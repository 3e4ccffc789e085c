"""Results as one page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.qualify.output.facts import all_green, assumed, not_emulated, shown_rows, verdict
from fabric.qualify.report import Report
from fabric.qualify.schema import LeftOutSpec
from fabric.render.document import Block, Column, Document, Prose, Section, Status, Table
from fabric.render.html import to_html

_STATUS: Final = {
    "green": Status.GOOD, "red": Status.BAD, "not run": Status.WARNING, "reported": Status.NEUTRAL
}  # fmt: skip


def as_html(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> str:
    """A self-contained page."""
    return to_html(document(plan, switch, runs, left_out))


def document(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> Document:
    """A section for each scenario, one for what is not emulated or assumed."""
    sections = [_section(one) for one in runs]
    for key, title, texts in (
        ("not_emulated", "Not emulated", not_emulated(runs, left_out)),
        ("assumed", "Assumed", assumed(runs)),
    ):
        if texts:
            sections.append(Section(key, title, tuple(Prose(it) for it in texts)))
    status = Status.GOOD if all_green(runs) else Status.BAD
    return Document(f"{plan} on {switch}", "fabric qualify", status, verdict(runs), (), tuple(sections))


def _section(one: Report) -> Section:
    blocks: list[Block] = [Prose(one.setup)]
    blocks += [Prose(f"finding: {it}", Status.WARNING) for it in one.findings]
    columns = (Column("id", "check"), Column("result", "result"), Column("title", "demanded"),
               Column("counters", "counters"), Column("cause", "cause"))  # fmt: skip
    rows = tuple(
        (it.check.id, it.colour, it.check.title, "; ".join(shown_rows(it)) or None, it.text or None)
        for it in one.results
    )
    statuses = tuple(_STATUS[it.colour] for it in one.results)
    blocks.append(Table("checks", "Checks", columns, rows, statuses=statuses))
    key = f"{one.case.case}-{one.scenario.name}"
    return Section(key, f"{one.case.case} {one.scenario.name}: {one.scenario.title}", tuple(blocks))

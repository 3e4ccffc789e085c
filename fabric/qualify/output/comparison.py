"""Two results side by side as text, Markdown, a page and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fabric.qualify.compare import Comparison, Line
from fabric.render.document import Block, Column, Document, Prose, Section, Status, Table
from fabric.render.html import to_html
from fabric.units import format_time_ps, listed
from fabric.visible import in_json, in_markdown, visible

_HEAD = ("case", "scenario", "measured", "of", "unit")
_SHOWN = 8


def shown(line: Line, value: float | None) -> str:
    """A value in its unit; times of counters in that which fits."""
    if value is None:
        return "-"
    return format_time_ps(value) if line.unit == "ps" else f"{value:.5g}"


def change(line: Line) -> str:
    """'+3.1%'; '' where nothing can be said."""
    return "" if line.change is None else f"{line.change:+.1%}"


def _row(line: Line) -> tuple[str, ...]:
    unit = "" if line.unit == "ps" else line.unit
    values = shown(line, line.a), shown(line, line.b)
    return (line.case, line.scenario, _title(line), line.label, unit, *values, change(line))


def _notes(found: Comparison) -> Iterator[str]:
    for key, a, b in found.differs:
        yield f"differs: {key.replace('_', ' ')}: {a}, and {b}"
    if not found.comparable:
        yield "where these differ the results are side by side, and no change is computed"
    for name, only in ((found.a, found.only_a), (found.b, found.only_b)):
        if only:
            yield f"{name} alone has {listed(list(only), _SHOWN)}"


def as_text(found: Comparison) -> str:
    """A block for each scenario, a line for each counter."""
    rows = [(_name(it), shown(it, it.a), shown(it, it.b), change(it)) for it in found.lines]
    rows = [("", "a", "b", "change of b"), *rows]
    widths = [max(len(row[number]) for row in rows) for number in range(4)]
    lines = [f"{found.plan}", f"  a: {found.a}", f"  b: {found.b}", *_notes(found)]
    lines += [f"{key.replace('_', ' ')}: {a}, and {b}" for key, a, b in found.structure]
    place = ("", "")
    for it, row in zip((None, *found.lines), rows, strict=True):
        if it is not None and (it.case, it.scenario) != place:
            place = it.case, it.scenario
            lines += ["", " ".join(place)]
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return "\n".join(map(visible, lines)) + "\n"


def _name(line: Line) -> str:
    """'PFC Pause Count, events/s, largest port'."""
    title = _title(line)
    unit = "" if line.unit in {"ps", "count", "dimensionless"} else f", {line.unit}"
    return f"{title}{unit}" + ("" if line.label in {"all", "mean"} else f", {line.label}")


def _title(line: Line) -> str:
    """Without the unit, which is a column of its own."""
    return line.title.removesuffix(f", {line.unit}")


def as_markdown(found: Comparison) -> str:
    """A table."""
    lines = [f"# {found.plan}: {in_markdown(visible(found.a))}, and {in_markdown(visible(found.b))}", ""]
    lines += [f"- {in_markdown(visible(it))}" for it in _notes(found)]
    head = (*_HEAD, found.a, found.b, "change")
    lines += ["", f"| {' | '.join(in_markdown(visible(it)) for it in head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(in_markdown(visible(it)) for it in _row(line))} |" for line in found.lines]
    return "\n".join(lines) + "\n"


def as_json(found: Comparison) -> str:
    """Everything."""
    data = {
        "plan": found.plan,
        "a": found.a,
        "b": found.b,
        "differs": [{"parameter": key, "a": a, "b": b} for key, a, b in found.differs],
        "structure": [{"descriptor": key, "a": a, "b": b} for key, a, b in found.structure],
        "only_a": list(found.only_a),
        "only_b": list(found.only_b),
        "counters": [
            {"case": it.case, "scenario": it.scenario, "title": it.title, "measure": it.measure, "label": it.label,
             "unit": it.unit, "a": it.a, "b": it.b, "change_ratio": it.change}
            for it in found.lines
        ],
    }  # fmt: skip
    return in_json(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def as_html(found: Comparison) -> str:
    """A self-contained page with a section for each case."""
    sections = []
    notes: list[Block] = [Prose(it, Status.WARNING) for it in _notes(found)]
    if found.structure:
        heads = (Column("what", "of the fabric"), Column("a", found.a), Column("b", found.b))
        told = tuple((key.replace("_", " "), a, b) for key, a, b in found.structure)
        notes.append(Table("structure", "Structure", heads, told))
    if notes:
        sections.append(Section("fabrics", "The two fabrics", tuple(notes)))
    names = {"scenario": "scenario", "measured": "measured", "a": found.a, "b": found.b, "change": "change"}
    columns = tuple(Column(key, title) for key, title in names.items())
    for case in dict.fromkeys(it.case for it in found.lines):
        mine = [it for it in found.lines if it.case == case]
        rows = tuple((it.scenario, _name(it), shown(it, it.a), shown(it, it.b), change(it)) for it in mine)
        sections.append(Section(case, case, (Table(f"{case}-values", "Values", columns, rows),)))
    title, verdict = f"{found.plan}: {found.a} and {found.b}", f"{len(found.lines)} values of both"
    return to_html(Document(title, "fabric qualify", Status.NEUTRAL, verdict, (), tuple(sections)))

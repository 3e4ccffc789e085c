"""Sorting, filtering and printing of views: rich tables with units for people, CSV and JSON for programs.

Filters are 'column operator value': `port=leaf1:*` (shell pattern), `class=3`, `fct_ns>200us`, `drops>=1`. A value
may carry a unit where its column has one; a plain number is in the column's base unit.
"""

from __future__ import annotations

import csv
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from io import StringIO
from typing import Any, Final, TextIO

import numpy as np
import pyarrow as pa
from rich import box
from rich.table import Table
from rich.text import Text

from fabric.errors import InputErrors, Problem, UnitError
from fabric.name_patterns import fits_pattern
from fabric.render.console import PlainConsole
from fabric.render.fitting import fit, note
from fabric.render.views import View
from fabric.units import (
    PS_PER_NS,
    format_bit_rate,
    format_measured_bytes,
    format_time_ps,
    parse_rate_bps,
    parse_size_bytes,
    parse_time_ps,
)
from fabric.visible import in_csv, visible

_FILTER: Final = re.compile(r"\s*([a-z_]+)\s*(!=|<=|>=|=|<|>)\s*(.+?)\s*")
_COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_PARSE: Final[Mapping[str, Callable[[str], int]]] = {
    "ns": lambda text: parse_time_ps(text) // PS_PER_NS,
    "bytes": parse_size_bytes,
    "bit/s": parse_rate_bps,
}
TERMINAL_ROWS: Final = 20
"""Rows shown to people unless --top says otherwise; CSV and JSON hold everything."""


def select(view: View, *, filters: Sequence[str] = (), sort: str | None = None, ascending: bool = False) -> View:
    """Rows of the view that match every filter, ordered by a column: largest first, or smallest with `ascending`.

    Raises: InputErrors naming every filter or column that cannot be used.
    """
    problems: list[Problem] = []
    keep = np.ones(view.table.num_rows, np.bool_)
    for text in filters:
        found = _filter(view, text)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            keep &= found
    column = view.sort if sort is None else sort
    if column and column not in view.table.column_names:
        problems.append(Problem("--sort", f"there is no column '{column}'", _nearest(column, view)))
    if problems:
        raise InputErrors(f"fabric show {view.name}", problems)
    table = view.table.filter(pa.array(keep))
    if column:
        table = table.sort_by([(column, "ascending" if ascending else "descending")])
    return replace(view, table=table)


def as_json(view: View, top: int | None) -> str:
    """Rows as a JSON array of objects."""
    return json.dumps(view.table.slice(0, top).to_pylist(), indent=2)


def as_csv(view: View, top: int | None) -> str:
    """Rows as CSV with a header line (RFC 4180, lines end with a newline); null is empty. No cell is a formula."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(view.table.column_names)
    columns = [[in_csv(value) for value in column.to_pylist()] for column in view.table.slice(0, top).columns]
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def print_view(view: View, out: TextIO, top: int | None = TERMINAL_ROWS) -> None:
    """Print the view as a table; a line below it counts the rows that --top leaves out."""
    if not view.table.num_rows:
        make_console(out).print(f"{view.title}: nothing")
        return
    shown = view.table.slice(0, top)
    columns = [name for name in shown.column_names if _worth_showing(view, name)]
    grid = Table(
        title=f"{view.title} ({view.table.num_rows})", box=box.SIMPLE_HEAD, title_justify="left", title_style="bold"
    )
    for name in columns:
        grid.add_column(
            heading(name, view.units[name]), justify="left" if view.units[name] == "text" else "right", no_wrap=True
        )
    values = [[cell(value, view.units[name]) for value in shown[name].to_pylist()] for name in columns]
    for row in zip(*values, strict=True):
        grid.add_row(*row)
    console = make_console(out)
    for column in grid.columns:
        column.no_wrap = False  # headings may take two lines; cells keep to one where they fit
    left_out = fit(grid, console.width, {heading(view.sort, view.units[view.sort])} if view.sort else ())
    console.print(grid)
    if left_out:
        console.print(note(left_out, "widen the terminal, or --format csv"))
    left = view.table.num_rows - shown.num_rows
    if left > 0:
        console.print(Text(f"{left} more; --top N shows N of them, --format csv all", style="dim"))


def make_console(out: TextIO) -> PlainConsole:
    """A console for tables: as wide as the terminal, or as wide as needed where the output is no terminal."""
    return PlainConsole(out, width=300)


def heading(name: str, unit: str) -> str:
    """'pfc_rx_paused_ns' -> 'pfc rx paused': the unit stands with each value."""
    short = name.removesuffix({"ns": "_ns", "bytes": "_bytes", "bit/s": "_bps", "ratio": "_ratio"}.get(unit, "\0"))
    return short.replace("_", " ")


def cell(value: Any, unit: str) -> str:  # noqa: ANN401  any value of a column
    """A value with its unit, for people; '-' for null and for a count of 0; a delay of 0 is 'at once'."""
    if value == 0 and unit == "delay":
        return "at once"
    if value is None or (value == 0 and unit != "text"):
        return "-"
    writers: dict[str, Callable[[Any], str]] = {
        "ns": lambda it: format_time_ps(it * PS_PER_NS),
        "delay": lambda it: format_time_ps(it * PS_PER_NS),
        "bytes": format_measured_bytes,
        "bit/s": format_bit_rate,
        "byte/s": lambda it: f"{format_measured_bytes(it)}/s",
        "ratio": lambda it: f"{it:.1%}",
        "factor": lambda it: f"{it:.2f}x",
        "text": lambda it: visible(str(it)),
    }
    return writers[unit](value) if unit in writers else f"{value:,}"


def _worth_showing(view: View, name: str) -> bool:
    """Without the columns that have only nulls and zeros, in tables for people."""
    if view.units[name] == "text" and name != "path":
        return bool(view.table[name].null_count < view.table.num_rows)
    if name == "path":  # too wide for a table; in CSV and JSON
        return False
    return any(view.table[name].to_numpy(zero_copy_only=False) != 0)


def _filter(view: View, text: str) -> Any:  # noqa: ANN401  a mask, or the Problem
    match = _FILTER.fullmatch(text)
    if match is None:
        return Problem(
            "--filter", f"{text!r} is not a filter", "write COLUMN=VALUE, such as 'port=leaf1:*' or 'fct_ns>200us'"
        )
    name, op, wanted = match.groups()
    if name not in view.table.column_names:
        return Problem("--filter", f"there is no column '{name}'", _nearest(name, view))
    column = view.table[name]
    if pa.types.is_string(column.type):
        if op not in {"=", "!="}:
            return Problem("--filter", f"'{name}' holds names, which have no order", "use = or != with a shell pattern")
        return np.array(
            [(value is not None and fits_pattern(value, wanted)) == (op == "=") for value in column.to_pylist()],
            np.bool_,
        )
    unit = view.units[name]
    try:
        number = float(wanted) if _is_number(wanted) else _PARSE[unit](wanted)
    except (KeyError, UnitError):
        hint = {
            "ns": "write a time such as '200us', or nanoseconds",
            "bytes": "write a size such as '64KiB', or bytes",
            "bit/s": "write a rate such as '100G', or bit/s",
        }.get(unit, "write a plain number")
        return Problem("--filter", f"{wanted!r} is no value for '{name}'", hint)
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(_COMPARE[op](values, number), np.bool_) & ~np.isnan(values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _nearest(name: str, view: View) -> str:
    near = get_close_matches(name, view.table.column_names, 1)
    return f"did you mean '{near[0]}'?" if near else "columns are " + ", ".join(view.table.column_names)

"""Tables in a narrow terminal: no name, number or heading is cut; columns that do not fit are named."""

from __future__ import annotations

from io import StringIO

import pytest
from rich import box
from rich.console import Console
from rich.table import Table

from fabric.render.fitting import fit

CAUSE = "broken NIC host1:eth0 (class 3), which paused without end"


def table(rows: int = 3) -> Table:
    grid = Table(box=box.SIMPLE_HEAD)
    for heading, justify in (
        ("port", "left"),
        ("tx bytes", "right"),
        ("rx bytes", "right"),
        ("paused longest", "right"),
        ("pauses", "right"),
        ("cause", "left"),
    ):
        grid.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for number in range(rows):
        grid.add_row(f"spine{number}:Ethernet128", "1,234,567", "7,654,321", "12.345ms", "4,321", CAUSE)
    return grid


def printed(grid: Table, width: int) -> str:
    out = StringIO()
    Console(file=out, width=width, highlight=False).print(grid)
    return out.getvalue()


@pytest.mark.parametrize("width", range(44, 200, 7))
def test_every_shown_cell_is_complete_at_any_width(width: int) -> None:
    grid = table()
    left_out = fit(grid, width)
    text = printed(grid, width)
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    words = text.split()
    for heading, value in (
        ("tx bytes", "1,234,567"),
        ("rx bytes", "7,654,321"),
        ("paused longest", "12.345ms"),
        ("pauses", "4,321"),
    ):
        assert (value in words) == (heading not in left_out)
    assert "spine0:Ethernet128" in words
    assert "cause" not in left_out


def test_nothing_is_left_out_where_there_is_room() -> None:
    grid = table()
    assert fit(grid, 160) == []
    assert CAUSE in printed(grid, 160)


def test_numbers_go_from_the_right_and_what_is_to_be_kept_stays() -> None:
    width = max(width for width in range(40, 160) if fit(table(), width))
    assert fit(table(), width) == ["pauses"]
    assert fit(table(), width, {"pauses"}) == ["paused longest"]


def test_headings_take_two_lines_before_a_number_is_cut() -> None:
    """`drill look pfc` at 80 columns: rich narrowed the ports below their names and cut the last column."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Device", "Port", "Class", "XOFF rx", "XON rx", "Paused", "XOFF tx", "XON tx", "Pausing"):
        grid.add_column(heading, justify="right" if heading[0] in "XP" and heading != "Port" else "left")
    grid.add_row("leaf1", "Ethernet16", "3", "260", "255", "1.865ms", "0", "0", "974.4us")
    left_out = fit(grid, 81)
    text = printed(grid, 81)
    assert left_out == []
    assert "974.4us" in text
    assert "Ethernet16" in text
    assert all(len(line) <= 81 for line in text.splitlines())
    assert fit(grid, 78) == ["Pausing"]

"""Lines and tables in a terminal of fixed width: nothing is lost, commands stay whole."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.render.folding import columns, folded, terminal_width

WORDS = st.text("abcXYZ019.,()-", min_size=1, max_size=12)
CELLS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@given(st.lists(CELLS, min_size=2, max_size=5), st.integers(0, 8), st.integers(40, 120))
def test_every_line_of_cells_fits_and_keeps_its_words(cells: list[str], lead: int, width: int) -> None:
    text = " " * lead + "   ".join(cells)
    rows = folded(text, width).splitlines()
    assert " ".join(rows).split() == text.split()
    if len(rows) > 1:
        assert all(len(row) <= width for row in rows[1:])


def test_the_last_cell_hangs_below_itself_or_goes_to_the_next_line() -> None:
    assert folded("  A  " + "word " * 6 + "end", 20) == "  A  word word word\n     word word word\n     end\n"
    assert folded("  a name of some length  9  the source", 30) == "  a name of some length  9\n      the source\n"


@pytest.mark.parametrize("line", ["      $ fabric run " + "a  b " * 30, "prose " * 30])
def test_commands_and_prose_stay_whole(line: str) -> None:
    assert folded(line, 80) == f"{line}\n"


def test_a_table_wraps_headings_before_it_grows_too_wide() -> None:
    rows = columns(["class of ports", "XOFF before a mark"], [["400G, 40 m, to a switch", "1 run"]], 34)
    assert all(len(row) <= 34 for row in rows)
    assert re.sub(r"\s+", " ", " ".join(rows)).count("XOFF before") == 1
    assert columns(["a", "b"], [["1", "2"]], 80) == ["a  b", "1  2"]


def test_the_width_is_that_of_columns_else_80(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "123")
    assert terminal_width() == 123
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr("sys.__stdout__", None)
    assert terminal_width() == 80


def test_prose_is_folded_where_asked_and_keeps_its_indent() -> None:
    line = "    so: one end pauses and the other ignores it"
    assert folded(line, 24) == line + "\n"
    assert folded(line, 24, prose=True).splitlines() == [
        "    so: one end pauses",
        "        and the other",
        "        ignores it",
    ]


def test_a_last_cell_that_does_not_fit_beside_the_first_goes_below_it() -> None:
    assert folded("a = 3  (a/path/of/file:12)", 24).splitlines() == ["a = 3", "    (a/path/of/file:12)"]

"""No case of any family fails, and docs/reliability.md has the measured figures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.reliability.registry import FAMILIES
from tests.reliability.report import Family, Row, Section, keep, kept, page, row_text

TIMED: Final = {"interfaces", "laboratory"}
"""Servers under load, whose deadlines are seconds; daemons of FRR."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.timed) if name in TIMED else name for name in FAMILIES]
)
def test_no_case_of_a_family_fails(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    rows = (family.part or family.rows)(tmp_path)
    assert rows
    print("\n".join(map(row_text, rows)))  # noqa: T201  the table that `pytest -rP` shows
    failed = [row for row in rows if row.failures]
    assert not failed, "\n".join(map(row_text, failed))
    left_out = [row.left_out for row in rows if row.left_out]
    assert all(row.cases > 0 for row in rows if not row.left_out)
    assert left_out or [row.tried for row in rows] == [row.tried for row in kept(name)], (
        f"run: python -m tests.reliability {name} --write docs/reliability.md"
    )
    if left_out:
        pytest.skip("; ".join(left_out))


def test_every_family_was_measured() -> None:
    assert all(kept(name) for name in FAMILIES), "run: python -m tests.reliability --write docs/reliability.md"


def test_a_failure_is_counted_on_the_page_and_named_on_the_terminal() -> None:
    row = Row("flip of a bit | of a file", 3, "2 of 3", ["seed 1: exit 3"])
    families = {"bits": Family(Section.FOLDERS, lambda _work: [row])}
    text = page(families, {"bits": [row]})
    assert "| flip of a bit \\| of a file | 3 | 2 of 3 | 1 | `bits` |" in text
    assert "3 cases in all, 1 failures" in text
    assert "seed 1: exit 3" in row_text(row)


def test_rows_that_were_not_tried_are_not_kept(tmp_path: Path) -> None:
    for row in (Row("full disk", 0, "-", left_out="needs root"), Row("full disk", 0, "-")):
        with pytest.raises(ValueError, match="not kept"):
            keep("disk", [row], tmp_path)
    keep("disk", [Row("full disk", 4, "1 of 4")], tmp_path)
    assert kept("disk", tmp_path) == [Row("full disk", 4, "1 of 4", [])]

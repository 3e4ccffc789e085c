"""An instrument that cannot fail measures nothing: every row of theory fails where something is wrong."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from fabric.validate.fidelity import closed_forms, v06_fixed_point, v07_stability
from fabric.validate.fidelity.table import Row
from fabric.validate.fidelity.theory_rows import rows
from tests.fidelity.mutants import MUTANTS, Mutant

OWN_TESTS = {"V0/*": "test_presets.py"}
"""Rows whose mutants have a test of their own."""
ROWS = [*closed_forms.rows(None), *rows(None)]


def _of(row: Row) -> list[Mutant]:
    return [mutant for pattern, mutants in MUTANTS.items() if fnmatchcase(row.id, pattern) for mutant in mutants]


def _pairs() -> list[object]:
    return [pytest.param(row, mutant, id=f"{row.id}: {mutant.what}", marks=[pytest.mark.slow] if row.slow else [])
            for row in ROWS for mutant in _of(row)]


def _forget() -> None:
    """Runs of the engine that rows share; theory is kept."""
    v06_fixed_point.played.cache_clear()
    v07_stability.played.cache_clear()


@pytest.mark.parametrize(("row", "mutant"), _pairs())
def test_a_row_fails_where_the_engine_is_wrong(row: Row, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    _forget()
    mutant.apply(monkeypatch)
    try:
        findings = (mutant.part or row.run)()
    finally:
        _forget()
    assert [finding.quantity for finding in findings if not finding.passes]


def test_every_row_has_a_mutant_and_every_mutant_a_row() -> None:
    without = [row.id for row in ROWS if not _of(row) and not any(fnmatchcase(row.id, it) for it in OWN_TESTS)]
    assert not without, "add a mutant to mutants.py"
    assert not [pattern for pattern in MUTANTS if not any(fnmatchcase(row.id, pattern) for row in ROWS)]

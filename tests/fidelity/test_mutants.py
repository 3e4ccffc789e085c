"""Every row of theory fails with a defective engine."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from fabric.scenario.presets.dcqcn import DEFAULT_DCQCN
from fabric.verify.fidelity import closed_forms, v06_fixed_point, v07_stability
from fabric.verify.fidelity.table import Row
from fabric.verify.fidelity.theory_rows import rows
from tests.fidelity.longest import LONGEST
from tests.fidelity.mutants import MUTANTS, Mutant

ROWS = [*closed_forms.rows(None), *rows(None)]


def _of(row: Row) -> list[Mutant]:
    return [mutant for pattern, mutants in MUTANTS.items() if fnmatchcase(row.id, pattern) for mutant in mutants]


def _is_slow(row: Row) -> bool:
    """Of the parameter sets' rows the default's are fast tests; the others, of the same kinds, add up to 15 s.

    So are the longest rows of theory.
    """
    other_set = row.id.startswith("V0/") and not row.id.endswith(f"/{DEFAULT_DCQCN}")
    return row.slow or other_set or row.id in LONGEST


def _pairs() -> list[object]:
    return [
        pytest.param(row, mutant, id=f"{row.id}: {mutant.what}", marks=[pytest.mark.slow] if _is_slow(row) else [])
        for row in ROWS
        for mutant in _of(row)
    ]


def _forget() -> None:
    """Runs of the engine that rows share; theory is kept."""
    v06_fixed_point.simulated.cache_clear()
    v07_stability.simulated.cache_clear()


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
    without = [row.id for row in ROWS if not _of(row)]
    assert not without, "add a mutant to mutants.py"
    assert not [pattern for pattern in MUTANTS if not any(fnmatchcase(row.id, pattern) for row in ROWS)]

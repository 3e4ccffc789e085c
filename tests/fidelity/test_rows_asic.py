"""Rows under model asic: every finding within its tolerance, or within the bounds of a known miss that is explained."""

from __future__ import annotations

import math

import pytest

from fabric.verify.fidelity.experiment import SCENARIOS, compiled
from fabric.verify.fidelity.table import Row
from fabric.verify.fidelity.theory_rows import rows
from tests.fidelity.longest import LONGEST

ROWS = rows(None)


def _case(row: Row) -> object:
    return pytest.param(row, id=row.id, marks=[pytest.mark.slow] if row.slow or row.id in LONGEST else [])


@pytest.mark.parametrize("row", [_case(row) for row in ROWS])
def test_row_agrees_with_its_reference_or_misses_as_it_is_known_to(row: Row) -> None:
    findings = row.run()
    assert findings
    for finding in findings:
        assert math.isfinite(finding.ours), finding
        assert math.isfinite(finding.reference), finding
    assert not [finding for finding in findings if not finding.passes]
    assert bool(row.known_miss) == any(finding.known for finding in findings), "state the cause of a known miss"


def test_row_ids_are_unique() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)


def test_every_scenario_compiles_as_it_stands() -> None:
    files = sorted(SCENARIOS.glob("v*.yml"))
    assert files
    for file in files:
        case = compiled(file.stem)
        asks = case.params.vxlan is not None and case.params.vxlan.asks
        assert case.params.messages.size_bytes.sum() > 0 or len(case.params.transfers.qp) or asks

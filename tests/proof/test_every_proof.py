"""Every broken fabric of the table, from the finding to a scenario that `fabric run` reproduces; and the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_fabrics import Broken
from proof_bounds import KNOBS, Knob, measure
from proof_cases import CASES
from proof_page import bound_row, result_row, text

from fabric.cli.main import main

STALE = "run: python -m tests.proof --write docs/proof.md"


@pytest.fixture(scope="module")
def shown(repo_root: Path) -> str:
    """The page as it is kept."""
    return (repo_root / "docs" / "proof.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_broken_fabric_has_the_result_of_the_table_and_of_the_page(case: Broken, shown: str, tmp_path: Path) -> None:
    found = case.proof(tmp_path / "configs")
    assert found.result == case.result, found
    assert result_row(case, found) in shown.splitlines(), STALE
    if found.result != "proven":
        return
    for name, scenario, code in (("broken", found.scenario, 1), ("remedied", found.remedied, 0)):
        file = tmp_path / f"{name}.yml"
        file.write_text(scenario, encoding="utf-8")
        assert main(["run", str(file), "--out", str(tmp_path / name), "--quiet"]) == code


@pytest.mark.slow
@pytest.mark.parametrize("knob", KNOBS, ids=[f"{knob.check} {knob.what}" for knob in KNOBS])
def test_the_bounds_of_rule_and_run_are_those_of_the_page(knob: Knob, shown: str) -> None:
    assert bound_row(measure(knob)) in shown.splitlines(), STALE


def test_the_page_has_the_tables_of_the_code_and_a_row_of_every_measurement(shown: str) -> None:
    measured = shown.partition("## Rule against simulation")[2].partition("\n## ")[0]
    rows = [line for line in measured.splitlines() if line.startswith("| ") and not line.startswith("| check |")]
    bounds, results = rows[: len(KNOBS)], rows[len(KNOBS) :]
    assert [row.split(" | ")[:2] for row in bounds] == [[f"| {knob.check}", knob.what] for knob in KNOBS]
    assert [row.split(" | ")[0] for row in results] == [f"| {case.check}" for case in CASES]
    assert shown == text(bounds, results), STALE

"""What a remedy sets is not what is there: its command, applied to a copy of the files, changes a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.errors import InputErrors
from fabric.validate.fix.state import CannotApplyError, State, of_fix
from fabric.validate.judge import Request, network_of
from fabric.validate.runner import validate
from tests.mistakes.mistake import Mistake
from tests.mistakes.score import CASES

FIRST = {(it.language, it.checks.split()[0]): it for it in reversed(CASES)}
QUICK = ("L2", "L4", "M1", "M10", "T1", "W3")


def idle(case: Mistake, folder: Path) -> list[str]:
    """Remedies that leave every file as it is."""
    case.write(folder)
    request = Request([folder])
    tables = HeadroomTables.load([])
    try:
        state = State(request, tables, None, network_of(request, tables))
    except InputErrors:  # a file that cannot be read has no finding
        return []
    found = []
    for cause in validate(state.network).causes:
        for fix in cause.fixes:
            change = of_fix(fix, cause.check.remedy, state.network)
            if change is None:
                continue
            try:
                after = state.changed([change])
            except (CannotApplyError, InputErrors):
                continue
            file = state.file_of(change)
            if after.text(file) == state.text(file):
                found.append(f"{cause.check.id}: {fix.command}")
    return found


@pytest.mark.parametrize("case", [it for (_, id_), it in FIRST.items() if id_ in QUICK], ids=lambda it: it.id)
def test_a_remedy_changes_a_file(case: Mistake, tmp_path: Path) -> None:
    assert idle(case, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", [it for (_, id_), it in FIRST.items() if id_ not in QUICK], ids=lambda it: it.id)
def test_every_remedy_changes_a_file(case: Mistake, tmp_path: Path) -> None:
    assert idle(case, tmp_path) == []

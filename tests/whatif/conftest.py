"""One study of the small scenario, shared by the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.whatif.results import Results
from fabric.whatif.study import Study, place, study
from tests.whatif.whatif_small import Inline, question


@pytest.fixture(scope="session")
def studied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    """Every single failure of SMALL, one for each group, and a double one."""
    folder = tmp_path_factory.mktemp("study")
    asked = question(kinds=("link", "leaf", "spine", "risk-group"), double=("spine1,spine2",))
    return study(asked, place(asked), Results(folder, asked.identity(), resume=False), Inline()), folder

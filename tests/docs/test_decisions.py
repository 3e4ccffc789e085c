"""The index of decisions has a row for each, in the order of their numbers."""

from __future__ import annotations

import re
from pathlib import Path


def test_every_decision_has_its_row_in_order(repo_root: Path) -> None:
    folder = repo_root / "docs/decisions"
    rows = re.findall(
        r"^\| \[\d{4}\]\((\d{4}-[^)]+\.md)\) ", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert rows == sorted(it.name for it in folder.glob("[0-9][0-9][0-9][0-9]-*.md"))

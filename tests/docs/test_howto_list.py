"""The list of how-to pages and of tutorials names every one of them, once."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT


@pytest.mark.parametrize("folder", ["docs/howto", "docs/tutorials"])
def test_every_page_of_the_folder_is_in_its_list(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(([\w-]+\.md)\)", text)
    pages = {it.name for it in (ROOT / folder).glob("*.md")} - {"README.md"}
    assert set(named) == pages
    assert len(named) == len(set(named))

"""Every page that is made from the code in seconds is as the code makes it; `make docs` writes those that are not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tools import pages
from tools.pages import MEASURED, PAGES, Page

ROOT = Path(__file__).resolve().parents[1]


TRIALS: Final = {"docs/anomaly.md"}
"""Made by trials that take 8 s."""


def _case(page: Page) -> object:
    return pytest.param(page, id=page.path, marks=[pytest.mark.slow] if page.path in TRIALS else [])


@pytest.mark.parametrize("page", [_case(page) for page in PAGES])
def test_a_page_is_what_its_source_makes(page: Page) -> None:
    assert [path for path, _ in pages.stale(page)] == [], "run: make docs"


def test_every_page_that_says_it_is_generated_is_listed() -> None:
    listed = {it.path for it in (*PAGES, *MEASURED)}
    said = re.compile(r"^(?:Generated|Made) (?:by|from) ", re.MULTILINE)
    texts = {f"docs/{file.name}": file.read_text("utf-8")[:2000] for file in (ROOT / "docs").glob("*.md")}
    found = {path for path, text in texts.items() if said.search(text)}
    assert found
    assert found <= listed


def test_listed_pages_are_there() -> None:
    assert [it.path for it in (*PAGES, *MEASURED) if not (ROOT / it.path).exists()] == []


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page and a folder elsewhere, both current."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "page.md").write_text("text")
    (tmp_path / "folder/one.json").write_text("1")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    listed = (Page("page.md", "tools.pages:_text", ""), Page("folder/", "tools.pages:_all", ""))
    monkeypatch.setattr(pages, "PAGES", listed)
    monkeypatch.setattr(pages, "_text", lambda: "text", raising=False)
    monkeypatch.setattr(pages, "_all", lambda: {"one.json": "1"}, raising=False)
    return tmp_path


def test_what_is_current_is_not_written(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pages.main(["--check"]) == pages.main([]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("change", ["page.md", "folder/one.json", "folder/two.json"])
def test_a_page_that_is_stale_missing_or_too_many_is_named_and_repaired(
    change: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / change).write_text("older")
    before = (copy / change).read_text()
    assert pages.main(["--check"]) == 1
    assert (copy / change).read_text() == before
    assert change in capsys.readouterr().out
    assert pages.main([]) == 0
    assert change in capsys.readouterr().out
    assert pages.main(["--check"]) == 0
    (copy / "page.md").unlink()
    assert pages.main([]) == 0
    assert (copy / "page.md").read_text() == "text"


def test_a_page_of_measurements_with_other_rules_is_named(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pages, "_RULES", {"page.md": ("Rules `([0-9a-f]+)`", "tools.pages:_digest")})
    monkeypatch.setattr(pages, "MEASURED", (pages.Measured("page.md", "make it", ""),))
    monkeypatch.setattr(pages, "_digest", lambda: "12ab", raising=False)
    (copy / "page.md").write_text("Rules `12ab`; more", encoding="utf-8")
    assert pages.main(["--measured"]) == 0
    (copy / "page.md").write_text("Rules `12ac`; more", encoding="utf-8")
    capsys.readouterr()
    assert pages.main(["--measured"]) == 1
    assert capsys.readouterr().out == "page.md was measured with other code (12ac, now 12ab): make it\n"
    (copy / "page.md").write_text("nothing", encoding="utf-8")
    assert pages.main(["--measured"]) == 1

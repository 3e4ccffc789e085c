"""Gathering of changes/ into CHANGELOG.md: order, kinds, refusals, and what becomes of the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import changelog

HEAD = "# Changelog\n\nWhat a user notices.\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A changelog and three changes elsewhere."""
    (tmp_path / "changes").mkdir()
    (tmp_path / "CHANGELOG.md").write_text(HEAD)
    for name, text in {
        "README.md": "how to write them",
        "10-later.added.md": "`fabric ten` is\nnew.\n",
        "9-first.added.md": "`fabric nine` is new.\n",
        "9-mended.fixed.md": "Nine no longer fails.\n",
    }.items():
        (tmp_path / "changes" / name).write_text(text)
    monkeypatch.setattr(changelog, "ROOT", tmp_path)
    monkeypatch.setattr(changelog, "__version__", "1.2.0")
    return tmp_path


SECTION = """## 1.2.0 (2030-01-02)

### Added

- `fabric nine` is new.
- `fabric ten` is
  new.

### Fixed

- Nine no longer fails.
"""


def test_changes_become_a_section_by_kind_and_number(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text(f"{HEAD}\n## 1.1.0 (2029-12-31)\n\n### Added\n\n- Older.\n")
    assert changelog.main(["--date", "2030-01-02"]) == 0
    text = (tree / "CHANGELOG.md").read_text()
    assert text == f"{HEAD}\n{SECTION}\n## 1.1.0 (2029-12-31)\n\n### Added\n\n- Older.\n"
    assert [file.name for file in (tree / "changes").iterdir()] == ["README.md"]


def test_the_first_section_stands_after_the_introduction(tree: Path) -> None:
    assert changelog.main(["--date", "2030-01-02"]) == 0
    assert (tree / "CHANGELOG.md").read_text() == f"{HEAD}\n{SECTION}"


def test_a_preview_changes_no_file(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file: file.read_text() for file in tree.rglob("*.md")}
    assert changelog.main(["--preview", "--date", "2030-01-02"]) == 0
    assert capsys.readouterr().out == SECTION
    assert {file: file.read_text() for file in tree.rglob("*.md")} == before


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("9-odd.improved.md", "Text.", "9-odd.improved.md: no such kind"),
        ("odd.added.md", "Text.", "odd.added.md: no number"),
        ("9-odd.added.md", " \n", "9-odd.added.md: empty"),
        ("9-odd.txt", "Text.", "9-odd.txt: no such kind"),
    ],
)
def test_a_change_that_cannot_be_gathered_stops_everything(
    name: str, text: str, said: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "changes" / name).write_text(text)
    assert changelog.main([]) == 2
    assert said in capsys.readouterr().err
    assert (tree / "CHANGELOG.md").read_text() == HEAD
    assert (tree / "changes/9-first.added.md").is_file()


def test_a_version_is_released_once(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert changelog.main([]) == 0
    (tree / "changes/11.fixed.md").write_text("More.")
    assert changelog.main([]) == 2
    assert "fabric/__init__.py" in capsys.readouterr().err
    assert (tree / "changes/11.fixed.md").is_file()


def test_no_change_is_no_release(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in (tree / "changes").glob("*.*.md"):
        file.unlink()
    assert changelog.main([]) == 2
    assert "changes/ has no change" in capsys.readouterr().err


def test_every_change_of_this_repository_can_be_gathered(capsys: pytest.CaptureFixture[str]) -> None:
    assert changelog.main(["--preview"]) == 0
    assert "### Added" in capsys.readouterr().out

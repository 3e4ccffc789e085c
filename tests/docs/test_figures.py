"""Pictures of the pages: each has a command that makes it, and none is left over."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fabric.cli.main import main
from tools import figures
from tools.requirements import ROOT

IMAGES = ROOT / figures.IMAGES
MADE = [path for figure in figures.FIGURES for path in figure.paths]


def shown() -> dict[str, str]:
    """Picture below docs/images -> a page that shows it."""
    found = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http:", "https:")):
                path = Path(os.path.normpath(page.parent / target))
                assert path.is_relative_to(IMAGES), f"{page} shows {target}, which is not below {figures.IMAGES}"
                found[path.relative_to(IMAGES).as_posix()] = str(page)
    return found


def test_every_picture_of_a_page_has_a_maker_and_every_file_a_page() -> None:
    pages = shown()
    there = {path.relative_to(IMAGES).as_posix() for path in IMAGES.rglob("*") if path.is_file()}
    assert len(set(MADE)) == len(MADE)
    assert set(pages) == set(MADE) == there


def test_the_table_names_each_picture_and_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert figures.main([]) == 0
    said = capsys.readouterr().out
    assert [path for path in MADE if path not in said] == []
    with pytest.raises(SystemExit):
        figures.main(["no-such.svg"])
    assert "no picture is called no-such.svg" in capsys.readouterr().err


def test_the_drawing_of_the_topology_is_what_its_command_draws(tmp_path: Path) -> None:
    figure = next(it for it in figures.FIGURES if it.paths == ("clos3.svg",))
    drawn = tmp_path / "clos3.svg"
    words = figure.command.replace("docs/images/clos3.svg", str(drawn)).split()[1:]
    assert main(words) == 0
    labels = [
        re.findall(r">([^<>\n]+)</text>", path.read_text(encoding="utf-8")) for path in (drawn, IMAGES / "clos3.svg")
    ]
    assert labels[0] == labels[1] != []

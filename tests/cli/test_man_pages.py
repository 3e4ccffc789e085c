"""Manual pages made from the parsers: every verb and option, valid roff, in the wheel and in the image."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

from fabric.cli import man_pages
from fabric.cli.main import VERBS, build_parser

ROOT = Path(__file__).resolve().parents[2]


@cache
def pages() -> dict[str, str]:
    return man_pages.pages()


def test_there_is_a_page_for_the_command_and_for_every_verb() -> None:
    assert set(pages()) == {"fabric.1", *(f"fabric-{verb.name}.1" for verb in VERBS)}
    for verb in VERBS:
        assert f"fabric\\-{verb.name}(1)" in pages()["fabric.1"].replace("\\fB", "").replace("\\fR", "")


def options(parser: argparse.ArgumentParser) -> set[str]:
    found: set[str] = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= set().union(*(options(it) for it in action.choices.values()))
        elif action.help != argparse.SUPPRESS:
            found |= set(action.option_strings)
    return found


def test_every_option_is_on_its_page_and_no_hidden_one() -> None:
    _, parsers = build_parser()
    for name, parser in parsers.items():
        text = pages()[f"fabric-{name}.1"]
        missing = [it for it in options(parser) if f"\\fB{it.replace('-', chr(92) + '-')}\\fR" not in text]
        assert missing == [], name
        assert "\\-\\-output\\fR" not in text, name
        assert "%(" not in text, name


def test_text_cannot_become_a_request() -> None:
    assert man_pages.roff(".SH no\n'no\n\\back") == "\\&.SH no\n\\&'no\n\\eback"


@pytest.mark.parametrize("name", ["fabric.1", "fabric-run.1", "fabric-playbook.1", "fabric-validate.1"])
def test_groff_and_mandoc_find_nothing_to_warn_about(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(pages()[name], encoding="utf-8")
    groff = shutil.which("groff")
    if groff is not None:
        done = subprocess.run(
            [groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z", str(file)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0
        assert done.stderr == ""
    requests = {line.split()[0] for line in pages()[name].splitlines() if line.startswith(".")}
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi", ".RS", ".RE"}


def test_the_pages_are_installed_where_man_looks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"] == {"docs/man": "share/man/man1"}
    assert "COPY docs docs\n" in (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
    assert "!docs\n" in (ROOT / "deploy/Dockerfile.dockerignore").read_text(encoding="utf-8")

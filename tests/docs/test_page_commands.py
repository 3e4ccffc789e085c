"""Commands of the pages: known to the command line's parsers, and run in the order of their page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from fabric.cli.main import Parser, _spelt_out, _with_signs, build_parser
from tests.conftest import ROOT
from tests.forked import completed, fabric
from tools import page_commands
from tools.page_commands import Command, How, commands, how, in_text, pages, table

LINKED: Final = ("deploy", "docs", "examples", "scenarios", "telemetry")
"""What a page may name by its path in the checkout."""
LONGEST_S: Final = 600
"""A command that goes on for longer does not end by itself."""
MAKE: Final = re.compile(r"^([a-z-]+):", re.MULTILINE)


def spoken(text: str) -> list[str]:
    """Words of a `fabric` command for its parser: options of synopses are given, shell expressions are a 1."""
    plain = re.sub(r"\$\((?:[^()]|\([^()]*\)|\(\([^()]*\)\))*\)|\$\w+", "1", text)
    plain = re.sub(r"\s[|>&].*|\s\.\.\.", "", plain)
    if "'" not in plain:
        plain = re.sub(r"\s\[(-[^]]*)\]", r" \1", plain)
    return [it.removesuffix("...") for it in shlex.split(plain)]


@cache
def parser() -> tuple[Parser, dict[str, Parser]]:
    return build_parser()


def refused(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Why the command line does not know this command; '' where it does."""
    words = _with_signs(_spelt_out(spoken(text)[1:]))
    try:
        _, unknown = parser()[0].parse_known_args(words)
    except SystemExit as stop:
        said = capsys.readouterr().err.strip().splitlines()
        return said[-1] if stop.code else ""
    return f"unknown: {unknown}" if unknown else ""


def test_every_command_of_a_page_is_known_to_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    targets = set(MAKE.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    wrong = []
    for command in (it for page in pages() for it in commands(page)):
        words = command.words.removeprefix("sudo ")
        if words.startswith("fabric "):
            wrong += [f"{command.page}: {command.text}: {it}" for it in [refused(words, capsys)] if it]
        elif words.startswith("make ") and shlex.split(words)[1] not in targets:
            wrong.append(f"{command.page}: {command.text}: no such target")
    assert wrong == []


def test_every_example_of_a_help_text_is_known_to_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    examples = [page_commands.spoken(it) for it in re.findall(r"^ +(fabric .*)$", text, re.MULTILINE)]
    assert len(examples) > 30
    assert [f"{it}: {said}" for it in examples if (said := refused(it, capsys))] == []


def options(verb: Parser) -> set[str]:
    """Options of a verb and of its actions."""
    found = set(verb._option_string_actions)
    for action in verb._actions:
        if isinstance(action.choices, dict):
            for inner in action.choices.values():
                found |= options(inner)
    return found


def in_sentences(text: str) -> Iterator[str]:
    """`fabric ...` as code within sentences."""
    yield from re.findall(r"(?<!`)`((?:\$ )?fabric [^`\n]+)`(?!`)", page_commands._BLOCK.sub("", text))


def unknown_in(text: str) -> list[str]:
    """Verbs and options of a command within a sentence that do not exist."""
    words = text.removeprefix("$ ").replace("[", " ").replace("]", " ").split()[1:]
    verb = next((it for it in words if not it.startswith("-")), None)
    if verb is None or verb in {"help", "..."} or not re.fullmatch(r"[a-z]+", verb):
        return []
    known = parser()[1].get(verb)
    if known is None:
        return [verb]
    given = {found[0] for it in words if (found := re.match(r"--[a-z][a-z-]*", it))}
    return sorted(given - options(known) - {"--help"})


def test_every_command_in_a_sentence_has_a_verb_and_options_that_exist() -> None:
    wrong = [
        f"{page}: {text}: {it}"
        for page in pages()
        for text in in_sentences((ROOT / page).read_text(encoding="utf-8"))
        for it in unknown_in(text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "found"),
    [("fabric rum incast", "rum"), ("fabric run incast --sed 3", "--sed"), ("fabric alerts shew DIR", "shew")],
)
def test_a_word_that_does_not_exist_is_found(text: str, found: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert found in refused(text, capsys)
    assert found == "shew" or unknown_in(text) == [found]


def test_commands_are_read_as_a_reader_reads_them() -> None:
    page = "\n".join(
        [
            *("```", "$ fabric run a \\", "    --seed 1   # said", "fabric printed", "```"),
            *("```", "fabric show RUN     tables", "make x  # y", "other", "```", "```yaml", "fabric run b", "```"),
        ]
    )
    assert list(in_text(page)) == ["fabric run a --seed 1", "fabric show RUN", "make x"]


def test_every_row_of_the_table_is_about_a_command_and_its_test_exists() -> None:
    every = [it for page in pages() for it in commands(page)]
    assert [row for row in table() if not any(row.is_of(it) for it in every)] == []
    tests = [(row, ROOT / row.run_by) for row in table() if row.run_by]
    assert [row.run_by for row, file in tests if not file.is_file()] == []
    # A test that runs the commands of a page reads that page: another one would go on when the page changes.
    unread = [
        (row.page, row.run_by) for row, file in tests if Path(row.page).name not in file.read_text(encoding="utf-8")
    ]
    assert unread == []


def test_a_command_that_fetches_has_a_row() -> None:
    """No test reaches for the network, so such a command is never run without a word."""
    rows = table()
    fetching = [it for page in pages() for it in commands(page) if it.words.startswith(("pip ", "docker ", "pipx "))]
    assert fetching
    assert [it for it in fetching if not any(row.is_of(it) for row in rows)] == []


def to_run(page: str, rows: Sequence[How]) -> list[tuple[Command, How]]:
    """Commands of a page that are run here."""
    about = [(it, how(it, rows)) for it in commands(page)]
    return [(it, row) for it, row in about if not (row.run_by or row.same_as or row.not_run)]


def test_a_command_that_is_run_on_another_page_is_there_in_the_same_words() -> None:
    rows = table()
    for command in (it for page in pages() for it in commands(page)):
        if (row := how(command, rows)).same_as:
            assert command.words in {it.words for it, _ in to_run(row.same_as, rows)}, command


def test_the_list_of_how_to_pages_names_each_of_them() -> None:
    there = {file.name for file in (ROOT / "docs/howto").glob("*.md")} - {"README.md"}
    listed = re.findall(r"\]\(([a-z-]+\.md)\)", (ROOT / "docs/howto/README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(there)


PAGES: Final = [page for page in pages() if to_run(page, table())]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for command, row in to_run(page, table()):
        text = row.run_as or command.words
        if text.startswith("fabric ") and not re.search(r"[|>$;&]", text):
            done = completed(fabric(*shlex.split(text)[1:], stdin=-3, stdout=-1, stderr=-1, text=True), LONGEST_S)
        else:
            done = subprocess.run(["bash", "-ec", text], capture_output=True, text=True, check=False, timeout=LONGEST_S)
        assert done.returncode == row.exit, f"{text}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, text

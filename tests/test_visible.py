"""What fabric/visible.py promises, character by character and format by format."""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.errors import FabricError, InputErrors, Problem
from fabric.render.document import Document, Markdown, Section, Status
from fabric.render.html import to_html
from fabric.visible import command, hidden, in_csv, in_data, in_json, in_markdown_code, sentence, visible
from tests.reliability import worlds
from tests.reliability.hostile_runs import forged
from tests.reliability.hostile_text import rows
from tests.reliability.hostile_tries import TEXTS, Try, judged
from tests.reliability.report import PAGE, row_text
from tests.reliability.strict import html

HOME = PAGE.parents[1]
ANY = st.text(st.characters(categories=None))
_SHOWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}
"""Formats that have a picture: signs of Arabic, Syriac, Kaithi and hieroglyphs."""
FEW = {
    "scenarios": ("newline",),
    "message_lists": ("conceal", "newline"),
    "topologies": ("newline",),
    "configs": ("newline", "script"),
    "verbs": ("newline",),
    "playbooks": ("hyperlink", "newline"),
    "peers": ("conceal", "newline", "bidi"),
    "log_lines": tuple(TEXTS),
}
"""Way in -> texts; every third one is in the slow tests, and all where docs/reliability.md is written."""


def test_every_control_format_and_separator_of_unicode_is_hidden() -> None:
    for number in range(0x110000):
        kind = unicodedata.category(chr(number))
        if kind in {"Cc", "Cs", "Zl", "Zp"} or (kind == "Cf" and number not in _SHOWN):
            assert hidden(chr(number)) == chr(number), hex(number)


@pytest.mark.parametrize(
    "text", ["leaf1:Ethernet0", "µs × ² – → ✓ ░", "läufe-名前", "ab\u0301", "⚠\ufe0f", "ش", "C:\\new"]
)
def test_what_can_be_seen_is_left_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(ANY)
def test_a_visible_text_holds_nothing_hidden_and_is_not_changed_again(text: str) -> None:
    assert not hidden(visible(text))
    assert visible(visible(text)) == visible(text)
    assert not hidden(visible(text, lines=True), lines=True)
    assert visible(text, lines=True).count("\n") == text.count("\n")


@given(ANY)
def test_json_stays_the_same_value(text: str) -> None:
    for ascii_only in (True, False):
        shown = in_json(json.dumps({text: [text]}, ensure_ascii=ascii_only))
        assert json.loads(shown) == json.loads(json.dumps({text: [text]}))
        assert not hidden(shown)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (-5, -5),
        (1.5, 1.5),
        (None, None),
        ("-5", "-5"),
        ("+1e3", "+1e3"),
        ("=1+1", "'=1+1"),
        ("-2+3", "'-2+3"),
        ("@x", "'@x"),
        ("\tx", "'\\tx"),
        ("＝1", "'＝1"),
        ("a=1", "a=1"),
        ("-", "'-"),
        ("", ""),
    ],
)
def test_cells_that_a_spreadsheet_runs_begin_with_an_apostrophe(value: object, cell: object) -> None:
    assert in_csv(value) == cell


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in {"nul", "long"}])
def test_a_command_to_copy_has_the_same_words_in_a_shell(name: str) -> None:
    shown = command("printf", "%s\\n", TEXTS[name], "a b")
    assert not hidden(shown)
    done = subprocess.run(["bash", "-c", shown], capture_output=True, check=True)
    assert done.stdout == f"{TEXTS[name]}\na b\n".encode(errors="surrogateescape")


@given(st.text(st.sampled_from("`a| \n")))
def test_a_code_span_ends_where_its_text_ends(text: str) -> None:
    from markdown_it import MarkdownIt

    span = in_markdown_code(text + "x")
    children = MarkdownIt("commonmark").parseInline(span.replace("\\|", "|"))[0].children or []
    assert [it.type for it in children] == ["code_inline"]


def test_an_error_is_of_one_line_for_each_problem() -> None:
    problems = [Problem("s.yml: a\nb", "'x\nerror: y' is unknown", "try\x1bz"), Problem("p", "q" * 5000)]
    lines = str(InputErrors("reading\nfiles", problems)).splitlines()
    assert len(lines) == 4
    assert lines[1] == r"  s.yml: a\nb: 'x\nerror: y' is unknown"
    assert lines[2] == r"    hint: try\u001bz"
    assert lines[3].endswith("... (5,000 characters)")
    assert str(FabricError("no\nerror: yes", "h")) == "no\\nerror: yes\n  hint: h"


def test_data_of_others_is_visible_in_every_text_and_key() -> None:
    assert in_data({"a\x1b": ["\x9b", {"b": "\n", "c": 1.5, "d": None}]}) == {
        "a\\u001b": ["\\u009b", {"b": "\\n", "c": 1.5, "d": None}]
    }


def test_a_long_text_is_cut_and_says_so() -> None:
    assert sentence("x" * 1001) == "x" * 1000 + "... (1,001 characters)"


def test_a_runbook_loads_and_links_nothing_on_the_page() -> None:
    text = "# [x](http://e.example) ![p](http://e.example/p) <http://e.example>\n<img src=y>\n\x1b[8m\n"
    page = to_html(Document("t", "s", Status.GOOD, "v", (), (Section("k", "T", (Markdown(text),)),)))
    assert not html(page)
    assert "<img" not in page


def test_one_class_alone_makes_consoles() -> None:
    found = [
        path
        for folder in ("fabric", "telemetry", "playbooks")
        for path in (HOME / folder).rglob("*.py")
        if re.search(r"(?<![A-Za-z])Console\(", path.read_text(encoding="utf-8"))
    ]
    assert not found, "use fabric.render.console.PlainConsole"


def test_names_of_a_run_directory_of_others_stay_text(tmp_path: Path) -> None:
    run = worlds.finished(tmp_path, size="1KB")
    folder = forged(run, tmp_path / "forged", "[/]\x1b[8m\u202e=1")
    tries = [
        Try("text", ("show", folder, "messages")),
        Try("csv", ("show", folder, "messages", "--format", "csv")),
        Try("jsonl", ("export", "events", folder)),
        Try("html", ("report", folder, "--out", "-")),
        Try("text", ("diff", folder, run)),
    ]
    assert not [found for it in tries for terminal in (False, True) if (found := judged(it, "", terminal=terminal))]


@pytest.mark.parametrize("way", FEW)
def test_hostile_texts_pass_strict_readers_of_every_output(way: str, tmp_path: Path) -> None:
    [row] = rows(tmp_path, {name: TEXTS[name] for name in FEW[way]}, [way])
    assert row.cases
    assert not row.failures, row_text(row)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<p>a</p><script>alert(1)</script>", "a script that the package does not hold: alert(1)"),
        ('<script type="application/json">{"a"}</script>', "a script's data is not JSON"),
        ('<script type="module">1</script>', "a script that the package does not hold: 1"),
        ("<script>1", "a script has no end"),
        ('<script type="application/json">{"a": 1}</script>', ""),
    ],
)
def test_the_strict_reader_of_pages_names_a_foreign_script(page: str, said: str) -> None:
    assert html(page).startswith(said) if said else not html(page)

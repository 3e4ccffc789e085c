"""`fabric docs`: every page that a text of the program names can be read, in a checkout and installed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fabric import shipped
from fabric.cli.main import main
from tools.shipped_pages import pages as shipped_by_the_wheel

ROOT = Path(__file__).parents[2]
OTHERS = {"docs/PAGE.md", "docs/user_guide/outputs/prometheus_output.md"}
"""A place holder, and a page of another project."""
NAMED = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md(?:#[\w-]+)?")


def text_of(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["docs", *words]) == code
    return capsys.readouterr().out


def hint_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["docs", *words]) == 2
    return capsys.readouterr().err


def named_pages() -> list[str]:
    files = [file for top in ("fabric", "telemetry", "playbooks") for file in (ROOT / top).rglob("*.py")]
    texts = [file.read_text(encoding="utf-8") for file in [*files, ROOT / "fabric/errorlist/entries.json"]]
    return sorted({found for text in texts for found in NAMED.findall(text)} - OTHERS)


def test_every_page_that_the_program_names_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    named = named_pages()
    assert len(named) > 30
    missing = [page for page in named if main(["docs", page, "--path"])]
    capsys.readouterr()
    assert missing == []


def test_the_wheel_carries_the_pages_of_a_checkout() -> None:
    carried = {path.with_suffix("").as_posix() for path in shipped_by_the_wheel(ROOT / "docs")}
    assert carried == set(shipped.pages())
    assert {"index", "howto/live", "tutorials/check-thresholds", "decisions/README"} <= carried


def test_the_list_has_every_page_but_decisions_with_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(capsys)
    names = [name for name in shipped.pages() if not name.startswith("decisions/")]
    assert [name for name in names if f"  {name} " not in text] == []
    assert re.search(r"^  metrics +Metrics$", text, re.MULTILINE)
    assert "decisions/0129" not in text


@pytest.mark.parametrize("spelling", ["howto/live", "docs/howto/live.md", "howto/live.md", "live", "LIVE"])
def test_a_page_is_found_by_any_of_its_names(spelling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert text_of(capsys, spelling) == (ROOT / "docs/howto/live.md").read_text(encoding="utf-8").rstrip("\n") + "\n"


def test_a_heading_begins_there_and_ends_before_the_next_of_its_level(capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(capsys, "load-balancing#what-is-hashed")
    assert text.startswith("## What is hashed\n")
    assert "## Looking at it" not in text
    assert "did you" not in hint_of(capsys, "load-balancing#looking")
    assert "looking-at-it" in hint_of(capsys, "load-balancing#looking")


@pytest.mark.parametrize(
    ("page", "hint"),
    [
        ("diagnosys", "did you mean 'diagnosis'"),
        ("watchdog", "pages that hold this word: "),
        ("zzzzqqqq", "`fabric docs` lists the pages"),
        ("../pyproject", "`fabric docs` lists the pages"),
    ],
)
def test_an_unknown_page_is_an_error_that_helps(page: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hint in hint_of(capsys, page)


def test_a_search_prints_page_and_line_and_ends_1_without_any(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(text_of(capsys, "--search", "E-ecmp WITH queue-pair", "--json"))
    assert rows
    for row in rows:
        line = shipped.pages()[row["page"]].read_text(encoding="utf-8").splitlines()[row["line"] - 1]
        assert line.strip() == row["text"]
    assert f"{rows[0]['page']}:{rows[0]['line']}: " in text_of(capsys, "--search", "E-ECMP with queue-pair")
    assert text_of(capsys, "--search", "zzzz" + "qqqq", code=1) == ""


@pytest.mark.parametrize("words", [("--search", "x", "metrics"), ("--search", "x", "--path"), ("--search", " ")])
def test_options_without_effect_are_errors(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert "--search" in hint_of(capsys, *words)


def test_json_holds_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = json.loads(text_of(capsys, "docs/metrics.md", "--json"))
    assert (page["name"], page["title"]) == ("metrics", "Metrics")
    assert page["text"] == Path(page["path"]).read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["slow", "receiver"], ["slow receiver"]])
def test_several_words_are_answered_with_the_search_for_them(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["docs", *words]) == 2
    assert "fabric docs --search 'slow receiver'" in capsys.readouterr().err

"""Texts with control effects, and how a command that shows one is tried with a strict reader."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fabric.cli.main import main
from tests.reliability.command import Answer
from tests.reliability.report import PAGE, Row
from tests.reliability.strict import MARK, READERS

TEXTS: Final[Mapping[str, str]] = {
    "conceal": "x\x1b[8mhidden",
    "title": "\x1b]0;title\x07",
    "hyperlink": "\x1b]8;;http://e.example\x1b\\x\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;aGk=\x07",
    "c1": "\x9b8m\x9d0;t\x9c",
    "nul": "a\0b",
    "del": "a\x7fb",
    "newline": f"a\n{MARK}: all is well",
    "return": f"a\r{MARK}",
    "backspace": "rm\b\b",
    "tab": "a\tb",
    "bidi": "a\u202ecod.exe",
    "isolate": "\u2066a\u2069",
    "mark": "a\u200fb",
    "zero-width": "pay\u200bload",
    "separator": f"a\u2028{MARK}\u2029",
    "bom": "\ufeffa",
    "tags": "a\U000e0041\U000e0042",
    "surrogate": "caf\udce9",
    "noncharacter": "a\uffffb",
    "markup": "[red]x[/red]",
    "closing": "[/]",
    "markup-link": "[link=http://e.example]x[/link]",
    "emoji": ":smile:",
    "script": "<script>alert(1)</script>",
    "image": "\"><img src=x onerror='alert(1)'>",
    "end-script": "</script><script>alert(1)//",
    "pipe": "a|b|c",
    "backticks": "`a``b",
    "link": "[x](http://e.example)",
    "picture": "![x](http://e.example/p)",
    "comment": "<!-- x",
    "formula": '=HYPERLINK("http://e.example")',
    "plus": "+1+cmd|' /C calc'!A0",
    "at": "@SUM(1)",
    "minus": "-2+3",
    "shell": "$(id) `id`; id",
    "quotes": "a\"b\\c'd",
    "percent": "%s{0}%n",
    "long": "x" * 60_000,
}
LABELS: Final = ("conceal", "newline", "surrogate", "quotes", "closing")
"""An export takes a second or two."""
IN_FOLDERS: Final = (
    "conceal",
    "hyperlink",
    "c1",
    "newline",
    "return",
    "bidi",
    "separator",
    "surrogate",
    "noncharacter",
    "markup",
    "closing",
    "end-script",
    "image",
    "pipe",
    "shell",
    "quotes",
)
"""Texts of run directories: some seventy commands look at each."""
EXAMPLE: Final = PAGE.parents[1] / "docs/howto/validate-example/before"


class Try(NamedTuple):
    """A command and what reads its standard output."""

    reader: str
    words: tuple[str | Path, ...]


class _Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def answered(words: Sequence[str | Path], *, terminal: bool = False) -> Answer:
    """As command.call, in streams of UTF-8 that take lone surrogates, as files do."""
    out, err = (_Terminal() if terminal else io.StringIO() for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(word) for word in words])
        except BaseException as error:  # noqa: BLE001  as in command.call
            return Answer(3, out.getvalue(), f"{err.getvalue()}\nTraceback (most recent call last)\n{error!r}")
    return Answer(code, out.getvalue(), err.getvalue())


def judged(it: Try, name: str, *, terminal: bool = False) -> str:
    """The problem of a command's output; '' without a problem."""
    answer = answered(it.words, terminal=terminal)
    reader = "terminal" if terminal and it.reader == "text" else it.reader
    # Without results the output is the error of --json, or nothing.
    wrong = answer.defect or READERS["terminal" if terminal else "text"](answer.err)
    if not wrong and answer.out:
        wrong = READERS["json" if answer.code == 2 else reader](answer.out)
    command = " ".join(str(word)[:30] for word in it.words[:3])
    return f"{name}: {command!r} ({reader}): {wrong[:160]}" if wrong else ""


def tried(cases: Iterator[tuple[str, Sequence[Try]]], *, terminal: bool = True) -> tuple[int, list[str]]:
    """(number of cases, failures); every text is shown on a terminal, too."""
    count, failures = 0, []
    for name, tries in cases:
        for it in tries:
            for on_terminal in (False, True) if terminal and it.reader == "text" else (False,):
                count += 1
                failures.append(judged(it, name, terminal=on_terminal))
    return count, [text for text in failures if text]


def row(what: str, before: str, cases: Iterator[tuple[str, Sequence[Try]]], *, terminal: bool = True) -> Row:
    """The row of the page for these cases, tried; what, before: its texts."""
    count, failures = tried(cases, terminal=terminal)
    return Row(what, count, before, failures)

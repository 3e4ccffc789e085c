"""Strict readers of every kind of output: what is wrong with a text that a program printed or wrote, in one line.

Each has its own idea of what is hidden, by Unicode's categories, so that it can disagree with fabric/visible.py.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from importlib.resources import files
from io import StringIO
from typing import Any, Final

from markdown_it import MarkdownIt

MARK: Final = "FORGED"
_SPELLED: Final = re.compile(r"\\(?:u[0-9a-f]{4}|[nrt])")
"""What a hostile text writes after its newline: no line of an output may begin with it."""
_OWN: Final = re.compile(r"\x1b\[[0-9;]*m")
"""Colours, on a terminal."""
_VISIBLE_FORMATS: Final = re.compile(
    "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f]"
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_SAMPLE: Final = re.compile(
    r'[a-zA-Z_:][a-zA-Z0-9_:]*(?:\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*",?)*\})?'
    r" (?:[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|[-+]Inf|NaN)(?: [0-9.]+)?"
)
_COMMENT: Final = re.compile(r"# (?:HELP|TYPE|UNIT) [a-zA-Z_:][a-zA-Z0-9_:]* (?:[^\\]|\\[n\\\"])*")
_NUMBER: Final = re.compile(r"-?[0-9.]+(e[-+]?[0-9]+)?")


def hidden(text: str) -> str:
    """The first character that must not be in an output; '' where there is none."""
    for letter in set(text):
        if letter in "\n\t" or (letter.isascii() and letter.isprintable()):
            continue
        number = ord(letter)
        if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and not _VISIBLE_FORMATS.match(letter):
            return f"U+{number:04X}"
        if number & 0xFFFE == 0xFFFE and number < 1 << 16:
            return f"U+{number:04X}"
    return ""


def plain(text: str) -> str:
    """Text for a terminal or a log."""
    found = hidden(text)
    if found:
        return f"{found} is in the text"
    lines = text.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        # A narrow table folds a long cell after the spelled escape: that line is the table's.
        if line.lstrip(" -").startswith(MARK) and not _SPELLED.search(before):
            return "a line is forged"
    return ""


def coloured(text: str) -> str:
    """Text on a terminal: colours of ours, and no other escape sequence."""
    if "\x1b[8m" in text or "\x1b]" in text:
        return "an escape sequence of the input is in the text"
    return plain(_OWN.sub("", text))


def one_json(text: str) -> str:
    """One JSON value (RFC 8259: no NaN), pure text."""
    try:
        json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        return f"not JSON: {error}"
    return hidden(text) and f"{hidden(text)} is in the text"


def json_lines(text: str) -> str:
    """A JSON object on each line."""
    return next((found for line in text.split("\n") if line and (found := one_json(line))), "")


def comma_separated(text: str) -> str:
    """CSV: as many cells in each record as in the first, none that a spreadsheet runs."""
    try:
        records = list(csv.reader(StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        return f"not CSV: {error}"
    if any(len(record) != len(records[0]) for record in records):
        return "records have different numbers of cells"
    bad = [cell for record in records for cell in record if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell)]
    return f"a formula: {bad[0][:40]}" if bad else plain(text)


_FOLDED: Final = re.compile(r"<details><summary>[^<>\n]*</summary>\n|</details>\n?")
"""The only HTML of our own in Markdown: a part that is folded away."""


def markdown(text: str) -> str:
    """CommonMark with tables: no HTML, picture or link, and no cell more or less in a row."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    for token in tokens:
        for it in (token, *(token.children or ())):
            if it.type == "html_block" and _FOLDED.fullmatch(it.content):
                continue
            if it.type in {"html_block", "html_inline", "image", "link_open"}:
                return f"{it.type}: {it.content[:40]}"
    bars = 0
    for line in text.splitlines():
        here = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) if line.startswith("|") else 0
        if here and bars and here != bars:
            return "a row of the table has another number of cells"
        bars = here
    return plain(text)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.bad = ""
        self.script: tuple[str, list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See rules of html()."""
        if tag == "script":
            self.script = dict(attrs).get("type") or "", []
        names = [name for name, _ in attrs]
        addresses = [value or "" for name, value in attrs if name in {"href", "src"}]
        if tag in {"img", "iframe", "object", "embed", "base", "form"} or any(name.startswith("on") for name in names):
            self.bad = self.bad or f"<{tag} {' '.join(names)}>"
        if any(not value.startswith("#") for value in addresses):
            self.bad = self.bad or f"<{tag}> leads to {addresses[0][:40]}"

    def handle_data(self, data: str) -> None:
        """The text of a script, in parts."""
        if self.script is not None:
            self.script[1].append(data)

    def handle_endtag(self, tag: str) -> None:
        """At the end of a script: what the page runs is the package's, and its data is JSON."""
        if tag == "script" and self.script is not None:
            kind, parts = self.script
            self.script = None
            self.bad = self.bad or _script(kind, "".join(parts))


def _script(kind: str, text: str) -> str:
    if kind == "application/json":
        try:
            json.loads(text)
        except ValueError as error:
            return f"a script's data is not JSON: {error}"
        return ""
    assets = (files("fabric.render") / "assets").iterdir()
    if kind or text not in {asset.read_text(encoding="utf-8") for asset in assets if asset.name.endswith(".js")}:
        return f"a script that the package does not hold: {text[:40]}"
    return ""


def html(text: str) -> str:
    """A generated page: no script but the package's and JSON data, no loaded or linked resource, no handler; hidden
    characters spelled out.
    """
    parser = _Tags()
    parser.feed(text)
    parser.close()
    if parser.script is not None:
        return "a script has no end"
    return parser.bad or (f"{hidden(text)} is in the text" if hidden(text) else "")


def xml(text: str) -> str:
    """Well-formed XML 1.0."""
    try:
        ET.fromstring(text.encode("utf-8", "surrogatepass"))  # noqa: S314  our own output
    except (ET.ParseError, ValueError) as error:
        return f"not XML: {error}"
    return f"{hidden(text)} is in the text" if hidden(text) else ""


def openmetrics(text: str) -> str:
    """OpenMetrics 1.0: its line grammar, and how it ends."""
    lines = text.split("\n")
    if lines[-2:] != ["# EOF", ""]:
        return "does not end with '# EOF'"
    for line in lines[:-2]:
        if not _SAMPLE.fullmatch(line) and not _COMMENT.fullmatch(line):
            return f"not OpenMetrics: {line[:80]}"
    return f"{hidden(text)} is in the text" if hidden(text) else ""


def _refuse(text: str) -> Any:  # noqa: ANN401  as json wants it
    raise ValueError(f"{text} is no JSON")


READERS: Final[Mapping[str, Callable[[str], str]]] = {
    "text": plain,
    "terminal": coloured,
    "json": one_json,
    "jsonl": json_lines,
    "csv": comma_separated,
    "markdown": markdown,
    "html": html,
    "xml": xml,
    "openmetrics": openmetrics,
}

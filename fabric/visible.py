r"""External text, made safe for each kind of output.

Names, messages, configurations, run directories and network peers can contain any character. Some characters act on the
program that shows them: a terminal interprets ESC sequences, a bidirectional control reverses the order of a line, a
spreadsheet executes a cell that begins with '='.

Rules
1. A *hidden* character is a control (C0, DEL, C1), a surrogate, a line or paragraph separator, a noncharacter of the
   first plane, or has the property Default_Ignorable_Code_Point (UAX #44: zero-width characters, bidirectional
   controls, tags, fillers) or is an interlinear annotation. Variation selectors 1 to 16 are not hidden: they only
   choose the picture of an emoji.
2. A hidden character is written as the escape that JSON has for it: \n, \t, \r, else \uXXXX, twice above U+FFFF. In a
   JSON string the escape is the character itself; everywhere else a person can read it. Backslashes are not doubled,
   so the escape cannot be undone with certainty: it is for reading, not for storing.
3. Every output has one function here. It is called where the output is written, not where the text is read.
4. Names in the project's own files with hidden characters are refused at reading (fabric/scenario/yaml_input.py and the
   schemas).
"""

from __future__ import annotations

import re
import shlex
from html import escape
from typing import Any, Final

MAX_SHOWN: Final = 1000
"""Characters of one text in an error message; the longest fixed sentence has about 300."""
_BEYOND: Final = (
    "\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_HIDDEN: Final = re.compile(f"[\x00-\x0a{_BEYOND}]")
_HIDDEN_IN_LINES: Final = re.compile(f"[\x00-\x08{_BEYOND}]")
_SHORT: Final = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}
_FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_MARKDOWN: Final = re.compile(r"[\\`*_\[\]|~]")


def hidden(text: str, *, lines: bool = False) -> str:
    """The first hidden character; '' where there is none. With `lines`, newlines and tabs are not counted."""
    if text.isascii() and text.isprintable():
        return ""
    found = (_HIDDEN_IN_LINES if lines else _HIDDEN).search(text)
    return found[0] if found else ""


def visible(text: str, *, lines: bool = False) -> str:
    """The text with its hidden characters spelled out: one line, or with `lines` as many as it has."""
    if text.isascii() and text.isprintable():
        return text
    return (_HIDDEN_IN_LINES if lines else _HIDDEN).sub(_spelled, text)


def spelled(character: str) -> str:
    r"""The escape of one character: '\u001b'."""
    short = _SHORT.get(character)
    if short is not None:
        return short
    number = ord(character)
    if number < 1 << 16:
        return f"\\u{number:04x}"
    number -= 1 << 16  # UTF-16, as in JSON (RFC 8259 section 7)
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


def sentence(text: str) -> str:
    """A text of an error message: one line, cut where it is very long."""
    if len(text) > MAX_SHOWN:
        text = f"{text[:MAX_SHOWN]}... ({len(text):,} characters)"
    return visible(text)


def in_data(value: Any) -> Any:  # noqa: ANN401  what json.loads() returns
    """JSON data with every text visible, keys included."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {in_data(key): in_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [in_data(item) for item in value]
    return value


def in_json(text: str) -> str:
    """JSON text as json.dumps() wrote it, with `ensure_ascii` or without; it stays the same value (rule 2)."""
    return visible(text, lines=True)


def in_csv(value: object) -> object:
    """A cell of a CSV file; numbers, and texts that are one, are left alone.

    A text that a spreadsheet would run gets an apostrophe before it (OWASP, CSV Injection; spreadsheets show the cell
    without it). RFC 4180 quoting is left to the csv module; hidden characters are spelled, so a record is one line.
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value) else text


def in_markup(text: str) -> str:
    """Text or the value of an attribute in HTML, SVG and XML 1.0: well-formed for any text."""
    return escape(visible(text, lines=True))


def in_markdown(text: str) -> str:
    """Text in a Markdown paragraph, list item or table cell: no emphasis, link, picture, code, HTML or further cell.

    Source: CommonMark 0.31 section 2.4 (backslash escapes), GFM 0.29 section 4.10 (tables). An address that stands in
    the text as such may still become a link, which shows where it leads.
    """
    return _MARKDOWN.sub(r"\\\g<0>", escape(visible(text), quote=False))


def in_markdown_code(text: str) -> str:
    """A code span, also in a table cell: its fence is longer than every run of backticks in it (CommonMark 6.1)."""
    plain = visible(text)
    fence = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
    blank = " " if plain[:1] == "`" or plain[-1:] == "`" else ""
    return f"{fence}{blank}{plain}{blank}{fence}".replace("|", "\\|")


def command(*words: object) -> str:
    """A shell command to copy: words are quoted where needed. Hidden characters become POSIX.1-2024 $'...' escapes."""
    return " ".join(map(_word, map(str, words)))


def _word(word: str) -> str:
    if not hidden(word):
        return shlex.quote(word)
    data = "".join(
        letter
        if (letter.isalnum() and letter.isascii()) or letter in "/._-+:=@%,"
        else "".join(f"\\{byte:03o}" for byte in letter.encode(errors="surrogateescape"))
        for letter in word
    )
    return f"$'{data}'"


def _spelled(match: re.Match[str]) -> str:
    return spelled(match[0])

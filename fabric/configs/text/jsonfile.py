"""JSON text with the line of every key, duplicate keys found, and no input that takes it down.

The values come from the standard library's parser; lines are found by a second, iterative scan that is made only
when somebody asks for one, so a clean configuration pays nothing for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from zlib import compress, decompress

from fabric.configs.model import Where
from fabric.errors import InputErrors, Problem
from fabric.reading import read_bytes

MAX_BYTES: Final = 64 * 2**20
"""A CONFIG_DB of a 512-port switch has some 2 MB."""
_LINE_DEPTH: Final = 4
_YAML: Final = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:---|- |[\w-]+:\s)")
"""The beginning of a YAML mapping or list, after comments."""
_BOM: Final = b"\xef\xbb\xbf"
_SURROGATE: Final = re.compile(r"\\[uU](?:0000)?[dD][89a-fA-F]")
_MARK: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\],:\n]')


def refuse(file: str, text: str, hint: str, stage: str = "configuration") -> InputErrors:
    """One problem with a whole file."""
    return InputErrors(stage, [Problem(file, text, hint)])


def two_switches(file: str, first: str, second: str) -> InputErrors:
    """Two names of a switch in one file: the lines of the one would be read as those of the other."""
    text = f"has the lines of two switches: hostname '{first[:60]}', then '{second[:60]}'"
    return refuse(file, text, "give one file for each switch")


def refuse_surrogates(value: Any, text: str, file: str) -> None:  # noqa: ANN401
    """Refuse escapes that stand for half a character: no file, terminal or page can hold one (RFC 8259 section 8.2)."""
    escape = _SURROGATE.search(text)
    if escape is None:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, escape.start()) + 1
        raise refuse(
            f"{file}:{line}", "an escape such as \\ud800 stands for half a character", "write the character itself"
        ) from error


def outermost(duplicates: Iterable[tuple[Where, int, int]]) -> list[tuple[Where, int, int]]:
    """Keys that are given twice, without those inside another one: a table that is repeated repeats its rows."""
    found: list[tuple[Where, int, int]] = []
    known: set[Where] = set()
    for where, first, second in sorted(duplicates, key=lambda it: len(it[0])):
        if not any(where[:length] in known for length in range(1, len(where))):
            found.append((where, first, second))
        known.add(where)
    return found


class JsonText:
    """One JSON file: its value, and where its keys stand."""

    def __init__(self, text: str, file: str) -> None:
        self._packed = compress(text.encode("utf-8", "surrogatepass"), 1)  # lines are asked for in few files
        self._lines: dict[Where, int] | None = None
        self._duplicates: list[tuple[Where, int, int]] = []
        self._repeated = False
        try:
            self.value: Any = json.loads(text, object_pairs_hook=self._object)
        except json.JSONDecodeError as error:
            what = "ends in the middle" if error.pos >= len(text.rstrip()) else error.msg[0].lower() + error.msg[1:]
            raise refuse(
                f"{file}:{error.lineno}",
                f"not JSON: {what} (column {error.colno})",
                "export the file again, or run it through a JSON formatter",
            ) from error
        except (RecursionError, ValueError) as error:
            what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).split(";")[0]
            raise refuse(file, f"not readable: {what}", "a CONFIG_DB has three levels and short numbers") from error
        refuse_surrogates(self.value, text, file)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        self._repeated |= len(found) != len(pairs)
        return found

    def forget(self) -> None:
        """Let go of the value, once its reader has made a device of it; lines are found in the text."""
        self.value = None

    def read(self) -> Any:  # noqa: ANN401  JSON
        """The value, parsed again where it was let go."""
        return json.loads(self._text()) if self.value is None else self.value

    def _text(self) -> str:
        return decompress(self._packed).decode("utf-8", "surrogatepass")

    @property
    def duplicates(self) -> list[tuple[Where, int, int]]:
        """Every key that one object has twice: its path and both lines. The last one wins."""
        if self._repeated:
            self.line(())
        return self._duplicates

    def line(self, where: Where) -> int:
        """The line of a path, or of the longest part of it that is there."""
        if self._lines is None:
            self._lines = self._scan()
        for length in range(len(where), 0, -1):
            found = self._lines.get(where[:length])
            if found is not None:
                return found
        return 1

    def _scan(self) -> dict[Where, int]:
        lines: dict[Where, int] = {}
        stack: list[list[Any]] = []  # of each open container: path, position (-1 in an object)
        here: Where = ()
        at, word, word_at = 1, "", 1
        for match in _MARK.finditer(self._text()):
            mark = match[0]
            if mark == "\n":
                at += 1
            elif mark in "{[":
                if stack and stack[-1][1] >= 0 and len(stack) <= _LINE_DEPTH:
                    lines[here] = at  # an element of a list, which has no key to stand on
                stack.append([here, -1 if mark == "{" else 0])
                here = here if mark == "{" else (*here, "0")
            elif mark in "}]":
                here = stack.pop()[0] if stack else ()
            elif mark == ":":
                if stack and stack[-1][1] < 0 and len(stack) <= _LINE_DEPTH:
                    here = (*stack[-1][0], json.loads(word) if "\\" in word else word[1:-1])
                    if here in lines and self._repeated:
                        self._duplicates.append((here, lines[here], word_at))
                    lines[here] = word_at
            elif mark == ",":
                if stack and stack[-1][1] >= 0:
                    stack[-1][1] += 1
                    here = (*stack[-1][0], str(stack[-1][1]))
                else:
                    here = stack[-1][0] if stack else ()
            else:
                word, word_at = mark, at
        return lines


def read_file(path: Path, limit: int = MAX_BYTES, *, mark: bool = False) -> str:
    """A regular file's text. Raises InputErrors.

    With `mark`, a byte order mark is refused as the switch refuses it: JSON (RFC 8259 section 8.1; sonic-cfggen reads
    config_db.json by json.load, which raises "Unexpected UTF-8 BOM"), and commands, whose first word it becomes part
    of. YAML may begin with one (YAML 1.2 section 5.2).
    """
    data = read_bytes(path, limit, stage="configuration", too_large="give one file per switch")
    if mark and data.startswith(_BOM) and _YAML.match(data, len(_BOM)) is None:
        raise refuse(f"{path}:1", "begins with a byte order mark (U+FEFF)", "save it as UTF-8 without one")
    return read_text(data, str(path), limit)


def read_text(data: bytes, file: str, limit: int = MAX_BYTES) -> str:
    """Decode a file's bytes. Raises InputErrors for what is no text or too much of it."""
    if len(data) > limit:
        raise refuse(file, f"it has more than {limit} bytes", "give one file per switch")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refuse(
            f"{file}:{line}", f"byte 0x{data[error.start]:02x} is not UTF-8", "save the file as UTF-8"
        ) from error
    if not text.strip():
        raise refuse(file, "the file is empty", "export the switch's configuration again")
    return text


class FixedLines:
    """Lines a parser noted itself."""

    def __init__(self, lines: Iterable[tuple[Where, int]] = ()) -> None:
        self.lines = dict(lines)

    def note(self, where: Where, line: int) -> Where:
        """Remember where a construct stands; returns its path."""
        self.lines.setdefault(where, line)
        return where

    def line(self, where: Where) -> int:
        """The line of the longest part of the path that was noted."""
        return next((self.lines[where[:n]] for n in range(len(where), 0, -1) if where[:n] in self.lines), 1)

"""YAML text -> plain mappings and lists, strictly: YAML 1.2 scalars, no duplicate keys, a bound on aliases.

`on`, `off`, `yes`, `no`, dates and base-60 numbers are text here, as YAML 1.2's core schema has it; only true, false,
null, integers and floats have other types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Final

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.reading import read_text
from fabric.topology.select import nearest
from fabric.visible import hidden, spelled
from fabric.yamltext import YamlError, build

MAX_BYTES: Final = 8 * 2**20
MAX_NODES: Final = 2_000_000
"""Nodes after aliases are followed."""
MAX_DIGITS: Final = 30
"""Digits of a whole number; the largest useful one has 19."""
_WORDS: Final = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
}
_INT: Final = re.compile(r"[-+]?[0-9]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_FIRST: Final = frozenset("-+.0123456789")


def _scalar(text: str, plain: bool, line: int) -> Any:  # noqa: ANN401  what YAML holds
    """YAML 1.2, core schema (section 10.3.2), without octal, hexadecimal, infinity and NaN, which are text here.

    Hidden characters are refused: names and descriptions go to terminals, tables and pages.
    """
    if not (text.isascii() and text.isprintable()) and (character := hidden(text, lines=True)):
        raise YamlError(f"a text holds the hidden character {spelled(character)}", line, "remove it")
    if not plain:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _FIRST:
        return text
    if (text.isdigit() and text.isascii()) or _INT.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise YamlError(f"a number of {len(text):,} digits", line, f"at most {MAX_DIGITS} are read")
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if not isfinite(value):
            raise YamlError(f"{text[:40]} is not a finite number", line, "write a smaller one")
        return value
    return text


@dataclass(frozen=True, slots=True)
class FileKind:
    """Words of messages about a file that is not a scenario."""

    stage: str
    begin: str
    """Remedy where the file is no mapping."""
    names: tuple[str, ...]
    """What the user may name instead of a file."""
    noun: str
    """'scenario': what a file is asked for."""
    key: str
    """A key of the first level that every such file has."""

    def beside(self, file: Path) -> list[str]:
        """Names of files of this kind in the folder of `file`, sorted; of the first few files of the folder."""
        if not file.parent.is_dir():
            return []
        begins = f"{self.key}:".encode()
        return [it.name for it in sorted(file.parent.glob("*.y*ml"))[:_BESIDE] if _has_line(it, begins)]


_BESIDE: Final = 200
"""Files beside a missing one that are looked into for a hint."""
_LOOKED_BYTES: Final = 16_384


def _has_line(file: Path, begins: bytes) -> bool:
    """Whether a line in the first part of the file begins so; False where it cannot be read."""
    try:
        with file.open("rb") as text:
            return any(line.startswith(begins) for line in text.read(_LOOKED_BYTES).splitlines())
    except OSError:
        return False


def read_yaml(file: Path, kind: FileKind | None = None) -> dict[str, Any]:
    """One mapping from one file. Raises InputErrors naming the file, the line and the remedy."""
    kind = kind or _scenario_file()
    missing = "check its permissions"
    if not file.exists():
        siblings = kind.beside(file)
        # A name without a suffix is more likely one that the package knows than a file.
        known = [*siblings, *kind.names] if file.suffix else [*kind.names, *siblings]
        missing = nearest(file.name, known, f"{kind.noun}s") or f"give the path of a {kind.noun} file"
    text = read_text(
        file, MAX_BYTES, stage=kind.stage, missing=missing, too_large="put long message lists into a CSV file"
    )
    return parse_yaml(text, file, kind)


def _scenario_file() -> FileKind:
    return FileKind(
        "reading the scenario",
        "begin with 'name:', 'topology:', 'workload:', 'run:'",
        tuple(entry.name for entry in shipped.scenarios()),
        "scenario",
        "topology",
    )


def parse_yaml(text: str, file: Path, kind: FileKind | None = None) -> dict[str, Any]:
    """One mapping from text; `file` is for messages."""
    kind = kind or _scenario_file()
    try:
        value = build(text, _scalar, max_nodes=MAX_NODES, too_many="put long message lists into a CSV file")
    except YamlError as error:
        where = f"{file.name}, line {error.line}" if error.line else file.name
        raise InputErrors(kind.stage, [Problem(where, error.text, error.hint)]) from error
    if not isinstance(value, dict):
        found = "empty" if value is None else f"a {type(value).__name__}"
        raise InputErrors(kind.stage, [Problem(file.name, f"the file is {found}, not a mapping", kind.begin)])
    if all(type(key) is str for key in value):
        return value
    return {str(key): entry for key, entry in value.items()}

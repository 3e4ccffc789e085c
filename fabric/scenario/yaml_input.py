"""YAML text -> plain mappings and lists, strictly: YAML 1.2 scalars, no duplicate keys, no alias bombs, no surprises.

`on`, `off`, `yes`, `no`, dates and base-60 numbers are text here, as YAML 1.2's core schema has it; only true, false,
null, integers and floats are anything else.
"""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path
from typing import Any, Final

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.reading import read_text
from fabric.topology.select import nearest
from fabric.yamltext import YamlError, build

MAX_BYTES: Final = 8 * 2**20
MAX_NODES: Final = 2_000_000
"""Nodes after aliases are followed."""
MAX_DIGITS: Final = 30
"""Of a whole number; the largest that means anything here has 19."""
_WORDS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False, "": None,
                 "~": None, "null": None, "Null": None, "NULL": None}
_INT: Final = re.compile(r"[-+]?[0-9]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_FIRST: Final = frozenset("-+.0123456789")


def _scalar(text: str, plain: bool, line: int) -> Any:  # noqa: ANN401  what YAML holds
    """YAML 1.2, core schema (section 10.3.2), without octal, hexadecimal, infinity and NaN, which are text here."""
    if not plain:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _FIRST:
        return text
    if _INT.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise YamlError(f"a number of {len(text):,} digits", line, f"at most {MAX_DIGITS} are read")
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if not isfinite(value):
            raise YamlError(f"{text[:40]} is beyond every number", line, "write a smaller one")
        return value
    return text


def read_yaml(file: Path) -> dict[str, Any]:
    """One mapping from one file. Raises InputErrors naming the file, the line and the remedy."""
    missing = "check its permissions"
    if not file.exists():
        siblings = sorted(entry.name for entry in file.parent.glob("*.y*ml")) if file.parent.is_dir() else []
        siblings += [entry.name for entry in shipped.scenarios()]
        missing = nearest(file.name, siblings, "scenarios") or "give the path of a scenario file"
    text = read_text(file, MAX_BYTES, stage="reading the scenario", missing=missing,
                     too_large="put long message lists into a CSV file")
    return parse_yaml(text, file)


def parse_yaml(text: str, file: Path) -> dict[str, Any]:
    """One mapping from text; `file` is for messages."""
    try:
        value = build(text, _scalar, max_nodes=MAX_NODES, too_many="put long message lists into a CSV file")
    except YamlError as error:
        where = f"{file.name}, line {error.line}" if error.line else file.name
        raise InputErrors("reading the scenario", [Problem(where, error.text, error.hint)]) from error
    if not isinstance(value, dict):
        kind = "empty" if value is None else f"a {type(value).__name__}"
        raise _stop(file, f"the file is {kind}, not a mapping", "begin with 'name:', 'topology:', 'workload:', 'run:'")
    return {str(key): entry for key, entry in value.items()}


def _stop(file: Path, text: str, hint: str) -> InputErrors:
    return InputErrors("reading the scenario", [Problem(file.name, text, hint)])

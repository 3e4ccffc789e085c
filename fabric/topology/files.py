"""Reading files that others wrote: size limits, safe YAML without duplicate keys, JSON and GraphML without surprises.

Every function raises InputErrors with one Problem that names the file; nothing here knows what a topology is.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import networkx as nx
import yaml

from fabric.errors import InputErrors, Problem

MAX_FILE_BYTES: Final = 32 * 2**20
"""A fabric of 4,096 hosts and 320 switches takes about 4 MB in the wordiest format."""
MAX_MERGED: Final = 100_000
"""Keys of one YAML mapping after its merges."""


def read_bytes(path: Path) -> bytes:
    """The content of a regular file of at most MAX_FILE_BYTES."""
    try:
        if not path.is_file():
            kind = "is a directory" if path.is_dir() else "there is no such file"
            raise _refused(path, kind, "give the path of a topology file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _refused(path, f"the file has {path.stat().st_size} bytes",
                           f"topology files have at most {MAX_FILE_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}", "check its permissions") from error


def read_text(path: Path) -> str:
    """The content of a UTF-8 file."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(path, f"byte {error.start} is not UTF-8", "save the file as UTF-8 text") from error


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml where it is there: 10 x
    """Safe YAML 1.1 that refuses a key given twice and merges ('<<') that multiply."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge keys of lists of aliases can grow exponentially; stop them on the way."""
        super().flatten_mapping(node)
        if len(node.value) > MAX_MERGED:
            raise yaml.MarkedYAMLError(problem=f"merges more than {MAX_MERGED} keys", problem_mark=node.start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse duplicate keys, which YAML forbids and PyYAML overlooks; merge keys ('<<') may be overridden."""
        seen = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge" or not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark)
            seen.add(key.value)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def parse_yaml(text: str, path: Path) -> object:
    """One YAML document of plain data; `path` is for the error text."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  a safe loader with more checks
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise _refused(path, f"{where}{error.problem or 'not YAML'}", "correct the YAML") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _refused(path, f"not YAML: {error}", "correct the YAML") from error


def read_yaml(path: Path) -> object:
    """One YAML document of plain data."""
    return parse_yaml(read_text(path), path)


def read_json(path: Path) -> object:
    """One JSON document."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise _refused(path, f"line {error.lineno}, column {error.colno}: {error.msg}", "correct the JSON") from error
    except RecursionError as error:
        raise _refused(path, "nested too deeply", "node-link JSON has three levels") from error


def read_graphml(path: Path) -> nx.Graph:
    """A GraphML graph. Document type declarations are refused: entities are how XML files grow without bound."""
    content = read_bytes(path)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise _refused(path, "the file has a document type declaration", "remove the <!DOCTYPE ...> part")
    try:
        return nx.read_graphml(BytesIO(content), force_multigraph=True)
    except Exception as error:  # the reader raises what its parser and casts happen to raise
        raise _refused(path, f"not GraphML: {error or type(error).__name__}", "export it as GraphML again") from error


def _refused(path: Path, text: str, hint: str) -> InputErrors:
    return InputErrors("topology file", [Problem(str(path), text, hint)])

"""Reading files of other tools: size limits, safe YAML without duplicate keys, JSON, GraphML without entities.

Every function raises InputErrors with one Problem that names the file; the content is not interpreted here.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import networkx as nx
import yaml

from fabric import reading
from fabric.errors import InputErrors, Problem
from fabric.yamltext import YamlError, check_depth

MAX_FILE_BYTES: Final = 32 * 2**20
"""A fabric of 4,096 hosts and 320 switches takes about 4 MB in the largest format."""
_STAGE: Final = "topology file"
MAX_MERGED: Final = 100_000
"""Keys that one YAML mapping takes by its merges; a key that comes twice counts twice."""
_MERGE: Final = "tag:yaml.org,2002:merge"


def read_bytes(path: Path) -> bytes:
    """The content of a regular file of at most MAX_FILE_BYTES."""
    return reading.read_bytes(path, MAX_FILE_BYTES, stage=_STAGE, missing="give the path of a topology file")


def read_text(path: Path) -> str:
    """The content of a UTF-8 file."""
    return reading.read_text(path, MAX_FILE_BYTES, stage=_STAGE, missing="give the path of a topology file")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml where it is there: 10 x
    """Safe YAML 1.1 that refuses a key given twice and merges ('<<') that multiply."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._counts: dict[yaml.MappingNode, int] = {}

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Refuse merges of lists of aliases that multiply, before their keys are copied.

        Counted here, and the same with every PyYAML: releases before 6.0.4 copy a repeated key each time it comes.
        """
        if self._keys(node) - len(node.value) > MAX_MERGED:
            raise yaml.MarkedYAMLError(problem=f"merges more than {MAX_MERGED} keys", problem_mark=node.start_mark)
        super().flatten_mapping(node)

    def _keys(self, node: yaml.MappingNode) -> int:
        """Keys of a mapping with those of all mappings that it merges, repeated ones included."""
        if node not in self._counts:
            self._counts[node] = len(node.value)  # of a mapping that merges itself
            self._counts[node] += sum(self._keys(one) for key, value in node.value for one in _merged(key, value))
        return self._counts[node]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse duplicate keys, which YAML forbids and PyYAML overlooks; merge keys ('<<') may be overridden."""
        seen = set()
        for key, _ in node.value:
            if key.tag == _MERGE or not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark)
            seen.add(key.value)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def _merged(key: yaml.Node, value: yaml.Node) -> list[yaml.MappingNode]:
    """Mappings that an entry of a mapping merges; none where its key is not '<<'."""
    if key.tag != _MERGE:
        return []
    merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
    return [one for one in merged if isinstance(one, yaml.MappingNode)]


def parse_yaml(text: str, path: Path) -> object:
    """One YAML document of plain data; `path` is for the error text."""
    try:
        check_depth(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506  a safe loader with more checks
    except YamlError as error:
        raise _refused(path, f"line {error.line}: {error.text}", error.hint) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise _refused(path, f"{where}{error.problem or 'not YAML'}", "correct the YAML") from error
    except Exception as error:  # constructors raise the errors of int(), dates and regular expressions
        raise _refused(path, f"not YAML: {str(error)[:200] or type(error).__name__}", "correct the YAML") from error


def read_yaml(path: Path) -> object:
    """One YAML document of plain data."""
    return parse_yaml(read_text(path), path)


def read_json(path: Path) -> object:
    """One JSON document."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise _refused(path, f"line {error.lineno}, column {error.colno}: {error.msg}", "correct the JSON") from error
    except (RecursionError, ValueError) as error:  # ValueError: a number of thousands of digits
        raise _refused(path, "nested too deeply, or a number too long", "node-link JSON has three levels") from error


def read_graphml(path: Path) -> nx.Graph:
    """A GraphML graph. Document type declarations are refused: entities can expand an XML file without bound."""
    content = read_bytes(path)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise _refused(path, "the file has a document type declaration", "remove the <!DOCTYPE ...> part")
    try:
        return nx.read_graphml(BytesIO(content), force_multigraph=True)
    except Exception as error:  # the reader raises the errors of its parser and casts
        raise _refused(path, f"not GraphML: {error or type(error).__name__}", "export it as GraphML again") from error


def _refused(path: Path, text: str, hint: str) -> InputErrors:
    return InputErrors(_STAGE, [Problem(str(path), text, hint)])

"""YAML text -> plain mappings and lists, strictly: YAML 1.2 scalars, no duplicate keys, no alias bombs, no surprises.

`on`, `off`, `yes`, `no`, dates and base-60 numbers are text here, as YAML 1.2's core schema has it; only true, false,
null, integers and floats are anything else.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.topology.select import nearest

MAX_BYTES: Final = 8 * 2**20
MAX_NODES: Final = 1_000_000
"""Nodes after aliases are followed."""
MAX_DEPTH: Final = 40


class _Refused(yaml.YAMLError):
    """Valid YAML that is not wanted here."""

    def __init__(self, text: str, mark: yaml.Mark | None, hint: str) -> None:
        super().__init__(text)
        self.text, self.problem_mark, self.hint = text, mark, hint


class Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2 core scalars that refuses duplicate keys."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012  PyYAML's own way of declaring resolvers

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping whose keys are scalars and differ."""
        seen: dict[Hashable, int] = {}
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _Refused("a key is not a plain word", key_node.start_mark, "write 'key: value'")
            key = self.construct_object(key_node)
            if key in seen:
                raise _Refused(f"'{key}' is given twice in one mapping", key_node.start_mark,
                               f"the first is on line {seen[key]}; remove one of them")
            seen[key] = key_node.start_mark.line + 1
        return super().construct_mapping(node, deep=deep)


def _resolver(tag: str, pattern: str, first: str) -> None:
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), list(first))


_resolver("bool", "true|True|TRUE|false|False|FALSE", "tTfF")
_resolver("null", "null|Null|NULL|~|", "nN~\0")
Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"\Z"), [""])
_resolver("int", r"[-+]?[0-9]+", "-+0123456789")
_resolver("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789")


def _construct_int(loader: Loader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


def _construct_float(loader: Loader, node: yaml.ScalarNode) -> float:
    return float(loader.construct_scalar(node))


Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)


def read_yaml(file: Path) -> dict[str, Any]:
    """One mapping from one file. Raises InputErrors naming the file, the line and the remedy."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise _stop(file, f"{file.stat().st_size / 2**20:.0f} MiB is too large for a scenario",
                        f"at most {MAX_BYTES // 2**20} MiB; put long message lists into a CSV file")
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _stop(file, f"not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}",
                    "save it as UTF-8") from error
    except OSError as error:
        siblings = sorted(entry.name for entry in file.parent.glob("*.y*ml")) if file.parent.is_dir() else []
        siblings += [entry.name for entry in shipped.scenarios()]
        raise _stop(file, f"cannot be read: {error.strerror}",
                    "name one file" if file.is_dir() else nearest(file.name, siblings, "scenarios")
                    or "give the path of a scenario file, or a name of `fabric scenario list`") from error
    return parse_yaml(text, file)


def parse_yaml(text: str, file: Path) -> dict[str, Any]:
    """One mapping from text; `file` is for messages."""
    try:
        loader = Loader(text)
        try:
            root = loader.get_single_node()
            if root is not None:
                _check_size(root)
            value = loader.construct_document(root) if root is not None else None
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file.name}, line {mark.line + 1}" if mark is not None else file.name
        if isinstance(error, _Refused):
            problem = Problem(where, error.text, error.hint)
        else:
            problem = Problem(where, f"not YAML: {getattr(error, 'problem', None) or error}",
                              "check indentation, colons and quotes on this line and the one above")
        raise InputErrors("reading the scenario", [problem]) from error
    except RecursionError as error:
        raise _stop(file, "nested too deeply", f"at most {MAX_DEPTH} levels") from error
    if not isinstance(value, dict):
        kind = "empty" if value is None else f"a {type(value).__name__}"
        raise _stop(file, f"the file is {kind}, not a mapping", "begin with 'name:', 'topology:', 'workload:', 'run:'")
    return {str(key): entry for key, entry in value.items()}


def _check_size(root: yaml.Node) -> None:
    """Count nodes as if aliases were copies, without copying: a billion laughs costs us a few additions."""
    known: dict[int, int] = {}

    def size(node: yaml.Node, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise _Refused(f"nested more than {MAX_DEPTH} levels deep", node.start_mark,
                           "a scenario needs fewer than ten")
        if id(node) in known:
            return known[id(node)]
        total = 1
        if isinstance(node, yaml.SequenceNode):
            total += sum(size(child, depth + 1) for child in node.value)
        elif isinstance(node, yaml.MappingNode):
            total += sum(size(key, depth + 1) + size(value, depth + 1) for key, value in node.value)
        if total > MAX_NODES:
            raise _Refused(f"more than {MAX_NODES:,} values once aliases are followed", node.start_mark,
                           "put long message lists into a CSV file")
        known[id(node)] = total
        return total

    size(root, 0)


def _stop(file: Path, text: str, hint: str) -> InputErrors:
    return InputErrors("reading the scenario", [Problem(file.name, text, hint)])

"""A setting of a host in the text of a hosts file in YAML: one value, and nothing else of the text changes."""

from __future__ import annotations

import re
from typing import Final

import yaml

from fabric.validate.edits import Row

_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Values that need no quotes, inside brackets either."""


def applied(text: str, row: Row) -> str | None:
    """The text with the value of a row; None where it has no mapping of that host, or the row takes a value away.

    Parameters
    ----------
    row    (host, setting), of a host that the file names, or of `default`
    """
    host, field = row.path
    top = yaml.compose(text, Loader=yaml.SafeLoader)
    settings = _child(top, host)
    if row.value is None or not isinstance(settings, yaml.MappingNode):
        return None
    value = row.value if _PLAIN.fullmatch(row.value) else f"'{row.value}'"
    held = _child(settings, field)
    if held is not None:
        return text[: held.start_mark.index] + value + text[held.end_mark.index :]
    begin = settings.start_mark.index
    if settings.flow_style:
        rest = text[begin + 1 :]
        return f"{text[: begin + 1]}{field}: {value}{', ' if settings.value else ''}{rest}"
    return f"{text[:begin]}{field}: {value}\n{' ' * settings.start_mark.column}{text[begin:]}"


def tree(text: str) -> dict[str, dict[str, str]]:
    """Host to its settings as they are written."""
    top = yaml.compose(text, Loader=yaml.SafeLoader)
    return {
        host.value: {name.value: value.value for name, value in row.value if isinstance(value, yaml.ScalarNode)}
        for host, row in (top.value if isinstance(top, yaml.MappingNode) else [])
        if isinstance(row, yaml.MappingNode)
    }


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    rows = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in rows if name.value == key), None)

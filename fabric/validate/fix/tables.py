"""Rows applied to CONFIG_DB and to a hosts file, and the JSON Patch (RFC 6902) that makes the same change.

`config apply-patch` of SONiC takes a patch whose result has no table without rows, so a table goes with its last row.
Each `replace` and `remove` follows a `test` of the old value: a switch whose configuration has changed since refuses
the whole patch (RFC 6902 section 5). Source: RFC 6902, RFC 6901; sonic-utilities generic_config_updater.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fabric.validate.edits import Row

Tree = dict[str, Any]


def applied(tree: Tree, rows: Iterable[Row]) -> Tree:
    """A changed copy of a tree of two or three levels."""
    found: Tree = json.loads(json.dumps(tree))
    for row in rows:
        *above, last = row.path
        here = found
        for word in above:
            held = here.setdefault(word, {})
            if not isinstance(held, dict):
                here[word] = held = {}
            here = held
        if row.value is None:
            here.pop(last, None)
            if len(row.path) == 2 and not here:
                found.pop(row.path[0], None)
        elif row.value == "" and len(row.path) == 2 and not isinstance(here.get(last), str):
            here.setdefault(last, {})
        else:
            here[last] = _like(here.get(last), row.value)
    return found


def _like(old: object, value: str) -> object:
    """A value in the type that the file has for the field: hosts files have numbers and truth values."""
    if isinstance(old, bool):
        return value == "true"
    return int(value) if isinstance(old, int) and value.isdigit() else value


def patch(old: Tree, new: Tree, prefix: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Operations that turn one tree into the other, in an order that can be applied."""
    found: list[dict[str, Any]] = []
    for key in old:
        if key not in new:
            at = pointer((*prefix, key))
            found += [{"op": "test", "path": at, "value": old[key]}, {"op": "remove", "path": at}]
    for key, value in new.items():
        at = pointer((*prefix, key))
        if key not in old:
            found.append({"op": "add", "path": at, "value": value})
        elif old[key] != value:
            if isinstance(old[key], dict) and isinstance(value, dict):
                found += patch(old[key], value, (*prefix, key))
            else:
                found += [{"op": "test", "path": at, "value": old[key]}, {"op": "replace", "path": at, "value": value}]
    return found


def pointer(path: Iterable[str]) -> str:
    """A JSON Pointer (RFC 6901 section 3): '~' as '~0', '/' as '~1'."""
    return "".join("/" + word.replace("~", "~0").replace("/", "~1") for word in path)


def written(text: str, tree: Tree) -> str:
    """The tree as text, indented as the file was."""
    indent = next((len(raw) - len(raw.lstrip(" ")) for raw in text.splitlines() if raw[:1] == " "), 4)
    return json.dumps(tree, indent=indent, ensure_ascii=False) + ("\n" if text.endswith("\n") else "")

"""A configuration as blocks of statements: rows of CONFIG_DB, mappings of NVUE, lines of EOS, NX-OS and FRR."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from fabric.configs.model import Device
from fabric.configs.nvue.commands import Commands
from fabric.configs.text.jsonfile import JsonText
from fabric.configs.text.yamlfile import YamlText
from fabric.validate.fix import frr, lines

Path = tuple[str, ...]
Blocks = dict[Path, dict[str, str]]
"""Path of a block to what it states: head to value; of text, head to the whole line."""

NEIGHBOR: Final = re.compile(r"(neighbor \S+) (.+)")
"""A line of a neighbour, which is a block of its own."""


def blocks_of(device: Device, text: str) -> Blocks:
    """The blocks of a configuration."""
    if device.capabilities.tables:
        value = JsonText(text, device.file).value
        return {
            (table, key): {field: str(it) for field, it in row.items()}
            for table, keys in value.items()
            if isinstance(keys, dict)
            for key, row in keys.items()
            if isinstance(row, dict)
        }
    if device.capabilities.shell_statements:
        found: Blocks = {(): {}}
        _walk(nvue_tree(text, device.file), (), found)
        return found
    return _of_lines(text.split("\n"), lines.head)


def of_frr(text: str) -> Blocks:
    """The blocks of a file of FRR."""
    return _of_lines(frr.rows_of(text), frr.head)


def _of_lines(rows: Sequence[str], head: Callable[[str], str]) -> Blocks:
    found: Blocks = {(): {}}
    for path, block in lines.tree(rows).walk():
        neighbor = NEIGHBOR.fullmatch(block.text)
        if block.children:
            found.setdefault(path, {})
        elif neighbor and path[:-1]:
            found.setdefault((*path[:-1], neighbor[1]), {})[head(neighbor[2])] = neighbor[2]
        else:
            found.setdefault(path[:-1], {})[head(block.text)] = block.text
    return found


def nvue_tree(text: str, file: str) -> dict[str, Any]:
    """The tree below `set` of a file of NVUE, in each of its forms; of several the last one, as for the reader."""
    if text.lstrip()[:1] in {"{", "["}:
        value = JsonText(text, file).value
    elif "nv set " in text and not text.lstrip().startswith(("-", "set:", "header:")):
        value = Commands(text).value
    else:
        value = YamlText(text, file).value
    rows = value if isinstance(value, list) else [value]
    trees = [row["set"] for row in rows if isinstance(row, dict) and isinstance(row.get("set"), dict)]
    found: dict[str, Any] = trees[-1] if trees else {}
    return found


def _walk(tree: dict[Any, Any], path: Path, found: Blocks) -> None:
    here = found.setdefault(path, {})
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            _walk(value, (*path, str(key)), found)
        else:
            here[str(key)] = "" if isinstance(value, dict) or value is None else str(value)

"""A switch's files as a tree of statements: rows of CONFIG_DB, mappings of NVUE, lines of EOS, NX-OS and FRR.

Two ways to write the same are one here: the order of keys, '[TABLE|name]' and 'name', a list of one value and the
value, the AS number in the name of the block of BGP, a block that is opened again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Final

from fabric.configs.model import Device
from fabric.configs.text.jsonfile import JsonText, read_file
from fabric.configs.text.secrets import NOT_SHOWN, without_secret
from fabric.validate.blocks import NEIGHBOR, Path, nvue_tree
from fabric.validate.fix import frr, lines
from fabric.validate.fix.lines import Block

_OWN_ASN: Final = re.compile(r"(router bgp) (\S+)(.*)")
_INTERFACE: Final = re.compile(r"interface ([A-Za-z-]+) ?(\d\S*)")
_KINDS: Final = {"ethernet": "Ethernet", "vlan": "Vlan"}
"""Names of interfaces as a running-config writes them; other ones stay as they are."""
_REFERENCE: Final = re.compile(r"\[\w+\|([^\[\]]*)\]")
"""A reference as SONiC wrote it until 202012: '[BUFFER_PROFILE|name]'."""
_SETS: Final = frozenset(("pfc_enable", "pfcwd_sw_enable", "adv_speeds", "adv_interface_types", "import-rts",
                          "export-rts"))  # fmt: skip
"""Fields of CONFIG_DB whose values have no order."""
_NO_TEXT: Final = '""'
"""How a value without characters is shown."""
_EMPTY_ROW: Final = "NULL"
"""Field of a row without fields: a hash of the database has at least one (sonic-py-swsssdk, configdb.py)."""


@dataclass(slots=True)
class Statement:
    """A field, a mapping, a line, or a block of lines."""

    name: str
    """What it is one of: its key, or the words of a line before its value."""
    value: str | None = None
    """As the file has it; None where it has none."""
    same: str = ""
    """What is compared."""
    line: str = ""
    """The whole line, of a language of lines."""
    at: Path = ()
    """Its words in the file, outermost first, as lists of what is not judged have them; () where no line has them."""
    below: dict[tuple[str, str], Statement] = field(default_factory=dict)
    """What stands in it, by name and what is compared: a block that is opened again continues, and the same line twice
    is one.
    """

    @property
    def named(self) -> bool:
        """Whether its name is part of what the file has: not of `no X`, nor of another word for the same (`mcast-group`
        for `ingress-replication`).
        """
        return self.value != self.line or not self.line

    def add(self, other: Statement) -> Statement:
        """Add a statement to it; returns the one that it has then."""
        return self.below.setdefault((other.name, other.same), other)


def statements_of(device: Device, contents: Mapping[str, str]) -> Statement:
    """All files of a switch; those beside its configuration are below their names.

    Parameters
    ----------
    contents    file to the text that counts instead of the file's
    """
    root = _of_file(device, _text(device.file, contents))
    for key, (file, _) in device.beside.items():
        root.add(_of_lines(frr.rows_of(_text(file, contents)), frr.head, Statement(key)))
    return root


def same_text(old: Device, new: Device, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether the files of two states are equal, to the character."""
    files = [
        [(key, _text(file, contents)) for key, file in (("", its.file), *((k, v[0]) for k, v in its.beside.items()))]
        for its, contents in ((old, before), (new, after))
    ]
    return files[0] == files[1]


def _text(file: str, contents: Mapping[str, str]) -> str:
    return contents.get(file) or read_file(FilePath(file), mark=True)


def _of_file(device: Device, text: str) -> Statement:
    if device.capabilities.tables:
        return _of_tree("", JsonText(text, device.file).value, (), device)
    if device.capabilities.shell_statements:
        return _of_tree("", nvue_tree(text, device.file), (), device)
    return _of_lines(text.split("\n"), lines.head, Statement(""))


def _of_tree(name: str, value: Any, at: Path, device: Device) -> Statement:  # noqa: ANN401  what JSON holds
    if isinstance(value, dict):
        found = Statement(name, at=at)
        for key, item in value.items():
            if not (device.capabilities.tables and key == _EMPTY_ROW):
                found.add(_of_tree(str(key), item, (*at, str(key)), device))
        return found
    text = _written(value)
    same = "" if text == _NO_TEXT else _REFERENCE.sub(r"\1", text or "")
    if name in _SETS:
        same = ",".join(sorted(it.strip() for it in same.split(",")))
    return Statement(name, text, same, at=at)


def _written(value: Any) -> str | None:  # noqa: ANN401
    if isinstance(value, list):
        return ",".join(json.dumps(it) if isinstance(it, dict | list) else _written(it) or "" for it in value) or None
    if value is None or isinstance(value, str):
        return _NO_TEXT if value == "" else value
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _of_lines(rows: Sequence[str], head: Callable[[str], str], root: Statement) -> Statement:
    for block in lines.tree(rows).children:
        _add_line(root, block, head, (), ())
    return root


def _add_line(above: Statement, block: Block, head: Callable[[str], str], at: Path, path: Path) -> None:
    text, at = _plain(block.text), (*at, block.text)
    neighbor = NEIGHBOR.fullmatch(text.removeprefix("no "))
    if neighbor and path and not block.children:
        above = above.add(Statement(neighbor[1]))
        text = neighbor[2] if not text.startswith("no ") else f"no {neighbor[2]}"
    found = above.add(_line(text, head, at, is_block=bool(block.children) or lines.is_header(path, block.text)))
    for child in block.children:
        _add_line(found, child, head, at, (*path, block.text))


def _line(text: str, head: Callable[[str], str], at: Path, *, is_block: bool) -> Statement:
    own = _OWN_ASN.fullmatch(text)
    if own:
        return Statement(f"{own[1]}{own[3]}", own[2], own[2], text, at)
    if is_block:
        return Statement(text, None, "", text, at)
    shown = without_secret(text)
    name = head(text.removeprefix("no ")) if shown == text else shown.removesuffix(NOT_SHOWN).strip()
    if text.startswith(name) and text[len(name) : len(name) + 1] not in {"", " "}:
        name = text  # `bgp router-idx 10.0.0.1`: another word
    return Statement(name, _value(name, text), "" if name == text else text, text, at)


def _value(head: str, text: str) -> str | None:
    """The value without the words that name it; None of a line that is no more than these words."""
    first, _, last = head.rpartition(" ")
    if text.startswith(head):
        return text.removeprefix(head).strip() or None
    if first and text.startswith(f"{first} ") and text.endswith(f" {last}"):
        return text.removeprefix(first).removesuffix(last).strip() or None  # `route-map B out`
    return None if text == head else text


def _plain(text: str) -> str:
    """A line of an interface with the name as a running-config has it: 'interface ethernet 1/1'."""
    match = _INTERFACE.fullmatch(text)
    return text if match is None else f"interface {_KINDS.get(match[1].lower(), match[1])}{match[2]}"

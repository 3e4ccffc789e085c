"""Subtrees as objects: OpenConfig's nested as in RFC 7951, SONiC's as its telemetry server nests them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from telemetry.gnmi import openconfig, sonic
from telemetry.gnmi.leaf import Elem, Form, Leaf, Scalar
from telemetry.gnmi.paths import Pattern, is_wild

Document = dict[str, Any]
_TABLE: Final = "COUNTERS"


def plain(leaf: Leaf, value: Scalar, *, ietf: bool) -> Scalar:
    """A leaf's value as JSON has it.

    JSON_IETF writes 64-bit numbers as strings and identities with their module (RFC 7951 sections 6.1 and 6.8); JSON
    writes numbers as numbers and identities alone.
    """
    if leaf.form is Form.IDENTITY and not ietf:
        return str(value).partition(":")[2]
    return str(value) if leaf.form is Form.UINT64 and ietf else value


def module_of(elems: Sequence[Elem]) -> str:
    """The module in which the last of these elements is defined."""
    augmented = [openconfig.AUGMENTED[name] for name, _ in elems if name in openconfig.AUGMENTED]
    return augmented[-1] if augmented else openconfig.ROOTS[elems[0][0]]


def subtree(root: int, leaves: Iterable[tuple[Sequence[Elem], Leaf, Scalar]], *, ietf: bool) -> Document:
    """The object of the node that is the first `root` elements of every leaf's path.

    With `ietf`, a member's name has its module in front at the top, and where its parent has another module (RFC 7951
    section 4).
    """
    document: Document = {}
    for elems, leaf, value in leaves:
        node = document
        for depth in range(root, len(elems)):
            name, keys = elems[depth]
            if ietf:
                module = module_of(elems[: depth + 1])
                if depth == root or module_of(elems[:depth]) != module:
                    name = f"{module}:{name}"
            if depth + 1 == len(elems):
                node[name] = plain(leaf, value, ietf=ietf)
            elif keys:
                node = _entry(node.setdefault(name, []), dict(keys))
            else:
                node = node.setdefault(name, {})
    return document


def _entry(entries: list[Document], keys: dict[str, str]) -> Document:
    """The entry of a list with these keys. Leaves are in order, so it is the last or a new one as a rule."""
    for entry in reversed(entries):
        if all(entry[key] == value for key, value in keys.items()):
            return entry
    entries.append(dict(keys))
    return entries[-1]


def table(wanted: Pattern, leaves: Iterable[tuple[Sequence[Elem], Scalar]]) -> Document | str | None:
    """What SONiC answers for a path: a string for one field, else an object; None: there is nothing at the path.

    Names that the path gives are left out, and names that it leaves open are members; a queue is a member by itself,
    without its port (doc/system-telemetry/grpc_telemetry.md).
    """
    document: Document = {}
    for elems, value in leaves:
        names = [name for name, _ in elems]
        group = next((name for name in names if name in sonic.GROUPS), None)
        if group is not None and len(wanted.elems) < 3:
            continue  # objects of their own in the database
        chain = _open(wanted, names)
        if group is not None and names[1] in chain:
            chain.remove(names[1])
        if not chain:
            return str(value)
        node = document
        for name in chain[:-1]:
            node = node.setdefault(name, {})
        node[chain[-1]] = str(value)
    return document or None


def _open(wanted: Pattern, names: Sequence[str]) -> list[str]:
    chain, wild = [], False
    for depth, name in enumerate(names):
        here = depth >= len(wanted.elems) or is_wild(wanted.elems[depth][0])
        if (here or wild) and name not in sonic.GROUPS and not (depth == 0 and name == _TABLE):
            chain.append(name)
        wild = wild or here
    return chain

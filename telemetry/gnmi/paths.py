"""Paths that clients ask for: their check, and what they match (gNMI specification sections 2.2.2 and 2.4.1).

Rules (github.com/openconfig/reference, rpc/gnmi/gnmi-path-conventions.md)
1. `*` as a name or a key's value matches any one; `...` as a name matches any number of elements.
2. A key that is left out matches every value.
3. A name or a key's value may have its module's name in front, as in RFC 7951 section 4: 'openconfig-qos:qos'.
4. In a database, whose names are data, a name may end with `*`, as SONiC's 'Ethernet*'.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from telemetry.gnmi.leaf import Elem, Leaf
from telemetry.gnmi.refusal import Code, Refusal

ANY: Final = "*"
DEEP: Final = "..."
MAX_ELEMENTS: Final = 32
MAX_DEEP: Final = 2
"""Each `...` multiplies the work of a match by the length of the path."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path of a request, prefix included."""

    elems: tuple[tuple[str, Mapping[str, str]], ...]

    def __str__(self) -> str:
        return (
            "".join(f"/{name}{''.join(f'[{key}={value}]' for key, value in keys.items())}" for name, keys in self.elems)
            or "/"
        )


def pattern(*paths: Any) -> Pattern:  # noqa: ANN401  gnmi.Path, which has no types
    """The elements of a prefix and a path. Raises: Refusal."""
    elems: list[tuple[str, Mapping[str, str]]] = []
    for path in paths:
        if path.element and not path.elem:
            raise Refusal(Code.INVALID_ARGUMENT, "a path has the deprecated field 'element'; use 'elem'")
        elems += [(_plain(it.name), {key: _plain(value) for key, value in it.key.items()}) for it in path.elem]
    found = Pattern(tuple(elems))
    if any(not name or "" in keys for name, keys in elems):
        raise Refusal(Code.INVALID_ARGUMENT, f"{str(found)[:200]}: an element or a key has no name")
    if len(elems) > MAX_ELEMENTS or sum(name == DEEP for name, _ in elems) > MAX_DEEP:
        raise Refusal(
            Code.INVALID_ARGUMENT, f"a path has more than {MAX_ELEMENTS} elements, or more than {MAX_DEEP} '{DEEP}'"
        )
    return found


def _plain(text: str) -> str:
    """Without the name of an OpenConfig module in front."""
    module, colon, rest = text.partition(":")
    return rest if colon and module.startswith("openconfig-") else text


def match(wanted: Pattern, elems: Sequence[Elem]) -> int | None:
    """How many elements, from the root, make the node that the pattern names; None: it names none of them."""
    return _match(wanted.elems, elems, 0, 0)


def _match(wanted: Sequence[tuple[str, Mapping[str, str]]], elems: Sequence[Elem], i: int, j: int) -> int | None:
    while i < len(wanted):
        name, keys = wanted[i]
        if name == DEEP:
            found = (_match(wanted, elems, i + 1, later) for later in range(j, len(elems) + 1))
            return next((it for it in found if it is not None), None)
        if j == len(elems) or not is_name(name, elems[j][0]):
            return None
        present = dict(elems[j][1])
        if any(value not in {ANY, present.get(key)} or key not in present for key, value in keys.items()):
            return None
        i, j = i + 1, j + 1
    return j


def is_wild(name: str) -> bool:
    """Whether an element may match several names."""
    return name.endswith(ANY) or name == DEEP


def is_name(wanted: str, name: str) -> bool:
    """Whether an element's name matches."""
    return wanted in {name, ANY} or (wanted.endswith(ANY) and name.startswith(wanted[:-1]))


def check(wanted: Pattern, leaves: Iterable[Leaf]) -> None:
    """Whether such a node can exist at all. Raises: Refusal (gNMI specification section 3.3.1)."""
    templates = [leaf.elements for leaf in leaves]
    for length in range(len(wanted.elems), -1, -1):
        known = [it for it in templates if _fits(wanted.elems[:length], it, 0, 0)]
        if not known:
            continue
        if length == len(wanted.elems):
            return
        name, keys = wanted.elems[length]
        here = str(Pattern(wanted.elems[:length]))
        nexts = dict.fromkeys(it[length] for it in known if len(it) > length)
        same = next((it for it in nexts if it[0] == name), None)
        if same is not None:
            listed = ", ".join(key for key, _ in same[1]) or "none"
            raise Refusal(Code.INVALID_ARGUMENT, f"{here}: {name} has no such key as {', '.join(keys)}; keys: {listed}")
        names = ", ".join(dict.fromkeys(it[0] for it in nexts)) or "no further elements"
        raise Refusal(Code.INVALID_ARGUMENT, f"{here} has no {name[:80]!r} here; it has: {names}")


def _fits(wanted: Sequence[tuple[str, Mapping[str, str]]], template: Sequence[Elem], i: int, j: int) -> bool:
    """As _match, for a template: keys count by name only, and a name in braces may be any."""
    if i == len(wanted):
        return True
    name, keys = wanted[i]
    if name == DEEP:
        return any(_fits(wanted, template, i + 1, later) for later in range(j, len(template) + 1))
    if j == len(template):
        return False
    pieces = re.split(r"\{\w+\}", template[j][0])
    is_it = is_wild(name) or re.fullmatch(".+".join(map(re.escape, pieces)), name) is not None
    return is_it and keys.keys() <= dict(template[j][1]).keys() and _fits(wanted, template, i + 1, j + 1)

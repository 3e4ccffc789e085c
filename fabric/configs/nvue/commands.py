"""`nv config show -o commands`: lines of `nv set a b c` -> the tree that startup.yaml would have, with their lines.

The last word of a line is a value, or one of several; a word that is set below later becomes a mapping. Words that
stand for an empty mapping are listed here, since a command does not say; so are leaves that hold one value, where a
later command replaces it. Lines of `nv unset` take away what lines before them set.
Source: NVUE CLI guide and its object model.
"""

from __future__ import annotations

import re
import shlex
from copy import deepcopy
from typing import Any, Final

from fabric.configs.model import Where
from fabric.configs.text.jsonfile import FixedLines
from fabric.configs.text.port_ranges import folded_ports

_HOLD: Final = frozenset(("interface", "member", "domain"))
"""Keys whose values are names of further mappings."""
_EMPTY: Final = frozenset(("roce", "pfc-watchdog", "vxlan"))
"""Words that switch something on by being there."""
# fmt: off
_ONE: Final = frozenset((
    "mtu", "speed", "fec", "auto-negotiate", "duplex", "lanes", "enable", "state", "mode", "trust", "rewrite",
    "profile", "probability", "ecn", "red", "tx", "rx", "cable-length", "port-buffer", "xoff-threshold",
    "xon-threshold", "min-threshold", "max-threshold", "bw-percent", "memory-percent", "polling-interval",
    "robustness", "port-default-sp", "service-pool", "reserved", "shared-bytes", "shared-alpha", "min-rate",
    "max-rate", "autonomous-system", "remote-as", "router-id", "peer-group", "distance", "ageing",
))
# fmt: on
"""Leaves that hold one value wherever they are."""
_ONE_OF_NUMBER: Final = frozenset(("switch-priority", "traffic-class", "dscp", "pcp"))
"""Leaves that hold one value below a number (`dscp 26 switch-priority 3`), and several elsewhere."""
_MAX_WORDS: Final = 24
PROMPT: Final = r"(?:[\w.-]+@[\w.-]+:\S*[$#] ?)?(?:sudo )?"
_PROMPT: Final = re.compile(rf"^{PROMPT}")
_ACTION: Final = re.compile(r"nv (?:config (?:apply|save|diff|show)|show)(?: .*)?")
"""Commands that set nothing."""


class Commands:
    """The commands of one file as a value with places, as a reader of YAML or JSON has it."""

    def __init__(self, text: str) -> None:
        self._lines = FixedLines()
        self._gone: set[Where] = set()
        """What `nv unset` took away and no later command set again."""
        self.duplicates: list[tuple[Where, int, int]] = []
        self.replaced: dict[Where, tuple[int, int]] = {}
        """Leaves that two commands set, with the lines of the first and of the one that holds."""
        self.unread: list[tuple[int, str]] = []
        tree: dict[str, Any] = {}
        for number, raw in enumerate(text.splitlines(), 1):
            line = _PROMPT.sub("", raw.strip())
            if not line or line.startswith("#") or _ACTION.fullmatch(line):
                continue
            try:
                words = shlex.split(line)
            except ValueError:
                words = []
            if words[:2] == ["nv", "unset"] and 3 <= len(words) <= _MAX_WORDS:
                self._unset(tree, words[2:], number)
                continue
            if words[:2] != ["nv", "set"] or not 3 <= len(words) <= _MAX_WORDS:
                self.unread.append((number, line[:80]))
                continue
            self._set(tree, words[2:], number)
        self.value: dict[str, Any] = {"set": tree}

    def line(self, where: Where) -> int:
        """The line of the longest part of a path that some command set."""
        return self._lines.line(where)

    def _set(self, tree: dict[str, Any], words: list[str], number: int) -> None:
        *path, last = words
        where = ("set", *path)
        first = self._lines.line(where) if _holds_one(path) else 0
        for depth in range(1, len(words) + 1):
            row = ("set", *words[:depth])
            self._lines.note(row, number)
            if row in self._gone:
                self._gone.discard(row)
                self._lines.lines[row] = number
        here = tree
        for word in path[:-1]:
            here = _mapping(here, word)
        if not path:
            here.setdefault(last, {})
        elif last in _EMPTY or path[-1] in _HOLD:
            _mapping(_mapping(here, path[-1]), last)
        elif first and isinstance(held := here.get(path[-1]), str):
            here[path[-1]] = last
            if held != last:
                self.replaced[where] = self.replaced.get(where, (first, 0))[0], number
                self._lines.lines[where] = number
        else:
            _value(here, path[-1], last)

    def _unset(self, tree: dict[str, Any], words: list[str], number: int) -> None:
        """Take away what earlier commands set, as `nv unset` does: a value, or a word with all that is below it."""
        if words[0] == "interface" and len(words) > 1:
            self._apart(tree.get("interface"), words[1])
            for name in folded_ports(words[1]):
                self._take(tree, ["interface", name, *words[2:]], number)
        self._take(tree, words, number)

    def _take(self, tree: dict[str, Any], words: list[str], number: int) -> None:
        here, last = _below(tree, words[:-1]), words[-1]
        if isinstance(here, dict):
            here.pop(last, None)
        above = _below(tree, words[:-2])
        held = above.get(words[-2]) if len(words) > 1 and isinstance(above, dict) else None
        if held is not None and (held == last or (isinstance(held, list) and last in held)):
            left = [it for it in held if it != last] if isinstance(held, list) else []
            above[words[-2]] = left[0] if len(left) == 1 else left
            if not left:
                del above[words[-2]]
        where = ("set", *words)
        for row in [it for it in self._lines.lines if it[: len(where)] == where]:
            del self._lines.lines[row]
        self._lines.lines[where] = number
        self._gone.add(where)
        self.replaced = {row: lines for row, lines in self.replaced.items() if row[: len(where)] != where}

    def _apart(self, ports: Any, key: str) -> None:  # noqa: ANN401
        """Write each port of a range out of which `key` names some, so that these can change alone."""
        named = set(folded_ports(key))
        for other in list(ports) if isinstance(ports, dict) else ():
            its = list(folded_ports(other))
            if other == key or len(its) == 1 or not named & set(its):
                continue
            row = ports.pop(other)
            for name in its:
                own = ports.get(name)
                both = [deepcopy(row), own] if isinstance(row, dict) and isinstance(own, dict) else []
                ports[name] = overlaid(both) if both else deepcopy(row)
                for where, line in list(self._lines.lines.items()):
                    if where[:3] == ("set", "interface", other):
                        self._lines.note((*where[:2], name, *where[3:]), line)


def overlaid(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mappings laid over each other; where two say something else, the later one wins."""
    if len(rows) == 1:
        return rows[0]
    found: dict[str, Any] = {}
    for row in rows:
        for key, value in row.items():
            held = found.get(key)
            found[key] = overlaid([held, value]) if isinstance(held, dict) and isinstance(value, dict) else value
    return found


def _below(tree: dict[str, Any], words: list[str]) -> Any:  # noqa: ANN401
    here: Any = tree
    for word in words:
        here = here.get(word) if isinstance(here, dict) else None
    return here


def _holds_one(path: list[str]) -> bool:
    """Whether a leaf has one value at most."""
    *above, word = path or [""]
    return word in _ONE or (word in _ONE_OF_NUMBER and len(above) > 1 and above[-2] in _ONE_OF_NUMBER)


def _mapping(here: dict[str, Any], word: str) -> dict[str, Any]:
    """The mapping below a word; what was a value of it becomes a key."""
    held = here.get(word, {})
    if not isinstance(held, dict):
        held = keys_of(held)
    here[word] = held
    found: dict[str, Any] = held
    return found


def keys_of(value: str | list[str]) -> dict[str, Any]:
    """The last words of commands as keys without settings: `vlan 100 vni 10100` is {'10100': {}} below vni."""
    return {str(one): {} for one in (value if isinstance(value, list) else [value])}


def _value(here: dict[str, Any], word: str, value: str) -> None:
    held = here.get(word)
    if isinstance(held, dict):
        held.setdefault(value, {})
    elif held is None or held == value:
        here[word] = value
    else:
        here[word] = [*(held if isinstance(held, list) else [held]), value]

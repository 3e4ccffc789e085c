"""Statements of configuration mode applied to the text of a running-config, as EOS and NX-OS apply them.

Only the statements that `fabric.validate` itself makes: a header opens a block, a line in it replaces the line that
states the same thing, `no X` takes X away. Everything else of the text stays as it is, to the character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

Path = tuple[str, ...]
"""Header lines that lead to a block, outermost first."""

_TOP: Final = re.compile(
    r"interface \S+|router bgp \S+|policy-map .*|class-map .*|qos profile \S+|system qos|evpn|vlan \d+|vrf context \S+"
    r"|router (?:ospf|isis) \S+|route-map \S+(?: (?:permit|deny))?(?: \d+)?|ip(?:v6)? prefix-list \S+"
    r"|ip(?:v6)? access-list \S+(?: \S+)?|vrf (?:instance|definition) \S+|mlag configuration|vpc domain \d+|maintenance"
)
"""Headers of blocks at the outermost level."""
_BELOW: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("router bgp", re.compile(r"vrf \S+|vlan \d+|address-family .*|neighbor \S+|template peer\S* \S+")),
    ("policy-map", re.compile(r"class .*")),
    ("qos profile", re.compile(r"(?:uc-)?tx-queue \d+")),
    ("interface nve", re.compile(r"member vni \d+.*")),
    ("interface", re.compile(r"(?:uc-)?tx-queue \d+")),
    ("evpn", re.compile(r"vni \d+(?: l2)?")),
    ("maintenance", re.compile(r"unit \S+")),
)
"""Start of an outermost header to the headers of blocks in it."""
_DEEPER: Final = re.compile(r"address-family .*|neighbor \S+")
"""Headers inside a VRF, a neighbour or a template."""
_OUTER: Final = ("vrf ", "neighbor ", "template ")
_HEADS: Final = tuple(
    re.compile(text)
    for text in (
        r"mtu", r"speed", r"fec", r"error-correction encoding", r"random-detect",
        r"bandwidth(?: remaining)? percent", r"pause pfc-cos",
        r"maximum-paths", r"vxlan udp-port", r"vxlan udp port", r"vxlan source-interface", r"source-interface",
        r"vxlan vlan \d+ vni", r"vn-segment", r"switchport access vlan", r"priority-flow-control mode",
        r"priority-flow-control watch-dog-interval", r"priority-flow-control priority \d+",
        r"priority-flow-control watch-dog shutdown-multiplier", r"priority-flow-control auto-restore multiplier",
        r"priority-flow-control pause watchdog default \S+", r"priority-flow-control pause watchdog action",
        r"ip virtual-router mac-address", r"fabric forwarding anycast-gateway-mac", r"router-id",
        r"send-community", r"remote-as", r"update-source", r"ebgp-multihop",
        r"neighbor \S+ (?:remote-as|update-source|ebgp-multihop|send-community)", r"shape(?: rate)?",
        r"ingress-replication", r"timers(?: bgp)?", r"channel-group", r"service-profile",
        r"service-policy type \S+(?: input| output)?", r"qos trust", r"switchport mode", r"vrf(?: member)?",
        r"switchport trunk allowed vlan(?! (?:add|remove) )",
        r"hostname", r"neighbor \S+ \S+", r"(?:no )?autonegotiate|(?:no )?negotiate auto",
        r"state", r"set qos-group", r"host-reachability protocol", r"encapsulation", r"rd", r"flowcontrol \S+",
    )
)  # fmt: skip
"""Words of a line before its value: a block has one line with each. Not those of lines that add up, such as route
targets, code points of a class and rows of a list: a second line leaves the first one, so that has to go by `no`."""
_PRIORITY: Final = re.compile(r"(?:no )?priority(?: strict| level \d+)?")
"""One statement of a queue, whose values are strict and round robin (EOS: `no priority`)."""
_ADD_UP: Final = re.compile(r"(route-target \S+) .*"), re.compile(r"(.*\bseq \d+) .*")
_NUMBER: Final = re.compile(r"\d+")
_ADDRESS: Final = re.compile(r"ip address (?:virtual )?\d")
_POLICY: Final = re.compile(
    r"((?:neighbor \S+ )?(?:route-map|prefix-list|filter-list|distribute-list|ip access-group)) \S+ (in|out)"
)
"""A policy of a neighbour or an interface: one for each direction."""
_DSCP_MAP: Final = re.compile(r"qos map dscp ([\d ]+) to traffic-class (\d+)")
_STATED: Final = ("no priority", "no switchport")
"""Negations that a running-config shows: without them the default acts, which is the other way."""


@dataclass(slots=True)
class Block:
    """One line of the text, with the lines below it."""

    row: int
    """Index in the text; -1 for the whole."""
    indent: int
    text: str
    children: list[Block] = field(default_factory=list)

    def last(self) -> int:
        """Index of the last line of the block."""
        return self.children[-1].last() if self.children else self.row

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Block]]:
        """Every block below, with the path to it."""
        for child in self.children:
            yield (*path, child.text), child
            yield from child.walk((*path, child.text))


def tree(rows: Sequence[str]) -> Block:
    """Lines under lines by indentation; comments, separators and `end` are left out."""
    root = Block(-1, -1, "")
    stack = [root]
    for number, raw in enumerate(rows):
        stripped = raw.strip()
        if not stripped or stripped[0] in "!#" or stripped == "end":
            continue
        indent = len(raw) - len(raw.lstrip())
        while stack[-1].indent >= indent:
            stack.pop()
        block = Block(number, indent, " ".join(stripped.split()))
        stack[-1].children.append(block)
        stack.append(block)
    return root


def head(text: str) -> str:
    """The words of a line that say what it states, without its value: the whole line where no value is known."""
    if _ADDRESS.match(text):
        return "ip address"
    if _PRIORITY.fullmatch(text):
        return "priority"
    if text.startswith("qos map dscp "):
        return text
    if text.startswith("mcast-group "):
        return "ingress-replication"
    if policy := _POLICY.fullmatch(text):
        return f"{policy[1]} {policy[2]}"
    for pattern in _HEADS:
        match = pattern.match(text)
        if match is not None and text[match.end() : match.end() + 1] in {"", " "}:
            return match[0]
    return text


def place(text: str) -> str:
    """What a line is one of, where lines add up: equal for a line and the one that is meant in its place."""
    for pattern in _ADD_UP:
        if match := pattern.fullmatch(text):
            return match[1]
    return _NUMBER.sub("#", text)


def first_word(text: str) -> str:
    """The first word of a line, or of what it negates."""
    return text.removeprefix("no ").split(" ")[0]


def is_header(path: Path, text: str) -> bool:
    """Whether a statement opens a block, below the headers that lead to it."""
    return _opened(path, text) is not None


def applied(text: str, statements: Sequence[str], *, explicit_up: bool = False) -> str:
    """The text after one change, whose statements begin at the outermost level.

    Parameters
    ----------
    explicit_up    interfaces are down unless a line `no shutdown` says otherwise (NX-OS)
    """
    rows = text.split("\n")
    path: Path = ()
    freed: tuple[Path, str, int] | None = None
    for statement in statements:
        opened = _opened(path, statement)
        old = rows
        if statement.startswith("no ") and opened is None:
            rows = _without(rows, path, statement, explicit_up=explicit_up)
            freed = (path, first_word(statement), first_change(old, rows)) if len(rows) < len(old) else freed
            continue
        path = opened or path
        rows = _with(rows, path, statement) if opened is None else _made(rows, path)
        there = (path, first_word(statement)) if opened is None else (path[:-1], first_word(statement))
        if freed is not None and freed[:2] == there and len(rows) > len(old):
            rows, freed = moved(rows, first_change(old, rows), len(rows) - len(old), freed[2]), None
    return "\n".join(rows)


def first_change(old: Sequence[str], new: Sequence[str]) -> int:
    """The first row in which two texts differ."""
    apart = (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    return next(apart, min(len(old), len(new)))


def moved(rows: list[str], row: int, count: int, to: int) -> list[str]:
    """The rows with some of them at another place: what comes stands where the line stood that it replaces."""
    rest = [*rows[:row], *rows[row + count :]]
    return [*rest[:to], *rows[row : row + count], *rest[to:]]


def depth(statements: Sequence[str]) -> int:
    """How many blocks a change has open at its end."""
    path: Path = ()
    for statement in statements:
        path = _opened(path, statement) or path
    return len(path)


def _opened(path: Path, text: str) -> Path | None:
    for start, pattern in _BELOW:
        if path and path[0].startswith(start) and pattern.fullmatch(text):
            deeper = len(path) > 1 and path[-1].startswith(_OUTER) and _DEEPER.fullmatch(text)
            return (*path, text) if deeper else (path[0], text)
    return (text,) if _TOP.fullmatch(text) else None


def find(rows: Sequence[str], path: Path) -> Block | None:
    """The block at a path; None where there is none."""
    here = tree(rows)
    for text in path:  # of several with one header the last one holds
        found = next((it for it in reversed(here.children) if it.text == text), None)
        if found is None:
            return None
        here = found
    return here


def _made(rows: list[str], path: Path) -> list[str]:
    """The rows with a block at the path."""
    if find(rows, path) is not None:
        return rows
    return _appended(rows, path[:-1], path[-1])


def _appended(rows: list[str], path: Path, text: str) -> list[str]:
    """The rows with a line at the end of a block."""
    block = find(rows, path)
    if block is None:
        return _appended(_made(rows, path), path, text)
    if not path:
        at = next((number for number, raw in enumerate(rows) if raw.strip() == "end"), len(rows))
        while at and not rows[at - 1].strip():
            at -= 1
        like = last_alike(block.children, text)
        at = at if like is None else like.last() + 1
        return [*rows[:at], text, *rows[at:]]
    indent = block.children[0].indent if block.children else block.indent + _step(rows)
    at = block.last() + 1
    return [*rows[:at], " " * indent + text, *rows[at:]]


def last_alike(its: Sequence[Block], text: str) -> Block | None:
    """The last line of those that begin as a line does: its list, its route map, its kind of interface."""
    words = text.split()
    rows = [zip(words, it.text.split(), strict=False) for it in its]
    alike = [sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], row)) for row in rows]
    most = max(alike, default=0)
    found = (it for it, own in zip(reversed(its), reversed(alike), strict=True) if own == most > 0)
    return next(found, None)


def _step(rows: Sequence[str]) -> int:
    """Blanks by which the text indents."""
    return next((len(raw) - len(raw.lstrip()) for raw in rows if raw[:1] == " " and raw.strip()), 3)


def _with(rows: list[str], path: Path, text: str) -> list[str]:
    """The rows with a line that replaces those that state the same."""
    match = _DSCP_MAP.fullmatch(text)
    if match is not None:
        return _mapped(rows, match)
    block = find(rows, path)
    children = block.children if block is not None else []
    if any(it.text == text for it in children):
        return rows
    same = head(text)
    old = [it for it in children if not it.children and same in {head(it.text), head(it.text.removeprefix("no "))}]
    if text == "switchport":
        old += [it for it in children if it.text == "no switchport" or it.text.startswith("switchport trunk")]
    if not old:
        return _appended(rows, path, text)
    first = old[0]
    gone = {it.row for it in old}
    line = " " * first.indent + text
    return [line if number == first.row else raw for number, raw in enumerate(rows) if number not in gone - {first.row}]


def _without(rows: list[str], path: Path, text: str, *, explicit_up: bool) -> list[str]:
    """The rows without what `no X` takes away."""
    words = text.removeprefix("no ")
    block = find(rows, path)
    children = block.children if block is not None else []
    gone = {
        number
        for it in children
        if it.text == words or it.text.startswith(f"{words} ")
        for number in range(it.row, it.last() + 1)
    }
    stated = text in _STATED or (text == "no shutdown" and explicit_up and path[:1] and path[0].startswith("interface"))
    rows = [raw for number, raw in enumerate(rows) if number not in gone]
    if any(it.text == text for it in children) or not stated:
        return rows
    return _appended(rows, path, text)


def _mapped(rows: list[str], match: re.Match[str]) -> list[str]:
    """EOS: a code point is in one `qos map dscp` line; the new one takes it out of the others."""
    moved = set(match[1].split())
    found: list[str] = []
    last = -1
    for raw in rows:
        other = _DSCP_MAP.fullmatch(" ".join(raw.split()))
        if other is not None:
            left = [it for it in other[1].split() if it not in moved]
            last = len(found)
            if not left:
                continue
            found.append(f"qos map dscp {' '.join(left)} to traffic-class {other[2]}")
            continue
        found.append(raw)
    if last < 0:
        return _appended(rows, (), match[0])
    return [*found[: last + 1], match[0], *found[last + 1 :]]

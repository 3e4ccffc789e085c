"""Lines of FRR applied to the text of its file, as vtysh applies them and `write memory` writes them.

A line goes into the block that vtysh would try it in: its word opens a block, or it belongs to the innermost block that
has a command for it. A line takes the place of the one that states the same; `no X` takes X away, and stays where X is
FRR's default. Lines of a block stand before the blocks inside it: one after `address-family` is of the family.
All else stays as it is, to the character. Source: FRR lib/command.c (cmd_execute_command); user guide, "VTY shell".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from fabric.configs.frr.nesting import EXITS, around, nested, opens
from fabric.validate.fix import lines
from fabric.validate.fix.lines import Block

_HEADS: Final = tuple(
    re.compile(text)
    for text in (
        r"neighbor \S+ (?:route-map|prefix-list|filter-list|distribute-list)(?= \S+ (in|out)$)",
        r"ip ospf \S+", r"isis \S+", r"(?:ospf|bgp) router-id", r"timers bgp", r"bgp cluster-id", r"vni",
    )
)  # fmt: skip
"""Words of a line before its value that languages like FRR's do not have, or have otherwise."""
_CLOSING: Final = (("address-family ", "exit-address-family"), ("vni ", "exit-vni"), ("vrf ", "exit-vrf"))
_SHORT: Final = {"address-family ipv4 unicast": "address-family ipv4"}
"""Two spellings of one line."""
_INSTANCE: Final = re.compile(r"router bgp (\S+)(?: .*)?")
_ENTRY: Final = re.compile(r"(route-map \S+) (?:permit|deny) (\d+)")
"""An entry of a route map is its name and its number: one with the other action takes its place, and `no route-map` of
either action removes it (FRR lib/routemap_cli.c, route_map_index_get and `no route-map`)."""
_REMOTE_AS: Final = re.compile(r"(neighbor \S+) remote-as (\S+)")


def rows_of(text: str) -> list[str]:
    """The lines of a file, each indented by the blocks that it is in, without those that close one."""
    return ["!" if row.strip() in EXITS else row for row in nested(text).split("\n")]


def applied(text: str, statements: Sequence[str]) -> str:
    """The text of the file after one change, whose statements begin at the outermost level."""
    rows = text.split("\n")
    old = nested(text).split("\n")
    new = _renumbered(old, statements[0]) if len(statements) == 1 else old
    path: tuple[str, ...] = ()
    freed: tuple[tuple[str, ...], str, int] | None = None
    for statement in statements:
        was, path = new, tuple(around(list(path), statement))
        spelled = _SHORT.get(statement, "")
        here = lines.find(new, (*path, spelled)) if spelled else None
        line = spelled if here is not None else statement
        there = path, lines.first_word(line)
        if opens(list(path), line):
            path = (*path, line)
            new = _made(new, path)
        elif line.startswith("no "):
            new = _without(new, path, line)
            freed = (*there, lines.first_change(was, new)) if len(new) < len(was) else freed
            continue
        else:
            new = _with(new, path, line)
        if freed is not None and freed[:2] == there and len(new) > len(was):
            new, freed = lines.moved(new, lines.first_change(was, new), len(new) - len(was), freed[2]), None
    if old == rows:
        return "\n".join(new)
    found: list[str] = []  # a file without indentation stays one
    for kind, low, high, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        found += rows[low:high] if kind == "equal" else [it.strip() for it in new[begin:end]]
    return "\n".join(found)


def path_after(statements: Sequence[str]) -> tuple[str, ...]:
    """The blocks that a change has open at its end."""
    path: list[str] = []
    for statement in statements:
        path = around(path, statement)
        path += [statement] if opens(path, statement) else []
    return tuple(path)


def head(text: str) -> str:
    """The words of a line that say what it states, without its value."""
    for pattern in _HEADS:
        if match := pattern.match(text):
            return " ".join(filter(None, (match[0], *match.groups())))
    return lines.head(text)


def _renumbered(rows: list[str], statement: str) -> list[str]:
    """The rows with another AS number of every instance, where that is all that a change states."""
    asked = _INSTANCE.fullmatch(statement)
    its = [match for raw in rows if (match := _INSTANCE.fullmatch(raw))]
    if asked is None or not its:
        return rows
    old = its[0][1]
    return [
        raw.replace(f"router bgp {old}", f"router bgp {asked[1]}", 1)
        if (match := _INSTANCE.fullmatch(raw)) and match[1] == old
        else raw
        for raw in rows
    ]


def _closing(block: Block) -> tuple[str, ...]:
    return "exit", *(word for start, word in _CLOSING if block.text.startswith(start))


def _inside(block: Block) -> list[Block]:
    """What is in a block, without the line that closes it."""
    return [it for it in block.children if it.text not in _closing(block)]


def _made(rows: list[str], path: tuple[str, ...]) -> list[str]:
    """The rows with a block at the path, after those beside it."""
    if lines.find(rows, path) is not None:
        return rows
    outer = lines.find(rows, path[:-1])
    if outer is None:
        return _made(_made(rows, path[:-1]), path)
    closing = next((word for start, word in _CLOSING if path[-1].startswith(start)), "exit")
    if len(path) == 1 and (other := _entry(outer, path[0])) is not None:
        return [*rows[: other.row], path[0], closing, *rows[_closed(rows, other) + 1 :]]
    if len(path) == 1 and (like := lines.last_alike(_inside(outer), path[0])) is not None and like.children:
        at = _end(rows, like) + 1
        return [*rows[:at], "!", path[0], closing, *rows[at:]]
    if len(path) == 1:
        at = next((number for number, raw in enumerate(rows) if raw.strip() in {"end", "line vty"}), len(rows))
        while at and rows[at - 1].strip() in {"", "!"}:
            at -= 1
        return [*rows[:at], "!", path[-1], closing, *rows[at:]]
    its = _inside(outer)
    indent = " " * (its[0].indent if its else outer.indent + 1)
    at = (its[-1].last() if its else outer.row) + 1
    return [*rows[:at], indent + path[-1], indent + closing, *rows[at:]]


def _entry(outer: Block, text: str) -> Block | None:
    """The entry of a route map with this name and number, whatever its action; None where there is none."""
    asked = _ENTRY.fullmatch(text)
    if asked is None:
        return None
    its = ((it, _ENTRY.fullmatch(it.text)) for it in reversed(outer.children))
    return next((it for it, found in its if found is not None and found.groups() == asked.groups()), None)


def _closed(rows: list[str], block: Block) -> int:
    """The last row of a block, with the line that closes it also where it is empty."""
    end = _end(rows, block)
    return end + 1 if not block.children and end + 1 < len(rows) and rows[end + 1].strip() in EXITS else end


def _with(rows: list[str], path: tuple[str, ...], text: str) -> list[str]:
    """The rows with a line in the place of those that state the same."""
    block = lines.find(rows, path)
    its = _inside(block) if block is not None else []
    if block is None or any(it.text == text for it in its):
        return rows
    same = head(text)
    old = [it for it in its if not it.children and same in {head(it.text), head(it.text.removeprefix("no "))}]
    if remote := _REMOTE_AS.fullmatch(text):  # 'neighbor Ethernet0 interface remote-as 65000' is one line
        for it in its:
            if it.text.startswith(f"{remote[1]} interface ") and " remote-as " in it.text:
                old, text = [it], re.sub(r"remote-as \S+", f"remote-as {remote[2]}", it.text)
    if old:
        gone = {it.row for it in old}
        first = old[0]
        line = " " * first.indent + text
        gone.discard(first.row)
        return [line if number == first.row else raw for number, raw in enumerate(rows) if number not in gone]
    return _added(rows, block, path, text)


def _added(rows: list[str], block: Block, path: tuple[str, ...], text: str) -> list[str]:
    """The rows with one more line in a block, before the blocks inside it."""
    its = _inside(block)
    at = block.row
    for it in its:
        if path and (it.children or opens(list(path), it.text)):
            break
        at = it.last()
    like = None if path else lines.last_alike(its, text)
    if like is not None and len(set(text.split()[:2]) & set(like.text.split()[:2])) > 1:  # a row of a list
        return [*rows[: _end(rows, like) + 1], text, *rows[_end(rows, like) + 1 :]]
    if not path:  # before the first block that a line of the outermost level would end
        first = next((it.row for it in its if opens([], it.text)), len(rows))
        return [*rows[:first], text, *rows[first:]]
    indent = its[0].indent if its else block.indent + 1
    return [*rows[: at + 1], " " * indent + text, *rows[at + 1 :]]


def _end(rows: list[str], block: Block) -> int:
    """The last row of a line or a block, with the line that closes the block."""
    after = block.last() + 1
    closed = bool(block.children) and after < len(rows) and rows[after].strip() in EXITS
    return after if closed and len(rows[after]) - len(rows[after].lstrip()) == block.indent else after - 1


def _without(rows: list[str], path: tuple[str, ...], text: str) -> list[str]:
    """The rows without what `no X` takes away; the line itself stands where nothing states X."""
    words = text.removeprefix("no ")
    block = lines.find(rows, path)
    if block is None:
        return rows
    its = _inside(block)
    entry = None if path else _entry(block, words)
    gone = {
        number
        for it in its
        if it.text == words or it.text.startswith(f"{words} ") or it is entry
        for number in range(it.row, _end(rows, it) + 1)
    }
    if gone:
        return [raw for number, raw in enumerate(rows) if number not in gone]
    return rows if any(it.text == text for it in its) else _added(rows, block, path, text)

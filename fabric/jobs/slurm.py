"""Slurm's topology.conf: switches of nodes (topology/tree) or blocks (topology/block), and how a job is put on them.

Lines of `Key=Value` pairs; keys have any case, `#` begins a comment. Source: topology.conf(5) of SchedMD Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from fabric.errors import InputErrors, Problem, first_few

STAGE: Final = "reading topology.conf"
MAX_NODES: Final = 200_000
MAX_NAME: Final = 64
_PAIR: Final = re.compile(r"(\S+?)=(\S+)")
_KEYS: Final = {
    "switchname": ("switchname", "nodes", "switches", "linkspeed"),
    "blockname": ("blockname", "nodes"),
    "blocksizes": ("blocksizes",),
}
_NOT_READ: Final = {"ringname": "topology/ring", "torusname": "topology/torus3d", "dims": "topology/torus3d"}
"""Keys of other plugins."""
_RANGE: Final = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch of a tree, with nodes (a leaf) or switches below it."""

    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlurmTopology:
    """Either switches or blocks."""

    switches: tuple[Switch, ...] = ()
    blocks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(name, nodes)."""
    block_sizes: tuple[int, ...] = ()
    flat: bool = False
    """All nodes are alike: topology/flat, the default of Slurm."""


def hostlist(text: str) -> list[str]:
    """'tux[0-3,12],login1' -> names; zero padding is kept: 'n[08-10]' -> n08, n09, n10; several brackets multiply.

    Raises: ValueError.
    """
    names: list[str] = []
    for item in _items(text):
        parts: list[list[str]] = []
        rest = item
        while rest:
            before, bracket, rest = rest.partition("[")
            parts.append([before])
            if bracket:
                inside, closed, rest = rest.partition("]")
                if not closed:
                    raise ValueError(f"'{item}' has no closing bracket")
                parts.append(list(_numbers(inside)))
        count = 1
        for part in parts:
            count *= len(part)
        if count + len(names) > MAX_NODES:
            raise ValueError(f"'{item}' has more than {MAX_NODES:,} names")
        names += ["".join(each) for each in product(*parts)]
    return names


def _items(text: str) -> Iterator[str]:
    """Split at commas outside brackets."""
    depth, item = 0, ""
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and not depth:
            if item:
                yield item
            item = ""
        else:
            item += character
    if item:
        yield item


def _numbers(text: str) -> Iterator[str]:
    for item in text.split(","):
        match = _RANGE.fullmatch(item)
        if match is None:
            raise ValueError(f"'{item}' is no number and no range")
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low):
            raise ValueError(f"'{item}' ends before it begins")
        if int(high) - int(low) >= MAX_NODES:
            raise ValueError(f"'{item}' has more than {MAX_NODES:,} numbers")
        yield from (str(number).zfill(len(low)) for number in range(int(low), int(high) + 1))


def parse_topology_conf(text: str, file: str) -> SlurmTopology:
    """The topology of a file. Raises: InputErrors with every problem and its line."""
    problems: list[Problem] = []
    switches: list[Switch] = []
    blocks: list[tuple[str, tuple[str, ...]]] = []
    sizes: tuple[int, ...] = ()
    lines: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        place = f"{file}:{number}"
        matches = [_PAIR.fullmatch(word) for word in words.split()]
        if None in matches:
            problems.append(Problem(place, "is not a list of Key=Value", "such as SwitchName=s0 Nodes=n[0-3]"))
            continue
        pairs = {match[1].lower(): match[2] for match in matches if match is not None}
        kind = next((key for key in _KEYS if key in pairs), "")
        other = next((key for key in _NOT_READ if key in pairs), "")
        if not kind and other:
            text_ = f"{pairs[other]} is of {_NOT_READ[other]}, which is not read"
            problems.append(Problem(place, text_, "describe the nodes by SwitchName= (topology/tree) or BlockName="))
            continue
        if not kind:
            text_ = "names neither a switch nor a block"
            problems.append(Problem(place, text_, "begin with SwitchName=, BlockName= or BlockSizes="))
            continue
        problems += [
            Problem(place, f"'{key}' is not a key of such a line", f"the keys are {', '.join(_KEYS[kind])}")
            for key in pairs
            if key not in _KEYS[kind]
        ]
        try:
            if kind == "blocksizes":
                sizes = block_sizes(pairs[kind])
                continue
            nodes, below = (tuple(hostlist(pairs.get(key, ""))) for key in ("nodes", "switches"))
        except ValueError as error:
            problems.append(Problem(place, str(error), "such as tux[0-3,12]"))
            continue
        name = pairs[kind]
        if kind == "switchname":
            switches.append(Switch(name, nodes, below))
        else:
            blocks.append((name, nodes))
        lines[name] = place
    return checked(SlurmTopology(tuple(switches), tuple(blocks), sizes), file, problems, lines)


def checked(
    topology: SlurmTopology, file: str, problems: list[Problem], lines: Mapping[str, str] | None = None
) -> SlurmTopology:
    """The topology of a file without problems.

    problems : of the lines; lines : name of a switch or block -> its place
    Raises: InputErrors with these and those of the structure.
    """
    seen: set[str] = set()
    rows = [(it.name, it.nodes, it.switches) for it in topology.switches]
    rows += [(name, nodes, ()) for name, nodes in topology.blocks]
    for name, nodes, below in rows:
        where = (lines or {}).get(name, file)
        if not name or len(name) > MAX_NAME or name in seen:
            what = "is given twice" if name in seen else "is longer than 64 characters" if name else "is no name"
            problems.append(Problem(where, f"'{name}' {what}", "give each a short name"))
        seen.add(name)
        if bool(nodes) == bool(below):
            problems.append(Problem(where, f"'{name}' needs nodes or switches, and not both", "such as Nodes=n[0-3]"))
    whole = not problems or topology.switches or topology.blocks
    if whole and not any("needs nodes or switches" in each.text for each in problems):
        problems += _structure(list(topology.switches), list(topology.blocks), file)
    if problems:
        raise InputErrors(STAGE, first_few(problems, file, "is this a topology of Slurm?"))
    return topology


def block_sizes(text: str) -> tuple[int, ...]:
    """'30,120' -> sizes. Raises: ValueError."""
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) < 10 and int(word) for word in words):
        raise ValueError(f"'{text}' is not a list of block sizes")
    sizes = tuple(int(word) for word in words)
    for size in sizes:
        ratio, rest = divmod(size, sizes[0])
        if rest or ratio & (ratio - 1) or not ratio:
            raise ValueError(f"block size {size} is not a power of two times the first, {sizes[0]}")
    return sizes


def _structure(switches: list[Switch], blocks: list[tuple[str, tuple[str, ...]]], file: str) -> Iterator[Problem]:
    if bool(switches) == bool(blocks):
        text = "has switches and blocks" if switches else "has neither switches nor blocks"
        yield Problem(file, text, "use SwitchName lines or BlockName lines")
    known = {switch.name for switch in switches}
    parent: dict[str, str] = {}
    for switch in switches:
        for name in switch.switches:
            if name not in known:
                yield Problem(
                    file, f"'{switch.name}' is above '{name}', which has no line", "add it, or correct the name"
                )
            elif name in parent:
                yield Problem(
                    file, f"'{name}' is below '{parent[name]}' and '{switch.name}'", "a switch has one above it"
                )
            parent[name] = switch.name
    for name in known:
        seen = {name}
        while (above := parent.get(name)) is not None and above not in seen:
            seen.add(above)
            name = above  # noqa: PLW2901  climbing
        if above is not None:
            yield Problem(file, f"switches are above each other in a cycle, at '{above}'", "remove one of the lines")
            return
    owner: dict[str, str] = {}
    for name, nodes in [*((switch.name, switch.nodes) for switch in switches), *blocks]:
        for node in nodes:
            if node in owner:
                yield Problem(file, f"node '{node}' is in '{owner[node]}' and '{name}'", "list each node once")
            owner[node] = name


def listed_nodes(topology: SlurmTopology) -> list[str]:
    """Every node of the file, in its order."""
    return [node for switch in topology.switches for node in switch.nodes] + [
        node for _, nodes in topology.blocks for node in nodes
    ]


def select(topology: SlurmTopology, count: int, free: Collection[str]) -> list[str] | None:
    """Nodes of a job in the order of the file; None where no tree (or block group) has room.

    Tree: the lowest switch that can hold the job, the fullest of those; in it the leaf that fits best, or the emptiest
    leaf first, so that leaves are few. Unconnected trees are never combined. Block: the block that fits best, else the
    smallest aligned group of blocks whose size is allowed; a group is a power of two of blocks.
    """
    if topology.flat:  # any free nodes, in their order
        nodes = list(free)
        return nodes[:count] if len(nodes) >= count else None
    if topology.blocks:
        leaves = [[node for node in nodes if node in free] for _, nodes in topology.blocks]
        candidates = list(_block_groups(topology, leaves))
    else:
        candidates = list(_subtrees(topology, free))
    fitting = [
        (height, sum(map(len, leaves)), leaves) for height, leaves in candidates if sum(map(len, leaves)) >= count
    ]
    if not fitting:
        return None
    leaves = min(fitting, key=lambda item: item[:2])[2]
    chosen: set[str] = set()
    left = count
    rest = [leaf for leaf in leaves if leaf]
    while left:
        enough = [leaf for leaf in rest if len(leaf) >= left]
        leaf = min(enough, key=len) if enough else max(rest, key=len)
        rest.remove(leaf)
        chosen.update(leaf[:left])
        left = count - len(chosen)
    return [node for node in listed_nodes(topology) if node in chosen]


def _subtrees(topology: SlurmTopology, free: Collection[str]) -> Iterator[tuple[int, list[list[str]]]]:
    """(height, free nodes of each leaf) of every switch."""
    by_name = {switch.name: switch for switch in topology.switches}
    for switch in topology.switches:
        level, height, leaves = [switch], 0, []
        while level:
            leaves += [[node for node in each.nodes if node in free] for each in level if each.nodes]
            level = [by_name[name] for each in level for name in each.switches]
            height += bool(level)
        yield height, leaves


def _block_groups(topology: SlurmTopology, leaves: list[list[str]]) -> Iterator[tuple[int, list[list[str]]]]:
    base = topology.block_sizes[0] if topology.block_sizes else 0
    allowed = {size // base for size in topology.block_sizes} if base else None
    size = 1
    while size < 2 * len(leaves):
        if size == 1 or allowed is None or size in allowed:
            for first in range(0, len(leaves), size):
                yield size, leaves[first : first + size]
        size *= 2

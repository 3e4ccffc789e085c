"""Positions of the parts of a drawing: switches in rows by level, hosts in one block per attachment class below them.

Plain geometry, no drawing. Units: 1 is the pitch of switches in a row; rows are counted upwards from the leaves.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.ids import NodeId
from fabric.topology.levels import levels
from fabric.topology.model import Fabric, Node
from fabric.topology.paths import equal_cost_ports

PITCH: Final = 1.15
"""Distance of neighbouring switches in a row."""
CELL: Final = 0.24
"""Side of the square of a host."""
GAP: Final = 0.45
"""Between groups."""
SUMMARY_ABOVE: Final = 256
"""Nodes above which hosts are counted instead of drawn."""


@dataclass(frozen=True, slots=True)
class Block:
    """The hosts of one attachment class."""

    hosts: tuple[Node, ...]
    switches: tuple[NodeId, ...]
    x: float
    columns: int
    rows: int
    """0 where the hosts are counted, not drawn."""

    @property
    def width(self) -> float:
        """Outer width."""
        return max(self.columns * CELL, 0.9) + 0.12

    @property
    def height(self) -> float:
        """Outer height, without the caption."""
        return max(self.rows * CELL, CELL) + 0.12


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of all parts of a drawing."""

    switch_at: Mapping[NodeId, tuple[float, int]]
    """(x, row), row 1 for the level next to the hosts."""
    blocks: tuple[Block, ...]
    groups: Mapping[str, tuple[tuple[NodeId, ...], tuple[int, ...]]]
    """Group -> its switches, and its blocks by index; only groups of two members or more."""
    width: float

    @property
    def rise(self) -> float:
        """Distance of switch rows: wide fabrics need room for their cables."""
        return max(2.2, min(0.13 * self.width, 7.0))


def layout(fabric: Fabric) -> Layout:
    """Place all parts; the same fabric gives the same picture."""
    table = equal_cost_ports(fabric)
    level = levels(fabric)
    counted = len(fabric.nodes) > SUMMARY_ABOVE
    members: dict[int, list[Node]] = defaultdict(list)
    for host in fabric.hosts:
        members[int(table.class_of_host[host.id])].append(host)
    order = sorted(members, key=lambda class_: (float(np.mean(table.attachments[class_])), class_))

    # Switches of the same classes are adjacent, above their blocks: a leaf alone, both ToRs of a rack.
    bays: list[tuple[list[NodeId], list[int]]] = []
    taken: set[NodeId] = set()
    for class_ in order:
        new = [switch for switch in table.attachments[class_] if switch not in taken]
        taken.update(new)
        if new or not bays:
            bays.append((new, [class_]))
        else:
            bays[-1][1].append(class_)
    switch_at: dict[NodeId, tuple[float, int]] = {}
    blocks: list[Block] = []
    x = 0.0
    last_group = None
    for switches, classes in bays:
        group = _group(fabric, switches, members[classes[0]])
        x += GAP if last_group is not None and group != last_group else 0.0
        last_group = group
        shapes = [_shape(len(members[class_]), len(switches), counted) for class_ in classes]
        trial = [
            Block(tuple(members[class_]), table.attachments[class_], 0, *shape)
            for class_, shape in zip(classes, shapes, strict=True)
        ]
        below = sum(block.width + 0.15 for block in trial)
        span = max(below, len(switches) * PITCH)
        left = x + (span - below) / 2
        for block in trial:
            centre = left + (block.width + 0.15) / 2
            blocks.append(Block(block.hosts, block.switches, centre, block.columns, block.rows))
            left += block.width + 0.15
        for index, switch in enumerate(switches):
            place = x + span / 2 + (index - (len(switches) - 1) / 2) * min(PITCH * 1.4, span / len(switches))
            switch_at[switch] = (place, max(1, int(level[switch])))
        x += span
    _upper_rows(fabric, [int(value) for value in level], switch_at, x)
    rightmost = max((place for place, _ in switch_at.values()), default=x)
    return Layout(switch_at, tuple(blocks), _groups(fabric, switch_at, blocks), max(x, rightmost + PITCH / 2))


def _shape(count: int, n_switches: int, counted: bool) -> tuple[int, int]:
    """(columns, rows) of a block of `count` hosts: wide rather than high, never wider than its switches need."""
    if counted:
        return 0, 0
    columns = count if count <= 4 * n_switches else max(4 * n_switches, math.ceil(math.sqrt(count)))
    return columns, math.ceil(count / columns)


def _group(fabric: Fabric, switches: Sequence[NodeId], hosts: Sequence[Node]) -> str:
    return fabric.nodes[switches[0]].group if switches else hosts[0].group


def _upper_rows(fabric: Fabric, level: Sequence[int], switch_at: dict[NodeId, tuple[float, int]], width: float) -> None:
    """Rows of switches without hosts: spread over the parts below their group, or over the whole width."""
    waiting = [switch for switch in fabric.switches if switch.id not in switch_at]
    for row in sorted({level[switch.id] for switch in waiting}):
        sets: dict[tuple[str, frozenset[str]], list[Node]] = defaultdict(list)
        for switch in (switch for switch in waiting if level[switch.id] == row):
            below = frozenset(peer.group for _, peer in fabric.neighbours(switch.id) if level[peer.id] < row)
            local = switch.group in below and bool(switch.group)
            sets[(switch.group, below) if local else ("", frozenset())].append(switch)
        for (group, _), switches in sets.items():
            under = [
                switch_at[peer.id][0]
                for switch in switches
                for _, peer in fabric.neighbours(switch.id)
                if group and peer.id in switch_at and peer.group == group
            ]
            low, high = (min(under), max(under)) if under else (0.0, width)
            centre = (low + high) / 2
            reach = high - low if under else width * 0.72
            pitch = max(PITCH, min(reach / max(1, len(switches) - (1 if under else 0)), 3 * PITCH))
            for index, switch in enumerate(switches):
                switch_at[switch.id] = (centre + (index - (len(switches) - 1) / 2) * pitch, max(1, row))


def _groups(
    fabric: Fabric, switch_at: Mapping[NodeId, tuple[float, int]], blocks: Sequence[Block]
) -> dict[str, tuple[tuple[NodeId, ...], tuple[int, ...]]]:
    """Groups that hold hosts: pods and racks. Planes of spines cross all groups and get no box."""
    switches: dict[str, list[NodeId]] = defaultdict(list)
    own: dict[str, list[int]] = defaultdict(list)
    for switch in switch_at:
        switches[fabric.nodes[switch].group].append(switch)
    for index, block in enumerate(blocks):
        if len({host.group for host in block.hosts}) == 1:
            own[block.hosts[0].group].append(index)
    return {
        group: (tuple(switches.get(group, ())), tuple(indexes))
        for group, indexes in own.items()
        if group and len(switches.get(group, ())) + len(indexes) > 1
    }

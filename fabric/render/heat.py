"""A fabric too large to draw as heat maps: one matrix for each pair of tiers that cables join, and one for the hosts.

A row is a switch, a column the n-th device that it is cabled to above or below: leaf x spine, rail x node. Where all
rows have the same device in a column, the column has its name. Long rows and columns are joined, neighbours in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fabric.render.document import Map
from fabric.visible import in_markup as escape

DRAWN_SWITCHES: Final = 60
"""A fabric with more switches is shown as heat maps."""
MOST_LINES: Final = 64
"""Rows, and columns, of one matrix."""
_CELL: Final = 17
_CHARACTER: Final = 6.6


@dataclass(frozen=True, slots=True)
class Cell:
    """One square: the ends of its cables, and the hosts at them."""

    row: int
    column: int
    ends: tuple[int, ...]
    hosts: tuple[int, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """One heat map."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    row_nodes: tuple[tuple[int, ...], ...]
    """Switches of each row."""


def too_large(drawing: Map) -> bool:
    """Whether a drawing of the fabric would be illegible."""
    return sum(node.role != "host" and number not in drawing.hidden for number, node in enumerate(drawing.nodes)) > (
        DRAWN_SWITCHES
    )


def matrices(drawing: Map) -> tuple[Matrix, ...]:
    """The heat maps of a fabric, from the hosts up."""
    found: dict[tuple[str, str], dict[int, dict[int, list[int]]]] = {}
    for number, link in enumerate(drawing.links):
        if link.a in drawing.hidden or link.b in drawing.hidden:
            continue
        low, high = sorted((link.a, link.b), key=lambda node: (drawing.nodes[node].row, node))
        row, other = (high, low) if drawing.nodes[low].role == "host" else (low, high)
        pair = (drawing.nodes[row].role, drawing.nodes[other].role)
        found.setdefault(pair, {}).setdefault(row, {}).setdefault(other, []).append(number)

    def height(it: tuple[tuple[str, str], dict[int, dict[int, list[int]]]]) -> tuple[int, int]:
        others = (drawing.nodes[other].row for row in it[1].values() for other in row)
        return min(drawing.nodes[row].row for row in it[1]), min(others)

    ordered = sorted(found.items(), key=height)
    return tuple(_matrix(drawing, pair, rows) for pair, rows in ordered)


def _matrix(drawing: Map, pair: tuple[str, str], rows: Mapping[int, Mapping[int, list[int]]]) -> Matrix:
    devices = sorted(rows)
    others = {row: sorted(rows[row]) for row in devices}
    width = max(map(len, others.values()))
    per_row, per_column = -(-len(devices) // MOST_LINES), -(-width // MOST_LINES)
    row_nodes = tuple(tuple(devices[at : at + per_row]) for at in range(0, len(devices), per_row))
    cells = []
    columns = []
    for column in range(0, width, per_column):
        peers: list[tuple[int, ...]] = []
        for number, nodes in enumerate(row_nodes):
            at = [(row, peer) for row in nodes for peer in others[row][column : column + per_column]]
            links = [link for row, peer in at for link in rows[row][peer]]
            if not links:
                continue
            names = tuple(dict.fromkeys(peer for _, peer in at))
            peers.append(names)
            hosts = tuple(peer for peer in names if drawing.nodes[peer].role == "host")
            name = f"{_span(drawing, nodes)} and {_span(drawing, names)}"
            ends = tuple(end for link in links for end in (2 * link, 2 * link + 1))
            cells.append(Cell(number, column // per_column, ends, hosts, name))
        same = len(set(peers)) == 1
        word = "port" if pair[1] == "host" else "uplink"
        last = min(column + per_column, width)
        numbered = f"{word} {column + 1}" + (f" to {last}" if last > column + 1 else "")
        columns.append(_span(drawing, peers[0]) if same else numbered)
    title = f"{pair[0]} x {'node' if pair[1] == 'host' else pair[1]}"
    return Matrix(title, tuple(_span(drawing, it) for it in row_nodes), tuple(columns), tuple(cells), row_nodes)


def _span(drawing: Map, nodes: tuple[int, ...]) -> str:
    names = [drawing.nodes[node].name for node in nodes]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def heat_svg(
    drawing: Map, title: str, prefix: str, steps: Mapping[int, int], roots: tuple[int, ...], root_ends: tuple[int, ...]
) -> str:
    """All matrices, each an <svg> element; ids of the cells are `<prefix>c<number>`."""
    drawn: list[str] = []
    number = 0
    for it in matrices(drawing):
        left, top = 12 + _CHARACTER * max(map(len, it.rows)), 24 + 5.2 * max(map(len, it.columns))
        parts = [f'<text class="matrix" x="0" y="12">{escape(it.title)}</text>', *_heads(it, left, top, roots)]
        culprits: dict[int, list[str]] = {}
        for cell in it.cells:
            level = max((steps.get(end, 0) for end in cell.ends), default=0)
            marked = " rootcell" if set(cell.ends) & set(root_ends) else ""
            if marked:
                own = [drawing.nodes[host].name for host in cell.hosts if host in roots]
                culprits.setdefault(cell.row, []).extend(own)
            x, y = left + _CELL * cell.column, top + _CELL * cell.row
            parts.append(
                f'<rect id="{prefix}c{number}" class="cell p{level}{marked}" x="{x:.0f}" y="{y:.0f}" '
                f'width="{_CELL - 2}" height="{_CELL - 2}" rx="2"/>'
            )
            number += 1
        right = left + _CELL * len(it.columns)
        width = right + 3.2 * max(map(len, it.columns))
        for row, names in culprits.items():
            named = ", ".join(names)
            if named:
                y = top + _CELL * row + 12
                parts.append(f'<text class="culprit" x="{right + 6:.0f}" y="{y:.0f}">◆ {escape(named)}</text>')
                width = max(width, right + 12 + _CHARACTER * (len(named) + 2))
        height = top + _CELL * len(it.rows)
        drawn.append(
            f'<svg class="heat" viewBox="0 0 {width:.0f} {height:.0f}" style="width:{width:.0f}px" role="img" '
            f'aria-label="{escape(title)}: {escape(it.title)}">{"".join(parts)}</svg>'
        )
    return f'<div class="heats">{"".join(drawn)}</div>'


def _heads(it: Matrix, left: float, top: float, roots: tuple[int, ...]) -> Iterator[str]:
    for number, name in enumerate(it.rows):
        root = " rootname" if set(it.row_nodes[number]) & set(roots) else ""
        y = top + _CELL * number + 12
        yield f'<text class="rowname{root}" x="{left - 6:.0f}" y="{y:.0f}">{escape(name)}</text>'
    for number, name in enumerate(it.columns):
        x = left + _CELL * number + 11
        yield (
            f'<text class="columnname" x="{x:.0f}" y="{top - 5:.0f}" '
            f'transform="rotate(-60 {x:.0f} {top - 5:.0f})">{escape(name)}</text>'
        )

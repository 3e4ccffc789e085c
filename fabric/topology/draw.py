"""A picture of a fabric: tiers as rows, pods and racks boxed, the width of a cable by its rate.

Needs matplotlib (extra `plot`), which is imported only here and only to draw. Above 256 nodes
hosts are counted per block instead of drawn. Colours are the colour-blind safe set of Okabe and Ito (2008).
"""

from __future__ import annotations

import logging
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.errors import TopologyError
from fabric.extras import check_installed
from fabric.topology.layout import CELL, Layout, layout
from fabric.topology.levels import level_name, levels
from fabric.topology.model import Fabric
from fabric.topology.servers import network_of
from fabric.units import counted, format_rate_bps, inventory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

log = logging.getLogger(__name__)

SUFFIXES: Final = (".svg", ".png", ".pdf")
_HOST_TOP: Final = -1.36
"""Upper edge of the host blocks; leaves are at 0."""
_SCALE: Final = 0.95
"""Inches per unit, where the page is wide enough."""
_BOX: Final = (0.94, 0.42)
_LEVEL_COLOURS: Final = ("#0072B2", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
_RATE_COLOURS: Final = ("#3d6a8f", "#c9730a", "#5b4b8a", "#2f7d5b", "#a33b53")
_INK: Final = "#24303b"


def draw(fabric: Fabric, path: Path) -> None:
    """Write a picture of `fabric`, without links inside servers; the ending of `path` decides between SVG, PNG and PDF.

    Raises: TopologyError for another ending, FabricError without matplotlib; OSError where `path` cannot be written.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise TopologyError(
            f"{path}: cannot draw a file that ends in {path.suffix!r}", f"use one of {', '.join(SUFFIXES)}"
        )
    check_installed("matplotlib")
    import matplotlib as mpl  # noqa: PLC0415  an optional extra, slow to import
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure()
    FigureCanvasAgg(figure)
    _draw(network_of(fabric), figure)
    with mpl.rc_context({"svg.hashsalt": fabric.name, "svg.fonttype": "none"}):  # same fabric, same bytes
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=150, metadata=metadata, facecolor="white")
    log.info("drawn", extra={"file": str(path)})


def _draw(fabric: Fabric, figure: Figure) -> None:
    places = layout(fabric)
    xs = [x for x, _ in places.switch_at.values()]
    left = min([0.0, *(x - _BOX[0] for x in xs)]) - 1.5
    right = max([places.width, *(x + _BOX[0] for x in xs)]) + 0.4
    top = (max(row for _, row in places.switch_at.values()) - 1) * places.rise + 1.55
    bottom = _HOST_TOP - max(block.height for block in places.blocks) - 1.15
    scale = min(_SCALE, 48 / (right - left))  # inches per unit; a page wider than 4 feet is of no use
    figure.set_size_inches(max(6.0, (right - left) * scale), (top - bottom) * max(scale, 0.6))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    missing = max(0.0, 6.0 / scale - (right - left)) / 2
    axes.set_xlim(left - missing, right + missing)
    axes.set_ylim(bottom, top)
    axes.axis("off")
    rates = sorted({link.rate_bps for link in fabric.links}, reverse=True)
    _groups(axes, fabric, places)
    _cables(axes, fabric, places, rates)
    _blocks(axes, places)
    _switches(axes, fabric, places)
    for text in axes.texts:  # type and lines shrink with their boxes, title and legend do not
        text.set_fontsize(float(text.get_fontsize()) * scale / _SCALE)
    for line in axes.lines:
        line.set_linewidth(line.get_linewidth() * scale / _SCALE)
    _labels(axes, fabric, places, left - missing)
    _legend(axes, fabric, rates, (left - missing + 0.35, bottom + 0.28), top, _SCALE / scale)


def _colour(rate: int, rates: list[int]) -> str:
    return _RATE_COLOURS[rates.index(rate) % len(_RATE_COLOURS)]


def _line_width(rate_bps: int) -> float:
    """Width in points: the square root of the rate keeps 10G and 800G visible."""
    return 0.5 + 2.6 * math.sqrt(rate_bps / 800e9)


def _groups(axes: Axes, fabric: Fabric, places: Layout) -> None:
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415

    lowest = max(block.height for block in places.blocks)
    for group, (switches, blocks) in places.groups.items():
        xs = [
            edge
            for switch in switches
            for edge in (
                places.switch_at[switch][0] - _BOX[0] / 2 - 0.05,
                places.switch_at[switch][0] + _BOX[0] / 2 + 0.05,
            )
        ]
        xs += [
            edge
            for index in blocks
            for edge in (
                places.blocks[index].x - places.blocks[index].width / 2,
                places.blocks[index].x + places.blocks[index].width / 2,
            )
        ]
        high = (max(places.switch_at[switch][1] for switch in switches) - 1) * places.rise + 0.4
        low = _HOST_TOP - lowest - 0.52
        axes.add_patch(
            FancyBboxPatch(
                (min(xs), low),
                max(xs) - min(xs),
                high - low,
                zorder=0,
                linewidth=0.8,
                boxstyle="round,pad=0.06,rounding_size=0.14",
                facecolor="#f3f6f9",
                edgecolor="#d5dde5",
            )
        )
        if [fabric.nodes[switch].name for switch in switches] != [group]:  # a rack named after its leaf is labelled
            axes.text(min(xs) + 0.02, low + 0.01, group, ha="left", va="bottom", fontsize=8, color="#7b8894")


def _cables(axes: Axes, fabric: Fabric, places: Layout, rates: list[int]) -> None:
    """One line per pair of switches, or per block and switch, and rate; parallel cables are counted beside it."""
    bundles: Counter[tuple[float, float, float, float, int]] = Counter()
    block_of = {host.id: index for index, block in enumerate(places.blocks) for host in block.hosts}
    trunks: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for link in fabric.links:
        a, b = fabric.node_of(link.a), fabric.node_of(link.b)
        if a.is_host or b.is_host:
            host, switch = (a, b) if a.is_host else (b, a)
            trunks[block_of[host.id], switch.id][link.rate_bps] += 1
            continue
        (xa, ra), (xb, rb) = places.switch_at[a.id], places.switch_at[b.id]
        bundles[xa, (ra - 1) * places.rise, xb, (rb - 1) * places.rise, link.rate_bps] += 1
    between = len(bundles)
    alpha = 0.85 if between <= 64 else 0.6 if between <= 256 else 0.35 if between <= 1024 else 0.15
    parts: Counter[tuple[float, float, float, float]] = Counter(key[:4] for key in bundles)
    seen: Counter[tuple[float, float, float, float]] = Counter()
    for (xa, ya, xb, yb, rate), count in bundles.items():
        shift = (seen[xa, ya, xb, yb] - (parts[xa, ya, xb, yb] - 1) / 2) * 0.07  # mixed rates side by side
        seen[xa, ya, xb, yb] += 1
        if ya == yb:  # cables within a row go over the top
            axes.annotate(
                "",
                (xb, yb),
                (xa, ya),
                zorder=1,
                arrowprops={
                    "arrowstyle": "-",
                    "connectionstyle": "arc3,rad=-0.35",
                    "color": _colour(rate, rates),
                    "linewidth": _line_width(rate) * math.sqrt(count),
                    "alpha": alpha,
                },
            )
        else:
            axes.plot(
                [xa + shift, xb + shift],
                [ya, yb],
                color=_colour(rate, rates),
                alpha=alpha,
                zorder=1,
                linewidth=_line_width(rate) * math.sqrt(count),
                solid_capstyle="round",
            )
        if count > 1 and between <= 64:
            _count(axes, xa + shift + (xb - xa) * 0.32, ya + (yb - ya) * 0.32, count)
    _trunks(axes, places, trunks, rates)


def _count(axes: Axes, x: float, y: float, count: int) -> None:
    axes.text(
        x,
        y,
        f"{count}×",
        fontsize=6.5,
        color=_INK,
        ha="center",
        va="center",
        zorder=2,
        bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )


def _trunks(axes: Axes, places: Layout, trunks: dict[tuple[int, int], Counter[int]], rates: list[int]) -> None:
    """Cables between a block of hosts and its switches: one trunk each, with the number of cables."""
    for (index, switch), counts in trunks.items():
        block = places.blocks[index]
        x, row = places.switch_at[switch]  # type: ignore[index]
        reach = max(0.0, block.width / 2 - 0.25)
        spread = max(reach, *(abs(places.switch_at[other][0] - block.x) for other in block.switches)) or 1.0
        for place, (rate, count) in enumerate(sorted(counts.items())):
            shift = (place - (len(counts) - 1) / 2) * 0.3
            foot = block.x + (x - block.x) * min(1.0, reach / spread) + shift
            base = (row - 1) * places.rise
            axes.plot(
                [foot, x + shift],
                [_HOST_TOP, base],
                color=_colour(rate, rates),
                alpha=0.85,
                zorder=1,
                linewidth=_line_width(rate) * min(2.2, count**0.25),
                solid_capstyle="round",
            )
            if count > 1:
                _count(axes, foot * 0.45 + (x + shift) * 0.55, _HOST_TOP * 0.45 + base * 0.55, count)


def _blocks(axes: Axes, places: Layout) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle  # noqa: PLC0415

    for block in places.blocks:
        top = _HOST_TOP
        axes.add_patch(
            FancyBboxPatch(
                (block.x - block.width / 2 + 0.04, top - block.height),
                block.width - 0.08,
                block.height,
                boxstyle="round,pad=0,rounding_size=0.08",
                facecolor="white",
                edgecolor=_LEVEL_COLOURS[0],
                linewidth=1.0,
                zorder=3,
            )
        )
        first, last = block.hosts[0].name, block.hosts[-1].name
        if not block.rows:
            axes.text(
                block.x,
                top - block.height / 2,
                counted((len(block.hosts), "host")),
                ha="center",
                va="center",
                fontsize=7.5,
                color=_LEVEL_COLOURS[0],
                zorder=4,
            )
        for index in range(len(block.hosts) if block.rows else 0):
            in_row = min(block.columns, len(block.hosts) - index // block.columns * block.columns)
            x = block.x + (index % block.columns - in_row / 2) * CELL
            y = top - 0.06 - (index // block.columns + 1) * CELL
            axes.add_patch(
                Rectangle(
                    (x + 0.03, y + 0.03),
                    CELL - 0.06,
                    CELL - 0.06,
                    facecolor=_LEVEL_COLOURS[0],
                    edgecolor="none",
                    alpha=0.8,
                    zorder=4,
                )
            )
        caption = first if first == last else f"{first} –\n{last}"
        axes.text(
            block.x,
            top - block.height - 0.06,
            caption,
            ha="center",
            va="top",
            fontsize=6.5,
            color=_INK,
            zorder=4,
            linespacing=1.05,
        )


def _switches(axes: Axes, fabric: Fabric, places: Layout) -> None:
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415

    level = levels(fabric)
    width, height = _BOX
    for switch, (x, row) in places.switch_at.items():
        name = fabric.nodes[switch].name
        axes.add_patch(
            FancyBboxPatch(
                (x - width / 2, (row - 1) * places.rise - height / 2),
                width,
                height,
                zorder=5,
                boxstyle="round,pad=0,rounding_size=0.09",
                edgecolor="white",
                linewidth=1.2,
                facecolor=_LEVEL_COLOURS[int(level[switch]) % len(_LEVEL_COLOURS)],
            )
        )
        axes.text(
            x,
            (row - 1) * places.rise,
            name,
            ha="center",
            va="center",
            color="white",
            zorder=6,
            weight="bold",
            fontsize=min(8.5, 74 / max(8, len(name))),
        )


def _labels(axes: Axes, fabric: Fabric, places: Layout, left: float) -> None:
    """Names of the rows, at the left edge."""
    level = levels(fabric)
    rows = defaultdict(list)
    for switch, (_, row) in places.switch_at.items():
        rows[row].append(int(level[switch]))
    for row, found in rows.items():
        text = f"{level_name(fabric, found[0])}\n{len(found)}"
        axes.text(
            left + 0.3,
            (row - 1) * places.rise,
            text,
            ha="left",
            va="center",
            fontsize=9,
            color=_LEVEL_COLOURS[found[0] % len(_LEVEL_COLOURS)],
            weight="bold",
        )
    axes.text(
        left + 0.3,
        _HOST_TOP - 0.18,
        f"host\n{len(fabric.hosts)}",
        ha="left",
        va="center",
        fontsize=9,
        color=_LEVEL_COLOURS[0],
        weight="bold",
    )


def _legend(axes: Axes, fabric: Fabric, rates: list[int], corner: tuple[float, float], top: float, unit: float) -> None:
    """Title above, rates below; `unit` is the length of what is one unit at full scale."""
    x, y = corner
    switches, hosts = len(fabric.switches), len(fabric.hosts)
    axes.text(x - 0.05, top - 0.45, fabric.name, fontsize=14, weight="bold", color=_INK, ha="left", va="center")
    axes.text(
        x - 0.05,
        top - 0.78,
        inventory(hosts, switches, len(fabric.links)),
        fontsize=8.5,
        color="#5c6a77",
        ha="left",
        va="center",
    )
    for index, rate in enumerate(rates):
        place = x + index * 1.3 * unit
        axes.plot(
            [place, place + 0.45 * unit],
            [y, y],
            color=_colour(rate, rates),
            linewidth=_line_width(rate),
            solid_capstyle="round",
        )
        axes.text(place + 0.55 * unit, y, format_rate_bps(rate), fontsize=8.5, color=_INK, ha="left", va="center")

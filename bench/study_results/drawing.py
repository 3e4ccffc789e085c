"""The picture of a search beside a grid: every point of both in objective space, and both fronts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from bench.study_results.against_grid import Costs, front
from bench.study_results.carried_out import AgainstGrid, Search
from fabric.errors import FabricError
from fabric.studies.figures import COLOURS, as_picture, drawn, format_axis, new_axes

_GREY: Final = "#8f98a3"
_MARGIN: Final = 0.1
_BEYOND: Final = 1.0
"""Of the extent of the fronts: what is shown before and beyond them."""
_PAGE: Final = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" color="#333" '


@drawn
def fronts(search: Search, found: AgainstGrid) -> str:
    """The picture as an SVG file."""
    goals = search.plan.study.objectives
    figure, axes = new_axes()
    mine = np.array(list(found.searched.values()))
    shown = [front(found.grid.costs), front(mine)]
    for costs, colour, name, mark in ((found.grid.costs, _GREY, "grid", "."), (mine, COLOURS[0], "search", "o")):
        x, y = _values(costs, goals)
        axes.plot(x, y, mark, color=colour, label=f"{len(costs)} points of the {name}", ms=3 if mark == "." else 4)
        x, y = _values(front(costs), goals)
        axes.plot(x, y, "-", color=colour, label=f"front of the {name}", drawstyle="steps-post", lw=1.2)
    for which, mark, colour in (("baseline", "s", COLOURS[2]), ("chosen", "*", COLOURS[1])):
        point = search.result.figures[which]
        if point is not None and point["point"] in found.searched:
            shown.append(np.array([found.searched[point["point"]]]))
            x, y = _values(shown[-1], goals)
            axes.plot(x, y, mark, color=colour, label=which, ms=12 if mark == "*" else 7, ls="")
    for axis, name in zip((axes.xaxis, axes.yaxis), goals, strict=True):
        format_axis(axis, name)
    _close_up(axes, np.concatenate(shown), np.concatenate([found.grid.costs, mine]), goals)
    axes.legend(fontsize=8)
    return as_file(as_picture("fronts", f"{' and '.join(goals)}: a search and a grid", figure).svg)


def _close_up(axes: Any, shown: Costs, every: Costs, goals: Mapping[str, str]) -> None:  # noqa: ANN401  matplotlib's
    """Show the part of the plane with the fronts: points far from them would press these into a corner."""
    low, high = shown.min(axis=0), shown.max(axis=0)
    low, high = low - _MARGIN * (high - low), high + _BEYOND * (high - low)
    corners = np.array([low, high])
    for limit, values in zip((axes.set_xlim, axes.set_ylim), _values(corners, goals), strict=True):
        limit(*sorted(values.tolist()))
    outside = int((~((every >= low) & (every <= high)).all(axis=1)).sum())
    if outside:
        axes.set_title(f"{outside} points with worse values are not shown", fontsize=8, loc="right")


def _values(costs: Costs, goals: Mapping[str, str]) -> tuple[Any, Any]:
    """Measures of costs, which have the other sign where more is better."""
    first, second = (1 if goal == "min" else -1 for goal in goals.values())
    return costs[:, 0] * first, costs[:, 1] * second


def of_report(html: str, key: str) -> str:
    """A drawing of a study's page as an SVG file. Raises: FabricError without it."""
    found = re.search(rf'<svg [^>]*id="{key}-{key}-svg".*?</svg>', html, re.DOTALL)
    if found is None:
        raise FabricError(f"the page of the study has no drawing '{key}'", "read the page: was every run carried out?")
    return as_file(found[0])


def as_file(svg: str) -> str:
    """An SVG of a page as a file of its own: with its namespaces, and a colour for its text."""
    return svg if "xmlns=" in svg else svg.replace("<svg ", _PAGE, 1)

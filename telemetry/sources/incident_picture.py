"""The ticket of a run's first root cause as a PNG picture, to attach where text would lose its layout.

A band in the colour of the severity has the title and the place. Below it a time line of the run shows the interval in
which the root was seen and the last change before it; then come the fields of incident_card.py. Needs matplotlib, as
the pages of studies do.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fabric.extras import require
from fabric.runs.files import naming
from fabric.units import PS_PER_NS, format_time_ps
from fabric.visible import visible
from telemetry.sources.incident_card import AGAIN, SEVERITY, Ticket

_WIDTH_IN: Final = 10.0
_DPI: Final = 150
_COLOURS: Final = ("#b3261e", "#b35c00", "#4a6572")
"""By Root.rank; white text on each has a contrast of at least 4.5 (WCAG 2.2, 1.4.3)."""
_INK: Final = "#1b1f24"
_FAINT: Final = "#5a6572"
_BOX: Final = "#eef1f4"
_LEFT_IN: Final = 0.45
_VALUE_IN: Final = 1.75
_LINE_IN: Final = 0.21
_GAP_IN: Final = 0.09
_BAND_IN: Final = 1.15
_TIME_IN: Final = 0.95
_CHARACTERS: Final = 98
"""Of a value in one line: 7.8 inches of 10 pt."""
_MONO_CHARACTERS: Final = 88
_PLACE_CHARACTERS: Final = 64
_TITLE_CHARACTERS: Final = 50
"""A longer title is written smaller."""
_ABOVE: Final = frozenset({"Root", "Place", "Severity", "First seen", "Last seen"})
"""Fields that the band and the time line show; the others are listed below them."""


def draw(ticket: Ticket, path: Path) -> None:
    """Write the picture as PNG. Raises: FabricError without matplotlib; OSError that names the file."""
    mpl = require("matplotlib")
    figures, canvases = require("matplotlib.figure"), require("matplotlib.backends.backend_agg")
    rows = [(title, _lines(title, values)) for title, values in ticket.fields.items() if title not in _ABOVE]
    height = _BAND_IN + _TIME_IN + sum(len(lines) * _LINE_IN + _GAP_IN for _, lines in rows) + 0.25
    with mpl.rc_context({"text.parse_math": False, "font.family": "DejaVu Sans"}):
        figure = figures.Figure(figsize=(_WIDTH_IN, height), dpi=_DPI, facecolor="white")
        canvases.FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(0, _WIDTH_IN)
        axes.set_ylim(height, 0)  # inches from the top
        axes.axis("off")
        _band(axes, ticket)
        _time(axes, ticket)
        _fields(axes, rows)
        with naming(path):
            figure.savefig(path, format="png", dpi=_DPI, facecolor="white")


def _lines(title: str, values: Sequence[str]) -> list[str]:
    width = _MONO_CHARACTERS if title == AGAIN else _CHARACTERS
    return [line for it in values for line in textwrap.wrap(visible(it), width) or [""]]


def _band(axes: Any, ticket: Ticket) -> None:  # noqa: ANN401  matplotlib's Axes
    """Kind, meaning, place and severity."""
    root = ticket.root
    patches = require("matplotlib.patches")
    axes.add_patch(patches.Rectangle((0, 0), _WIDTH_IN, _BAND_IN, color=_COLOURS[root.rank], linewidth=0))
    title = f"{root.kind.value}: {root.meaning.title}"
    size = 17 * min(_TITLE_CHARACTERS / len(title), 1)
    axes.text(_LEFT_IN, 0.38, title, color="white", fontsize=size, fontweight="bold", va="center")
    place = textwrap.shorten(visible(ticket.fields["Place"][0]), _PLACE_CHARACTERS, placeholder=" ...")
    axes.text(_LEFT_IN, 0.82, place, color="white", fontsize=12.5, va="center")
    right = _WIDTH_IN - _LEFT_IN
    axes.text(right, 0.82, SEVERITY[root.rank], color="white", fontsize=10.5, va="center", ha="right")


def _time(axes: Any, ticket: Ticket) -> None:  # noqa: ANN401  as above
    """The time line of the run: the interval in which the root was seen, and the change before it."""
    patches = require("matplotlib.patches")
    root, top = ticket.root, _BAND_IN + 0.34
    wide = _WIDTH_IN - 2 * _LEFT_IN

    def at(time_ns: int) -> float:
        return _LEFT_IN + wide * min(time_ns / max(ticket.end_ns, 1), 1.0)

    def shown(time_ns: int) -> str:
        return format_time_ps(time_ns * PS_PER_NS) if time_ns else "0"

    axes.add_patch(patches.Rectangle((_LEFT_IN, top), wide, 0.12, color="#d5dbe1", linewidth=0))
    began, ended = at(root.began_ns), at(root.ended_ns)
    band = patches.Rectangle((began, top), max(ended - began, 0.03), 0.12, color=_COLOURS[root.rank], linewidth=0)
    axes.add_patch(band)
    seen = f"seen from {shown(root.began_ns)} to {shown(root.ended_ns)}"
    middle = (began + ended) / 2
    side = "left" if middle < _WIDTH_IN / 3 else "right" if middle > _WIDTH_IN * 2 / 3 else "center"
    x = {"left": began, "right": max(ended, began + 0.03), "center": middle}[side]
    axes.text(x, top - 0.13, seen, color=_COLOURS[root.rank], fontsize=9.5, va="center", ha=side)
    axes.text(_LEFT_IN, top + 0.3, "0", color=_FAINT, fontsize=9, va="center")
    axes.text(_LEFT_IN + wide, top + 0.3, shown(ticket.end_ns), color=_FAINT, fontsize=9, va="center", ha="right")
    if ticket.change_ns is not None and ticket.change_ns <= ticket.end_ns:
        x = at(ticket.change_ns)
        axes.plot([x, x], [top - 0.05, top + 0.18], color=_INK, linewidth=1.6)
        side = "left" if x < _WIDTH_IN / 2 else "right"
        words = f" changed at {shown(ticket.change_ns)} "
        axes.text(max(x, _LEFT_IN + 0.12), top + 0.3, words, color=_INK, fontsize=9, va="center", ha=side)


def _fields(axes: Any, rows: Sequence[tuple[str, Sequence[str]]]) -> None:  # noqa: ANN401  as above
    """Titles of the fields, each with its lines."""
    patches = require("matplotlib.patches")
    y = _BAND_IN + _TIME_IN
    for title, lines in rows:
        tall = len(lines) * _LINE_IN
        mono = title == AGAIN
        if mono:
            wide = _WIDTH_IN - _VALUE_IN - _LEFT_IN + 0.1
            box = patches.Rectangle((_VALUE_IN - 0.1, y - 0.03), wide, tall + 0.06, color=_BOX, linewidth=0)
            axes.add_patch(box)
        axes.text(_LEFT_IN, y + _LINE_IN / 2, title, color=_FAINT, fontsize=10, va="center", fontweight="bold")
        for row, line in enumerate(lines):
            axes.text(
                _VALUE_IN, y + (row + 0.5) * _LINE_IN, line, color=_INK, fontsize=9 if mono else 10, va="center",
                family="DejaVu Sans Mono" if mono else None,
            )  # fmt: skip
        y += tall + _GAP_IN

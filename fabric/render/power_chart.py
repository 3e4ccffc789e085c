"""Power over time: a chart, as an SVG file by itself or in a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.render.document import Chart, Document, Fact, Facts, Section, Series, Status, Unit, format_watts
from fabric.render.plots import chart_svg
from fabric.units import NS_PER_S

_STYLE: Final = (
    "<style>svg{background:#fff;font:12px sans-serif}.grid{stroke:#ddd}.line{fill:none;stroke-width:2}"
    ".s0{stroke:#1b6ca8}text{fill:#333}</style>"
)


def power_chart(name: str, seconds: Sequence[float], watts: Sequence[float]) -> Chart:
    """Power of all GPUs of a run."""
    line = Series("all GPUs", tuple(at * NS_PER_S for at in seconds), tuple(watts))
    return Chart(
        "power", f"{name}: power of all GPUs", "time", Unit.NS, "power of all GPUs", Unit.WATTS, (line,), stepped=False
    )


def power_svg(chart: Chart) -> str:
    """The chart as a file."""
    opening, rest = chart_svg(chart).split(">", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg">{_STYLE}{rest}\n'


def power_page(
    name: str, chart: Chart, gpus: int, peak_w: float, swing_w: float, steepest_mw_per_ms: float
) -> Document:
    """A page with the chart."""
    verdict = f"{gpus:,} GPUs: peak {format_watts(peak_w)}, swing {format_watts(swing_w)}."
    facts = Facts(
        (
            Fact("peak_watts", "peak", peak_w, Unit.WATTS),
            Fact("swing_watts", "swing while jobs run", swing_w, Unit.WATTS),
            Fact("steepest_mw_per_ms", "steepest ramp, MW/ms", steepest_mw_per_ms, Unit.COUNT),
        )
    )
    return Document(f"Power of {name}", "", Status.NEUTRAL, verdict, (), (Section("power", "Power", (facts, chart)),))

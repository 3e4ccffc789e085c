"""Bus bandwidth of a collective over its size, as an SVG file by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.render.document import Chart, Series, Unit
from fabric.render.plots import chart_svg

_STYLE: Final = (
    "<style>svg{background:#fff;font:12px sans-serif}.grid{stroke:#ddd}.line{fill:none;stroke-width:2}"
    ".s0{stroke:#1b6ca8}.s1{stroke:#d9822b;stroke-dasharray:6 4}.s2{stroke:#888}text{fill:#333}</style>"
)


def bandwidth_svg(
    title: str, measured: Sequence[tuple[int, float]], expected: Sequence[tuple[int, float]], line_bps: int
) -> str:
    """The chart.

    Parameters: (size in bytes, bytes per second) of each line; the NIC's rate, drawn across all sizes.
    """
    sizes = [size for size, _ in measured]
    series = [_series("measured", measured), _series("expected", expected)]
    series.append(Series("line rate", tuple(sizes), (float(line_bps),) * len(sizes)))
    chart = Chart(
        "busbw",
        title,
        "size",
        Unit.BYTES,
        f"{title}: bus bandwidth, measured (blue), expected (orange, dashed), line rate (grey)",
        Unit.BPS,
        tuple(series),
        stepped=False,
        log_x=True,
    )
    opening, rest = chart_svg(chart).split(">", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg">{_STYLE}{rest}\n'


def _series(label: str, points: Sequence[tuple[int, float]]) -> Series:
    return Series(label, tuple(float(size) for size, _ in points), tuple(rate * 8 for _, rate in points))

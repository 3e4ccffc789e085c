"""Results as SVG: speed and time by size, speed by threads, time by kind of event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.extras import check_installed

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#2b6cb0", "#c05621", "#718096"


def draw(found: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw every plot whose results are present; returns the files.

    Raises: FabricError without matplotlib.
    """
    check_installed("matplotlib")
    import matplotlib as mpl  # noqa: PLC0415  an extra, needed only here

    mpl.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#e2e8f0",
            "axes.axisbelow": True,
            "svg.hashsalt": "bench",
            "figure.dpi": 100,
        }
    )
    from matplotlib.figure import Figure  # noqa: PLC0415  as above

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, plot in _PLOTS.items():
        if name not in found:
            continue
        path = folder / f"performance-{name}.svg"
        figure = Figure(layout="constrained")
        plot(figure, found[name])
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        written.append(path)
    return written


def _curve(figure: Figure, result: Mapping[str, Any]) -> None:
    rows = result["rows"]
    hosts = [row["hosts"] for row in rows]
    figure.set_size_inches(9.5, 3.6)
    time, rate = figure.subplots(1, 2)
    hops, cpu = [row["packet_hops"] for row in rows], [row["cpu_s"] for row in rows]
    time.loglog(hops, cpu, "o-", color=BLUE, label="measured")
    middle = len(rows) // 2
    time.loglog(hops, [cpu[middle] * it / hops[middle] for it in hops], "--", color=GREY, label="proportional")
    for row in rows:
        time.annotate(
            f"{row['hosts']:,} hosts",
            (row["packet_hops"], row["cpu_s"]),
            xytext=(6, -11),
            textcoords="offset points",
            fontsize=8,
        )
    time.set(xlabel="packet-hops", ylabel="CPU seconds", title="Time by work")
    time.set_xlim(right=max(hops) * 6)
    time.margins(y=0.12)
    time.legend(frameon=False)
    rate.semilogx(hosts, [row["hops_per_cpu_s"] / 1e6 for row in rows], "o-", color=BLUE, label="per CPU second")
    rate.semilogx(hosts, [row["hops_per_wall_s"] / 1e6 for row in rows], "s--", color=ORANGE, label="per wall second")
    rate.set(xlabel="hosts", ylabel="million packet-hops a second", title="Speed by size of the fabric")
    rate.set_ylim(bottom=0)
    rate.set_xticks(hosts, [f"{it:,}" for it in hosts])
    rate.minorticks_off()
    rate.legend(frameon=False)


def _threads(figure: Figure, result: Mapping[str, Any]) -> None:
    figure.set_size_inches(7, 3.4)
    axes = figure.subplots()
    for place, (case, busy) in enumerate((("P256", False), ("P256", True), ("P1024", False))):
        rows = sorted(
            (row for row in result["rows"] if (row["case"], row["busy"]) == (case, busy)),
            key=lambda row: int(row["threads"]),
        )
        spots = [place * 3 + number for number in range(len(rows))]
        values = [row["hops_per_s"] / 1e6 for row in rows]
        axes.bar(spots, values, width=0.75, color=ORANGE if busy else BLUE)
        for spot, value, row in zip(spots, values, rows, strict=True):
            axes.annotate(
                f"{value:.1f}", (spot, value), ha="center", va="bottom", xytext=(0, 2), textcoords="offset points"
            )
            name = f"{row['threads']} thread{'s' if row['threads'] > 1 else ''}"
            axes.annotate(
                name,
                (spot, 0),
                ha="center",
                va="top",
                xytext=(0, -5),
                textcoords="offset points",
                annotation_clip=False,
            )
    axes.set_xticks([0.5, 3.5, 6.5], ["\nP256", "\nP256, one core\nkept busy", "\nP1024"])
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set(ylabel="million packet-hops a second", title="Speed by threads")
    axes.margins(y=0.12)


def _profile(figure: Figure, result: Mapping[str, Any]) -> None:
    rows = [row for row in result["rows"] if row["events"]][::-1]
    figure.set_size_inches(8, 3.2)
    axes = figure.subplots()
    spent = [row["ns"] * row["events"] / result["packet_hops"] for row in rows]
    axes.barh([row["kind"] for row in rows], spent, color=[GREY if "calendar" in row["kind"] else BLUE for row in rows])
    for place, (row, value) in enumerate(zip(rows, spent, strict=True)):
        per_hop = row["events"] / result["packet_hops"]
        axes.annotate(
            f"{value:.1f} ns = {per_hop:.2f} x {row['ns']:.0f} ns",
            (value, place),
            va="center",
            xytext=(5, 0),
            textcoords="offset points",
        )
    axes.set(xlabel="nanoseconds a packet-hop", title="P256: where the time of one packet-hop goes")
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.32)


_PLOTS: Final[Mapping[str, Callable[[Figure, Mapping[str, Any]], None]]] = {
    "curve": _curve,
    "threads": _threads,
    "profile": _profile,
}

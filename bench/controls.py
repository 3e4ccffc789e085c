"""P256 under each congestion control: what a packet-hop costs beside DCQCN's."""

from __future__ import annotations

from typing import Any, Final

from bench import cases
from bench.machine import median
from bench.table import Table, count, millions
from bench.worker import measure

CONTROLS: Final = ("dcqcn", "dctcp", "timely", "hpcc", "hpcc-pint", "swift", "cubic", "none")
_ROUNDS: Final = 5


def scenario(control: str, *, quick: bool = False) -> dict[str, Any]:
    """P256 with a control, all its options left at their defaults."""
    raw = cases.named("P256", quick=quick)
    raw["transport"] = {**raw["transport"], "cc": control}
    return raw


def controls(quick: bool) -> dict[str, Any]:
    """All of them in turns, each in a separate process; ratios are those of one round."""
    rounds = [
        {name: measure("simulate", raw=scenario(name, quick=quick), repeats=1) for name in CONTROLS}
        for _ in range(1 if quick else _ROUNDS)
    ]
    rows = []
    for name in CONTROLS:
        mine = [found[name] for found in rounds]
        rows.append(
            {
                "control": name,
                **{key: mine[0][key] for key in ("packet_hops", "events", "simulated_us", "marked", "pause_frames")},
                "hops_per_cpu_s": median([it["hops_per_cpu_s"] for it in mine]),
                "ratio": median([found[name]["hops_per_cpu_s"] / found["dcqcn"]["hops_per_cpu_s"] for found in rounds]),
            }
        )
    return {"rows": rows, "rounds": len(rounds)}


def controls_table(found: dict[str, Any]) -> Table:
    """A row a control."""
    rows = [
        (
            it["control"],
            count(it["packet_hops"]),
            f"{it['events'] / it['packet_hops']:.3f}",
            millions(it["hops_per_cpu_s"]),
            f"{it['ratio']:.2f}",
            f"{it['simulated_us']:,.0f} us",
            count(it["marked"]),
            count(it["pause_frames"]),
        )
        for it in found["rows"]
    ]
    return Table(
        "P256 under each congestion control, one thread",
        (
            "transport.cc",
            "packet-hops",
            "events/hop",
            "M hops per CPU s",
            "of DCQCN's",
            "last completion",
            "marked",
            "pause frames",
        ),
        rows,
        f"Medians of {found['rounds']} rounds, each control once a round; the ratio is that of one round.",
    )

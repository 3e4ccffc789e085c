"""Ring all-reduces of many ranks: rate, memory, and bytes of state for each rank."""

from __future__ import annotations

from typing import Any, Final

from bench.simulate import SCHEDULE_TABLES
from bench.table import Table, count, megabytes, millions, seconds
from bench.worker import measure

RANKS: Final = (64, 256, 1024)
SIZE: Final = "1MiB"


def ring(ranks: int) -> dict[str, Any]:
    """Leaves of 32 hosts under as many spines, 400G; nothing is switched off but the times of single messages, which a
    run records below 2,000,001 messages only.
    """
    return {
        "name": f"ring-{ranks}",
        "topology": {
            "kind": "leaf-spine", "leaves": ranks // 32, "spines": 32, "hosts_per_leaf": 32, "host_rate": "400G",
            "fabric_rate": "400G",
        },
        "workload": [{"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": SIZE}],
        "transport": {"qp": {"per": "pair"}},
        "run": {"duration": "1s", "seed": 1},
    }  # fmt: skip


def rings(quick: bool) -> dict[str, Any]:
    """Results by number of ranks."""
    return {
        str(ranks): measure("simulate", raw=ring(ranks), repeats=1 if quick else 3)
        for ranks in (RANKS[:2] if quick else RANKS)
    }


def rings_table(found: dict[str, Any]) -> Table:
    """One number of ranks a row."""
    rows = [
        (
            ranks,
            count(2 * int(ranks) * (int(ranks) - 1)),
            count(it["packet_hops"]),
            millions(it["hops_per_wall_s"]),
            millions(it["hops_per_cpu_s"]),
            seconds(it["compile_s"] + it["build_s"]),
            seconds(it["wall_s"]),
            megabytes(it["rss_peak_bytes"]),
            count(round(it["schedule_bytes"] / int(ranks))),
            f"{it['simulated_us']:.0f} us",
        )
        for ranks, it in found.items()
    ]
    note = (
        f"Schedule bytes: transfers, needs, messages under way and queue pairs ({', '.join(SCHEDULE_TABLES)}). "
        "Ready after: from the file to the first event. Beside other work on the machine CPU seconds count."
    )
    return Table(
        f"Ring all-reduce of {SIZE}, one thread",
        ("ranks", "messages", "packet-hops", "M hops/s", "M hops/CPU s", "ready after", "run", "peak memory",
         "schedule bytes/rank", "simulated"),
        rows,
        note,
    )  # fmt: skip

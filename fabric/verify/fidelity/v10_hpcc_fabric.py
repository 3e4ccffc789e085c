"""V10: the fabric of the HPCC comparison at its full size, Hadoop traffic, incasts of 60, with and without windows.

The builder's three tiers are those of the simulator's fat.txt: 320 hosts at 100G in 20 racks, 5 pods of 4 racks and 4
switches, 16 above, 400G, cables of 1 us. Loads and incasts are the author's: 30 or 50 % background, and 60 hosts that
send 500 KB to one, at 2 % of capacity. Scaled: 4 ms of arrivals instead of seconds; incasts come at even times to ten
hosts. No run of that simulator on this fabric is available, so its flows are not compared one by one here; on the same
fabric tests/fidelity/test_fat.py holds the engine to the restated rules, to the nanosecond. The rows run
DCQCN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.dataplane.state.codes import TraceBit
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.verify.fidelity.experiment import compiled, simulate
from fabric.verify.fidelity.table import Finding, Row, between, exactly

_NAME: Final = "v10-fat"
_WINDOW: Final = "transport.dcqcn=hpcc-dcqcn-vwin"
_FAN_IN: Final = 60
_SHORT_BYTES: Final = 30_000
"""Short messages of the HPCC paper's figures."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of one setting."""

    pauses: int
    dropped: int
    undone: int
    short_p99_ps: float
    """Completion time of short messages of the background."""
    peak_bytes: int
    """Deepest queue."""


def run(case: CompiledScenario) -> Outcome:
    """Run the scenario."""
    engine = simulate(case, record=TraceBit(0))
    messages = engine.state.messages[1:]
    background = np.array([label.startswith("background") for label in case.labels])
    done = messages["end_ps"] > 0
    short = background & done & (messages["size_bytes"] <= _SHORT_BYTES)
    return Outcome(
        int(engine.state.prios["tx_xoff_pkts"].sum()),
        int(engine.state.drops["pkts"].sum()),
        int((~done).sum()),
        float(np.percentile((messages["end_ps"] - messages["start_ps"])[short], 99)),
        int(engine.state.queues["peak_bytes"].max()),
    )


def compare(load: float) -> Sequence[Finding]:
    """With and without windows at one load."""
    sets = f"workload[0].load={load}"
    case, windowed = compiled(_NAME, sets), compiled(_NAME, sets, _WINDOW)
    free, held = run(case), run(windowed)
    window, name = windowed.params.transport.window_bytes, f"load {load:.0%}"
    most = _FAN_IN * window
    return (
        exactly(f"{name}: hosts", 320, len(case.fabric.hosts)),
        exactly(f"{name}: switches", 56, len(case.fabric.switches)),
        exactly(f"{name}: cables", 480, len(case.fabric.links)),
        exactly(f"{name}, no window: PAUSE frames (1: yes)", 1, int(free.pauses > 0)),
        exactly(f"{name}, window: PAUSE frames", 0, held.pauses),
        exactly(f"{name}: packets lost", 0, free.dropped + held.dropped),
        exactly(f"{name}: messages not done", 0, free.undone + held.undone),
        between(
            f"{name}, window: deepest queue, bytes",
            float(most),
            held.peak_bytes,
            0.75 * most,
            1.1 * most,
            "fan-in x window: -25 %, +10 % for the background",
        ),
        between(
            f"{name}, no window: deepest queue over that",
            2.0,
            free.peak_bytes / held.peak_bytes,
            1.5,
            1000.0,
            "at least 1.5",
        ),
        between(
            f"{name}: p99 of short messages, with the window over without",
            0.5,
            held.short_p99_ps / free.short_p99_ps,
            0.0,
            0.9,
            "at most 0.9",
        ),
    )


ROWS: Final = (
    Row(
        "V10",
        "HPCC's comparison fabric: large incasts pause without a window and not with one",
        "hpcc-ns3",
        "C",
        "alibaba-edu/High-Precision-Congestion-Control, fat.txt and issues 14 and 36; bound: fan-in x window",
        lambda: [*compare(0.3), *compare(0.5)],
        slow=True,
    ),
)

"""V11: selective repeat with a window and no PFC against go-back-N with PFC, and go-back-N without it.

After "Revisiting network support for RDMA" (IRN): its first comparison has no other congestion control, and neither has
this one. 128 hosts of 100G on 8 leaves and 8 spines (two to one), 9 MB of memory, web search traffic at half load, as
the leaf_spine_128_100G_OS2 runs of conweave-ns3; 3 ms of arrivals instead of 100, run until they are done. The
window is the bandwidth-delay product. Only signs and ranges are claimed: buffers and recovery of that simulator differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fabric.dataplane.state.codes import TraceBit
from fabric.verify.fidelity.experiment import compiled, simulate
from fabric.verify.fidelity.table import Finding, Row, between, exactly

_NAME: Final = "v11-irn"
_WINDOW: Final = "125KB"
"""Of 100G and 10 us: six cables of 1 us and their frames there and back."""
_IRN: Final = ("pfc=off", "transport.recovery=selective", f"transport.window={_WINDOW}")
_SMALL: Final = "switches.memory=2MB"
_GAIN: Final = (0.03, 0.9)
_WORSE: Final = 1.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of one transport."""

    fct_ps: float
    """Mean; a message that is not done counts until the end of the run."""
    undone: int
    dropped: int


def run(*sets: str) -> Outcome:
    """Run the scenario."""
    engine = simulate(compiled(_NAME, *sets), record=TraceBit(0))
    messages = engine.state.messages[1:]
    posted, done = messages["start_ps"] >= 0, messages["end_ps"] > 0
    ends = messages["end_ps"].copy()
    ends[~done] = engine.now_ps
    return Outcome(
        float((ends - messages["start_ps"])[posted].mean()), int((~done).sum()), int(engine.state.drops["pkts"].sum())
    )


def _findings() -> Sequence[Finding]:
    roce, irn, tight, bare = run(), run(*_IRN), run(*_IRN, _SMALL), run("pfc=off")
    low, high = _GAIN
    range_text = "6 to 83 % in the paper, and a margin"
    return (
        exactly("go-back-N with PFC: packets lost", 0, roce.dropped),
        exactly("go-back-N with PFC: messages not done", 0, roce.undone),
        exactly("IRN without PFC: messages not done", 0, irn.undone),
        between(
            "IRN without PFC: gain in mean FCT over go-back-N with PFC",
            0.2,
            1 - irn.fct_ps / roce.fct_ps,
            low,
            high,
            range_text,
        ),
        between(
            "the same with 2 MB of memory: packets lost", 1000, tight.dropped, 1, 10**6, "some: it is about losses"
        ),
        exactly("the same with 2 MB of memory: messages not done", 0, tight.undone),
        between(
            "the same with 2 MB of memory: gain in mean FCT", 0.2, 1 - tight.fct_ps / roce.fct_ps, low, high, range_text
        ),
        between(
            "go-back-N without PFC: mean FCT over that with PFC",
            4.0,
            bare.fct_ps / roce.fct_ps,
            _WORSE,
            1000.0,
            f"at least {_WORSE}",
        ),
    )


ROWS: Final = (
    Row(
        "V11",
        "IRN without PFC beats go-back-N with PFC, which beats go-back-N without",
        "asic",
        "C",
        "Mittal et al., SIGCOMM 2018, section 4 (claim: 6 to 83 %); set-up: conweave-ns3 leaf_spine_128_100G_OS2, 3 ms",
        _findings,
        slow=True,
    ),
)

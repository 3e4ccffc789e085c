"""V5: the threshold arithmetic of section 4 of the DCQCN paper, and where the MMU of the engine pauses.

The paper prints rounded numbers; here each is exact, and the scenario's switch is set to the static threshold: its pool
must come out as B - 8 n t_flight, and the first PAUSE within one frame of the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from fabric.dataplane.state.codes import EventKind
from fabric.theory import pause
from fabric.verify.fidelity.experiment import charge_bytes, compiled, of_kind, port, simulate
from fabric.verify.fidelity.table import Finding, Row, between, exactly

_NAME: Final = "v05-thresholds"
_BETA: Final = 8


def _first_pause(*sets: str) -> tuple[int, int, int]:
    """(shared use, limit, headroom use) of the group that pauses first."""
    rows = of_kind(simulate(compiled(_NAME, *sets)).drain_events(), EventKind.PAUSE_SENT)
    return int(rows[0]["a"]), int(rows[0]["b"]), int(rows[0]["c"])


def _marked_first(bound_bytes: int) -> Finding:
    """With beta 8 and marking from the ECN bound on, an incast from all other ports is marked before any port
    pauses.
    """
    curve = f"{{kmin: {bound_bytes - 1}B, kmax: {bound_bytes}B, pmax: 1.0}}"
    events = simulate(
        compiled(
            _NAME,
            "switches.buffer.static_th=null",
            "switches.buffer.dynamic_th=0",
            f"switches.ecn={curve}",
            "workload[0].senders=['*']",
            "telemetry.events=[pause, mark]",
        )
    ).drain_events()
    marks, pauses = of_kind(events, EventKind.MARK), of_kind(events, EventKind.PAUSE_SENT)
    before = int((marks["time_ps"] < pauses["time_ps"][0]).sum()) if len(pauses) else len(marks)
    return exactly(
        f"beta 8, marking from {bound_bytes} B on: marks come before the first PAUSE (1: yes)", 1, int(before > 0)
    )


def _findings() -> Sequence[Finding]:
    case = compiled(_NAME)
    leaf = case.fabric.by_name["leaf1"]
    switch = case.params.switches[leaf.id]
    group = case.params.ports[port(case.fabric, "leaf1", "host2")].pgs[3]
    frame = charge_bytes(case, "leaf1")
    memory = switch.pools[1].size_bytes
    buffer = pause.SharedBuffer(memory, leaf.n_ports, 8, group.xoff_bytes)
    static = pause.static_pause_threshold_bytes(buffer)
    shared, limit, headroom = _first_pause()
    # Two ingress ports fill one egress alike; with beta = 8 a group's limit is all that is free: alpha = 1.
    dynamic = pause.dynamic_limit_bytes(buffer.shareable_bytes, Fraction(_BETA, 8), groups=2)
    dynamic_shared, dynamic_limit, _ = _first_pause("switches.buffer.static_th=null", "switches.buffer.dynamic_th=0")
    return (
        exactly("shared pool, bytes", buffer.shareable_bytes, switch.pools[0].size_bytes),
        exactly("static PAUSE threshold, bytes", float(static), limit),
        between(
            "shared use at the first PAUSE, static, bytes",
            float(static),
            shared + headroom,
            float(static),
            float(static) + frame,
            "less than one frame beyond",
        ),
        between(
            "shared use at the first PAUSE, beta 8, two ports, bytes",
            float(dynamic),
            dynamic_shared,
            float(dynamic) - frame,
            float(dynamic) + frame,
            "one frame",
        ),
        between(
            "its limit, bytes",
            float(dynamic),
            dynamic_limit,
            float(dynamic) - frame,
            float(dynamic) + frame,
            "one frame",
        ),
        between(
            "static: ECN bound of the arithmetic, against one frame, bytes",
            frame,
            float(pause.naive_marking_bound_bytes(buffer)),
            0,
            frame,
            "below one frame: too small to mark by",
        ),
        _marked_first(int(pause.dynamic_marking_bound_bytes(buffer, _BETA))),
    )


ROWS: Final = (
    Row(
        "V5",
        "PFC and ECN thresholds of a 32 x 40G, 12 MB switch",
        "asic",
        "C",
        "Zhu et al., SIGCOMM 2015, section 4 (formulas); Choudhury and Hahne 1998",
        _findings,
    ),
)

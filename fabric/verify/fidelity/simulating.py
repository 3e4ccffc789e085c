"""Run a recorded case and keep the compared values: completion times, pauses per port, drops, speed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop, TraceBit
from fabric.scenario.presets.ns3_rdma import DATA_CLASS, PS_PER_NS
from fabric.verify.fidelity.case import Case

_STEP_PS: Final = 10_000_000_000
"""Simulated time between two checks for completion: 10 ms."""

How = Literal["insertion", "source", "windows"]
"""Sequential in the order of scheduling, sequential by device and source, or windows (same results as source)."""


@dataclass(frozen=True)
class Simulated:
    """Results of one run of the engine."""

    fct_ns: Mapping[int, int]
    """By the simulator's flow id; flows that did not complete are absent."""
    pauses: Mapping[str, int]
    """PAUSE frames received, by 'node/interface' as the simulator counts them; ports without any are absent."""
    drops: int
    marks: int
    packet_hops: int
    wall_s: float
    digest: str


def simulate(case: Case, how: How = "windows", *, tie_key: int = 0) -> Simulated:
    """Run a case to its end: all flows complete and nothing pending, or the simulator's stop time.

    Parameters
    ----------
    case : Case
    how : How         scheduler and order of equal moments
    tie_key : int     not 0, with insertion: equal moments run in a random order instead, drawn from this number

    Returns: Simulated; wall_s leaves building and compilation out.
    """
    engine = Emulator(
        case.fabric,
        case.params,
        record=TraceBit(0),
        scheduler="windows" if how == "windows" else "sequential",
        order="insertion" if how == "insertion" else "source",
        tie_key=tie_key,
    )
    engine.advance(int(case.params.messages.start_ps.min()))
    began = time.perf_counter()
    while engine.now_ps < case.stop_ps:
        if engine.advance(min(engine.now_ps + _STEP_PS, case.stop_ps)) == Stop.IDLE or engine.finished:
            break
    wall_s = time.perf_counter() - began
    messages = engine.state.messages[1:]
    done = messages["end_ps"] > 0
    fct = (messages["end_ps"] - messages["start_ps"]) // PS_PER_NS
    paused = engine.state.prios["rx_xoff_pkts"].reshape(-1, 8)[:, DATA_CLASS]
    numbers = [node.name.removeprefix("n") for node in case.fabric.nodes]
    ports = case.fabric.ports
    return Simulated(
        fct_ns={case.flow_ids[row]: int(fct[row]) for row in np.flatnonzero(done).tolist()},
        pauses={
            f"{numbers[ports[port].node]}/{ports[port].index + 1}": int(paused[port])
            for port in np.flatnonzero(paused).tolist()
        },
        drops=int(engine.state.drops["pkts"].sum()),
        marks=int(engine.state.queues["marked_pkts"].sum()),
        packet_hops=engine.packet_hops,
        wall_s=wall_s,
        digest=engine.digest(),
    )

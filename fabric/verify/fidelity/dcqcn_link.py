"""N long DCQCN flows on one link: the scenario as a Fluid, and the course of the engine over the end of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_CLASSES, TraceBit
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory.dcqcn import Fluid, Line
from fabric.verify.fidelity.experiment import PS_PER_S, compiled, emulator, frame_bytes, jain, port, wire_bytes

NAME: Final = "v06-fixed-point"
_LOSSLESS: Final = 3
_SAMPLE_PS: Final = 5_000_000


def case_of(flows: int, *sets: str) -> CompiledScenario:
    """The scenario with so many senders."""
    senders = ", ".join(f"host{number}" for number in range(2, flows + 2))
    return compiled(NAME, f"workload[0].senders=[{senders}]", *sets)


def fluid_of(case: CompiledScenario) -> Fluid:
    """The reaction point and the link for the equations; rates count bytes on the wire."""
    dcqcn = case.params.transport.dcqcn
    if dcqcn is None:
        raise ValueError("the scenario has no DCQCN")
    packet_bits = 8 * wire_bytes(case)
    return Fluid(
        capacity_pps=case.fabric.links[0].rate_bps / packet_bits,
        packet_bytes=frame_bytes(case),
        cnp_s=dcqcn.cnp_interval_ps / PS_PER_S,
        alpha_s=dcqcn.alpha_timer_ps / PS_PER_S,
        increase_s=dcqcn.increase_timer_ps / PS_PER_S,
        byte_counter_pkts=dcqcn.byte_counter_bytes / frame_bytes(case),
        steps=dcqcn.fast_recovery_steps,
        gain_ratio=dcqcn.gain_ratio,
        additive_pps=dcqcn.additive_bps / packet_bits,
    )


def line_of(case: CompiledScenario) -> Line:
    """The marking curve of the bottleneck."""
    ecn = case.params.ports[port(case.fabric, "leaf1", "host1")].queues[_LOSSLESS].ecn
    if ecn is None:
        raise ValueError("the scenario's bottleneck does not mark")
    return Line(ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax_ratio)


@dataclass(frozen=True, slots=True)
class Course:
    """Measurements at the bottleneck over the tail."""

    queue_bytes: NDArray[np.float64]
    """Samples, 5 us apart."""
    jain: float
    """Of the flows' delivered bytes."""
    utilisation_ratio: float
    marked_ratio: float
    pauses: int
    goodput_bytes: Sequence[int]
    """By flow."""

    @property
    def mean_bytes(self) -> float:
        """Of the queue."""
        return float(self.queue_bytes.mean())

    @property
    def sd_bytes(self) -> float:
        """Of the queue."""
        return float(self.queue_bytes.std())


def course(case: CompiledScenario, settle_ps: int, tail_ps: int) -> Course:
    """Run settle_ps, then observe the bottleneck for tail_ps."""
    engine = emulator(case, record=TraceBit(0))
    egress = port(case.fabric, "leaf1", "host1")
    row = egress * N_CLASSES + _LOSSLESS
    engine.advance(settle_ps)
    before = engine.snapshot()
    samples = np.empty(tail_ps // _SAMPLE_PS)
    for index in range(len(samples)):
        engine.advance(settle_ps + (index + 1) * _SAMPLE_PS)
        samples[index] = engine.state.queues[row]["depth_bytes"]
    after = engine.snapshot()
    moved = after.rqps["expected_psn"] - before.rqps["expected_psn"]
    queue = (egress, _LOSSLESS)
    sent = int(after.queues[queue]["sent_pkts"] - before.queues[queue]["sent_pkts"])
    marked = int(after.queues[queue]["marked_pkts"] - before.queues[queue]["marked_pkts"])
    busy = int(after.ports[egress]["busy_ps"] - before.ports[egress]["busy_ps"])
    pauses = int(after.ports["tx_pause_pkts"].sum() - before.ports["tx_pause_pkts"].sum())
    return Course(
        samples,
        jain(moved.astype(np.float64)),
        busy / (len(samples) * _SAMPLE_PS),
        marked / max(sent, 1),
        pauses,
        [int(count) * case.params.frames.payload_bytes for count in moved],
    )

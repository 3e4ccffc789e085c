"""V1: the marking curve, measured on queues that drain: 200 trials at every queue length; and the order of marks.

As sonic-mgmt's ECN accuracy test has it: a priority is blocked with PFC, a known queue is built, the block ends, and
packet i of the drain sees a known queue. There the rate is compared by eye; here with the binomial distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import EventKind
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory import marking
from fabric.verify.fidelity.experiment import compiled, frame_bytes, of_kind, simulate
from fabric.verify.fidelity.table import Finding, Row, between, exactly

_NAME: Final = "v01-marking"
_BAND_BYTES: Final = 100_000
_SIGMAS: Final = 3
_LOSSLESS: Final = 3
_STEP_BYTES: Final = 100_000


def _curve(case: CompiledScenario) -> marking.Curve:
    ecn = case.params.ports[case.fabric.switches[0].first_port].queues[_LOSSLESS].ecn
    if ecn is None:
        raise ValueError("the scenario's lossless queues do not mark")
    return marking.Curve(ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax_ratio)


def _frames(case: CompiledScenario) -> int:
    return -(-int(case.params.messages.size_bytes[0]) // case.params.frames.payload_bytes)


def _marks_by_queue(marks: NDArray[Any], seen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Marks at each of the queue lengths `seen` (each occurs once per queue)."""
    order = np.argsort(seen)
    found, counts = np.unique(marks["a"], return_counts=True)
    result = np.zeros(len(seen), np.int64)
    result[order[np.searchsorted(seen[order], found)]] = counts
    return result


def _accuracy() -> Sequence[Finding]:
    case = compiled(_NAME)
    engine = simulate(case)
    marks = of_kind(engine.drain_events(), EventKind.MARK)
    curve, trials = _curve(case), len(case.fabric.hosts)
    seen = marking.queue_after_departure_bytes(_frames(case), frame_bytes(case), case.params.frames.reth_bytes)
    marked = _marks_by_queue(marks, seen)
    probability = marking.marking_probability(curve, seen)
    below, above = seen <= curve.kmin_bytes, seen >= curve.kmax_bytes
    findings = [
        exactly("marks up to Kmin", 0, int(marked[below].sum())),
        exactly("share marked from Kmax on", 1.0, float(marked[above].sum() / (above.sum() * trials))),
        exactly("packets lost", 0, int(engine.state.drops["pkts"].sum())),
    ]
    for low in range(curve.kmin_bytes, curve.kmax_bytes, _BAND_BYTES):
        band = (seen > low) & (seen <= low + _BAND_BYTES) & ~above
        expected = float(probability[band].mean())
        slack = _SIGMAS * marking.binomial_sd_ratio(expected, int(band.sum()) * trials)
        findings.append(
            between(
                f"share marked at {low // 1000} to {(low + _BAND_BYTES) // 1000} KB",
                expected,
                float(marked[band].sum() / (band.sum() * trials)),
                expected - slack,
                expected + slack,
                f"{_SIGMAS} sd of {int(band.sum()) * trials} draws",
            )
        )
    outliers = np.abs(marking.deviations(probability, marked, trials)) > _SIGMAS
    findings.append(
        between(
            f"share of queue lengths more than {_SIGMAS} sd off",
            0.0027,
            float(outliers.mean()),
            0.0,
            0.02,
            "a normal distribution has 0.0027; small counts of a binomial have somewhat more",
        )
    )
    return findings


def _edge(mark: str) -> Sequence[Finding]:
    """Step marking at N bytes, 2N bytes of queue: which packets are marked depends on when the queue length is read."""
    payload = compiled(_NAME).params.frames.payload_bytes
    frames = 2 * _STEP_BYTES // frame_bytes(compiled(_NAME))
    case = compiled(
        _NAME,
        f"switches.mark={mark}",
        f"workload[0].size={frames * payload}B",
        "topology.hosts_per_leaf=2",
        "workload[0].shift=1",
        f"switches.ecn={{kmin: {_STEP_BYTES}B, kmax: {_STEP_BYTES + 1}B, pmax: 1.0}}",
    )
    engine = simulate(case)
    marks = of_kind(engine.drain_events(), EventKind.MARK)
    queue = marking.queue_after_departure_bytes if mark == "dequeue" else marking.queue_before_arrival_bytes
    seen = queue(frames, frame_bytes(case), case.params.frames.reth_bytes)
    expected = seen[seen > _STEP_BYTES]
    first, last = int(seen[0] > _STEP_BYTES), int(seen[-1] > _STEP_BYTES)
    one_queue = marks[marks["port"] == marks["port"][0]]
    return (
        exactly(f"{mark}: first packet marked", first, int(seen[0] in one_queue["a"])),
        exactly(f"{mark}: last packet marked", last, int(seen[-1] in one_queue["a"])),
        exactly(f"{mark}: packets marked per queue", len(expected), len(marks) / len(case.fabric.hosts)),
        exactly(f"{mark}: packets lost", 0, int(engine.state.drops["pkts"].sum())),
    )


ROWS: Final = (
    Row(
        "V1/accuracy",
        "ECN marking curve 500 KB to 2 MB, 5 %: 200 trials at every queue length",
        "asic",
        "C",
        "SAI WRED; set-up: sonic-mgmt ECN_ACCURACY_README",
        _accuracy,
    ),
    Row(
        "V1/edge",
        "Marking at dequeue marks the first of a queue, at enqueue the last",
        "asic",
        "C",
        "set-up: sonic-mgmt EGRESS_ECN_README",
        lambda: [*_edge("dequeue"), *_edge("enqueue")],
    ),
)

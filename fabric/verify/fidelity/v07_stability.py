"""V7: a feedback delay makes DCQCN's queue swing for some numbers of flows: theory, and its limits.

The marking line continues to probability 1 without a jump, marks are made at dequeue, and the notification point adds
the delay. Packets have noise that the equations lack: a queue is called unstable if the delay makes its standard
deviation grow by half, and its amplitude is what the delay adds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from fabric.theory import population
from fabric.theory.dcqcn import integrate
from fabric.verify.fidelity.dcqcn_link import Course, case_of, course, fluid_of, line_of
from fabric.verify.fidelity.table import Finding, Row, between, exactly, missing, within

FLOWS: Final = (2, 10, 64)
SHORT_US, LONG_US = 4, 85
"""Feedback delays; the shorter is that of the fabric itself."""
_MS: Final = 10**9
_GROWTH: Final = 1.5
_AMPLITUDE: Final = 0.4
_POPULATION: Final = 0.3
_MANY: Final = 64
_KNOWN_SWING: Final = (0.6e6, 1.6e6)
"""Standard deviation of the queue of _MANY flows, bytes, where the equations have none."""
_FLUID_SWING: Final = 0.25
"""The equations swing for good if the queue's standard deviation stays above this share of its mean."""


@lru_cache(maxsize=16)
def simulated(flows: int, delay_us: int) -> Course:
    """The engine's queue over 100 ms, after 200."""
    case = case_of(
        flows,
        "switches.ecn={kmin: 5KB, kmax: 19505KB, pmax: 1}",
        "switches.mark=dequeue",
        f"transport.dcqcn={{preset: paper-2015, cnp_delay: {delay_us - SHORT_US}us}}",
        "run.duration=400ms",
    )
    return course(case, 200 * _MS, 100 * _MS)


def equations(flows: Sequence[int]) -> Sequence[Finding]:
    """Whether the delay makes the queue swing, and by how much, beside the equations."""
    findings = []
    for count in flows:
        case = case_of(count, "switches.ecn={kmin: 5KB, kmax: 19505KB, pmax: 1}")
        theory = integrate(fluid_of(case), line_of(case), count, LONG_US * 1e-6)
        swings = theory.sd_bytes > _FLUID_SWING * theory.mean_bytes
        calm, late = simulated(count, SHORT_US), simulated(count, LONG_US)
        name = f"N = {count}, {LONG_US} us"
        unstable = exactly(f"{name}: unstable (1: yes)", int(swings), int(late.sd_bytes > _GROWTH * calm.sd_bytes))
        findings.append(missing(unstable, 1, 1) if count == _MANY else unstable)
        if count == _MANY:
            swing = between(
                f"{name}: sd of the queue, bytes",
                theory.sd_bytes,
                late.sd_bytes,
                0.0,
                _FLUID_SWING * theory.mean_bytes,
                f"at most {_FLUID_SWING} of the equations' mean",
            )
            findings.append(missing(swing, *_KNOWN_SWING))
        if swings:
            added = math.sqrt(max(late.sd_bytes**2 - calm.sd_bytes**2, 0.0))
            findings.append(within(f"{name}: amplitude, sd in bytes", theory.sd_bytes, added, _AMPLITUDE))
    return findings


def algorithm(flows: Sequence[int] = FLOWS) -> Sequence[Finding]:
    """The queue's mean and deviation beside the algorithm on one queue."""
    findings = []
    for count in flows:
        case = case_of(count, "switches.ecn={kmin: 5KB, kmax: 19505KB, pmax: 1}")
        theory = population.course(fluid_of(case), line_of(case), count, LONG_US * 1e-6, waits=True)
        ours = simulated(count, LONG_US)
        name = f"N = {count}, {LONG_US} us"
        swing = within(f"{name}: sd of the queue, bytes", theory.sd_bytes, ours.sd_bytes, _POPULATION)
        findings.append(swing)
        findings.append(within(f"{name}: mean queue, bytes", theory.mean_bytes, ours.mean_bytes, 0.25))
    return findings


def blind_to_waiting() -> Sequence[Finding]:
    """The cause: the same population with and without the queueing time between sending and marking."""
    case = case_of(64, "switches.ecn={kmin: 5KB, kmax: 19505KB, pmax: 1}")
    fluid, line = fluid_of(case), line_of(case)
    without = population.course(fluid, line, 64, LONG_US * 1e-6, waits=False)
    ours = simulated(64, LONG_US)
    return (
        between(
            "N = 64: sd without queueing time over the packet level's",
            0.1,
            without.sd_bytes / ours.sd_bytes,
            0.0,
            0.25,
            "without it the queue is constant, as in the equations",
        ),
    )


_SOURCE: Final = "delayed fluid equations: Zhu et al., CoNEXT 2016, section 3"
_MISS: Final = (
    "The equations let a flow's marks follow the rate it has when they are made. In a first-in first-out queue the "
    "packets that leave were sent a queueing time earlier (0.4 ms here, beside 0.085 ms of delay), and they leave at "
    "the link's rate whatever comes in, so the damping is lost. With that one change the algorithm oscillates as "
    "packets do (V7/algorithm), and without it the queue is constant (V7/waiting)."
)

ROWS: Final = (
    Row(
        "V7/equations",
        "Stability of DCQCN under 85 us of feedback delay, 2 and 10 flows",
        "asic",
        "C",
        _SOURCE,
        lambda: equations(FLOWS[:2]),
        slow=True,
    ),
    Row(
        "V7/many-flows",
        "Stability of DCQCN under 85 us of feedback delay, 64 flows",
        "asic",
        "C",
        _SOURCE,
        lambda: equations(FLOWS[2:]),
        slow=True,
        known_miss=_MISS,
    ),
    Row(
        "V7/algorithm",
        "The same, against the algorithm on one queue without a network",
        "asic",
        "C",
        "Zhu et al., SIGCOMM 2015, section 3, simulated in steps of 1 us",
        algorithm,
        slow=True,
    ),
    Row(
        "V7/waiting",
        "The same, without the queueing time: what the equations leave out",
        "asic",
        "C",
        "Zhu et al., SIGCOMM 2015, section 3, simulated in steps of 1 us",
        blind_to_waiting,
        slow=True,
    ),
)

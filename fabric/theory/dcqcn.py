"""DCQCN as a fluid: N equal flows on one link, fixed point and stability.

Equations: Zhu et al., SIGCOMM 2015, section 5.2, with the feedback delay of Zhu et al., CoNEXT 2016 ("ECN or Delay"),
section 3.1.
With p the marking probability, C the capacity, T and B the increase timer and byte counter, F the fast-recovery steps,
tau the CNP interval and tau' the alpha timer, per flow and in packets:

    a = 1 - (1-p)^(tau R)          chance of a CNP in an interval
    d alpha/dt = g/tau' ((1 - (1-p)^(tau' R)) - alpha)
    d Rt/dt = -(Rt-R)/tau a + R_AI R (1-p)^(F B) p/((1-p)^-B - 1) + R_AI R (1-p)^(F T R) p/((1-p)^-(T R) - 1)
    d R/dt  = -R alpha/(2 tau) a + (Rt-R)/2 R p (1/((1-p)^-B - 1) + 1/((1-p)^-(T R) - 1))
    d q/dt  = N R - C

Hyper increase is left out, as in the papers. Errors: p of the fixed point to 1e-12 relative; the queue by Euler steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

_P_LOW: Final = 1e-9
_P_HIGH: Final = 0.9999
_EXP_MAX: Final = 700.0
"""Above it exp() overflows a float."""


@dataclass(frozen=True, slots=True)
class Fluid:
    """One link and the reaction points of the flows on it, in packets and seconds."""

    capacity_pps: float
    packet_bytes: int
    cnp_s: float
    """tau: CNP interval and least time between cuts."""
    alpha_s: float
    """tau': alpha timer."""
    increase_s: float
    """T: increase timer."""
    byte_counter_pkts: float
    """B."""
    steps: int
    """F: fast-recovery steps."""
    gain_ratio: float
    """g."""
    additive_pps: float
    """R_AI: increment of the target, packets a second."""


@dataclass(frozen=True, slots=True)
class Line:
    """Marking: 0 up to kmin, then linear to pmax at kmax; beyond it 1, or the line continues."""

    kmin_bytes: float
    kmax_bytes: float
    pmax_ratio: float
    extended: bool = False
    """The line continues beyond kmax to 1: the marking of the equations, without a jump."""

    def probability(self, queue_bytes: float) -> float:
        """Marking probability at a queue length."""
        if queue_bytes <= self.kmin_bytes:
            return 0.0
        if queue_bytes >= self.kmax_bytes and not self.extended:
            return 1.0
        return min(self.pmax_ratio * (queue_bytes - self.kmin_bytes) / (self.kmax_bytes - self.kmin_bytes), 1.0)

    def queue_bytes(self, probability: float) -> float | None:
        """Queue with that marking probability on the slope; None if it is beyond kmax and the line ends there."""
        if probability > self.pmax_ratio and not self.extended:
            return None
        return self.kmin_bytes + probability / self.pmax_ratio * (self.kmax_bytes - self.kmin_bytes)

    def straight(self) -> Line:
        """The same slope as a line to probability 1, which any WRED curve can be set to."""
        kmax = self.kmin_bytes + (self.kmax_bytes - self.kmin_bytes) / self.pmax_ratio
        return replace(self, kmax_bytes=kmax, pmax_ratio=1.0)


def _event_rate(p: float, count: float) -> float:
    """p / ((1-p)^-count - 1): rate per packet of runs of `count` packets without a mark; 1/count as p goes to 0."""
    if p < _P_LOW:
        return 1.0 / count
    grown = -count * math.log1p(-p)
    return p / math.expm1(grown) if grown < _EXP_MAX else 0.0


def _slopes(
    fluid: Fluid, p: float, delayed_pps: float, rate: float, target: float, alpha: float
) -> tuple[float, float, float]:
    """(d rate, d target, d alpha) a second; p and delayed_pps are what the feedback reports."""
    keep = math.log1p(-min(p, _P_HIGH))
    cut = -math.expm1(fluid.cnp_s * delayed_pps * keep)
    by_bytes = _event_rate(p, fluid.byte_counter_pkts)
    by_time = _event_rate(p, fluid.increase_s * delayed_pps)
    first_bytes = math.exp(max(fluid.steps * fluid.byte_counter_pkts * keep, -_EXP_MAX))
    first_time = math.exp(max(fluid.steps * fluid.increase_s * delayed_pps * keep, -_EXP_MAX))
    d_alpha = fluid.gain_ratio / fluid.alpha_s * (-math.expm1(fluid.alpha_s * delayed_pps * keep) - alpha)
    d_target = -(target - rate) / fluid.cnp_s * cut + fluid.additive_pps * delayed_pps * (
        first_bytes * by_bytes + first_time * by_time
    )
    d_rate = -rate * alpha / (2.0 * fluid.cnp_s) * cut + (target - rate) / 2.0 * delayed_pps * (by_bytes + by_time)
    return d_rate, d_target, d_alpha


def fixed_point_probability(fluid: Fluid, flows: int) -> float:
    """p* at which N flows of C/N are in equilibrium.

    With alpha = 1 - (1-p)^(tau' R): the target's equation gives Rt - R, and the derivative of the rate must vanish; it
    rises in p, so the root is bracketed.
    """
    rate = fluid.capacity_pps / flows

    def imbalance(p: float) -> float:
        keep = math.log1p(-p)
        cut = -math.expm1(fluid.cnp_s * rate * keep)
        alpha = -math.expm1(fluid.alpha_s * rate * keep)
        by_bytes, by_time = _event_rate(p, fluid.byte_counter_pkts), _event_rate(p, fluid.increase_s * rate)
        first_bytes = math.exp(fluid.steps * fluid.byte_counter_pkts * keep)
        first_time = math.exp(fluid.steps * fluid.increase_s * rate * keep)
        excess = fluid.additive_pps * rate * (first_bytes * by_bytes + first_time * by_time) * fluid.cnp_s / cut
        return rate * alpha * cut / (2.0 * fluid.cnp_s) - excess / 2.0 * rate * (by_bytes + by_time)

    return _bisect(imbalance, 1e-7, 0.99)


def _bisect(function: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(200):
        middle = math.sqrt(low * high)
        if function(middle) < 0.0:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


def cube_root_probability(fluid: Fluid, flows: int) -> float:
    """The papers' closed form for small p: [R_AI N^2 / (tau' C^2) (1/B + N/(T C))^2]^(1/3)."""
    stages = 1.0 / fluid.byte_counter_pkts + flows / (fluid.increase_s * fluid.capacity_pps)
    return float((fluid.additive_pps * flows**2 / (fluid.alpha_s * fluid.capacity_pps**2) * stages**2) ** (1.0 / 3.0))


@dataclass(frozen=True, slots=True)
class Course:
    """The queue over the tail of an integration."""

    mean_bytes: float
    sd_bytes: float
    low_bytes: float
    high_bytes: float
    utilisation_ratio: float
    marked_ratio: float = math.nan
    """Share of the packets that are marked; nan where it is not counted."""


def integrate(
    fluid: Fluid,
    line: Line,
    flows: int,
    delay_s: float,
    *,
    duration_s: float = 0.5,
    tail_s: float = 0.1,
    step_s: float = 1e-6,
) -> Course:
    """The delayed equations from a start 20 % off the fixed point, all flows equal; statistics of the last tail_s.

    Parameters
    ----------
    delay_s : float    feedback delay tau*: marks and rates act this much later
    step_s : float     Euler step; an error of the order of step/delay

    Raises: nothing.
    """
    fair = fluid.capacity_pps / flows
    p = fixed_point_probability(fluid, flows)
    level = line.queue_bytes(p)
    rate = fair
    target = rate * 1.02
    alpha = -math.expm1(fluid.alpha_s * rate * math.log1p(-p))
    queue = 1.2 * (line.kmax_bytes if level is None else level) / fluid.packet_bytes
    lag = max(round(delay_s / step_s), 1)
    past_p, past_rate = [p] * lag, [rate] * lag
    steps, tail = round(duration_s / step_s), round(tail_s / step_s)
    centre = queue * fluid.packet_bytes  # sums of differences from it keep their digits
    total = squares = served = 0.0
    low, high = math.inf, 0.0
    for step in range(steps):
        slot = step % lag
        old_p, old_rate = past_p[slot], past_rate[slot]
        past_p[slot], past_rate[slot] = line.probability(queue * fluid.packet_bytes), rate
        d_rate, d_target, d_alpha = _slopes(fluid, old_p, old_rate, rate, target, alpha)
        inflow = flows * rate
        served_now = fluid.capacity_pps if queue > 0.0 else min(inflow, fluid.capacity_pps)
        queue = max(queue + (inflow - fluid.capacity_pps) * step_s, 0.0)
        rate = min(max(rate + d_rate * step_s, 1e-4 * fair), fluid.capacity_pps)
        target = min(max(target + d_target * step_s, rate), fluid.capacity_pps)
        alpha = min(max(alpha + d_alpha * step_s, 0.0), 1.0)
        if step >= steps - tail:
            size = queue * fluid.packet_bytes
            total, squares, served = total + size - centre, squares + (size - centre) ** 2, served + served_now
            low, high = min(low, size), max(high, size)
    mean = total / tail
    return Course(
        centre + mean,
        math.sqrt(max(squares / tail - mean * mean, 0.0)),
        low,
        high,
        served / (tail * fluid.capacity_pps),
    )

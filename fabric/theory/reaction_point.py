"""One DCQCN reaction point under independent marks: the algorithm itself, event by event, without a network.

The fluid equations (dcqcn.py) cut the rate by the probability that an interval of tau has a mark, and restart
the timers at every mark. The algorithm restarts them at a CNP, and the notification point sends none for tau
after the last: increases come more often, so more marks are needed to hold the same rate. This function simulates
exactly that: marks are Bernoulli with a constant p, without queue or delay, with one CNP per tau.
Source: Zhu et al., SIGCOMM 2015, sections 3 and 5.1.
Errors: statistical, about 1 % for the default duration.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from fabric.theory.dcqcn import Fluid

_HYPER_OVER_ADDITIVE: Final = 5
_SETTLE: Final = 0.1
"""Share of the time that is not counted."""


@dataclass
class _Point:
    """Rates in packets a second."""

    rate: float
    target: float
    line: float
    alpha: float = 0.1
    byte_stage: int = 0
    time_stage: int = 0
    counted: float = 0.0

    def increase(self, fluid: Fluid) -> None:
        """One stage of fast recovery, additive or hyper increase."""
        if max(self.time_stage, self.byte_stage) >= fluid.steps:
            hyper = min(self.time_stage, self.byte_stage) > fluid.steps
            self.target = min(self.target + fluid.additive_pps * (_HYPER_OVER_ADDITIVE if hyper else 1), self.line)
        self.rate = min((self.rate + self.target) / 2, self.line)

    def cut(self, fluid: Fluid) -> None:
        """A CNP. The target follows only if an increase came since the last one."""
        if self.time_stage or self.byte_stage:
            self.target = self.rate
        self.rate = max(self.rate * (1 - self.alpha / 2), fluid.additive_pps)
        self.alpha += fluid.gain_ratio * (1 - self.alpha)
        self.time_stage = self.byte_stage = 0
        self.counted = 0.0


def mean_rate_pps(fluid: Fluid, probability: float, duration_s: float, seed: int = 1) -> float:
    """Mean rate of a flow whose packets are marked independently with `probability`."""
    draw = random.Random(seed)
    point = _Point(fluid.capacity_pps / 2, fluid.capacity_pps / 2, fluid.capacity_pps)
    keep = math.log1p(-probability)
    now = silent_until = sent = 0.0
    alpha_at, increase_at = fluid.alpha_s, fluid.increase_s
    begin = _SETTLE * duration_s

    def to_mark() -> float:
        return 1.0 + math.floor(math.log(draw.random()) / keep)

    mark_in = to_mark()  # packets until the next mark
    while now < duration_s:
        silent_pkts = max(silent_until - now, 0.0) * point.rate
        mark_at = now + (silent_pkts + mark_in) / point.rate
        byte_at = now + (fluid.byte_counter_pkts - point.counted) / point.rate
        then = min(mark_at, byte_at, alpha_at, increase_at)
        packets = (then - now) * point.rate
        # Marks are memoryless, so those of the silent time need not be drawn: counting starts when it ends.
        mark_in = max(mark_in - max(packets - silent_pkts, 0.0), 0.0)
        point.counted += packets
        sent += packets if now >= begin else 0.0
        now = then
        if then == mark_at:
            point.cut(fluid)
            silent_until, alpha_at, increase_at = now + fluid.cnp_s, now + fluid.alpha_s, now + fluid.increase_s
            mark_in = to_mark()
        elif then == alpha_at:
            point.alpha *= 1 - fluid.gain_ratio
            alpha_at += fluid.alpha_s
        elif then == increase_at:
            point.time_stage += 1
            increase_at += fluid.increase_s
            point.increase(fluid)
        else:
            point.counted = 0.0
            point.byte_stage += 1
            point.increase(fluid)
    return sent / (duration_s - begin)


@lru_cache(maxsize=64)
def probability_for(fluid: Fluid, flows: int, duration_s: float = 3.0) -> float:
    """The marking probability at which the flow averages C/N (bisection with common random numbers)."""
    fair = fluid.capacity_pps / flows
    low, high = 1e-5, 0.3
    for _ in range(12):
        middle = math.sqrt(low * high)
        if mean_rate_pps(fluid, middle, duration_s) > fair:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)

"""Swift's steady state: N equal flows on one link, whose delay is held at the target.

Source: Kumar et al., SIGCOMM 2020, sections 3.1 and 3.5. The windows of N flows fill the link for the time of the
delay, so with the capacity C in packets per second and the target T(w) of a window w

    N w = C T(w),    T(w) = base + hops x per hop + max(0, min(a / sqrt(w) + b, range))
    a = range / (1 / sqrt(w_min) - 1 / sqrt(w_max)),    b = -a / sqrt(w_max)

T falls with w, so there is one w. Around it the delay swings: N flows add ai packets in a round trip, which delays by
N ai / C, and then cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DelayTarget:
    """One link and the flows on it; times in seconds, windows in packets."""

    flows: int
    capacity_pps: float
    base_s: float
    """Base target and that of all hops."""
    range_s: float
    least_pkts: float
    largest_pkts: float
    increment_pkts: float

    def target_s(self, window_pkts: float) -> float:
        """T(w)."""
        span = 1 / math.sqrt(self.least_pkts) - 1 / math.sqrt(self.largest_pkts)
        scaled = self.range_s / span * (1 / math.sqrt(window_pkts) - 1 / math.sqrt(self.largest_pkts))
        return self.base_s + max(0.0, min(scaled, self.range_s))

    @property
    def window_pkts(self) -> float:
        """w of the steady state, to 1e-9 of itself."""
        low, high = 1e-6, self.capacity_pps * (self.base_s + self.range_s) / self.flows
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            enough = self.flows * middle >= self.capacity_pps * self.target_s(middle)
            low, high = (low, middle) if enough else (middle, high)
        return (low + high) / 2

    @property
    def delay_s(self) -> float:
        """Delay of the steady state: T(w)."""
        return self.target_s(self.window_pkts)

    @property
    def swing_s(self) -> float:
        """What one round trip of increases adds to the delay."""
        return self.flows * self.increment_pkts / self.capacity_pps

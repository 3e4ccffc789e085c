"""DCTCP's sawtooth: N equal, synchronised flows on one link that marks above K.

Source: Alizadeh et al., SIGCOMM 2010, section 3.3, in packets. With C the capacity, RTT the base round-trip time and
W* = (C RTT + K) / N the window at which the queue reaches K:

    alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* + 1)^2        marked share of one cycle, equation (6)
    D     = (W* + 1) alpha / 2                             reduction of one window by a cut, equation (8)
    Q_max = K + N                                          equation (10)
    A     = N D                                            amplitude of the queue, equations (9)
    Q_min = Q_max - A                                      equation (11)
    T     = D                                              length of a cycle in round trips

The paper approximates alpha by sqrt(2 / W*); here alpha is the root, to 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sawtooth:
    """One link and the flows on it."""

    flows: int
    bdp_pkts: float
    """C RTT: capacity times base round-trip time."""
    threshold_pkts: float
    """K."""

    @property
    def window_pkts(self) -> float:
        """W*: the window of one flow when marking begins."""
        return (self.bdp_pkts + self.threshold_pkts) / self.flows

    @property
    def alpha(self) -> float:
        """The share of packets that are marked in one cycle. Domain: W* of at least 2."""
        wanted = (2 * self.window_pkts + 1) / (self.window_pkts + 1) ** 2
        low, high = 0.0, 2.0
        while high - low > 1e-12:
            middle = (low + high) / 2
            low, high = (middle, high) if middle * middle * (1 - middle / 4) < wanted else (low, middle)
        return (low + high) / 2

    @property
    def cut_pkts(self) -> float:
        """D: reduction of one window by a cut, and so the length of a cycle in round trips."""
        return (self.window_pkts + 1) * self.alpha / 2

    @property
    def peak_pkts(self) -> float:
        """Q_max."""
        return self.threshold_pkts + self.flows

    @property
    def amplitude_pkts(self) -> float:
        """A."""
        return self.flows * self.cut_pkts

    @property
    def trough_pkts(self) -> float:
        """Q_min; below 0: the link idles for a part of the cycle."""
        return self.peak_pkts - self.amplitude_pkts

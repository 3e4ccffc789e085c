"""Parameters of congestion controls that read round trips or telemetry; rates in bit/s, times in ns.

DCQCN's and DCTCP's are in params.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimelyParams:
    """TIMELY at the sender."""

    gain_ratio: float
    """alpha: weight of one window's change in the slope."""
    beta_ratio: float
    low_rtt_ns: int
    """T_low: below it the rate always rises."""
    high_rtt_ns: int
    """T_high: above it the rate always falls."""
    min_rtt_ns: int
    """What the slope is divided by."""
    additive_bps: int
    hyper_bps: int
    min_rate_bps: int

    def config_values(self) -> dict[str, float]:
        """By field of State.config."""
        return {
            "gain": self.gain_ratio,
            "beta": self.beta_ratio,
            "low_rtt_ns": self.low_rtt_ns,
            "high_rtt_ns": self.high_rtt_ns,
            "min_rtt_ns": self.min_rtt_ns,
            "additive_bps": self.additive_bps,
            "hyper_bps": self.hyper_bps,
            "min_rate_bps": self.min_rate_bps,
        }


@dataclass(frozen=True, slots=True)
class HpccParams:
    """HPCC at the sender, and the units of its telemetry."""

    target_ratio: float
    """eta: the load that the fullest hop is held at."""
    additive_bps: int
    min_rate_bps: int
    increase_stages: int
    """Additive increases in a row before the next multiplicative one (maxStage, MI_THRESH)."""
    fast_react: bool
    multi_rate: bool
    sample_feedback: bool
    multiple: int
    """Telemetry counts bytes in units of 128 and queues in units of 80 bytes times this (INT_MULTI)."""
    base_rtt_ns: int
    """T, of queue pairs that have none."""
    window_bytes: int
    """Window at line rate of queue pairs that have none."""

    def config_values(self) -> dict[str, float]:
        """By field of State.config."""
        return {
            "load_target": self.target_ratio,
            "additive_bps": self.additive_bps,
            "min_rate_bps": self.min_rate_bps,
            "increase_stages": self.increase_stages,
            "fast_react": self.fast_react,
            "multi_rate": self.multi_rate,
            "sample_feedback": self.sample_feedback,
            "int_multiple": self.multiple,
            "int_shift": self.multiple.bit_length() - 1 if self.multiple.bit_count() == 1 else -1,
        }


@dataclass(frozen=True, slots=True)
class PintParams:
    """HPCC-PINT at the sender and in switches."""

    target_ratio: float
    """eta: the load that the fullest hop is held at."""
    additive_bps: int
    min_rate_bps: int
    increase_stages: int
    """As in HpccParams."""
    log_base_ratio: float
    """Base of the code's logarithm: a step of the code is this factor."""
    probability_ratio: float
    """Share of ACKs that are used."""
    base_rtt_ns: int
    """T of every switch."""

    def config_values(self) -> dict[str, float]:
        """By field of State.config."""
        bits = math.ceil(math.log2(math.log(512 * 512) / math.log(self.log_base_ratio)))
        return {
            "load_target": self.target_ratio,
            "additive_bps": self.additive_bps,
            "min_rate_bps": self.min_rate_bps,
            "increase_stages": self.increase_stages,
            "code_base": self.log_base_ratio,
            "code_scale": 1 / math.log(self.log_base_ratio),
            "code_mask": (1 << 8 * -(-bits // 8)) - 1,
            "accepted": int(65536 * self.probability_ratio),
            "span_ns": self.base_rtt_ns,
            "radix": 2.0,
            "notes_departures": 1,
        }


@dataclass(frozen=True, slots=True)
class CubicParams:
    """CUBIC at the sender (RFC 9438)."""

    beta_ratio: float
    """What a cut leaves of the window."""
    scale: float
    """C, packets per cubic second."""
    first_window_pkts: float
    fast_convergence: bool

    def config_values(self) -> dict[str, float]:
        """By field of State.config."""
        return {
            "beta": self.beta_ratio,
            "cubic_scale": self.scale,
            "first_window": self.first_window_pkts,
            "fast_convergence": self.fast_convergence,
        }


@dataclass(frozen=True, slots=True)
class SwiftParams:
    """Swift at the sender; windows in packets."""

    base_target_ps: int
    hop_target_ps: int
    flow_range_ps: int
    flow_min_pkts: float
    flow_max_pkts: float
    """Between these windows flow scaling goes from its range to 0."""
    host_target_ps: int
    increment_pkts: float
    beta_ratio: float
    largest_cut_ratio: float
    least_window_pkts: float
    base_rtt_ns: int
    """The first window is this time of line rate."""

    @property
    def flow_scale_ps(self) -> float:
        """alpha of section 3.5."""
        return self.flow_range_ps / (1 / math.sqrt(self.flow_min_pkts) - 1 / math.sqrt(self.flow_max_pkts))

    def largest_target_ps(self, hops: int) -> int:
        """Target of a path of that many switches for the least window."""
        return self.base_target_ps + hops * self.hop_target_ps + self.flow_range_ps

    def config_values(self) -> dict[str, float]:
        """By field of State.config."""
        return {
            "base_target_ps": self.base_target_ps,
            "hop_target_ps": self.hop_target_ps,
            "host_target_ps": self.host_target_ps,
            "flow_range_ps": self.flow_range_ps,
            "flow_scale_ps": self.flow_scale_ps,
            "flow_offset_ps": -self.flow_scale_ps / math.sqrt(self.flow_max_pkts),
            "increment_pkts": self.increment_pkts,
            "beta": self.beta_ratio,
            "largest_cut": self.largest_cut_ratio,
            "least_window": self.least_window_pkts,
            "span_ns": self.base_rtt_ns,
        }

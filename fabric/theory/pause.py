"""PFC arithmetic: thresholds, pause time of a frame, propagation of a pause, watchdog timing (headroom: headroom.py).

All values are integers or exact fractions with units in their names. Each function cites its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from fabric.theory.headroom import QUANTUM_BITS

MAX_QUANTA: Final = 65_535


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """A shared-memory switch as in section 4 of the DCQCN paper (Zhu et al., SIGCOMM 2015)."""

    memory_bytes: int
    ports: int
    priorities: int
    flight_bytes: int
    """Bytes that still arrive after a PAUSE: the headroom of each priority of each port."""

    @property
    def shareable_bytes(self) -> int:
        """B - 8 n t_flight: memory without headroom."""
        return self.memory_bytes - self.ports * self.priorities * self.flight_bytes


def static_pause_threshold_bytes(buffer: SharedBuffer) -> Fraction:
    """t_PFC <= (B - 8 n t_flight) / (8 n): every queue of every port may fill at once."""
    return Fraction(buffer.shareable_bytes, buffer.ports * buffer.priorities)


def naive_marking_bound_bytes(buffer: SharedBuffer) -> Fraction:
    """t_ECN < t_PFC / n: all ports' traffic to one egress may come in evenly, each ingress just below its threshold."""
    return static_pause_threshold_bytes(buffer) / buffer.ports


def dynamic_marking_bound_bytes(buffer: SharedBuffer, beta: Fraction | int) -> Fraction:
    """t_ECN < beta (B - 8 n t_flight) / (8 n (beta + 1)) with t_PFC = beta (B - 8 n t_flight - s) / 8."""
    return Fraction(beta) * buffer.shareable_bytes / (buffer.priorities * buffer.ports * (beta + 1))


def dynamic_limit_bytes(pool_bytes: int, alpha: Fraction, groups: int = 1) -> Fraction:
    """Use of each of `groups` equally filled groups once it reaches alpha * (free bytes): alpha B / (1 + groups alpha).

    Source: Choudhury and Hahne, IEEE/ACM Transactions on Networking 1998, dynamic threshold in equilibrium.
    """
    return alpha * pool_bytes / (1 + groups * alpha)


def charges_until_pause(pool_bytes: int, alpha: Fraction, charge_bytes: int) -> int:
    """Admissions of `charge_bytes` after which the only group in use pauses: the first k with
    k c >= floor(alpha (B - k c)), as switches shift the free bytes.
    """
    k = int(dynamic_limit_bytes(pool_bytes, alpha)) // charge_bytes
    while k * charge_bytes < int(alpha * (pool_bytes - k * charge_bytes)):
        k += 1
    while k > 1 and (k - 1) * charge_bytes >= int(alpha * (pool_bytes - (k - 1) * charge_bytes)):
        k -= 1
    return k


def pause_time_s(rate_bps: int, quanta: int = MAX_QUANTA) -> float:
    """How long one XOFF frame holds a class (802.3 annex 31B)."""
    return quanta * QUANTUM_BITS / rate_bps


def frames_per_second_to_hold(rate_bps: int, quanta: int = MAX_QUANTA) -> float:
    """XOFF frames a second that keep a class paused without a gap."""
    return 1.0 / pause_time_s(rate_bps, quanta)


def paused_share(rate_bps: int, frames_per_second: float, quanta: int = MAX_QUANTA) -> float:
    """Share of time for which evenly spaced XOFF frames hold a class: the link leaks the rest."""
    return min(frames_per_second * pause_time_s(rate_bps, quanta), 1.0)


def climb_s(threshold_bytes: float, arrival_bps: float) -> float:
    """How long a hop whose egress is stopped takes to pause its own upstream hop: its threshold at the arrival rate."""
    return threshold_bytes * 8 / arrival_bps


def watchdog_declares_ps(storm_ps: int, poll_ps: int, detection_ps: int) -> int:
    """When a watchdog that polls at whole multiples of poll_ps declares a storm that begins at storm_ps.

    ceil(detection / poll) polls in a row must find the condition (sonic-swss pfc_detect_broadcom.lua, _mellanox.lua).
    The first poll inside the storm cannot: it asks for a queue paused at the poll before, or all the time since.
    So a storm is declared at the latest detection + poll after it began, for a detection of whole polls.
    """
    return (-(-storm_ps // poll_ps) + -(-detection_ps // poll_ps)) * poll_ps


def watchdog_restores_ps(last_pause_ps: int, poll_ps: int, restoration_ps: int) -> int:
    """When a stormed queue is restored whose last PAUSE frame came at last_pause_ps: ceil(restoration / poll) silent
    intervals after the one that saw it (pfc_restore.lua).
    """
    return (-(-last_pause_ps // poll_ps) + -(-restoration_ps // poll_ps)) * poll_ps


def last_frame_ps(begin_ps: int, end_ps: int, gap_ps: int) -> int:
    """The last of the frames sent at begin, begin + gap, ... before end."""
    return begin_ps + (end_ps - 1 - begin_ps) // gap_ps * gap_ps

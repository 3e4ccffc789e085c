"""PFC arithmetic: thresholds, headroom in flight, pause time of a frame, how fast a pause climbs, watchdog timing.

All in integers or exact fractions; units in the names. Sources stand at each function.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

PS_PER_S: Final = 10**12
QUANTUM_BITS: Final = 512
"""IEEE 802.3 annex 31B: a pause quantum is 512 bit times."""
MAX_QUANTA: Final = 65_535


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """A shared-memory switch as in section 4 of the DCQCN paper (Zhu et al., SIGCOMM 2015)."""

    memory_bytes: int
    ports: int
    priorities: int
    flight_bytes: int
    """What still arrives after a PAUSE: the headroom of each priority of each port."""

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


@dataclass(frozen=True, slots=True)
class PausedHop:
    """One cable and its two ends, for the time from a threshold's crossing to the last frame that still comes."""

    rate_bps: int
    delay_ps: int
    """One-way propagation."""
    response_ps: int
    """The peer's, from the last bit of the PAUSE frame to the stop."""
    latency_ps: int
    """From a frame's last bit to its admission at the receiver."""
    frame_wire_bytes: int
    """A data frame, overhead included; the peer sends these back to back."""
    pause_wire_bytes: int


def frames_after_pause(hop: PausedHop) -> int:
    """Frames admitted after the one that caused XOFF, with back-to-back arrivals and the reverse direction idle.

    A frame is sent if it starts before the PAUSE acts: tau_pause + delay + response after the crossing. The frame
    admitted k frame times after the crossing started k tau - (latency + delay + tau) after it. So the last has the
    greatest k with (k - 1) tau < tau_pause + 2 delay + response + latency (802.1Q annex N, without interface delays).
    """
    frame_ps = Fraction(hop.frame_wire_bytes * 8 * PS_PER_S, hop.rate_bps)
    reaction_ps = (
        Fraction(hop.pause_wire_bytes * 8 * PS_PER_S, hop.rate_bps)
        + 2 * hop.delay_ps
        + hop.response_ps
        + (hop.latency_ps)
    )
    return -(-reaction_ps // frame_ps)


@dataclass(frozen=True, slots=True)
class SonicPlatform:
    """Constants of sonic-buildimage platform/mellanox/asic_table.j2."""

    cell_bytes: int
    mac_phy_bytes: float
    quanta: int
    """Peer response by speed, in pause quanta; or see peer_bytes."""
    peer_bytes: float | None = None
    """Older tables: a fixed peer response instead of quanta."""
    tile_ps: int = 0
    round_factor_up: bool = True
    """cell / 64 rounded up to whole cells per 64-byte packet."""


def sonic_headroom_bytes(
    platform: SonicPlatform,
    rate_bps: int,
    cable_m: int,
    port_mtu_bytes: int,
    lossless_mtu_bytes: int = 1024,
    small_packet_percent: int = 100,
) -> int:
    """BUFFER_PROFILE.xoff as SONiC computes it (sonic-swss cfgmgr/buffer_headroom_mellanox.lua lines 120-199).

    Speed of light in the cable is 1.98e8 m/s there; results are rounded up to 1024 bytes.
    """
    cable = 2 * cable_m * rate_bps / 198e6 / 8
    peer = platform.quanta * QUANTUM_BITS / 8 if platform.peer_bytes is None else platform.peer_bytes
    propagation = port_mtu_bytes + cable + platform.mac_phy_bytes + peer + platform.tile_ps * rate_bps / PS_PER_S / 8
    cells = platform.cell_bytes / 64
    worst = -(-platform.cell_bytes // 64) if platform.round_factor_up else cells
    if platform.cell_bytes <= 2 * 64:
        worst = 2 * platform.cell_bytes / (1 + platform.cell_bytes)
        worst = -(-worst // 1) if platform.round_factor_up else worst
    small = 100 * 64 / ((small_packet_percent * 64 + (100 - small_packet_percent) * lossless_mtu_bytes) / 100)
    occupancy = (100 - small + small * worst) / 100
    return -int(-(lossless_mtu_bytes + propagation * occupancy) // 1024) * 1024


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

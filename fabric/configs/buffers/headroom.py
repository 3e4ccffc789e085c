"""How much a port must still take after it has asked its peer to stop: bounds, and the vendors' formulas.

The arithmetic is that of `fabric.theory.headroom`, which names every term; here are four sets of its terms that every
shipped table is above or below for a physical reason (`Bounds`), the case that `fabric run` assumes (`hop_of`), and
the vendors' own formulas where they are published. There is no single right value: vendors multiply by how badly small
packets fill their buffer cells, and shipped tables differ by a factor of nine at 400G and 40 m.

Units: bytes, Mb/s, metres. Rounding of vendors' formulas is theirs: up to 1024 bytes.
Source: sonic-swss cfgmgr/buffer_headroom_mellanox.lua; SONiC HLD "dynamically headroom"; IEEE 802.1Q (Qbb) annex.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from fabric.theory.headroom import (
    ANNEX,
    ASSUMED_LATENCY_PS,
    ASSUMED_RESPONSE,
    FEC_PS,
    FIBRE_PS_PER_M,
    MACSEC_PS,
    PAUSE_WIRE_BYTES,
    QUANTUM_BITS,
    WIRE_OVERHEAD_BYTES,
    Hop,
    need_bytes,
    response_bound,
    response_ps,
    response_quanta,
)
from fabric.theory.headroom import nic_xoff_bytes as nic_reserve
from fabric.units import format_time_ps

MBPS: Final = 10**6
PFC_FRAME_BYTES: Final = PAUSE_WIRE_BYTES
FRAME_OVERHEAD_BYTES: Final = 42
"""Ethernet header, VLAN tag, FCS, preamble and gap around an MTU."""
SMALL_MTU_BYTES: Final = 1500
ROCE_FRAME_BYTES: Final = 4220
"""RoCE MTU 4096 with its headers (IPv6, a VLAN tag), preamble and gap."""
ROCE_MTU_BYTES: Final = 4096
ROCE_HEADERS_BYTES: Final = 78
"""Of a RoCEv2 packet over IPv4: Ethernet, IP, UDP, BTH, RETH, ICRC, FCS."""
_LIGHT_M_PER_S: Final = 198_000_000
"""The speed of light in fibre as SONiC has it, 5.05 ns/m; the bounds use 5 ns/m."""


def quanta_bytes(speed_mbps: int) -> int:
    """What a peer may still send before it obeys a pause; the next higher speed's value where the standard has none."""
    return response_quanta(speed_mbps * MBPS) * QUANTUM_BITS // 8


def cable_bytes(speed_mbps: int, cable_m: int) -> int:
    """Bytes on both directions of a cable at 5 ns/m: 1.25 B per metre and Gb/s."""
    return -(-2 * cable_m * FIBRE_PS_PER_M * speed_mbps // 8_000_000)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Four levels below which a headroom is wrong, or relies on something.

    a: lost even if no frame is longer than 1500 B. b: lost if the local frame is a jumbo frame and RoCE uses 4096 B.
    c: lost if both frames are jumbo frames. d: lost if the peer takes as long to stop as 802.3 allows.
    Of 2722 shipped rows (25G and more, up to 500 m) 0, 11, 206 and 774 are below a, b, c and d.
    """

    a: int
    b: int
    c: int
    d: int


@lru_cache(maxsize=4096)
def bounds(speed_mbps: int, cable_m: int, mtu: int) -> Bounds:
    """The four bounds of a link; `mtu` is the larger one of its two ends."""
    frame = mtu + FRAME_OVERHEAD_BYTES
    small = min(mtu, SMALL_MTU_BYTES) + FRAME_OVERHEAD_BYTES

    def level(here: int, there: int, *without: str) -> int:
        return need_bytes(bounds_hop(speed_mbps, cable_m, here, there, *without))

    return Bounds(
        a=level(small, small, "response"),
        b=level(frame, min(ROCE_FRAME_BYTES, frame), "response"),
        c=level(frame, frame, "response"),
        d=level(frame, frame),
    )


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What no configuration states and a headroom depends on. The defaults are those of a scenario."""

    response: int | str = ASSUMED_RESPONSE
    """'half' or 'worst' of the 802.3 limit, or ps."""
    latency_ps: int = ASSUMED_LATENCY_PS
    frame_bytes: int | None = None
    """Longest frame of the lossless class, with FCS; None: of the RoCE MTU."""
    least_frame_bytes: int | None = None
    """Shortest one; None: all frames are the longest."""

    @property
    def text(self) -> str:
        """'the peer stops in half of the 802.3 limit, reception takes 600ns'."""
        words = {"half": "half of the 802.3 limit", "worst": "the 802.3 limit"}
        given = self.response
        stops = words[given] if isinstance(given, str) else format_time_ps(given) if given else "no time"
        takes = format_time_ps(self.latency_ps) if self.latency_ps else "no time"
        return f"the peer stops in {stops}, reception takes {takes}"


def annex_bytes(speed_mbps: int, cable_m: int, mtu: int, *, fec: bool, macsec: bool) -> int:
    """Bound D, and the delay of FEC and MACsec at both ends."""
    coding = bounds_hop(speed_mbps, cable_m, mtu + FRAME_OVERHEAD_BYTES, mtu + FRAME_OVERHEAD_BYTES)
    return need_bytes(replace(coding, coding_ps=coding_ps(fec=fec, macsec=macsec), without=ANNEX - {"coding"}))


def coding_ps(*, fec: bool, macsec: bool) -> int:
    """FEC and MACsec of both ends."""
    return 2 * (FEC_PS * fec + MACSEC_PS * macsec)


def bounds_hop(speed_mbps: int, cable_m: int, here: int, there: int, *without: str) -> Hop:
    """A bound's frames, in bytes on the wire: the one being sent here, and the one just begun there."""
    rate_bps, last = speed_mbps * MBPS, there - WIRE_OVERHEAD_BYTES
    return Hop(
        rate_bps,
        cable_m * FIBRE_PS_PER_M,
        response_bound(rate_bps),
        here - WIRE_OVERHEAD_BYTES,
        last,
        last,
        without=ANNEX | set(without),
    )


def hop_of(
    speed_mbps: int,
    cable_m: int,
    mtu: int,
    assumed: Assumptions,
    *,
    cell_bytes: int | None = None,
    roce_mtu: int = ROCE_MTU_BYTES,
    fec: bool = False,
    macsec: bool = False,
    other_classes: int = 0,
    without: frozenset[str] = frozenset(),
) -> Hop:
    """The case of a link under assumptions. `mtu` is this port's; a chip without known cells counts bytes."""
    rate_bps = speed_mbps * MBPS
    longest = assumed.frame_bytes or min(roce_mtu + ROCE_HEADERS_BYTES, mtu + FRAME_OVERHEAD_BYTES)
    return Hop(
        rate_bps,
        cable_m * FIBRE_PS_PER_M,
        response_bound(rate_bps) if assumed.response == "worst" else response_ps(assumed.response, rate_bps),
        mtu + FRAME_OVERHEAD_BYTES - WIRE_OVERHEAD_BYTES,
        longest,
        min(assumed.least_frame_bytes or longest, longest),
        cell_bytes or 1,
        assumed.latency_ps,
        coding_ps(fec=fec, macsec=macsec),
        other_classes,
        without,
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One line of pg_profile_lookup.ini, or what the formula gives in its place."""

    speed_mbps: int
    cable_m: int
    size_bytes: int
    xon_bytes: int
    xoff_bytes: int
    threshold: int
    """dynamic_th or static_th, as the pool's mode has it."""
    xon_offset_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Asic:
    """Constants of the formula for one chip or table, as published in asic_table.j2 or found to reproduce the table."""

    cell_factor: float
    """Buffer taken per byte of 64-byte packets: cells a packet occupies over its length."""
    small_percent: int
    """Share of small packets the table assumes."""
    lossless_mtu: int
    port_mtu: int
    peer_bytes: float | None
    """The peer's response; None takes the standard's pause quanta."""
    tile: bool
    """Spectrum-4 and later add 120 ns of pipeline."""
    pipeline_bytes: int
    pipeline_8_lanes_bytes: int
    shared_headroom: bool
    size_8_lanes_bytes: int = 0
    slow_peer_mbps: int | None = None
    """A speed at which the peer is given twice the standard's quanta."""
    extra_bytes: int = 0
    """Added to every xoff."""
    share_as_stated: bool = False
    """small_percent is taken as a share of bytes, not turned into one (Tofino)."""
    cable_divisor: int = 8000
    """Bits to bytes on the cable; 8192 where the script divides by 8 x 1024 (Tofino)."""


@dataclass(frozen=True, slots=True)
class Term:
    """One addend of a headroom."""

    name: str
    bytes: float
    formula: str


MAC_PHY_BYTES: Final = 0.8 * 1024
_TILE_NS: Final = 120


def _ceil_1024(value: float) -> int:
    return -int(-value // 1024) * 1024


def propagation_terms(asic: Asic, speed_mbps: int, cable_m: int, port_mtu: int, gearbox_bytes: int = 0) -> list[Term]:
    """What is multiplied by the cell occupancy, in the order of the source."""
    cable = 2 * cable_m * speed_mbps * 1_000_000_000 / _LIGHT_M_PER_S / asic.cable_divisor
    twice = 2 if speed_mbps == asic.slow_peer_mbps else 1
    peer = float(twice * quanta_bytes(speed_mbps)) if asic.peer_bytes is None else asic.peer_bytes
    rule = (
        "3.8 KB, older than the quanta"
        if asic.peer_bytes is not None
        else ("2 x " if twice == 2 else "") + "pause quanta of 802.3 annex 31B x 64 B"
    )
    terms = [
        Term("local frame", float(port_mtu), "port MTU: the pause frame waits for it"),
        Term(
            "cable, both ways",
            cable,
            "2 x length x rate / 198e6 m/s"
            + ("" if asic.cable_divisor == 8000 else f", bits over {asic.cable_divisor} as the script has it"),
        ),
        Term("gearbox, both ends", 2.0 * gearbox_bytes, "2 x gearbox delay"),
        Term("MAC and PHY", MAC_PHY_BYTES, "0.8 KB"),
        Term("peer response", peer, rule),
    ]
    if asic.tile:
        terms.append(Term("pipeline tile", speed_mbps / 1000 * _TILE_NS / 8, "120 ns at line rate"))
    return terms


def occupancy(asic: Asic, small_percent: int, lossless_mtu: int) -> float:
    """Buffer bytes taken per byte received, for a mix of 64-byte and full packets.

    The share of small bytes is not multiplied by small_percent in the source, which doubles it at 50 %; kept here,
    because the shipped tables contain it.
    """
    mixed = (small_percent * 64 + (100 - small_percent) * lossless_mtu) / 100
    small = float(small_percent) if asic.share_as_stated else 100 * 64 / mixed
    return (100 - small + small * asic.cell_factor) / 100


def vendor_row(
    asic: Asic,
    speed_mbps: int,
    cable_m: int,
    *,
    eight_lanes: bool = False,
    port_mtu: int | None = None,
    lossless_mtu: int | None = None,
    small_percent: int | None = None,
    gearbox_bytes: int = 0,
    threshold: int = 0,
    shared_headroom: bool | None = None,
) -> Row:
    """The formula's row for a speed and cable; what is None is as in the vendor's own table.

    Source: buffer_headroom_mellanox.lua lines 120-199, buffer_headroom_barefoot.lua.
    """
    mtu = asic.port_mtu if port_mtu is None else port_mtu
    inner = asic.lossless_mtu if lossless_mtu is None else lossless_mtu
    share = asic.small_percent if small_percent is None else small_percent
    shared = asic.shared_headroom if shared_headroom is None else shared_headroom
    terms = propagation_terms(asic, speed_mbps, cable_m, mtu, gearbox_bytes)
    exact = inner + sum(term.bytes for term in terms) * occupancy(asic, share, inner) + asic.extra_bytes
    xon = asic.pipeline_8_lanes_bytes if eight_lanes else asic.pipeline_bytes
    # The sum is rounded once, from the exact headroom: rounding xoff first misses three shipped 800G rows by 1 KB.
    size = xon if shared else _ceil_1024(exact + xon + (asic.size_8_lanes_bytes if eight_lanes else 0))
    return Row(speed_mbps, cable_m, size, xon, _ceil_1024(exact), threshold)


def nic_xoff_bytes(speed_mbps: int, cable_m: int, mtu: int) -> int:
    """What mlx5 NICs reserve per lossless buffer (fabric.theory.headroom)."""
    return nic_reserve(speed_mbps * MBPS, cable_m * FIBRE_PS_PER_M, mtu)

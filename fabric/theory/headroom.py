"""The headroom of a lossless priority group: one closed form, term by term, for every part of the product.

From the moment at which a group reaches its limit until its peer has stopped, bytes arrive for the time of

    cable, both ways            own     a frame that this port has begun to send: XOFF does not interrupt it
    pause   the XOFF frame      others  XOFF and XON frames of other classes that go first
    response  of the peer       latency from a frame's last bit to its admission here
    coding  FEC, MACsec

and beside them

    limit   the frame that reaches the limit: what does not fit below the limit goes into headroom whole
    last    the frame that the peer has begun when it stops: it is sent to its end
    cells   a frame takes whole cells, and less than a frame does not arrive

With frames of one size this is exact: (ceil(bytes of the time / frame on the wire) + 1) frames in whole cells. With a
mix of sizes every byte may arrive in the frames that fill cells worst, and `limit` and `last` are the longest frame.

Sources: IEEE 802.1Q annex on PFC buffer requirements (formerly 802.1Qbb annex O); response: IEEE 802.3 annex 31B.3.7.
`limit` is a rule of this emulator's switches (fabric/dataplane/switch/buffer.py rule 2), the annex has no such term.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

PS_PER_S: Final = 10**12
QUANTUM_BITS: Final = 512
"""IEEE 802.3 annex 31B: a pause quantum is 512 bit times."""
RESPONSE_QUANTA: Final = {
    10**9: 2,
    10 * 10**9: 67,
    25 * 10**9: 80,
    40 * 10**9: 118,
    50 * 10**9: 147,
    100 * 10**9: 394,
    200 * 10**9: 453,
    400 * 10**9: 905,
    800 * 10**9: 905,
}
"""Quanta within which a peer must stop, by bit/s (31B.3.7; 800G: 400G's, as in buffer_headroom_mellanox.lua)."""
LARGEST_IN_ANNEX_BPS: Final = 400 * 10**9
WIRE_OVERHEAD_BYTES: Final = 20
"""Preamble, start delimiter, inter-packet gap."""
PAUSE_WIRE_BYTES: Final = 64 + WIRE_OVERHEAD_BYTES
LEAST_FRAME_BYTES: Final = 64
FIBRE_PS_PER_M: Final = 5_000
ASSUMED_RESPONSE: Final = "half"
"""Response of a peer of which nothing is known: half of the 802.3 limit (*assumed*: peers do better than it)."""
ASSUMED_LATENCY_PS: Final = 600_000
"""Reception in a switch of which nothing is known (*assumed*: mid-range of data-sheet port-to-port latencies)."""
FEC_PS, MACSEC_PS = 100_000, 500_000
"""RS-FEC (KP4) and a MACsec engine of one end (SONiC HLD dynamically headroom)."""

REACTION: Final = ("cable", "own", "pause", "others", "response", "latency", "coding")
"""Terms that are a time on the wire."""
TERMS: Final = (*REACTION, "limit", "last", "cells")
ANNEX: Final = frozenset({"others", "latency", "coding", "limit", "cells"})
"""Terms that the bounds of IEEE 802.1Q do without."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A cable, the port that asks for a pause, and the peer that has to stop. Frame sizes include the FCS."""

    rate_bps: int
    delay_ps: int
    """One-way propagation."""
    response_ps: int | Fraction
    """Peer: from the last bit of XOFF to the stop."""
    own_frame_bytes: int
    """Longest frame of any class that this port sends."""
    frame_bytes: int
    """Longest frame of the paused class."""
    least_frame_bytes: int
    """Shortest frame of the paused class."""
    cell_bytes: int = 1
    latency_ps: int = 0
    coding_ps: int = 0
    """FEC and MACsec: both ends together."""
    other_classes: int = 0
    """Further classes that this port pauses."""
    without: frozenset[str] = frozenset()
    """TERMS that are left out."""

    @property
    def one_size(self) -> bool:
        """Whether all frames of the paused class are equal."""
        return self.least_frame_bytes == self.frame_bytes

    def time_ps(self, term: str) -> Fraction:
        """Time of one of REACTION; 0 where it is left out."""
        if term in self.without:
            return Fraction(0)
        own, pauses = self.own_frame_bytes + WIRE_OVERHEAD_BYTES, self.other_classes * PAUSE_WIRE_BYTES
        sent = {"own": own, "pause": PAUSE_WIRE_BYTES, "others": pauses}
        if term in sent:
            return Fraction(sent[term] * 8 * PS_PER_S, self.rate_bps)
        times = {
            "cable": 2 * self.delay_ps,
            "response": self.response_ps,
            "latency": self.latency_ps,
            "coding": self.coding_ps,
        }
        return Fraction(times[term])

    def bytes_in(self, time_ps: Fraction | int) -> Fraction:
        """Bytes on the wire in a time."""
        return Fraction(time_ps * self.rate_bps, 8 * PS_PER_S)


@dataclass(frozen=True, slots=True)
class Term:
    """One addend of a headroom. The bytes of all terms add up to need_bytes()."""

    key: str
    """One of TERMS."""
    name: str
    bytes: int
    """`cells` may be negative: with frames of one size, less than a whole frame does not arrive."""
    ns: float | None
    """None: no time on the wire."""
    source: str


def response_bound(rate_bps: int) -> Fraction:
    """Longest time from the end of a PAUSE frame to the stop, in ps (31B.3.7). A speed between two rows takes the upper
    one, a speed above all takes the last.
    """
    return Fraction(response_quanta(rate_bps) * QUANTUM_BITS * PS_PER_S, rate_bps)


def response_quanta(rate_bps: int) -> int:
    """Quanta of 31B.3.7 for a speed, as in response_bound()."""
    return RESPONSE_QUANTA[min((it for it in RESPONSE_QUANTA if it >= rate_bps), default=max(RESPONSE_QUANTA))]


def response_bound_ps(rate_bps: int) -> int:
    """response_bound() in whole picoseconds, rounded up."""
    return -int(-response_bound(rate_bps) // 1)


def response_ps(setting: int | str, rate_bps: int) -> int:
    """A response as time: 'half' or 'worst' of the bound, or the time itself in ps."""
    if isinstance(setting, int):
        return setting
    bound = response_bound_ps(rate_bps)
    return bound if setting == "worst" else bound // 2


def cells(size_bytes: int, cell_bytes: int) -> int:
    """Bytes that a frame occupies: whole cells."""
    return -(-size_bytes // cell_bytes) * cell_bytes


def expansion(cell_bytes: int, least_bytes: int = LEAST_FRAME_BYTES, most_bytes: int | None = None) -> Fraction:
    """Largest (bytes in cells) / (bytes on the wire) of frames between two sizes: the least, or 1 B into a new cell."""
    first = -(-(least_bytes - 1) // cell_bytes)
    last = first if most_bytes is None else (most_bytes - 1) // cell_bytes  # the worst where a cell is below 21 B
    sizes = [least_bytes, *(cell_bytes * k + 1 for k in (first, last) if first <= last)]
    return max(Fraction(cells(size, cell_bytes), size + WIRE_OVERHEAD_BYTES) for size in sizes)


def reaction_bytes(hop: Hop) -> Fraction:
    """Bytes on the wire from the crossing of the limit to the stop of the peer."""
    return hop.bytes_in(sum((hop.time_ps(term) for term in REACTION), Fraction(0)))


def frames_after_pause(hop: Hop) -> int:
    """Frames of one size that are admitted after the one that reached the limit, with back-to-back arrivals.

    A frame is sent if it starts before the PAUSE acts. The frame admitted k frame times tau after the crossing started
    k tau - (latency + delay + tau) after it. So the last has the greatest k with (k - 1) tau < the reaction's time.
    """
    frame = hop.frame_bytes + WIRE_OVERHEAD_BYTES
    return int(-(-reaction_bytes(hop) // frame)) if "last" not in hop.without else int(reaction_bytes(hop) // frame)


def need_bytes(hop: Hop) -> int:
    """Least headroom that loses no frame in the worst case: exact for frames of one size, else an upper bound."""
    kept = frozenset(TERMS) - hop.without
    ends = len(kept & {"limit", "last"})
    if "cells" not in kept:
        return -int(-(reaction_bytes(hop) + ends * (hop.frame_bytes + WIRE_OVERHEAD_BYTES)) // 1)
    charge = cells(hop.frame_bytes, hop.cell_bytes)
    if hop.one_size:
        return (frames_after_pause(hop) + ("limit" in kept)) * charge
    filled = reaction_bytes(hop) * expansion(hop.cell_bytes, hop.least_frame_bytes, hop.frame_bytes)
    return int(filled // hop.cell_bytes) * hop.cell_bytes + ends * charge


def terms(hop: Hop) -> list[Term]:
    """The addends of need_bytes(), those that are left out with 0 bytes."""
    frame = hop.frame_bytes + WIRE_OVERHEAD_BYTES
    found: list[Term] = []
    exact, counted = Fraction(0), 0
    for key in REACTION:  # rounded up together, so that no byte is lost between the terms
        exact += hop.bytes_in(hop.time_ps(key))
        size, counted = -int(-exact // 1) - counted, -int(-exact // 1)
        ns = float(hop.time_ps(key) / 1000)
        found.append(Term(key, _NAMES[key], size, ns, _left_out(hop, key) or _source(hop, key)))
    for key in ("limit", "last"):
        out = _left_out(hop, key)
        found.append(Term(key, _NAMES[key], 0 if out else frame, None, out or _source(hop, key)))
    rest = need_bytes(hop) - sum(term.bytes for term in found)
    found.append(Term("cells", _NAMES["cells"], rest, None, _left_out(hop, "cells") or _source(hop, "cells")))
    return found


_NAMES: Final = {
    "cable": "cable, both ways",
    "own": "frame being sent here",
    "pause": "XOFF frame",
    "others": "pause frames of other classes",
    "response": "response of the peer",
    "latency": "reception here",
    "coding": "FEC and MACsec",
    "limit": "frame that reaches the limit",
    "last": "frame that the peer has begun",
    "cells": "whole frames in whole cells",
}


def _left_out(hop: Hop, key: str) -> str:
    return "left out" if key in hop.without else ""


def _source(hop: Hop, key: str) -> str:
    quanta = Fraction(hop.response_ps * hop.rate_bps, QUANTUM_BITS * PS_PER_S)
    limit = response_quanta(hop.rate_bps)
    known = "" if hop.rate_bps <= LARGEST_IN_ANNEX_BPS else " of 400G, as SONiC takes them"
    charge = cells(hop.frame_bytes, hop.cell_bytes)
    factor = expansion(hop.cell_bytes, hop.least_frame_bytes, hop.frame_bytes)
    return {
        "cable": f"2 x {hop.delay_ps / 1000:g} ns; 5 ns/m",
        "own": f"{hop.own_frame_bytes} + 20 B of any class; XOFF waits for its end (802.1Q annex)",
        "pause": "64 + 20 B (802.3 annex 31D)",
        "others": f"{hop.other_classes} x 84 B: sent first",
        "response": f"{float(quanta):.4g} quanta of 512 bits; limit {limit}{known} (802.3 annex 31B.3.7)",
        "latency": "from the last bit to admission; a setting: no standard bounds it",
        "coding": "both ends: RS-FEC 100 ns, MACsec 500 ns each (SONiC HLD dynamically headroom)",
        "limit": f"{hop.frame_bytes} + 20 B: what does not fit below the limit goes into headroom (engine)",
        "last": f"{hop.frame_bytes} + 20 B: a frame is sent to its end (802.1Q annex)",
        "cells": (
            f"{frames_after_pause(hop) + ('limit' not in hop.without)} frames x {charge} B"
            if hop.one_size
            else f"{float(factor):.3f} B of cells for a byte of frames from {hop.least_frame_bytes} B"
        ),
    }[key]


def nic_xoff_bytes(rate_bps: int, delay_ps: int, mtu_bytes: int) -> int:
    """What mlx5 NICs reserve per lossless buffer: (301 + 2.16 m) B per Gb/s + 2.72 MTU (Linux en/port_buffer.c).

    The driver takes at least 40G and an MTU of at least 9216; a metre is 5 ns here.
    """
    gbps = Fraction(max(rate_bps, 40 * 10**9), 10**9)
    fixed = Fraction(301) + Fraction(216, 100) * Fraction(delay_ps, FIBRE_PS_PER_M)
    return int(fixed * gbps + Fraction(272, 100) * max(mtu_bytes, 9216))

"""How much headroom a class of ports needs: the most that a group takes after XOFF, over corners, and a margin.

A sender fills a group whose receiver is stopped. The corners are the frame size (the RDMA MTU; frames of one byte more
than a cell, which fill cells worst; either with ACKs of 64 B between them),
the phase of a frame in the opposite direction (PFC waits for it), and the
response time of the peer: all of what 802.3 31B.3.7 allows, or half. Hosts of the emulator send no frame beyond the
RDMA MTU, so a frame of the port's MTU in the opposite direction is added by arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from fabric.recommend.bench import (
    LOSSLESS,
    RDMA_HEADERS_BYTES,
    WIRE_BYTES,
    BenchRun,
    rate_bytes,
    simulate,
    star,
    switch,
    time_ps,
)
from fabric.recommend.classes import PortClass
from fabric.scenario.presets.headroom import headroom_bytes
from fabric.theory.headroom import cells

PHASES: Final = 6
"""Offsets of the opposite direction, over one frame time."""
SMALL_MTU: Final = 256
_LIMIT_FRAMES: Final = 6
"""Static limit of the group, in frames of the RDMA MTU: XOFF comes early."""
_FILL_PS: Final = 20_000_000
"""When the sender starts, propagation aside: the receiver is stopped. The first frame of the opposite direction
reaches the sender then: ACKs of earlier ones would have filled the group."""


@dataclass(frozen=True, slots=True)
class Corner:
    """One run."""

    frame_bytes: int
    acks: bool
    """Whether the sender acknowledges every packet of the opposite direction: frames of 64 B between its own."""
    response: str
    phase: int

    @property
    def kind(self) -> str:
        """'frames of 145 B and ACKs, worst response'."""
        return f"frames of {self.frame_bytes} B{' and ACKs' if self.acks else ''}, {self.response} response"

    @property
    def title(self) -> str:
        """'frames of 145 B and ACKs, worst response, phase 3 of 6'."""
        return f"{self.kind}, phase {self.phase + 1} of {PHASES}"


@dataclass(frozen=True, slots=True)
class HeadroomFound:
    """Headroom of one class of ports, bytes."""

    need_bytes: int
    """Most that a group used, at `corner`."""
    corner: Corner
    jumbo_bytes: int
    """For a frame of the port's MTU in the opposite direction."""
    margin_bytes: int
    xoff_bytes: int
    """Recommended: the three together, in whole cells."""
    formula_bytes: int
    """Of `headroom: auto` in scenarios: the closed form with the worst response and the worst frames for the cells."""
    needs: tuple[tuple[str, int], ...]
    """Kind of corner, without its phase -> most that a group used in it, largest first."""
    lost_below: int
    """Packets lost at the corner with one frame less than need_bytes."""
    runs: int

    def metres(self, speed_mbps: int) -> int:
        """By how much the cable may be longer: the margin, both ways at 5 ns/m."""
        return self.margin_bytes * 8000 // (2 * 5 * speed_mbps)


def find_headroom(class_: PortClass) -> HeadroomFound:
    """Simulate every corner."""
    cell = class_.asic.cell_bytes
    formula = headroom_bytes(
        class_.speed_mbps * 10**6,
        class_.cable_m * 5_000,
        class_.mtu,
        class_.latency_ps,
        cell,
        roce_frame_bytes=class_.roce_mtu + RDMA_HEADERS_BYTES,
    )
    used = {corner: _fill(class_, corner, 4 * formula).headroom_peak_bytes("sender") for corner in _corners(class_)}
    binding = max(used, key=lambda corner: used[corner])
    need = used[binding]
    needs: dict[str, int] = {}
    for corner, size in used.items():
        needs[corner.kind] = max(needs.get(corner.kind, 0), size)
    largest = tuple(sorted(needs.items(), key=lambda it: -it[1]))
    frame = cells(class_.roce_mtu + RDMA_HEADERS_BYTES, cell)
    jumbo = max(0, cells(class_.mtu + _ETHERNET_BYTES, cell) - frame)
    margin = max(-(-(need + jumbo) // 10), frame)
    lost = _fill(class_, binding, max(need - cells(binding.frame_bytes, cell), 1)).dropped
    xoff = cells(need + jumbo + margin, cell)
    return HeadroomFound(need, binding, jumbo, xoff - need - jumbo, xoff, formula, largest, lost, len(used) + 1)


_ETHERNET_BYTES: Final = 22
"""Header, VLAN tag and FCS around an MTU."""


def _corners(class_: PortClass) -> Iterator[Corner]:
    large = class_.roce_mtu + RDMA_HEADERS_BYTES - 16  # middle packets have no RETH
    cell = class_.asic.cell_bytes
    small = next(cell * k + 1 for k in range(1, 8) if cell * k + 1 > RDMA_HEADERS_BYTES)
    for frame, acks, response in product((large, small), (False, True), ("worst", "half")):
        for phase in range(PHASES):
            yield Corner(frame, acks, response, phase)


def _fill(class_: PortClass, corner: Corner, headroom: int) -> BenchRun:
    """The sender fills the group of its port; the receiver is stopped and sends in the opposite direction."""
    cell = class_.asic.cell_bytes
    large = corner.frame_bytes > class_.roce_mtu
    limit = _LIMIT_FRAMES * cells(class_.roce_mtu + RDMA_HEADERS_BYTES, cell)
    wanted = 2 * (limit + headroom)
    frames = wanted // cells(corner.frame_bytes, cell) + 64
    frame_ps = time_ps(class_.speed_mbps, corner.frame_bytes + WIRE_BYTES)
    begin_ps = _FILL_PS + class_.cable_m * 5_000
    load: dict[str, Any] = {"kind": "incast", "name": "fill", "receiver": "receiver", "senders": ["sender"],
                            "start": f"{begin_ps}ps"}  # fmt: skip
    if large:
        load |= {"size": f"{wanted}B"}
    else:
        payload = corner.frame_bytes - RDMA_HEADERS_BYTES
        load |= {"size": f"{payload}B", "repeat": frames, "interval": f"{frame_ps}ps"}
    reverse_ps = time_ps(class_.speed_mbps, class_.roce_mtu + RDMA_HEADERS_BYTES + WIRE_BYTES)
    opposite_ps = _FILL_PS - class_.latency_ps - reverse_ps + corner.phase * reverse_ps // PHASES
    end_ps = begin_ps + 4 * frames * frame_ps + 20 * (class_.cable_m * 5_000 + 3_000_000)
    data = {
        "topology": star(class_, ["sender", "receiver"], far=["receiver"]),
        "switches": switch(
            class_,
            64 * limit,
            {"static_th": f"{limit}B", "headroom": f"{headroom}B", "reserved": "0B", "xon": "0B", "xon_offset": "0B"},
        ),
        "hosts": {"mtu": f"{class_.mtu}B", "response": corner.response},
        "transport": {
            "mtu": f"{class_.roce_mtu if large else SMALL_MTU}B",
            "cc": "none",
            "ack_every": 1 if corner.acks else 1024,
            "retransmit_timeout": "off",
            "qp": {"per": "pair"},
        },
        "workload": [
            load,
            {
                "kind": "incast",
                "name": "opposite",
                "receiver": "sender",
                "senders": ["receiver"],
                "size": f"{2 * wanted + rate_bytes(class_.speed_mbps, 2 * begin_ps)}B",
                "start": f"{opposite_ps}ps",
            },
        ],
        "faults": [
            {"kind": "pause-storm", "hosts": ["receiver"], "at": "0s", "duration": f"{2 * end_ps}ps",
             "priorities": [LOSSLESS]}
        ],
        "run": {"duration": f"{2 * end_ps}ps", "stop": "duration"},
    }  # fmt: skip
    return simulate(data, end_ps)

"""BGP sessions of an emulated control plane as a pcapng file: TCP segments in frames, made by scapy.

The messages are the very bytes that the speakers exchanged, at the moments of their arrival. TCP is written round them:
a handshake when a connection carries its first bytes, sequence and acknowledgement numbers. The cable's `b` end is
written as the one that dialled, because a transport does not remember which one did; no window ever closes and nothing
is retransmitted, because the emulated transport is reliable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import PcapNgWriter

from fabric.control.network import Network
from fabric.control.plan import Cable
from fabric.control.speakers import address_text, link_local
from fabric.control.transport import Transport

BGP_PORT: Final = 179
_FIRST_PORT: Final = 49_152
_PORTS: Final = 16_384
_MSS: Final = 9_000
"""Bytes of a segment: what fits into a frame of 9,100 bytes, the usual MTU of a fabric."""
_CONTROL_TRAFFIC: Final = 0xC0
"""CS6, as sockets.py sets it."""
_FIRST_SEQUENCE: Final = 1_000_000
_MODULUS: Final = 1 << 32


@dataclass(slots=True)
class _Stream:
    """One TCP connection, as far as it was written."""

    generation: int
    port: int
    """Ephemeral, of the cable's `b` end, which dialled."""
    sent: list[int] = field(default_factory=lambda: [_FIRST_SEQUENCE, _FIRST_SEQUENCE])
    """Next sequence number of each side."""


class SessionCapture:
    """Writes what a network's sessions deliver, from now on until close()."""

    def __init__(self, network: Network, path: Path, router: int | None = None) -> None:
        """`router`: sessions of this one only (row of the plan). Raises: OSError where the file cannot be written."""
        self._network = network
        self._router = router
        self._writer: Any = PcapNgWriter(str(path))
        self._streams: dict[int, _Stream] = {}
        self.messages = 0
        network.on_delivery = self._deliver

    def close(self) -> None:
        """The file is whole."""
        self._network.on_delivery = None
        self._writer.close()

    def _deliver(self, now_ns: int, transport: Transport, side: int, data: bytes) -> None:
        if self._router is not None and self._router not in transport.routers:
            return
        cable = self._network.plan.cables[transport.cable]
        stream = self._streams.get(cable.row)
        if stream is None or stream.generation != transport.generation:
            number = 0 if stream is None else stream.port - _FIRST_PORT + 1
            stream = self._streams[cable.row] = _Stream(transport.generation, _FIRST_PORT + number % _PORTS)
            self._handshake(now_ns, cable, stream)
        self.messages += _count(data)
        for at in range(0, len(data), _MSS):
            part = data[at:at + _MSS]
            self._segment(now_ns, cable, stream, 1 - side, "PA", part)
            stream.sent[1 - side] = (stream.sent[1 - side] + len(part)) % _MODULUS

    def _handshake(self, now_ns: int, cable: Cable, stream: _Stream) -> None:
        for side, flags in ((1, "S"), (0, "SA"), (1, "A")):
            self._segment(now_ns, cable, stream, side, flags, b"")
            stream.sent[side] += "S" in flags

    def _segment(self, now_ns: int, cable: Cable, stream: _Stream, side: int, flags: str, data: bytes) -> None:
        """One frame from a side of the cable to the other."""
        interfaces = self._network.plan.interfaces
        ends = [interfaces[row] for row in (cable.a, cable.b)]
        ours, theirs = ends[side], ends[1 - side]
        ports = (BGP_PORT, stream.port)
        tcp = TCP(sport=ports[side], dport=ports[1 - side], seq=stream.sent[side], flags=flags, window=65_535,
                  ack=stream.sent[1 - side] if "A" in flags else 0)
        name = self._network.switches[ours.router].name_of(ours)
        if name == ours.name:            # unnumbered: what the router calls this neighbour is its own interface
            network: Any = IPv6(src=link_local(ours), dst=link_local(theirs), tc=_CONTROL_TRAFFIC, hlim=1)
        else:
            network = IP(src=address_text(ours.address), dst=address_text(theirs.address), tos=_CONTROL_TRAFFIC, ttl=1,
                         flags="DF", id=0)
        frame = Ether(src=ours.mac, dst=theirs.mac) / network / tcp
        if data:
            frame /= Raw(data)
        frame.time = now_ns / 1e9
        self._writer.write(frame)


def _count(data: bytes) -> int:
    """Messages in a piece of the stream; speakers hand over whole ones."""
    count = at = 0
    while at + 18 <= len(data):
        at += int.from_bytes(data[at + 16:at + 18], "big")
        count += 1
    return count

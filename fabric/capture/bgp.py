"""BGP sessions of an emulated control plane as a pcapng file: TCP segments in frames.

The messages are the bytes that the speakers exchanged, at the times of their arrival. TCP is added: a handshake before
the first bytes of a connection, sequence and acknowledgement numbers. The cable's `b` end is always the client, because
a transport does not record which end connected. No window closes and nothing is retransmitted, because the emulated
transport is reliable. This module describes the frames; a separate program encodes them (process.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fabric.capture.process import Frame, FrameFile
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import Cable, Interface
from fabric.controlplane.network.speakers import address_text, link_local
from fabric.controlplane.network.transport import Transport

BGP_PORT: Final = 179
_FIRST_PORT: Final = 49_152
_PORTS: Final = 16_384
_MSS: Final = 9_000
"""Bytes of a segment, for a frame of 9,100 bytes, the usual MTU of a fabric."""
_CONTROL_DSCP: Final = 48
"""CS6, as sockets.py sets it."""
_FIRST_SEQUENCE: Final = 1_000_000
_MODULUS: Final = 1 << 32


@dataclass(slots=True)
class _Stream:
    """State of one written TCP connection."""

    generation: int
    port: int
    """Ephemeral port of the client, the cable's `b` end."""
    sent: list[int] = field(default_factory=lambda: [_FIRST_SEQUENCE, _FIRST_SEQUENCE])
    """Next sequence number of each side."""


Emit = Callable[[int, Interface, Interface, Frame], None]
"""Takes a frame: time of its arrival, the interface that sends it, the one that receives it, its headers."""


class SessionFrames:
    """Makes frames of all deliveries of a network's sessions, from now on until close().

    Parameters
    ----------
    network
    emit       called for every frame, in the order of arrival
    router     sessions of this router only (row of the plan); None: of all
    """

    def __init__(self, network: Network, emit: Emit, router: int | None = None) -> None:
        self._network, self._emit, self._router = network, emit, router
        self._streams: dict[int, _Stream] = {}
        self.messages = 0
        network.on_delivery = self._deliver

    def close(self) -> None:
        """End the capture; the network goes on."""
        self._network.on_delivery = None

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
            part = data[at : at + _MSS]
            self._segment(now_ns, cable, stream, 1 - side, "PA", part)
            stream.sent[1 - side] = (stream.sent[1 - side] + len(part)) % _MODULUS

    def _handshake(self, now_ns: int, cable: Cable, stream: _Stream) -> None:
        for side, flags in ((1, "S"), (0, "SA"), (1, "A")):
            self._segment(now_ns, cable, stream, side, flags, b"")
            stream.sent[side] += "S" in flags

    def _segment(self, now_ns: int, cable: Cable, stream: _Stream, side: int, flags: str, data: bytes) -> None:
        """One frame from one side of the cable to the other."""
        interfaces = self._network.plan.interfaces
        ends = [interfaces[row] for row in (cable.a, cable.b)]
        ours, theirs = ends[side], ends[1 - side]
        ports = (BGP_PORT, stream.port)
        frame: dict[str, Any] = {"ethernet": {"source": ours.mac, "destination": theirs.mac}}
        name = self._network.switches[ours.router].name_of(ours)
        if name == ours.name:  # unnumbered: the router's name for this neighbour is its own interface
            frame["ipv6"] = {
                "source": link_local(ours),
                "destination": link_local(theirs),
                "dscp": _CONTROL_DSCP,
                "hop_limit": 1,
            }
        else:
            frame["ipv4"] = {
                "source": address_text(ours.address),
                "destination": address_text(theirs.address),
                "dscp": _CONTROL_DSCP,
                "ttl": 1,
                "dont_fragment": True,
            }
        frame["tcp"] = {
            "source_port": ports[side],
            "destination_port": ports[1 - side],
            "sequence": stream.sent[side],
            "acknowledgement": stream.sent[1 - side] if "A" in flags else 0,
            "flags": flags,
            "window": 65_535,
        }
        if data:
            frame["payload"] = data.hex()
        self._emit(now_ns, ours, theirs, frame)


class SessionCapture:
    """Writes all deliveries of a network's sessions, from now on until close()."""

    def __init__(self, network: Network, path: Path, router: int | None = None) -> None:
        """`router`: sessions of this router only (row of the plan). Raises: OSError if the file cannot be written."""
        self._file = FrameFile(path)
        self._frames = SessionFrames(network, lambda at_ns, _from, _to, frame: self._file.write(at_ns, frame), router)

    @property
    def messages(self) -> int:
        """BGP messages written up to now."""
        return self._frames.messages

    def close(self) -> None:
        """Complete the file. Raises: OSError, FabricError, if it could not be written."""
        self._frames.close()
        self._file.close()


def _count(data: bytes) -> int:
    """Number of messages in a piece of the stream; speakers send whole ones."""
    count = at = 0
    while at + 18 <= len(data):
        at += int.from_bytes(data[at + 16 : at + 18], "big")
        count += 1
    return count

"""Which way a lost frame of a message's queue pair was going: forth, with data, or back, with an answer to it.

The event log has no kind of frame. Three questions in this order tell:

1. its size: an answer (ACK, NAK, CNP) has no payload. Where the last packet of a message is as small, it says nothing;
2. the port that it left by, or was to leave by: the shortest paths from the sender are forth, those to it back. Where
   the reason is judged on arrival, the event is at the port that it came in by, and the port at the other end of the
   cable is the one that it left by;
3. none: after a change of routes frames also take ports that are on no shortest path. Then it is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from fabric.dataplane.state.codes import DropReason
from fabric.explain.evidence import Evidence, integers

ON_ARRIVAL: Final = frozenset(
    {
        DropReason.HEADROOM,
        DropReason.SHARED_HEADROOM_POOL,
        DropReason.NO_HEADROOM,
        DropReason.INGRESS_THRESHOLD,
        DropReason.NO_ROUTE,
        DropReason.FCS,
        DropReason.INJECTED,
        DropReason.TTL,
        DropReason.RX_BUFFER,
    }
)
"""Reasons that are counted at the port that the frame came in by; the others at the one that it was to leave by."""


class Direction(StrEnum):
    """Of a frame between the two hosts of a message."""

    FORTH = "forth"
    BACK = "back"
    UNKNOWN = "unknown"


class Directions:
    """Of the frames of one message's queue pair."""

    def __init__(self, evidence: Evidence, message: Mapping[str, Any]) -> None:
        fabric = evidence.fabric
        self._fabric = fabric
        src, dst = (int(fabric.by_name[message[end]].id) for end in ("src", "dst"))
        forth = evidence.ways(src, dst) | {evidence.port_named(name) for name in message["path"] or ()}
        back = evidence.ways(dst, src)
        self._forth, self._back = forth, back - forth
        self._answers, self._data = _sizes(evidence, int(message["qp"]))

    def of(self, port: int, reason: DropReason, size_bytes: int) -> Direction:
        """Of a frame that the log has at a port for a reason; size_bytes: FCS included, 0 where it is not known."""
        answer, data = size_bytes in self._answers, size_bytes in self._data
        if answer != data:
            return Direction.BACK if answer else Direction.FORTH
        left_by = int(self._fabric.ports[port].peer) if reason in ON_ARRIVAL else port
        if left_by in self._forth:
            return Direction.FORTH
        return Direction.BACK if left_by in self._back else Direction.UNKNOWN


def _sizes(evidence: Evidence, qp: int) -> tuple[frozenset[int], frozenset[int]]:
    """(of answers, of data) in bytes: all sizes that frames of a queue pair have, with and without an outer header."""
    card = evidence.run.manifest["card"]
    full = evidence.full_payload_bytes(qp)
    table = evidence.run.messages(["qp", "size_bytes"])
    sizes = integers(table["size_bytes"], 0)[integers(table["qp"], -1) == qp]
    payloads = {full, *((sizes - 1) % full + 1).tolist()}
    answers: set[int] = set()
    data: set[int] = set()
    for frames in (card["frames"], *(law["frames"] for law in card.get("overrides", ()))):
        outer = (0, int(frames["vxlan_bytes"]))
        answers |= {frames[name] + more for name in ("ack_bytes", "cnp_bytes") for more in outer}
        first = (0, int(frames["reth_bytes"]))
        data |= {frames["data_header_bytes"] + it + reth + more for it in payloads for reth in first for more in outer}
    return frozenset(answers), frozenset(data)

"""Direction of a lost frame of a message's queue pair: forth, with data, or back, with an answer to data.

The event log has no kind of frame. The first of these rules that applies decides:

1. its size: an answer (ACK, NAK, CNP) has no payload. The size does not decide where the last packet of a message is as
   small as an answer;
2. its egress port: ports on the shortest paths from the sender are forth, ports on those to the sender back. A frame
   that is discarded on arrival has its event at the ingress port, so its egress port is the other end of that cable;
3. otherwise it is unknown: after a change of routes frames also take ports that are on no shortest path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
"""Reasons that are counted at the ingress port of the frame; the others are counted at its egress port."""


class Direction(StrEnum):
    """Direction of a frame between the two hosts of a message."""

    FORTH = "forth"
    BACK = "back"
    UNKNOWN = "unknown"


class Directions:
    """Directions of the frames of one queue pair.

    Parameters
    ----------
    ends : names of its sending and its receiving host; None: unknown, so rule 2 has the ports of `path` alone
    path : egress ports 'device:port' of its data at the end of the run
    sizes_bytes : (n,) payloads of its messages
    """

    def __init__(
        self, evidence: Evidence, qp: int, ends: tuple[str, str] | None, path: Iterable[str],
        sizes_bytes: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self._fabric = evidence.fabric
        forth, back = {evidence.port_named(name) for name in path}, frozenset[int]()
        if ends is not None:
            src, dst = (int(evidence.fabric.by_name[name].id) for name in ends)
            forth, back = forth | evidence.ports_between(src, dst), evidence.ports_between(dst, src)
        self._forth, self._back = forth, back - forth
        self._answers, self._data = _sizes(evidence, qp, sizes_bytes)

    @classmethod
    def of_message(cls, evidence: Evidence, message: Mapping[str, Any]) -> Directions:
        """Directions in the queue pair of a row of messages.parquet."""
        table = evidence.run.messages(["qp", "size_bytes"])
        sizes_bytes = integers(table["size_bytes"], 0)[integers(table["qp"], -1) == message["qp"]]
        return cls(evidence, message["qp"], (message["src"], message["dst"]), message["path"] or (), sizes_bytes)

    def of(self, port: int, reason: DropReason, size_bytes: int) -> Direction:
        """Direction of a frame that was discarded at a port for a reason; size_bytes: FCS included, 0 where unknown."""
        answer, data = size_bytes in self._answers, size_bytes in self._data
        if answer != data:
            return Direction.BACK if answer else Direction.FORTH
        left_by = int(self._fabric.ports[port].peer) if reason in ON_ARRIVAL else port
        if left_by in self._forth:
            return Direction.FORTH
        return Direction.BACK if left_by in self._back else Direction.UNKNOWN


def _sizes(evidence: Evidence, qp: int, sizes_bytes: NDArray[np.int64]) -> tuple[frozenset[int], frozenset[int]]:
    """(sizes of answers, sizes of data) in bytes of a queue pair's frames, with and without an outer header."""
    card = evidence.run.manifest["card"]
    full = evidence.full_payload_bytes(qp)
    payloads = {full, *((sizes_bytes - 1) % full + 1).tolist()}
    answers: set[int] = set()
    data: set[int] = set()
    for frames in (card["frames"], *(law["frames"] for law in card.get("overrides", ()))):
        outer = (0, int(frames["vxlan_bytes"]))
        answers |= {frames[name] + more for name in ("ack_bytes", "cnp_bytes") for more in outer}
        first = (0, int(frames["reth_bytes"]))
        data |= {frames["data_header_bytes"] + it + reth + more for it in payloads for reth in first for more in outer}
    return frozenset(answers), frozenset(data)

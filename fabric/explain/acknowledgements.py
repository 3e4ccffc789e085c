"""What a sender waited for while it sent nothing: acknowledgements that were held or lost on their way back, losses
that it did not know of, a closed window.

Acknowledgements leave by the port that the data came in by. Where switches have a choice of equal-cost links their way
is not recorded, so every link that they may have taken is looked at, the certain ones first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabric.explain.evidence import Evidence, integers
from fabric.explain.intervals import Spans
from fabric.units import PS_PER_NS, PS_PER_S

_NO_SERIES: Final = (np.empty(0, np.int64), np.empty(0))
LEAST_PKTS: Final = 2
"""A queue pair is silent where its rate allowed so many packets in an interval and it sent none."""


class ReturnPath(NamedTuple):
    """Ports that acknowledgements of a message leave by."""

    certain: tuple[int, ...]
    """PortIds on every way, the last one first: it is the nearest to the sender of the message."""
    possible: tuple[int, ...]
    """PortIds of links among which switches choose."""


def return_path(evidence: Evidence, message: Mapping[str, Any]) -> ReturnPath:
    """The path of a message's acknowledgements along shortest paths with every cable up."""
    fabric = evidence.fabric
    src, dst = (int(fabric.by_name[message[end]].id) for end in ("src", "dst"))
    first = {int(port) for port in evidence.routes.ports_to(dst, src)}
    if message["path"]:
        first = {int(fabric.ports[evidence.port_named(message["path"][-1])].peer)}
    certain: list[int] = []
    possible: list[int] = []
    stage = first
    while stage:
        (certain if len(stage) == 1 else possible).extend(sorted(stage))
        nodes = {int(fabric.peer_of(port).id) for port in stage} - {src}
        stage = {int(port) for node in nodes for port in evidence.routes.ports_to(node, src)}
    return ReturnPath(tuple(reversed(certain)), tuple(reversed(possible)))


def class_of(evidence: Evidence, message: Mapping[str, Any]) -> int:
    """The PFC class of a message's acknowledgements."""
    settings = evidence.run.manifest["scenario"]["resolved"]
    dscp = settings["transport"].get("ack_dscp")
    if not isinstance(dscp, int):
        return int(message["priority"])
    table = {int(key): int(value) for key, value in (settings["switches"].get("dscp_to_tc") or {}).items()}
    return table.get(dscp, dscp // 8)


def silent(evidence: Evidence, message: Mapping[str, Any]) -> Spans:
    """Runs of samples between which its queue pair sent nothing, although its rate allowed LEAST_PKTS packets for each
    queue pair of the host that had a message then: these take turns at the port.
    """
    sample_ns = evidence.run.sampling_ns
    times, sent = evidence.item_series("qp_sent_pkts").get(message["qp"], _NO_SERIES)
    rate_times, rates = evidence.item_series("qp_rate_bps").get(message["qp"], _NO_SERIES)
    if not rate_times.size:
        return []
    edges = np.append(np.arange(0, evidence.end_ns, sample_ns), evidence.end_ns)
    count = np.concatenate([[0], sent])[np.searchsorted(times, edges, side="right")]
    rate = np.concatenate([[0], rates])[np.searchsorted(rate_times, edges, side="right")]
    bytes_ = rate[1:].astype(np.float64) * np.diff(edges) * PS_PER_NS / (8 * PS_PER_S)
    quiet = np.diff(count) == 0
    least_bytes = LEAST_PKTS * evidence.full_payload_bytes(message["qp"]) * _active_pairs(evidence, message)
    bounds = np.flatnonzero(np.diff(np.r_[False, quiet, False]))
    return [
        (int(edges[first]), int(edges[last]))
        for first, last in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True)
        if bytes_[first:last].sum() >= least_bytes
    ]


def _active_pairs(evidence: Evidence, message: Mapping[str, Any]) -> int:
    """Queue pairs of its host with a message in progress while it was."""
    table = evidence.run.messages(["src", "qp", "start_ns", "end_ns"])
    start, end = (
        np.asarray(table[it].combine_chunks().fill_null(-1)).astype(np.int64) for it in ("start_ns", "end_ns")
    )
    until = evidence.end_ns if message["end_ns"] is None else message["end_ns"]
    mine = np.array([it == message["src"] for it in table["src"].to_pylist()], np.bool_)
    mine &= (start >= 0) & (start <= until) & ((end < 0) | (end >= message["start_ns"]))
    return max(len(np.unique(integers(table["qp"], -1)[mine])), 1)


def unrepaired(evidence: Evidence, qp: int, losses_ns: list[int]) -> Spans:
    """From each loss of data to the next repetition that a sample shows, or to the end.

    losses_ns : moments at which data of the queue pair was lost, ascending
    """
    times, again = evidence.item_series("qp_retransmitted_pkts").get(qp, _NO_SERIES)
    return _until(losses_ns, np.sort(times[np.diff(again, prepend=0) > 0]), evidence.end_ns)


def unanswered(evidence: Evidence, qp: int, losses_ns: list[int]) -> Spans:
    """From each loss of an acknowledgement to the next progress, or to the end: the next acknowledgement answers for
    the lost one too. Progress is the end of a message, and a sample with more packets sent; not the sample whose
    interval has the loss, of which it is not known which came first.

    losses_ns : moments at which acknowledgements of the queue pair were lost, ascending
    """
    sample_ns = evidence.run.sampling_ns
    times, sent = evidence.item_series("qp_sent_pkts").get(qp, _NO_SERIES)
    begun = times[np.diff(sent, prepend=0) > 0] - sample_ns
    return _until(losses_ns, np.sort(np.concatenate([begun, _ends(evidence, qp)])), evidence.end_ns)


def until_answered(evidence: Evidence, qp: int, losses_ns: list[int]) -> Spans:
    """As `unanswered`, by ends of messages alone: what a queue pair sends meanwhile needs no acknowledgement."""
    return _until(losses_ns, _ends(evidence, qp), evidence.end_ns)


def _ends(evidence: Evidence, qp: int) -> NDArray[np.int64]:
    """(n,) when messages of a queue pair ended, in ns, ascending."""
    table = evidence.run.messages(["qp", "end_ns"])
    ends = integers(table["end_ns"], -1)
    return np.sort(ends[(integers(table["qp"], -1) == qp) & (ends >= 0)])


def _until(losses_ns: list[int], closed_ns: NDArray[np.int64], end_ns: int) -> Spans:
    """From each loss to the next of `closed_ns`, ascending, or to the end; those within another left out."""
    found: Spans = []
    for loss in losses_ns:
        if found and loss < found[-1][1]:
            continue
        place = int(np.searchsorted(closed_ns, loss, side="right"))
        found.append((loss, int(closed_ns[place]) if place < closed_ns.size else end_ns))
    return found

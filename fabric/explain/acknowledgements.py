"""What a sender waited for while it sent nothing: acknowledgements that were held or lost on their way back, losses
that it did not know of, a closed window.

Acknowledgements leave by the port that the data came in by. Where switches have a choice of equal-cost links their way
is not recorded, so every link that they may have taken is looked at, the certain ones first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from fabric.explain.evidence import Evidence, integers
from fabric.units import PS_PER_NS, PS_PER_S, parse_size_bytes

Spans = list[tuple[int, int]]
"""Disjoint (from, to), ascending, in ns."""

LEAST_PKTS: Final = 2
"""A queue pair is silent where its rate allowed so many packets in an interval and it sent none."""


class Way(NamedTuple):
    """Ports that acknowledgements of a message leave by."""

    certain: tuple[int, ...]
    """PortIds on every way, the last one first: it is the nearest to the sender of the message."""
    possible: tuple[int, ...]
    """PortIds of links among which switches choose."""


def way_back(evidence: Evidence, message: Mapping[str, Any]) -> Way:
    """The way of a message's acknowledgements along shortest paths with every cable up."""
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
    return Way(tuple(reversed(certain)), tuple(reversed(possible)))


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
    sample_ns = int(evidence.run.manifest["sampling_ps"]) // PS_PER_NS
    times, sent = evidence.item_series("qp_sent_pkts").get(message["qp"], (np.empty(0, np.int64), np.empty(0)))
    rate_times, rates = evidence.item_series("qp_rate_bps").get(message["qp"], (np.empty(0, np.int64), np.empty(0)))
    if not rate_times.size:
        return []
    edges = np.append(np.arange(0, evidence.end_ns, sample_ns), evidence.end_ns)
    count = np.concatenate([[0], sent])[np.searchsorted(times, edges, side="right")]
    rate = np.concatenate([[0], rates])[np.searchsorted(rate_times, edges, side="right")]
    bytes_ = rate[1:].astype(np.float64) * np.diff(edges) * PS_PER_NS / (8 * PS_PER_S)
    quiet = np.diff(count) == 0
    least_bytes = LEAST_PKTS * _payload_bytes(evidence) * _active_pairs(evidence, message)
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


def unrepaired(evidence: Evidence, qp: int, losses_ns: list[int], end_ns: int) -> Spans:
    """From each loss to the next repetition that a sample shows, or to the end.

    losses_ns : moments of losses of the queue pair, ascending
    """
    times, again = evidence.item_series("qp_retransmitted_pkts").get(qp, (np.empty(0, np.int64), np.empty(0)))
    repaired = np.sort(times[np.diff(again, prepend=0) > 0])
    found: Spans = []
    for loss in losses_ns:
        if found and loss < found[-1][1]:
            continue
        place = int(np.searchsorted(repaired, loss, side="right"))
        found.append((loss, int(repaired[place]) if place < repaired.size else end_ns))
    return found


def _payload_bytes(evidence: Evidence) -> int:
    """Payload of a full packet."""
    return parse_size_bytes(evidence.run.manifest["scenario"]["resolved"]["transport"]["mtu"])

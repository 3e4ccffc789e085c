"""Datagrams of a run: one row per stream, and their section of the summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_CLASSES, DropReason, Ecn
from fabric.runs import schemas
from fabric.runs.series import named
from fabric.units import PS_PER_NS

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot


def table(now: Snapshot, entries: Sequence[str]) -> pa.Table:
    """The table of schemas.DATAGRAMS, one row per stream; entries: the name of each stream's entry of the workload."""
    rows, received = now.streams, now.rstreams
    hosts = [node.name for node in now.fabric.nodes[: len(now.hosts)]]
    columns = {
        "entry": pa.array(list(entries), pa.string()).dictionary_encode(),
        "src": named(rows["src"].astype(np.int64), hosts),
        "dst": named(rows["dst"].astype(np.int64), hosts),
        "frame_bytes": pa.array(rows["size"].astype(np.int64)),
        "rate_bps": pa.array(np.ascontiguousarray(rows["rate_bps"])),
        "dscp": pa.array(rows["dscp"].astype(np.int8)),
        "priority": pa.array(rows["tc"].astype(np.int8)),
        "ecn": named((rows["ecn"] != Ecn.NOT_ECT).astype(np.int64), ["not-ect", "ect"]),
        "sent": pa.array(np.ascontiguousarray(rows["sent_pkts"])),
        "refused": pa.array(np.ascontiguousarray(rows["refused_pkts"])),
        "received": pa.array(np.ascontiguousarray(received["received_pkts"])),
        "marked": pa.array(np.ascontiguousarray(received["marked_pkts"])),
        "first_ns": _moment(received["first_ps"]),
        "last_ns": _moment(received["last_ps"]),
    }
    return pa.table(columns, schema=schemas.DATAGRAMS)


def summary(now: Snapshot) -> dict[str, Any]:
    """The section of summary.json: counts of all streams, and where datagrams were discarded, by reason."""
    lost = now.datagram_drops
    places = [
        {
            "port": now.fabric.port_name(port),
            "class": c,
            "reason": DropReason(reason).name.lower(),
            "pkts": int(lost["pkts"][port, c, reason]),
            "bytes": int(lost["bytes"][port, c, reason]),
        }
        for port, c, reason in zip(*(index.tolist() for index in np.nonzero(lost["pkts"])), strict=True)
    ]
    places.sort(key=lambda it: -it["pkts"])
    return {**counts(now), "streams": len(now.streams), "dropped_at": places[: 8 * N_CLASSES]}


def counts(now: Snapshot) -> dict[str, int]:
    """Datagrams by what became of them; the rest of those sent is under way."""
    return {
        "sent": int(now.streams["sent_pkts"].sum()),
        "received": int(now.rstreams["received_pkts"].sum()),
        "dropped": int(now.datagram_drops["pkts"].sum()),
        "refused": int(now.streams["refused_pkts"].sum()),
        "marked": int(now.rstreams["marked_pkts"].sum()),
    }


def _moment(time_ps: NDArray[np.int64]) -> pa.Array:
    return pa.array(time_ps // PS_PER_NS, pa.int64(), mask=time_ps < 0)

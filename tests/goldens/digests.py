"""A run's observables as one digest and a few numbers: equal as long as behaviour is, whatever the tables look like.

The fields are listed one by one, so that a new column or another layout of a table changes nothing here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from tests.goldens.cases import tree_of

OBSERVED: Final = {
    "messages": ("start_ps", "end_ps", "retransmitted_pkts", "failed"),
    "rmessages": ("arrived_ps", "first_ps", "hops"),
    "ports": (
        "tx_bytes",
        "tx_pkts",
        "busy_ps",
        "rx_bytes",
        "rx_pkts",
        "tx_pause_pkts",
        "rx_pause_pkts",
        "fcs_errors",
        "dropped_pkts",
        "dropped_bytes",
        "lost_pkts",
        "lost_bytes",
        "down_ps",
    ),
    "queues": (
        "peak_bytes",
        "enqueued_pkts",
        "enqueued_bytes",
        "sent_pkts",
        "sent_bytes",
        "ect_pkts",
        "marked_pkts",
        "dropped_pkts",
        "flushed_pkts",
        "wd_detected",
        "wd_restored",
        "wd_dropped_pkts",
    ),
    "pgs": ("peak_bytes", "admitted_pkts", "rx_pkts", "rx_bytes", "headroom_peak_bytes", "dropped_pkts", "xoff_count"),
    "prios": (
        "rx_xoff_pkts",
        "rx_xon_pkts",
        "tx_xoff_pkts",
        "tx_xon_pkts",
        "on2off_pkts",
        "rx_paused_ps",
        "tx_paused_ps",
        "longest_ps",
        "pauses",
    ),
    "drops": ("pkts", "bytes"),
    "hosts": (
        "goodput_bytes",
        "cnp_sent",
        "cnp_handled",
        "cnp_ignored",
        "ecn_received",
        "out_of_sequence",
        "naks_sent",
        "naks_received",
        "retransmitted_pkts",
        "timeouts",
        "rx_discards",
        "messages_done",
        "messages_failed",
        "duplicates",
        "rx_peak_bytes",
    ),
    "qps": ("rate_bps", "alpha", "cuts", "naks", "sent_pkts", "retransmitted_pkts", "timeouts"),
    "segments": (
        "encap_pkts",
        "decap_pkts",
        "arp_requests",
        "arp_suppressed",
        "arp_flooded",
        "bum_sent_pkts",
        "bum_received_pkts",
        "bum_delivered_pkts",
    ),
    "asks": ("answered_ps",),
    "members": ("pkts", "bytes"),
}


def _columns(table: str, values: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """A field as it is; of drops, every reason that was counted: a reason more in the list changes nothing."""
    if table != "drops":
        yield "", values
        return
    for reason in sorted(DropReason, key=lambda it: it.name):
        if values[..., reason].any():
            yield f".{reason.name}", values[..., reason]


def golden(name: str) -> dict[str, Any]:
    """Run a case to its end.

    Returns: `digest` over every observed field, and the few numbers by which a person sees what changed.
    """
    tree, order = tree_of(name)
    compiled = compile_scenario(build_scenario(tree, Path(f"{name}.yml")))
    engine = Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        record=compiled.record,
        reroute_delay_ps=compiled.reroute_delay_ps,
        order=order,
        scheduler="sequential" if order == "insertion" else "windows",
    )
    while not engine.finished and engine.now_ps < compiled.duration_ps:
        engine.advance(min(engine.now_ps + 100_000_000, compiled.duration_ps))
    found = engine.snapshot()
    sha = hashlib.sha256()
    for table, fields in OBSERVED.items():
        rows = getattr(found, table)
        for field in fields:
            for part, column in _columns(table, rows[field]):
                sha.update(f"{table}.{field}{part}".encode() + np.ascontiguousarray(column).tobytes())
    done = found.messages["end_ps"] > 0
    return {
        "digest": sha.hexdigest(),
        "packet_hops": found.packet_hops,
        "messages_done": int(done.sum()),
        "last_message_ns": int(found.messages["end_ps"].max()) // 1000,
        "sum_of_fct_ns": int((found.messages["end_ps"] - found.messages["start_ps"])[done].sum()) // 1000,
        "marked_pkts": int(found.queues["marked_pkts"].sum()),
        "cuts": int(found.qps["cuts"].sum()),
        "xoff_pkts": int(found.prios["rx_xoff_pkts"].sum()),
        "dropped_pkts": int(found.drops["pkts"].sum()),
        "retransmitted_pkts": int(found.hosts["retransmitted_pkts"].sum()),
        "watchdog_storms": int(found.queues["wd_detected"].sum()),
    }

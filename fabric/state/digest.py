"""The digest of a run: equal for any scheduler, thread count and packet numbering, compiled or not."""

from __future__ import annotations

import hashlib

import numpy as np

from fabric.state.codes import Recovery
from fabric.state.types import State

OBSERVABLE = ("queues", "shares", "pgs", "prios", "pools", "drops", "switches", "hosts", "rqps", "messages",
              "rmessages", "members", "random", "segments", "known", "asks")
"""Tables whose every field is the same for any scheduler, thread count and packet numbering."""
ROUTED = ("tenant_fib", "ways")
"""Observable, too, where tenants route between subnets."""
OUT_OF_ORDER = ("boards", "placements")
"""Observable, too, with recovery out-of-order; and so are these counters of hosts."""
_OF_RECOVERY = ("out_of_order_pkts", "out_of_order_peak_pkts", "declared_lost_pkts", "spurious_pkts",
                "retransmitted_probe_pkts")
_POINTERS = {
    "switches": ("cells_row",),
    "ports": ("first_loss", "ctrl_head", "ctrl_tail", "in_head", "out_tail", "out_window", "pin_head", "pout_tail",
              "pout_window", "free_pending"),
    "queues": ("head", "tail", "share"),
    "segments": ("first",),
    "hosts": ("first_storm", "rx_head", "rx_tail", "cnp_head", "cnp_tail"),
}


def digest(state: State) -> str:
    """SHA-256 over every observable field: equal for 1, 2 or 16 threads, windows or sequential, JIT on or off."""
    sha = hashlib.sha256()
    routed = ROUTED if state.config[0]["n_l3"] else ()
    any_order = state.config[0]["recovery"] == Recovery.OUT_OF_ORDER
    for name in ("ports", "qps", *OBSERVABLE, *routed, *(OUT_OF_ORDER if any_order else ())):
        table = getattr(state, name)
        skipped = _POINTERS.get(name, ())
        if name == "hosts" and not any_order:
            skipped += _OF_RECOVERY
        if table.dtype.names is None:
            sha.update(name.encode() + table.tobytes())
            continue
        for field in table.dtype.names:
            if field not in skipped:
                sha.update(f"{name}.{field}".encode())
                sha.update(np.ascontiguousarray(table[field]).tobytes())
    return sha.hexdigest()

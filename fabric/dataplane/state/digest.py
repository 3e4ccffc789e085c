"""The digest of a run: equal for any scheduler, thread count and packet numbering, compiled or not."""

from __future__ import annotations

import hashlib

import numpy as np

from fabric.dataplane.state import fill_pint
from fabric.dataplane.state.codes import CongestionControl, Issue, Recovery
from fabric.dataplane.state.types import State

OBSERVABLE = (
    "queues",
    "shares",
    "pgs",
    "prios",
    "pools",
    "drops",
    "switches",
    "hosts",
    "rqps",
    "messages",
    "rmessages",
    "members",
    "random",
    "segments",
    "known",
    "asks",
)
"""Tables whose every field is the same for any scheduler, thread count and packet numbering."""
ROUTED = ("tenant_fib", "ways")
"""Also observable where tenants route between subnets."""
OUT_OF_ORDER = ("boards", "placements")
"""Also observable with recovery out-of-order, with these counters of hosts."""
OF_CONTROL = {
    CongestionControl.DCTCP: ("dctcp", "dctcp_receivers"),
    CongestionControl.NS3_DCTCP: ("dctcp",),
    CongestionControl.TIMELY: ("timely",),
    CongestionControl.HPCC: ("hpcc", "hpcc_hops"),
    CongestionControl.SWIFT: ("swift",),
    CongestionControl.CUBIC: ("cubic",),
    CongestionControl.PINT: ("hpcc", "departures", "loads", "draws"),
}
"""Also observable with these congestion controls."""
NOTICES = ("notices", "noticed")
"""Also observable where switches send congestion notices. The counters of ports are left out, so that other digests are
those of earlier versions: tx_bytes has what they count.
"""
SOURCE_ROUTES = ("route_sets", "routes", "route_turns")
"""Also observable where NICs choose paths, with these counters of hosts."""
NIC_PORTS = ("nic_ports",)
"""Also observable where packets of one queue pair leave by several ports of a NIC."""
_OF_SOURCE_ROUTES = ("source_routed_pkts", "routes_withdrawn")
_OF_RECOVERY = (
    "out_of_order_pkts",
    "out_of_order_peak_pkts",
    "declared_lost_pkts",
    "spurious_pkts",
    "retransmitted_probe_pkts",
)
_POINTERS = {
    "switches": ("cells_row", "wd_charge_ps"),
    "ports": (
        "first_loss",
        "ctrl_head",
        "ctrl_tail",
        "in_head",
        "out_tail",
        "out_window",
        "pin_head",
        "pout_tail",
        "pout_window",
        "free_pending",
        "shaped",
        "held",
        "scale_up",
        "tx_notice_pkts",
        "rx_notice_pkts",
    ),
    "queues": ("head", "tail", "share"),
    # They follow from the others' history; without them, this digest is that of earlier versions. The digest of a run
    # is not, because its tables and time series have both (runs/content.py).
    "prios": ("begun_ps", "recent_ps"),
    "segments": ("first",),
    "rtransfers": ("ahead",),
    "qps": ("payload_bytes",),
    "hosts": ("first_storm", "rx_head", "rx_tail", "cnp_head", "cnp_tail"),
}


STREAMS = ("streams", "rstreams", "datagram_drops")
"""Also observable where there are streams of datagrams."""
TRANSFERS = ("transfers", "rtransfers", "issued")
"""Also observable where there are transfers."""
_ROW_NUMBERS = ("msg_head", "msg_tail", "msg_now")
"""Of queue pairs: rows of messages. Those of transfers' messages are told by transfer and index instead."""


def _told(state: State) -> State:
    """The state as a digest reads it: messages of transfers in the order of (transfer, index), at the rows that they
    would have if no row were used twice; ended ones left out.
    """
    base, transfers = int(state.config[0]["n_messages"]), state.transfers
    live = np.flatnonzero(state.issued["state"] == Issue.LIVE)
    issued = state.issued[live]
    ordered = np.lexsort((issued["index"], issued["transfer"]))
    live, issued = live[ordered], issued[ordered]
    row_of = np.zeros(len(state.messages), np.int64)
    row_of[: base + 1] = np.arange(base + 1)
    row_of[live + base] = transfers["number"][issued["transfer"]] + issued["index"]
    messages = np.concatenate([state.messages[: base + 1], state.messages[live + base]])
    messages["next"] = row_of[messages["next"].astype(np.int64)]
    rmessages = np.concatenate([state.rmessages[: base + 1], state.rmessages[live + base]])
    qps = state.qps.copy()
    busy = qps["msg_head"] != 0
    for name in _ROW_NUMBERS:
        qps[name] = np.where(busy, row_of[qps[name].astype(np.int64)], 0)
    return state._replace(messages=messages, rmessages=rmessages, qps=qps, issued=issued)


def digest(state: State) -> str:
    """SHA-256 over every observable field: equal for 1, 2 or 16 threads, windows or sequential, JIT on or off."""
    sha = hashlib.sha256()
    series = TRANSFERS if state.config[0]["n_transfers"] else ()
    if series:
        state = _told(state)
    if CongestionControl.PINT in state.config["cc"]:
        state = state._replace(loads=fill_pint.loads(state).view(np.int64))  # their bits
    routed = ROUTED if state.config[0]["n_l3"] else ()
    any_order = state.config[0]["recovery"] == Recovery.OUT_OF_ORDER
    streams = STREAMS if state.config[0]["n_streams"] else ()
    control = dict.fromkeys(
        name for cc in state.config["cc"].tolist() for name in OF_CONTROL.get(CongestionControl(cc), ())
    )
    for name in (
        "ports",
        "qps",
        *OBSERVABLE,
        *routed,
        *(OUT_OF_ORDER if any_order else ()),
        *control,
        *streams,
        *series,
        *(NOTICES if state.config[0]["notices"] else ()),
        *(SOURCE_ROUTES if state.config[0]["route_choice"] else ()),
        *(NIC_PORTS if state.config[0]["nic_ports"] > 1 else ()),
    ):
        table = getattr(state, name)
        skipped = _POINTERS.get(name, ())
        if name == "hosts" and not any_order:
            skipped += _OF_RECOVERY
        if name == "hosts" and not state.config[0]["route_choice"]:
            skipped += _OF_SOURCE_ROUTES
        if table.dtype.names is None:
            sha.update(name.encode() + table.tobytes())
            continue
        for field in table.dtype.names:
            if field not in skipped:
                sha.update(f"{name}.{field}".encode())
                sha.update(np.ascontiguousarray(table[field]).tobytes())
    return sha.hexdigest()

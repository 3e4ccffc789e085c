"""The tables of `fabric show`: each a pyarrow table with a unit per column, made from a run directory.

Columns hold integers in base units, as CSV and JSON show them; rendering for people is in tables.py. Ports are named
'leaf1:Ethernet4', as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fabric.dataplane.state.codes import DropReason
from fabric.runs.eventlog import KINDS
from fabric.runs.rundir import RunDir


@dataclass(frozen=True, slots=True)
class View:
    """One table, ready to be sorted, filtered and shown."""

    name: str
    title: str
    table: pa.Table
    units: Mapping[str, str]
    """Column -> unit: text, ns, bytes, bit/s, ratio, times (a factor), or what is counted."""
    sort: str
    """Column that orders the rows, the largest first, unless the user names another; '' keeps the order."""


PORT_COLUMNS: Final = {
    "tx_bytes": "bytes",
    "rx_bytes": "bytes",
    "tx_pkts": "packets",
    "rx_pkts": "packets",
    "busy_ns": "ns",
    "tx_utilisation_ratio": "ratio",
    "dropped_pkts": "packets",
    "fcs_errors": "frames",
    "rx_pause_pkts": "frames",
    "tx_pause_pkts": "frames",
    "down_ns": "ns",
    "rate_bps": "bit/s",
}
QUEUE_COLUMNS: Final = {
    "queue_peak_bytes": "bytes",
    "queue_bytes": "bytes",
    "sent_pkts": "packets",
    "sent_bytes": "bytes",
    "ecn_marked_pkts": "packets",
    "queue_dropped_pkts": "packets",
    "pg_peak_bytes": "bytes",
    "pg_headroom_peak_bytes": "bytes",
    "pg_peak_share_ratio": "ratio",
}
PFC_COLUMNS: Final = {
    "pfc_rx_paused_ns": "ns",
    "pfc_rx_longest_pause_ns": "ns",
    "pfc_rx_pauses": "times",
    "pfc_rx_xoff_pkts": "frames",
    "pfc_rx_xon_pkts": "frames",
    "pfc_tx_xoff_pkts": "frames",
    "pfc_tx_xon_pkts": "frames",
    "pfc_tx_paused_ns": "ns",
    "watchdog_detected": "storms",
}
PFC_HISTORY: Final = {
    "pfc_rx_pauses": "times",
    "pfc_rx_paused_ns": "ns",
    "pfc_rx_recent_pause_ns": "ns",
    "pfc_rx_recent_pause_start_ns": "ns",
}
"""In the order of SONiC's `show pfc counters --history`: RX Pause Transitions, Total RX Pause Time, Recent RX Pause
Time, Recent RX Pause Timestamp."""
ECN_COLUMNS: Final = {"ecn_marked_pkts": "packets", "ecn_capable_pkts": "packets", "queue_peak_bytes": "bytes"}
HOST_COLUMNS: Final = {
    "goodput_bytes": "bytes",
    "messages_done": "messages",
    "messages_failed": "messages",
    "retransmitted_pkts": "packets",
    "timeouts": "times",
    "out_of_sequence_pkts": "packets",
    "out_of_order_pkts": "packets",
    "out_of_order_peak_pkts": "packets",
    "declared_lost_pkts": "packets",
    "spurious_pkts": "packets",
    "ecn_received_pkts": "packets",
    "cnp_sent": "packets",
    "cnp_handled": "packets",
    "rx_discards": "packets",
    "rx_buffer_peak_bytes": "bytes",
}
ARP_COLUMNS: Final = {
    "arp_requests": "packets",
    "arp_suppressed": "packets",
    "arp_flooded": "packets",
    "bum_sent_pkts": "packets",
    "bum_received_pkts": "packets",
    "bum_delivered_pkts": "packets",
    "vxlan_encap_pkts": "packets",
    "vxlan_decap_pkts": "packets",
}
MESSAGE_COLUMNS: Final = {
    "id": "text",
    "src": "text",
    "dst": "text",
    "size_bytes": "bytes",
    "priority": "text",
    "start_ns": "ns",
    "fct_ns": "ns",
    "ideal_ns": "ns",
    "slowdown": "factor",
    "retransmits": "packets",
    "hops": "text",
    "state": "text",
    "path": "text",
}


DATAGRAM_COLUMNS: Final = {
    "entry": "text",
    "src": "text",
    "dst": "text",
    "frame_bytes": "bytes",
    "rate_bps": "bit/s",
    "dscp": "text",
    "priority": "text",
    "ecn": "text",
    "sent": "packets",
    "refused": "packets",
    "received": "packets",
    "marked": "packets",
    "first_ns": "ns",
    "last_ns": "ns",
}


def pivot(run: RunDir, columns: Mapping[str, str], place: tuple[str, ...]) -> pa.Table:
    """Final counters side by side: one row per place that has any of them, absent values 0.

    Parameters
    ----------
    columns : observable -> unit     what to show; each becomes a column of that name
    place : of device, port, class, item   the subject of a row; device and port are joined to 'leaf1:Ethernet4'
    """
    long = run.counters(list(columns))
    keys, names = [], {}
    for column in place:
        array = long[column].combine_chunks()
        if isinstance(array, pa.DictionaryArray):
            names[column] = array.dictionary.to_pylist()
            array = array.indices
        keys.append(pc.fill_null(array, -1).to_numpy().astype(np.int64))
    every = np.stack(keys) if long.num_rows else np.zeros((len(place), 0), np.int64)
    unique, row = np.unique(every, axis=1, return_inverse=True)
    row = row.reshape(-1)
    found: dict[str, Any] = {}
    labels = {
        column: [names[column][code] for code in codes] if column in names else codes
        for column, codes in zip(place, unique, strict=True)
    }
    if "port" in place:
        found["port"] = [f"{device}:{port}" for device, port in zip(labels["device"], labels["port"], strict=True)]
    else:
        found["device"] = labels["device"]
    if "class" in place:
        found["class"] = pa.array(labels["class"], pa.int64())
    if "item" in place:
        found["item"] = pa.array(labels["item"], pa.int64())
    observable = long["observable"].combine_chunks()
    position = {name: code for code, name in enumerate(observable.dictionary.to_pylist())}
    code = observable.indices.to_numpy()
    for name, unit in columns.items():
        mine = code == position.get(name, -1)
        source = long["value_ratio" if unit == "ratio" else "value"].to_numpy()
        values = np.zeros(unique.shape[1], np.float64 if unit == "ratio" else np.int64)
        values[row[mine]] = source[mine]
        found[name] = values
    return pa.table(found)


def messages(run: RunDir) -> View:
    """One row per message."""
    table = run.messages(list(MESSAGE_COLUMNS))
    path = pc.binary_join(table["path"], " ")
    table = table.set_column(table.column_names.index("path"), "path", path)
    return View("messages", "Messages", _plain(table), MESSAGE_COLUMNS, "slowdown")


def ports(run: RunDir) -> View:
    """Traffic, losses and link state per port."""
    return View(
        "ports", "Ports", pivot(run, PORT_COLUMNS, ("device", "port")), {"port": "text", **PORT_COLUMNS}, "tx_bytes"
    )


def queues(run: RunDir) -> View:
    """Egress queue and ingress priority group per port and class."""
    units = {"port": "text", "class": "text", **QUEUE_COLUMNS}
    return View(
        "queues",
        "Queues and priority groups",
        pivot(run, QUEUE_COLUMNS, ("device", "port", "class")),
        units,
        "queue_peak_bytes",
    )


def pfc(run: RunDir) -> View:
    """Pauses per port and priority, with the device at the other end."""
    table = pivot(run, PFC_COLUMNS, ("device", "port", "class"))
    units = {"port": "text", "class": "text", **PFC_COLUMNS}
    return _with_peer(run, View("pfc", "PFC", _any_of(table, list(PFC_COLUMNS)), units, "pfc_rx_paused_ns"))


def pfc_history(run: RunDir) -> View:
    """Pauses received per port and priority: how often, how long, and the most recent one.

    A run of an earlier version has no most recent ones: its columns for them are empty, and the title says so.
    """
    table = _any_of(pivot(run, PFC_HISTORY, ("device", "port", "class")), ["pfc_rx_pauses"])
    title, sort = "PFC history", "pfc_rx_recent_pause_start_ns"
    if table.num_rows and not pc.any(pc.greater(table["pfc_rx_recent_pause_ns"], 0)).as_py():
        for name in ("pfc_rx_recent_pause_ns", "pfc_rx_recent_pause_start_ns"):
            table = table.set_column(table.column_names.index(name), name, pa.nulls(table.num_rows, pa.int64()))
        title = "PFC history without the most recent pauses: an earlier version made this run; run its scenario again"
        sort = "pfc_rx_paused_ns"
    units = {"port": "text", "class": "text", **PFC_HISTORY}
    return _with_peer(run, View("pfc-history", title, table, units, sort))


def ecn(run: RunDir) -> View:
    """Marks per queue."""
    table = pivot(run, ECN_COLUMNS, ("device", "port", "class"))
    table = table.filter(pc.greater(table["ecn_capable_pkts"], 0))
    share = pc.divide(pc.cast(table["ecn_marked_pkts"], pa.float64()), pc.cast(table["ecn_capable_pkts"], pa.float64()))
    table = table.add_column(4, "marked_ratio", share)
    units = {"port": "text", "class": "text", **ECN_COLUMNS, "marked_ratio": "ratio"}
    return View("ecn", "ECN", table, units, "ecn_marked_pkts")


def drops(run: RunDir) -> View:
    """Losses per port, class and reason."""
    rows: list[dict[str, Any]] = []
    names = {
        f"drop_{reason.name.lower()}_{unit}": (reason, unit) for reason in DropReason for unit in ("pkts", "bytes")
    }
    found: dict[tuple[str, int, str], dict[str, int]] = {}
    for it in run.counters(list(names)).to_pylist():
        reason, unit = names[it["observable"]]
        found.setdefault((f"{it['device']}:{it['port']}", it["class"], reason.name.lower()), {})[unit] = it["value"]
    rows = [
        {"port": port, "class": c, "reason": reason, "pkts": lost.get("pkts", 0), "bytes": lost.get("bytes", 0)}
        for (port, c, reason), lost in found.items()
    ]
    schema = pa.schema(
        [
            ("port", pa.string()),
            ("class", pa.int64()),
            ("reason", pa.string()),
            ("pkts", pa.int64()),
            ("bytes", pa.int64()),
        ]
    )
    units = {"port": "text", "class": "text", "reason": "text", "pkts": "packets", "bytes": "bytes"}
    return View("drops", "Drops", pa.Table.from_pylist(rows, schema=schema), units, "pkts")


def hosts(run: RunDir) -> View:
    """Transport per host."""
    table = pivot(run, HOST_COLUMNS, ("device",))
    return View("hosts", "Hosts", table, {"device": "text", **HOST_COLUMNS}, "retransmitted_pkts")


def arp(run: RunDir) -> View:
    """Broadcast and VXLAN per leaf and VNI."""
    table = pivot(run, ARP_COLUMNS, ("device", "item"))
    vnis = np.array([*run.manifest.get("vnis", []), 0], np.int64)
    at = table.column_names.index("item")
    table = table.set_column(at, "vni", pa.array(vnis[table["item"].to_numpy()].astype(str)))
    return View("arp", "ARP and VXLAN", table, {"device": "text", "vni": "text", **ARP_COLUMNS}, "arp_requests")


def datagrams(run: RunDir) -> View:
    """One row per stream of datagrams."""
    return View("datagrams", "Datagrams", _plain(run.datagrams()), DATAGRAM_COLUMNS, "sent")


def events(run: RunDir) -> View:
    """The event log, its numbers named by kind."""
    table = run.events()
    port = pc.if_else(
        pc.is_null(table["port"]),
        pc.cast(table["device"], pa.string()),
        pc.binary_join_element_wise(pc.cast(table["device"], pa.string()), pc.cast(table["port"], pa.string()), ":"),
    )
    named = {kind.name.lower(): [name for name, _ in info.numbers] for kind, info in KINDS.items()}
    detail = pa.nulls(table.num_rows, pa.string())
    kinds = pc.cast(table["kind"], pa.string())
    for kind, names in named.items():
        mine = pc.equal(kinds, kind)
        if names and pc.any(mine).as_py():
            words = [
                pc.binary_join_element_wise(name, pc.cast(table[column], pa.string()), "=")
                for name, column in zip(names, "abcd", strict=False)
            ]
            joined = pc.binary_join_element_wise(*words, " ") if len(words) > 1 else words[0]
            detail = pc.if_else(mine, joined, detail)
    columns = {
        "time_ns": table["time_ns"],
        "kind": kinds,
        "port": port,
        "class": table["class"],
        "reason": pc.cast(table["reason"], pa.string()),
        "qp": table["qp"],
        "detail": detail,
    }
    units = {
        "time_ns": "ns",
        "kind": "text",
        "port": "text",
        "class": "text",
        "reason": "text",
        "qp": "text",
        "detail": "text",
    }
    return View("events", "Events", pa.table(columns), units, "")


VIEWS: Final[Mapping[str, Callable[[RunDir], View]]] = {
    "messages": messages,
    "ports": ports,
    "queues": queues,
    "pfc": pfc,
    "pfc-history": pfc_history,
    "ecn": ecn,
    "drops": drops,
    "hosts": hosts,
    "arp": arp,
    "datagrams": datagrams,
    "events": events,
}


def _with_peer(run: RunDir, view: View) -> View:
    fabric = run.fabric
    peer = {fabric.port_name(port.id): fabric.peer_of(port.id).name for port in fabric.ports}
    column = [peer[name] for name in view.table["port"].to_pylist()]
    table = view.table.add_column(1, "peer", pa.array(column, pa.string()))
    return View(view.name, view.title, table, {**view.units, "peer": "text"}, view.sort)


def _any_of(table: pa.Table, columns: list[str]) -> pa.Table:
    keep = np.zeros(table.num_rows, np.bool_)
    for column in columns:
        keep |= table[column].to_numpy() != 0
    return table.filter(pa.array(keep))


def _plain(table: pa.Table) -> pa.Table:
    """Names as strings: dictionary columns cannot be sorted or compared."""
    return table.cast(
        pa.schema(
            [pa.field(it.name, pa.string() if pa.types.is_dictionary(it.type) else it.type) for it in table.schema]
        )
    )

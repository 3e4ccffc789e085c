"""Snapshot: read-only counters at one moment, the one interface for telemetry and reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.port.flowcontrol import counters as flow
from fabric.dataplane.state.codes import N_CLASSES, N_DROP_REASONS
from fabric.dataplane.state.types import NO_QP, State, Table
from fabric.topology.model import Fabric


@dataclass(frozen=True)
class Snapshot:
    """Copies of the observable tables, with the dtypes of dataplane/state/types.py; rows are ids.

    `queues`, `pgs` and `prios` have shape (n_ports, 8), `drops` (n_ports, 8, N_DROP_REASONS); `messages` and
    `rmessages` start with message 0. Pause times include pauses that still last (closed at time_ps).
    """

    time_ps: int
    fabric: Fabric
    finished: bool
    events: int
    packet_hops: int
    devices: Table
    ports: Table
    queues: Table
    pgs: Table
    prios: Table
    pools: Table
    switches: Table
    hosts: Table
    qps: Table
    rqps: Table
    messages: Table
    """Of the single messages of the run, as rmessages."""
    rmessages: Table
    drops: Table
    groups: Table
    members: Table
    segments: Table
    """(n_switches, n_vnis); no columns without an overlay."""
    asks: Table
    streams: Table
    """(n_streams,) sending sides of datagrams."""
    rstreams: Table
    datagram_drops: Table
    """As `drops`, of datagrams alone; (0, 8, N_DROP_REASONS) where there is no stream."""
    transfers: Table
    rtransfers: Table

    @property
    def datagrams_left(self) -> bool:
        """As datagrams_left()."""
        return datagrams_left(self)

    @property
    def paused(self) -> flow.Mask:
        """(n_ports, 8) classes that link flow control keeps a port from sending now."""
        return flow.paused(self.ports)

    @property
    def flow_controlled(self) -> flow.Mask:
        """(n_ports, 8) classes under link flow control."""
        return flow.controlled(self.ports)

    @property
    def pausing(self) -> flow.Mask:
        """(n_ports, 8) classes for which a port's last frame to its peer was XOFF."""
        return flow.pausing(self.prios)

    @property
    def flow_frames_received(self) -> NDArray[np.int64]:
        """(n_ports, 8) frames of link flow control received, obeyed or not."""
        return flow.frames_received(self.prios)

    @property
    def flow_frames_sent(self) -> NDArray[np.int64]:
        """(n_ports, 8) frames of link flow control sent."""
        return flow.frames_sent(self.prios)


def _frozen(table: Table) -> Table:
    copy = flow.copied(table)
    copy.flags.writeable = False
    return copy


class Kept:
    """Tables that seldom change, as in the last snapshot: it and the next share one copy while they are equal.

    Comparing reads memory that is in use; a copy writes new memory, which costs a sample several times as much.
    """

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {}

    def frozen(self, name: str, table: Table) -> Table:
        """A copy of `table` that cannot be written, the last one if that is equal."""
        last = self._tables.get(name)
        if last is None or last.shape != table.shape or not np.array_equal(_words(last), _words(table)):
            last = self._tables[name] = _frozen(table)
        return last


def _words(table: Table) -> NDArray[np.int64]:
    return table.reshape(-1).view(np.int64)


def packet_hops(state: State) -> int:
    """Packets that have crossed a link: data, ACK, CNP and pause alike."""
    return int(state.ports["rx_pkts"].sum())


def is_finished(state: State) -> bool:
    """Whether every message is done or has failed, every ARP request sent, and every datagram delivered or lost."""
    transfers = state.transfers[: int(state.config[0]["n_transfers"])]
    todo = int(state.config[0]["n_messages"]) + int(transfers["n_sent"].sum())
    if int(state.hosts["messages_done"].sum() + state.hosts["messages_failed"].sum()) < todo:
        return False
    if (transfers["done_messages"] < transfers["count"])[transfers["qp"] == NO_QP].any():
        return False
    return not (state.hosts["ask_next"] < state.hosts["ask_end"]).any() and not datagrams_left(state)


def datagrams_left(now: Snapshot | State) -> bool:
    """Whether a datagram is still to be made, or neither delivered nor lost."""
    gone = int(now.rstreams["received_pkts"].sum()) + int(now.datagram_drops["pkts"].sum())
    return bool((now.streams["left"] > 0).any()) or int(now.streams["sent_pkts"].sum()) > gone


def outcome(messages: Table, transfers: Table) -> str:
    """The outcome of a finished run's messages in words; failed messages are not done, and an ARP-only run has none.

    messages, transfers : rows of a Snapshot, every message done or failed
    """
    if not messages.size and not transfers["count"].any():
        return "nothing left to do"
    failed = messages["failed"].any() or transfers["failed_messages"].any()
    return "all messages done or failed" if failed else "all messages done"


def snapshot(state: State, fabric: Fabric, time_ps: int, kept: Kept) -> Snapshot:
    """Copy the observable tables as they are at time_ps; `kept` has those of the snapshot before."""
    n_switches, n_vnis = len(fabric.switches), int(state.config[0]["n_vnis"])
    n_streams = int(state.config[0]["n_streams"])
    return Snapshot(
        time_ps=time_ps,
        fabric=fabric,
        finished=is_finished(state),
        events=int(state.devices["events"].sum()),
        packet_hops=packet_hops(state),
        devices=_frozen(state.devices),
        ports=_frozen(state.ports),
        queues=_frozen(state.queues).reshape(-1, N_CLASSES),
        pgs=_frozen(state.pgs).reshape(-1, N_CLASSES),
        prios=kept.frozen("prios", flow.with_present_pauses(state.prios, state.ports, time_ps)),
        pools=_frozen(state.pools),
        switches=_frozen(state.switches),
        hosts=_frozen(state.hosts),
        qps=_frozen(state.qps),
        rqps=_frozen(state.rqps),
        messages=_frozen(state.messages[1 : 1 + int(state.config[0]["n_messages"])]),
        rmessages=_frozen(state.rmessages[1 : 1 + int(state.config[0]["n_messages"])]),
        drops=kept.frozen("drops", state.drops.reshape(-1, N_CLASSES, N_DROP_REASONS)),
        groups=_frozen(state.groups),
        members=_frozen(state.members),
        segments=_frozen(state.segments[: n_switches * n_vnis]).reshape(n_switches, n_vnis),
        asks=_frozen(state.asks[: int(state.hosts["ask_end"].max(initial=0))]),
        streams=_frozen(state.streams[:n_streams]),
        rstreams=_frozen(state.rstreams[:n_streams]),
        datagram_drops=_frozen(state.datagram_drops if n_streams else state.datagram_drops[:0]).reshape(
            -1, N_CLASSES, N_DROP_REASONS
        ),
        transfers=_frozen(state.transfers[: int(state.config[0]["n_transfers"])]),
        rtransfers=_frozen(state.rtransfers[: int(state.config[0]["n_transfers"])]),
    )


def reset_watermarks(state: State) -> None:
    """Start a new sampling interval: watermarks fall to the present use."""
    state.queues["watermark_bytes"] = state.queues["depth_bytes"]
    state.pgs["watermark_bytes"] = state.pgs["use_bytes"]
    state.pgs["headroom_watermark_bytes"] = state.pgs["headroom_bytes"]
    state.pools["watermark_bytes"] = state.pools["used_bytes"]
    state.pools["headroom_watermark_bytes"] = state.pools["headroom_used_bytes"]

"""Snapshot: read-only counters at one moment, the one door that telemetry and reports may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric.state.codes import N_CLASSES, N_DROP_REASONS
from fabric.state.types import State
from fabric.topology.model import Fabric


@dataclass(frozen=True)
class Snapshot:
    """Copies of the observable tables, with the dtypes of state/types.py; rows are ids.

    `queues`, `pgs` and `prios` have shape (n_ports, 8), `drops` (n_ports, 8, N_DROP_REASONS); `messages` and
    `rmessages` start with message 0. Pause times include pauses that still last (closed at time_ps).
    """

    time_ps: int
    fabric: Fabric
    finished: bool
    events: int
    packet_hops: int
    devices: NDArray[Any]
    ports: NDArray[Any]
    queues: NDArray[Any]
    pgs: NDArray[Any]
    prios: NDArray[Any]
    pools: NDArray[Any]
    switches: NDArray[Any]
    hosts: NDArray[Any]
    qps: NDArray[Any]
    rqps: NDArray[Any]
    messages: NDArray[Any]
    rmessages: NDArray[Any]
    drops: NDArray[Any]
    groups: NDArray[Any]
    members: NDArray[Any]
    segments: NDArray[Any]
    """(n_switches, n_vnis); no columns without an overlay."""
    asks: NDArray[Any]


def _frozen(table: NDArray[Any]) -> NDArray[Any]:
    copy = table.copy()
    copy.flags.writeable = False
    return copy


def _close_pauses(prios: NDArray[Any], ports: NDArray[Any], time_ps: int) -> NDArray[Any]:
    """Add the part up to time_ps of pauses that still last, as a reader of counters expects.

    Where a budget stopped the run, a device may be a window ahead of time_ps; what it began there counts nothing yet.
    """
    prios = prios.reshape(-1, N_CLASSES).copy()
    paused = (ports["paused"][:, None] >> np.arange(N_CLASSES)) & 1 == 1
    lasting = np.where(paused, np.maximum(time_ps - prios["since_ps"], 0), 0)
    prios["rx_paused_ps"] += lasting
    prios["longest_ps"] = np.maximum(prios["longest_ps"], lasting)
    prios["tx_paused_ps"] += np.where(prios["xoff_sent"] == 1, np.maximum(time_ps - prios["sent_since_ps"], 0), 0)
    prios.flags.writeable = False
    return prios


def packet_hops(state: State) -> int:
    """Packets that have crossed a link: data, ACK, CNP and pause alike."""
    return int(state.ports["rx_pkts"].sum())


def is_finished(state: State) -> bool:
    """Whether every message is done or has failed, and every ARP request has been sent."""
    if int(state.hosts["messages_done"].sum() + state.hosts["messages_failed"].sum()) < len(state.messages) - 1:
        return False
    return not (state.hosts["ask_next"] < state.hosts["ask_end"]).any()


def snapshot(state: State, fabric: Fabric, time_ps: int) -> Snapshot:
    """Copy the observable tables as they are at time_ps."""
    n_switches, n_vnis = len(fabric.switches), int(state.config[0]["n_vnis"])
    return Snapshot(
        time_ps=time_ps, fabric=fabric, finished=is_finished(state), events=int(state.devices["events"].sum()),
        packet_hops=packet_hops(state),
        devices=_frozen(state.devices), ports=_frozen(state.ports),
        queues=_frozen(state.queues).reshape(-1, N_CLASSES), pgs=_frozen(state.pgs).reshape(-1, N_CLASSES),
        prios=_close_pauses(state.prios, state.ports,
                            time_ps), pools=_frozen(state.pools), switches=_frozen(state.switches),
        hosts=_frozen(state.hosts), qps=_frozen(state.qps), rqps=_frozen(state.rqps),
        messages=_frozen(state.messages[1:]), rmessages=_frozen(state.rmessages[1:]),
        drops=_frozen(state.drops).reshape(-1, N_CLASSES, N_DROP_REASONS), groups=_frozen(state.groups),
        members=_frozen(state.members),
        segments=_frozen(state.segments[: n_switches * n_vnis]).reshape(n_switches, n_vnis),
        asks=_frozen(state.asks[: int(state.hosts["ask_end"].max(initial=0))]),
    )


def reset_watermarks(state: State) -> None:
    """Start a new sampling interval: watermarks fall to the present use."""
    state.queues["watermark_bytes"] = state.queues["depth_bytes"]
    state.pgs["watermark_bytes"] = state.pgs["use_bytes"]
    state.pgs["headroom_watermark_bytes"] = state.pgs["headroom_bytes"]
    state.pools["watermark_bytes"] = state.pools["used_bytes"]
    state.pools["headroom_watermark_bytes"] = state.pools["headroom_used_bytes"]

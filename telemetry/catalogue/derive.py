"""Values that are not one field of a Snapshot: each is a function in the catalogue's `source` column.

The counter of an outage is increased when the outage ends. A reader must also see an outage that still lasts, so
`down_ps()` adds it. (Snapshot does so for pauses.)

A frame that is lost silently reaches no counter of a real port. The engine counts it as received and then discarded,
for its own balance of frames; here it is neither received nor discarded. Only the drop reason `injected` has it, as the
truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import DropReason, QpState, WatchdogState
from telemetry.catalogue.causes import pause_causes
from telemetry.catalogue.control import BGP_STATES, ControlFacts
from telemetry.catalogue.jobs import JobTables, OperationClass
from telemetry.catalogue.observation import Observation

Values = NDArray[Any]


@dataclass(frozen=True)
class Collective:
    """A part of the workload in which all ranks send to each other, once or several times."""

    of: OperationClass
    ranks: int
    repetition: NDArray[np.int64]
    """(n_messages,) repetition that a message belongs to; -1: not a message of the collective."""


@dataclass(frozen=True)
class RunInfo:
    """Facts of a run that are not in a Snapshot."""

    version: str
    run: str
    """Name of the run: its directory, or the scenario's name."""
    scenario: str
    model: str
    seed: int
    pool_names: tuple[str, ...] = ()
    """By row of Snapshot.pools; empty: the name of a pool is its position in its switch, from 0."""
    ideal_ps: NDArray[np.int64] | None = None
    """(n_messages,) completion time in an empty fabric; without it the slowdown is not exported."""
    collectives: tuple[Collective, ...] = ()
    jobs: JobTables | None = None
    """None: the run has no transfers."""
    vnis: tuple[int, ...] = ()
    """By column of Snapshot.segments; empty: the name of a VNI is its position, from 0."""


def _configured_rate_bps(snapshot: Snapshot) -> NDArray[np.int64]:
    """(n_ports,) speed of each port's cable as the topology has it, bit/s."""
    fabric = snapshot.fabric
    return np.fromiter((fabric.links[port.link].rate_bps for port in fabric.ports), np.int64, len(fabric.ports))


def _paused(snapshot: Snapshot) -> Values:
    return snapshot.paused.astype(np.int64)


def _down_ps(snapshot: Snapshot) -> Values:
    ports = snapshot.ports
    down_ps: Values = ports["down_ps"] + np.where(ports["up"] == 0, snapshot.time_ps - ports["down_since_ps"], 0)
    return down_ps


def _arrived(table: str, field: str, unit: str) -> Callable[[Snapshot], Values]:
    """A counter of ports or of their classes without the frames that were lost silently."""

    def read(snapshot: Snapshot) -> Values:
        counted: Values = getattr(snapshot, table)[field]
        lost = snapshot.drops[unit][:, :, int(DropReason.INJECTED)]
        return counted - (lost if counted.ndim == lost.ndim else lost.sum(axis=1))

    return read


def _shared_threshold_bytes(snapshot: Snapshot) -> Values:
    """Static limit, or free bytes of the pool shifted by dynamic_th: T = 2**dynamic_th * free."""
    pgs, pools = snapshot.pgs, snapshot.pools
    if len(pools) == 0:
        return np.zeros(pgs.shape, np.int64)
    free = np.maximum(pools["size_bytes"] - pools["used_bytes"], 0)[np.minimum(pgs["pool"], len(pools) - 1)]
    shift = pgs["shift"]
    dynamic = np.where(shift >= 0, free << np.maximum(shift, 0), free >> np.maximum(-shift, 0))
    return np.where(pgs["limit_bytes"] >= 0, pgs["limit_bytes"], dynamic)


def _curve(field: str) -> Callable[[Snapshot], Values]:
    """A field of the marking curve; 0 where a queue marks nothing."""
    return lambda snapshot: np.where(snapshot.queues["ecn"] != 0, snapshot.queues[field], 0)


def _watchdog(state: WatchdogState) -> Callable[[Snapshot], Values]:
    return lambda snapshot: snapshot.queues["wd_state"] == int(state)


def _rate_cuts(snapshot: Snapshot) -> Values:
    return np.bincount(snapshot.qps["src"], snapshot.qps["cuts"], len(snapshot.hosts))


def _active_queue_pairs(snapshot: Snapshot) -> Values:
    return np.bincount(_busy_qps(snapshot)["src"], minlength=len(snapshot.hosts))


def control_of(snapshot: Snapshot) -> ControlFacts:
    """The control plane's facts, or None."""
    return (snapshot.control if isinstance(snapshot, Observation) else None) or _NO_CONTROL


_NO_CONTROL: Final = ControlFacts()


def _deadlock(snapshot: Snapshot) -> Values:
    return np.array([isinstance(snapshot, Observation) and bool(snapshot.cycle)])


def _fact(rows: Callable[[ControlFacts], Sequence[Any]], name: str) -> Callable[[Snapshot], Values]:
    return lambda snapshot: np.array([getattr(it, name) for it in rows(control_of(snapshot))], np.int64)


def _bgp_state(state: str) -> Callable[[Snapshot], Values]:
    return lambda snapshot: np.array([it.state == state for it in control_of(snapshot).peers], np.int64)


DERIVED: Final[Mapping[str, Callable[[Snapshot], Values]]] = {
    "sim_time_ps()": lambda snapshot: np.array([snapshot.time_ps]),
    "finished()": lambda snapshot: np.array([snapshot.finished]),
    "events()": lambda snapshot: np.array([snapshot.events]),
    "configured_rate_bps()": _configured_rate_bps,
    "received_bytes()": _arrived("ports", "rx_bytes", "bytes"),
    "received_pkts()": _arrived("ports", "rx_pkts", "pkts"),
    "discarded_bytes()": _arrived("ports", "dropped_bytes", "bytes"),
    "discarded_pkts()": _arrived("ports", "dropped_pkts", "pkts"),
    "class_received_bytes()": _arrived("pgs", "rx_bytes", "bytes"),
    "class_received_pkts()": _arrived("pgs", "rx_pkts", "pkts"),
    "paused()": _paused,
    "down_ps()": _down_ps,
    "shared_threshold_bytes()": _shared_threshold_bytes,
    **{f"ecn_{field}()": _curve(field) for field in ("kmin_bytes", "kmax_bytes", "pmax_ratio")},
    "watchdog_operational()": _watchdog(WatchdogState.OPERATIONAL),
    "watchdog_stormed()": _watchdog(WatchdogState.STORMED),
    "rate_cuts()": _rate_cuts,
    "active_queue_pairs()": _active_queue_pairs,
    "deadlock()": _deadlock,
    **{f"bgp_{state}()": _bgp_state(state) for state in BGP_STATES},
    "bgp_flaps()": _fact(lambda control: control.peers, "flaps"),
    "bgp_prefixes()": _fact(lambda control: control.prefixes, "accepted"),
    "evpn_routes()": _fact(lambda control: control.evpn, "routes"),
    "mac_moves()": _fact(lambda control: control.moves, "moves"),
}
"""Arrays in the shape of the rows' table."""

SIZE_CLASSES: Final = ("0-10KB", "10KB-100KB", "100KB-1MB", "1MB-10MB", "10MB+")
_SIZE_BOUNDS: Final = np.array([10**4, 10**5, 10**6, 10**7])


def size_class(size_bytes: Values) -> Values:
    """Row of SIZE_CLASSES; a size on a boundary belongs to the lower class."""
    return np.searchsorted(_SIZE_BOUNDS, size_bytes, side="left")


def _busy_qps(snapshot: Snapshot) -> Values:
    qps = snapshot.qps
    busy: Values = qps[(qps["acked_psn"] < qps["posted_psn"]) & (qps["state"] != int(QpState.FAILED))]
    return busy


def _done(snapshot: Snapshot) -> Values:
    done: Values = (snapshot.messages["end_ps"] >= 0) & (snapshot.messages["failed"] == 0)
    return done


def _rates_bps(snapshot: Snapshot, _: RunInfo) -> tuple[Values, Values]:
    rates = _busy_qps(snapshot)["rate_bps"]
    return np.zeros(len(rates), np.int64), rates


def _alphas(snapshot: Snapshot, _: RunInfo) -> tuple[Values, Values]:
    alphas = _busy_qps(snapshot)["alpha"]
    return np.zeros(len(alphas), np.int64), alphas


def _completions_ps(snapshot: Snapshot, _: RunInfo) -> tuple[Values, Values]:
    done = snapshot.messages[_done(snapshot)]
    return size_class(done["size_bytes"]), done["end_ps"] - done["start_ps"]


def _slowdowns(snapshot: Snapshot, info: RunInfo) -> tuple[Values, Values] | None:
    if info.ideal_ps is None:
        return None
    done = _done(snapshot)
    rows, duration_ps = _completions_ps(snapshot, info)
    return rows, duration_ps / info.ideal_ps[done]


def repetitions(snapshot: Snapshot, info: RunInfo) -> tuple[Values, Values, Values]:
    """(row of info.collectives, duration in ps, bytes sent by each rank) of every completed repetition."""
    rows, durations_ps, sent = [], [], []
    messages, done = snapshot.messages, _done(snapshot)
    for row, it in enumerate(info.collectives):
        mine = it.repetition >= 0
        of, count = it.repetition[mine], int(it.repetition.max(initial=-1)) + 1
        first_ps = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(first_ps, of, messages["start_ps"][mine])
        last_ps = np.zeros(count, np.int64)
        np.maximum.at(last_ps, of, messages["end_ps"][mine])
        whole = np.bincount(of, done[mine], count) == np.bincount(of, minlength=count)
        rows.append(np.full(int(whole.sum()), row))
        durations_ps.append((last_ps - first_ps)[whole])
        sent.append(np.bincount(of, messages["size_bytes"][mine], count)[whole] / it.ranks)
    return tuple(np.concatenate([np.zeros(0), *found]) for found in (rows, durations_ps, sent))  # type: ignore[return-value]


OBSERVED: Final[Mapping[str, Callable[[Snapshot, RunInfo], tuple[Values, Values] | None]]] = {
    "rates_bps()": _rates_bps,
    "alphas()": _alphas,
    "completions_ps()": _completions_ps,
    "slowdowns()": _slowdowns,
}
"""Observations of histograms: (row of the row set's table, value) of each; None where the run has no such source."""


def _device_facts(snapshot: Snapshot, _: RunInfo) -> list[dict[str, str]]:
    return [{"role": node.role.value, "tier": str(node.tier), "group": node.group} for node in snapshot.fabric.nodes]


def _port_facts(snapshot: Snapshot, _: RunInfo) -> list[dict[str, str]]:
    fabric = snapshot.fabric
    return [
        {"peer_device": fabric.peer_of(port.id).name, "peer_port": fabric.ports[port.peer].name}
        for port in fabric.ports
    ]


FACTS: Final[Mapping[str, Callable[[Snapshot, RunInfo], list[dict[str, str]]]]] = {
    "build()": lambda _, info: [{"version": info.version}],
    "run()": lambda snapshot, info: [
        {
            "fabric": snapshot.fabric.name,
            "run": info.run,
            "scenario": info.scenario,
            "model": info.model,
            "seed": str(info.seed),
        }
    ],
    "device()": _device_facts,
    "port()": _port_facts,
    "watched_queue()": lambda _, __: [],
}
"""Labels of info metrics beyond those of their rows, one dictionary per row; they do not change within a run."""

PASSING: Final[Mapping[str, Callable[[Snapshot], list[dict[str, str]]]]] = {"pause_causes()": pause_causes}
"""All labels of info metrics whose series come and go."""

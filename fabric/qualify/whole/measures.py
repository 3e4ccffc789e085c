"""The measures of a whole fabric, each from a run: rows of label and number. Times are ps, rates bits per second."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.qualify.names import STORMED
from fabric.qualify.whole import traffic
from fabric.qualify.whole.trial import FabricTrial
from fabric.runs.collective_times import Prepared
from fabric.theory.collisions import chance_of_max
from fabric.theory.headroom import WIRE_OVERHEAD_BYTES
from fabric.units import PS_PER_S, listed

Rows = dict[str, float]
Reader = Callable[[FabricTrial, str], Rows]
ONCE_IN: Final = 1e-4
"""Probability with which a uniform hash exceeds the limit of its spread."""
_SHOWN: Final = 4
_ANSWERS: Final = 1.05
"""Acknowledgements of the other direction are counted with the data."""


def queue_of(trial: FabricTrial, port: int, class_: int) -> int:
    """Queue that a class leaves a switch's port by."""
    row = int(trial.fabric.ports[port].node) - len(trial.fabric.hosts)
    return int(trial.end.switches["tc_to_queue"][row][class_])


def roce_queue(trial: FabricTrial, now: Snapshot, port: int) -> Any:  # noqa: ANN401  a row of a structured array
    """The row of RoCE's queue at a switch's port."""
    return now.queues[port, queue_of(trial, port, trial.subject.roce)]


def untried(trial: FabricTrial, names: Collection[str]) -> list[str]:
    """Where measures of these names could not tell: cables without waiting frames, queues that stayed low."""
    found = []
    if "hop_paused" in names:
        hops = [trial.hop_name(it) for it in trial.hops if not _tried(trial, it)]
        found += [f"no frame of the class waits for {listed(hops, _SHOWN)}"] if hops else []
    if "full_queue_marked" in names:
        marks = _full_queue_marked(trial, "")
        queues = [name for port, _ in trial.cables if (name := trial.port_name(port)) not in marks]
        found += [f"not filled above its curve: the queue of {listed(queues, _SHOWN)}"] if queues else []
    return found


def _hop_paused(trial: FabricTrial, of: str) -> Rows:
    """Of a cable without a frame nothing can be said; a cable whose frames all went on was not put to the test."""
    del of
    return {
        trial.hop_name(hop): int(trial.end.prios["rx_paused_ps"][hop[0], trial.subject.roce])
        for hop in trial.hops
        if _tried(trial, hop)
    }


def _tried(trial: FabricTrial, hop: tuple[int, int]) -> bool:
    """A cable to a host that sends PAUSE always. A host may wait for its own window: its frames decide."""
    now, roce = trial.end, trial.subject.roce
    if trial.fabric.node_of(hop[1]).name in traffic.paused_hosts(trial.subject, trial.run):
        return True
    is_host = trial.fabric.node_of(hop[0]).is_host
    waits = not is_host and int(roce_queue(trial, now, hop[0])["depth_bytes"]) > 0
    refused = int(now.drops["pkts"][hop[1], roce].sum()) > 0
    return waits or refused or int(now.prios["rx_paused_ps"][hop[0], roce]) > 0


def _by_switch(trial: FabricTrial, counts: NDArray[np.int64]) -> Rows:
    """(n_ports,) counts, together for each switch."""
    return {node.name: int(counts[list(node.ports)].sum()) for node in trial.fabric.switches}


def _class_lost(trial: FabricTrial, of: str) -> Rows:
    del of
    return _by_switch(trial, trial.end.drops["pkts"][:, trial.subject.roce].astype(np.int64).sum(axis=-1))


def _beside_lost(trial: FabricTrial, of: str) -> Rows:
    del of
    return _by_switch(trial, trial.end.datagram_drops["pkts"].astype(np.int64).sum(axis=(1, 2)))


def _beside_pauses(trial: FabricTrial, of: str) -> Rows:
    del of
    return _by_switch(trial, trial.end.prios["tx_xoff_pkts"][:, trial.subject.beside])


def slots(trial: FabricTrial) -> Iterator[tuple[str, int, Snapshot, Snapshot]]:
    """(host, switch port to it, begin and end of the window) of each slot."""
    for host, (before, after) in trial.windows.items():
        if host:
            yield host, trial.subject.port_of(host), before, after


def _receiver_marked(trial: FabricTrial, of: str) -> Rows:
    del of
    return {
        trial.port_name(port): int(
            roce_queue(trial, after, port)["marked_pkts"] - roce_queue(trial, before, port)["marked_pkts"]
        )
        for _, port, before, after in slots(trial)
    }


def _receiver_cnps(trial: FabricTrial, of: str) -> Rows:
    del of
    ids = trial.fabric.by_name
    return {
        host: int(after.hosts["cnp_sent"][ids[host].id] - before.hosts["cnp_sent"][ids[host].id])
        for host, _, before, after in slots(trial)
    }


def _full_queue_marked(trial: FabricTrial, of: str) -> Rows:
    del of
    rows = {port: roce_queue(trial, trial.end, port) for port, _ in trial.cables}
    curves = [int(it["kmax_bytes"]) for it in rows.values() if it["kmax_bytes"] > 0]
    usual = min(curves, default=0)
    return {
        trial.port_name(port): int(row["marked_pkts"])
        for port, row in rows.items()
        if int(row["peak_bytes"]) > (int(row["kmax_bytes"]) if row["kmax_bytes"] > 0 else usual)
    }


def _share_missing(trial: FabricTrial, of: str) -> Rows:
    """Of the datagrams with RoCE's DSCP that reached the receiver, whatever queue they took."""
    del of
    found: Rows = {}
    for host, port, before, after in slots(trial):
        streams = trial.end.streams
        mine = (streams["dst"] == int(trial.fabric.by_name[host].id)) & (streams["dscp"] == trial.subject.dscp)
        frames = (after.rstreams["received_pkts"] - before.rstreams["received_pkts"])[mine]
        wire = int((frames * (streams["size"][mine].astype(np.int64) + WIRE_OVERHEAD_BYTES)).sum()) * 8 * PS_PER_S
        offered = int(streams["rate_bps"][mine].sum())  # a slower sender cannot have more
        entitled = min(entitled_share(trial, port) * trial.subject.rate_bps(host), offered)
        found[trial.port_name(port)] = max(0.0, 1 - wire / (after.time_ps - before.time_ps) / entitled)
    return found


def entitled_share(trial: FabricTrial, port: int) -> float:
    """Of RoCE's queue at a port where the class of DSCP 0 sends as well: by its weight, or all if it is strict."""
    ours, theirs = (queue_of(trial, port, it) for it in (trial.subject.roce, trial.subject.beside))
    strict = int(trial.end.ports["strict"][port])
    if ours == theirs or strict >> ours & 1:
        return 1.0
    weights = trial.end.queues["quantum_bytes"][port]
    both = int(weights[ours]) + int(weights[theirs])
    return int(weights[ours]) / both if both and not strict >> theirs & 1 else 1.0


def _of_watchdog(field: str) -> Reader:
    def read(trial: FabricTrial, of: str) -> Rows:
        paused = set(traffic.paused_hosts(trial.subject, trial.run))
        found: Rows = {}
        for host in trial.hosts:
            if (host in paused) == (of == STORMED):
                port = trial.subject.port_of(host)
                found[trial.port_name(port)] = int(trial.end.queues[field][port].sum())
        return found

    return read


def _declared_inside(trial: FabricTrial, of: str) -> Rows:
    del of
    inside = np.zeros(len(trial.fabric.ports), bool)
    inside[[port for port, _ in trial.cables]] = True
    return _by_switch(trial, np.where(inside, trial.end.queues["wd_detected"].sum(axis=1), 0))


def _arrivals_missing(trial: FabricTrial, of: str) -> Rows:
    """Of datagrams to hosts that send no PAUSE, in the window."""
    del of
    paused = set(traffic.paused_hosts(trial.subject, trial.run))
    ((before, after),) = trial.windows.values()
    rows: Rows = {}
    for host in trial.hosts:
        mine = trial.end.streams["dst"] == int(trial.fabric.by_name[host].id)
        if host in paused or not mine.any():
            continue
        made = sum(int((after.streams[it] - before.streams[it])[mine].sum()) for it in ("sent_pkts", "refused_pkts"))
        came = int((after.rstreams["received_pkts"] - before.rstreams["received_pkts"])[mine].sum())
        rows[host] = max(0.0, 1 - came / made) if made else float("nan")
    return rows


def _cable_frames(trial: FabricTrial, of: str) -> Rows:
    del of
    rows: Rows = {trial.hop_name(it): int(trial.end.ports["tx_pkts"][it[0]]) for it in trial.cables}
    return rows | dict.fromkeys(trial.subject.down, 0)


def _tiers(trial: FabricTrial) -> dict[int, int]:
    """Node to its distance from the hosts."""
    layer = {int(it.id) for it in trial.fabric.hosts}
    tier, depth = dict.fromkeys(layer, 0), 0
    while layer:
        depth += 1
        layer = {int(far.id) for node in layer for _, far in trial.fabric.neighbours(node)} - set(tier)
        tier |= dict.fromkeys(layer, depth)
    return tier


def uplinks(trial: FabricTrial) -> dict[str, list[int]]:
    """Switch to its ports towards switches further from the hosts; switches with two or more of them."""
    tier = _tiers(trial)
    found: dict[str, list[int]] = {}
    for port, peer in trial.cables:
        near, far = (trial.fabric.node_of(it) for it in (port, peer))
        if tier.get(int(far.id), 0) > tier.get(int(near.id), 0):
            found.setdefault(near.name, []).append(port)
    return {name: ports for name, ports in found.items() if len(ports) > 1}


def _spread(trial: FabricTrial, of: str) -> Rows:
    del of
    return {
        name: float(sent.max() / sent.mean())
        for name, ports in uplinks(trial).items()
        if (sent := trial.end.ports["tx_bytes"][ports].astype(float)).sum()
    }


def _spread_limit(trial: FabricTrial, of: str) -> Rows:
    """Of the queue pairs from below a switch to elsewhere; a leaf's are those of its hosts to others."""
    del of
    flows: dict[str, int] = {}
    src, dst = (trial.end.qps[it] for it in ("src", "dst"))
    below = _below(trial)
    for name in uplinks(trial):
        inside = np.isin(np.arange(len(trial.fabric.nodes)), list(below[name]))
        alike = sum(its == below[name] for its in below.values())  # switches that share these hosts' traffic
        flows[name] = int((inside[src] & ~inside[dst]).sum()) // alike
    return {name: _limit(flows[name], len(ports)) * _ANSWERS for name, ports in uplinks(trial).items() if flows[name]}


def _below(trial: FabricTrial) -> dict[str, set[int]]:
    """Switch to the hosts that it reaches without going up."""
    tier = _tiers(trial)
    found: dict[int, set[int]] = {int(it.id): {int(it.id)} for it in trial.fabric.hosts}
    for node in sorted(trial.fabric.switches, key=lambda it: tier.get(int(it.id), 0)):
        down = [int(far.id) for _, far in trial.fabric.neighbours(node.id) if tier[int(far.id)] < tier[int(node.id)]]
        found[int(node.id)] = set().union(*(found.get(it, set()) for it in down))
    return {node.name: found[int(node.id)] for node in trial.fabric.switches}


@lru_cache(maxsize=256)
def _limit(flows: int, links: int) -> float:
    """The smallest MMR that a uniform hash exceeds with a chance below ONCE_IN."""
    most = -(-flows // links)
    while most < flows and chance_of_max(flows, links, most + 1) >= ONCE_IN:
        most += 1
    return most * links / flows


def collective_ps(trial: FabricTrial) -> float:
    """From the start of the only collective to its last arrival; NaN where it did not end."""
    rows = trial.end.rtransfers
    done = trial.end.finished and len(rows)
    return float(rows["arrived_ps"].max()) if done else float("nan")


def _time_excess(trial: FabricTrial, of: str) -> Rows:
    del of
    if trial.prepared is None or trial.prepared.form is None:
        return {}
    return {f"{len(trial.hosts)} ranks": collective_ps(trial) / trial.prepared.form.time_ps - 1}


def bus_bandwidth_bps(trial: FabricTrial, prepared: Prepared) -> float:
    """Of the only collective, as nccl-tests has it."""
    request = prepared.request
    factor = request.what.bus_factor_ratio(request.n_ranks)
    return request.size_bytes * 8 * PS_PER_S / collective_ps(trial) * factor


def _bus_bandwidth(trial: FabricTrial, of: str) -> Rows:
    del of
    prepared = trial.prepared
    return {} if prepared is None else {f"{len(trial.hosts)} ranks": bus_bandwidth_bps(trial, prepared)}


READERS: Final[Mapping[str, Reader]] = {
    "hop_paused": _hop_paused,
    "class_lost": _class_lost,
    "receiver_marked": _receiver_marked,
    "full_queue_marked": _full_queue_marked,
    "receiver_cnps": _receiver_cnps,
    "share_missing": _share_missing,
    "beside_lost": _beside_lost,
    "beside_pauses": _beside_pauses,
    "storms_declared": _of_watchdog("wd_detected"),
    "storms_ended": _of_watchdog("wd_restored"),
    "declared_inside": _declared_inside,
    "arrivals_missing": _arrivals_missing,
    "cable_frames": _cable_frames,
    "spread": _spread,
    "spread_limit": _spread_limit,
    "time_excess": _time_excess,
    "bus_bandwidth": _bus_bandwidth,
}

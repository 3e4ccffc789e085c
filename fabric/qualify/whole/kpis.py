"""KPIs of the IETF draft on benchmarking AI training fabrics, by their names and in their units.

Each is one number of a run, or a few by statistic. Source: draft-calabria-bmwg-ai-fabric-training-bench, sections 4 to
11 (definitions and units), and draft-calabria-bmwg-ai-fabric-terminology (BusBW, algo_factor).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES, DropReason, EventKind
from fabric.qualify.whole import measures, traffic
from fabric.qualify.whole.schema import LoadSpec
from fabric.qualify.whole.trial import FabricTrial
from fabric.units import PS_PER_MS, PS_PER_S, PS_PER_US

Rows = dict[str, float]
Reader = Callable[[FabricTrial, str], Rows]
PROBE_BYTES: Final = 4096
"""A message of at most so many bytes is one frame, whose arrival is a one-way latency."""
_COMPUTE_MS: Final = (10, 50, 100, 500)
_PERCENTILES: Final = (50, 95, 99, 99.9)
_PPM: Final = 1e6
_FAIR: Final = 0.1
_DATA: Final = 0.1
"""Part of the bytes of a job's busiest cable, above which a cable carries data; acknowledgements are some per cent."""
_SEVERAL: Final = {DropReason.LINK_DOWN}


def window(trial: FabricTrial) -> tuple[Snapshot, Snapshot]:
    """The measured window: the whole run where all is delivered, else that of the first slot."""
    if trial.run.ends == "drained":
        return trial.begin, trial.end
    return next(iter(trial.windows.values()))


def _seconds(trial: FabricTrial) -> float:
    before, after = window(trial)
    return (after.time_ps - before.time_ps) / PS_PER_S


def _receivers(trial: FabricTrial) -> list[str]:
    return [host for host in trial.windows if host] or list(trial.hosts)


def _goodput_bps(trial: FabricTrial) -> float:
    """Of all hosts, in the window."""
    before, after = window(trial)
    return float((after.hosts["goodput_bytes"] - before.hosts["goodput_bytes"]).sum()) * 8 / _seconds(trial)


def _aggregate(trial: FabricTrial, of: str) -> Rows:
    del of
    return {"all": _goodput_bps(trial) / 1e12}


def _efficiency(trial: FabricTrial, of: str) -> Rows:
    del of
    line = sum(trial.subject.rate_bps(it) for it in _receivers(trial))
    return {"all": 100 * _goodput_bps(trial) / line}


def _latency(trial: FabricTrial, of: str) -> Rows:
    """Of messages of one frame, from posting to arrival."""
    del of
    sizes, arrived = trial.end.messages["size_bytes"][1:], trial.end.rmessages["arrived_ps"][1:]
    begun = trial.end.messages["start_ps"][1:]
    mine = (sizes <= PROBE_BYTES) & (arrived >= 0) & (begun >= 0)
    if not mine.any():
        return {}
    times = (arrived - begun)[mine].astype(float) / PS_PER_US
    rows = {f"P{it:g}": float(np.percentile(times, it)) for it in _PERCENTILES}
    return {"min": float(times.min()), "mean": float(times.mean()), **rows, "max": float(times.max())}


def _marked(trial: FabricTrial, of: str) -> Rows:
    """Of the frames that left by switches' queues of RoCE's class."""
    del of
    before, after = window(trial)
    ports = _switch_ports(trial)
    marked, sent = (
        float((after.queues[it] - before.queues[it])[ports, trial.subject.roce].sum())
        for it in ("marked_pkts", "sent_pkts")
    )
    return {"all": 100 * marked / sent if sent else float("nan")}


def _switch_ports(trial: FabricTrial) -> NDArray[np.int64]:
    return np.array([port for it in trial.fabric.switches for port in it.ports], np.int64)


def _pause_count(trial: FabricTrial, of: str) -> Rows:
    """PAUSE frames with a time above 0, which a port receives in RoCE's class."""
    del of
    before, after = window(trial)
    found = (after.prios["rx_xoff_pkts"] - before.prios["rx_xoff_pkts"])[:, trial.subject.roce] / _seconds(trial)
    return {"largest port": float(found.max()), "all ports": float(found.sum())}


def _pause_duration(trial: FabricTrial, of: str) -> Rows:
    del of
    before, after = window(trial)
    found = (after.prios["rx_paused_ps"] - before.prios["rx_paused_ps"])[:, trial.subject.roce] / PS_PER_US
    return {"largest port": float(found.max()), "all ports": float(found.sum())}


def _dropped(trial: FabricTrial, of: str) -> Rows:
    """Of the frames that hosts sent in the class."""
    del of
    lost = float(trial.end.drops["pkts"][:, trial.subject.roce].astype(np.int64).sum())
    sent = float(trial.end.qps["sent_pkts"].sum())
    return {"all": _PPM * lost / sent if sent else float("nan")}


def _retransmitted(trial: FabricTrial, of: str) -> Rows:
    del of
    before, after = window(trial)
    return {"all": float((after.hosts["retransmitted_pkts"] - before.hosts["retransmitted_pkts"]).sum())
            / _seconds(trial)}  # fmt: skip


def _out_of_order(trial: FabricTrial, of: str) -> Rows:
    del of
    before, after = window(trial)
    return {"all": float((after.rqps["out_of_sequence"] - before.rqps["out_of_sequence"]).sum()) / _seconds(trial)}


def _queue_depth(trial: FabricTrial, of: str) -> Rows:
    """Of RoCE's queue at the switch port that held the most: P95 of samples of the run, and the most at any time."""
    del of
    ports = _switch_ports(trial)
    peaks = trial.end.queues["peak_bytes"].reshape(-1, N_CLASSES)[ports, trial.subject.roce]
    port = ports[int(peaks.argmax())]
    taken = [float(now.queues["depth_bytes"][port, trial.subject.roce]) for now in trial.samples]
    return {"P95": float(np.percentile(taken, 95)), "max": float(peaks.max())}


def _jfi(trial: FabricTrial, of: str) -> Rows:
    """Over the equal-cost ports upwards of each switch, by bytes; the worst switch, and the mean."""
    del of
    found = []
    for ports in measures.uplinks(trial).values():
        sent = trial.end.ports["tx_bytes"][ports].astype(float)
        if sent.sum():
            found.append(float(sent.sum() ** 2 / (len(ports) * (sent**2).sum())))
    return {"worst switch": min(found), "mean": float(np.mean(found))} if found else {}


def _mmr(trial: FabricTrial, of: str) -> Rows:
    found = list(measures.READERS["spread"](trial, of).values())
    return {"worst switch": max(found), "mean": float(np.mean(found))} if found else {}


def _bus_bandwidth(trial: FabricTrial, of: str) -> Rows:
    del of
    return {} if trial.prepared is None else {"mean": measures.bus_bandwidth_bps(trial, trial.prepared) / 1e9}


def _bus_efficiency(trial: FabricTrial, of: str) -> Rows:
    found = _bus_bandwidth(trial, of)
    line = min(trial.subject.rate_bps(it) for it in trial.hosts) / 1e9
    return {name: 100 * it / line for name, it in found.items()}


def _completion(trial: FabricTrial, of: str) -> Rows:
    del of
    return {} if trial.prepared is None else {"mean": measures.collective_ps(trial) / PS_PER_S}


def _jct_ratio(trial: FabricTrial, of: str) -> Rows:
    """(C + time of the collective) / (C + 8 S algo_factor / B_acc), strictly sequential."""
    del of
    if trial.prepared is None:
        return {}
    request = trial.prepared.request
    line = min(trial.subject.rate_bps(it) for it in trial.hosts)
    ideal = request.size_bytes * 8 * request.what.bus_factor_ratio(request.n_ranks) / line * PS_PER_S
    took = measures.collective_ps(trial)
    return {f"C {it} ms": (it * PS_PER_MS + took) / (it * PS_PER_MS + ideal) for it in _COMPUTE_MS}


def _job_ps(trial: FabricTrial, load: LoadSpec) -> float:
    """From the start to the last arrival at a rank of a collective; NaN where it did not end."""
    ids = trial.fabric.by_name
    mine = [int(ids[it].id) for it in traffic.ranks_of(trial.subject, trial.run, load, trial.ranks)]
    rows = trial.end.rtransfers["arrived_ps"][np.isin(trial.end.transfers["dst"], mine)]
    return float(rows.max()) if trial.end.finished and len(rows) else float("nan")


def _interference(trial: FabricTrial, of: str) -> Rows:
    """The time of a job beside the others over that without them."""
    del of
    return {
        f"job {number}": _job_ps(trial, load) / _job_ps(alone, load)
        for number, (load, alone) in enumerate(zip(trial.run.loads, trial.alone, strict=False), 1)
    }


def _used(trial: FabricTrial) -> frozenset[int]:
    """Sending ports between switches that carry the data of a run, and not its acknowledgements alone."""
    sent = {port: int(measures.roce_queue(trial, trial.end, port)["sent_bytes"]) for port, _ in trial.cables}
    least = _DATA * max(sent.values(), default=0)
    return frozenset(port for port, size in sent.items() if size > least)


def _overlap(trial: FabricTrial, of: str) -> Rows:
    """Of the cables of each job alone; 0 of a job at one leaf, which has none."""
    del of
    used = [_used(it) for it in trial.alone]
    found = {}
    for number, mine in enumerate(used, 1):
        others = frozenset().union(*used[: number - 1], *used[number:])
        found[f"job {number}"] = 100 * len(mine & others) / max(len(mine), 1)
    return found


def _failed_drops(trial: FabricTrial) -> NDArray[np.int64]:
    """(n, 2) time since the failure in ps and number of frames, of each drop after it."""
    if trial.run.cut is None:
        return np.zeros((0, 2), np.int64)
    at = traffic.scaled_ps(trial.subject, trial.run, trial.run.cut.at)
    rows = trial.events[trial.events["kind"] == int(EventKind.DROP)]
    rows = rows[rows["time_ps"] >= at]
    several = np.isin(rows["reason"], [int(it) for it in _SEVERAL])
    many = np.where(several, np.maximum(rows["b"], 1), 1)
    return np.stack([rows["time_ps"].astype(np.int64) - at, many.astype(np.int64)], axis=1)


def _failover(trial: FabricTrial, of: str) -> Rows:
    del of
    found = _failed_drops(trial)
    return {"all": float(found[:, 0].max()) / PS_PER_US if len(found) else 0.0}


def _failover_lost(trial: FabricTrial, of: str) -> Rows:
    del of
    return {"all": float(_failed_drops(trial)[:, 1].sum())}


def _burst(trial: FabricTrial, field: str) -> float:
    """Of datagrams sent, until the last sample before the first loss; all of them where none is lost."""
    last = trial.begin
    for now in (*trial.samples, trial.end):
        if int(now.datagram_drops["pkts"].astype(np.int64).sum()):
            break
        last = now
    streams = trial.end.streams
    size = streams["size"].astype(np.int64) if field == "bytes" else 1
    return float((last.streams["sent_pkts"].astype(np.int64) * size).sum())


def _burst_frames(trial: FabricTrial, of: str) -> Rows:
    del of
    return {"all": _burst(trial, "frames")}


def _burst_bytes(trial: FabricTrial, of: str) -> Rows:
    del of
    return {"all": _burst(trial, "bytes")}


def _burst_lost(trial: FabricTrial, of: str) -> Rows:
    del of
    return {"all": float(trial.end.datagram_drops["pkts"].astype(np.int64).sum())}


def _convergence(trial: FabricTrial, of: str) -> Rows:
    """From the moment at which more flows begin to the end of the first interval between samples in which the rates of
    all flows are within 10 % of their mean.
    """
    del of
    if len(trial.run.loads) < 2:
        return {}
    joined = traffic.scaled_ps(trial.subject, trial.run, trial.run.loads[1].at)
    taken = [it for it in (trial.begin, *trial.samples) if it.time_ps >= joined]
    for before, after in pairwise(taken):
        frames = after.qps["acked_psn"].astype(np.int64) - before.qps["acked_psn"]
        if frames.all() and np.abs(frames / frames.mean() - 1).max() <= _FAIR:
            return {"all": (after.time_ps - joined) / PS_PER_US}
    return {"all": float("nan")}


READERS: Final[Mapping[str, Reader]] = {
    "aggregate_throughput": _aggregate,
    "throughput_efficiency": _efficiency,
    "tail_latency": _latency,
    "ecn_marking_ratio": _marked,
    "pfc_pause_count": _pause_count,
    "pfc_pause_duration": _pause_duration,
    "packet_drop_rate": _dropped,
    "retransmission_rate": _retransmitted,
    "out_of_order_rate": _out_of_order,
    "queue_depth": _queue_depth,
    "mmr": _mmr,
    "jfi": _jfi,
    "busbw": _bus_bandwidth,
    "busbw_efficiency": _bus_efficiency,
    "jct": _completion,
    "jct_ratio": _jct_ratio,
    "interference": _interference,
    "link_overlap": _overlap,
    "burst_frames": _burst_frames,
    "burst_bytes": _burst_bytes,
    "burst_lost": _burst_lost,
    "convergence": _convergence,
    "failover_time": _failover,
    "failover_lost": _failover_lost,
}

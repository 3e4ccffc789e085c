"""Power of the GPUs of a finished run: when each computed, from the messages of its transfers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric.errors import InputErrors, Problem
from fabric.jobs.power import Levels, PowerTrace, power_trace
from fabric.runs.rundir import RunDir
from fabric.units import NS_PER_S


@dataclass(frozen=True)
class RunPower:
    """All GPUs of a run."""

    gpus: int
    first_s: float
    """First moment of a job."""
    last_s: float
    """Last moment of a job."""
    busy_ratio: float
    """Share of the time of all jobs' GPUs in which they compute; intervals that overlap count once each."""
    trace: PowerTrace

    @property
    def during_w(self) -> tuple[float, float]:
        """(lowest, highest) power while jobs run."""
        at = self.trace.at_s
        inside = (at >= self.first_s) & (at <= self.last_s)
        # Between two changes the power moves in one direction only.
        drawn = np.append(self.trace.output_w[inside], self.trace.sampled(np.array([self.last_s])))
        return float(drawn.min()), float(drawn.max())

    @property
    def mean_w(self) -> float:
        """Mean from the first to the last moment of a job."""
        span = self.last_s - self.first_s
        if not span:
            return 0.0
        idle = float(self.trace.output_w[0]) * self.first_s  # in equilibrium before the first job
        return (self.trace.energy_j(max(self.last_s, float(self.trace.at_s[-1]))) - idle) / span


def run_power(run: RunDir, levels: Levels, lag_s: float) -> RunPower:
    """A GPU is a host that computes in a transfer to itself.

    Raises: InputErrors where nothing computes, RunDirError where the run did not record the messages of its transfers.
    """
    rows = run.transfers(["operation", "src", "dst", "start_ns", "end_ns", "arrived_ns"])
    src, dst = (np.array(rows[column].to_pylist(), dtype=object) for column in ("src", "dst"))
    computes = src == dst
    messages = run.transfer_messages(["transfer", "start_ns", "end_ns"]) if computes.any() else None
    if messages is None:
        text = "no host computes: its workload has no job, trace or inference"
        raise InputErrors("computing the power", [Problem(str(run.path), text, "run a scenario with kind: job")])
    row = messages["transfer"].to_numpy()
    begin, end = (messages[column].to_numpy(zero_copy_only=False).astype(float) for column in ("start_ns", "end_ns"))
    stop = float(run.summary["stop"]["time_ns"])
    end = np.where(np.isnan(end), stop, end)
    # A copy to host memory for a checkpoint takes time of the GPU's copy engines alone.
    copies = np.array([name.endswith(" checkpoint copy") for name in rows["operation"].to_pylist()], np.bool_)
    taken = (computes & ~copies)[row] & (end > begin)
    hosts, number = np.unique(src[computes].astype(str), return_inverse=True)
    gpu_of = np.full(len(src), -1)
    gpu_of[computes] = number
    host_number = {name: place for place, name in enumerate(hosts)}
    first, last = np.full(len(hosts), np.inf), np.zeros(len(hosts))
    for column, side in (("start_ns", src), ("end_ns", src), ("arrived_ns", dst)):
        times = rows[column].to_numpy(zero_copy_only=False).astype(float)
        known = ~np.isnan(times)
        at = np.array([host_number.get(name, -1) for name in side[known]])
        mine = at >= 0
        np.minimum.at(first, at[mine], times[known][mine])
        np.maximum.at(last, at[mine], times[known][mine])
    gpu = gpu_of[row[taken]]
    np.minimum.at(first, gpu, begin[taken])
    np.maximum.at(last, gpu, end[taken])
    order = np.argsort(gpu, kind="stable")
    cuts = np.searchsorted(gpu[order], np.arange(1, len(hosts)))
    intervals = list(
        zip(np.split(begin[taken][order] / NS_PER_S, cuts), np.split(end[taken][order] / NS_PER_S, cuts), strict=True)
    )
    first = np.minimum(first, last)
    presence = [(float(a) / NS_PER_S, float(b) / NS_PER_S) for a, b in zip(first, last, strict=True)]
    busy = float((end[taken] - begin[taken]).sum()) / max(float((last - first).sum()), 1.0)
    trace = power_trace(intervals, presence, levels, lag_s)
    return RunPower(len(hosts), float(first.min()) / NS_PER_S, float(last.max()) / NS_PER_S, min(busy, 1.0), trace)

"""Facts of one run of a what-if study: work done, losses, times; and the times compared with those of the baseline.

Times of messages are compared message by message, over those that both runs have delivered: the tail of what a failure
has left over would look better than it is if lost messages were only left out of one side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from fabric.runs.convergence import REASONS
from fabric.runs.rundir import RunDir
from fabric.units import PS_PER_NS, parse_time_ps

MAX_CELLS: Final = 20_000_000
"""Hosts times samples above which outages are measured in several samples at a time."""
STEP_END: Final = " end"
"""Ending of the operations that close a step of a job (workload/job.py)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The facts of one run. Times in ns; None: has no such value."""

    work: int
    """Messages, and transfers of collectives and jobs."""
    done: int
    """Of `work`, delivered or carried out by the end of the run."""
    goodput_bytes: int
    """Payload delivered to all hosts."""
    makespan_ns: int | None
    """Until the last delivery."""
    fct_p99_ns: int | None
    """99th percentile of the completion times of messages done."""
    step_ns: int | None
    """Mean duration of the steps of all jobs that ended."""
    lost_pkts: int
    """Packets lost for any reason."""
    lossless_pkts: int
    """Packets of lossless classes discarded for lack of buffer."""
    paused_ns: int
    """Port time paused by PFC."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One run against the baseline."""

    fct_p99_ratio: float | None
    """99th percentile of completion times, over the messages that both delivered."""
    step_ratio: float | None
    """Time of the steps of jobs that both ended."""
    makespan_ratio: float | None
    """None where one of the runs did not finish all work that the baseline did."""
    control_ns: int | None
    """From the failure to the last change of any forwarding table; None: nothing changed, or no control plane."""
    loss_ns: int | None
    """From the failure to the last sample with packets lost on a wrong or dead path; None: none was lost."""
    outage_ns: int | None
    """Longest time after the failure in which a host received nothing although it was behind the baseline, of hosts
    that received something again. 0: none waited as long as a sample."""
    hosts_not_back: int | None
    """Hosts that were behind in this way, and received nothing more until the end of the run."""


def measured(run: RunDir) -> Measured:
    """The facts of a finished run."""
    metrics = run.summary["metrics"]
    ends = ends_ns(run)
    done = ends >= 0
    fct = completion_ns(run)
    fct = np.sort(fct[fct >= 0])
    steps = list(_steps(run).values())
    return Measured(
        len(ends),
        int(done.sum()),
        int(sum(run.counters(["goodput_bytes"])["value"].to_pylist())),
        int(ends.max()) if done.any() else None,
        int(fct[_p99(len(fct))]) if len(fct) else None,
        round(sum(steps) / len(steps)) if steps else None,
        int(metrics["drops.total"]),
        int(metrics["drops.lossless"]),
        int(metrics["pfc.paused_time_ns"]),
    )


def compared(run: RunDir, baseline: RunDir, at_ns: int | None) -> Compared:
    """Compare a run with the baseline.

    Parameters
    ----------
    run, baseline : RunDir    of the same workload and seed; of another workload only distributions are compared
    at_ns : int, optional     when the failure begins; None: there is none, and no recovery
    """
    mine, theirs = completion_ns(run), completion_ns(baseline)
    ratio = None
    if len(mine) == len(theirs):
        both = (mine >= 0) & (theirs >= 0)
        mine, theirs = mine[both], theirs[both]
    else:
        mine, theirs = mine[mine >= 0], theirs[theirs >= 0]
    if len(mine) and len(theirs):
        ratio = float(np.sort(mine)[_p99(len(mine))] / max(np.sort(theirs)[_p99(len(theirs))], 1))
    steps, before = _steps(run), _steps(baseline)
    ended = steps.keys() & before.keys()
    step_ratio = sum(steps[it] for it in ended) / max(sum(before[it] for it in ended), 1) if ended else None
    ends, base_ends = ends_ns(run), ends_ns(baseline)
    whole = len(ends) and len(base_ends) and int((ends < 0).sum()) <= int((base_ends < 0).sum())
    makespan = float(ends.max() / max(base_ends.max(), 1)) if whole and base_ends.max() > 0 else None
    if at_ns is None:
        return Compared(ratio, step_ratio, makespan, None, None, None, None)
    return Compared(
        ratio, step_ratio, makespan, _control(run, at_ns), _last_loss(run, at_ns), *_outage(run, baseline, at_ns)
    )


def carried(run: RunDir) -> dict[int, int]:
    """LinkId -> bytes sent over the cable in a run, both directions."""
    table = run.counters(["tx_bytes"])
    fabric = run.fabric
    port_of = {(fabric.node_of(port.id).name, port.name): port for port in fabric.ports}
    found: dict[int, int] = {}
    for row in table.to_pylist():
        port = port_of[row["device"], row["port"]]
        found[port.link] = found.get(port.link, 0) + int(row["value"])
    return found


def _p99(count: int) -> int:
    """Position of the smallest value that 99 % do not exceed, as fabric/runs/messages.py has it."""
    return max(-(-99 * count // 100) - 1, 0)


def ends_ns(run: RunDir) -> NDArray[np.int64]:
    """Ends of all messages and transfers, ns; -1: not done."""
    parts = [run.messages(["end_ns"])["end_ns"], run.transfers(["end_ns"])["end_ns"]]
    return np.concatenate([pc.fill_null(part, -1).to_numpy().astype(np.int64) for part in parts])


def completion_ns(run: RunDir) -> NDArray[np.int64]:
    """Completion time of every message, ns; -1: not done."""
    return np.asarray(pc.fill_null(run.messages(["fct_ns"])["fct_ns"], -1).to_numpy(), np.int64)


def _steps(run: RunDir) -> dict[tuple[str, int], int]:
    """(job, step) -> duration, ns, of the steps that every rank has ended; the first begins at 0."""
    table = run.transfers(["operation", "end_ns"])
    names = np.array(table["operation"].to_pylist(), dtype=object)
    if not len(names):
        return {}
    ends = pc.fill_null(table["end_ns"], -1).to_numpy().astype(np.int64)
    last: dict[tuple[str, int], int] = {}
    for name in sorted({str(it) for it in names if str(it).endswith(STEP_END)}):
        job, _, number = name.removesuffix(STEP_END).rpartition("/step ")
        if job and number.isdigit():
            mine = ends[names == name]
            last[job, int(number)] = -1 if (mine < 0).any() else int(mine.max())
    found = {}
    for (job, step), end in last.items():
        begin = 0 if step == 0 else last.get((job, step - 1), -1)
        if end >= 0 and begin >= 0:
            found[job, step] = end - begin
    return found


def _control(run: RunDir, at_ns: int) -> int | None:
    """Convergence of the control plane after the failure; the re-routing delay where there is none."""
    routing: Mapping[str, Any] | None = run.summary["routing"]
    if routing is not None:
        times = [
            it["time_ns"] + it["convergence_ns"] - at_ns
            for it in routing["events"]
            if it["time_ns"] >= at_ns and it["convergence_ns"] is not None
        ]
        return max(times, default=None)
    down = run.truth().column_names and {"link-down", "switch-crash"} & set(run.truth()["kind"].to_pylist())
    delay = run.manifest["scenario"]["resolved"]["run"].get("reroute_delay")
    if not down or delay is None:
        return None
    return parse_time_ps(delay) // PS_PER_NS


def _last_loss(run: RunDir, at_ns: int) -> int | None:
    names = [f"drop_{reason.name.lower()}_pkts" for reason in REASONS]
    times = run.timeseries(names, ["time_ns"])["time_ns"].to_numpy()
    after = times[times > at_ns]
    return int(after.max() - at_ns) if len(after) else None


def _outage(run: RunDir, baseline: RunDir, at_ns: int) -> tuple[int, int]:
    """(longest outage of a host that came back, hosts that did not), as in Compared."""
    sampling = run.sampling_ns
    end = int(run.summary["stop"]["time_ns"])
    names = [host.name for host in run.fabric.hosts]
    step = sampling * max(1, -(-len(names) * (end // sampling) // MAX_CELLS))
    # The last sample of the baseline is its final state; from then on it is what this run has to reach.
    grid = np.arange(at_ns // step * step, end + step, step)
    mine, theirs = (received(it, names, grid) for it in (run, baseline))
    silent = (np.diff(mine, axis=1) == 0) & (mine[:, 1:] < theirs[:, 1:])
    back = silent.copy()
    lengths = np.zeros(len(names), np.int64)
    longest = np.zeros(len(names), np.int64)
    for column in back.T:
        lengths = np.where(column, lengths + 1, 0)
        longest = np.maximum(longest, lengths)
    gone = lengths > 0  # still silent at the end
    recovered = longest[~gone]
    return int(recovered.max(initial=0)) * step, int(gone.sum())


def received(run: RunDir, names: Sequence[str], grid: NDArray[np.int64]) -> NDArray[np.int64]:
    """(hosts, len(grid)) bytes that each host had received by each instant."""
    table = run.timeseries(["goodput_bytes"], ["time_ns", "device", "value"])
    device = np.array(table["device"].to_pylist(), dtype=object)
    times, values = table["time_ns"].to_numpy(), table["value"].to_numpy().astype(np.int64)
    found = np.zeros((len(names), len(grid)), np.int64)
    order = np.lexsort((times, device))
    device, times, values = device[order], times[order], values[order]
    for row, name in enumerate(names):
        first, last = np.searchsorted(device, [name, name + "\0"])
        place = np.searchsorted(times[first:last], grid, side="right")
        found[row] = np.concatenate([[0], values[first:last]])[place]
    return found

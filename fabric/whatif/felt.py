"""What users felt of one failure, message by message and byte by byte against the run without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.runs.rundir import RunDir
from fabric.whatif.damage import SLOWER
from fabric.whatif.measure import MAX_CELLS, completion_ns, ends_ns, received

Values = NDArray[np.int64]
_FAILED: Final = "messages.failed"


@dataclass(frozen=True, slots=True)
class Felt:
    """Times in ns, from the failure on."""

    delayed: int
    """Messages and transfers that both runs delivered, here later by more than SLOWER of the baseline's time."""
    longest_delay_ns: int
    """Of these, the largest difference of the ends."""
    behind_bytes: int
    """Payload that hosts had received without the failure and not with it, at the worst moment; sum of the hosts that
    were behind."""
    missing_bytes: int
    """The same at the end of the run."""
    recovery_ns: int | None
    """From the failure until the last host that received nothing though it was behind the baseline received again;
    None: payload is missing at the end. 0: no host waited as long as a sample."""
    lost_pkts: int
    """More packets lost, for any reason, than in the baseline."""
    failed: int
    """More messages given up by their senders than in the baseline."""


def felt(run: RunDir, baseline: RunDir, at_ns: int) -> Felt:
    """Compare a run with a failure at `at_ns` with the same run without it."""
    mine, theirs = ends_ns(run), ends_ns(baseline)
    base_time = theirs.astype(np.float64)
    fct = completion_ns(baseline)
    base_time[: len(fct)] = fct  # of a transfer the end counts: its rank waited for it
    both = (mine >= 0) & (theirs >= 0)
    later = np.where(both, mine - theirs, 0)
    late = later > (SLOWER - 1) * np.maximum(base_time, 1)
    times, arrived, due = _payload(run, baseline, at_ns)
    behind = np.maximum(due - arrived, 0).sum(axis=0)  # a host that is ahead makes up for no other
    missing = int(behind[-1])
    silent = ((np.diff(arrived, axis=1) == 0) & (arrived[:, 1:] < due[:, 1:])).any(axis=0)
    waits = np.flatnonzero(silent)
    recovery = int(times[waits[-1] + 1]) - at_ns if len(waits) else 0
    metrics, before = run.summary["metrics"], baseline.summary["metrics"]
    return Felt(
        int(late.sum()),
        int(later[late].max(initial=0)),
        int(behind.max(initial=0)),
        missing,
        None if missing else max(recovery, 0),
        max(int(metrics["drops.total"]) - int(before["drops.total"]), 0),
        max(int(metrics[_FAILED]) - int(before[_FAILED]), 0),
    )


def _payload(run: RunDir, baseline: RunDir, at_ns: int) -> tuple[Values, Values, Values]:
    """Samples (n,) from the failure on, ns; bytes (hosts, n) that hosts had received, in this run and without it."""
    sampling = run.sampling_ns
    end = int(run.summary["stop"]["time_ns"])
    names = [host.name for host in run.fabric.hosts]
    step = sampling * max(1, -(-len(names) * (end // sampling) // MAX_CELLS))
    grid = np.arange(at_ns // step * step, end + 2 * step, step)
    return grid, received(run, names, grid), received(baseline, names, grid)

"""A run of which only the measures are wanted: simulated as any other, without a run directory.

The engine, the samples and the end of the run are those of simulate.py, so every measure is the same as in the
summary.json of a recorded run. Events and time series are not kept, which saves the time and space of a run directory;
messages of transfers, whose completion times are measures, are kept in memory.

Warm-up: a simulation begins with an empty fabric, and what happens until its queues and rates have settled says little
about the fabric under load. With a warm-up time, measures are those of the time after it:
- of messages (fct, slowdown, messages): messages posted after it;
- steps of jobs: steps that began after it;
- counts, sums of times, and goodput: the value at the end less the value at the first sample after it.
Measures that are the largest value of the whole run, such as queue.peak, have no such difference (WITHOUT_WARM_UP).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.issued import ISSUED_MESSAGE
from fabric.dataplane.state.codes import TraceBit
from fabric.runs import files, measures, messages, simulate, transfer_outcomes
from fabric.runs.content import Content
from fabric.runs.job_plans import plans_of
from fabric.runs.job_summary import StepTimes, step_bounds, step_metrics, step_times
from fabric.runs.measures import Number
from fabric.runs.serving_times import serving_times
from fabric.runs.session import Hooks, Outcome, Plan, Session
from fabric.runs.summary import Ending, summarise
from fabric.runs.transfer_outcomes import Completed, completed, completed_of
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.schema.expectations import METRICS, from_summary, summary_key
from fabric.units import PS_PER_NS, PS_PER_S

if TYPE_CHECKING:  # annotations only
    import pyarrow as pa

    from fabric.dataplane.engine.counters import Snapshot
    from fabric.runs.folder import RunFolder
    from fabric.runs.recorder import Recorder

WITHOUT_WARM_UP: Final = frozenset(
    (
        "pfc.longest_pause",
        "pfc.paused_hosts",
        "queue.peak",
        "headroom.peak_ratio",
        "goodput.jain",
        "ecn.marked_ratio",
        "arp.slowest",
        "deadlock.cycles",
        "simulated.time",
        "convergence.events",
        "convergence.max",
        "convergence.lost",
        "bgp.updates",
        "bgp.sessions_lost",
        *(name for name in METRICS if name.startswith("inference.")),
    )
)
"""Measures of the whole run."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a study keeps of one run."""

    status: str
    """done, or stopped-no-progress."""
    headline: str
    metrics: Mapping[str, Number]
    """Every metric of expectations, in base units (ps, bytes, bit/s, ratio)."""
    expectations_met: bool
    digest: str
    """Of the engine; equal for equal runs."""
    packet_hops: int
    fct_ps: NDArray[np.int64]
    """(n,) completion times of the messages that are measured, sorted."""


class _NoRecorder:
    """The interface of Recorder (recorder.py), keeping only the messages of transfers, in memory."""

    def __init__(self) -> None:
        self.recorded: dict[str, int] = {}
        self.unrecorded: dict[str, int] = {}
        self._ended: list[NDArray[np.void]] = []

    def sample(self, now: Snapshot) -> None:
        """A sample."""

    def pass_over(self, now: Snapshot, times_ps: range) -> None:
        """Samples at which nothing changes."""

    def take_events(self, rows: NDArray[np.void], complete_ps: int) -> None:
        """Trace rows."""

    def take_messages(self, rows: NDArray[np.void], complete_ps: int) -> None:
        """Messages of transfers that ended."""
        del complete_ps  # their order does not matter here
        if len(rows):
            self._ended.append(rows)

    def last_messages(self, under_way: NDArray[np.void]) -> None:
        """Messages under way at the end have no completion time."""

    def completed(self, now: Snapshot, ideal_ps: NDArray[np.int64]) -> Completed:
        """Messages of transfers that were completed; ideal_ps as in transfer_outcomes.completed."""
        return completed_of(np.concatenate([np.empty(0, ISSUED_MESSAGE), *self._ended]), now, ideal_ps)


class _NoFolder:
    """The interface of RunFolder (folder.py), writing nothing."""

    path = Path()

    def __init__(self) -> None:
        self.sent: Completed | None = None

    def check(self) -> None:
        """Before a checkpoint, which only an interruption asks for: without a directory the run ends.

        Raises: KeyboardInterrupt.
        """
        raise KeyboardInterrupt

    def write_results(
        self,
        plan: Plan,
        recorder: Recorder,
        now: Snapshot,
        ending: Ending,
        paths: pa.Array | None,  # noqa: ARG002  the interface's
        engine_digest: str,
    ) -> tuple[dict[str, Any], str]:
        """The summary, and the digest of the engine."""
        if plan.records_messages:
            self.sent = cast("_NoRecorder", recorder).completed(now, plan.ideal_transfers_ps)
        summary = summarise(
            now, plan.ideal_ps, plan.expectations, ending, recorder.recorded, recorder.unrecorded, None, plan.truth,
            self.sent,
            serving_times(plan.serving, now, plan.transfers),
            step_times(step_bounds(now, plan.transfers, plans_of(plan.about))),
            nics_spray=plan.nics_spray,
            reads_marks=plan.reads_marks,
        )  # fmt: skip
        return summary, Content().hexdigest(engine_digest)

    def end(self, status: str, timings: Mapping[str, Any], **facts: Any) -> None:  # noqa: ANN401  JSON values
        """There is no manifest."""


class _Watch:
    """Keeps the last sample, and the first after the warm-up."""

    def __init__(self, warm_up_ps: int, on_sample: Callable[[Snapshot], None] | None) -> None:
        self._warm_up_ps = warm_up_ps
        self._on_sample = on_sample
        self.before: Snapshot | None = None
        self.latest: Snapshot | None = None

    def sample(self, now: Snapshot) -> None:
        """One sample of the run."""
        self.latest = now
        if self._warm_up_ps and self.before is None and now.time_ps >= self._warm_up_ps:
            self.before = now
        if self._on_sample is not None:
            self._on_sample(now)


def measure_run(
    compiled: CompiledScenario,
    plan: Plan,
    hooks: Hooks | None = None,
    *,
    warm_up_ps: int = 0,
    recorded: simulate.Options | None = None,
) -> Measured:
    """Simulate a prepared scenario and measure it.

    Parameters
    ----------
    compiled, plan       of simulate.prepare(); a scenario with a control plane (plan.control) must be recorded
    hooks : Hooks        find_cycle of a recorded run, for deadlock.cycles; on_sample gets every sample
    warm_up_ps : int     measures are those of the time after it
    recorded : Options   write a run directory; absent: none is written

    Raises: InvariantError; RunDirError; KeyboardInterrupt where SIGINT or SIGTERM ended the run.
    """
    hooks = hooks or Hooks()
    watch = _Watch(warm_up_ps, hooks.on_sample)
    hooks = replace(hooks, on_sample=watch.sample)
    if recorded is None:
        outcome, sent = _unrecorded(compiled, plan, hooks)
    else:
        outcome, sent = simulate.simulate(compiled, plan, recorded, hooks), None
    now = watch.latest
    if outcome.status == "interrupted" or now is None:
        raise KeyboardInterrupt
    if recorded is not None and plan.records_messages:
        sent = completed(recorded.out / files.TRANSFER_MESSAGES, now, plan.ideal_transfers_ps)
    summary = outcome.summary
    metrics = {name: _base(name, summary["metrics"][summary_key(name)]) for name in METRICS}
    if warm_up_ps:
        steps = step_times(step_bounds(now, plan.transfers, plans_of(plan.about)))
        metrics = _after(warm_up_ps, metrics, now, watch.before, plan.ideal_ps, sent, steps)
    return Measured(
        status=outcome.status,
        headline=summary["headline"],
        metrics=metrics,
        expectations_met=all(it["met"] for it in summary["expectations"]),
        digest=outcome.digest,
        packet_hops=now.packet_hops,
        fct_ps=completion_times(now, warm_up_ps, sent),
    )


def _base(name: str, value: Number) -> Number:
    """A metric of a summary in its base unit; mean times keep their fractions of a picosecond."""
    return value * PS_PER_NS if isinstance(value, float) and METRICS[name][0] == "time" else from_summary(name, value)


def _unrecorded(compiled: CompiledScenario, plan: Plan, hooks: Hooks) -> tuple[Outcome, Completed | None]:
    if plan.control is not None:
        raise ValueError("losses of convergence are read from the time series of a run directory")
    engine = Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        record=TraceBit(0),
        reroute_delay_ps=compiled.reroute_delay_ps,
        keep_messages=compiled.keep_messages,
    )
    home, recorder = _NoFolder(), cast("Recorder", _NoRecorder())
    session = Session(plan, cast("RunFolder", home), engine, checkpoint_every_s=0.0, hooks=hooks, recorder=recorder)
    return session.run(), home.sent


def completion_times(now: Snapshot, warm_up_ps: int = 0, sent: Completed | None = None) -> NDArray[np.int64]:
    """(n,) completion times in ps of the messages that are done and were posted after the warm-up, sorted; with those
    of transfers where they are known.
    """
    fct = messages.fct_ps(now)[_measured(now, warm_up_ps) & (messages.states(now) == messages.DONE)]
    return np.sort(fct if sent is None else np.concatenate([fct, sent.fct_ps[sent.start_ps >= warm_up_ps]]))


def _measured(now: Snapshot, warm_up_ps: int) -> NDArray[np.bool_]:
    """Messages that were posted after the warm-up, or not at all."""
    start = now.messages["start_ps"]
    return np.asarray((start >= warm_up_ps) | (start < 0), np.bool_)


def _after(
    warm_up_ps: int,
    metrics: Mapping[str, Number],
    now: Snapshot,
    before: Snapshot | None,
    ideal_ps: NDArray[np.int64],
    sent: Completed | None,
    steps: StepTimes | None,
) -> dict[str, Number]:
    """The metrics of the time after the warm-up; None where the run ended before it or the measure has none.

    Messages of transfers: done are those posted after the warm-up, or completed after it where their times were not
    recorded; failed those that failed after it; unfinished all at the end.
    """
    if before is None:
        return dict.fromkeys(metrics)
    earlier = measures.measure(before, ideal_ps, 0)
    kept, state = _measured(now, warm_up_ps), messages.states(now)
    done = kept & (state == messages.DONE)
    fct, ideal = messages.fct_ps(now)[done], ideal_ps[done]
    waiting, outstanding, completed_later, failed_later = transfer_outcomes.states(now).tolist()
    completed_later -= int(transfer_outcomes.states(before)[messages.DONE])
    failed_later -= int(transfer_outcomes.states(before)[messages.FAILED])
    if sent is not None:
        later = sent.start_ps >= warm_up_ps
        fct, ideal = np.concatenate([fct, sent.fct_ps[later]]), np.concatenate([ideal, sent.ideal_ps[later]])
        completed_later = int(later.sum())
    elif transfer_outcomes.states(now).any():
        fct, ideal = fct[:0], ideal[:0]
    found: dict[str, Number] = {
        name: None if name in WITHOUT_WARM_UP or value is None else value - (earlier[name] or 0)
        for name, value in metrics.items()
    }
    goodput_bytes = float(now.hosts["goodput_bytes"].sum()) - float(before.hosts["goodput_bytes"].sum())
    span_ps = measures.span_ps(now) - before.time_ps
    return found | {
        "messages.total": int(kept.sum()) + waiting + outstanding + completed_later + failed_later,
        "messages.done": int(done.sum()) + completed_later,
        "messages.failed": int((kept & (state == messages.FAILED)).sum()) + failed_later,
        "messages.unfinished": int((kept & (state <= messages.OUTSTANDING)).sum()) + waiting + outstanding,
        **{f"fct.{name}": value for name, value in messages.distribution(fct).items()},
        **{f"slowdown.{name}": value for name, value in messages.distribution(fct / ideal).items()},
        "goodput.total": goodput_bytes * 8 * PS_PER_S / span_ps if span_ps > 0 else None,
        **({} if steps is None else step_metrics(steps.after(warm_up_ps))),
    }

"""Metrics of a run while it is simulated, with the wait-for graph, which a run directory does not keep."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.runs.session import Plan
from fabric.scenario.compile.scenario import CompiledScenario
from telemetry.catalogue.observation import observe
from telemetry.record.sampler import Sampler
from telemetry.record.store import Store
from telemetry.sources.control_history import ControlHistory
from telemetry.sources.engine_facts import observed
from telemetry.sources.run_info import of_plan


class Watching:
    """Fills a Store at the samples of a session: `see` and `sample` are its hooks on_pause and on_sample."""

    def __init__(self, compiled: CompiledScenario, plan: Plan, metrics: Sequence[str] | None = None) -> None:
        self._sampler = Sampler(of_plan(plan), metrics)
        self._history = None if compiled.control is None else ControlHistory(compiled.control)
        self._engine: Emulator | None = None
        self._sampled_ps = -1

    @property
    def store(self) -> Store:
        """The metrics so far."""
        return self._sampler.store

    def see(self, engine: Emulator) -> None:
        """The engine, which stands at the time of the next sample."""
        self._engine = engine

    def sample(self, now: Snapshot) -> None:
        """Record a sample, unless its time has one: a run may end at the time of a sample."""
        if now.time_ps <= self._sampled_ps:
            return
        self._sampled_ps = now.time_ps
        control = None if self._history is None else self._history.at(now.time_ps)
        if self._engine is None:  # at time 0 nothing has moved
            self._sampler.sample(observe(now, cycle=(), control=control))
        else:
            self._sampler.sample(observed(self._engine, control, now))


def sampled(compiled: CompiledScenario, plan: Plan, metrics: Sequence[str] | None = None) -> Store:
    """Simulate a run to its duration, in memory, and sample it as a scrape does; every metric, or the named ones."""
    engine = Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        record=compiled.record,
        reroute_delay_ps=compiled.reroute_delay_ps,
    )
    watching = Watching(compiled, plan, metrics)
    watching.see(engine)
    until_ps = 0
    while True:
        stop = engine.advance(until_ps)
        watching.sample(engine.snapshot(reset_watermarks=True))
        if stop is Stop.IDLE or until_ps >= plan.duration_ps:
            return watching.store
        until_ps = min(until_ps + plan.sampling_ps, plan.duration_ps)

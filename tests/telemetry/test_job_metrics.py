"""Metrics of collective operations and of steps of jobs: their values, live and recorded, and what they leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.load import build_scenario
from telemetry.catalogue.jobs import JobProgress
from telemetry.record.sampler import Sampler
from telemetry.record.store import Store
from telemetry.sources.recorded import store_of
from telemetry.sources.run_info import of_plan
from tests.telemetry.job_scenarios import MESSAGE_BYTES, RANKS, raw

US: Final = 1e-6


def scenario(folder: Path, computing_us: list[int], **options: Any) -> Any:  # noqa: ANN401
    return build_scenario(raw(folder, computing_us, **options), folder / "job.yml")


def live(folder: Path, computing_us: list[int], **options: Any) -> Store:  # noqa: ANN401
    """Sampled as a scrape does."""
    compiled, plan = prepare(scenario(folder, computing_us, **options), text="")
    engine, sampler = Emulator(compiled.fabric, compiled.params, compiled.edits), Sampler(of_plan(plan))
    until_ps = 0
    while True:
        stop = engine.advance(until_ps)
        sampler.sample(engine.snapshot())
        if stop is Stop.IDLE or until_ps >= plan.duration_ps:
            return sampler.store
        until_ps += plan.sampling_ps


def recorded(folder: Path, computing_us: list[int], **options: Any) -> Store:  # noqa: ANN401
    compiled, plan = prepare(scenario(folder, computing_us, **options), text="")
    simulate(compiled, plan, Options(folder / "run"))
    return store_of(RunDir.open(folder / "run"))


def last(store: Store, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """Labels -> the last value."""
    return {labels: float(values[-1]) for labels, (_, values) in store.series(name).items()}


def one(store: Store, name: str) -> float:
    (value,) = last(store, name).values()
    return value


@pytest.mark.parametrize("source", [live, recorded])
def test_a_step_is_the_slowest_computation_and_exposed_communication(source: Any, tmp_path: Path) -> None:  # noqa: ANN401
    store = source(tmp_path, [50, 50, 50, 90], steps=3)
    assert one(store, "fabric_job_steps_total") == 3
    assert one(store, "fabric_job_computation_seconds_total") == pytest.approx(3 * 90 * US)
    assert one(store, "fabric_job_median_computation_seconds_total") == pytest.approx(3 * 50 * US)
    assert one(store, "fabric_job_median_waiting_seconds_total") == pytest.approx(3 * 40 * US)
    assert one(store, "fabric_job_straggler_ratio") == pytest.approx(1.8)
    exposed = one(store, "fabric_job_exposed_communication_seconds_total")
    total = one(store, "fabric_job_step_duration_seconds_sum")
    assert total == pytest.approx(3 * 90 * US + exposed)
    # A message of 100 kB at 100 Gbit/s takes 8 us, which no computation hides.
    assert 3 * 8 * US < exposed < 3 * 20 * US
    assert one(store, "fabric_job_duration_seconds") == pytest.approx(total)


@pytest.mark.parametrize("source", [live, recorded])
def test_operations_are_counted_by_class_and_ranks_have_no_series(source: Any, tmp_path: Path) -> None:  # noqa: ANN401
    store = source(tmp_path, [10] * RANKS, steps=2)
    labels = (("workload", "train"), ("operation", "send"), ("algorithm", ""), ("kind", ""))
    assert last(store, "fabric_collective_operations_total") == {labels: 2 * RANKS}
    assert last(store, "fabric_collective_sent_bytes_total") == {labels: 2 * RANKS * MESSAGE_BYTES}
    assert one(store, "fabric_collective_busbw_bytes_per_second_count") == 2 * RANKS
    mean = one(store, "fabric_collective_bus_bytes_total") / one(store, "fabric_collective_active_seconds_total")
    assert 4e9 < mean < 12.5e9


def test_live_and_recorded_metrics_are_equal(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    a, b = live(tmp_path / "a", [10, 20, 30, 40]), recorded(tmp_path, [10, 20, 30, 40])
    names = [name for name in a.metrics if "_job_" in name or "_collective_" in name]
    assert len(names) > 20
    for name in names:
        assert last(a, name) == pytest.approx(last(b, name)), name


def test_a_step_counts_when_it_has_ended_and_not_before(tmp_path: Path) -> None:
    found = live(tmp_path, [100] * RANKS, steps=2)
    ((time_ns, values),) = found.series("fabric_job_steps_total").values()
    at = dict(zip(time_ns.tolist(), values.tolist(), strict=True))
    assert at[0] == 0
    assert min(time for time, steps in at.items() if steps == 1) == 120_000
    assert 220_000 < min(time for time, steps in at.items() if steps == 2) <= 240_000


def test_overlapping_computations_count_once_and_gaps_do_not(tmp_path: Path) -> None:
    text = """num_ranks 2
rank 0 {
a: calc 10000 cpu 0
b: calc 15000 cpu 1
s: send 1000b to 1 tag 0
s requires a
s requires b
d: calc 5000 cpu 0
d requires s
}
rank 1 {
r: recv 1000b from 0 tag 0
}
"""
    data = raw(tmp_path, [1], steps=1)
    (tmp_path / "step.goal").write_text(text)
    compiled, plan = prepare(build_scenario(data, tmp_path / "job.yml"), text="")
    engine, progress = Emulator(compiled.fabric, compiled.params, compiled.edits), JobProgress(of_plan(plan).jobs)
    engine.advance(plan.duration_ps)
    progress.update(engine.snapshot())
    ((step,),) = progress.steps
    assert step.computing_ps.tolist() == [20_000_000, 0]


def test_a_run_without_transfers_has_no_series_of_jobs(tmp_path: Path) -> None:
    data = raw(tmp_path, [1])
    data["workload"] = [{"kind": "permutation", "size": "10KB"}]
    compiled, plan = prepare(build_scenario(data, tmp_path / "job.yml"), text="")
    assert of_plan(plan).jobs is None
    engine, sampler = Emulator(compiled.fabric, compiled.params, compiled.edits), Sampler(of_plan(plan))
    sampler.sample(engine.snapshot())
    assert not [name for name in sampler.store.metrics if "_job_" in name or "_collective_" in name]


def test_a_rank_repeats_the_trace_when_its_own_part_is_done(tmp_path: Path) -> None:
    compiled, _ = prepare(scenario(tmp_path, [5, 5, 5, 5], steps=3), text="")
    groups = compiled.params.transfers.groups
    assert [it.step for it in groups] == sorted(it.step for it in groups)
    assert np.bincount([it.step for it in groups]).tolist() == [2 * RANKS + 1] * 3

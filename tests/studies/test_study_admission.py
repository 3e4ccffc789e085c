"""Whether a study may begin, on machines of other sizes than this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_study import written
from tune_small import study

from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.estimate.costs import TIME
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.estimate.machine import Limit, Machine
from fabric.scenario.load import build_scenario
from fabric.studies import admission, simulation
from fabric.studies.admission import admitted, fitting, objections, totals
from fabric.studies.jobs import failure_of
from fabric.studies.plan import CellEstimate, Examined, examine, examine_corners, load_study
from fabric.studies.search_size import SearchSize, search_totals
from fabric.studies.simulation import Variant

GB = 10**9


def machine(monkeypatch: pytest.MonkeyPatch, free_bytes: int | None) -> None:
    limit = None if free_bytes is None else Limit(free_bytes, "free memory")
    monkeypatch.setattr(admission.machines, "machine", lambda: Machine(limit, 0))


def examined(time_s: float = 1.0, likely: float = 2 * GB, least: float = GB) -> Examined:
    return Examined({0: CellEstimate(time_s / 2, GB / 2, GB / 4, 1.0), 1: CellEstimate(time_s, likely, least, 1.0)})


@pytest.mark.parametrize(("free_bytes", "workers"), [(9 * GB, 4), (8 * GB, 4), (8 * GB - 1, 3), (3 * GB, 1), (1, 1)])
def test_as_many_workers_as_have_memory_for_the_largest_run(
    free_bytes: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, free_bytes)
    assert fitting(examined(), 4) == workers
    machine(monkeypatch, None)
    assert fitting(examined(), 4) == 4


@pytest.mark.parametrize(
    ("free_bytes", "time_s", "found"),
    [
        (2 * GB, 60.0, []),
        (2 * GB - 1, 60.0, [False]),
        (GB, 60.0, [False]),
        (GB - 1, 60.0, [True]),
        (4 * GB, 7200.0, []),
        (4 * GB, 7201.0, [False]),
        (4 * GB - 1, 3601.0, [False]),
        (GB - 1, 7201.0, [True, False]),
    ],
)
def test_a_study_is_refused_or_asks_by_memory_and_time(
    free_bytes: int, time_s: float, found: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, free_bytes)
    plan = load_study(written(tmp_path))
    assert [it.final for it in objections(plan, examined(), 2, time_s)] == found
    assert objections(plan, examined(), None, time_s) == []  # the workers' own machines decide


def test_what_asks_begins_when_it_is_confirmed_and_what_is_impossible_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load_study(written(tmp_path))
    machine(monkeypatch, GB)
    assert admitted(plan, examined(), 2, 1.0, lambda _: True) == 1
    with pytest.raises(InputErrors, match="or confirm with --yes"):
        admitted(plan, examined(), 2, 1.0, lambda _: False)
    machine(monkeypatch, GB - 1)
    with pytest.raises(InputErrors, match=r"a run \(kmin=10KB cut=1\) takes at least 1GB of memory"):
        admitted(plan, examined(), 2, 1.0, lambda _: True)


def test_a_run_that_a_worker_refuses_for_its_machine_is_done_again_and_one_that_none_can_do_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load_study(written(tmp_path))
    workload = plan.workloads[0]
    real = simulation.Admission

    def small(*words: Any, **more: Any) -> Any:  # noqa: ANN401
        return real(*words, **{"machine": lambda: Machine(Limit(1000, "free memory"), 0), **more})

    kinds = []
    scenario = build_scenario(workload.data, workload.file)
    figures = estimate(scenario, admitted_fabric(scenario))
    for admit, samples in ((real, 1), (small, 1_000_000)):
        monkeypatch.setattr(simulation, "Admission", admit)
        monkeypatch.setattr("fabric.scenario.estimate.admission.MAX_SAMPLES", samples)
        with pytest.raises(InputErrors) as caught:
            simulation._admit(Variant(workload.data, workload.file), figures)
        kinds.append(failure_of(caught.value).kind)
    assert kinds == ["input", "refused"]


def test_the_estimate_of_a_search_counts_confirmation_and_the_workloads_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = {"busy": {"scenario": "small.yml", "set": {"workload[0].size": "10MB"}}}
    file = study(tmp_path, tune={"trials": 40, "confirm": 3, "elsewhere": elsewhere})
    plan = load_study(file, search=True)
    size = SearchSize.of(plan)
    assert (size.searched, size.confirmed, size.elsewhere, size.front) == (80, 3, 6, 4)
    corners = examine_corners(plan)
    assert len(corners.estimates) + len(corners.invalid) == 6  # three corners of each workload
    found = search_totals(plan, corners, 1)
    assert found.runs == 80 + 3 * (4 + 1) + 6
    without = load_study(study(tmp_path, tune={"trials": 40, "confirm": 3}), search=True)
    assert found.time_s > search_totals(without, examine_corners(without), 1).time_s
    study(tmp_path, tune={"trials": 40, "confirm": 3, "elsewhere": elsewhere})
    assert main(["tune", str(file), "--estimate", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "40 trials of at most 80 runs, about 15 runs to confirm a front of 4 points and the baseline" in said
    assert main(["tune", str(file), "--estimate", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["runs"], facts["trial_runs"], facts["elsewhere_runs"]) == (101, 80, 6)
    assert not (tmp_path / "studies").exists()


def test_a_workload_elsewhere_that_is_no_valid_scenario_is_found_before_the_search(tmp_path: Path) -> None:
    elsewhere = {"wrong": {"scenario": "small.yml", "set": {"transport.mtu": 17}}}
    plan = load_study(study(tmp_path, tune={"trials": 9, "elsewhere": elsewhere}), search=True)
    with pytest.raises(InputErrors, match=r"transport\.mtu"):
        examine_corners(plan)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--list", "--estimate"], "contradicts --estimate"),
        (["--estimate", "--resume"], "--resume: has no effect with --estimate"),
        (["--estimate", "--configs", "."], "--configs: has no effect with --estimate"),
    ],
)
def test_options_of_a_search_that_do_nothing_are_refused(
    words: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", str(study(tmp_path)), *words]) == 2
    assert expected in capsys.readouterr().err


def test_the_start_of_a_worker_is_counted_once_for_all_of_its_runs(tmp_path: Path) -> None:
    few, many = (load_study(written(tmp_path, repetitions={"seeds": seeds})) for seeds in (1, 101))
    small = examine(few)
    one, every = totals(few, small, 1), totals(many, examine(many), 1)
    each_s = (every.time_s - one.time_s) / (100 * len(small.estimates))
    assert 0 < each_s < TIME.start / 4
    assert one.time_s == pytest.approx(TIME.start + len(small.estimates) * each_s)
    assert totals(few, small, 2).time_s - one.time_s == pytest.approx(TIME.start)


def test_a_run_that_is_kept_takes_its_rows_as_well(tmp_path: Path) -> None:
    def run_s(**changes: object) -> float:
        return sum(it.time_s for it in examine(load_study(written(tmp_path, **changes))).estimates.values())

    assert run_s(keep="runs") > run_s()

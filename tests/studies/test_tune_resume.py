"""A search that is taken up again: after a lost run, after an interruption in any place, and with other versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tune_small import Counting, fake_run, study, tuned

from fabric.cli.terminal.study_progress import standing_text
from fabric.errors import RunDirError
from fabric.studies import search, search_runs
from fabric.studies.dataset import StudyResults
from fabric.studies.search_runs import LostRunsError
from fabric.studies.search_size import SearchSize, expected_front
from fabric.studies.simulation import Run, Variant
from fabric.studies.sweep import Standing
from fabric.studies.tune import Tuned

ONE = {"fct.p99": "min"}


@pytest.fixture(autouse=True)
def without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_runs, "simulate_variant", fake_run)


def facts(found: Tuned) -> tuple[object, ...]:
    return found.front, found.chosen, found.baseline, found.importances, found.trials, found.stopped, found.failed


def digest(folder: Path) -> str:
    return StudyResults(folder).digest()


@pytest.mark.parametrize(
    "why", ["killed", *(pytest.param(it, marks=pytest.mark.slow) for it in ("memory", "refused", "interrupted"))]
)
def test_a_search_that_lost_runs_ends_with_the_table_of_one_that_lost_none(why: str, tmp_path: Path) -> None:
    file = study(tmp_path, tune={"trials": 16, "confirm": 2})
    whole, runs = tuned(file, tmp_path / "whole")
    losing = Counting((9, 10), why)
    with pytest.raises(LostRunsError, match=r"run .* is not done: the worker process died"):
        tuned(file, tmp_path / "parts", executor=losing)
    assert losing.done < runs
    found, rest = tuned(file, tmp_path / "parts", resume=True)
    assert rest == runs - losing.done + 2
    assert digest(tmp_path / "parts") == digest(tmp_path / "whole")
    assert facts(found) == facts(whole)


@pytest.mark.parametrize("number", [1, *(pytest.param(it, marks=pytest.mark.slow) for it in (27, 28))])
def test_a_run_that_is_lost_at_the_start_or_in_the_confirmation_is_done_again(number: int, tmp_path: Path) -> None:
    file = study(tmp_path, tune={"trials": 12, "confirm": 2})
    whole, runs = tuned(file, tmp_path / "whole")
    assert runs > 28
    with pytest.raises(LostRunsError) as caught:
        tuned(file, tmp_path / "parts", executor=Counting((number,)))
    assert caught.value.exit_code == 1
    assert facts(tuned(file, tmp_path / "parts", resume=True)[0]) == facts(whole)
    assert digest(tmp_path / "parts") == digest(tmp_path / "whole")


@pytest.mark.parametrize("most", [4, 9, 17])
def test_a_point_that_is_tried_again_has_the_seeds_of_each_trial_after_an_interruption(
    most: int, tmp_path: Path
) -> None:
    parameters = {
        "kmin": {"set": "switches.ecn.kmin", "values": ["3KB", "10KB", "30KB"]},
        "cc": {"set": "transport.cc", "values": ["dcqcn", "none"]},
    }
    file = study(
        tmp_path,
        parameters=parameters,
        baseline={"kmin": "30KB", "cc": "none"},
        objectives=ONE,
        repetitions={"seeds": 5},
        tune={"trials": 24, "confirm": 1, "at_once": 2, "sampler": "random"},
    )
    whole, _ = tuned(file, tmp_path / "whole")
    assert whole.stopped
    with pytest.raises(KeyboardInterrupt):
        tuned(file, tmp_path / "parts", most=most)
    assert facts(tuned(file, tmp_path / "parts", resume=True)[0]) == facts(whole)
    assert digest(tmp_path / "parts") == digest(tmp_path / "whole")


def test_a_trial_far_from_the_best_has_fewer_runs_than_the_others(tmp_path: Path) -> None:
    file = study(tmp_path, objectives=ONE, repetitions={"seeds": 3}, tune={"trials": 24, "confirm": 1})
    found, _ = tuned(file, tmp_path / "out")
    rows = StudyResults(tmp_path / "out").runs().to_pylist()
    searched = [sum(row["point"] == it and row["repetition"] < 3 for row in rows) for it in range(24)]
    assert found.stopped == sum(it < 3 for it in searched) > 0
    best = next(it.point.number for it in found.front)
    assert searched[best] == 3


def test_rows_of_other_points_are_refused_and_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = study(tmp_path, tune={"trials": 12, "confirm": 2})
    with pytest.raises(KeyboardInterrupt):
        tuned(file, tmp_path / "parts", most=20)
    kept = digest(tmp_path / "parts")
    monkeypatch.setattr(search, "_SEED_STEP", 7)  # as another version of the sampler: it asks for other points
    with pytest.raises(RunDirError, match="was kept for another point of the study"):
        tuned(file, tmp_path / "parts", resume=True)
    assert digest(tmp_path / "parts") == kept


def test_the_progress_of_a_search_counts_runs_and_trials_and_ends_at_its_total(tmp_path: Path) -> None:
    seen: list[Standing] = []
    file = study(tmp_path, tune={"trials": 12, "confirm": 3})
    _, runs = tuned(file, tmp_path / "out", on_result=seen.append)
    assert [it.done for it in seen] == list(range(1, runs + 1))
    first, last = seen[0], seen[-1]
    assert first.total == 12 * 2 + 3 * (1 + 1)  # trials with two seeds; confirmation of one point and the baseline
    assert (first.trials, first.all_trials, first.eta_s) == (0, 12, None)
    assert all(it.eta_s is not None for it in seen[1:])
    assert (last.total, last.trials, last.eta_s) == (runs, 12, 0.0)


def test_the_progress_of_a_search_that_goes_on_begins_with_what_is_done(tmp_path: Path) -> None:
    seen: list[Standing] = []
    file = study(tmp_path, tune={"trials": 12, "confirm": 3})
    with pytest.raises(KeyboardInterrupt):
        tuned(file, tmp_path / "out", most=15)
    tuned(file, tmp_path / "out", resume=True, on_result=seen.append)
    assert seen[0].done == 16
    assert seen[-1].done == seen[-1].total


def test_a_failed_run_of_the_scenario_is_a_trial_without_a_value_and_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(variant: Variant) -> Run:
        if variant.values["transport.cc"] == "none":
            raise ValueError("a defect")
        return fake_run(variant)

    monkeypatch.setattr(search_runs, "simulate_variant", failing)
    seen: list[Standing] = []
    found, _ = tuned(study(tmp_path, tune={"trials": 8, "confirm": 1}), tmp_path / "out", on_result=seen.append)
    assert found.failed > 0
    assert seen[-1].failed >= found.failed


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (Standing(5, 40, 0, None), "5 of 40 runs"),
        (Standing(5, 240, 1, 180.0, 2, 40), "trial 3 of 40, 5 of 240 runs, 1 failed, about 3 min left"),
        (Standing(230, 240, 0, 0.2, 40, 40), "40 trials done, 230 of 240 runs, less than 1 s left"),
    ],
)
def test_the_line_of_progress_names_runs_and_trials(at: Standing, expected: str) -> None:
    assert standing_text(at) == expected


@pytest.mark.parametrize(("points", "objectives", "front"), [(60, 1, 1), (1, 3, 1), (2, 2, 2), (100, 2, 5), (4, 3, 3)])
def test_the_front_of_independent_objectives_has_the_size_of_bentley_et_al(
    points: int, objectives: int, front: int
) -> None:
    assert expected_front(points, objectives) == front  # H(100) = 5.19; A(4, 3) = 1 + 0.75 + 0.611 + 0.521


def test_the_runs_of_a_search_are_counted_with_confirmation_and_elsewhere() -> None:
    size = SearchSize(trials=40, searched=240, confirmed=9, baseline=True, elsewhere=6, front=4)
    assert (size.after(0), size.after(3), size.likely) == (24, 42, 240 + 45 + 6)

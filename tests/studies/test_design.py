"""Points of a study: the values of parameters, the designs, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_study import STUDY, written

from fabric.errors import InputErrors
from fabric.studies.plan import build_study, load_study

KMIN = "switches.ecn.kmin"


def labels(folder: Path, parameters: dict[str, Any], **changes: object) -> list[str]:
    return [it.label for it in load_study(written(folder, parameters=parameters, **changes)).points]


def problems(folder: Path, **changes: object) -> list[str]:
    with pytest.raises(InputErrors) as caught:
        load_study(written(folder, **changes))
    return [str(it) for it in caught.value.problems]


def test_a_grid_has_every_combination_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = labels(tmp_path, {"a": {"set": KMIN, "values": ["1KB", "2KB"]}, "b": {"set": "run.seed", "values": [1, 2]}},
                   repetitions={"seeds": 1})  # fmt: skip
    assert found == ["a=1KB b=1", "a=1KB b=2", "a=2KB b=1", "a=2KB b=2"]


def test_zip_takes_values_side_by_side(tmp_path: Path) -> None:
    found = labels(
        tmp_path,
        {"a": {"set": KMIN, "values": ["1KB", "2KB"]}, "b": {"set": "switches.ecn.kmax", "values": ["3KB", "9KB"]}},
        design="zip",
    )
    assert found == ["a=1KB b=3KB", "a=2KB b=9KB"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"range": {"from": "10KB", "to": "50KB", "steps": 3}}, ["10KB", "30KB", "50KB"]),
        ({"log_range": {"from": "10KB", "to": "1000KB", "steps": 3}}, ["10KB", "100KB", "1MB"]),
        ({"log_range": {"from": "1us", "to": "7us", "steps": 3}}, ["1us", "2.65us", "7us"]),
        ({"range": {"from": 1, "to": 4, "steps": 3}}, ["1", "2", "4"]),
        ({"range": {"from": 0.1, "to": 0.2, "steps": 3}}, ["0.1", "0.15", "0.2"]),
    ],
)
def test_a_range_keeps_its_ends_and_rounds_what_is_between(
    form: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    assert labels(tmp_path, {"a": {"set": "x.y", **form}}) == [f"a={it}" for it in expected]


def test_a_factor_is_applied_to_the_other_parameter(tmp_path: Path) -> None:
    plan = load_study(
        written(
            tmp_path,
            parameters={
                "kmin": {"set": KMIN, "values": ["10KB"]},
                "ratio": {"set": "switches.ecn.kmax", "factor_of": "kmin", "values": [2, 4.5]},
            },
        )
    )
    assert [it.settings["switches.ecn.kmax"] for it in plan.points] == ["20KB", "45KB"]


def test_cases_set_several_fields_and_are_shown_by_name(tmp_path: Path) -> None:
    plan = load_study(
        written(tmp_path, parameters={"cc": {"cases": {"off": {"transport.cc": "none", "pfc": "off"}, "on": {}}}})
    )
    assert [(it.label, it.settings) for it in plan.points] == [
        ("cc=off", {"transport.cc": "none", "pfc": "off"}),
        ("cc=on", {}),
    ]


@pytest.mark.parametrize("kind", ["random", "sobol", "lhs"])
def test_drawn_points_are_within_the_range_and_follow_from_the_seed(kind: str, tmp_path: Path) -> None:
    parameters = {
        "kmin": {"set": KMIN, "log_range": {"from": "10KB", "to": "1MB"}},
        "cc": {"set": "transport.cc", "values": ["dcqcn", "none"]},
    }
    design = {"kind": kind, "points": 16, "seed": 3}
    plan = load_study(written(tmp_path, parameters=parameters, design=design))
    numbers = [it.values["kmin"].number or 0 for it in plan.points]
    assert all(10_000 <= it <= 1_000_000 for it in numbers)
    assert sum(it < 100_000 for it in numbers) in range(3, 14)  # half of the ratio is below
    assert {it.values["cc"].shown for it in plan.points} == {"dcqcn", "none"}
    again = load_study(written(tmp_path, parameters=parameters, design=design))
    assert [it.label for it in again.points] == [it.label for it in plan.points]
    other = load_study(written(tmp_path, parameters=parameters, design={**design, "seed": 4}))
    assert [it.label for it in other.points] != [it.label for it in plan.points]


def test_every_stratum_of_a_latin_hypercube_has_one_point(tmp_path: Path) -> None:
    parameters = {"share": {"set": "switches.ecn.pmax", "range": {"from": 0.0, "to": 1.0}}}
    plan = load_study(written(tmp_path, parameters=parameters, design={"kind": "lhs", "points": 10}))
    assert sorted(int(10 * (it.values["share"].number or 0) - 1e-6) for it in plan.points) == list(range(10))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"measures": ["fct.p98"]}, "measures[0]: no metric is called 'fct.p98'"),
        ({"measures": None}, "STUDY.yml: measures: is missing"),
        ({"scenario": None}, "STUDY.yml: scenario: is missing"),
        ({"scenario": "absent.yml"}, "STUDY.yml: scenario: absent.yml"),
        ({"set": {"transprot.cc": "none"}}, "did you mean 'transport'?"),
        ({"constraints": ["drops.lossless = 0"]}, "is not an expectation"),
        ({"baseline": {"kmin": "11KB"}}, "baseline.kmin: '11KB' is no value of the parameter"),
        ({"baseline": {"kmax": "11KB"}}, "baseline.kmax: is no parameter"),
        ({"warm_up": "10us", "measures": ["queue.peak"]}, "queue.peak is a value of the whole run"),
        ({"measures": ["step.mean"]}, "step.mean has no value with small, which has no training job"),
        ({"objectives": {"inference.ttft.p99": "min"}}, "inference.ttft.p99 has no value with small"),
        ({"desing": "grid"}, "desing: unknown field (value 'grid')"),
        ({"parameters": {"seed": {"set": KMIN, "values": ["1KB"]}}}, "the table has a column of this name"),
        ({"parameters": {"a": {"set": "run.seed", "values": [1]}}}, "repetitions set run.seed"),
        ({"parameters": {"a": {"set": KMIN}}}, "none of values, range, log_range, cases is given"),
        ({"parameters": {"a": {"values": [1]}}}, "set is missing"),
        ({"parameters": {"a": {"set": KMIN, "range": {"from": "1KB", "to": "2ms"}}}}, "a size and '2ms' a time"),
        ({"parameters": {"a": {"set": KMIN, "range": {"from": "2KB", "to": "1KB"}}}}, "is not below"),
        ({"parameters": {"a": {"set": KMIN, "range": {"from": "1KB", "to": "2KB"}}}}, "needs the number of values"),
        ({"parameters": {"a": {"set": KMIN, "log_range": {"from": 0, "to": 2, "steps": 2}}}}, "begin above 0"),
        ({"parameters": {"a": {"set": KMIN, "factor_of": "b", "values": [1]}}}, "'b' is no other parameter"),
        (
            {"repetitions": {"seeds": 2, "until": {"measure": "fct.p99", "half_width": "5%", "at_most": 9}}},
            "at least 3",
        ),
        (
            {"repetitions": {"seeds": 3, "until": {"measure": "fct.p99", "half_width": 5, "at_most": 3}}},
            "not more than",
        ),
        (
            {"repetitions": {"seeds": 3, "until": {"measure": "fct.p99", "half_width": "5", "at_most": 9}}},
            "not a share",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(changes: dict[str, object], expected: str, tmp_path: Path) -> None:
    found = problems(tmp_path, **changes)
    assert any(expected in it for it in found), found
    assert all("hint" in it for it in found), found


def test_all_problems_of_a_file_are_reported_together(tmp_path: Path) -> None:
    found = problems(tmp_path, measures=["a", "b"], name="x y", constraints=["c"])
    assert len(found) == 4, found


def test_a_grid_that_is_too_large_is_refused_before_it_is_made(tmp_path: Path) -> None:
    steps = {"from": 1, "to": 10_000, "steps": 10_000}
    parameters = {name: {"set": f"{name}.x", "range": steps} for name in "abc"}
    assert "1,000,000,000,000 points are more than 100,000" in problems(tmp_path, parameters=parameters)[0]


def test_what_is_shown_does_not_decide_the_runs(tmp_path: Path) -> None:
    base = load_study(written(tmp_path)).identity
    assert load_study(written(tmp_path, measures=["fct.mean"], description="other")).identity == base
    assert load_study(written(tmp_path, repetitions={"seeds": 4})).identity != base
    assert load_study(written(tmp_path, set={"run.duration": "2ms"})).identity != base


def test_a_study_from_data_finds_shipped_scenarios() -> None:
    plan = build_study({**STUDY, "scenario": "incast", "parameters": {}}, Path("here.yml"), "")
    assert [it.name for it in plan.workloads] == ["incast"]
    assert [it.label for it in plan.points] == ["the scenario"]


def test_a_measure_that_some_workload_has_is_no_problem_and_an_objective_is(tmp_path: Path) -> None:
    workloads = {"incast": {"scenario": "small.yml"}, "jobs": {"scenario": "two-jobs"}}
    some = {"scenario": None, "workloads": workloads, "measures": ["step.mean", "fct.p99"]}
    assert len(load_study(written(tmp_path, **some)).workloads) == 2
    with pytest.raises(InputErrors, match=r"step\.mean has no value with incast"):
        load_study(written(tmp_path, **some, objectives={"step.mean": "min"}))
    loads = {"set": "workload", "values": [[{"kind": "job", "job": "x.yml"}]]}
    assert load_study(written(tmp_path, parameters={"load": loads}, measures=["step.mean"])).points

"""A search: it finds a known optimum, is the same after an interruption, and its patch says what was simulated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tune_small import PARAMETERS, SETTINGS, fake_run, study, tuned

from fabric.errors import InputErrors
from fabric.studies import search_runs
from fabric.studies.analysis import analysed
from fabric.studies.dataset import StudyResults
from fabric.studies.design import Point, combined
from fabric.studies.patch import patches
from fabric.studies.plan import Cell, load_study
from fabric.studies.simulation import simulate_variant
from fabric.studies.tune_figures import tune_pictures
from fabric.studies.tune_report import tune_document, tune_json


@pytest.fixture(autouse=True)
def without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_runs, "simulate_variant", fake_run)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "cmaes", "random"])
def test_every_sampler_gets_near_a_known_optimum(sampler: str, tmp_path: Path) -> None:
    changes = {"constraints": None} if sampler == "cmaes" else {}
    tune = {"trials": 40, "confirm": 2, "sampler": sampler}
    file = study(tmp_path, objectives={"fct.p99": "min"}, tune=tune, **changes)
    found, _ = tuned(file, tmp_path / "out")
    assert found.chosen is not None
    kmin = found.chosen.point.values["kmin"].number or 0
    spread = 12 if sampler == "random" else 4
    assert 30_000 / spread <= kmin <= 30_000 * spread
    assert found.chosen.point.values["cc"].shown == "dcqcn"


@pytest.mark.slow
def test_the_front_spans_both_optima_and_gains_are_measured_with_new_seeds(tmp_path: Path) -> None:
    found, _ = tuned(study(tmp_path), tmp_path / "out")
    numbers = sorted(it.point.values["kmin"].number or 0 for it in found.front)
    assert numbers[0] < 8_000
    assert numbers[-1] > 12_000
    assert all(2_000 <= it <= 40_000 for it in numbers), numbers
    assert all(it.objectives["fct.p99"].count == 3 for it in found.front)
    assert found.chosen is not None
    assert (found.chosen.gains["fct.p99"].high or 0) < 0  # surely better than the baseline
    assert found.baseline is not None
    assert found.baseline.point.label == "kmin=100KB ratio=4 cc=none"
    shares = found.importances["pfc.paused_time"]
    assert shares["kmin"] > 0.8
    assert shares["ratio"] < 0.2


def test_an_interrupted_search_ends_with_the_same_runs_and_does_none_twice(tmp_path: Path) -> None:
    file = study(tmp_path, tune={"trials": 12, "confirm": 2})
    whole, runs = tuned(file, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        tuned(file, tmp_path / "parts", most=13)
    found, rest = tuned(file, tmp_path / "parts", resume=True)
    assert rest == runs - 13
    assert StudyResults(tmp_path / "parts").digest() == StudyResults(tmp_path / "whole").digest()
    assert found.front == whole.front


def test_a_trial_that_breaks_a_constraint_gets_no_more_seeds_and_is_not_on_the_front(tmp_path: Path) -> None:
    kmin = {"set": "switches.ecn.kmin", "log_range": {"from": "100KB", "to": "1MB"}}
    file = study(tmp_path, parameters={**PARAMETERS, "kmin": kmin}, repetitions={"seeds": 3}, tune={"trials": 12})
    found, _ = tuned(file, tmp_path / "out")
    rows = StudyResults(tmp_path / "out").runs().to_pylist()
    broken = {row["point"] for row in rows if row["kmin_bytes"] > 500_000}
    assert broken
    assert found.stopped == len(broken)
    assert all(sum(row["point"] == it for row in rows) == 1 for it in broken)
    assert not broken & {it.point.number for it in found.front}


def test_the_chosen_point_is_compared_elsewhere_seed_by_seed(tmp_path: Path) -> None:
    elsewhere = {"busy": {"scenario": "small.yml"}}
    file = study(tmp_path, tune={"trials": 12, "confirm": 3, "elsewhere": elsewhere}, measures=["ecn.marked"])
    found, _ = tuned(file, tmp_path / "out")
    assert found.chosen is not None
    assert [(it.workload, it.measure) for it in found.elsewhere] == [
        (workload, measure)
        for workload in ("small", "busy")
        for measure in ("fct.p99", "pfc.paused_time", "ecn.marked")
    ]
    (row,) = (it for it in found.elsewhere if (it.workload, it.measure) == ("busy", "fct.p99"))
    plan = load_study(file, search=True)
    base = next(it for it in found.plan.points if it.label == "kmin=100KB ratio=4 cc=none")
    values = {
        point.number: [
            fake_run(plan.variant(Cell(0, point, plan.elsewhere[0]), seed)).metrics["fct.p99"] / 1000  # ps -> ns
            for seed in (2, 3, 4)  # those after the two of the search
        ]
        for point in (base, found.chosen.point)
    }
    before, after = values[base.number], values[found.chosen.point.number]
    assert row.baseline.mean == pytest.approx(sum(before) / 3)
    assert row.change.mean == pytest.approx(sum(b - a for a, b in zip(before, after, strict=True)) / 3)
    assert row.change.count == 3
    rows = StudyResults(tmp_path / "out").runs().to_pylist()
    assert {it["point"] for it in rows if it["workload"] == "busy"} == {base.number, found.chosen.point.number}


@pytest.mark.slow
def test_the_report_and_json_hold_front_patch_and_importances(tmp_path: Path) -> None:
    found, _ = tuned(study(tmp_path), tmp_path / "out")
    analysis = analysed(found.plan, StudyResults(tmp_path / "out").runs())
    facts = tune_json(found, analysis)
    assert facts["chosen"]["settings"]["transport.cc"] == "dcqcn"
    assert {it["language"] for it in facts["patches"]} == {"sonic", "nvue", "eos", "nxos"}
    assert all("transport.cc" in it["missing"] for it in facts["patches"])
    keys = [section.key for section in tune_document(found, analysis).sections]
    assert keys == ["front", "patch", "workloads", "importances", "drawings", "study"]


def test_the_drawings_of_a_search_are_its_confirmed_front_and_what_explains_it(tmp_path: Path) -> None:
    found, _ = tuned(study(tmp_path, tune={"trials": 12, "confirm": 3}), tmp_path / "out")
    made = tune_pictures(found, analysed(found.plan, StudyResults(tmp_path / "out").runs()))
    assert [it.key for it in made] == ["front", "importances", "response", "surface"]
    assert {"searched only", "Pareto front", "chosen", "baseline"} == set(
        re.findall(r"searched only|Pareto front|chosen|baseline", made[0].svg)
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tune": None}, "tune: is missing"),
        ({"objectives": None}, "objectives: is missing"),
        ({"parameters": None, "baseline": None}, "nothing to search among"),
        ({"baseline": {"kmin": "100KB"}}, "baseline: lacks ratio, cc"),
        ({"tune": {"trials": 9, "sampler": "cmaes"}}, "cmaes searches for one objective"),
        (
            {"objectives": {"fct.p99": "min"}, "tune": {"trials": 9, "sampler": "cmaes"}},
            "tune.sampler: cmaes takes no account of constraints",
        ),
        ({"tune": {"trials": 9, "elsewhere": {"x": {"scenario": "nowhere"}}}}, "tune.elsewhere.x.scenario: nowhere"),
    ],
)
def test_what_a_search_lacks_is_named(changes: dict[str, object], expected: str, tmp_path: Path) -> None:
    with pytest.raises(InputErrors) as caught:
        load_study(study(tmp_path, **changes), search=True)
    assert any(expected in str(it) for it in caught.value.problems), caught.value


def test_the_watchdog_of_the_shipped_study_acts_at_its_baseline() -> None:
    plan = load_study(Path("tune-watchdog"), search=True)
    base = {name: plan.levels[name].named(value) for name, value in plan.study.baseline.items()}
    values = combined(plan.levels, {name: it for name, it in base.items() if it is not None})
    (workload,) = plan.workloads
    found = simulate_variant(plan.variant(Cell(0, Point(0, values), workload), 0)).metrics
    assert (found["watchdog.storms"] or 0) > 0
    assert (found["drops.watchdog"] or 0) > 0


@pytest.mark.parametrize(("time", "taken"), [("400us", None), ("1500us", None), ("9100us", "10"), ("10ms", "10")])
def test_a_time_of_the_watchdog_that_milliseconds_cannot_hold_is_named(time: str, taken: str | None) -> None:
    found = patches(["switches.watchdog.detection"], {"switches": {"watchdog": {"detection": time}}})
    for it in found:
        assert it.missing == ([] if taken is not None else ["switches.watchdog.detection"])
        assert bool(it.lines) is (taken is not None)
    if taken is not None:
        (edit,) = json.loads(found[0].lines[0])
        assert edit["value"] == taken


def test_settings_in_the_languages_of_switches_and_nics() -> None:
    resolved = {
        "switches": {
            "ecn": SETTINGS,
            "buffer": {"dynamic_th": -2, "headroom": "96KiB"},
            "watchdog": {"detection": "200ms"},
        },
        "transport": {"dcqcn": {"gain": 5 / 1024, "increase_timer": "300us", "additive": "5M"}},
    }
    fields = [
        "switches.ecn.kmin",
        "switches.buffer.dynamic_th",
        "switches.buffer.headroom",
        "switches.watchdog.detection",
    ]
    sonic, nvue, eos, nxos = patches(fields, resolved)
    edits = {it["path"]: it["value"] for it in json.loads(sonic.lines[0])}
    assert edits["/WRED_PROFILE/AZURE_LOSSLESS/green_max_threshold"] == "60000"
    assert edits["/BUFFER_PROFILE/pg_lossless_SPEED_CABLE_profile/dynamic_th"] == "-2"
    assert edits["/BUFFER_PROFILE/pg_lossless_SPEED_CABLE_profile/xoff"] == "98304"
    assert edits["/PFC_WD/PORT/detection_time"] == "200"
    assert any("minimum-threshold 30000 bytes maximum-threshold 60000 bytes" in it for it in eos.lines)
    assert any("watchdog default timeout 0.2" in it for it in eos.lines)
    assert any("drop-probability 20" in it for it in nxos.lines)
    assert any(it.endswith("probability 20") for it in nvue.lines)
    assert nvue.missing == ["switches.buffer.dynamic_th", "switches.buffer.headroom"]
    (nic,) = patches(["transport.dcqcn.gain", "transport.dcqcn.additive", "transport.dcqcn.hyper"], resolved)
    assert [it.split()[1] for it in nic.lines] == ["1019", "5"]
    assert nic.missing == ["transport.dcqcn.hyper"]

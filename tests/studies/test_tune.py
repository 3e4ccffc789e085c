"""A search: it finds a known optimum, is the same after an interruption, and its patch says what was simulated."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_study import Inline, written

from fabric.errors import InputErrors
from fabric.scenario.schema.expectations import METRICS
from fabric.studies import tune as tune_module
from fabric.studies.analysis import analysed
from fabric.studies.columns import run_schema
from fabric.studies.dataset import StudyResults, claimed
from fabric.studies.jobs import Function, Job, Result
from fabric.studies.patch import patches
from fabric.studies.plan import examine_corners, load_study
from fabric.studies.simulation import Run, Variant
from fabric.studies.sweep import about as about_study
from fabric.studies.tune import Tuned, Tuning
from fabric.studies.tune_report import tune_document, tune_json

PARAMETERS = {
    "kmin": {"set": "switches.ecn.kmin", "log_range": {"from": "1KB", "to": "1MB"}},
    "ratio": {"set": "switches.ecn.kmax", "factor_of": "kmin", "range": {"from": 1.5, "to": 8.0}},
    "cc": {"set": "transport.cc", "values": ["dcqcn", "none"]},
}


def fake_run(variant: Variant) -> Run:
    """Least p99 at Kmin 30KB, least paused time at 3KB; Kmax hardly matters; a seed adds noise; large Kmin drops."""
    values = variant.values
    kmin = float(str(values["switches.ecn.kmin"]).rstrip("BKM")) * (
        1000 if "K" in str(values["switches.ecn.kmin"]) else 1
    )
    kmin *= 1e6 if "MB" in str(values["switches.ecn.kmin"]) else 1
    noise = 1 + 0.001 * (int(str(values["run.seed"])) % 7)
    p99 = (1 + abs(np.log(kmin / 30_000))) * noise * (2 if values["transport.cc"] == "none" else 1)
    metrics: dict[str, Any] = dict.fromkeys(METRICS, 0)
    metrics |= {"fct.p99": round(1e6 * p99), "pfc.paused_time": round(1e6 * abs(np.log(kmin / 3000)) * noise)}
    metrics["drops.lossless"] = int(kmin > 500_000)
    return Run(
        "done", "", metrics, True, "", 1, json.dumps({"switches": {"ecn": SETTINGS}}), np.zeros(0, np.int64), 0, 0
    )


SETTINGS = {"kmin": "30KB", "kmax": "60KB", "pmax": 0.2}


class Counting(Inline):
    """Inline, and counts the runs."""

    done = 0

    def results(self, function: Function, jobs: deque[Job]) -> Iterator[Result]:
        for result in super().results(function, jobs):
            self.done += 1
            yield result
            if self._most is not None and self.done >= self._most:
                raise KeyboardInterrupt


def study(folder: Path, **changes: object) -> Path:
    fields: dict[str, object] = {
        "parameters": PARAMETERS,
        "repetitions": {"seeds": 2},
        "objectives": {"fct.p99": "min", "pfc.paused_time": "min"},
        "baseline": {"kmin": "100KB", "ratio": 4.0, "cc": "none"},
        "tune": {"trials": 40, "confirm": 3},
    }
    return written(folder, **(fields | changes))


def tuned(file: Path, out: Path, *, most: int | None = None, resume: bool = False) -> tuple[Tuned, int]:
    plan = load_study(file, search=True)
    executor = Counting()
    executor._most = most
    with claimed(out, run_schema(plan), resume=resume, force=False) as folder:
        about = about_study(plan, examine_corners(plan))
        finished = folder.resume(about) if resume else []
        if not resume:
            folder.begin(about)
        try:
            found = Tuning(plan, folder, finished, executor).run()
        finally:
            folder.end("done")
    return found, executor.done


@pytest.fixture(autouse=True)
def without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_module, "simulate_variant", fake_run)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "cmaes", "random"])
def test_every_sampler_gets_near_a_known_optimum(sampler: str, tmp_path: Path) -> None:
    file = study(tmp_path, objectives={"fct.p99": "min"}, tune={"trials": 40, "confirm": 2, "sampler": sampler})
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


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tune": None}, "tune: is missing"),
        ({"objectives": None}, "objectives: is missing"),
        ({"parameters": None, "baseline": None}, "nothing to search among"),
        ({"baseline": {"kmin": "100KB"}}, "baseline: lacks ratio, cc"),
        ({"tune": {"trials": 9, "sampler": "cmaes"}}, "cmaes searches for one objective"),
        ({"tune": {"trials": 9, "elsewhere": {"x": {"scenario": "nowhere"}}}}, "tune.elsewhere.x.scenario: nowhere"),
    ],
)
def test_what_a_search_lacks_is_named(changes: dict[str, object], expected: str, tmp_path: Path) -> None:
    with pytest.raises(InputErrors) as caught:
        load_study(study(tmp_path, **changes), search=True)
    assert any(expected in str(it) for it in caught.value.problems), caught.value


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

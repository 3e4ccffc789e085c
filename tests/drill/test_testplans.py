"""Replayed test plans: every trial meets its criteria, and a fabric that breaks them does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fabric.cli.main import main
from telemetry.drill.testplans import PLANS, Plan, Result, Trial, page, replayed

PAGE = Path(__file__).parents[2] / "docs/testplans.md"
FOLDER = Path(__file__).parents[2] / "scenarios/testplans"


def _plan(text: str) -> Plan:
    return next(it for it in PLANS if text in it.name)


def test_every_scenario_is_used_and_every_plan_is_on_the_page() -> None:
    used = {trial.scenario for plan in PLANS for trial in plan.trials}
    assert used == {it.stem for it in FOLDER.glob("*.yml")}
    shown = PAGE.read_text(encoding="utf-8")
    assert [it.name for it in PLANS if it.name not in shown] == []
    assert all(bool(it.trials) != bool(it.why_not) for it in PLANS)
    assert "**no**" not in shown


@pytest.mark.parametrize("name", ["pause one lossless", "ECN: accuracy"])
def test_a_plan_is_met_and_one_that_is_broken_is_not(name: str) -> None:
    broken = {"pause one lossless": "faults[0].duration=50us", "ECN: accuracy": "switches.ecn.pmax=0.2"}
    plan = _plan(name)
    first = plan.trials[0]
    wrong = Trial(first.what, first.scenario, (broken[name],), first.measure)
    [good, bad] = replayed((replace(plan, trials=(first, wrong)),))
    assert good.met, good.figures
    assert not bad.met, bad.figures


def test_plans_are_listed_chosen_and_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", "plans", "--list"]) == 0
    assert "not replayed: switches do not trim packets" in capsys.readouterr().out
    assert main(["drill", "plans", "--only", "RoCEv2"]) == 0
    assert "transport.naks == 0 (0)" in capsys.readouterr().out
    assert main(["drill", "plans", "--only", "nothing"]) == 2
    assert main(["drill", "plans", "--list", "--write", "x.md"]) == 2
    assert "leave out --only and --list" in capsys.readouterr().err


def test_a_plan_that_is_not_replayed_says_why_and_a_missing_folder_is_refused_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drill", "plans", "--only", "MACsec"]) == 0
    assert "not replayed: neither is modelled" in capsys.readouterr().out
    assert main(["drill", "plans", "--only", "MACsec", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["met"], row["figures"]) == (None, "not replayed: neither is modelled")
    assert main(["drill", "plans", "--write", str(tmp_path / "absent/page.md")]) == 2
    assert "make it first" in capsys.readouterr().err


@pytest.mark.parametrize("storms", [0, 3])
def test_more_or_fewer_detections_than_storms_are_not_met(storms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = (np.arange(storms + 1), np.arange(storms + 1, dtype=np.float64))
    store = SimpleNamespace(iter_series=lambda _: [((), counted)])
    monkeypatch.setattr("telemetry.drill.testplans.store_of", lambda *_: store)
    truth = SimpleNamespace(to_pylist=lambda: [{"start_ns": 0, "end_ns": 1}, {"start_ns": 2, "end_ns": 3}])
    run = SimpleNamespace(truth=lambda: truth)
    [measure] = [trial.measure for trial in _plan("timer accuracy").trials]
    assert measure is not None
    met, figures = measure(run)  # type: ignore[arg-type]  # stands for a run directory
    assert not met
    assert figures == f"detected {storms} of 2, restored {storms} of 2"


def test_the_page_prints_every_set_of_a_trial() -> None:
    plan = _plan("pause one lossless")
    made = page((plan,), [Result(plan.name, it, True, "") for it in plan.trials])
    assert [word for trial in plan.trials for word in trial.sets if f" --set '{word}'" not in made] == []


@pytest.mark.slow
def test_every_trial_meets_its_criteria() -> None:
    assert [(it.plan, it.trial.what, it.figures) for it in replayed(PLANS) if not it.met] == []

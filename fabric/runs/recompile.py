"""A finished run's scenario, compiled once more, to simulate it again."""

from __future__ import annotations

from pathlib import Path

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import planned
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.scenario import Scenario


def recompiled(run: RunDir, stage: str, admit: Admit | None = None) -> tuple[Scenario, CompiledScenario]:
    """The scenario of a run, compiled once more; `stage` is what it is for, for messages.

    Raises: InputErrors where it is not the same.
    """
    about = run.manifest["scenario"]
    if "live" in run.manifest:
        text = "changes were made during the run, so it cannot be repeated"
        raise InputErrors(stage, [Problem(str(run.path), text, "use a run of `fabric run`")])
    scenario = build_scenario(about["resolved"], shipped.scenario(Path(about["file"])))
    duration_ps = int(run.manifest["duration_ps"])
    compiled = compile_scenario(scenario, admit, duration_ps) if admit else compile_scenario(scenario)
    whole = planned(scenario, compiled, until_ps=duration_ps, text="")
    if f"{whole.identity}/{run.manifest['how']['order']}" != run.manifest["identity"]:
        text = "its files, such as those of its jobs, are not those of the run any more"
        raise InputErrors(stage, [Problem(str(run.path), text, "run the scenario again")])
    return scenario, compiled

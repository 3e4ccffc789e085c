"""The healthy twin of a playbook: the same scenario without the fault, in which nothing may be reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import InputErrors, Problem
from fabric.runs import simulate
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.load import load_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.select import nearest
from playbooks.schema import FILE_NAME, Playbook, Twin
from telemetry.alerting.evaluate import evaluate_store
from telemetry.diagnosis.diagnose import diagnose
from telemetry.sources.sampled import sampled


@dataclass(frozen=True, slots=True)
class TwinResult:
    """What was reported of the twin."""

    alerts: tuple[str, ...]
    roots: tuple[str, ...]
    """Roots above the lowest rank: 'bad-optic at leaf1:Ethernet4'."""

    @property
    def silent(self) -> bool:
        """Whether nothing was."""
        return not self.alerts and not self.roots

    @property
    def lines(self) -> tuple[str, ...]:
        """What was reported, in sentences."""
        return (
            *(f"{name} fired in the healthy twin" for name in self.alerts),
            *(f"the diagnosis names {root} in the healthy twin" for root in self.roots),
        )


def twin_scenario(folder: Path, playbook: Playbook, twin: Twin) -> Scenario:
    """The scenario of the twin. Raises: InputErrors."""
    scenario = load_scenario(folder / playbook.scenario, twin.set)
    names = [it.name for it in scenario.faults if it.name is not None]
    problems = [
        Problem(
            f"{FILE_NAME}: twin.without",
            f"the scenario has no fault '{name}'",
            nearest(name, names, "named faults") if names else "give a fault of the scenario a name",
        )
        for name in twin.without
        if name not in names
    ]
    if problems:
        raise InputErrors("making the healthy twin", problems)
    return scenario.model_copy(update={"faults": tuple(it for it in scenario.faults if it.name not in twin.without)})


def run_twin(
    folder: Path, playbook: Playbook, twin: Twin, admit: Callable[[Scenario], Admit] | None = None
) -> TwinResult:
    """Simulate the twin in memory, without acts, and evaluate every alert and the diagnosis. Raises: InputErrors."""
    scenario = twin_scenario(folder, playbook, twin)
    admission = None if admit is None else admit(scenario)
    compiled, plan = simulate.prepare(scenario, sets=twin.set, admit=admission)
    store = sampled(compiled, plan)
    fired = tuple(dict.fromkeys(it.alert.name for it in evaluate_store(store).firings))
    roots = tuple(f"{it.kind.value} at {it.place}" for it in diagnose(store, compiled.fabric) if it.rank < 2)
    return TwinResult(fired, roots)

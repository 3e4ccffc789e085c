"""The alert corpus: its file, and the simulation and evaluation of one case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from fabric.errors import InputErrors, Problem
from fabric.runs import simulate
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.load import load_scenario
from fabric.scenario.problems import explain
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.yaml_input import read_yaml
from fabric.topology.select import nearest
from fabric.topology.spec import Strict
from telemetry.alerting.alert_corpus import Label, Simulated, evaluate_case
from telemetry.alerting.alerts import BY_NAME
from telemetry.record.store import Store
from telemetry.sources.sampled import sampled

Names = Annotated[tuple[str, ...], Field(strict=False)]


class Case(Strict):
    """One scenario with its labels."""

    scenario: str = Field(min_length=1, description="Scenario file, relative to the corpus file.")
    fires: Names = Field((), description="Alerts that must fire.")
    may: Names = Field((), description="Alerts that may fire; all others must be silent.")


class Corpus(Strict):
    """One corpus file."""

    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False, min_length=1)] = Field(
        description="Seeds of every case; thresholds are chosen on them."
    )
    held_out: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False, min_length=1)] = Field(
        description="Further seeds, for figures that no choice depends on."
    )
    cases: Annotated[tuple[Case, ...], Field(strict=False, min_length=1)] = Field(description="The cases.")


@dataclass(frozen=True, slots=True)
class CaseSummary:
    """Name, description and label of a case, for the page."""

    name: str
    description: str
    label: Label


def load_corpus(file: Path) -> Corpus:
    """Read a corpus file. Raises: InputErrors with every problem of the file."""
    raw: dict[str, Any] = read_yaml(file)
    try:
        corpus = Corpus.model_validate(raw)
    except ValidationError as error:
        raise InputErrors("checking the corpus", explain(error, raw, file.name)) from error
    problems = [
        Problem(f"{file.name}: held_out", f"seed {seed} is one of seeds, too", "hold another seed out")
        for seed in corpus.held_out
        if seed in corpus.seeds
    ]
    for number, case in enumerate(corpus.cases):
        for key, names in (("fires", case.fires), ("may", case.may)):
            problems += [
                Problem(
                    f"{file.name}: cases[{number}].{key}",
                    f"there is no alert '{name}'",
                    nearest(name, list(BY_NAME), "alerts"),
                )
                for name in names
                if name not in BY_NAME
            ]
        both = sorted(set(case.fires) & set(case.may))
        problems += [
            Problem(f"{file.name}: cases[{number}].may", f"'{name}' must fire already", "name it once") for name in both
        ]
        if not (file.parent / case.scenario).is_file():
            problems.append(
                Problem(
                    f"{file.name}: cases[{number}].scenario",
                    f"there is no file {file.parent / case.scenario}",
                    "paths are relative to the corpus file",
                )
            )
    if problems:
        raise InputErrors("checking the corpus", problems)
    return corpus


_SET: Final = "run.seed={}"


def simulate_corpus(
    file: Path, corpus: Corpus, admit: Callable[[Scenario], Admit]
) -> Iterator[tuple[CaseSummary, Simulated]]:
    """Simulate every case with every seed and evaluate each at once. `admit` makes the check of a scenario's size."""
    for case in corpus.cases:
        label = Label(frozenset(case.fires), frozenset(case.may))
        for seed in (*corpus.seeds, *corpus.held_out):
            store, truth, (name, description) = _simulate(file.parent / case.scenario, seed, admit)
            yield CaseSummary(name, description, label), evaluate_case(name, seed, label, store, truth)


def _simulate(
    file: Path, seed: int, admit: Callable[[Scenario], Admit]
) -> tuple[Store, list[dict[str, Any]], tuple[str, str]]:
    """Simulate one run and sample it as a scrape does."""
    scenario = load_scenario(file, [_SET.format(seed)])
    compiled, plan = simulate.prepare(scenario, sets=[_SET.format(seed)], admit=admit(scenario))
    return sampled(compiled, plan), [dict(it) for it in plan.truth], (plan.name, str(scenario.description))

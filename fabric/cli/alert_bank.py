"""The bank of scenarios for alerts: its file, and one case played from a scenario to judged alerts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from fabric.cli.control_history import ControlHistory
from fabric.cli.live_facts import observed
from fabric.cli.run_info import of_plan
from fabric.engine.driver import Emulator
from fabric.errors import InputErrors, Problem
from fabric.report import play
from fabric.scenario.load import load_scenario
from fabric.scenario.problems import explain
from fabric.scenario.yaml_input import read_yaml
from fabric.state.codes import Stop
from fabric.topology.select import nearest
from fabric.topology.spec import Strict
from telemetry.alerts import BY_NAME
from telemetry.bank import Label, Played, judge
from telemetry.sampler import Sampler
from telemetry.store import Store

Names = Annotated[tuple[str, ...], Field(strict=False)]


class Case(Strict):
    """One scenario and what it means for the alerts."""

    scenario: str = Field(min_length=1, description="Scenario file, relative to the bank's.")
    fires: Names = Field((), description="Alerts that must fire.")
    may: Names = Field((), description="Alerts that may fire; all others must be silent.")


class Bank(Strict):
    """One bank file."""

    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False, min_length=1)] = Field(
        description="Seeds that every case is played with; thresholds are chosen by them.")
    held_out: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False, min_length=1)] = Field(
        description="Further seeds, for figures that no choice has seen.")
    cases: Annotated[tuple[Case, ...], Field(strict=False, min_length=1)] = Field(description="The cases.")


@dataclass(frozen=True, slots=True)
class Told:
    """A case as a page tells it."""

    name: str
    description: str
    label: Label


def load_bank(file: Path) -> Bank:
    """The bank of a file. Raises: InputErrors with every problem of it."""
    raw: dict[str, Any] = read_yaml(file)
    try:
        bank = Bank.model_validate(raw)
    except ValidationError as error:
        raise InputErrors("checking the bank", explain(error, raw, file.name)) from error
    problems = [Problem(f"{file.name}: held_out", f"seed {seed} is one of seeds, too", "hold another seed out")
                for seed in bank.held_out if seed in bank.seeds]
    for number, case in enumerate(bank.cases):
        for key, names in (("fires", case.fires), ("may", case.may)):
            problems += [Problem(f"{file.name}: cases[{number}].{key}", f"there is no alert '{name}'",
                                 nearest(name, list(BY_NAME), "alerts")) for name in names if name not in BY_NAME]
        both = sorted(set(case.fires) & set(case.may))
        problems += [Problem(f"{file.name}: cases[{number}].may", f"'{name}' must fire already", "name it once")
                     for name in both]
        if not (file.parent / case.scenario).is_file():
            problems.append(Problem(f"{file.name}: cases[{number}].scenario",
                                    f"there is no file {file.parent / case.scenario}",
                                    "paths are relative to the bank"))
    if problems:
        raise InputErrors("checking the bank", problems)
    return bank


_SET: Final = "run.seed={}"


def play_bank(file: Path, bank: Bank) -> Iterator[tuple[Told, Played]]:
    """Every case with every seed, judged as soon as it is played."""
    for case in bank.cases:
        label = Label(frozenset(case.fires), frozenset(case.may))
        for seed in (*bank.seeds, *bank.held_out):
            store, truth, told = _play(file.parent / case.scenario, seed)
            yield Told(told[0], told[1], label), judge(told[0], seed, label, store, truth)


def _play(file: Path, seed: int) -> tuple[Store, list[dict[str, Any]], tuple[str, str]]:
    """One run, sampled as a scrape would: with the wait-for graph, which a run directory does not keep."""
    scenario = load_scenario(file, [_SET.format(seed)])
    compiled, plan = play.prepare(scenario, sets=[_SET.format(seed)])
    engine = Emulator(compiled.fabric, compiled.params, compiled.edits, record=compiled.record,
                      reroute_delay_ps=compiled.reroute_delay_ps)
    sampler = Sampler(of_plan(plan))
    history = None if compiled.control is None else ControlHistory(compiled.control)
    until_ps, seen_ps = 0, -1
    while True:
        stop = engine.advance(until_ps)
        if engine.now_ps > seen_ps:
            sampler.sample(observed(engine, None if history is None else history.at(engine.now_ps)))
            engine.snapshot(reset_watermarks=True)
            seen_ps = engine.now_ps
        if stop is Stop.IDLE or until_ps >= plan.duration_ps:
            return sampler.store, [dict(it) for it in plan.truth], (plan.name, str(scenario.description))
        until_ps = min(until_ps + plan.sampling_ps, plan.duration_ps)

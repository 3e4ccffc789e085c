"""A case judged: each check green or red with its rows, or not run where the configuration lacks something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from fabric.configs.model import Device
from fabric.qualify.bench import Bench, bench
from fabric.qualify.cause import cause_of
from fabric.qualify.expression import Demand, Measured
from fabric.qualify.measures import Rows, measured
from fabric.qualify.names import MEASURES, Name
from fabric.qualify.schema import CaseSpec, CheckSpec, ScenarioSpec
from fabric.qualify.trial import Trial, run
from fabric.validate.facts import Facts

Colour = Literal["green", "red", "not run", "reported"]
NO_ROW: Final = float("nan")


@dataclass(frozen=True, slots=True)
class Row:
    """One counter behind a check."""

    measure: str
    label: str
    value: float
    other: float | None
    """What it is compared with, where that is a counter as well."""
    ok: bool

    @property
    def about(self) -> Name:
        """Its measure in names.py."""
        return MEASURES[self.measure.partition("(")[0]]


@dataclass(frozen=True, slots=True)
class Result:
    """A check in one scenario."""

    check: CheckSpec
    colour: Colour
    rows: tuple[Row, ...] = ()
    text: str = ""
    """Why it is red or was not run."""


@dataclass
class Played:
    """A scenario of a case, carried out or not."""

    case: CaseSpec
    scenario: ScenarioSpec
    bench: Bench
    trial: Trial | None
    results: list[Result] = field(default_factory=list)

    @property
    def findings(self) -> list[str]:
        """What the configuration lacks, and what was not shown."""
        more = []
        if self.trial is not None and not self.trial.steady:
            more.append(
                f"no steady state: the halves of the window differ by {self.trial.disagreement:.1%} of the port's rate"
            )
        return [*self.bench.findings, *more]

    @property
    def green(self) -> bool:
        """Whether every check is green and nothing is lacking."""
        return not self.findings and all(it.colour in {"green", "reported"} for it in self.results)


def play(facts: Facts, device: Device, case: CaseSpec, asked: int | None) -> Iterator[Played]:
    """The scenarios of a case, one after the other. Raises: InputErrors where no scenario can be made of the switch."""
    for scenario in case.scenarios:
        made = bench(facts, device, case, scenario, asked)
        trial = run(made) if made.runnable else None
        played = Played(case, scenario, made, trial)
        for check in case.checks:
            if check.scenarios and scenario.name not in check.scenarios:
                continue
            played.results.append(_judged(check, trial))
        yield played


def _judged(check: CheckSpec, trial: Trial | None) -> Result:
    if trial is None:
        return Result(check, "not run", text="the configuration lacks what its traffic needs")
    rows: list[Row] = []
    for demand in (*check.demands, *check.shown):
        mine = list(_rows(demand, trial))
        if not mine:
            return Result(check, "not run", tuple(rows), f"nothing is counted by {demand.left}: {_nothing(demand)}")
        rows += mine
    if not check.holds:
        return Result(check, "reported", tuple(rows))
    if all(it.ok for it in rows):
        return Result(check, "green", tuple(rows))
    return Result(check, "red", tuple(rows), cause_of(check, trial))


def _nothing(demand: Demand) -> str:
    if demand.left.name == "share_error":
        return "fewer than two of the queues have a DWRR scheduler, so no share is configured"
    return f"there is no {demand.left.of} traffic"


def _rows(demand: Demand, trial: Trial) -> Iterator[Row]:
    name = str(demand.left)
    found: Rows = measured(trial, demand.left.name, demand.left.of, in_window=demand.in_window)
    if demand.total and found:
        found = {"all": sum(found.values())}
    others: Rows | None = None
    if isinstance(demand.right, Measured):
        others = measured(trial, demand.right.name, demand.right.of, in_window=demand.in_window)
    for label, value in found.items():
        right = demand.right if not isinstance(demand.right, Measured) else (others or {}).get(label, NO_ROW)
        yield Row(name, label, value, right if others is not None else None, demand.holds(value, right))

"""What every output says of a run of a case: its checks with their rows, its set-up, and what is lacking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from fabric.qualify.expression import Demand, Measured
from fabric.qualify.names import MEASURES, Name
from fabric.qualify.schema import CaseSpec, CheckSpec, ScenarioSpec
from fabric.qualify.whole.schema import FabricCaseSpec, RunSpec

Colour = Literal["green", "red", "not run", "reported"]
Rows = dict[str, float]
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
class Report(ABC):
    """A scenario of a case, carried out or not."""

    case: CaseSpec | FabricCaseSpec
    scenario: ScenarioSpec | RunSpec
    results: list[Result] = field(default_factory=list)
    what: ClassVar[str]
    """What is under test: 'switch' or 'fabric'."""

    @property
    @abstractmethod
    def findings(self) -> list[str]:
        """What the set-up lacks, and what was not shown."""

    @property
    @abstractmethod
    def setup(self) -> str:
        """Ports, durations, the measured window, in words."""

    @property
    @abstractmethod
    def data(self) -> dict[str, Any] | None:
        """The same as numbers; None where nothing was run."""

    @property
    @abstractmethod
    def not_lowered(self) -> list[str]:
        """Settings of the configuration that the emulator does not have."""

    @property
    @abstractmethod
    def assumed(self) -> list[str]:
        """What neither the configuration nor the plan states."""

    @property
    def green(self) -> bool:
        """Whether every check is green and nothing is lacking."""
        return not self.findings and all(it.colour in {"green", "reported"} for it in self.results)


def judged(
    check: CheckSpec,
    rows_of: Callable[[Measured, bool], Rows],
    cause: Callable[[CheckSpec], str],
    nothing: Callable[[Measured], str],
) -> Result:
    """A check by its rows.

    Parameters
    ----------
    rows_of    the rows of a measure, of the measured window or of the whole run
    cause      why a check is red
    nothing    why a measure has no row
    """
    rows: list[Row] = []
    for demand in (*check.demands, *check.shown):
        mine = list(_rows(demand, rows_of))
        if not mine:
            text = f"nothing is counted by {demand.left}: {nothing(demand.left)}"
            return Result(check, "not run", tuple(rows), text)
        rows += mine
    if not check.holds:
        return Result(check, "reported", tuple(rows))
    if all(it.ok for it in rows):
        return Result(check, "green", tuple(rows))
    failed = {it.measure for it in rows if not it.ok}
    about = tuple(text for text, it in zip(check.holds, check.demands, strict=True) if str(it.left) in failed)
    return Result(check, "red", tuple(rows), cause(check.model_copy(update={"holds": about or check.holds})))


def _rows(demand: Demand, rows_of: Callable[[Measured, bool], Rows]) -> Iterator[Row]:
    found = rows_of(demand.left, demand.in_window)
    if demand.total and found:
        found = {"all": sum(found.values())}
    others: Rows | None = None
    if isinstance(demand.right, Measured):
        others = rows_of(demand.right, demand.in_window)
    for label, value in found.items():
        right = demand.right if not isinstance(demand.right, Measured) else (others or {}).get(label, NO_ROW)
        yield Row(str(demand.left), label, value, right if others is not None else None, demand.holds(value, right))

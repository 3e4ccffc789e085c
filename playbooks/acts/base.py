"""An act: the model of its `do:`, and the dated edits of the running fabric that carry it out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from pydantic import Field

from fabric.dataplane.engine.edits import Edit
from fabric.errors import Problem
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.spec import Strict

Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)]
PORTS: Final = "'switch:port', either part a pattern; a switch means all its ports."
CABLES: Final = "Cables: 'leaf1--spine1' or a port such as 'leaf1:Ethernet0'."


@dataclass(frozen=True, slots=True)
class ActContext:
    """The run and the moment of an act."""

    time_ps: int
    compiled: CompiledScenario
    path: str
    """Of the `do:`, for problems."""
    problems: list[Problem]

    def problem(self, name: str, text: str, hint: str) -> None:
        """Report a problem of one field."""
        self.problems.append(Problem(f"{self.path}.{name}", text, hint))


class Act(Strict, ABC):
    """The base of every act. A subclass narrows `kind` to one Literal and adds its fields."""

    before_run: ClassVar[bool] = False
    """Whether `foreseen` changes the scenario, so that a running simulation cannot take the act."""

    kind: str

    def foreseen(self, scenario: Scenario, time_ps: int, path: str, problems: list[Problem]) -> Scenario:
        """The scenario with what must be known before its run, such as changes that routers answer.

        Parameters
        ----------
        path : of the `do:`, for problems, which are appended
        """
        del time_ps, path, problems
        return scenario

    @abstractmethod
    def edits(self, context: ActContext) -> list[Edit]:
        """The edits, dated context.time_ps; problems go to context.problems."""

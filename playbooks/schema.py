"""A playbook file as one strict model: a scenario, and steps that observe, expect, act and verify.

    observe   numbers worth looking at, over a stretch of simulated time; not judged
    expect    what must be seen if this is the incident the playbook is about
    act       what the operator does, at a moment of simulated time
    verify    what must be seen once it has helped

Times are simulated. A check is written as `<probe> <op> <value>`; probes.py lists the probes. Every problem of a file
is reported at once, with its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from fabric.errors import InputErrors
from fabric.scenario.problems import explain
from fabric.scenario.yaml_input import read_yaml
from fabric.topology.quantities import TimePs
from fabric.topology.spec import Strict
from playbooks.acts import ActSpec
from playbooks.probes import PROBES, CheckField, ProbeName

FILE_NAME: Final = "playbook.yml"

HostNames = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]


class _Step(Strict):
    """What every step has."""

    text: str = Field(min_length=1, max_length=300, description="What the step is about, in a sentence.")


class _Window(_Step):
    """Steps about a stretch of time."""

    since: TimePs | None = Field(None, description="Beginning of the stretch; the start of the run where absent.")
    until: TimePs | None = Field(None, description="Its end; the end of the run where absent.")
    hosts: HostNames = Field((), description="Receivers that goodput and done speak of, by name or pattern; all where "
                                             "absent.")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise ValueError("until is not after since; move one of them")
        asked = self.asked()
        if self.hosts and not any(name in PROBES and PROBES[name].by_host for name in asked):
            names = ", ".join(name for name, probe in PROBES.items() if probe.by_host)
            raise ValueError(f"hosts has no effect on {', '.join(asked)}; only {names} heed it")
        whole = [name for name in asked if name not in PROBES]
        if whole and (self.since is not None or self.until is not None):
            raise ValueError(f"{', '.join(whole)} speaks of the whole run; leave since and until out, or use a probe")
        return self

    def asked(self) -> tuple[str, ...]:
        """Names of the probes and metrics this step reads."""
        return ()


class ObserveStep(_Window):
    """Numbers to look at."""

    step: Literal["observe"]
    show: Annotated[tuple[ProbeName, ...], Field(strict=False, min_length=1)] = Field(description="Probes to print.")

    def asked(self) -> tuple[str, ...]:
        """As for every step with a window."""
        return self.show


class _Judged(_Window):
    """Steps that can fail."""

    check: Annotated[tuple[CheckField, ...], Field(strict=False, min_length=1)] = Field(description="What must hold.")

    def asked(self) -> tuple[str, ...]:
        """As for every step with a window."""
        return tuple(check.probe for check in self.check)


class ExpectStep(_Judged):
    """The incident as it should look."""

    step: Literal["expect"]


class VerifyStep(_Judged):
    """The incident as it should end."""

    step: Literal["verify"]


class ActStep(_Step):
    """What the operator does."""

    step: Literal["act"]
    at: TimePs = Field(description="When, simulated time.")
    do: ActSpec = Field(description="The change.")


Step = Annotated[ObserveStep | ExpectStep | ActStep | VerifyStep, Field(discriminator="step")]


class Playbook(Strict):
    """One playbook.yml."""

    title: str = Field(min_length=1, max_length=120, description="Headline of the incident.")
    severity: Literal["critical", "warning", "info"] = Field(description="How urgent the incident is.")
    summary: str = Field(min_length=1, max_length=2000, description="What happens, in a few sentences.")
    scenario: str = Field(min_length=1, description="Scenario file, relative to this one.")
    steps: Annotated[tuple[Step, ...], Field(strict=False, min_length=1)] = Field(description="In order of time.")

    @model_validator(mode="after")
    def _judges_something(self) -> Self:
        if not any(isinstance(step, ExpectStep | VerifyStep) for step in self.steps):
            raise ValueError("no step expects or verifies anything, so the playbook could not fail; add one")
        return self


def load_playbook(folder: Path) -> Playbook:
    """The playbook of a folder. Raises: InputErrors with every problem of the file."""
    file = folder / FILE_NAME
    raw: dict[str, Any] = read_yaml(file)
    try:
        return Playbook.model_validate(raw)
    except ValidationError as error:
        raise InputErrors("checking the playbook", explain(error, raw, file.name)) from error

"""A playbook file as one strict model: a scenario, and steps that observe, expect, act and verify.

    observe   show values over a window of simulated time, without a check
    expect    check the symptoms of the incident
    act       change the running fabric at a moment of simulated time
    verify    check that the change resolved the incident

Times are simulated. A check is `<probe> <op> <value>` (checks.py); acts/registry.py and probes/registry.py list the
acts and probes. All problems of a file are reported together, each with its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from fabric.errors import InputErrors
from fabric.scenario.problems import explain
from fabric.scenario.yaml_input import read_yaml
from fabric.topology.quantities import TimePs
from fabric.topology.spec import Line, Strict
from playbooks.acts.registry import AnyAct
from playbooks.checks import AlertName, CheckField, ProbeName
from playbooks.probes.registry import PROBES

FILE_NAME: Final = "playbook.yml"

Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
AlertNames = Annotated[tuple[AlertName, ...], Field(strict=False)]


class _Step(Strict):
    """Fields of every step."""

    text: Line = Field(min_length=1, max_length=300, description="Purpose of the step, in a sentence.")


class _Window(_Step):
    """Steps that read values over a window of simulated time."""

    since: TimePs | None = Field(None, description="Beginning of the window; the start of the run where absent.")
    until: TimePs | None = Field(None, description="End of the window; the end of the run where absent.")
    hosts: Names = Field((), description="Hosts that a probe by host counts, by name or pattern; all where absent.")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise ValueError("until is not after since; move one of them")
        names = self.probes()
        if self.hosts and not any(name in PROBES and PROBES[name].by_host for name in names):
            by_host = ", ".join(name for name, probe in PROBES.items() if probe.by_host)
            raise ValueError(f"hosts has no effect on {', '.join(names)}; only {by_host} count by host")
        whole = [name for name in names if name not in PROBES]
        if whole and (self.since is not None or self.until is not None):
            raise ValueError(f"{', '.join(whole)} covers the whole run; leave since and until out, or use a probe")
        return self

    def probes(self) -> tuple[str, ...]:
        """Names of the probes and metrics that this step reads."""
        return ()


class ObserveStep(_Window):
    """Show values, without a check."""

    step: Literal["observe"]
    show: Annotated[tuple[ProbeName, ...], Field(strict=False, min_length=1)] = Field(
        description="Probes and metrics to show."
    )

    def probes(self) -> tuple[str, ...]:
        """As for every step with a window."""
        return self.show


class _Checked(_Window):
    """Steps with checks."""

    check: Annotated[tuple[CheckField, ...], Field(strict=False, min_length=1)] = Field(
        description="Checks that must hold: `<probe> <op> <value>`."
    )

    def probes(self) -> tuple[str, ...]:
        """As for every step with a window."""
        return tuple(check.probe for check in self.check)


class ExpectStep(_Checked):
    """Check the symptoms of the incident."""

    step: Literal["expect"]


class VerifyStep(_Checked):
    """Check that the incident is resolved."""

    step: Literal["verify"]


class ActStep(_Step):
    """Change the running fabric, as an operator does."""

    step: Literal["act"]
    at: TimePs = Field(description="Simulated time of the change.")
    do: AnyAct = Field(description="The change.")


class Alerts(Strict):
    """Alerts of the catalogue over the whole run; those that are not named must be silent."""

    fire: AlertNames = Field((), description="Alerts that must fire.")
    may: AlertNames = Field((), description="Alerts that may fire.")

    @model_validator(mode="after")
    def _once(self) -> Self:
        both = sorted(set(self.fire) & set(self.may))
        if both:
            raise ValueError(f"{', '.join(both)} must fire and may fire; name it once")
        return self


class Twin(Strict):
    """The healthy twin: the same scenario without the fault, or with the right setting.

    In it no alert fires, and the diagnosis names no root above the lowest rank.
    """

    without: Names = Field((), description="Faults of the scenario that the twin leaves out, by name.")
    set: Names = Field((), description="PATH=VALUE of the scenario, as in `fabric run --set`.")

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if not self.without and not self.set:
            raise ValueError("the twin would be the same run; give without or set")
        return self


Step = Annotated[ObserveStep | ExpectStep | ActStep | VerifyStep, Field(discriminator="step")]


class Playbook(Strict):
    """One playbook.yml."""

    title: Line = Field(min_length=1, max_length=120, description="Headline of the incident.")
    severity: Literal["critical", "warning", "info"] = Field(description="Urgency of the incident.")
    summary: str = Field(min_length=1, max_length=2000, description="Course of the incident, in a few sentences.")
    scenario: str = Field(min_length=1, description="Scenario file, relative to this one.")
    alerts: Alerts | None = Field(None, description="Alerts that must fire; alerts are not judged where absent.")
    twin: Twin | None = Field(None, description="The healthy twin, which `fabric playbook check` runs beside it.")
    steps: Annotated[tuple[Step, ...], Field(strict=False, min_length=1)] = Field(description="In order of time.")

    @model_validator(mode="after")
    def _checks_something(self) -> Self:
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


def json_schema() -> dict[str, Any]:
    """The JSON Schema of playbook files."""
    return Playbook.model_json_schema()

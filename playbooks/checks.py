"""Checks of a playbook's steps: `<probe> <op> <value>`, such as `paused.hosts == 0` or `cause == broken NIC`.

Besides the registered probes a step can read every metric of a scenario's expectations, over the whole run only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

from fabric.errors import UnitError
from fabric.render.run_page import measured
from fabric.scenario.schema.expectations import METRICS, OPERATORS, from_summary, summary_key, to_summary
from fabric.scenario.schema.expectations import parse as parse_expectation
from fabric.topology.select import nearest
from fabric.units import format_bit_rate, format_time_ps, parse_rate_bps, parse_time_ps
from playbooks.evidence import RunEvidence
from playbooks.probes.base import Value, Window
from playbooks.probes.registry import PROBES
from telemetry.alerting.alerts import BY_NAME as ALERTS


@dataclass(frozen=True, slots=True)
class Check:
    """`<probe> <op> <value>`."""

    probe: str
    op: str
    value: float | str
    """In the probe's base unit (ps, bit/s), or text."""

    def __str__(self) -> str:
        return f"{self.probe} {self.op} {show(self.probe, self.value)}"

    def holds(self, actual: Value) -> bool:
        """Whether a measured value meets the check; a missing value meets no check."""
        if actual is None:
            return False
        if isinstance(self.value, str) or isinstance(actual, str):
            return (actual == self.value) == (self.op == "==")
        return OPERATORS[self.op](actual, self.value)


def read(name: str, evidence: RunEvidence, window: Window) -> Value:
    """The value of a probe, or of a metric."""
    if name in PROBES:
        return PROBES[name].read(evidence, window)
    value: float | None = evidence.run.summary["metrics"][summary_key(name)]
    return from_summary(name, value)


def show(name: str, value: Value) -> str:
    """A value with its unit, for people."""
    if value is None:
        return "no value"
    if isinstance(value, str):
        return value
    if name not in PROBES:
        return measured(name, to_summary(name, value))
    match PROBES[name].kind:
        case "time":
            return "0" if value == 0 else format_time_ps(value)
        case "rate":
            return format_bit_rate(value) if value else "0"
        case "ratio":
            return f"{value:.2f}"
        case _:
            return f"{value:,}"


_TEXT: Final = re.compile(r"\s*(\S+?)\s*(==|!=|<=|>=|<|>)\s*(.*?)\s*")


def parse_check(text: object) -> Check:
    """'paused.hosts == 0' -> Check. Raises UnitError."""
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None or not match[3]:
        raise UnitError(f"{text!r} is not a check", "write '<probe> <op> <value>', such as 'paused.hosts == 0'")
    name, op, value = match.groups()
    if name in METRICS:
        found = parse_expectation(text)
        return Check(found.metric, found.op, found.value)
    kind = PROBES[known(name)].kind
    if kind == "text":
        if op not in {"==", "!="}:
            raise UnitError(f"{name} is a text, which '{op}' cannot compare", "use == or !=")
        return Check(name, op, value)
    if kind == "time":
        return Check(name, op, parse_time_ps("0ps" if value == "0" else value))
    if kind == "rate":
        return Check(name, op, parse_rate_bps("0bps" if value == "0" else value))
    if kind == "ratio":
        try:
            return Check(name, op, float(value))
        except ValueError as error:
            raise UnitError(f"{name} is a {kind}, and {value!r} is not a number", "such as 1.5") from error
    try:
        return Check(name, op, int(value))
    except ValueError as error:
        raise UnitError(f"{name} is a {kind}, and {value!r} is not a whole number", "write a whole number") from error


def known(name: str) -> str:
    """The name of a probe or metric, unchanged. Raises UnitError with the nearest name."""
    if name not in PROBES and name not in METRICS:
        raise UnitError(f"no probe is called '{name}'", nearest(name, [*PROBES, *METRICS], "probes"))
    return name


CheckField = Annotated[
    Any,
    BeforeValidator(parse_check),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^\s*({'|'.join(map(re.escape, (*PROBES, *METRICS)))})\s*(==|!=|<=|>=|<|>)\s*\S",
            "examples": ["paused.hosts == 0", "goodput > 30G"],
        }
    ),
]
"""A field with a Check, written as text."""
ProbeName = Annotated[str, AfterValidator(known), WithJsonSchema({"type": "string", "enum": [*PROBES, *METRICS]})]
"""The name of a probe or metric."""


def known_alert(name: str) -> str:
    """The name of an alert, unchanged. Raises UnitError with the nearest name."""
    if name not in ALERTS:
        raise UnitError(f"there is no alert '{name}'", nearest(name, list(ALERTS), "alerts"))
    return name


AlertName = Annotated[str, AfterValidator(known_alert), WithJsonSchema({"type": "string", "enum": list(ALERTS)})]
"""The name of an alert."""

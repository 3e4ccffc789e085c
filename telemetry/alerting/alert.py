"""What an alert is, and its texts: the fields in braces are filled in by Prometheus or, of a finished run, here.

{device} is a label, {value:percent} the expression's value as a percentage, {last:60} a window of a nominal minute. A
window is written as wall clock time in Prometheus, as simulated time for a finished run. [at {port}] is left out where
the alert has no such label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fabric.units import PS_PER_S, format_time_ps
from telemetry.alerting import rules
from telemetry.alerting.promql.model import Expr, Timing
from telemetry.alerting.promql.text import duration


class Severity(StrEnum):
    """How urgent an alert is."""

    CRITICAL = "critical"
    """Pages the engineer on call."""
    WARNING = "warning"
    """A ticket for working hours."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert."""

    name: str
    build: Callable[[float], Expr]
    """The expression for a threshold."""
    limit: float
    """The threshold; the alert corpus gives the range in which it may lie."""
    hold_s: int
    """`for`, in nominal seconds."""
    severity: Severity
    summary: str
    description: str
    dashboard: str
    """uid of the dashboard to open."""
    root: str = ""
    """The label whose value is the root device; '' where the alert cannot tell."""
    why: str = ""
    """Basis of the threshold: which situations it separates."""
    style: str = ""
    """Format of the threshold; '' where the alert is about a state and another threshold has no meaning."""
    one_cable: bool = False
    """Both ends of one cable may fire, each with its own device: a label with both ends joins them in one ticket."""
    settle_s: int = 0
    """How long the symptom may last after the root cause is gone, nominal seconds, without the windows of `expr`."""

    @property
    def expr(self) -> Expr:
        """The expression with the threshold in force."""
        return self.build(self.limit)


CABLE: Final = "cable"
"""The label with both ends of a cable, in order of their devices' names."""
CABLE_TEMPLATE: Final = (
    "{{ if lt $labels.device $labels.peer_device }}"
    "{{ $labels.device }}:{{ $labels.port }} {{ $labels.peer_device }}:{{ $labels.peer_port }}{{ else }}"
    "{{ $labels.peer_device }}:{{ $labels.peer_port }} {{ $labels.device }}:{{ $labels.port }}{{ end }}"
)
"""Its value in rules."""


def cable(labels: Mapping[str, str]) -> str:
    """Its value here, from the labels of an alert."""
    ends = ((labels["device"], labels["port"]), (labels["peer_device"], labels["peer_port"]))
    return " ".join(":".join(end) for end in sorted(ends))


_FIELD: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
_OPTIONAL: Final = re.compile(r"\[([^\[\]]*\{(\w+)\}[^\[\]]*)\]")
_GO: Final = {"percent": "humanizePercentage", "count": 'printf "%.0f"', "ratio": 'printf "%.3g"'}


def fields(text: str) -> tuple[str, ...]:
    """Labels that a text names."""
    return tuple(found.group(1) for found in _FIELD.finditer(text) if found.group(1) not in {"value", "last"})


def go_template(text: str, timing: Timing) -> str:
    """A text as a Prometheus template, with windows scaled by `timing`."""

    def put(found: re.Match[str]) -> str:
        name, style = found.groups()
        if name == "last":
            return duration(timing.ms(int(style)))
        if name != "value":
            return f"{{{{ $labels.{name} }}}}"
        return f"{{{{ $value | {_GO[style]} }}}}"

    optional = _OPTIONAL.sub(lambda found: f"{{{{ if $labels.{found[2]} }}}}{found[1]}{{{{ end }}}}", text)
    return _FIELD.sub(put, optional)


def filled(text: str, labels: Mapping[str, str], value: float) -> str:
    """A text as Prometheus would fill it in, but with windows in simulated time at any dilation."""

    def put(found: re.Match[str]) -> str:
        name, style = found.groups()
        if name == "last":
            return format_time_ps(int(style) * PS_PER_S / rules.NOMINAL_DILATION)
        return labels.get(name, "") if name != "value" else shown(value, style)

    return _FIELD.sub(put, _OPTIONAL.sub(lambda found: found[1] if labels.get(found[2]) else "", text))


def shown(value: float, style: str) -> str:
    """A value in a style, in the format of Prometheus' templates."""
    if style == "percent":  # template_expansion.go humanizePercentage
        return f"{value * 100:.4g}%"
    if style == "count":
        return f"{value:.0f}"
    return f"{value:.3g}"

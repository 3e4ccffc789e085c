"""Expectations: `<metric> <op> <value>`, such as `drops.lossless == 0` or `fct.p99 < 2ms`.

A metric is a path into a run's summary; METRICS declares them all with their kind, and the kind decides how the value
is written. Expectations are evaluated after the run, over summary.json.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from fabric.dataplane.state.codes import DropReason
from fabric.errors import UnitError
from fabric.topology.quantities import exact_rate, exact_size, exact_time
from fabric.topology.select import nearest
from fabric.units import PS_PER_NS, parse_rate_bps, parse_size_bytes, parse_time_ps

Kind = Literal["count", "time", "size", "rate", "ratio"]

_DISTRIBUTION: Final = ("mean", "p50", "p90", "p95", "p99", "p999", "max")

METRICS: Final[Mapping[str, tuple[Kind, str]]] = {
    "messages.total": ("count", "messages of the scenario: single ones, and those of transfers that have bytes"),
    "messages.done": ("count", "messages completed"),
    "messages.failed": ("count", "messages whose queue pair gave up"),
    "messages.unfinished": ("count", "messages neither completed nor failed at the end"),
    **{f"fct.{which}": ("time", f"flow completion time, {which}") for which in _DISTRIBUTION},
    **{f"slowdown.{which}": ("ratio", f"completion time / ideal, {which}") for which in _DISTRIBUTION},
    "goodput.total": (
        "rate",
        "payload that arrived, over the time to the last completion or failure; to the end where messages are left",
    ),
    "goodput.jain": (
        "ratio",
        "Jain fairness of the sending hosts' goodput, in which failed messages count as no bytes",
    ),
    "drops.total": ("count", "packets discarded anywhere"),
    "drops.lossless": ("count", "packets of lossless classes discarded for lack of buffer, which PFC should prevent"),
    "drops.lossless_any": ("count", "packets of lossless classes lost for any reason: buffer, watchdog, dead link..."),
    "drops.lossy": ("count", "packets of other classes discarded for lack of buffer"),
    **{f"drops.{reason.name.lower()}": ("count", f"packets discarded: {reason.name.lower()}") for reason in DropReason},
    "pfc.pause_frames": ("count", "XOFF frames sent"),
    "pfc.pauses": ("count", "times a class was stopped"),
    "pfc.paused_time": ("time", "paused time, all ports and priorities"),
    "pfc.longest_pause": ("time", "longest pause of one port and priority"),
    "pfc.paused_hosts": ("count", "hosts that were paused at least once"),
    "ecn.marked": ("count", "packets marked CE"),
    "ecn.marked_ratio": ("ratio", "marked / ECN-capable packets"),
    "cnp.sent": ("count", "CNPs sent"),
    "transport.retransmits": ("count", "packets sent again"),
    "transport.timeouts": ("count", "retransmission timeouts"),
    "transport.naks": ("count", "NAKs sent"),
    "transport.out_of_order": ("count", "packets placed while an earlier one was missing (recovery out-of-order)"),
    "transport.declared_lost": ("count", "packets that senders declared lost (recovery out-of-order)"),
    "transport.spurious": ("count", "retransmitted packets of which both copies arrived (recovery out-of-order)"),
    "transport.rate_cuts": ("count", "DCQCN decreases"),
    "arp.requests": ("count", "ARP requests that leaves received from hosts"),
    "arp.suppressed": ("count", "ARP requests that the leaf answered"),
    "arp.flooded": ("count", "ARP requests that the leaf sent on to other leaves"),
    "arp.copies": ("count", "copies sent to other leaves in VXLAN"),
    "arp.arrived": ("count", "ARP requests that arrived at a host"),
    "arp.answered": ("count", "ARP requests that got a reply"),
    "arp.slowest": ("time", "longest time from an ARP request to its reply"),
    "datagrams.sent": ("count", "datagrams given to the hosts' NICs"),
    "datagrams.received": ("count", "datagrams that arrived"),
    "datagrams.dropped": ("count", "datagrams discarded anywhere; drops.* count them too"),
    "datagrams.refused": ("count", "datagrams not sent, because the NIC's queue was full"),
    "datagrams.marked": ("count", "datagrams that arrived with CE"),
    "queue.peak": ("size", "deepest egress queue"),
    "headroom.peak_ratio": ("ratio", "highest use of a lossless group's headroom"),
    "watchdog.storms": ("count", "storms detected"),
    "watchdog.restored": ("count", "storms ended"),
    "deadlock.cycles": ("count", "cyclic waits found"),
    "convergence.events": ("count", "dated events that routers noticed (routing: bgp)"),
    "convergence.max": ("time", "longest time from an event to the last change of forwarding"),
    "convergence.lost": ("count", "packets lost between an event and the last change of forwarding"),
    "bgp.updates": ("count", "UPDATE messages sent after the start of the run, all routers"),
    "bgp.sessions_lost": ("count", "ends of BGP sessions that went down"),
    "step.done": ("count", "steps of jobs that ended, all jobs"),
    **{f"step.{which}": ("time", f"time of a step of a job, {which} over all jobs") for which in _DISTRIBUTION},
    "inference.done": ("count", "inference requests whose cache arrived at decode"),
    **{f"inference.ttft.{which}": ("time", f"time to the first token, {which}") for which in _DISTRIBUTION},
    **{f"inference.tpot.{which}": ("time", f"time per output token, {which}") for which in _DISTRIBUTION},
    "simulated.time": ("time", "simulated time at the end"),
}
"""Metric path -> kind and meaning. Measured and compared in base units (ps, bytes, bit/s); summary.json carries every
one of them under summary_key(metric), with times in nanoseconds."""

UNITS: Final[Mapping[Kind, str]] = {"time": "ns", "size": "bytes", "rate": "bit/s", "count": "count", "ratio": "ratio"}
"""Units of summary.json by kind."""
_SUFFIX: Final[Mapping[Kind, str]] = {"time": "_ns", "size": "_bytes", "rate": "_bps"}


def summary_key(metric: str) -> str:
    """'fct.p99' -> 'fct.p99_ns': the name in summary.json ends in the unit; counts and ratios have none."""
    return metric + _SUFFIX.get(METRICS[metric][0], "")


def to_summary(metric: str, value: float | None) -> float | None:
    """A value in base units as summary.json has it: picoseconds become nanoseconds, with the fraction that is left."""
    if value is None or METRICS[metric][0] != "time":
        return value
    return value // PS_PER_NS if value % PS_PER_NS == 0 and isinstance(value, int) else value / PS_PER_NS


def from_summary(metric: str, value: float | None) -> float | None:
    """The inverse of to_summary()."""
    if value is None or METRICS[metric][0] != "time":
        return value
    return round(value * PS_PER_NS) if isinstance(value, float) else value * PS_PER_NS


FORMER_NAMES: Final[Mapping[str, str]] = {"arp.heard": "arp.arrived"}
"""Name in older scenarios and studies -> name today."""

OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_TEXT: Final = re.compile(r"\s*(\S+?)\s*(==|!=|<=|>=|<|>)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One checked sentence."""

    metric: str
    op: str
    value: float
    """In the metric's base unit."""
    kind: Kind

    def __str__(self) -> str:
        return f"{self.metric} {self.op} {format_value(self.value, self.kind)}"

    def holds(self, actual: float) -> bool:
        """Whether a measured value, in base units, meets the expectation."""
        return OPERATORS[self.op](actual, self.value)


def format_value(value: float, kind: Kind) -> str:
    """A metric's value as the user writes it."""
    writers: dict[str, Callable[[int], str]] = {"time": exact_time, "size": exact_size, "rate": exact_rate}
    return writers[kind](int(value)) if kind in writers else f"{value:g}"


def metric_called(metric: str) -> str:
    """The name today of a metric, which may be given by a former name. Raises UnitError."""
    found = FORMER_NAMES.get(metric, metric)
    if found not in METRICS:
        raise UnitError(f"no metric is called '{metric}'", nearest(metric, list(METRICS), "metrics"))
    return found


def parse(text: object) -> Expectation:
    """'fct.p99 < 2ms' -> Expectation. Raises UnitError."""
    if isinstance(text, Expectation):
        return text
    if isinstance(text, dict) and set(text) == {"metric", "op", "value"}:
        text = f"{text['metric']} {text['op']} {text['value']}"
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise UnitError(
            f"{text!r} is not an expectation", "write '<metric> <op> <value>', such as 'drops.lossless == 0'"
        )
    named, op, value = match.groups()
    metric = metric_called(named)
    kind = METRICS[metric][0]
    return Expectation(metric, op, _value(value, kind, metric), kind)


def _value(text: str, kind: Kind, metric: str) -> float:
    readers: dict[str, Callable[[object], int]] = {
        "time": parse_time_ps,
        "size": parse_size_bytes,
        "rate": parse_rate_bps,
    }
    try:
        if kind in readers:
            return readers[kind]("0ps" if kind == "time" and text == "0" else text)
        number = float(text)
    except UnitError as error:
        raise UnitError(f"{metric} is a {kind}: {error.text}", error.hint) from error
    except ValueError as error:
        raise UnitError(f"{metric} is a {kind}, and {text!r} is not a number", "write a plain number") from error
    if not isfinite(number) or (kind == "count" and number != int(number)):
        raise UnitError(f"{metric} is a {kind}, and {text!r} is none", "write a whole number")
    return number


_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^\s*\S+\s*(==|!=|<=|>=|<|>)\s*\S+\s*$",
    "examples": ["drops.lossless == 0", "fct.p99 < 2ms"],
    "description": "'<metric> <op> <value>'; metrics are listed in the scenario reference.",
}

ExpectationField = Annotated[
    Any, BeforeValidator(parse), PlainSerializer(str, return_type=str), WithJsonSchema(_SCHEMA)
]
"""A field holding an Expectation, written as text."""

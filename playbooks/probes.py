"""What a playbook's steps may ask of a run: named numbers over a stretch of simulated time.

A check is `<probe> <op> <value>`, such as `paused.hosts == 0`, `storms.detected >= 1` or `cause == broken NIC`. Besides
the probes here, every metric of a scenario's expectations can be asked, over the whole run only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, PlainSerializer

from fabric.errors import UnitError
from fabric.report.evidence import Evidence
from fabric.report.page import measured
from fabric.report.pause_tree import Episode, PauseSpan
from fabric.scenario.expectations import METRICS, OPERATORS, from_summary, summary_key, to_summary
from fabric.scenario.expectations import parse as parse_expectation
from fabric.topology.select import nearest
from fabric.units import PS_PER_NS, PS_PER_S, format_bit_rate, format_time_ps, parse_rate_bps, parse_time_ps

Kind = Literal["count", "time", "rate", "text", "ratio"]
Value = int | float | str | None


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of simulated time, and whom to count."""

    since_ps: int
    until_ps: int
    hosts: frozenset[int] | None
    """NodeIds; None: all."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that can be asked."""

    kind: Kind
    help: str
    read: Callable[[Evidence, Window], Value]
    by_host: bool = False
    """Whether it heeds Window.hosts."""


def _standing(evidence: Evidence, window: Window) -> list[PauseSpan]:
    return [span for span in evidence.pauses
            if any(start < window.until_ps and stop > window.since_ps for start, stop in span.held)]


def _paused_nodes(evidence: Evidence, window: Window, *, hosts: bool) -> int:
    victims = {evidence.fabric.peer_of(span.port).id for span in _standing(evidence, window)}
    return sum(evidence.fabric.nodes[node].is_host == hosts for node in victims)


def _paused_time(evidence: Evidence, window: Window) -> int:
    return sum(max(min(stop, window.until_ps) - max(start, window.since_ps), 0)
               for span in evidence.pauses for start, stop in span.held)


def _largest(evidence: Evidence, window: Window) -> Episode | None:
    inside = (episode for episode in evidence.episodes
              if episode.first_ps < window.until_ps and episode.last_ps > window.since_ps)
    return next(inside, None)


def _of_largest(read: Callable[[Evidence, Episode], Value]) -> Callable[[Evidence, Window], Value]:
    def probe(evidence: Evidence, window: Window) -> Value:
        episode = _largest(evidence, window)
        return None if episode is None else read(evidence, episode)
    return probe


def _events(kind: str) -> Callable[[Evidence, Window], Value]:
    def probe(evidence: Evidence, window: Window) -> Value:
        times = evidence.events([kind])["time_ps"]
        return int(np.count_nonzero((times >= window.since_ps) & (times < window.until_ps)))
    return probe


def _done(evidence: Evidence, window: Window) -> int:
    messages = evidence.messages
    inside = (messages["end_ps"] >= window.since_ps) & (messages["end_ps"] < window.until_ps)
    if window.hosts is not None:
        inside &= np.isin(messages["dst"], list(window.hosts))
    return int(np.count_nonzero(inside))


def _slowdown(evidence: Evidence, window: Window) -> float | None:
    messages = evidence.messages
    inside = (messages["end_ps"] >= window.since_ps) & (messages["end_ps"] < window.until_ps)
    if window.hosts is not None:
        inside &= np.isin(messages["dst"], list(window.hosts))
    return float(np.median(messages["slowdown"][inside])) if inside.any() else None


def _counted(name: str, evidence: Evidence, window: Window) -> int:
    """How much a counter of hosts grew within the window, hosts together."""
    total = 0
    for host, (times_ns, values) in evidence.device_series(name).items():
        if window.hosts is None or host in window.hosts:
            ends_ns = [window.since_ps // PS_PER_NS, window.until_ps // PS_PER_NS]
            at = np.searchsorted(times_ns, ends_ns, side="right") - 1
            first, last = (int(values[row]) if row >= 0 else 0 for row in at.tolist())
            total += last - first
    return total


def _goodput(evidence: Evidence, window: Window) -> float:
    bits = 8 * _counted("goodput_bytes", evidence, window)
    return bits * PS_PER_S / max(window.until_ps - window.since_ps, 1)


PROBES: Final[Mapping[str, Probe]] = {
    "paused.hosts": Probe("count", "hosts that stood still at some moment",
                          lambda evidence, window: _paused_nodes(evidence, window, hosts=True)),
    "paused.switches": Probe("count", "switches of which a port stood still at some moment",
                             lambda evidence, window: _paused_nodes(evidence, window, hosts=False)),
    "paused.time": Probe("time", "paused time of all ports together", _paused_time),
    "trees": Probe("count", "pause trees", lambda evidence, window: sum(
        episode.first_ps < window.until_ps and episode.last_ps > window.since_ps for episode in evidence.episodes)),
    "origin": Probe("text", "device at which the largest pause tree began", _of_largest(
        lambda evidence, episode: evidence.fabric.node_of(episode.origin.port).name)),
    "cause": Probe("text", "cause of the largest pause tree", _of_largest(
        lambda _, episode: episode.origin.cause.value)),
    "depth": Probe("count", "cables from the origin to the furthest pause of the largest tree", _of_largest(
        lambda _, episode: episode.depth)),
    "victims": Probe("count", "messages that waited for the largest tree without passing its origin", _of_largest(
        lambda evidence, episode: evidence.blast(episode).victims)),
    "storms.detected": Probe("count", "storms that the PFC watchdog detected", _events("storm_detected")),
    "storms.restored": Probe("count", "storms that the PFC watchdog ended", _events("storm_restored")),
    "arp.received": Probe("count", "ARP requests that hosts heard, for whomever", lambda evidence, window: _counted(
        "arp_requests_received", evidence, window), by_host=True),
    "done": Probe("count", "messages completed, by receiver", _done, by_host=True),
    "slowdown": Probe("ratio", "median completion time over the ideal one, by receiver", _slowdown, by_host=True),
    "goodput": Probe("rate", "payload received in order", _goodput, by_host=True),
}


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
        """Whether a measured value meets it; no value meets nothing."""
        if actual is None:
            return False
        if isinstance(self.value, str) or isinstance(actual, str):
            return (actual == self.value) == (self.op == "==")
        return OPERATORS[self.op](actual, self.value)


def read(name: str, evidence: Evidence, window: Window) -> Value:
    """A probe's or a metric's value."""
    if name in PROBES:
        return PROBES[name].read(evidence, window)
    value: float | None = evidence.run.summary["metrics"][summary_key(name)]
    return from_summary(name, value)


def show(name: str, value: Value) -> str:
    """A value as people read it."""
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
    """The name of a probe or metric, as given. Raises UnitError naming the nearest one."""
    if name not in PROBES and name not in METRICS:
        raise UnitError(f"no probe is called '{name}'", nearest(name, [*PROBES, *METRICS], "probes"))
    return name


CheckField = Annotated[Any, BeforeValidator(parse_check), PlainSerializer(str, return_type=str)]
"""A field holding a Check, written as text."""
ProbeName = Annotated[str, AfterValidator(known)]
"""The name of a probe or metric."""

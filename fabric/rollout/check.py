"""Validate the network of a mixed state: its hazards are the findings that neither OLD nor NEW has.

A difference of PFC between two ends is no hazard while no RoCE is in the priorities that differ: pauses of an empty
class stop nothing. This makes 'PFC at both ends before traffic, traffic gone before PFC off' an order that switches can
follow one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fabric.configs.network import End, Network
from fabric.rollout.lost import lost_paths, parts
from fabric.rollout.symmetry import Symmetry
from fabric.rollout.units import Change, State
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.facts import Facts, Line
from fabric.validate.runner import validate

_BETWEEN: Final = "↔"
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Exposure:
    """What a hazard can hurt."""

    links: tuple[str, ...]
    pairs: int
    """Ordered pairs of edge switches of which a path crosses it."""
    paths: int
    every: int
    """Paths of those pairs that cross it, and all."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A state, and what is wrong with it."""

    state: State
    text: str
    hazards: tuple[Finding, ...]
    harmless: int = 0
    """Differences of PFC in priorities without RoCE."""

    @property
    def safe(self) -> bool:
        """Whether it has no hazard."""
        return not self.hazards


class Known:
    """Findings of networks: how many of each object, how bad, and with which texts."""

    def __init__(self, findings: Iterable[Sequence[Finding]]) -> None:
        self.severity: dict[Key, Severity] = {}
        self.texts: dict[Key, set[str]] = {}
        self.most: Counter[Key] = Counter()
        for found in findings:
            for item in found:
                self.severity[item.key] = max(item.severity, self.severity.get(item.key, item.severity))
                self.texts.setdefault(item.key, set()).add(item.text)
            for key, number in Counter(it.key for it in found).items():
                self.most[key] = max(self.most[key], number)

    def new(self, findings: Sequence[Finding]) -> list[Finding]:
        """Findings that are worse than every known one of the object, or one more with another text."""
        count = Counter(it.key for it in findings)
        return [
            item
            for item in findings
            if item.key not in self.severity
            or item.severity > self.severity[item.key]
            or (count[item.key] > self.most[item.key] and item.text not in self.texts[item.key])
        ]


@dataclass(frozen=True, slots=True)
class Ends:
    """The findings of OLD and of NEW, from the severity on that makes a hazard."""

    known: Known
    """Of both: what no state on the way is blamed for."""
    shared: tuple[Finding, ...]
    """Of NEW, those that OLD has as well."""
    gone: int
    """Of OLD, those that NEW does not have, whether they are fixed or not judged any more."""
    worse: tuple[Finding, ...]
    """Of NEW, those that OLD does not have, or not as bad."""


def judge_ends(old: Network, new: Network, least: Severity) -> Ends:
    """Judge both ends of a rollout."""
    before = validate(old).findings
    after = (*validate(new, before=old).findings, *lost_paths(parts(old), new))
    its = [[it for it in found if it.severity >= least] for found in (before, after)]
    worse = Known((before,)).new(its[1])
    keys = {it.key for it in after}
    return Ends(
        Known((before, after)),
        tuple(it for it in its[1] if it not in worse),
        sum(it.key not in keys for it in its[0]),
        tuple(worse),
    )


class Checker:
    """Checks states of one change; states that are equal but for the names of switches are checked once."""

    def __init__(
        self, change: Change, known: Known, *, least: Severity = Severity.ERROR, symmetry: Symmetry | None = None
    ) -> None:
        self.change, self.known, self.least = change, known, least
        self._symmetry = symmetry
        self._parts = parts(change.old)
        self._memo: dict[object, Checked] = {}
        self._keys: dict[State, str] = {}
        self.asked: dict[object, set[State]] = {}
        """States that each checked one stands for."""

    @property
    def checked(self) -> tuple[Checked, ...]:
        """Every state that was validated, in order."""
        return tuple(self._memo.values())

    def is_new(self, state: State) -> bool:
        """Whether no equal state was validated."""
        return self.key(state) not in self._memo

    def stands_for(self, checked: Checked) -> int:
        """How many of the states that were asked for are decided by this one."""
        return len(self.asked[self.key(checked.state)])

    def check(self, state: State) -> Checked:
        """The hazards of a state."""
        key = self.key(state)
        self.asked.setdefault(key, set()).add(state)
        if key not in self._memo:
            self._memo[key] = self._validate(state)
        return self._memo[key]

    def colour(self, name: str) -> str:
        """The class of equal switches that a switch is in; its name without symmetry."""
        return name if self._symmetry is None else self._symmetry.colours.get(name, name)

    def key(self, state: State) -> object:
        """Equal for states that are taken as equal."""
        if self._symmetry is None:
            return state
        if state not in self._keys:
            self._keys[state] = self._symmetry.key(self.change, state)
        return self._keys[state]

    def _validate(self, state: State) -> Checked:
        text = self.change.text_of(state)
        network = self.change.network(state)
        judged = (*validate(network, before=self.change.old).findings, *lost_paths(self._parts, network))
        found = [it for it in judged if it.severity >= self.least]
        new = self.known.new(found)
        facts = Facts(network) if any(it.check.id == "L1" for it in new) else None
        hazards = tuple(it for it in new if facts is None or not without_roce(it, facts))
        return Checked(state, text, hazards, len(new) - len(hazards))


class View:
    """States of a change with coarser steps, checked as states of the finer one."""

    def __init__(self, checker: Checker, change: Change) -> None:
        self.checker, self.change = checker, change

    @property
    def validated(self) -> int:
        """States that were validated so far."""
        return len(self.checker.checked)

    def is_new(self, state: State) -> bool:
        """Whether no equal state was validated."""
        return self.checker.is_new(self.lifted(state))

    def check(self, state: State) -> Checked:
        """The hazards of a state."""
        return self.checker.check(self.lifted(state))

    def lifted(self, state: State) -> State:
        """The state with the levels of the finer change."""
        return tuple(
            fine.last if level == coarse.last else level
            for level, coarse, fine in zip(state, self.change.units, self.checker.change.units, strict=True)
        )


def without_roce(finding: Finding, facts: Facts) -> bool:
    """Whether it is a difference of PFC in priorities whose queues no RoCE leaves by, at either end."""
    if finding.check.id != "L1":
        return False
    lines = [facts.line(end) for end in _ends(finding)]
    ends = [line for line in lines if line is not None]
    if not ends or len(ends) != len(lines):
        return False
    host = facts.host_at(ends[0]) if len(ends) == 1 else None
    other = ends[-1].port.lossless if host is None else host.pfc_enable or frozenset()
    differ = ends[0].port.lossless ^ other
    used = {facts.queue_of(line, dscp) for line in ends for dscp in facts.network.roce_dscps}
    if None in used:  # a code point without a class: its queue is not known
        return False
    return all(_queue(facts, line, priority) not in used for line in ends for priority in differ)


def _queue(facts: Facts, line: Line, priority: int) -> int | None:
    return facts.value(line.device, line.port, "pfc_to_queue", priority)


def _ends(finding: Finding) -> list[End]:
    """The ports that a finding's object names."""
    parts = finding.object.split(_BETWEEN)
    if len(parts) == 1:
        return [(finding.device, finding.object)]
    found = []
    for part in parts:
        name, _, port = part.partition(":")
        found.append((name, port))
    return found


def exposure(finding: Finding, network: Network) -> Exposure:
    """Links and pairs of edge switches that a hazard can hurt: of its port or link, else of all ports of its switch."""
    facts = Facts(network)
    ends = [end for end in _ends(finding) if facts.line(end) is not None]
    if not ends and finding.device in network.devices:
        ends = [(finding.device, port) for port in network.devices[finding.device].ports]
    wanted = set(ends)
    links = tuple(
        f"{':'.join(cable.a)}{_BETWEEN}{':'.join(cable.b)}"
        for cable in network.links
        if cable.a in wanted or cable.b in wanted
    )
    hurt = [it for it in facts.routes.share_of_paths({end: frozenset() for end in ends}).values() if it.bad]
    return Exposure(links, len(hurt), sum(it.bad for it in hurt), sum(it.every for it in hurt))

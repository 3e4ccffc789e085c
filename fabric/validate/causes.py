"""One cause, one finding: findings of all devices and checks, grouped by the field that has to change.

Findings of one check with one root are one mistake. A mistake is a consequence of another one if that one's check
declares so (`Check.leads_to`) and if it depends on that one's root: one of its fields is the root, or inside it, or
the root is inside a construct that it depends on as a whole.
Mistakes without another cause that read the same on several devices are one cause. A mistake with two causes
is listed under both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from fabric.validate.checks.base import Check, Finding, Root, Severity
from fabric.validate.remedies import Fix

_NAME: Final = re.compile(r"[A-Za-z][\w./-]*\d[\w./-]*|\d+\.\d+\.\d+\.\d+(?:/\d+)?")
"""Names of ports, devices and profiles, and addresses: they differ where the mistake is the same."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One mistake, on one device or on many, with all that follows from it."""

    findings: tuple[Finding, ...]
    """The mistake itself, in the order of the findings; at least one."""
    consequences: tuple[Finding, ...] = ()
    """Findings of other checks that the same change repairs."""

    @property
    def first(self) -> Finding:
        """The finding whose words stand for all."""
        return self.findings[0]

    @property
    def check(self) -> Check:
        """The check that names the mistake."""
        return self.first.check

    @property
    def general(self) -> str:
        """Its words without the names of devices, ports and addresses."""
        return _signature(self.first)[2]

    @property
    def severity(self) -> Severity:
        """The worst of the mistake and its consequences."""
        return max(it.severity for it in (*self.findings, *self.consequences))

    @property
    def devices(self) -> dict[str, list[str]]:
        """Device to the objects of the mistake on it."""
        found: dict[str, list[str]] = {}
        for item in self.findings:
            found.setdefault(item.device, []).append(item.object)
        return found

    @property
    def pairs(self) -> int:
        """Pairs of edge switches with a path that is hurt."""
        return sum(it.paths > 0 for it in (*self.findings, *self.consequences))

    @property
    def paths(self) -> int:
        """Paths between edge switches that are hurt."""
        return sum(it.paths for it in (*self.findings, *self.consequences))

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """Every change that is needed, each once: those that were tried, else those that the rules give."""
        every = (it.found or ((it.fix,) if it.fix is not None else ()) for it in self.findings)
        return tuple(dict.fromkeys(fix for its in every for fix in its))

    @property
    def counts(self) -> dict[str, int]:
        """Check to the number of consequences of it."""
        found: dict[str, int] = {}
        for item in self.consequences:
            found[item.check.id] = found.get(item.check.id, 0) + 1
        return found


@dataclass(slots=True)
class _Mistake:
    """Findings of one check and severity with one root."""

    number: int
    findings: list[int] = field(default_factory=list)
    depends_on: dict[Root, None] = field(default_factory=dict)
    within: dict[Root, None] = field(default_factory=dict)
    """Constructs that it depends on as a whole."""


def find_causes(findings: Sequence[Finding]) -> tuple[Cause, ...]:
    """Every finding is in one cause at least. Causes that hurt most paths come first, then the worst, then the order.

    Parameters
    ----------
    findings    as the runner sorts them: the worst first
    """
    mistakes: dict[tuple[str, Severity, Root], _Mistake] = {}
    for number, item in enumerate(findings):
        mistake = mistakes.setdefault((item.check.id, item.severity, item.root), _Mistake(len(mistakes)))
        mistake.findings.append(number)
        mistake.depends_on[item.root] = None
        mistake.depends_on.update(dict.fromkeys(it.root for it in item.evidence if it.root is not None))
        mistake.depends_on.update(dict.fromkeys(item.rests_on))
        mistake.within.update(dict.fromkeys(item.within))
    every = list(mistakes.values())
    parents = _parents(findings, every)
    known: dict[int, tuple[int, ...]] = {}
    tops = [_tops(number, parents, known) for number in range(len(every))]
    groups: dict[tuple[str, Severity, str], list[int]] = {}
    for mistake in every:
        if mistake.number in tops[mistake.number]:
            groups.setdefault(_signature(findings[mistake.findings[0]]), []).append(mistake.number)
    group_of = {number: key for key, numbers in groups.items() for number in numbers}
    consequences: dict[tuple[str, Severity, str], list[int]] = {}
    for mistake in every:
        for key in dict.fromkeys(group_of[top] for top in tops[mistake.number] if top != mistake.number):
            consequences.setdefault(key, []).extend(mistake.findings)
    causes = [
        Cause(
            tuple(findings[number] for number in sorted(number for it in numbers for number in every[it].findings)),
            tuple(findings[number] for number in sorted(consequences.get(key, ()))),
        )
        for key, numbers in groups.items()
    ]
    return tuple(sorted(causes, key=lambda it: (-it.paths, -it.severity)))


def _parents(findings: Sequence[Finding], mistakes: Sequence[_Mistake]) -> list[tuple[int, ...]]:
    """For each mistake, those that it follows from directly."""
    leading: dict[Root, list[int]] = {}
    inside: dict[Root, list[int]] = {}
    wanted = {root for mistake in mistakes for root in mistake.within}
    for mistake in mistakes:
        first = findings[mistake.findings[0]]
        if first.check.leads_to:
            leading.setdefault(first.root, []).append(mistake.number)
            for outer in _with_outer([first.root]) if wanted else ():
                if outer in wanted:
                    inside.setdefault(outer, []).append(mistake.number)
    found = []
    for mistake in mistakes:
        id_ = findings[mistake.findings[0]].check.id
        found.append(
            tuple(
                dict.fromkeys(
                    other
                    for other in (
                        *(it for root in _with_outer(mistake.depends_on) for it in leading.get(root, ())),
                        *(it for root in mistake.within for it in inside.get(root, ())),
                    )
                    if id_ in findings[mistakes[other].findings[0]].check.leads_to
                )
            )
        )
    return found


def _with_outer(roots: Iterable[Root]) -> Iterator[Root]:
    """The fields, and the constructs that they are part of."""
    for name, where in roots:
        for length in range(len(where), 0, -1):
            yield name, where[:length]


def _tops(number: int, parents: Sequence[tuple[int, ...]], known: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    """The mistakes at the beginning of the chain; the mistake itself where it follows from none.

    The recursion ends because `leads_to` has no cycle; a test holds that.
    """
    if number not in known:
        found = dict.fromkeys(top for other in parents[number] for top in _tops(other, parents, known))
        known[number] = tuple(found) or (number,)
    return known[number]


def _signature(finding: Finding) -> tuple[str, Severity, str]:
    """What two devices with the same mistake have in common."""
    return finding.check.id, finding.severity, _NAME.sub("*", finding.text.replace(finding.device, "*"))

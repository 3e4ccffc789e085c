"""Run every check over a network, apply suppressions, and put the findings in order."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from fabric.configs.model import Unread
from fabric.configs.network import Network
from fabric.garbage_collection import without_collector
from fabric.validate.baseline_values import with_baseline_values
from fabric.validate.causes import Cause, find_causes
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.checks.registry import CHECKS
from fabric.validate.facts import Facts
from fabric.validate.headroom_need import headroom_text
from fabric.validate.hidden import Behind, Gone
from fabric.validate.proofs import Proof, counted
from fabric.validate.suppress import Suppression

_DIGITS: Final = re.compile(r"([0-9]+)")
_RANK: Final = {name: number for number, name in enumerate(CHECKS)}
"""Place of a check in every report."""


@dataclass
class Verdict:
    """The findings of one validation."""

    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, Suppression], ...] = ()
    unread: tuple[Unread, ...] = ()
    """Parts of files that were not understood."""
    unjudged: tuple[Unread, ...] = ()
    """Parts that were understood, and that no check uses."""
    devices: int = 0
    ports: int = 0
    links: int = 0
    fixed: tuple[Finding, ...] = ()
    """Findings of the baseline that are gone, whose rule ran over the same object, where nothing new can hide them."""
    hidden: tuple[Behind, ...] = ()
    """Findings of the baseline that are gone and that a new one may hide."""
    gone: tuple[Gone, ...] = ()
    """Findings of the baseline that nothing judges any more: their switch or their statement is not there."""
    visible: tuple[Behind, ...] = ()
    """New findings that may have been there before, behind one of the baseline that is gone."""
    known: int = 0
    """Findings that the baseline has, too, and that are not listed."""
    paths: str = ""
    """What the paths of packets were taken from."""
    headroom: str = ""
    """What headroom was checked with, and how many ports have less."""
    changes: tuple[str, ...] = field(default=())
    """Statements that differ from the baseline, one line each."""
    proofs: tuple[Proof, ...] = ()
    """Findings that were simulated (fabric.proof)."""
    not_simulated: str = ""
    """Which findings --prove did not simulate, and why; '' where it was not asked, or left none out."""

    @property
    def proofs_text(self) -> str:
        """'3 proven, 1 refuted, 2 not proven; not simulated: 4 notes (...)'; '' where nothing was asked."""
        done = counted(self.proofs) or ("no finding was simulated" if self.not_simulated else "")
        return f"{done}; not simulated: {self.not_simulated}" if self.not_simulated else done

    def proofs_of(self, cause: Cause) -> tuple[Proof, ...]:
        """The proofs of a cause's findings and consequences."""
        keys = {item.key for item in (*cause.findings, *cause.consequences)}
        return tuple(it for it in self.proofs if (it.check, it.device, it.object) in keys)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """The findings grouped by cause, the one that hurts most paths first."""
        return find_causes(self.findings)

    def count_causes(self, severity: Severity) -> int:
        """Causes of one severity."""
        return sum(item.severity is severity for item in self.causes)

    def count(self, severity: Severity) -> int:
        """Findings of one severity."""
        return sum(item.severity is severity for item in self.findings)

    def reaches(self, severity: Severity) -> bool:
        """Whether some finding is at least this bad."""
        return any(item.severity >= severity for item in self.findings)


def validate(
    network: Network,
    *,
    suppressions: Sequence[Suppression] = (),
    only: Collection[str] | None = None,
    before: Network | None = None,
) -> Verdict:
    """Run every check on a network, or those named; a baseline says which of two values that disagree is new."""
    facts = Facts(network, before=before)
    checks = [it for it in CHECKS.values() if only is None or it.id in only]
    with without_collector():
        found = [finding for check in checks for finding in check.run(facts)]
    kept, hidden = _split(with_baseline_values(found, network, before), suppressions)
    return Verdict(
        kept,
        hidden,
        (*network.unread, *(item for it in network.devices.values() for item in it.unread)),
        (*network.unjudged, *(item for it in network.devices.values() for item in it.unjudged)),
        len(network.devices),
        sum(len(it.ports) for it in network.devices.values()),
        len(network.links),
        paths=facts.routes.source_text if facts.wires else "",
        headroom=headroom_text(facts) if only is None or "H1" in only else "",
    )


def with_findings(verdict: Verdict, more: Sequence[Finding], suppressions: Sequence[Suppression]) -> Verdict:
    """A verdict with further findings, of devices that its own findings of the same check do not name."""
    named = {(item.check.id, item.device) for item in verdict.findings}
    kept, hidden = _split([it for it in more if (it.check.id, it.device) not in named], suppressions)
    findings = sorted((*verdict.findings, *kept), key=_order)
    return replace(verdict, findings=tuple(findings), suppressed=(*verdict.suppressed, *hidden))


def _split(
    found: Sequence[Finding], suppressions: Sequence[Suppression]
) -> tuple[tuple[Finding, ...], tuple[tuple[Finding, Suppression], ...]]:
    """Findings in the order of a report: those to list, and those that a suppression hides."""
    kept, hidden = [], []
    for finding in sorted(found, key=_order):
        match = next((rule for rule in suppressions if rule.matches(finding)), None)
        if match is None:
            kept.append(finding)
        else:
            hidden.append((finding, match))
    return tuple(kept), tuple(hidden)


def _order(finding: Finding) -> tuple[int, int, str, tuple[str | int, ...]]:
    return -finding.severity, _RANK[finding.check.id], finding.device, _natural(finding.object)


def _natural(text: str) -> tuple[str | int, ...]:
    """'Ethernet8' before 'Ethernet16': text and numbers take turns, so that like is compared with like."""
    return tuple(int(part[:18]) if number % 2 else part for number, part in enumerate(_DIGITS.split(text)))

"""Run every check over a network, apply suppressions, and put the findings in order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from fabric.configs.model import Unread
from fabric.configs.network import Network
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.checks.registry import CHECKS
from fabric.validate.facts import Facts
from fabric.validate.suppress import Suppression


@dataclass(slots=True)
class Verdict:
    """What came of one validation."""

    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, Suppression], ...] = ()
    unread: tuple[Unread, ...] = ()
    devices: int = 0
    ports: int = 0
    links: int = 0
    fixed: tuple[Finding, ...] = ()
    """Findings of the baseline that are gone."""
    known: int = 0
    """Findings that the baseline has, too, and that are not listed."""
    paths: str = ""
    """What the ways packets take were taken from."""
    changes: tuple[str, ...] = field(default=())
    """What differs in meaning from the baseline, one line each."""

    def count(self, severity: Severity) -> int:
        """Findings of one severity."""
        return sum(item.severity is severity for item in self.findings)

    def reaches(self, severity: Severity) -> bool:
        """Whether some finding is at least this bad."""
        return any(item.severity >= severity for item in self.findings)


def validate(network: Network, *, suppressions: Sequence[Suppression] = (),
             only: Collection[str] | None = None) -> Verdict:
    """Judge a network with every check, or with those named."""
    facts = Facts(network)
    found = [finding for check in CHECKS.values() if only is None or check.id in only for finding in check.run(facts)]
    order = {name: number for number, name in enumerate(CHECKS)}
    found.sort(key=lambda it: (-it.severity, order[it.check.id], it.device, _natural(it.object)))
    kept, hidden = [], []
    for finding in found:
        match = next((rule for rule in suppressions if rule.matches(finding)), None)
        if match is None:
            kept.append(finding)
        else:
            hidden.append((finding, match))
    return Verdict(tuple(kept), tuple(hidden), (
        *network.unread, *(item for it in network.devices.values() for item in it.unread)),
                   len(network.devices), sum(len(it.ports) for it in network.devices.values()), len(network.links),
                   paths=facts.routes.said if facts.wires else "")


def _natural(text: str) -> list[tuple[int, str]]:
    """'Ethernet8' before 'Ethernet16'."""
    parts: list[tuple[int, str]] = []
    digits = ""
    for char in text + " ":
        if char.isdigit() and char.isascii():
            digits += char
            continue
        if digits:
            parts.append((int(digits[:18]), ""))
            digits = ""
        parts.append((-1, char))
    return parts


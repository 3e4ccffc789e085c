"""Probes of the diagnosis: the root that telemetry/diagnosis names first, from the metrics up to the window's end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from playbooks.evidence import RunEvidence
from playbooks.probes.base import Probe, Value, Window
from telemetry.diagnosis.root import Root


def _first(read: Callable[[Root], Value]) -> Callable[[RunEvidence, Window], Value]:
    def probe(evidence: RunEvidence, window: Window) -> Value:
        found = evidence.roots(window.until_ps)
        return read(found[0]) if found else None

    return probe


def _serious(evidence: RunEvidence, window: Window) -> int:
    return sum(it.rank < 2 for it in evidence.roots(window.until_ps))


KIND: Final = Probe("text", "kind of the first root that the diagnosis names by `until`", _first(lambda it: it.kind))
DEVICE: Final = Probe("text", "device of that root", _first(lambda it: it.device))
PORT: Final = Probe("text", "port of that root, such as Ethernet0", _first(lambda it: it.port or None))
CLASS: Final = Probe("count", "traffic class of that root", _first(lambda it: it.priority))
SERIOUS: Final = Probe("count", "roots above the lowest rank that the diagnosis names by `until`", _serious)

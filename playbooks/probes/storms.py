"""Probes of the PFC watchdog: storms that it detected and ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from fabric.explain.evidence import Evidence
from playbooks.probes.base import Probe, Value, Window


def _events(kind: str) -> Callable[[Evidence, Window], Value]:
    def probe(evidence: Evidence, window: Window) -> Value:
        times = evidence.events([kind])["time_ps"]
        return int(np.count_nonzero((times >= window.since_ps) & (times < window.until_ps)))

    return probe


DETECTED: Final = Probe("count", "storms that the PFC watchdog detected", _events("storm_detected"))
RESTORED: Final = Probe("count", "storms that the PFC watchdog ended", _events("storm_restored"))

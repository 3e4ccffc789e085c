"""The alert corpus: precision and recall of the alerts on labelled scenarios.

Each case is a scenario with labels made by hand: alerts that must fire, and alerts that may fire (a consequence that
another seed may not have). All other alerts must be silent. A case is simulated with several seeds, and each (case,
seed, alert) counts once:

    precision   cases that must fire and did, over all that fired (cases that may fire are not counted)
    recall      cases that must fire and did, over all that must fire

A threshold must lie in the gap between the cases: above the highest threshold at which an alert would still have fired
in a case that must be silent, and at or below the lowest of the highest thresholds of the cases that must fire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

from telemetry.alerting.alert import Alert
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.evaluate import Firing, Offline
from telemetry.alerting.incidents import incidents
from telemetry.alerting.rules import MINUTE_S, NOMINAL_DILATION, timing
from telemetry.alerting.score import Score, score
from telemetry.anomaly.scan import scan
from telemetry.record.store import Store

STEPS_PER_OCTAVE: Final = 4
OCTAVES: Final = 6
"""Thresholds from 1/64 to 64 times the one in force are tried."""


@dataclass(frozen=True, slots=True)
class Label:
    """The alerts that a case must fire and may fire; all others must be silent."""

    fires: frozenset[str]
    may: frozenset[str]


@dataclass(frozen=True)
class Simulated:
    """One case with one seed."""

    case: str
    seed: int
    label: Label
    fault_ns: int
    """Beginning of the first fault; 0 where the workload itself is the cause."""
    first_ns: Mapping[str, int]
    """Alert -> when it first fired."""
    highest: Mapping[str, float | None]
    """Alert with a threshold -> highest tried threshold at which it would have fired; None: at none."""
    found: Score
    """Incidents compared with the ground truth."""
    noticed_ns: int | None = None
    """When the detector of pauses (telemetry/anomaly/scan.py) first reported an anomaly."""


def evaluate_case(case: str, seed: int, label: Label, store: Store, truth: Sequence[Mapping[str, Any]]) -> Simulated:
    """Evaluate one run of a case."""
    offline = Offline(store)
    firings = sorted((it for alert in ALERTS for it in offline.firings(alert)), key=lambda it: it.firing_ns)
    first: dict[str, int] = {}
    for it in firings:
        first.setdefault(it.alert.name, it.firing_ns)
    highest = {alert.name: highest_limit(alert, offline.firings) for alert in ALERTS if alert.style}
    grace_ns = round(timing(NOMINAL_DILATION).ms(MINUTE_S) * 1e6 / NOMINAL_DILATION)
    return Simulated(
        case,
        seed,
        label,
        min((it["start_ns"] for it in truth), default=0),
        first,
        highest,
        score(incidents(firings, store), truth, grace_ns=grace_ns),
        min((it.time_ns for it in scan(store) if it.detector == "burst"), default=None),
    )


def highest_limit(alert: Alert, fire: Callable[[Alert], Sequence[Firing]]) -> float | None:
    """The highest threshold at which an alert fires, searched in quarter octaves around the one in force."""
    low, high = -OCTAVES * STEPS_PER_OCTAVE - 1, OCTAVES * STEPS_PER_OCTAVE  # low: fires, or nothing does
    while low < high:
        middle = (low + high + 1) // 2
        if fire(replace(alert, limit=_step(alert, middle))):
            low = middle
        else:
            high = middle - 1
    return None if low < -OCTAVES * STEPS_PER_OCTAVE else _step(alert, low)


def _step(alert: Alert, step: int) -> float:
    return float(alert.limit * 2 ** (step / STEPS_PER_OCTAVE))


@dataclass(frozen=True, slots=True)
class Measured:
    """One alert over the whole corpus."""

    alert: Alert
    true: int
    false: int
    missed: int
    delay_ns: float | None
    """Median time from the fault to firing, simulated time."""
    silent_limit: float | None
    """Highest threshold at which a case that must be silent would have fired; None: none would."""
    firing_limit: float | None
    """Lowest, over the cases that must fire, of the highest threshold at which the alert fires."""

    @property
    def precision(self) -> float | None:
        """None where the alert never fired."""
        return self.true / (self.true + self.false) if self.true + self.false else None

    @property
    def recall(self) -> float | None:
        """None where no case must fire the alert."""
        return self.true / (self.true + self.missed) if self.true + self.missed else None

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "alert": self.alert.name,
            "precision": self.precision,
            "recall": self.recall,
            "true": self.true,
            "false": self.false,
            "missed": self.missed,
            "delay_ns": self.delay_ns,
            "threshold": self.alert.limit,
            "highest_threshold_of_silent_cases": self.silent_limit,
            "lowest_threshold_of_firing_cases": self.firing_limit,
        }


def measure(alert: Alert, simulated: Sequence[Simulated]) -> Measured:
    """One alert over all cases and seeds."""
    name = alert.name
    must = [it for it in simulated if name in it.label.fires]
    silent = [it for it in simulated if name not in it.label.fires | it.label.may]
    hits = [it for it in must if name in it.first_ns]
    delays = [it.first_ns[name] - it.fault_ns for it in hits]
    return Measured(
        alert,
        len(hits),
        sum(name in it.first_ns for it in silent),
        len(must) - len(hits),
        median(delays) if delays else None,
        max((limit for it in silent if (limit := it.highest.get(name)) is not None), default=None),
        min((it.highest[name] or 0.0 for it in must), default=None) if alert.style else None,
    )


@dataclass(frozen=True, slots=True)
class Total:
    """Incidents over the whole corpus."""

    incidents: int
    true: int
    """Incidents that name the root of a real fault."""
    faults: int
    found: int
    delay_ns: float | None

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "incidents": self.incidents,
            "true": self.true,
            "faults": self.faults,
            "found": self.found,
            "delay_ns": self.delay_ns,
        }


def total(simulated: Sequence[Simulated]) -> Total:
    """Incidents compared with the ground truth, over the cases with a fault; the other cases have none."""
    scores = [it.found for it in simulated if it.found.faults]
    delays = [fault.delay_ns for it in scores for fault in it.faults if fault.delay_ns is not None]
    return Total(
        sum(it.incidents for it in scores),
        sum(it.true_incidents for it in scores),
        sum(len(it.faults) for it in scores),
        len(delays),
        median(delays) if delays else None,
    )


@dataclass(frozen=True, slots=True)
class Noticed:
    """The detector of pauses, to compare with the alert about pauses, which has a `for` of two minutes."""

    true: int
    missed: int
    false: int
    silent: int
    delay_ns: float | None

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "true": self.true,
            "missed": self.missed,
            "false": self.false,
            "silent": self.silent,
            "delay_ns": self.delay_ns,
        }


def noticed(simulated: Sequence[Simulated]) -> Noticed:
    """Score the detector: it must report the runs whose label has FabricPfcPauseRatioHigh."""
    name = "FabricPfcPauseRatioHigh"
    must = [it for it in simulated if name in it.label.fires]
    silent = [it for it in simulated if name not in it.label.fires | it.label.may]
    delays = [it.noticed_ns - it.fault_ns for it in must if it.noticed_ns is not None]
    false = sum(it.noticed_ns is not None for it in silent)
    return Noticed(len(delays), len(must) - len(delays), false, len(silent) - false, median(delays) if delays else None)

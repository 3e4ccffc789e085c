"""Offline evaluation: the rules over a run's Store, with the alert states of Prometheus.

    inactive -> pending    the expression has a row with these labels
    pending  -> firing     the row was present at every evaluation for `for`; at once where `for` is 0
    firing   -> resolved   the row was absent at every evaluation for `keep_firing_for`
                           (telemetry/alerting/outlive.py); at once where that is 0
    pending  -> inactive   an evaluation without the row

A sample at simulated time t is seen by Prometheus at t times the dilation, and evaluations fall every
SCRAPE_S * dilation / NOMINAL_DILATION seconds, in one group: a rule sees the results of the rules before it.

Source: prometheus/rules/alerting.go (Eval), recording.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.units import PS_PER_MS, PS_PER_NS
from telemetry.alerting.alert import CABLE, Alert, cable, filled
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.latch import latched
from telemetry.alerting.outlive import kept_s
from telemetry.alerting.promql.model import Expr, Latched, Timing
from telemetry.alerting.promql.series import Series, Times, labels, stale
from telemetry.alerting.promql.vectors import Row, Vector, evaluate
from telemetry.alerting.rules import NOMINAL_DILATION, RECORDINGS, SCRAPE_S, Recording, timing
from telemetry.record.store import Store

NS_PER_MS: Final = PS_PER_MS // PS_PER_NS
TARGET: Final = {"job": "fabric", "instance": "run"}
"""Labels that a scrape would add; the rules join by `instance`."""


@dataclass(frozen=True, slots=True)
class Firing:
    """One alert from its first pending evaluation to its resolution, in simulated time."""

    alert: Alert
    labels: Mapping[str, str]
    """Of the expression's row; severity and root_device are added by `all_labels`."""
    pending_ns: int
    firing_ns: int
    cleared_ns: int | None
    """When its expression became false for the last time; None: it was true at the end of the run."""
    resolved_ns: int | None
    """End of firing, with the time of `keep_firing_for`; None: the alert still fired at the end of the run."""
    value: float
    """Value at the beginning of firing."""

    @property
    def root_device(self) -> str:
        """The device to look at; '' where the alert cannot tell."""
        return self.labels.get(self.alert.root, "")

    @property
    def description(self) -> str:
        """The annotation, filled in."""
        return filled(self.alert.description, self.labels, self.value)

    @property
    def all_labels(self) -> dict[str, str]:
        """Labels as sent to Alertmanager."""
        found = {"alertname": self.alert.name, "severity": self.alert.severity.value, **self.labels}
        if self.alert.one_cable:
            found[CABLE] = cable(self.labels)
        return {**found, "root_device": self.root_device} if self.root_device else found


@dataclass(frozen=True, slots=True)
class Pending:
    """An alert whose expression was true when the run ended, for less than its `for`."""

    alert: Alert
    labels: Mapping[str, str]
    pending_ns: int
    """Since when, simulated time."""
    value: float
    """Value at the end of the run."""

    @property
    def description(self) -> str:
        """The annotation, filled in."""
        return filled(self.alert.description, self.labels, self.value)


class StoreDatabase:
    """A Store in dilated time, with the results of recording rules.

    Parameters
    ----------
    store : Store         simulated time
    dilation : float      wall seconds per simulated second
    target : mapping      labels of the scrape target; the rules join by `instance`
    """

    def __init__(self, store: Store, dilation: float, target: Mapping[str, str]) -> None:
        self._store = store
        self._dilation = dilation
        self._target = dict(target)
        self._scrapes_ms = self.wall_ms(store.times_ns)
        self._kept: dict[str, list[Series]] = {}

    def wall_ms(self, time_ns: NDArray[np.int64]) -> Times:
        """Prometheus time of a simulated time, in ms (Prometheus' resolution)."""
        found: Times = np.rint(time_ns * (self._dilation / NS_PER_MS)).astype(np.int64)
        return found

    def series(self, metric: str) -> Sequence[Series]:
        """Raw or recorded series."""
        if metric not in self._kept:
            self._kept[metric] = [
                Series(labels({**dict(names), **self._target}), *self._marked(*found))
                for names, found in self._store.iter_series(metric)
            ]
        return self._kept[metric]

    def _marked(self, times_ns: NDArray[np.int64], values: NDArray[np.float64]) -> tuple[Times, NDArray[np.float64]]:
        """A scrape that lacks a series it had before marks it stale (prometheus/scrape)."""
        times = self.wall_ms(times_ns)
        after = self._scrapes_ms[np.searchsorted(self._scrapes_ms, times[0]) :] if len(times) else times
        if len(after) == len(times):
            return times, values
        whole = stale(len(after))
        whole[np.searchsorted(after, times)] = values
        return after, whole

    def record(self, rule: Recording, rows: Vector, grid_ms: Times) -> None:
        """Keep a rule's result: absent rows become stale, as the rule manager marks them."""
        kept = []
        for row in rows:
            values = stale(len(grid_ms))
            values[row.present] = row.values[row.present]
            kept.append(Series(row.labels, grid_ms, values))
        self._kept[rule.name] = kept


@dataclass(frozen=True)
class Evaluation:
    """Results of the rules over a run."""

    grid_ns: NDArray[np.int64]
    """Moments of evaluation, simulated time."""
    recorded: Mapping[str, Vector]
    """By name of recording rule; values on the grid."""
    firings: Sequence[Firing]
    """In order of firing."""
    pending: Sequence[Pending]
    """What waited for its `for` at the end of the run, the most severe first."""


class Offline:
    """The recording rules over a run, evaluated once; alerts are evaluated on demand.

    Parameters
    ----------
    store : Store         the run's metrics
    dilation : float      sets the evaluation interval and the windows in simulated time
    target : mapping      labels that a scrape would add
    """

    def __init__(self, store: Store, dilation: float = NOMINAL_DILATION, target: Mapping[str, str] = TARGET) -> None:
        self._timing = timing(dilation)
        self._database = StoreDatabase(store, dilation, target)
        times = store.times_ns
        end_ms = int(self._database.wall_ms(times[-1:])[0]) if len(times) else 0
        self._grid = np.arange(0, end_ms + 1, self._timing.ms(SCRAPE_S), dtype=np.int64)
        self.grid_ns: NDArray[np.int64] = np.rint(self._grid * (NS_PER_MS / dilation)).astype(np.int64)
        """Moments of evaluation, simulated time."""
        self.recorded: dict[str, Vector] = {}
        """By name of recording rule; values on the grid."""
        for rule in RECORDINGS:
            rows = self.recorded[rule.name] = self._rows(rule)
            self._database.record(rule, rows, self._grid)

    def _rows(self, rule: Recording) -> Vector:
        def evaluated(expr: Expr) -> Vector:
            return evaluate(expr, self._database, self._grid, self._timing)

        if isinstance(rule.expr, Latched):
            return latched(rule.expr, evaluated, lambda rows: self._database.record(rule, rows, self._grid))
        return evaluated(rule.expr)

    def firings(self, alert: Alert) -> list[Firing]:
        """Every period in which an alert fired."""
        return self.states(alert)[0]

    def states(self, alert: Alert) -> tuple[list[Firing], list[Pending]]:
        """Every period in which an alert fired; and what was pending at the end."""
        rows = evaluate(alert.expr, self._database, self._grid, self._timing)
        hold_ms = self._timing.ms(alert.hold_s)
        firings: list[Firing] = []
        pending: list[Pending] = []
        for row in rows:
            fired = list(_firings(alert, row, self._grid, self.grid_ns, self._timing))
            firings += fired
            if not fired or fired[-1].resolved_ns is not None:  # one that still fires waits for nothing
                waits = _pending(alert, row, self._grid, self.grid_ns, hold_ms)
                pending += [] if waits is None else [waits]
        return firings, pending


def evaluate_store(store: Store, *, dilation: float = NOMINAL_DILATION, alerts: Sequence[Alert] = ALERTS) -> Evaluation:
    """All recording rules and alerts over a run; parameters as for Offline."""
    offline = Offline(store, dilation)
    found = [offline.states(alert) for alert in alerts]
    firings = [it for fired, _ in found for it in fired]
    return Evaluation(
        offline.grid_ns,
        offline.recorded,
        sorted(firings, key=lambda it: (it.firing_ns, it.alert.name, it.description)),
        [it for _, waiting in found for it in waiting],
    )


def _pending(alert: Alert, row: Row, grid: Times, grid_ns: NDArray[np.int64], hold_ms: int) -> Pending | None:
    """The row's alert, if the run ended before it could fire."""
    if not len(grid) or not row.present[-1]:
        return None
    absent = np.flatnonzero(~row.present)
    first = int(absent[-1]) + 1 if absent.size else 0
    if grid[-1] - grid[first] >= hold_ms:
        return None
    return Pending(alert, dict(row.labels), int(grid_ns[first]), float(row.values[-1]))


def _firings(alert: Alert, row: Row, grid: Times, grid_ns: NDArray[np.int64], scaled: Timing) -> Iterator[Firing]:
    """The state machine over consecutive evaluations with the row."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], row.present, [False]]).astype(np.int8)))
    hold_ms, kept_ms = scaled.ms(alert.hold_s), scaled.ms(kept_s(alert.name))

    def moment(at: int) -> int | None:
        return int(grid_ns[at]) if at < len(grid) else None

    open_: Firing | None = None  # fires, and may go on
    resolves = 0  # evaluation at which it resolves unless the row comes back before
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if open_ is not None and first > resolves:
            yield open_
            open_ = None
        fires = first + int(np.searchsorted(grid[first:end] - grid[first], hold_ms))
        if open_ is None:
            if fires >= end:
                continue
            open_ = Firing(
                alert, dict(row.labels), int(grid_ns[first]), int(grid_ns[fires]), None, None, float(row.values[fires])
            )
        resolves = end if end >= len(grid) else int(np.searchsorted(grid, grid[end] + kept_ms))
        open_ = replace(open_, cleared_ns=moment(end), resolved_ns=moment(resolves))
    if open_ is not None:
        yield open_

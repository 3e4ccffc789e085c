"""Scrapes of a live run. Nothing here runs while the engine runs.

FabricCollector answers every scrape through telemetry/catalogue/columns.py. SnapshotRelay carries Snapshots from the
simulation thread to the threads that answer scrapes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fabric.dataplane.engine.counters import Snapshot
from fabric.errors import FabricError
from fabric.units import PS_PER_S
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.metrics import BY_NAME, CATALOGUE
from telemetry.export.compat.model import Layer

SCRAPE_TIMEOUT_S: Final = 4.0
"""A scrape may wait for the previous one, so twice this time is less than Prometheus' default scrape_timeout of 10 s:
Prometheus gets the error text before it gives up."""


class ScrapeError(FabricError):
    """A scrape that cannot be answered now."""


class FabricCollector(Collector):
    """Collector of a prometheus_client registry, called on every scrape.

    Parameters
    ----------
    source : callable      returns the Snapshot to show; may block, may raise FabricError
    info : RunInfo         facts that are not in a Snapshot
    clock : callable       wall clock in seconds, for the two metrics about the exporter itself
    layer : Layer          another exporter's names (telemetry/export/compat); None: native names
    """

    def __init__(
        self,
        source: Callable[[], Snapshot],
        info: RunInfo,
        clock: Callable[[], float] = time.monotonic,
        layer: Layer | None = None,
    ) -> None:
        self._source = source
        self._metrics = SnapshotMetrics(info)
        self._clock = clock
        self._layer = layer
        self._lock = threading.Lock()
        self._last: tuple[float, int] | None = None

    def describe(self) -> list[Metric]:
        """Names for the registry's check against duplicates; no snapshot is taken for it."""
        if self._layer is not None:
            return list(self._layer.described())
        return [Metric(spec.family, spec.help, spec.kind.value, spec.unit) for spec in CATALOGUE]

    def collect(self) -> list[Metric]:
        """All families at the present state of the run. Scrapes are answered one after the other."""
        with self._lock:
            snapshot = self._source()
            start_s = self._clock()
            native = self._metrics.families(snapshot)
            families = list(native if self._layer is None else self._layer.families(native))
            if self._last is not None and start_s > self._last[0]:
                sim_s = (snapshot.time_ps - self._last[1]) / PS_PER_S
                families.append(single("fabric_sim_realtime_ratio", sim_s / (start_s - self._last[0])))
            self._last = (start_s, snapshot.time_ps)
            families.append(single("fabric_scrape_duration_seconds", self._clock() - start_s))
        return families


def single(name: str, value: float) -> Metric:
    """A metric of the catalogue that has one series without labels."""
    spec = BY_NAME[name]
    family = Metric(spec.family, spec.help, spec.kind.value, spec.unit)
    family.add_sample(name, {}, float(value))
    return family


class SnapshotRelay:
    """Scrapes request a Snapshot; the simulation thread provides it between two steps.

    The simulation thread calls offer() between two calls of Emulator.advance; without a waiting scrape this costs one
    test. After close() every scrape gets the last snapshot.
    """

    def __init__(self, timeout_s: float = SCRAPE_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._changed = threading.Condition()
        self._waiting = 0
        self._count = 0
        self._snapshot: Snapshot | None = None
        self._closed = False

    def offer(self, take: Callable[[], Snapshot]) -> bool:
        """Give the result of take() to the waiting scrapes; True if there were any."""
        if not self._waiting:
            return False
        self._put(take(), closed=False)
        return True

    def close(self, last: Snapshot) -> None:
        """The run has ended; `last` answers every scrape from now on."""
        self._put(last, closed=True)

    def _put(self, snapshot: Snapshot, *, closed: bool) -> None:
        with self._changed:
            self._snapshot, self._closed = snapshot, closed
            self._count += 1
            self._changed.notify_all()

    def __call__(self) -> Snapshot:
        """A snapshot taken after this call. Raises ScrapeError if none comes in time."""
        with self._changed:
            asked = self._count
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._closed or self._count > asked, self._timeout_s)
            finally:
                self._waiting -= 1
            if self._snapshot is None or not (self._closed or self._count > asked):
                raise ScrapeError(
                    f"the run gave no snapshot within {self._timeout_s:g} s",
                    "scrape less often, or give the scrape a longer timeout",
                )
            return self._snapshot

"""Readings of a live run for its gNMI server: the metrics of a scrape, without a scrape's effect on watermarks."""

from __future__ import annotations

import time
from collections.abc import Callable

from fabric.dataplane.engine.counters import Snapshot
from telemetry.gnmi.reading import Reader, Reading
from telemetry.live.collector import LiveCollector
from telemetry.live.simulation import Simulation


class GnmiReader:
    """Makes readings; one call at a time.

    Parameters
    ----------
    collector : LiveCollector     an observer of the simulation, of the metrics of telemetry/gnmi/reading.py alone
    clock_ns : callable           wall clock in ns since 1970
    """

    def __init__(self, collector: LiveCollector, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._collector, self._clock_ns = collector, clock_ns
        self._reader = Reader()
        self._time_ns = 0

    def watch(self, simulation: Simulation, peek: Callable[[], Snapshot], last: Callable[[], Snapshot]) -> None:
        """Set the simulation, and the functions that take a Snapshot for a reading and at the end of a pass."""

        def read() -> Snapshot:
            self._time_ns = self._clock_ns()  # in the simulation thread: the time of the counters
            return peek()

        self._collector.watch(simulation, read, last)

    def __call__(self) -> Reading:
        """A reading of the present state. Raises: FabricError."""
        families = self._collector.collect()
        return self._reader.reading(families, self._time_ns)

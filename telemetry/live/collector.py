"""Scrapes of a live run: the run's metrics, accumulated over its passes, and metrics of its pace."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fabric.dataplane.engine.counters import Snapshot
from fabric.errors import FabricError
from fabric.units import PS_PER_S
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.metrics import CATALOGUE
from telemetry.export.collect import single
from telemetry.export.compat.model import Layer
from telemetry.live.simulation import STARTING, Observer, Phase, Simulation, Standing
from telemetry.live.totals import Totals


class LiveCollector(Collector, Observer):
    """Answers scrapes, and observes the simulation to accumulate its passes.

    The simulation thread only hands over the last Snapshot of each pass; the scraping thread makes the families.

    Parameters
    ----------
    info : RunInfo         facts that are not in a Snapshot
    layer : Layer          another exporter's names (telemetry/export/compat); None: native names
    only : iterable        names of the shown metrics; None: all
    clock : callable       wall clock in seconds
    """

    def __init__(
        self,
        info: RunInfo,
        layer: Layer | None = None,
        only: Iterable[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._info, self._only = info, only
        self._layer = layer
        self._clock = clock
        self._simulation: Simulation | None = None
        self._read: Callable[[], Snapshot] | None = None
        self._read_last: Callable[[], Snapshot] | None = None
        self._one_scrape = threading.Lock()
        self._own = threading.Lock()
        # Tables of a new pass may be shorter than those of the last, so each has its own rows.
        self._pass = Totals(), SnapshotMetrics(info, only)
        self._ended: Snapshot | None = None
        self._last: tuple[float, int] | None = None

    def watch(self, simulation: Simulation, read: Callable[[], Snapshot], last: Callable[[], Snapshot]) -> None:
        """Set the simulation, and the functions that take a Snapshot for a scrape and at the end of a pass.

        This is not an argument of __init__ because the simulation is made after its observers.
        """
        self._simulation, self._read, self._read_last = simulation, read, last

    # ===== observer =====

    def begin(self, number: int) -> None:  # noqa: ARG002  the passes before are all added alike
        """Add the previous pass to the totals."""
        if self._ended is None:
            return
        with self._own:
            totals, metrics = self._pass
            self._pass = totals.plus(metrics.families(self._ended)), SnapshotMetrics(self._info, self._only)

    def end(self, reason: str, now: Snapshot) -> None:  # noqa: ARG002  why it ended does not count
        """Keep the last Snapshot; the next pass adds it to the totals."""
        self._ended = now if self._read_last is None else self._read_last()

    # ===== scrapes =====

    def describe(self) -> list[Metric]:
        """Names for the registry's check against duplicates; no snapshot is taken for it."""
        if self._layer is not None:
            return list(self._layer.described())
        return [Metric(spec.family, spec.help, spec.kind.value, spec.unit) for spec in CATALOGUE]

    def collect(self) -> list[Metric]:
        """All families at the present state of the run. Scrapes are answered one after the other.

        Raises: BusyError; FabricError until the engine has answered for the first time.
        """
        if self._simulation is None or self._read is None:
            return []
        simulation, read = self._simulation, self._read
        if not simulation.started:  # immediately: a scrape that waits for the compiler would time out
            raise FabricError(STARTING, "ask again when /-/ready says so")
        with self._one_scrape:
            # All values of one time: passes may begin before this thread continues.
            standing, snapshot, (totals, metrics) = simulation.mailbox.ask(
                lambda: (simulation.standing(), read(), self._pass)
            )
            start_s = self._clock()
            with self._own:
                native = totals.added_to(metrics.families(snapshot))
                families = list(native if self._layer is None else self._layer.families(native))
            families += self._pace(standing, start_s)
            families.append(single("fabric_scrape_duration_seconds", self._clock() - start_s))
        return families

    def _pace(self, at: Standing, now_s: float) -> Iterable[Metric]:
        if self._last is not None and now_s > self._last[0]:
            simulated_s = (at.elapsed_ps - self._last[1]) / PS_PER_S
            yield single("fabric_sim_realtime_ratio", simulated_s / (now_s - self._last[0]))
        self._last = now_s, at.elapsed_ps
        yield single("fabric_sim_dilation_ratio", at.dilation)
        yield single("fabric_sim_slipped_seconds_total", at.slipped_s)
        yield single("fabric_sim_passes_total", at.passes)
        yield single("fabric_sim_paused", at.phase is Phase.PAUSED)
        yield single("fabric_sim_ended", at.phase in {Phase.FINISHED, Phase.STOPPED})

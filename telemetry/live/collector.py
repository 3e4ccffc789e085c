"""What a scrape of a live run is told: the run's own metrics, added up over its passes, and how it is paced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fabric.engine.counters import Snapshot
from fabric.errors import FabricError
from fabric.units import PS_PER_S
from telemetry.collect import single
from telemetry.columns import SnapshotMetrics
from telemetry.compat.model import Layer
from telemetry.derive import RunInfo
from telemetry.live.player import STARTING, Observer, Phase, Player, Standing
from telemetry.live.totals import Totals
from telemetry.metrics import CATALOGUE


class LiveCollector(Collector, Observer):
    """Answers scrapes, and observes the player to add up its passes.

    The player's thread only hands over the last Snapshot of each pass; families are made by whoever scrapes.

    Parameters
    ----------
    info : RunInfo         what the Snapshot does not know
    layer : Layer          another exporter's names (telemetry/compat); None: ours
    only : iterable        names of the metrics that are shown; None: all
    clock : callable       wall clock in seconds
    """

    def __init__(self, info: RunInfo, layer: Layer | None = None, only: Iterable[str] | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._info, self._only = info, only
        self._layer = layer
        self._clock = clock
        self._player: Player | None = None
        self._look: Callable[[], Snapshot] | None = None
        self._last_look: Callable[[], Snapshot] | None = None
        self._one_scrape = threading.Lock()
        self._own = threading.Lock()
        # Tables of a new pass may be shorter than those of the last, so each has its own rows.
        self._pass = Totals(), SnapshotMetrics(info, only)
        self._ended: Snapshot | None = None
        self._last: tuple[float, int] | None = None

    def watch(self, player: Player, look: Callable[[], Snapshot], last: Callable[[], Snapshot]) -> None:
        """Whom to ask, and what the playing thread does to look: for a scrape, and at the end of a pass for what has
        been counted in it. The player is made after its observers.
        """
        self._player, self._look, self._last_look = player, look, last

    # ===== observer =====

    def begin(self, number: int) -> None:  # noqa: ARG002  the passes before are all added alike
        """Fold the pass before into the totals."""
        if self._ended is None:
            return
        with self._own:
            totals, metrics = self._pass
            self._pass = totals.plus(metrics.families(self._ended)), SnapshotMetrics(self._info, self._only)

    def end(self, reason: str, now: Snapshot) -> None:  # noqa: ARG002  why it ended does not count
        """Keep the last look; the next pass adds it."""
        self._ended = now if self._last_look is None else self._last_look()

    # ===== scrapes =====

    def describe(self) -> list[Metric]:
        """Names for the registry's check against duplicates; no snapshot is taken for it."""
        if self._layer is not None:
            return list(self._layer.described())
        return [Metric(spec.family, spec.help, spec.kind.value, spec.unit) for spec in CATALOGUE]

    def collect(self) -> list[Metric]:
        """All families as the run stands now. Scrapes are answered one after the other.

        Raises: BusyError; FabricError until the engine has answered for the first time.
        """
        if self._player is None or self._look is None:
            return []
        player, look = self._player, self._look
        if not player.started:      # at once: a scrape that waits for the compiler would only time out
            raise FabricError(STARTING, "ask again when /-/ready says so")
        with self._one_scrape:
            # All of one moment: any number of passes may begin before this thread goes on.
            standing, snapshot, (totals, metrics) = player.mailbox.ask(lambda: (player.standing(), look(), self._pass))
            start_s = self._clock()
            with self._own:
                native = totals.added_to(metrics.families(snapshot))
                families = list(native if self._layer is None else self._layer.families(native))
            families += self._pace(standing, start_s)
            families.append(single("fabric_scrape_duration_seconds", self._clock() - start_s))
        return families

    def _pace(self, at: Standing, now_s: float) -> Iterable[Metric]:
        if self._last is not None and now_s > self._last[0]:
            played_s = (at.elapsed_ps - self._last[1]) / PS_PER_S
            yield single("fabric_sim_realtime_ratio", played_s / (now_s - self._last[0]))
        self._last = now_s, at.elapsed_ps
        yield single("fabric_sim_dilation_ratio", at.dilation)
        yield single("fabric_sim_slipped_seconds_total", at.slipped_s)
        yield single("fabric_sim_passes_total", at.passes)
        yield single("fabric_sim_paused", at.phase is Phase.PAUSED)

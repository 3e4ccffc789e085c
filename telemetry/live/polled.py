"""Snapshots of a live run for scrapes with `--as-seen-by`: the values that a real exporter has polled by now."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.model import Fabric
from telemetry.live.simulation import Observer
from telemetry.live.world import LiveWorld
from telemetry.record.polling.poller import Poller
from telemetry.record.polling.profiles import Profile

_POLLED: Final = ("ports", "queues", "pgs", "prios", "pools", "hosts")


class Seen(Observer):
    """The engine's counters as polled by an exporter, whose periods are wall clock time at the run's dilation.

    A poll reads the first of the scenario's samples at or after its time.
    """

    def __init__(self, world: LiveWorld, profile: Profile, fabric: Fabric, dilation: float, seed: int) -> None:
        self._world, self._profile, self._fabric, self._dilation, self._seed = world, profile, fabric, dilation, seed
        self.only = profile.metrics
        self._poller: Poller | None = None
        self._seen: Snapshot | None = None

    def begin(self, number: int) -> None:
        """A new pass: reset counters and exporter; every pass has other phases."""
        self._poller = Poller(self._profile, self._fabric, self._dilation, self._seed + number - 1)

    def sample(self, now: Snapshot) -> None:
        """Poll the groups that are due."""
        if self._poller is not None:
            self._seen = self._poller.take(now)

    def last(self) -> Snapshot:
        """Final counters of a pass, polled or not: the device continues to count from there."""
        return self._world.engine.snapshot()

    def read(self) -> Snapshot:
        """Called by the simulation thread."""
        if self._seen is None:
            return self._world.engine.snapshot()
        # The poller keeps writing into its arrays, so a scrape gets copies.
        tables = {name: getattr(self._seen, name).copy() for name in _POLLED}
        return replace(self._seen, time_ps=self._world.engine.now_ps, **tables)

    def peek(self) -> Snapshot:
        """As `read`, which has no effect here."""
        return self.read()

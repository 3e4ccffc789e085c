"""What a scrape of a live run is shown where monitoring is a real exporter's: what it would have polled by now."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fabric.cli.live_world import LiveWorld
from fabric.engine.counters import Snapshot
from fabric.topology.model import Fabric
from telemetry.live.player import Observer
from telemetry.seen_by.eye import Eye
from telemetry.seen_by.profiles import Profile

_POLLED: Final = ("ports", "queues", "pgs", "prios", "pools", "hosts")


class Seen(Observer):
    """The engine through the polls of an exporter, whose periods are wall clock time at the run's dilation.

    A poll takes the first of the scenario's samples at or after its moment.
    """

    def __init__(self, world: LiveWorld, profile: Profile, fabric: Fabric, dilation: float, seed: int) -> None:
        self._world, self._profile, self._fabric, self._dilation, self._seed = world, profile, fabric, dilation, seed
        self.only = profile.metrics
        self._eye: Eye | None = None
        self._seen: Snapshot | None = None

    def begin(self, number: int) -> None:
        """Counters begin anew, and so does the exporter; every pass has other phases."""
        self._eye = Eye(self._profile, self._fabric, self._dilation, self._seed + number - 1)

    def sample(self, now: Snapshot) -> None:
        """Poll what is due."""
        if self._eye is not None:
            self._seen = self._eye.take(now)

    def last(self) -> Snapshot:
        """What a pass leaves in the counters, polled or not: the device goes on counting from there."""
        return self._world.engine.snapshot()

    def look(self) -> Snapshot:
        """Called by the playing thread."""
        if self._seen is None:
            return self._world.engine.snapshot()
        # The eye goes on writing into its arrays; whoever scrapes gets copies.
        tables = {name: getattr(self._seen, name).copy() for name in _POLLED}
        return replace(self._seen, time_ps=self._world.engine.now_ps, **tables)

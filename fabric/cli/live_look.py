"""What a scrape of a live run is shown: the engine as it is, and who waits for whom in it."""

from __future__ import annotations

from fabric.cli.live_facts import observed
from fabric.cli.live_world import LiveWorld
from fabric.engine.counters import Snapshot
from telemetry.live.player import Observer


class Truth(Observer):
    """Every counter as it is at the moment of the scrape."""

    only = None

    def __init__(self, world: LiveWorld) -> None:
        self._world = world

    def look(self) -> Snapshot:
        """Called by the playing thread."""
        return observed(self._world.engine)

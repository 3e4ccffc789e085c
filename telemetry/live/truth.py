"""Snapshots of a live run for scrapes: the engine's counters, queues that wait for each other, and the control
plane.
"""

from __future__ import annotations

from fabric.dataplane.engine.counters import Snapshot
from telemetry.catalogue.observation import Observation
from telemetry.live.control import LiveControl
from telemetry.live.simulation import Observer
from telemetry.live.watermarks import Watermarks
from telemetry.live.world import LiveWorld
from telemetry.sources.engine_facts import observed


class Truth(Observer):
    """Every counter at the time of the scrape, and watermarks since the previous scrape.

    Parameters
    ----------
    world : LiveWorld         has the engine
    control : LiveControl     the control plane of a scenario with `routing: bgp`, as an observer before this one
    """

    only = None

    def __init__(self, world: LiveWorld, control: LiveControl) -> None:
        self._world, self._control = world, control
        self._watermarks = Watermarks()

    def sample(self, now: Snapshot) -> None:
        """Keep the engine's watermarks, which are reset now."""
        self._watermarks.sample(now)

    def last(self) -> Snapshot:
        """Final counters of a pass; its watermarks are kept for the next scrape."""
        now = self._now()
        self._watermarks.sample(now)
        return now

    def read(self) -> Snapshot:
        """Called by the simulation thread."""
        return self._watermarks.read(self._now())

    def peek(self) -> Snapshot:
        """As `read`, for readers without watermarks: the period of the next scrape goes on."""
        return self._now()

    def _now(self) -> Observation:
        engine = self._world.engine
        return observed(engine, self._control.at(engine.now_ps))

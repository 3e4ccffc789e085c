"""Snapshots of a live run for scrapes: the engine's counters, queues that wait for each other, and the control
plane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabric.controlplane.network.run import ControlRun
from fabric.dataplane.engine.counters import Snapshot
from telemetry.catalogue.observation import Observation
from telemetry.live.simulation import Observer
from telemetry.live.watermarks import Watermarks
from telemetry.live.world import LiveWorld
from telemetry.sources.engine_facts import observed

if TYPE_CHECKING:  # only where there is a control plane
    from telemetry.sources.control_history import ControlHistory


class Truth(Observer):
    """Every counter at the time of the scrape, and watermarks since the previous scrape.

    Parameters
    ----------
    world : LiveWorld     has the control plane of a scenario with `routing: bgp`
    """

    only = None

    def __init__(self, world: LiveWorld) -> None:
        self._world = world
        self._control: ControlRun | None = None
        self._history: ControlHistory | None = None
        self._watermarks = Watermarks()

    def begin(self, number: int) -> None:  # noqa: ARG002  every pass begins alike
        """A new pass: reset the control plane, too."""
        self._control = None

    def sample(self, now: Snapshot) -> None:
        """Keep the engine's watermarks, which are reset now."""
        self._watermarks.sample(now)

    def last(self) -> Snapshot:
        """Final counters of a pass; its watermarks are kept for the next scrape."""
        now = self._now()
        self._watermarks.sample(now)
        return now

    def look(self) -> Snapshot:
        """Called by the simulation thread."""
        return self._watermarks.look(self._now())

    def peek(self) -> Snapshot:
        """As `look`, for readers without watermarks: the period of the next scrape goes on."""
        return self._now()

    def _now(self) -> Observation:
        engine, control = self._world.engine, self._world.control
        if control is not None and control is not self._control:  # a new pass, or a fault that routers detect
            from telemetry.sources.control_history import ControlHistory  # noqa: PLC0415

            self._control, self._history = control, ControlHistory(control)
        return observed(engine, None if self._history is None else self._history.at(engine.now_ps))

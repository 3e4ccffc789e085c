"""What a scrape of a live run is shown: the engine as it is, who waits for whom in it, and its control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabric.cli.live_facts import observed
from fabric.cli.live_world import LiveWorld
from fabric.control.run import ControlRun
from fabric.engine.counters import Snapshot
from telemetry.live.player import Observer
from telemetry.live.watermarks import Watermarks
from telemetry.observation import Observation

if TYPE_CHECKING:  # only where there is a control plane
    from fabric.cli.control_history import ControlHistory


class Truth(Observer):
    """Every counter as it is at the moment of the scrape, and watermarks since the scrape before.

    Parameters
    ----------
    world : LiveWorld     also knows the control plane of a scenario with `routing: bgp`
    """

    only = None

    def __init__(self, world: LiveWorld) -> None:
        self._world = world
        self._control: ControlRun | None = None
        self._history: ControlHistory | None = None
        self._watermarks = Watermarks()

    def begin(self, number: int) -> None:  # noqa: ARG002  every pass begins alike
        """The control plane begins anew, too."""
        self._control = None

    def sample(self, now: Snapshot) -> None:
        """The engine's watermarks begin anew now."""
        self._watermarks.sample(now)

    def last(self) -> Snapshot:
        """What a pass leaves in the counters; the next scrape is still to see its watermarks."""
        now = self._now()
        self._watermarks.sample(now)
        return now

    def look(self) -> Snapshot:
        """Called by the playing thread."""
        return self._watermarks.look(self._now())

    def _now(self) -> Observation:
        engine, control = self._world.engine, self._world.control
        if control is not None and control is not self._control:    # a new pass, or a fault that routers notice
            from fabric.cli.control_history import ControlHistory  # noqa: PLC0415

            self._control, self._history = control, ControlHistory(control)
        return observed(engine, None if self._history is None else self._history.at(engine.now_ps))

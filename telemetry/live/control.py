"""Facts of a live run's control plane at a time, for scrapes and samples alike."""

from __future__ import annotations

from fabric.controlplane.network.run import ControlRun
from telemetry.catalogue.control import ControlFacts
from telemetry.live.simulation import Observer
from telemetry.live.world import LiveWorld
from telemetry.sources.control_history import ControlHistory


class LiveControl(Observer):
    """One history of routing tables for every reader of a live run. Belongs to the simulation thread.

    Parameters
    ----------
    world : LiveWorld     has the control plane of a scenario with `routing: bgp`
    """

    def __init__(self, world: LiveWorld) -> None:
        self._world = world
        self._control: ControlRun | None = None
        self._history: ControlHistory | None = None

    def begin(self, number: int) -> None:  # noqa: ARG002  every pass begins alike
        """A new pass: reset the control plane, too."""
        self._control = None

    def at(self, time_ps: int) -> ControlFacts | None:
        """Facts at a time not before the last requested one; None without a control plane."""
        control = self._world.control
        if control is None:
            return None
        if self._history is None or control is not self._control:  # a new pass, or a fault that routers detect
            self._control, self._history = control, ControlHistory(control)
        return self._history.at(time_ps)

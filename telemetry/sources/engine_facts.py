"""Facts of a running engine beyond its counters: queues that block paused ports, and cycles of such queues.

Packets are followed only while a port is paused, and only for a scrape, never for a sample.
"""

from __future__ import annotations

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_CLASSES
from fabric.verify.deadlock import find_cycle, holders
from telemetry.catalogue.control import ControlFacts
from telemetry.catalogue.observation import Holders, Observation, observe


def observed(engine: Emulator, control: ControlFacts | None = None, now: Snapshot | None = None) -> Observation:
    """The engine's present counters with these facts; `now`: the counters, where they have been read already."""
    now = engine.snapshot() if now is None else now
    if not now.paused.any():
        return observe(now, cycle=(), control=control)
    rows = holders(engine.state, engine.fabric)
    found = Holders(rows[:, 0], rows[:, 1], rows[:, 2] // N_CLASSES, rows[:, 2] % N_CLASSES, rows[:, 3])
    return observe(now, holders=found, cycle=tuple(find_cycle(engine.state, engine.fabric)), control=control)

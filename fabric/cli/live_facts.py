"""What a running engine knows beyond its counters: which queues hold what paused ports wait for, and circles of these.

Packets are followed only while some port is paused, and only when somebody asks: at a scrape, never at a sample.
"""

from __future__ import annotations

from fabric.engine.driver import Emulator
from fabric.state.codes import N_CLASSES
from fabric.validate.deadlock import find_cycle, holders
from telemetry.control import ControlFacts
from telemetry.observation import Holders, Observation, observe


def observed(engine: Emulator, control: ControlFacts | None = None) -> Observation:
    """The engine's counters now, and these facts beside them."""
    now = engine.snapshot()
    if not now.ports["paused"].any():
        return observe(now, cycle=(), control=control)
    rows = holders(engine.state, engine.fabric)
    found = Holders(rows[:, 0], rows[:, 1], rows[:, 2] // N_CLASSES, rows[:, 2] % N_CLASSES, rows[:, 3])
    return observe(now, holders=found, cycle=tuple(find_cycle(engine.state, engine.fabric)), control=control)

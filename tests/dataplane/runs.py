"""Runs for property tests of the engine: simulate a world, take snapshots at some times, compute its digest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from worlds import US, World, emulator

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop

END_PS: Final = 20_000 * US


def simulate(simulating: Emulator, until_ps: int = END_PS) -> Emulator:
    """Simulate up to a time."""
    while simulating.advance(until_ps) == Stop.BUDGET:
        pass
    return simulating


def stops(world: World, moments: list[int]) -> Iterator[tuple[Emulator, Snapshot]]:
    """The world at some times and at its end."""
    simulating = emulator(world)
    for moment in [*sorted(moments), END_PS]:
        yield simulate(simulating, moment), simulating.snapshot()


def digest(world: World, **options: Any) -> str:  # noqa: ANN401  as Emulator takes them
    """Digest of the world's end."""
    return simulate(emulator(world, **options)).digest()

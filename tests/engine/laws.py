"""What every property test of the engine does: play a world, look at it at some moments, compare digests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from worlds import US, World, emulator

from fabric.engine.counters import Snapshot
from fabric.engine.driver import Emulator
from fabric.state.codes import Stop

END_PS: Final = 20_000 * US


def play(playing: Emulator, until_ps: int = END_PS) -> Emulator:
    """Play on to a moment."""
    while playing.advance(until_ps) == Stop.BUDGET:
        pass
    return playing


def stops(world: World, moments: list[int]) -> Iterator[tuple[Emulator, Snapshot]]:
    """The world at some moments and at its end."""
    playing = emulator(world)
    for moment in [*sorted(moments), END_PS]:
        yield play(playing, moment), playing.snapshot()


def digest(world: World, **options: Any) -> str:  # noqa: ANN401  as Emulator takes them
    """Digest of the world's end."""
    return play(emulator(world, **options)).digest()

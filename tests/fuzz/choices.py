"""Where the fuzzer's choices come from: a seeded generator for thousands of cases, or hypothesis, which shrinks.

Everything is built on integer(), so that one generator of scenarios serves both. The first option and the least number
are the simplest ones: hypothesis shrinks towards them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices:
    """A stream of choices.

    Parameters
    ----------
    integer : (least, most) -> int, both inclusive
    """

    def __init__(self, integer: Callable[[int, int], int]) -> None:
        self.integer = integer

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.integer(0, 99) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[self.integer(0, len(options) - 1)] if len(options) > 1 else options[0]

    def some(self, options: Sequence[T], least: int = 1, most: int | None = None) -> list[T]:
        """Between `least` and `most` different ones, in their order."""
        left = list(range(len(options)))
        count = self.integer(least, min(most or len(options), len(options)))
        chosen = [left.pop(self.integer(0, len(left) - 1)) for _ in range(count)]
        return [options[index] for index in sorted(chosen)]


def seeded(seed: int) -> Choices:
    """The same choices for the same seed."""
    return Choices(random.Random(seed).randint)


def drawn(draw: st.DrawFn) -> Choices:
    """Choices that hypothesis makes, records and shrinks."""
    return Choices(lambda least, most: draw(st.integers(least, most)))

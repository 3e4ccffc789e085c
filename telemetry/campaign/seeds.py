"""Seeds of a campaign: those that rules and tables are fitted on, and those that only measure.

A seed is SHA-256 of 'campaign/tune/NUMBER' or 'campaign/test/NUMBER'. The two are different types, so that what fits a
table (confidence.py of telemetry/diagnosis) cannot be given results of test seeds.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, Final, Literal

Side = Literal["tune", "test"]


@dataclass(frozen=True, slots=True)
class _Seed:
    number: int
    """From 0."""
    side: ClassVar[Side]

    @property
    def text(self) -> str:
        """'tune/17', as the command line takes it."""
        return f"{self.side}/{self.number}"

    @property
    def value(self) -> int:
        """The seed of every draw."""
        return int.from_bytes(sha256(f"campaign/{self.text}".encode()).digest()[:7], "big")

    def stream(self, name: str) -> random.Random:
        """A random stream of one use: another use does not shift it."""
        return random.Random(f"{self.value}/{name}")


@dataclass(frozen=True, slots=True)
class TuneSeed(_Seed):
    """A seed on which rules and tables may be fitted."""

    side: ClassVar[Side] = "tune"


@dataclass(frozen=True, slots=True)
class TestSeed(_Seed):
    """A seed that only measures."""

    side: ClassVar[Side] = "test"
    __test__: ClassVar[bool] = False  # pytest collects classes by their names


Seed = TuneSeed | TestSeed
SIDES: Final[Mapping[Side, type[TuneSeed | TestSeed]]] = {TuneSeed.side: TuneSeed, TestSeed.side: TestSeed}


def parse_seed(text: str) -> Seed:
    """'tune/17' or 'test/17'. Raises: ValueError."""
    side, slash, number = text.partition("/")
    kind = next((its for name, its in SIDES.items() if name == side), None)
    if not slash or kind is None or not number.isascii() or not number.isdigit():
        raise ValueError(f"'{text}' is no seed of a campaign; write it as tune/17 or test/17")
    return kind(int(number))

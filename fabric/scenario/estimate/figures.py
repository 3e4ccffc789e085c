"""The figures of an estimate: values, how each was derived, and the fields of the scenario that decide them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.errors import Problem
from fabric.topology.spec import Shape

PSN_LIMIT: Final = 2**32
"""Packets of one queue pair: the engine numbers them in 32 bits and does not wrap, where RoCE wraps at 2**24."""
ROW_LIMIT: Final = 2**31
"""Messages and queue pairs: results number them in 31 bits."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of an estimate."""

    name: str
    unit: str
    least: float
    likely: float
    most: float
    how: str
    """How it was derived."""

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {"unit": self.unit, "least": self.least, "likely": self.likely, "most": self.most, "how": self.how}


def ordered(name: str, unit: str, least: float, likely: float, most: float, how: str) -> Figure:
    """A figure with `likely` and `most` raised where they are below a lower value."""
    return Figure(name, unit, least, max(likely, least), max(most, likely, least), how)


def exact(name: str, unit: str, value: float, how: str) -> Figure:
    """A figure with one value."""
    return Figure(name, unit, value, value, value, how)


@dataclass(frozen=True)
class Share:
    """The amount that one part of a scenario adds to a figure, and the field by which it can be made smaller."""

    field: str
    """Dotted path in the scenario file."""
    amount: float
    value: float = 0.0
    """Value of the field in its base unit; 0 where it is not a quantity."""
    growth: float = 1.0
    """The amount grows with this power of the value; below 0 it falls with it."""
    kind: str = "count"
    """Of the value: count, time, size, ratio, or '' where it is not a quantity."""


OF_PROCESS: Final = "process"
"""Part of the figure 'time': start of the process, and loading of its kernels."""
OF_RECORDS: Final = ("rows", "events")
"""Parts of the figure 'time': what is written of series and events."""


@dataclass(frozen=True)
class Estimate:
    """All figures of a run."""

    shape: Shape
    figures: Mapping[str, Figure]
    shares: Mapping[str, Sequence[Share]] = field(default_factory=dict)
    """Figure -> its parts, by field; only memory, disk, samples, messages and time have them."""
    longest_psn: float = 0.0
    """Packets of the queue pair with the most packets."""
    longest_field: str = ""
    """The field that decides longest_psn."""
    problems: Sequence[Problem] = ()
    """Problems of the workloads that the estimate found; compiling finds them again."""
    time_parts: Mapping[str, float] = field(default_factory=dict)
    """Part of the figure 'time' -> its likely seconds."""

    def worker_s(self, *, recorded: bool) -> float:
        """Likely seconds in a process that has its kernels: without its start, and where nothing is recorded without
        the rows of series and events.
        """
        without = {OF_PROCESS} if recorded else {OF_PROCESS, *OF_RECORDS}
        return sum(seconds for part, seconds in self.time_parts.items() if part not in without)

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {name: figure.as_json() for name, figure in self.figures.items()}

"""A probe: a named value over a window of simulated time, read from the evidence of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from playbooks.evidence import RunEvidence

Kind = Literal["count", "time", "rate", "text", "ratio"]
"""Values are whole numbers, ps, bit/s, text, or numbers."""
Value = int | float | str | None
"""None: the run has no such value."""


@dataclass(frozen=True, slots=True)
class Window:
    """A span of simulated time, and the hosts to count."""

    since_ps: int
    until_ps: int
    hosts: frozenset[int] | None
    """NodeIds; None: all."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One value that a step can show or check."""

    kind: Kind
    help: str
    read: Callable[[RunEvidence, Window], Value]
    by_host: bool = False
    """The value counts only Window.hosts."""

"""What a comparison is: rows that run something and give findings, each a number of ours beside a reference.

A finding carries the interval in which ours must lie, so that a verdict is a matter of two comparisons and a miss is
published with its size. Nothing here knows where a reference comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Tag = Literal["C", "R"]
"""C: the reference is computed (closed form, theory); R: it was recorded or read at the named source."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of ours beside a reference."""

    quantity: str
    """With its unit: 'mean FCT, ns'."""
    reference: float
    ours: float
    low: float
    """Ours agrees if low <= ours <= high."""
    high: float
    tolerance: str
    """How low and high came about, in a few words: 'exact', '3 sd of tie order'."""

    @property
    def agrees(self) -> bool:
        """Whether ours lies within the tolerance."""
        return self.low <= self.ours <= self.high

    @property
    def error_ratio(self) -> float | None:
        """(ours - reference) / reference; None where the reference is 0 and ours is not."""
        if self.reference:
            return (self.ours - self.reference) / self.reference
        return 0.0 if self.ours == 0 else None


def exactly(quantity: str, reference: float, ours: float) -> Finding:
    """Ours must be equal."""
    return Finding(quantity, reference, ours, reference, reference, "exact")


def within(quantity: str, reference: float, ours: float, ratio: float, tolerance: str = "") -> Finding:
    """Ours may differ by `ratio` of the reference."""
    slack = abs(reference) * ratio
    return Finding(quantity, reference, ours, reference - slack, reference + slack,
                   tolerance or f"{ratio:.4g} relative")


def between(quantity: str, reference: float, ours: float, low: float, high: float, tolerance: str) -> Finding:
    """Ours must lie in an interval of its own."""
    return Finding(quantity, reference, ours, low, high, tolerance)


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison that can be run on its own."""

    id: str
    """Unique; slashes make groups: 'ns3/C_step/insertion', 'V5'."""
    title: str
    model: str
    """Model under which ours was run: asic, hpcc-ns3; '-' where nothing is emulated."""
    tag: Tag
    source: str
    """Where the reference comes from."""
    run: Callable[[], Sequence[Finding]]
    slow: bool = False
    """Takes more than a few seconds: left out of `make test`."""
    known_miss: str = ""
    """Why a finding of this row is known to disagree; published beside the numbers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row that was run."""

    row: Row
    findings: Sequence[Finding]

    @property
    def agrees(self) -> bool:
        """Whether every finding agrees."""
        return all(finding.agrees for finding in self.findings)

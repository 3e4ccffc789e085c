"""The form of a comparison: rows run something and give findings, each a measured number beside a reference.

A finding has the interval in which the measured number must lie, so that a verdict is two comparisons and a miss is
published with its size. A known miss has a second interval, disjoint from the first, in which the number must lie. So a
known miss that grows, shrinks or disappears fails as a new miss does. The source of a reference is text to this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

Tag = Literal["C", "R"]
"""C: the reference is computed (closed form, theory); R: it was recorded or read at the named source."""


class Verdict(StrEnum):
    """Result of a finding."""

    AGREES = "agrees"
    KNOWN = "known miss"
    """Outside the tolerance, and within the bounds of the known miss."""
    MISSES = "misses"
    """Outside the tolerance."""
    MOVED = "known miss moved"
    """A known miss left its bounds: it has grown, shrunk or gone."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of ours beside a reference."""

    quantity: str
    """Name with unit: 'mean FCT, ns'."""
    reference: float
    ours: float
    low: float
    """Ours agrees if low <= ours <= high."""
    high: float
    tolerance: str
    """Origin of low and high, in a few words: 'exact', '3 sd of tie order'."""
    known: tuple[float, float] | None = None
    """Bounds of a known miss, apart from [low, high]; None where ours is expected to agree."""

    @property
    def agrees(self) -> bool:
        """Whether ours lies within the tolerance."""
        return self.low <= self.ours <= self.high

    @property
    def verdict(self) -> Verdict:
        """Of ours against the tolerance, or against the bounds of the known miss."""
        if self.known is None:
            return Verdict.AGREES if self.agrees else Verdict.MISSES
        low, high = self.known
        return Verdict.KNOWN if low <= self.ours <= high else Verdict.MOVED

    @property
    def passes(self) -> bool:
        """Whether nothing has changed: ours agrees, or misses as it is known to."""
        return self.verdict in {Verdict.AGREES, Verdict.KNOWN}

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
    return Finding(
        quantity, reference, ours, reference - slack, reference + slack, tolerance or f"{ratio:.4g} relative"
    )


def between(quantity: str, reference: float, ours: float, low: float, high: float, tolerance: str) -> Finding:
    """Ours must lie in a given interval."""
    return Finding(quantity, reference, ours, low, high, tolerance)


def missing(finding: Finding, low: float, high: float) -> Finding:
    """The finding as a known miss: ours must lie in [low, high].

    Raises: ValueError where that interval is empty or overlaps the tolerance: agreement would not be noticed.
    """
    if not low <= high or (low <= finding.high and finding.low <= high):
        raise ValueError(
            f"{finding.quantity}: bounds {low} to {high} of a known miss beside a tolerance of "
            f"{finding.low} to {finding.high}"
        )
    return replace(finding, known=(low, high))


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
    """Why findings of this row are known to disagree (see `missing`); published beside the numbers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row that was run."""

    row: Row
    findings: Sequence[Finding]

    @property
    def agrees(self) -> bool:
        """Whether every finding agrees."""
        return all(finding.verdict is Verdict.AGREES for finding in self.findings)

    @property
    def passes(self) -> bool:
        """Whether every finding agrees or misses as it is known to."""
        return all(finding.passes for finding in self.findings)

"""Monotonic counters of a looped scenario, whose passes start from 0.

Prometheus treats a decreasing counter as a restart, but only if it sees the decrease: a pass that is shorter than a
scrape interval may exceed the last value before the next scrape, and the count between the last scrape and the restart
is lost in any case. So in a looped run every counter, and every bucket, count and sum of a histogram, is the total over
all passes. Gauges, infos and gauge histograms show the present pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.samples import Sample

_ADDED: Final = frozenset({"counter", "histogram"})

Series = tuple[str, frozenset[tuple[str, str]]]
"""(sample name, labels)."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """One family with its samples in order."""

    family: Metric
    samples: Mapping[Series, Sample]


def _series(sample: Sample) -> Series:
    return sample.name, frozenset(sample.labels.items())


class Totals:
    """Counts of the passes before the present one; immutable.

    A series that the present pass does not have yet is shown with its earlier count: a series that disappears and
    returns would look like a restart.
    """

    def __init__(self, counted: Mapping[str, _Counted] = MappingProxyType({})) -> None:
        self._counted = counted

    def plus(self, families: Iterable[Metric]) -> Totals:
        """These totals plus one whole pass."""
        found = {
            family.name: _Counted(family, {_series(sample): sample for sample in family.samples})
            for family in self.added_to(families)
            if family.type in _ADDED
        }
        return Totals(found)

    def added_to(self, families: Iterable[Metric]) -> Iterator[Metric]:
        """The families of the present pass with these totals in their counters."""
        missing = dict(self._counted)
        for family in families:
            before = missing.pop(family.name, None)
            if before is not None:
                family.samples = _added(family.samples, before.samples)
            yield family
        for before in missing.values():
            family = Metric(before.family.name, before.family.documentation, before.family.type, before.family.unit)
            family.samples = list(before.samples.values())
            yield family


def _added(samples: Iterable[Sample], before: Mapping[Series, Sample]) -> list[Sample]:
    """Series of the present pass, then series of earlier passes only; the parts of a histogram stay together."""
    missing = dict(before)
    found = []
    for sample in samples:
        known = missing.pop(_series(sample), None)
        found.append(sample if known is None else sample._replace(value=sample.value + known.value))
    return [*found, *missing.values()]

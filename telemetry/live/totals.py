"""Counters that never go back although a looped scenario starts again from nothing.

Prometheus takes a counter that falls for a restart, but only where it sees it fall: a pass that lasts less than a
scrape interval may begin and overtake the last value unseen, and what was counted between the last scrape and the
restart is lost either way. So a looped run adds up: every counter, and every bucket, count and sum of a histogram,
is the total over all passes. Gauges, infos and gauge histograms show the present pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.samples import Sample

_ADDED: Final = frozenset({"counter", "histogram"})

Series = tuple[str, frozenset[tuple[str, str]]]
"""(sample name, labels)."""


def _series(sample: Sample) -> Series:
    return sample.name, frozenset(sample.labels.items())


class Totals:
    """What the passes before the present one have counted; immutable."""

    def __init__(self, values: Mapping[Series, float] = MappingProxyType({})) -> None:
        self._values = values

    def plus(self, families: Iterable[Metric]) -> Totals:
        """These totals and a whole pass more."""
        values = dict(self._values)
        for family in families:
            if family.type in _ADDED:
                for sample in family.samples:
                    series = _series(sample)
                    values[series] = values.get(series, 0.0) + sample.value
        return Totals(values)

    def added_to(self, families: Iterable[Metric]) -> Iterator[Metric]:
        """The families of the present pass with these totals in their counters."""
        if not self._values:
            yield from families
            return
        for family in families:
            if family.type in _ADDED:
                family.samples = [sample._replace(value=sample.value + self._values.get(_series(sample), 0.0))
                                  for sample in family.samples]
            yield family

"""Recorded series under another exporter's names, as Layer.families has those of one answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from prometheus_client.core import Metric

from telemetry.export.compat.model import Alias, Layer, Target, family_name, metric_type
from telemetry.record.store import Series, Store


def renamed(layer: Layer, store: Store) -> Iterator[tuple[Metric, list[tuple[str, Target, Series]]]]:
    """(family without samples, [(sample name, labels, series)]) of every family that has a series."""
    hosts = {dict(labels)["device"] for labels, _ in store.iter_series("fabric_device_info", role="host")}
    made: dict[str, tuple[Alias, dict[Target, Series]]] = {}
    for alias in layer.aliases:
        for labels, series in store.iter_series(alias.source):
            target, kept = alias.target(dict(labels), hosts), _values(alias, series)
            if target is None or not len(kept[0]):
                continue
            found = made.setdefault(target[0], (alias, {}))[1]
            found[target[1]] = _sum(found[target[1]], kept) if target[1] in found else kept
    for name, (alias, found) in made.items():
        family = Metric(family_name(name, alias.kind), alias.help, metric_type(alias))
        yield family, [(name, labels, series) for labels, series in found.items()]


def _values(alias: Alias, series: Series) -> Series:
    time_ns, native = series
    if alias.when is not None:
        mine: NDArray[np.bool_] = native == alias.when
        return time_ns[mine], np.ones(int(mine.sum()))
    return time_ns, native * alias.factor if alias.constant is None else np.full(len(native), alias.constant)


def _sum(one: Series, other: Series) -> Series:
    """Both counts together; one that has not begun yet counts 0."""
    time_ns = np.union1d(one[0], other[0])
    value = np.zeros(len(time_ns))
    for times, values in (one, other):
        value[np.searchsorted(time_ns, times)] += values
    return time_ns, value

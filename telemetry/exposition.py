"""A Snapshot as text: the Prometheus text format 0.0.4, or OpenMetrics 1.0, by prometheus_client's own writers."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from fabric.engine.counters import Snapshot
from telemetry.columns import SnapshotMetrics
from telemetry.derive import RunInfo


class _Still(Collector):
    """One Snapshot as a collector."""

    def __init__(self, snapshot: Snapshot, info: RunInfo) -> None:
        self._snapshot, self._info = snapshot, info

    def collect(self) -> Iterator[Metric]:
        return SnapshotMetrics(self._info).families(self._snapshot)


def render(snapshot: Snapshot, info: RunInfo, *, openmetrics: bool = False) -> str:
    """Every metric of one Snapshot. The same arguments give the same text: the wall clock has no part in it.

    Parameters
    ----------
    snapshot : Snapshot
    info : RunInfo
    openmetrics : bool     OpenMetrics 1.0 (ends in '# EOF') instead of the Prometheus text format
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Still(snapshot, info))
    encode, _ = choose_encoder("application/openmetrics-text; version=1.0.0" if openmetrics else "text/plain")
    return encode(registry).decode()

"""A recorded run as OpenTelemetry metrics: OTLP in its JSON encoding, one request a line.

This is the format of the collector's file exporter, which its otlpjsonfile receiver reads. Times are nanoseconds, so
simulated time needs no scale: counters every 100 us stay 100 us apart. Sums are cumulative and begin with the run.
Histograms are left out.

Source: opentelemetry-proto, its specification, "JSON Protobuf Encoding": names in lowerCamelCase, 64-bit integers
as decimal strings, enums as integers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, TextIO

import numpy as np
from numpy.typing import NDArray

from telemetry.catalogue.metrics import CATALOGUE
from telemetry.catalogue.spec import Kind, MetricSpec
from telemetry.export.grid import Sent, on_grid, sampled, usual_step_ns
from telemetry.record.store import Labels, Store

CUMULATIVE: Final = 2
"""AggregationTemporality."""
_UNITS: Final = {"bytes": "By", "seconds": "s", "ratio": "1", "bytes_per_second": "By/s", "": "1"}
"""UCUM, as OpenTelemetry has units."""


class Requests:
    """The requests of a run, one for each kept sample, and how much they hold once they have been made.

    Parameters
    ----------
    store : Store
    start_ns : int          Unix time of simulated time 0
    resource : mapping      attributes of the resource, such as service.name
    interval_ns : int       simulated time between two requests; None keeps every sample
    """

    def __init__(
        self, store: Store, start_ns: int, resource: Mapping[str, str], interval_ns: int | None = None
    ) -> None:
        self._times_ns = store.times_ns[sampled(store.times_ns, interval_ns)]
        self._start_ns = start_ns
        self._about = {"attributes": _attributes(tuple(resource.items()))}
        self._columns = [_Column(spec, store, self._times_ns) for spec in CATALOGUE if _written(spec, store)]
        self._points = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._points = 0
        for row, time_ns in enumerate(self._times_ns.tolist()):
            metrics = []
            for column in self._columns:
                found = list(column.points(row, self._start_ns, self._start_ns + time_ns))
                self._points += len(found)
                if found:
                    metrics.append(column.metric(found))
            scope = [{"scope": {"name": "fabric"}, "metrics": metrics}]
            yield {"resourceMetrics": [{"resource": self._about, "scopeMetrics": scope}]}

    def sent(self, messages: int | None = None) -> Sent:
        """What was made, in so many messages; None: each request was one."""
        series = sum(len(it.series) for it in self._columns)
        n_messages = len(self._times_ns) if messages is None else messages
        return Sent(series, self._points, n_messages, usual_step_ns(self._times_ns))


def write_otlp(requests: Requests, out: TextIO) -> Sent:
    """Write each request as a line."""
    for request in requests:
        out.write(json.dumps(request, separators=(",", ":")))
        out.write("\n")
    return requests.sent()


def _written(spec: MetricSpec, store: Store) -> bool:
    return spec.kind in {Kind.COUNTER, Kind.GAUGE} and spec.name in store.metrics


class _Column:
    """All series of one metric, on the grid of the requests."""

    def __init__(self, spec: MetricSpec, store: Store, times_ns: NDArray[np.int64]) -> None:
        self._spec = spec
        self.series: list[tuple[list[dict[str, Any]], NDArray[np.float64]]] = []
        for labels, (found_ns, values) in store.iter_series(spec.name):
            self.series.append((_attributes(labels), on_grid(found_ns, values, times_ns)))

    def points(self, row: int, start_ns: int, time_ns: int) -> Iterator[dict[str, Any]]:
        """Data points of one request."""
        whole = self._spec.per == 1
        for attributes, column in self.series:
            value = float(column[row])
            if np.isnan(value):
                continue
            point: dict[str, Any] = {"attributes": attributes, "timeUnixNano": str(time_ns)}
            if self._spec.kind is Kind.COUNTER:
                point["startTimeUnixNano"] = str(start_ns)
            point |= {"asInt": str(int(value))} if whole and value.is_integer() else {"asDouble": value}
            yield point

    def metric(self, points: list[dict[str, Any]]) -> dict[str, Any]:
        """The metric with its points."""
        spec = self._spec
        unit = _UNITS.get(spec.unit, f"{{{spec.unit.removesuffix('s')}}}")
        body: dict[str, Any] = {"dataPoints": points}
        if spec.kind is Kind.COUNTER:
            body = {"aggregationTemporality": CUMULATIVE, "isMonotonic": True, **body}
        kind = "sum" if spec.kind is Kind.COUNTER else "gauge"
        return {"name": spec.name, "description": spec.help, "unit": unit, kind: body}


def _attributes(labels: Labels) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in labels]

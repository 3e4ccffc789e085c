"""Files to series: Prometheus text, OpenMetrics, tables (Parquet, Arrow, CSV), OTLP in JSON, IPFIX.

Text is parsed by prometheus_client. Its lax parser is given the lines of samples alone: the strict one refuses what
this module is asked to find, and both rename counters.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
from prometheus_client.parser import text_fd_to_metric_families

from fabric.errors import InputErrors, Problem
from fabric.reading import json_value, open_bytes, read_bytes
from telemetry.ipfix import wire
from telemetry.ipfix.wire import FormatError
from telemetry.lint.ipfix import from_ipfix
from telemetry.lint.series import Batch, DeltaError, Series
from telemetry.record.store import Store, StoreError

MAX_BYTES: Final = 2 * 2**30
DILATION: Final = "fabric_sim_dilation_ratio"
_NS: Final = {"ns": 1, "nano": 1, "nanoseconds": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
TYPE: Final = re.compile(r"#\s*TYPE\s+(\S+)\s+(\S+)")
_EXEMPLAR: Final = re.compile(r"\s#\s\{.*$")
_TIME: Final = re.compile(
    r"(?i)^(observation_?)?(time|timestamp|ts)(_unix)?(_?(?P<unit>ns|us|ms|s|nano|nanoseconds))?$"
)
_HINT: Final = "give Prometheus text, OpenMetrics, OTLP JSON, IPFIX, or a table in Parquet, Arrow or CSV"

_IPFIX: Final = wire.VERSION.to_bytes(2)

Key = tuple[str, tuple[tuple[str, str], ...]]


def read(path: Path) -> Batch:
    """The series of a file, by its content. Raises: InputErrors."""
    try:
        return _read(path)
    except (pa.ArrowException, OverflowError) as error:
        raise refused(str(path), f"cannot be read: {error}") from error
    except DeltaError as error:
        raise InputErrors("telemetry lint", [Problem(str(path), error.text, error.hint)]) from error


def _read(path: Path) -> Batch:
    with open_bytes(path, stage="telemetry lint") as file:
        head = file.read(4096)
    if head.startswith(b"PAR1"):
        return _parquet(path)
    if head.startswith(b"ARROW1"):
        with open_bytes(path) as file:
            return from_table(str(path), pa.ipc.open_file(file).read_all())
    data = read_bytes(path, MAX_BYTES, stage="telemetry lint")
    if data.startswith(_IPFIX):
        try:
            return from_ipfix(str(path), data)
        except FormatError as error:
            raise refused(str(path), f"is no IPFIX to judge: {error}") from error
    if path.suffix == ".csv":
        try:
            return from_table(str(path), pyarrow.csv.read_csv(io.BytesIO(data)))
        except pa.ArrowInvalid as error:
            raise refused(str(path), f"is no CSV table: {error}") from error
    text = data.decode("utf-8-sig", "replace")
    if text.lstrip()[:1] in {"{", "["} and "esourceMetrics" in text[:100_000]:
        return from_otlp(str(path), text)
    return from_text(str(path), text)


def refused(source: str, text: str) -> InputErrors:
    """A file that cannot be judged."""
    return InputErrors("telemetry lint", [Problem(source, text, _HINT)])


class Collected:
    """Samples by series, in order of arrival."""

    def __init__(self) -> None:
        self.samples: dict[Key, tuple[list[int], list[float]]] = {}
        self.kinds: dict[str, str] = {}

    def add(self, name: str, labels: Mapping[str, str], time_ns: int, value: float) -> None:
        """One sample."""
        times, values = self.samples.setdefault((name, tuple(sorted(labels.items()))), ([], []))
        times.append(time_ns)
        values.append(value)

    def series(self) -> list[Series]:
        """All of them."""
        return [
            Series(name, dict(labels), self._kind(name), np.array(times, np.int64), np.array(values, np.float64))
            for (name, labels), (times, values) in self.samples.items()
        ]

    def _kind(self, name: str) -> str:
        found = self.kinds.get(name) or self.kinds.get(name.removesuffix("_total")) or "unknown"
        if found in {"histogram", "summary", "gaugehistogram", "info"}:
            return "gauge"
        return "unknown" if found in {"untyped", "unknown"} else found


def is_openmetrics(text: str) -> bool:
    """Whether an exposition is OpenMetrics, which has an end of its own."""
    return text.rstrip().endswith("# EOF")


def samples_of(text: str) -> Iterator[tuple[str, Mapping[str, str], float, float | None]]:
    """(name, labels, value, Unix time in seconds) of every sample of an exposition. Raises: ValueError."""
    lines = (_EXEMPLAR.sub("", it) for it in text.splitlines() if it.strip() and not it.startswith("#"))
    scale = 1000 if is_openmetrics(text) else 1  # the parser reads milliseconds, OpenMetrics has seconds
    for family in text_fd_to_metric_families(lines):  # type: ignore[arg-type]  # it only iterates
        for name, labels, value, time_s, *_ in family.samples:
            yield name, labels, value, None if time_s is None else float(time_s) * scale


def from_text(source: str, text: str) -> Batch:
    """Prometheus text or OpenMetrics. Raises: InputErrors."""
    found = Collected()
    found.kinds = dict(TYPE.findall(text))
    timed = missing = 0
    try:
        for name, labels, value, time_s in samples_of(text):
            timed += time_s is not None
            missing += time_s is None
            found.add(name, labels, missing if time_s is None else round(time_s * 1e9), value)
    except (ValueError, IndexError) as error:
        raise refused(source, f"is no exposition of metrics: {error}") from error
    if not found.samples:
        raise refused(source, "holds no sample")
    digits = max((len(it) for it in re.findall(r"\s\d{9,10}\.(\d+)\s*$", text[:200_000], re.MULTILINE)), default=3)
    resolution_ns = max(10 ** (9 - min(digits, 9)), 250) if is_openmetrics(text) else 1_000_000
    batch = Batch(source, found.series(), resolution_ns, has_times=timed > 0)
    batch.dilation = dilation_of(batch.series)
    return batch


def dilation_of(series: Iterable[Series]) -> float:
    """Seconds of the file's clock for a second of the counters, where it says so."""
    return next((float(it.values[-1]) for it in series if it.name == DILATION and it.values[-1] > 0), 1.0)


def from_store(source: str, store: Store) -> Batch:
    """Recorded metrics, in simulated time."""
    series = [
        Series(name, dict(labels), "unknown", time_ns, value)
        for name in store.metrics
        for labels, (time_ns, value) in store.iter_series(name)
    ]
    return Batch(source, series, 1, unix=False)


def _parquet(path: Path) -> Batch:
    try:
        return from_store(str(path), Store.read(path))
    except StoreError:
        with open_bytes(path) as file:
            return from_table(str(path), pq.ParquetFile(file).read(use_threads=False))


def from_table(source: str, table: pa.Table) -> Batch:
    """A long table (metric, labels, time, value), or a wide one: a column of times, labels, counters."""
    names = table.schema.names
    clock = next((name for name in names if _TIME.match(name)), None)
    if clock is None:
        raise refused(source, "has no column of times such as timestamp_ns, time_us or timestamp")
    times, unix = _times(table[clock], clock, source)
    labels = [it for it in names if it != clock and _is_text(table.schema.field(it).type)]
    found = Collected()
    rows = {name: table[name].to_pylist() for name in labels}
    named = "metric" if "metric" in labels and "value" in names else None
    values = {name: table[name].to_pylist() for name in names if name != clock and name not in labels}
    if named is not None:
        values = {"value": values["value"]}
    for name, column in values.items():
        for row, value in enumerate(column):
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            given = {key: str(rows[key][row]) for key in labels if key != named and rows[key][row] is not None}
            found.add(str(rows[named][row]) if named else name, given, times[row], float(value))
    if not found.samples:
        raise refused(source, "has no column of numbers")
    return Batch(source, found.series(), 1, unix=unix)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)


def _times(column: pa.ChunkedArray, name: str, source: str) -> tuple[list[int], bool]:
    """Times in nanoseconds, and whether they may be Unix time."""
    if pa.types.is_timestamp(column.type):
        if column.null_count:
            raise refused(source, f"{name} is no column of times: it has gaps")
        column = pc.cast(pc.cast(column, pa.timestamp("ns")), pa.int64())
        return [int(it) for it in column.to_pylist()], True
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)) or column.null_count:
        raise refused(source, f"{name} is no column of times: it has {'gaps' if column.null_count else column.type}")
    unit = _NS[_TIME.sub(r"\g<unit>", name).lower() or "s"]
    found = [round(it * unit) for it in column.to_pylist()]
    return found, bool(found) and min(found) > 10**17


def from_otlp(source: str, text: str) -> Batch:
    """OTLP in JSON: one request, or one a line (the format of the collector's file exporter).

    Raises: InputErrors, DeltaError.
    """
    found = Collected()
    try:
        requests = [json_value(text)] if text.count("\n{") == 0 else [json_value(it) for it in text.splitlines() if it]
        for resource in (it for request in requests for it in request["resourceMetrics"]):
            given = _attributes(resource.get("resource", {}).get("attributes", []))
            for metric in (it for scope in resource.get("scopeMetrics", []) for it in scope.get("metrics", [])):
                _points(found, metric, given)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refused(source, f"is no OTLP metrics in JSON: {error!r}") from error
    if not found.samples:
        raise refused(source, "holds no data point")
    first = next(iter(found.samples.values()))[0][0]
    batch = Batch(source, found.series(), 1, unix=first > 10**17)
    batch.dilation = dilation_of(batch.series)
    return batch


def _points(found: Collected, metric: Mapping[str, Any], given: dict[str, str]) -> None:
    body = metric.get("sum") or metric.get("gauge")
    if body is None:
        return
    name = str(metric["name"])
    found.kinds[name] = "counter" if metric.get("sum", {}).get("isMonotonic") else "gauge"
    if metric.get("sum", {}).get("aggregationTemporality") in {1, "AGGREGATION_TEMPORALITY_DELTA"}:
        raise DeltaError(f"{name} is a delta, not a cumulative counter", "export it as cumulative")
    for point in body.get("dataPoints", []):
        value = point.get("asInt", point.get("asDouble"))
        if value is not None:
            labels = given | _attributes(point.get("attributes", []))
            found.add(name, labels, int(point["timeUnixNano"]), float(value))


def _attributes(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    return {str(it["key"]): str(next(iter(it.get("value", {}).values()), "")) for it in rows}

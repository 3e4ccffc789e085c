"""A recorded run sent by Prometheus remote write 1.0 (prometheus.io/docs/specs/prw/remote_write_spec).

The protocol's four small messages are encoded here; Arrow provides Snappy's block format. Samples are sent in slices in
order of time, because Prometheus' head block refuses samples an hour older than its newest one. Unlike a file, remote
write can mark the end of a series: a staleness marker follows its last sample.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from telemetry.export.client_access import OPEN, Access
from telemetry.export.openmetrics import Recorded, Recording, Written
from telemetry.export.posting import Receiver

SLICE_MS: Final = 600_000
"""Wall time of one slice of samples."""
BATCH_SAMPLES: Final = 5000
"""A request is sent when it has at least this many samples; it has fewer than twice as many."""
STALE: Final = struct.pack("<Q", 0x7FF0_0000_0000_0002)
"""The NaN that marks the end of a series (Prometheus model/value, StaleNaN)."""
_HEADERS: Final = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
_AGAIN: Final = frozenset({429, 500, 502, 503, 504})


Send = Callable[[bytes], None]
"""Sends an uncompressed WriteRequest."""


def send_recording(recording: Recording, send: Send) -> Written:
    """Send every sample, the oldest slice first. Raises: the errors of `send`."""
    first, last = int(recording.time_ms[0]), int(recording.time_ms[-1])
    n_series = n_samples = 0
    for from_ms in range(first, last + 1, SLICE_MS):
        waiting: list[bytes] = []
        n_waiting = 0
        for it in recording.all():
            n_series += len(it.time_ms) > 0 and from_ms <= it.time_ms[0] < from_ms + SLICE_MS
            samples = list(_samples(it, recording.time_ms, from_ms, from_ms + SLICE_MS))
            for start in range(0, len(samples), BATCH_SAMPLES):
                part = samples[start : start + BATCH_SAMPLES]
                waiting.append(_field(1, _labels(it) + b"".join(part)))
                n_waiting += len(part)
                if n_waiting >= BATCH_SAMPLES:
                    send(b"".join(waiting))
                    n_samples, n_waiting, waiting = n_samples + n_waiting, 0, []
        if waiting:
            send(b"".join(waiting))
            n_samples += n_waiting
    return Written(n_series, n_samples, first, last)


def post_to(url: str, access: Access = OPEN, sleep: Callable[[float], None] = time.sleep) -> Send:
    """A sender to a receiver with its authorization, which retries where the receiver is busy.

    Raises (when called): ReceiverError.
    """
    receiver = Receiver(url, _HEADERS, _AGAIN, _HINTS, access, sleep)

    def send(request: bytes) -> None:
        receiver.post(pa.compress(request, codec="snappy", asbytes=True))

    return send


_HINTS: Final = {
    401: "give the receiver's token or user: --token-file, or --user with --password-file",
    403: "give the token or user of somebody who may write",
    404: "is this the address of a receiver, such as http://127.0.0.1:9090/api/v1/write, and does Prometheus run with "
    "--web.enable-remote-write-receiver?",
    400: "Prometheus takes nothing older than its newest samples unless it has storage.tsdb.out_of_order_time_window; "
    "give another --start, or backfill a file",
}


def _samples(it: Recorded, grid_ms: NDArray[np.int64], from_ms: int, until_ms: int) -> Iterator[bytes]:
    """prometheus.Sample messages as fields of a TimeSeries, in order of time, a marker where the series ended."""
    if not len(it.time_ms):
        return
    grid = grid_ms[np.searchsorted(grid_ms, it.time_ms[0]) :]
    there = np.isin(grid, it.time_ms, assume_unique=True)
    value = np.full(len(grid), np.nan)
    value[there] = it.value
    ended = ~there & np.append(False, there[:-1])
    mine = (there | ended) & (grid >= from_ms) & (grid < until_ms)
    for moment, number, end in zip(grid[mine].tolist(), value[mine].tolist(), ended[mine].tolist(), strict=True):
        yield _sample(STALE if end else struct.pack("<d", number), moment)


def _sample(value: bytes, moment_ms: int) -> bytes:
    return _field(2, b"\x09" + value + b"\x10" + _varint(moment_ms))


def _labels(it: Recorded) -> bytes:
    """prometheus.Label messages, sorted by name as the specification requires; empty values are left out."""
    pairs = sorted({"__name__": it.name, **it.labels}.items())
    return b"".join(_field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in pairs if value)


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)

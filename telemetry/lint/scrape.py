"""Answers of an exporter at an address, one after the other."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from typing import Final

from fabric.errors import FabricError
from telemetry.lint.readers import TYPE, Collected, dilation_of, refused, samples_of
from telemetry.lint.series import Batch

TIMEOUT_S: Final = 10.0
MAX_BYTES: Final = 256 * 2**20
ELAPSED: Final = "fabric_sim_elapsed_seconds_total"
"""The clock of a simulated fabric, which is read with its counters."""
RESOLUTION_NS: Final = 50_000_000
"""Of a scrape's own time: an exporter may read its counters at any moment of its answer."""


def scrape(url: str, count: int, interval_s: float) -> Batch:
    """`count` answers, and the series of all of them. Raises: InputErrors, FabricError."""
    found, simulated = Collected(), False
    for number in range(count):
        if number:
            time.sleep(interval_s)
        text = _answer(url)
        time_ns = time.time_ns()
        found.kinds |= dict(TYPE.findall(text))
        try:
            samples = list(samples_of(text))
        except (ValueError, IndexError) as error:
            raise refused(url, f"answers with no exposition of metrics: {error}") from error
        elapsed = next((value for name, _, value, _ in samples if name == ELAPSED), None)
        simulated = elapsed is not None
        at_ns = time_ns if elapsed is None else round(elapsed * 1e9)
        for name, labels, value, time_s in samples:
            found.add(name, labels, at_ns if time_s is None else round(time_s * 1e9), value)
    if not found.samples:
        raise refused(url, "answers without a sample")
    batch = Batch(url, found.series(), 1 if simulated else RESOLUTION_NS, unix=not simulated)
    batch.dilation = 1.0 if simulated else dilation_of(batch.series)
    return batch


def _answer(url: str) -> str:
    asked = urllib.request.Request(url, headers={"Accept": "text/plain; version=0.0.4"})  # noqa: S310  http by the caller
    try:
        with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as answer:  # noqa: S310
            data: bytes = answer.read(MAX_BYTES + 1)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise FabricError(f"{url} cannot be read: {error}", "check the address, and that the exporter runs") from error
    if len(data) > MAX_BYTES:
        raise FabricError(f"{url} answers with more than {MAX_BYTES // 2**20} MiB", "name the exporter's own address")
    return data.decode("utf-8", "replace")

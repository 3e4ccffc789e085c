"""Watermarks of a live run are the highest since the last scrape.

The engine's own are the highest since the scenario's last sample, and a run is sampled far more often than it is
scraped: a scrape that showed those would miss most bursts. So the highest of all samples in between is kept until
somebody looks. As on a switch whose watermarks are cleared by reading, two scrapers see what the other left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from fabric.engine.counters import Snapshot

WATERMARKS: Final = {
    "queues": ("watermark_bytes",),
    "pgs": ("watermark_bytes", "headroom_watermark_bytes"),
    "pools": ("watermark_bytes", "headroom_watermark_bytes"),
}
"""Fields of a Snapshot's tables that start anew with every sample (fabric/engine/counters.py reset_watermarks)."""

Look = TypeVar("Look", bound=Snapshot)


class Watermarks:
    """The highest watermarks since the last look; it may begin up to one sample before that look."""

    def __init__(self) -> None:
        self._highest: dict[tuple[str, str], NDArray[np.int64]] = {}

    def sample(self, now: Snapshot) -> None:
        """The watermarks of one more sample."""
        for table, fields in WATERMARKS.items():
            for field in fields:
                values = getattr(now, table)[field]
                before = self._highest.get((table, field))
                self._highest[table, field] = values if before is None else np.maximum(before, values)

    def look(self, now: Look) -> Look:
        """The same Snapshot with the watermarks since the last look, which begin anew."""
        self.sample(now)
        tables = {}
        for table, fields in WATERMARKS.items():
            tables[table] = getattr(now, table).copy()
            for field in fields:
                tables[table][field] = self._highest[table, field]
        self._highest.clear()
        return replace(now, **tables)

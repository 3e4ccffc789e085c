"""Watermarks of a live run: maxima since the last scrape.

The engine's watermarks are maxima since the scenario's last sample. A run is sampled far more often than scraped, so a
scrape of these values would miss most bursts. Therefore the maximum over all samples is kept until the next scrape. As
on a switch with clear-on-read watermarks, two scrapers divide the observations between them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot

WATERMARKS: Final = {
    "queues": ("watermark_bytes",),
    "pgs": ("watermark_bytes", "headroom_watermark_bytes"),
    "pools": ("watermark_bytes", "headroom_watermark_bytes"),
}
"""Fields of a Snapshot's tables that every sample resets (fabric/dataplane/engine/counters.py reset_watermarks)."""

Counters = TypeVar("Counters", bound=Snapshot)


class Watermarks:
    """Maximum watermarks since the last read; the period may begin up to one sample before that read."""

    def __init__(self) -> None:
        self._highest: dict[tuple[str, str], NDArray[np.int64]] = {}

    def sample(self, now: Snapshot) -> None:
        """Add the watermarks of one sample."""
        for table, fields in WATERMARKS.items():
            for field in fields:
                values = getattr(now, table)[field]
                before = self._highest.get((table, field))
                self._highest[table, field] = values if before is None else np.maximum(before, values)

    def read(self, now: Counters) -> Counters:
        """The same Snapshot with the watermarks since the last read; resets them."""
        self.sample(now)
        tables = {}
        for table, fields in WATERMARKS.items():
            tables[table] = getattr(now, table).copy()
            for field in fields:
                tables[table][field] = self._highest[table, field]
        self._highest.clear()
        return replace(now, **tables)

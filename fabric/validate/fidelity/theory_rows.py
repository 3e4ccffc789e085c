"""The rows that compare the `asic` model with theory and with published set-ups, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabric.validate.fidelity import (
    v01_marking,
    v02_headroom,
    v03_watchdog,
    v05_thresholds,
    v12_recovery,
    v15_storm,
)
from fabric.validate.fidelity.table import Row


def rows(_reference: Path | None) -> Sequence[Row]:
    """All of them; none needs a recording."""
    return (
        *v01_marking.ROWS,
        *v02_headroom.ROWS,
        *v03_watchdog.ROWS,
        *v05_thresholds.ROWS,
        *v12_recovery.ROWS,
        *v15_storm.ROWS,
    )

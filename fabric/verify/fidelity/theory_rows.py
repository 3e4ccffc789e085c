"""The rows that compare with theory and with published set-ups, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabric.verify.fidelity import (
    v0_presets,
    v01_marking,
    v02_headroom,
    v03_watchdog,
    v04_oversubscription,
    v05_thresholds,
    v06_fixed_point,
    v07_stability,
    v08_parking_lot,
    v09_victim,
    v10_hpcc_fabric,
    v11_irn,
    v12_recovery,
    v13_loop,
    v14_cycle,
    v15_storm,
    v16_ecmp,
    v17_bmwg,
    v18_control,
    v19_balancing,
)
from fabric.verify.fidelity.table import Row


def rows(_reference: Path | None) -> Sequence[Row]:
    """All of them; none needs a recording."""
    return (
        *v0_presets.ROWS,
        *v01_marking.ROWS,
        *v02_headroom.ROWS,
        *v03_watchdog.ROWS,
        *v04_oversubscription.ROWS,
        *v05_thresholds.ROWS,
        *v06_fixed_point.ROWS,
        *v07_stability.ROWS,
        *v08_parking_lot.ROWS,
        *v09_victim.ROWS,
        *v10_hpcc_fabric.ROWS,
        *v11_irn.ROWS,
        *v12_recovery.ROWS,
        *v13_loop.ROWS,
        *v14_cycle.ROWS,
        *v15_storm.ROWS,
        *v16_ecmp.ROWS,
        *v17_bmwg.ROWS,
        *v18_control.ROWS,
        *v19_balancing.ROWS,
    )

"""The detectors by name; every test of the family runs over this table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from telemetry.anomaly.base import Detector
from telemetry.anomaly.burst import Burst
from telemetry.anomaly.cusum import Cusum
from telemetry.anomaly.ewma import Ewma
from telemetry.anomaly.page_hinkley import PageHinkley
from telemetry.anomaly.robust import RobustZ

DETECTORS: Final[Mapping[str, Callable[[], Detector]]] = {
    "ewma": Ewma,
    "robust": RobustZ,
    "cusum": Cusum,
    "page-hinkley": PageHinkley,
    "burst": Burst,
}

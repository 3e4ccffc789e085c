"""`python -m bench.detectors --write FILE`: detectors of river on the series of telemetry/anomaly/trial.py.

river is no dependency of this package: `uv run --with river python -m bench.detectors --write
telemetry/anomaly/river.json`, then `make docs`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from fabric.errors import FabricError
from telemetry.anomaly.base import Detector, Score
from telemetry.anomaly.trial import measured

_DEVIATIONS: Final = 4.0
"""Standard deviations from which on a scorer alarms."""
_LEARN: Final = 100
"""Samples before the first alarm of a scorer, as in river's GaussianScorer by default."""


class _DriftDetector(Protocol):
    """A detector of river.drift, as far as it is used here."""

    drift_detected: bool

    def update(self, x: float) -> object: ...


class _Transformer(Protocol):
    """A transformer of river.preprocessing, as far as it is used here."""

    def learn_one(self, x: dict[str, float]) -> object: ...

    def transform_one(self, x: dict[str, float]) -> dict[str, float]: ...


class _AnomalyScorer(Protocol):
    """A scorer of river.anomaly, as far as it is used here; it is given no features."""

    def score_one(self, x: None, y: float) -> float: ...

    def learn_one(self, x: None, y: float) -> object: ...


class _Drift:
    """A detector of drift; with a scaler, of the series over its running standard deviation."""

    def __init__(self, its: _DriftDetector, scaler: _Transformer | None = None) -> None:
        self._its, self._scaler = its, scaler

    def update(self, _time_ns: int, value: float) -> Score:
        """One sample."""
        if self._scaler is not None:
            self._scaler.learn_one({"x": value})
            value = float(self._scaler.transform_one({"x": value})["x"])
        self._its.update(value)
        return Score(float(self._its.drift_detected), math.nan)


class _Scorer:
    """A scorer of single samples, which learns after it has scored."""

    def __init__(self, its: _AnomalyScorer, limit: float) -> None:
        self._its, self._limit, self._seen = its, limit, 0

    def update(self, _time_ns: int, value: float) -> Score:
        """One sample."""
        score = float(self._its.score_one(None, value)) / self._limit if self._seen >= _LEARN else 0.0
        self._its.learn_one(None, value)
        self._seen += 1
        return Score(score, math.nan)


def detectors() -> Mapping[str, Callable[[], Detector]]:
    """Those of river for one series. Raises: FabricError where it is not installed."""
    try:
        drift, anomaly, preprocessing = (
            importlib.import_module(f"river.{it}") for it in ("drift", "anomaly", "preprocessing")
        )
    except ImportError as error:
        raise FabricError("river is not installed", "uv run --with river python -m bench.detectors") from error
    share = math.erf(_DEVIATIONS / math.sqrt(2))  # of a normal distribution within so many deviations
    return {
        "ADWIN": lambda: _Drift(drift.ADWIN()),
        "PageHinkley, scaled": lambda: _Drift(drift.PageHinkley(), preprocessing.StandardScaler()),
        "GaussianScorer": lambda: _Scorer(anomaly.GaussianScorer(), share),
        "StandardAbsoluteDeviation": lambda: _Scorer(anomaly.StandardAbsoluteDeviation(), _DEVIATIONS),
    }


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.detectors", description=__doc__)
    parser.add_argument("--write", metavar="FILE", type=Path, help="figures as JSON; default standard output")
    args = parser.parse_args()
    makes = detectors()
    version = str(importlib.import_module("river").__version__)
    text = json.dumps({"version": version, "faults": measured(makes)}, indent=1) + "\n"
    if args.write is None:
        sys.stdout.write(text)
    else:
        args.write.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Detectors: no alarm without an anomaly, an alarm for an anomaly, and a state of constant size."""

from __future__ import annotations

import pickle
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.anomaly.registry import DETECTORS
from telemetry.anomaly.scan import scan
from telemetry.anomaly.trial import BEGIN, FAULTS, NOISES, alarms, trial
from telemetry.record.store import Store

LEARNING: Final = [name for name in DETECTORS if name != "burst"]
"""Those that learn what is usual; a burst is about a share's fixed level."""
GOOD_AT: Final = {
    "step of 4 sigma": ("cusum", "page-hinkley"),
    "spike of 12 sigma": ("ewma", "robust"),
    "drift of 0.1 sigma a sample": ("cusum", "page-hinkley"),
    "step of 4 sigma, heavy tails": ("page-hinkley",),
    "pause burst of 30 %": ("burst", "page-hinkley"),
    "steps of a job at two thirds of their rate": (),  # no series of its own has a normal value
}


@pytest.mark.parametrize(
    ("name", "value"),
    [*((name, value) for name in DETECTORS for value in (0.0, 0.01)), *((name, 5e9) for name in LEARNING)],
)
def test_a_constant_series_never_alarms(name: str, value: float) -> None:
    assert alarms(DETECTORS[name](), np.full(2000, value)) == []


@pytest.mark.parametrize("name", LEARNING)
def test_normal_noise_hardly_ever_alarms(name: str) -> None:
    found = sum(len(alarms(DETECTORS[name](), NOISES["normal"](np.random.default_rng(seed)))) for seed in range(50))
    assert found <= 1, "30,000 samples"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_detector_finds_the_faults_that_it_is_for(fault: str) -> None:
    for name in GOOD_AT[fault]:
        result = trial(DETECTORS[name], fault, trials=100)
        assert result.recall >= 0.95, name
        assert result.precision is not None
        assert result.precision >= 0.9, name


def test_a_burst_is_found_within_its_hold_and_ends_below_its_release() -> None:
    values = np.r_[np.zeros(10), np.full(10, 0.3), np.full(5, 0.03), np.zeros(10)]
    detector = DETECTORS["burst"]()
    loud = [row for row, value in enumerate(values.tolist()) if detector.update(row, value).alarm]
    assert loud == list(range(12, 25)), "three samples above, until below the lower level"


@pytest.mark.parametrize("name", LEARNING)
@given(scale=st.sampled_from([1e-3, 1.0, 1e6]), shift=st.sampled_from([0.0, 64.0]))
def test_a_detector_does_not_care_for_the_unit(name: str, scale: float, shift: float) -> None:
    values = FAULTS["step of 4 sigma"][1](NOISES["normal"](np.random.default_rng(5)))
    assert alarms(DETECTORS[name](), (values + shift) * scale) == alarms(DETECTORS[name](), values)


@pytest.mark.parametrize("name", DETECTORS)
def test_the_state_of_a_detector_does_not_grow(name: str) -> None:
    detector = DETECTORS[name]()
    rng = np.random.default_rng(1)
    sizes = []
    for row in range(5000):
        detector.update(row, float(rng.random()))
        if row in {100, 4999}:
            sizes.append(len(pickle.dumps(detector)))
    assert sizes[1] - sizes[0] <= 16, "numbers grow longer, lists would grow by thousands"


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize(("time_ns", "value"), [(5, 1.0), (4, 1.0), (6, float("nan")), (6, float("inf"))])
def test_a_sample_out_of_order_or_not_finite_is_refused(name: str, time_ns: int, value: float) -> None:
    detector = DETECTORS[name]()
    detector.update(5, 1.0)
    with pytest.raises(ValueError, match=r"does not follow|is not a finite number"):
        detector.update(time_ns, value)


def test_a_step_is_seen_where_it_is() -> None:
    values = FAULTS["step of 4 sigma"][1](NOISES["normal"](np.random.default_rng(3)))
    found = alarms(DETECTORS["page-hinkley"](), values)
    assert found
    assert BEGIN <= found[0] < BEGIN + 15


def test_a_scan_names_the_series_that_went_wrong_and_no_other() -> None:
    store = Store()
    for sample in range(100):
        store.begin(sample * 1000)
    for port, share in (("bad", 0.5), ("good", 0.001)):
        track = store.track("fabric_pfc_receive_paused_seconds_total")
        track.labels.append((("device", "leaf1"), ("port", port), ("priority", "3")))
        row = np.array([len(track.labels) - 1], np.int32)
        for sample in range(100):
            paused = max(sample - 50, 0) * share * 1e-6
            track.append(sample, row, np.array([paused]))
    found = scan(store)
    assert [(it.labels["port"], it.detector, it.time_ns) for it in found] == [("bad", "burst", 53_000)]

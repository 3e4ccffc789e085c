"""The rule that finds a warm-up: on drawn series whose transient is known, and on runs of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fabric.cli.main import main
from fabric.studies.plan import load_study
from fabric.studies.warm_up import BATCH, FEWEST_SAMPLES, QUANTITIES, mser5, warm_up_of
from fabric.units import parse_time_ps
from tests.studies.small_study import written


def settling(transient: float, count: int, seed: int = 1, start: float = 0.0) -> Any:  # noqa: ANN401  an array
    """A queue that fills from `start` to 10 with this time constant, with correlated noise."""
    noise, found = np.random.default_rng(seed).normal(0, 0.5, count), np.zeros(count)
    for place in range(1, count):
        found[place] = 0.7 * found[place - 1] + noise[place]
    return 10 + (start - 10) * np.exp(-np.arange(count) / max(transient, 1e-9)) + found


@pytest.mark.parametrize("seed", range(6))
def test_the_transient_is_left_out_and_the_mean_is_that_of_the_steady_state(seed: int) -> None:
    values = settling(40, 1000, seed)
    cut = mser5(values)
    assert cut is not None
    assert 40 <= cut <= 400
    assert abs(values[cut:].mean() - 10) < abs(values.mean() - 10)


def test_a_series_without_a_transient_keeps_almost_all_of_its_samples() -> None:
    cuts = [mser5(settling(0, 1000, seed, start=10)) for seed in range(9)]
    assert sorted(1000 if it is None else it for it in cuts)[4] <= 100
    assert mser5([3.0] * FEWEST_SAMPLES) == 0


def test_a_series_that_never_settles_has_no_warm_up() -> None:
    assert mser5(np.arange(1000.0)) is None
    assert mser5(np.concatenate([np.zeros(700), np.ones(300)])) is None


def test_a_transient_that_ends_in_the_middle_is_the_longest_that_is_left_out() -> None:
    n = FEWEST_SAMPLES
    assert mser5(np.concatenate([np.zeros(n // 2), np.ones(n // 2)])) == n // 2
    later = n // 2 + BATCH
    assert mser5(np.concatenate([np.zeros(later), np.ones(n - later)])) is None


def test_fewer_samples_than_needed_have_no_warm_up() -> None:
    assert mser5([1.0] * (FEWEST_SAMPLES - 1)) is None
    assert mser5([1.0] * FEWEST_SAMPLES) == 0


def arrivals(folder: Path, stop: str, interval: str = "2us") -> Path:
    load = {"kind": "poisson", "sizes": "fixed", "size": "20KB", "load": 0.5, "stop": stop}
    return written(
        folder,
        repetitions={"seeds": 2},
        set={"workload[0]": load, "telemetry.interval": interval},
        measures=["goodput.total"],
    )


def test_pilot_runs_of_steady_arrivals_give_a_warm_up_of_some_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = arrivals(tmp_path, "600us")
    found = warm_up_of(load_study(file))
    assert [it.quantity for it in found.settlings] == list(QUANTITIES)
    assert {it.interval_ps for it in found.settlings} == {2_000_000}
    assert found.warm_up_ps is not None
    assert found.warm_up_ps < 300_000_000
    assert main(["sweep", str(file), "--warm-up", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["warm_up_ns"] == found.warm_up_ps / 1000
    assert told["seeds"] == 2


@pytest.mark.parametrize(("interval", "duration"), [("3us", "601us"), ("2us", None)])
def test_the_grid_is_the_scenario_s_although_the_last_sample_is_beside_it(
    interval: str, duration: str | None, tmp_path: Path
) -> None:
    file = arrivals(tmp_path, "600us", interval)
    study = yaml.safe_load(file.read_text(encoding="utf-8"))
    study["set"] |= {"transport.cc": "none", "run.duration": duration or "5ms"}
    file.write_text(yaml.safe_dump(study), encoding="utf-8")
    found = warm_up_of(load_study(file))
    expected = parse_time_ps(interval)
    assert {it.interval_ps for it in found.settlings} == {expected}
    assert all(it.samples <= 600_000_000 // expected for it in found.settlings)


def test_messages_that_are_posted_at_once_have_no_steady_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, repetitions={"seeds": 1})
    assert main(["sweep", str(file), "--warm-up"]) == 1
    assert "0 samples while messages are posted" in " ".join(capsys.readouterr().out.split())
    assert main(["sweep", str(file), "--warm-up", "--workers", "2", "--estimate"]) == 2
    told = capsys.readouterr().err
    for option in ("--workers", "--estimate"):
        assert f"{option}: has no effect with --warm-up" in told

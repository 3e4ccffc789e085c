"""Checkpoints, failures, inference, power: figures that were computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fabric.jobs import inference, power, reliability
from fabric.jobs.model import parameters
from fabric.jobs.presets import MODELS

M = 11_135.0


def test_checkpoints_of_70_billion_parameters() -> None:
    size = reliability.checkpoint_bytes(70 * 10**9)
    assert size == 980 * 10**9
    assert round(reliability.written_bytes_per_day(size, 3600) / 1e12, 1) == 23.5
    less = reliability.checkpoint_bytes(70 * 10**9, bytes_per_parameter=12)
    assert round(reliability.written_bytes_per_day(less, 3600) / 1e12, 1) == 20.2


def test_writers_are_one_replica_or_all_ranks() -> None:
    assert reliability.writer_bytes(1000, 64, 8, all_ranks=False) == (8, 125)
    assert reliability.writer_bytes(1000, 64, 8, all_ranks=True) == (64, 16)
    assert reliability.restore_bytes(1000, 8) == 8000
    assert reliability.restore_bytes(1000, 8, broadcast=True) == 1000


def test_a_write_is_bounded_by_nics_or_by_storage() -> None:
    assert reliability.write_seconds(10**12, 8, 400 * 10**9, 2e12) == 2.5
    assert reliability.write_seconds(10**12, 8000, 400 * 10**9, 2e12) == 0.5


def test_an_asynchronous_checkpoint_stalls_for_the_copy_and_the_overrun() -> None:
    args = {"host_copy_bytes_per_s": 1e9, "write_s": 30.0, "interval_s": 100.0}
    assert reliability.checkpoint_stall_seconds(8 * 10**9, 8, asynchronous=False, **args) == 30
    assert reliability.checkpoint_stall_seconds(8 * 10**9, 8, asynchronous=True, **args) == 1
    late = {**args, "write_s": 120.0}
    assert reliability.checkpoint_stall_seconds(8 * 10**9, 8, asynchronous=True, **late) == 1 + 21


def test_failures_of_llama_3() -> None:
    seconds = 54 * reliability.SECONDS_PER_DAY
    between = reliability.mean_time_between_failures(seconds, 419)
    assert round(between / 3600, 2) == 3.09
    slot = reliability.slot_mtbf_seconds(between, 16_384)
    assert round(slot / 3600) == 50_677
    assert reliability.system_mtbf_seconds(slot, 16_384) == pytest.approx(between)
    assert reliability.expected_failures(seconds, slot, 16_384) == pytest.approx(419)


@pytest.mark.parametrize(
    ("cost", "young", "daly", "lost", "lost_300"),
    [(30, 817, 797, 7.3, 10.0), (60, 1156, 1116, 10.4, 13.1), (300, 2585, 2389, 23.2, 25.9)],
)
def test_intervals_between_checkpoints(cost: int, young: int, daly: int, lost: float, lost_300: float) -> None:
    assert round(reliability.young_interval(cost, M)) == young
    assert round(reliability.daly_interval(cost, M)) == daly
    interval = reliability.young_interval(cost, M)
    assert round(100 * reliability.lost_share(interval, cost, M), 1) == lost
    assert round(100 * reliability.lost_share(interval, cost, M, 300), 1) == lost_300
    assert reliability.goodput_ratio(interval, cost, M) == 1 - reliability.lost_share(interval, cost, M)


def test_daly_gives_the_mtbf_where_a_checkpoint_is_that_dear() -> None:
    assert reliability.daly_interval(200, 100) == 100
    assert reliability.daly_interval(199.9, 100) != 100
    assert reliability.lost_share(10, 100, 5) == 1


def test_no_other_interval_loses_less_than_youngs() -> None:
    best = reliability.young_interval(60, M)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert reliability.lost_share(best * factor, 60, M) > reliability.lost_share(best, 60, M)


def test_dataset_reads_are_small_and_checkpoints_counted() -> None:
    assert reliability.dataset_bytes_per_step(16 * 10**6) == 64 * 10**6
    assert [reliability.checkpoints_in(t, 100) for t in (100, 101, 250)] == [0, 1, 2]


@pytest.mark.parametrize(("name", "size"), [("llama3-8b", 131_072), ("llama3-70b", 327_680), ("llama3-405b", 516_096)])
def test_key_value_cache_of_a_token(name: str, size: int) -> None:
    assert inference.kv_bytes_per_token(MODELS[name]) == size


def test_a_prompts_cache_takes_54_ms_on_one_nic() -> None:
    model = MODELS["llama3-70b"]
    assert inference.kv_bytes_per_token(model) * 8192 == 2_684_354_560
    assert round(1000 * inference.kv_transfer_seconds(model, 8192, 400 * 10**9)) == 54
    assert inference.kv_transfer_seconds(model, 8192, 400 * 10**9, 8) * 8 == pytest.approx(0.0537, rel=1e-3)


def test_layer_by_layer_only_the_last_layer_is_exposed_unless_the_network_is_slower() -> None:
    model = MODELS["llama3-70b"]
    whole = inference.kv_transfer_seconds(model, 8192, 400 * 10**9)
    assert inference.exposed_transfer_seconds(model, 8192, 400 * 10**9, 1.0) == whole / 80
    fast = inference.exposed_transfer_seconds(model, 8192, 400 * 10**9, 0.01)
    assert fast == pytest.approx(whole - 0.01 + 0.01 / 80)


def test_prefill_and_decode_bounds() -> None:
    model = MODELS["llama3-70b"]
    flop = 8192 * (2 * parameters(model) + 2 * 80 * 8192 * 8192)
    assert inference.prefill_flop(model, 8192) == flop
    assert inference.prefill_seconds(model, 8192, 8, 989e12) == pytest.approx(flop / 8 / 989e12)
    read = 2 * parameters(model) + 4 * 1000 * 327_680
    assert inference.decode_seconds(model, 4, 1000, 8, 3.35e12) == pytest.approx(read / 8 / 3.35e12)
    waits = inference.decode_seconds(model, 4, 1000, 8, 3.35e12, collective_s=1e-5, tensor_parallel=True)
    assert waits - inference.decode_seconds(model, 4, 1000, 8, 3.35e12) == pytest.approx(160e-5)
    assert inference.collectives_per_token(model) == 160
    assert inference.decode_all_reduce_bytes(model, 4) == 65_536


def test_tokens_times_and_goodput() -> None:
    assert inference.time_to_first_token(1, 2, 3) == 6
    assert inference.time_per_output_token(1.0, 3.0, 5) == 0.5
    with pytest.raises(ValueError, match="one token"):
        inference.time_per_output_token(1.0, 1.0, 1)
    requests = [inference.Request(0.5, 0.05), inference.Request(0.6, 0.05), inference.Request(0.5, 0.06)]
    assert inference.goodput(requests, 0.5, 0.05, 2.0) == 0.5


def test_power_of_16384_gpus_swings_by_7_megawatts() -> None:
    assert power.swing_watts(16_384, 700, 250) == 7_372_800


def test_a_lag_bounds_the_steepness_and_keeps_the_levels() -> None:
    phases = [[power.Phase(0.1, 700), power.Phase(0.1, 250)]]
    sharp = power.power_series(phases, 0.001, lag_s=0, weights=[16_384])
    smooth = power.power_series(phases, 0.001, weights=[16_384])
    assert sharp[0] == smooth[0] == 16_384 * 700
    assert sharp[-1] == 16_384 * 250
    assert smooth[-1] == pytest.approx(sharp[-1], rel=1e-6)
    bound = 7_372_800 / 0.005
    assert power.steepest_watts_per_s(smooth, 0.001) <= bound < power.steepest_watts_per_s(sharp, 0.001)
    assert power.steepest_watts_per_s(smooth, 0.001) == pytest.approx(7_372_800 * (1 - np.exp(-0.2)) / 0.001)


def test_the_spectrum_of_steps_lies_at_their_rate() -> None:
    steps = [power.Phase(0.7, 700), power.Phase(0.3, 300)] * 20
    series = power.power_series([steps], 0.01)[:-1]
    hertz, amplitude = power.spectrum(series, 0.01)
    assert hertz[np.argmax(amplitude)] == pytest.approx(1.0)
    # Fourier: harmonic n has sin^2(0.7 n pi)/n^2 of the sum 0.21 pi^2 / 2; three of them lie below 3 Hz.
    sharp = power.power_series([steps], 0.01, lag_s=0)[:-1]
    three = sum(np.sin(0.7 * n * np.pi) ** 2 / n**2 for n in (1, 2, 3)) / (0.21 * np.pi**2 / 2)
    assert power.band_share(sharp, 0.01, 0.2, 3.01) == pytest.approx(three, rel=1e-3)
    assert power.band_share(series, 0.01, 0.2, 3.01) > three
    assert power.band_share(np.ones(10), 0.01, 0.2, 3) == 0


def test_groups_that_change_at_different_times_swing_less() -> None:
    early, late = ([power.Phase(a, 700), power.Phase(1 - a, 250)] for a in (0.4, 0.6))
    together = power.power_series([early, early], 0.01)
    apart = power.power_series([early, late], 0.01)
    assert power.steepest_watts_per_s(apart, 0.01) < power.steepest_watts_per_s(together, 0.01)


def test_a_sine_has_its_amplitude_in_the_spectrum() -> None:
    at = np.arange(1000) * 0.001
    hertz, amplitude = power.spectrum(5 + 3 * np.sin(2 * np.pi * 10 * at), 0.001)
    assert amplitude[np.searchsorted(hertz, 10)] == pytest.approx(3)

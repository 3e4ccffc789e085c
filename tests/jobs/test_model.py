"""Parameters, work, memory: published figures to the byte."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from fabric.jobs.memory import activation_bytes, in_flight, model_state
from fabric.jobs.model import (
    active_parameters,
    layer_parameters,
    model_flops_utilisation,
    parameters,
    rule_of_thumb_work,
    step_work,
)
from fabric.jobs.presets import MODELS

GPT = MODELS["gpt3-175b"]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("llama3-8b", 8_030_261_248),
        ("llama3-70b", 70_553_706_496),
        ("llama3-405b", 405_853_388_800),
        ("gpt3-175b", 174_604_234_752),
        ("mixtral-8x7b", 46_702_792_704),
    ],
)
def test_presets_have_the_published_number_of_parameters(name: str, count: int) -> None:
    assert parameters(MODELS[name]) == count


def test_active_parameters_count_the_experts_of_a_token_only() -> None:
    mixtral = MODELS["mixtral-8x7b"]
    assert active_parameters(mixtral) == 12_879_925_248
    assert active_parameters(replace(mixtral, experts_per_token=8)) == parameters(mixtral)
    assert active_parameters(GPT) == parameters(GPT)


@pytest.mark.parametrize(("h", "layers", "vocabulary", "s"), [(1024, 24, 50_257, 1024), (96, 2, 17, 5)])
def test_gpt_parameters_follow_the_formula(h: int, layers: int, vocabulary: int, s: int) -> None:
    model = replace(
        GPT, layers=layers, hidden=h, feed_forward=4 * h, heads=8, kv_heads=8, vocabulary=vocabulary, sequence=s
    )
    assert parameters(model) == 12 * layers * h * h + 13 * layers * h + (vocabulary + s) * h


def test_llama_parameters_follow_the_formula_with_grouped_queries() -> None:
    model = replace(MODELS["llama3-8b"], layers=3, hidden=48, feed_forward=100, heads=6, kv_heads=2, vocabulary=11)
    h, kd, f = 48, 16, 100
    assert parameters(model) == 3 * (2 * h * h + 2 * h * kd + 3 * h * f + 2 * h) + 2 * 11 * h + h


def test_the_work_of_a_step_is_the_formula_of_the_papers() -> None:
    model = replace(GPT, vocabulary=51_200)
    batch, s, layers, h, v = 1536, 2048, 96, 12288, 51_200
    tokens = batch * s
    full = 96 * batch * s * layers * h * h * (1 + Fraction(s, 6 * h) + Fraction(v, 16 * layers * h))
    own = 72 * batch * s * layers * h * h * (1 + Fraction(s, 6 * h) + Fraction(v, 12 * layers * h))
    assert step_work(model, tokens, s, recomputed=True) == full
    assert step_work(model, tokens, s) == own
    assert f"{float(full):.3e}" == "4.511e+18"
    assert f"{float(own):.3e}" == "3.386e+18"


def test_causal_attention_has_half_of_the_scores() -> None:
    whole, half = (step_work(GPT, 2048, 2048, causal=causal) for causal in (False, True))
    assert whole - half == 12 * 96 * 12288 * 2048 * 2048 // 2


def test_six_floating_point_operations_a_parameter_and_token_match_llama_3() -> None:
    assert f"{rule_of_thumb_work(405 * 10**9, 15_600 * 10**9):.2e}" == "3.79e+25"
    seconds = rule_of_thumb_work(405 * 10**9, 2**24) / (8192 * 430e12)
    assert round(seconds, 1) == 11.6
    work = rule_of_thumb_work(405 * 10**9, 2**24)
    assert round(model_flops_utilisation(work, seconds, 8192, 989e12), 2) == 0.43
    assert rule_of_thumb_work(1, 1, recomputed=True) == 8


@pytest.mark.parametrize(("zero", "total"), [(0, 120e9), (1, 31.40625e9), (2, 16.640625e9), (3, 1.875e9)])
def test_model_state_by_zero_stage_is_that_of_the_paper(zero: int, total: float) -> None:
    assert model_state(7_500_000_000, zero, 64).total_bytes == total


def test_shards_are_rounded_up_to_whole_parameters() -> None:
    assert model_state(10, 3, 4).total_bytes == 3 * 16
    assert model_state(10, 0, 4, gradient_bytes=4).gradients_bytes == 40


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 2_868_903_936),
        ({"tp": 8}, 578_813_952),
        ({"tp": 8, "sequence_parallel": True}, 358_612_992),
        ({"tp": 8, "sequence_parallel": True, "recompute": "selective"}, 106_954_752),
        ({"tp": 8, "sequence_parallel": True, "flash": True}, 106_954_752),
        ({"tp": 8, "recompute": "full"}, 50_331_648),
        ({"tp": 8, "sequence_parallel": True, "recompute": "full"}, 50_331_648 // 8),
    ],
)
def test_activations_of_a_layer_are_those_of_the_paper(options: dict[str, object], size: int) -> None:
    assert activation_bytes(GPT, 2048, 1, **options) == size  # type: ignore[arg-type]


def test_activations_grow_with_the_micro_batch_and_shrink_with_context_parallelism() -> None:
    one = activation_bytes(GPT, 2048, 1, flash=True)
    assert activation_bytes(GPT, 2048, 3, flash=True) == 3 * one
    assert activation_bytes(GPT, 2048, 1, flash=True, cp=2) == one // 2


def test_a_gated_layer_keeps_gate_up_and_product() -> None:
    model = replace(MODELS["llama3-8b"], hidden=64, feed_forward=160, heads=8, kv_heads=2)
    h, f, kd = 64, 160, 16
    assert activation_bytes(model, 32, 1, flash=True) == 32 * (4 * h + 4 * h + 2 * h + 4 * kd + 2 * h + 6 * f)
    assert activation_bytes(model, 32, 1) - activation_bytes(model, 32, 1, flash=True) == 2 * 8 * 32 * 32


@pytest.mark.parametrize(
    ("schedule", "stage", "v", "m", "expected"),
    [
        ("gpipe", 3, 1, 9, 9),
        ("1f1b", 0, 1, 9, 4),
        ("1f1b", 3, 1, 9, 1),
        ("1f1b", 0, 1, 2, 2),
        ("interleaved", 0, 2, 8, Fraction(4) * (1 + Fraction(3, 8))),
        ("interleaved", 3, 2, 4, 4),
    ],
)
def test_micro_batches_in_flight(schedule: str, stage: int, v: int, m: int, expected: Fraction) -> None:
    assert in_flight(schedule, stage, 4, m, v) == expected


def test_layers_of_models_add_up() -> None:
    of = layer_parameters(MODELS["mixtral-8x7b"])
    assert of.total == 1_451_270_144
    assert of.experts == 8

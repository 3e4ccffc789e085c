"""Volumes of a step: hand-computed and published ones; groups of ranks; buckets."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from small_jobs import job

from fabric.jobs.buckets import buckets, units
from fabric.jobs.job import Job, rank_memory, stage_held
from fabric.jobs.load import load_job
from fabric.jobs.model import parameters
from fabric.jobs.parallel import Parallel, crossing_edges
from fabric.jobs.presets import JOBS
from fabric.jobs.volumes import Volume, kind_totals, packed_nodes, stage_volumes


def preset(name: str, **changes: object) -> Job:
    return load_job({**JOBS[name], **changes}, name).job


def volume(made: Job, stage: int, kind: str, name: str) -> Volume:
    found = [each for each in stage_volumes(made, stage) if each.kind == kind and each.name == name]
    assert len(found) == 1
    return found[0]


def test_llama_3_405b_sends_what_was_computed_for_its_first_layout() -> None:
    made = preset("llama3-405b-8192")
    assert made.tensor_bytes == 268_435_456
    gather = next(v for v in stage_volumes(made, 3) if v.operation == "all-gather" and v.name == "attention forward")
    assert gather.rank_bytes // gather.calls == 234_881_024
    assert volume(made, 3, "pp", "activations forward").size_bytes == 33_554_432
    weights = volume(made, 3, "dp", "weights")
    assert weights.members == 64
    assert weights.rank_bytes == pytest.approx(6.24e9, rel=0.01)


def test_tokens_of_a_step_are_the_published_16_million() -> None:
    for name in ("llama3-405b-8192", "llama3-405b-16384", "llama3-405b-long"):
        assert preset(name).tokens == 2**24


def test_a_dispatch_among_64_ranks_sends_what_was_computed() -> None:
    # 16,384 tokens a rank, two experts each, 4,096 elements of two bytes; 1/64 stays.
    made = preset(
        "mixtral-8x7b",
        model={
            "name": "moe", "layers": 2, "hidden": 4096, "feed_forward": 64, "heads": 32, "vocabulary": 64,
            "sequence": 16_384, "experts": 64, "experts_per_token": 2,
        },
        parallel={"dp": 64, "ep": 64},
        batch={"sequence": 16_384, "micro_batches": 1},
    )  # fmt: skip
    dispatch = volume(made, 0, "ep", "dispatch forward")
    assert dispatch.calls == 2
    assert dispatch.rank_bytes // dispatch.calls == 264_241_152
    assert dispatch.size_bytes // 64 == 4_194_304


@pytest.mark.parametrize(("zero", "factor"), [(0, 2 * 2), (1, 2 + 2), (2, 2 + 2), (3, 2 + 2 + 2)])
def test_zero_stages_send_the_multiples_of_the_paper(zero: int, factor: int) -> None:
    made = job(parallel__dp=4, memory__zero=zero, memory__gradients="bf16", batch__micro_batches=1)
    held = stage_held(made, 0).total
    total = kind_totals(made, np.zeros(4, np.int64))["dp"].total_bytes
    assert total == 3 * held * factor


def test_zero_3_gathers_per_micro_batch_unless_kept() -> None:
    def total(**changes: object) -> int:
        made = job(parallel__dp=2, memory__zero=3, memory__gradients="bf16", **changes)
        return kind_totals(made, np.zeros(2, np.int64))["dp"].total_bytes // (2 * stage_held(made, 0).total)

    assert total(batch__micro_batches=4) == 4 + 4 + 1
    assert total(batch__micro_batches=4, memory__keep_gathered=True) == 1 + 1
    assert total(batch__micro_batches=4, memory__reduce_each_micro_batch=True) == 4 + 4 + 4


def test_full_recomputation_adds_two_all_reduces_a_layer() -> None:
    plain, again = (job(parallel__tp=2, memory__recompute=r, batch__micro_batches=1) for r in ("none", "full"))

    def calls(made: Job) -> int:
        blocks = ("attention", "feed-forward")
        return sum(each.calls for each in stage_volumes(made, 0) if each.name.startswith(blocks))

    assert calls(plain) == 4 * 4
    assert calls(again) == 4 * 6


def test_sequence_parallelism_sends_as_much_and_gathers_inputs_again() -> None:
    plain, sharded = (job(parallel__tp=2, parallel__sequence_parallel=s) for s in (False, True))
    place = np.zeros(2, np.int64)
    extra = sum(each.group_bytes * each.calls for each in stage_volumes(sharded, 0) if "weight gradients" in each.name)
    assert extra > 0
    assert kind_totals(sharded, place)["tp"].total_bytes - extra == kind_totals(plain, place)["tp"].total_bytes


def test_interleaving_multiplies_the_messages_between_stages() -> None:
    plain = job(parallel__pp=2)
    often = job(parallel__pp=2, parallel__virtual_stages=2, pipeline__schedule="interleaved")
    sent = [sum(v.calls for v in stage_volumes(each, 0) if v.kind == "pp") for each in (plain, often)]
    # Stage 0 plain: m forward. With two chunks: 2 m forward, and m backward from its second chunk.
    assert sent == [4, 12]


def test_stages_hold_all_parameters_together() -> None:
    for name in ("llama3-405b-8192", "mixtral-8x7b", "llama3-70b"):
        made = preset(name)
        held = [stage_held(made, stage) for stage in range(made.parallel.pp)]
        t, norms = made.parallel.tp, (2 * made.model.layers + 1) * made.model.hidden
        router = made.model.layers * made.model.hidden * made.model.experts
        whole = sum(each.dense * t + each.experts * made.parallel.ep for each in held) - (t - 1) * (norms + router)
        assert whole == parameters(made.model)


def test_a_padded_vocabulary_is_held_in_whole_rows() -> None:
    whole, padded = (job(model__vocabulary=v, parallel__tp=4) for v in (24, 21))
    assert stage_held(whole, 0) == stage_held(padded, 0)


def test_memory_of_stages_is_that_of_their_chunks() -> None:
    made = job(parallel__pp=2, batch__micro_batches=8)
    first, last = (rank_memory(made, stage) for stage in (0, 1))
    assert first.activations_bytes == 2 * last.activations_bytes
    assert first.state.optimizer_bytes == 12 * stage_held(made, 0).total
    assert first.total_bytes == first.state.total_bytes + first.activations_bytes


@pytest.mark.parametrize("order", list(permutations(("tp", "cp", "dp", "pp"))))
def test_groups_are_cosets_of_their_axes_in_every_order(order: tuple[str, ...]) -> None:
    parallel = Parallel(tp=2, pp=3, dp=4, cp=2, ep=2, order=order)  # type: ignore[arg-type]
    at = parallel.coordinates()
    strides = {}
    stride = 1
    for axis in order:
        strides[axis] = stride
        stride *= getattr(parallel, axis)
    rank = np.arange(parallel.n_ranks)
    assert all((rank // strides[axis] % getattr(parallel, axis) == at[axis]).all() for axis in order)
    for kind, varying in (("tp", "tp"), ("cp", "cp"), ("dp", "dp"), ("pp", "pp"), ("gradients", "dp cp")):
        groups = parallel.groups(kind)
        assert sorted(groups.ravel()) == list(range(parallel.n_ranks))
        for axis in order:
            same = (at[axis][groups] == at[axis][groups][:, :1]).all()
            assert same == (axis not in varying.split()), (kind, axis)
    experts, copies = parallel.groups("ep"), parallel.groups("expert-gradients")
    assert experts.shape == (24, 2)
    assert copies.shape == (12, 4)
    # A rank meets another in both of its groups only in itself.
    for group in experts:
        for rank_ in group:
            row = copies[(copies == rank_).any(axis=1)][0]
            assert set(group) & set(row) == {rank_}


def test_ranks_of_llama_3_put_pipeline_neighbours_beside_each_other() -> None:
    parallel = preset("llama3-405b-8192").parallel
    assert parallel.groups("tp")[0].tolist() == list(range(8))
    assert parallel.groups("pp")[0].tolist() == list(range(0, 128, 8))
    assert parallel.groups("dp")[0].tolist() == list(range(0, 8192, 128))


def test_edges_that_leave_a_place_are_counted() -> None:
    groups = np.array([[0, 1, 2, 3]])
    place = np.array([0, 0, 1, 1])
    assert crossing_edges(groups, place, pairs=False) == (2, 4)
    assert crossing_edges(groups, place, pairs=True) == (8, 12)
    assert crossing_edges(groups[:, :1], place, pairs=True) == (0, 0)


def test_bytes_between_nodes_follow_the_order_of_ranks() -> None:
    inside = job(parallel__tp=2, parallel__dp=2, gpus_per_node=2)
    across = job(parallel__tp=2, parallel__dp=2, gpus_per_node=2, parallel__order=["dp", "tp", "cp", "pp"])
    for made, kind in ((inside, "tp"), (across, "dp")):
        totals = kind_totals(made, packed_nodes(made))
        assert totals[kind].crossing_bytes == 0
        other = {"tp", "dp"} - {kind}
        assert all(totals[name].crossing_bytes == totals[name].total_bytes for name in other)


@pytest.mark.parametrize("most", [1, 3, 4, 7, 100])
def test_buckets_hold_every_gradient_once_and_are_ready_when_full(most: int) -> None:
    sizes = [5, 0, 9, 2]
    found = buckets(sizes, most)
    assert sum(bucket.elements for bucket in found) == sum(sizes)
    before = np.cumsum(sizes)
    for number, bucket in enumerate(found):
        filled = sum(each.elements for each in found[: number + 1])
        assert filled <= before[bucket.ready_after]
        assert bucket.ready_after == 0 or filled > before[bucket.ready_after - 1]
    assert all(bucket.elements == most for bucket in found[:-1])


def test_gradients_become_ready_from_the_last_layer_backwards() -> None:
    made = job()
    assert [unit.name for unit in units(made, 0)] == ["output", "3", "2", "1", "0", "embedding"]
    assert sum(unit.dense for unit in units(made, 0)) == parameters(made.model)

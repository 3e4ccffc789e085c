"""A lowered step sends the bytes of the plan, and takes the time of the formulas where the network takes none."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from small_jobs import job, rings

from fabric.collectives.execution import Execution
from fabric.collectives.longest_path import Link, of_transfers
from fabric.collectives.transfers import Event
from fabric.jobs.compute import chunk_ps
from fabric.jobs.job import Job
from fabric.jobs.lowering import LoweredJob, lower
from fabric.jobs.pipeline import longest_path, orders
from fabric.jobs.rows import KINDS
from fabric.jobs.volumes import kind_totals

US = 10**6
FREE = Link(0, 0)
SP = {"parallel__tp": 2, "parallel__sequence_parallel": True}
EXPERTS = {"model__experts": 4, "model__experts_per_token": 2}
CASES: dict[str, dict[str, Any]] = {
    "alone": {},
    "tensor": {"parallel__tp": 4},
    "sequence parallel": SP,
    "full recomputation": {**SP, "memory__recompute": "full"},
    "tensor, full recomputation": {"parallel__tp": 2, "memory__recompute": "full"},
    "pipeline": {"parallel__pp": 4},
    "gpipe": {"parallel__pp": 2, "pipeline__schedule": "gpipe", **SP},
    "interleaved": {"parallel__pp": 2, "parallel__virtual_stages": 2, "pipeline__schedule": "interleaved", **SP},
    "uneven stages": {"parallel__pp": 2, "parallel__layers": [1, 3]},
    "blocking": {"parallel__pp": 2, "pipeline__sends": "blocking"},
    "tied embeddings": {"parallel__pp": 2, "model__tied_embeddings": True, "parallel__dp": 2},
    "gpt": {"parallel__pp": 2, "model__style": "gpt", "parallel__tp": 2},
    "data": {"parallel__dp": 3},
    "data, 16-bit gradients": {"parallel__dp": 2, "memory__gradients": "bf16"},
    "data, each micro-batch": {"parallel__dp": 2, "memory__reduce_each_micro_batch": True},
    "zero 1": {"parallel__dp": 4, "memory__zero": 1},
    "zero 2": {"parallel__dp": 4, "memory__zero": 2, "memory__reduce_each_micro_batch": True, **SP},
    "zero 3": {"parallel__dp": 4, "memory__zero": 3, "parallel__pp": 2},
    "zero 3, kept": {"parallel__dp": 2, "memory__zero": 3, "memory__keep_gathered": True},
    "ring of contexts": {"parallel__cp": 4},
    "ring of contexts, recomputed": {"parallel__cp": 2, "memory__recompute": "full", **SP},
    "contexts by all-gather": {"parallel__cp": 2, "parallel__context": "all-gather", **SP},
    "experts": {"parallel__dp": 4, "parallel__ep": 2, **EXPERTS},
    "experts and tensors": {"parallel__dp": 4, "parallel__ep": 4, "memory__zero": 1, **SP, **EXPERTS},
    "experts, zero 3, recomputed": {
        "parallel__dp": 2, "parallel__ep": 2, "memory__zero": 3, "memory__recompute": "full", **EXPERTS,
    },
    "experts in place": {"parallel__dp": 2, **SP, **EXPERTS},
    "everything": {
        "parallel__pp": 2, "parallel__dp": 2, "parallel__cp": 2, "parallel__virtual_stages": 2, "memory__zero": 1,
        "pipeline__schedule": "interleaved", "parallel__order": ["tp", "cp", "pp", "dp"], **SP,
    },
}  # fmt: skip
each_case = pytest.mark.parametrize("changes", CASES.values(), ids=CASES)


def sent_bytes(lowered: LoweredJob) -> Counter[str]:
    found: Counter[str] = Counter()
    table = lowered.transfers
    for row in range(len(table)):
        if table.src[row] != table.dst[row]:
            found[lowered.operations[table.operation[row]].kind] += int(table.sizes_bytes(row).sum())
    return +found


def step_ps(made: Job, lowered: LoweredJob, link: Link = FREE) -> int:
    return of_transfers(lowered.transfers, made.parallel.n_ranks, link).end_ps


@each_case
def test_bytes_of_each_kind_are_those_of_the_plan(changes: dict[str, Any]) -> None:
    made = job(**changes)
    totals = kind_totals(made, np.zeros(made.parallel.n_ranks, np.int64))
    assert sent_bytes(lower(made, rings)) == {kind: total.total_bytes for kind, total in totals.items()}


@each_case
def test_every_message_is_posted_and_no_need_is_unknown(changes: dict[str, Any]) -> None:
    lowered = lower(job(**changes), rings, steps=2)
    assert list(lowered.transfers.problems()) == []
    execution = Execution(lowered.transfers)
    ready = list(range(len(lowered.transfers)))
    while ready:
        row = ready.pop()
        while execution.ready(row):
            for event in (Event.POSTED, Event.ARRIVED, Event.COMPLETED):
                ready += execution.advance(row, event)
    assert execution.unfinished() == []
    assert lowered.step_ends.shape == (2, job(**changes).parallel.n_ranks)


@each_case
def test_without_network_a_step_takes_the_longest_path_of_its_pipeline(changes: dict[str, Any]) -> None:
    made = job(**changes, compute__output_forward="3us", compute__output_backward="5us", compute__optimizer="7us")
    p = made.parallel.pp
    plan = orders(made.schedule, p, made.micro_batches, made.virtual_stages)
    path = longest_path(plan, lambda stage, e: chunk_ps(made, e.chunk * p + stage, forward=e.forward)).total_ps
    lowered = lower(made, rings)
    assert step_ps(made, lowered) == path + 7 * US
    # With every kind free the same holds on any network without latency.
    assert step_ps(made, lower(made, rings, free=KINDS), Link(0, 10**9)) == path + 7 * US


@pytest.mark.parametrize(("schedule", "v"), [("gpipe", 1), ("1f1b", 1), ("interleaved", 2)])
@pytest.mark.parametrize("m", [2, 4, 8])
def test_the_bubble_is_the_formula(schedule: str, v: int, m: int) -> None:
    made = job(
        parallel__pp=2, parallel__dp=2, parallel__virtual_stages=v, pipeline__schedule=schedule, batch__micro_batches=m
    )
    forward, backward = 2 * 10 * US, 2 * 20 * US  # two layers a stage
    assert step_ps(made, lower(made, rings)) == m * (forward + backward) + (forward + backward) // v


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_transfers_between_stages_take_the_longest_path(schedule: str) -> None:
    made = job(parallel__pp=4, pipeline__schedule=schedule, batch__micro_batches=6)
    plan = orders(schedule, 4, 6)
    for alpha in (US, 8 * US, 35 * US):
        path = longest_path(plan, lambda _, e: (10 if e.forward else 20) * US, alpha)
        assert step_ps(made, lower(made, rings), Link(alpha, 0)) == path.total_ps


def test_a_blocking_send_holds_its_stage_until_it_is_acknowledged() -> None:
    made = job(parallel__pp=2, pipeline__sends="blocking", batch__micro_batches=2)
    asynchronous = job(parallel__pp=2, batch__micro_batches=2)
    link = Link(3 * US, 0)
    assert step_ps(made, lower(made, rings), link) > step_ps(asynchronous, lower(asynchronous, rings), link)


def test_steps_follow_each_other() -> None:
    made = job(parallel__dp=2)
    times = [step_ps(made, lower(made, rings, steps=n)) for n in (1, 2, 3)]
    assert times == [times[0], 2 * times[0], 3 * times[0]]


def test_tensor_parallel_all_reduces_stop_computation_except_beside_weight_gradients() -> None:
    made = job(parallel__tp=2, batch__micro_batches=1, model__layers=1)
    alpha = US
    # Ring of two: two latencies an all-reduce. Embedding 1, forward 2, loss 3, output layer backward 1 (nothing hides
    # it: measured time 0), feed-forward backward 1 (beside 5 us of weight gradients), attention likewise.
    assert step_ps(made, lower(made, rings), Link(alpha, 0)) == 30 * US + 2 * alpha * (1 + 2 + 3 + 1)


def test_gradients_are_reduced_beside_the_backward_pass() -> None:
    """Of equal bytes only the last bucket is exposed where the network keeps up with the backward pass."""
    changes = {"parallel__dp": 2, "model__layers": 8, "compute__layer_backward": "1000us"}
    link = Link(0, 10**9)  # 1 us a byte
    whole, cut = (job(**changes, memory__bucket=size) for size in ("1MB", "4KB"))
    ideal = step_ps(whole, lower(whole, rings))
    assert ideal < step_ps(cut, lower(cut, rings), link) < step_ps(whole, lower(whole, rings), link)
    # One bucket: all of it is exposed; two ranks send half of the gradients twice.
    total = kind_totals(whole, np.zeros(2, np.int64))["dp"].total_bytes // 2
    assert step_ps(whole, lower(whole, rings), link) == ideal + total * US


def test_a_ring_of_contexts_hides_the_exchange_behind_attention() -> None:
    made = job(parallel__cp=4, batch__micro_batches=1, model__layers=1, memory__bucket="1MB")
    ideal = step_ps(made, lower(made, rings))
    free = [kind for kind in KINDS if kind != "cp"]
    # Half of 10 us is attention: four blocks of 1.25 us; a step of the ring that is shorter is hidden.
    assert step_ps(made, lower(made, rings, free=free), Link(US, 0)) == ideal
    slow = step_ps(made, lower(made, rings, free=free), Link(2 * US, 0))
    # Forward: block 3 begins after three steps of 2 us instead of 3.75 us; backward blocks of 2.5 us hide the steps.
    assert slow == ideal + 6 * US - 3_750_000


@pytest.mark.parametrize(("kept", "latencies"), [(False, 2 + 2 + 1), (True, 2 + 1)])
def test_weights_are_gathered_one_unit_ahead_with_zero_3(kept: bool, latencies: int) -> None:
    """Two ranks gather in one latency, which a layer's 10 us hide. Exposed are, at the beginning of a pass, those of
    the embedding (or output layer, which computes nothing here) and of the first layer, and the last reduction.
    """
    base = {"parallel__dp": 2, "batch__micro_batches": 1, "memory__bucket": "1MB", "memory__keep_gathered": kept}
    made = job(**base, memory__zero=3)
    alpha = 4 * US
    assert step_ps(made, lower(made, rings), Link(alpha, 0)) == 4 * 30 * US + latencies * alpha


def test_a_straggler_stretches_the_step_of_all() -> None:
    made = job(parallel__dp=2, compute__stragglers=[{"rank": 1, "factor": 1.5}])
    plain = job(parallel__dp=2)
    assert step_ps(made, lower(made, rings)) == 1.5 * step_ps(plain, lower(plain, rings))


def test_jitter_is_drawn_from_a_stream_of_each_rank_and_step() -> None:
    made = job(parallel__dp=2, compute__jitter=0.2)
    names: list[str] = []

    def draw(name: str) -> np.random.Generator:
        names.append(name)
        return np.random.default_rng(abs(hash(name)) % 2**32)

    lowered = lower(made, rings, steps=2, draw=draw)
    assert names == [f"job.jitter.{rank}.step{step}" for step in (0, 1) for rank in (0, 1)]
    plain = job(parallel__dp=2)
    assert step_ps(made, lowered) != 2 * step_ps(plain, lower(plain, rings))
    with pytest.raises(ValueError, match="random streams"):
        lower(made, rings)


def test_operations_are_named_so_that_an_explanation_can_quote_them() -> None:
    made = job(parallel__tp=2, parallel__pp=2, parallel__dp=2)
    names = {operation.name for operation in lower(made, rings, steps=2).operations}
    assert "step 0 layer 3 attention forward micro-batch 2 all-reduce" in names
    assert "step 1 virtual stage 0 gradients bucket 0 micro-batch 3 all-reduce" in names
    assert "step 0 stage 0 to 1 chunk 0 activations forward micro-batch 1" in names


@each_case
def test_names_of_operations_are_unique(changes: dict[str, Any]) -> None:
    names = [operation.name for operation in lower(job(**changes), rings, steps=2).operations]
    assert len(set(names)) == len(names)


def test_messages_of_an_operation_stay_within_their_groups() -> None:
    made = job(parallel__tp=2, parallel__dp=2)
    lowered = lower(made, rings)
    table = lowered.transfers
    for row in range(len(table)):
        operation = lowered.operations[table.operation[row]]
        assert {int(table.src[row]), int(table.dst[row])} <= set(operation.ranks)
        if operation.kind == "tp":
            assert table.src[row] // 2 == table.dst[row] // 2

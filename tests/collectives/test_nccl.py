"""NCCL's tuning model against recorded predictions, and properties that hold for every system."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric.collectives.nccl.choice import channels_used, choose, pieces
from fabric.collectives.nccl.model import predict, unusable
from fabric.collectives.nccl.system import HOPPER_400G, HOPPER_HGX, Channels, System
from fabric.collectives.nccl.tables import Algorithm, Generation, Operation, Protocol
from fabric.errors import InputErrors

DATA = Path(__file__).parents[1] / "data" / "nccl" / "choice.json"
RECORDED: list[dict[str, Any]] = json.loads(DATA.read_text())
ALL_REDUCE = Operation.ALL_REDUCE
ONE = System(Generation.HOPPER, 1, 8, HOPPER_HGX)
FOUR = System(Generation.HOPPER, 4, 8, HOPPER_400G)
NVLS = replace(
    ONE, nvls=True, own={Algorithm.NVLS: Channels(16, 22.0, 22.0), Algorithm.NVLS_TREE: Channels(16, 22, 22)}
)


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: f"{row['nodes']}x8-{row['bytes']}")
def test_predictions_and_choice_equal_the_recorded_ones(row: dict[str, Any]) -> None:
    channels = Channels(row["channels"], row["bw_intra"], row["bw_inter"])
    system = System(Generation.HOPPER, row["nodes"], row["ranks"] // row["nodes"], channels)
    found = choose(system, ALL_REDUCE, row["bytes"])
    times = {f"{it.algorithm}/{it.protocol}": round(it.time_us, 3) for it in found.predictions if not it.unusable}
    assert times == pytest.approx(row["us"], abs=0.0011)
    assert f"{found.best.algorithm}/{found.best.protocol}" == row["choice"]


def test_the_reason_names_the_choice_and_the_next_best() -> None:
    assert choose(FOUR, ALL_REDUCE, 64 << 20).reason == "ring LL128 512.4 us, tree LL128 515.8 us"


@pytest.mark.parametrize("algorithm", [Algorithm.RING, Algorithm.TREE, Algorithm.NVLS])
def test_latency_never_falls_with_nodes_and_a_ring_s_time_never_falls_with_bytes(algorithm: Algorithm) -> None:
    several = replace(NVLS, collnet=True)
    for protocol in Protocol:
        if unusable(several, ALL_REDUCE, algorithm, protocol):
            continue
        latencies = [
            predict(replace(several, nodes=nodes), ALL_REDUCE, algorithm, protocol, 64).latency_us
            for nodes in (1, 2, 3, 4, 8, 64)
        ]
        assert latencies == sorted(latencies)
        if algorithm is not Algorithm.TREE:  # its bandwidth depends on the size
            times = [predict(several, ALL_REDUCE, algorithm, protocol, 2**k).time_us for k in range(34)]
            assert times == sorted(times)


def test_reduce_scatter_and_all_gather_of_a_ring_are_half_an_all_reduce() -> None:
    for protocol in Protocol:
        whole = predict(ONE, ALL_REDUCE, Algorithm.RING, protocol, 2**24)
        for operation in (Operation.ALL_GATHER, Operation.REDUCE_SCATTER):
            half = predict(ONE, operation, Algorithm.RING, protocol, 2**24)
            assert half.bandwidth_gb_s == pytest.approx(2 * whole.bandwidth_gb_s)
            assert half.latency_us < whole.latency_us


def test_a_broadcast_pays_one_hop_where_all_rings_are_alike_and_every_rank_where_not() -> None:
    alike = predict(FOUR, Operation.BROADCAST, Algorithm.RING, Protocol.LL, 64)
    assert alike.latency_us == pytest.approx(6.6 + 2.7)
    different = predict(replace(FOUR, same_channels=False), Operation.BROADCAST, Algorithm.RING, Protocol.LL, 64)
    assert different.latency_us == pytest.approx(6.6 + 32 * 2.7)


def test_the_ring_pays_more_latency_from_64_bytes_a_channel_and_rank_on() -> None:
    limit = 64 * 16 * 32
    below = predict(FOUR, ALL_REDUCE, Algorithm.RING, Protocol.SIMPLE, limit - 1)
    at = predict(FOUR, ALL_REDUCE, Algorithm.RING, Protocol.SIMPLE, limit)
    assert at.latency_us == pytest.approx(1.4 * below.latency_us)
    volta = replace(FOUR, generation=Generation.VOLTA)
    assert predict(volta, ALL_REDUCE, Algorithm.RING, Protocol.SIMPLE, limit).latency_us == pytest.approx(
        1.9 * below.latency_us
    )


def test_an_amd_host_pays_twice_the_overhead_of_the_network() -> None:
    intel = predict(FOUR, ALL_REDUCE, Algorithm.RING, Protocol.LL, 64).latency_us
    amd = predict(replace(FOUR, cpu="amd"), ALL_REDUCE, Algorithm.RING, Protocol.LL, 64).latency_us
    assert amd - intel == pytest.approx(62 - 6)


@pytest.mark.parametrize(
    ("system", "operation", "algorithm", "protocol", "word"),
    [
        (FOUR, Operation.BROADCAST, Algorithm.TREE, Protocol.LL, "rings only"),
        (FOUR, Operation.ALL_GATHER, Algorithm.TREE, Protocol.LL, "no all-gather"),
        (FOUR, ALL_REDUCE, Algorithm.PAT, Protocol.SIMPLE, "no all-reduce"),
        (FOUR, Operation.ALL_GATHER, Algorithm.PAT, Protocol.SIMPLE, "one GPU"),
        (FOUR, ALL_REDUCE, Algorithm.COLLNET_CHAIN, Protocol.SIMPLE, "plugin"),
        (FOUR, ALL_REDUCE, Algorithm.NVLS_TREE, Protocol.SIMPLE, "reduce"),
        (NVLS, ALL_REDUCE, Algorithm.NVLS, Protocol.LL, "Simple only"),
        (NVLS, ALL_REDUCE, Algorithm.NVLS_TREE, Protocol.SIMPLE, "one node"),
        (replace(NVLS, nodes=2), ALL_REDUCE, Algorithm.NVLS, Protocol.SIMPLE, "several nodes"),
        (replace(FOUR, nic_distance="PHB"), ALL_REDUCE, Algorithm.RING, Protocol.LL128, "PHB"),
        (replace(ONE, nvlink=False), ALL_REDUCE, Algorithm.RING, Protocol.LL128, "NVLink"),
    ],
)
def test_an_unusable_combination_says_why_and_is_never_chosen(
    system: System, operation: Operation, algorithm: Algorithm, protocol: Protocol, word: str
) -> None:
    assert word in unusable(system, operation, algorithm, protocol)
    best = choose(system, operation, 2**20).best
    assert (best.algorithm, best.protocol) != (algorithm, protocol)


def test_conditions_that_are_met_make_a_combination_usable() -> None:
    pxn = replace(FOUR, nic_distance="PXN")
    assert not unusable(pxn, ALL_REDUCE, Algorithm.RING, Protocol.LL128)
    assert unusable(replace(pxn, generation=Generation.AMPERE), ALL_REDUCE, Algorithm.RING, Protocol.LL128)
    assert not unusable(replace(NVLS, nodes=2), ALL_REDUCE, Algorithm.NVLS_TREE, Protocol.SIMPLE)
    assert not unusable(replace(NVLS, nodes=2, collnet=True), ALL_REDUCE, Algorithm.NVLS, Protocol.SIMPLE)
    assert not unusable(replace(FOUR, gpus_per_node=1), Operation.ALL_GATHER, Algorithm.PAT, Protocol.SIMPLE)
    assert not unusable(replace(FOUR, collnet=True), ALL_REDUCE, Algorithm.COLLNET_DIRECT, Protocol.SIMPLE)


def test_reduction_in_the_switches_may_exceed_the_links_and_wins_for_many_bytes() -> None:
    found = choose(replace(NVLS, own={Algorithm.NVLS: Channels(16, 22.0, 44.0)}), ALL_REDUCE, 2**30)
    assert found.best.algorithm is Algorithm.NVLS
    assert found.best.bandwidth_gb_s * 14 / 8 == pytest.approx(16 * 22 * 0.85 * 15 / 16 * 2)
    scattered = predict(NVLS, Operation.ALL_GATHER, Algorithm.NVLS, Protocol.SIMPLE, 2**30)
    assert scattered.bandwidth_gb_s == pytest.approx(16 * 22 * 0.85 * 15 / 16 * 7 / 8)


def test_sums_of_8_bit_numbers_avoid_rings_of_more_than_8_ranks() -> None:
    assert choose(FOUR, ALL_REDUCE, 2**30).best.algorithm is Algorithm.RING
    assert choose(FOUR, ALL_REDUCE, 2**30, fp8=True).best.algorithm is Algorithm.TREE
    assert choose(ONE, ALL_REDUCE, 2**30, fp8=True).best == choose(ONE, ALL_REDUCE, 2**30).best


def test_few_bytes_use_few_channels_and_then_few_threads() -> None:
    assert channels_used(FOUR, Algorithm.RING, Protocol.SIMPLE, 2**30) == (16, 512)
    assert channels_used(FOUR, Algorithm.RING, Protocol.SIMPLE, 16 * 512 * 64) == (16, 512)
    assert channels_used(FOUR, Algorithm.RING, Protocol.SIMPLE, 16 * 512 * 64 - 1) == (15, 512)
    assert channels_used(FOUR, Algorithm.RING, Protocol.LL, 2 * 512 * 8 * 32) == (2, 512)
    assert channels_used(FOUR, Algorithm.TREE, Protocol.LL, 2 * 512 * 8) == (2, 512)
    assert channels_used(FOUR, Algorithm.TREE, Protocol.LL128, 640 * 8 - 1) == (1, 320)


def test_a_ring_of_simple_moves_chunks_of_2_mib_in_slices_of_1_mib() -> None:
    cut = pieces(ALL_REDUCE, Algorithm.RING, Protocol.SIMPLE, 2**30, 16, 32)
    assert (cut.chunk_bytes, cut.slice_bytes, cut.in_flight, cut.loops) == (2 << 20, 1 << 20, 4, 1)
    assert cut.last_chunk_bytes == 2 << 20
    assert pieces(ALL_REDUCE, Algorithm.RING, Protocol.SIMPLE, 2**30 + 1, 16, 32).loops == 2
    ll128 = pieces(ALL_REDUCE, Algorithm.RING, Protocol.LL128, 2**20, 16, 32)
    assert (ll128.chunk_bytes, ll128.slice_bytes, ll128.loops, ll128.last_chunk_bytes) == (576_000, 576_000, 1, 2048)
    assert pieces(ALL_REDUCE, Algorithm.TREE, Protocol.LL, 2**20, 1, 32).chunk_bytes == 32 * 1024


def test_a_system_that_cannot_be_is_refused_with_all_problems() -> None:
    with pytest.raises(InputErrors) as caught:
        choose(System(Generation.AMPERE, 0, 8, Channels(0, 1, 1), nvls=True), ALL_REDUCE, 0)
    assert len(caught.value.problems) >= 4

"""The same invariants under faults: links fall, speeds drop, NICs storm, configurations drift in mid-run."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
import worlds
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import END_PS, digest, simulate
from worlds import FAULTS, LOSSLESS, US, World, emulator

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason
from fabric.verify.conservation import check

HALF: Final = settings(max_examples=settings.default.max_examples // 2)
MOMENTS: Final = st.lists(st.integers(1, 300 * US), max_size=4)
BUSY: Final = World(
    hosts=4,
    spines=2,
    kmin_kb=5,
    drain_mbps=2000,
    recovery=0,
    watchdog=True,
    messages=tuple((sender, 8 - sender, 60_000, 0, LOSSLESS) for sender in range(1, 8)),
)


@given(world=worlds.troubled(), moments=MOMENTS)
def test_nothing_is_lost_from_the_books(world: World, moments: list[int]) -> None:
    simulating = emulator(world)
    for moment in [*sorted(moments), END_PS]:
        simulate(simulating, moment)
        assert not check(simulating.state, simulating.fabric, simulating.now_ps)


def test_a_pause_that_outlasts_the_last_frame_is_part_of_the_run() -> None:
    """The broken NIC's only XOFF ends by its timer, long after everything else."""
    simulating = emulator(World(quanta=2000, faults=(("storm", 2, 1, 0),)))
    simulate(simulating)
    assert not check(simulating.state, simulating.fabric, simulating.now_ps)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_alone_keeps_the_books(kind: str, which: int) -> None:
    simulating = emulator(replace(BUSY, faults=((kind, 3 * which, 20_000 + 7 * which, 30_000),)))
    for moment in range(10 * US, 120 * US, 10 * US):
        simulate(simulating, moment)
        assert not check(simulating.state, simulating.fabric, simulating.now_ps)
    assert not check(simulate(simulating).state, simulating.fabric, simulating.now_ps)


def test_a_storm_counts_what_it_flushed_and_what_it_refused_afterwards() -> None:
    now = simulate(emulator(replace(BUSY, faults=(("storm", 0, 20_000, 200_000),)))).snapshot()
    by_queue = now.queues["wd_dropped_pkts"]
    assert (by_queue == now.drops["pkts"][:, :, int(DropReason.WATCHDOG)]).all()
    assert by_queue.sum() > now.queues["flushed_pkts"].sum() > 0


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_leaves_a_mark(kind: str) -> None:
    """Otherwise the tests here would prove nothing."""
    world = replace(BUSY, watchdog=False)
    fault = (kind, 4 if kind in ("pfc", "ecn") else 0, 20_000, 30_000)
    assert digest(replace(world, faults=(fault,))) != digest(world)


@given(world=worlds.troubled())
@HALF
def test_faults_strike_alike_for_any_number_of_threads(world: World) -> None:
    assert digest(world, threads=1) == digest(world, threads=2) == digest(world, threads=4)


@given(world=worlds.troubled())
@HALF
def test_faults_strike_alike_in_windows_and_one_event_at_a_time(world: World) -> None:
    assert digest(world) == digest(world, scheduler="sequential")


@given(world=worlds.troubled(), moments=MOMENTS, budget=st.integers(1, 50))
@HALF
def test_faults_strike_alike_however_the_run_is_cut(world: World, moments: list[int], budget: int) -> None:
    whole, parts = simulate(emulator(world)), emulator(world)
    for moment in sorted(moments):
        parts.advance(moment, budget=budget)
        parts.snapshot()
    assert simulate(parts).digest() == whole.digest()


@given(world=worlds.troubled(), moment=st.integers(1, 300 * US))
@HALF
def test_a_run_restored_among_faults_ends_as_if_it_had_never_stopped(
    tmp_path_factory: pytest.TempPathFactory, world: World, moment: int
) -> None:
    path = tmp_path_factory.mktemp("checkpoint") / "state"
    stopped = simulate(emulator(world), moment)
    stopped.save(path)
    fabric = stopped.fabric
    restored = Emulator.restore(fabric, stopped.params, worlds.edits(world, fabric), path)
    assert simulate(restored).digest() == digest(world)

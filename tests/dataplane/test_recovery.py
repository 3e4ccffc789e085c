"""Loss recovery in hard cases: small windows, lost retransmissions, coalesced ACKs, answers out of order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st
from runs import END_PS, simulate
from worlds import LOSSLESS, US, World, emulator

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import PacketKind, Recovery
from fabric.verify.conservation import check


@given(every=st.integers(3, 9), window_kb=st.integers(4, 20), size=st.integers(20_000, 200_000))
def test_selective_repeat_never_sends_beyond_its_window(every: int, window_kb: int, size: int) -> None:
    """Each selective NAK used to admit a new packet; the bitmaps have no room for more than a window.

    Not every second packet: of a pair of packets that are sent again alternately the same one can be lost each time,
    and the run does not end within the test's time.
    """
    world = World(
        recovery=Recovery.SELECTIVE,
        window_kb=window_kb,
        cc=0,
        drop_every=every,
        delay_ns=3000,
        messages=((1, 3, size, 0, LOSSLESS), (2, 2, size, 0, LOSSLESS)),
        pool_kb=800,
    )
    simulating = emulator(world)
    window_pkts = -(-window_kb * 1000 // world.payload)
    for moment in range(US, 200 * US, 2 * US):
        simulate(simulating, moment)
        assert (simulating.state.qps["next_psn"] - simulating.state.qps["acked_psn"] <= window_pkts).all()
    simulate(simulating)
    assert simulating.finished
    arrived = simulating.state.messages["size_bytes"][1:][simulating.state.rmessages["arrived_ps"][1:] >= 0].sum()
    goodput = int(simulating.state.hosts["goodput_bytes"].sum())
    assert arrived <= goodput <= 2 * size
    assert goodput == arrived or simulating.state.messages["failed"].any()
    assert not check(simulating.state, simulating.fabric, simulating.now_ps)


def test_a_retransmission_that_is_lost_too_does_not_pass_for_received() -> None:
    """The first packet is lost again and again while the others keep arriving; numbers must not alias in the bitmap."""
    world = World(
        leaves=1,
        hosts=2,
        recovery=Recovery.SELECTIVE,
        window_kb=8,
        cc=0,
        delay_ns=3000,
        timeout_us=50,
        messages=((1, 1, 60_000, 0, LOSSLESS),),
    )
    fabric = worlds.topology(world)
    port = fabric.hosts[0].first_port
    edits = [
        e.DropEvery(0, port, 1),
        e.DropEvery(5 * US, port, 9),
        e.DropEvery(9 * US, port, 2),
        e.DropEvery(30 * US, port, 8),
        e.DropEvery(120 * US, port, 0),
    ]
    simulating = Emulator(fabric, worlds.parameters(world, fabric), edits)
    simulate(simulating)
    assert simulating.finished
    assert simulating.state.messages["failed"][1] == 0
    assert simulating.state.hosts["goodput_bytes"][0] == 60_000


@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize("window", [1000, 2500, 4100])
def test_a_window_smaller_than_the_ack_interval_needs_no_timer(window: int, variable: bool) -> None:
    """The packet that fills the window requests its ACK (BTH AckReq)."""
    world = World(
        payload=1024,
        ack_every=16,
        timeout_us=0,
        cc=1 if variable else 0,
        kmin_kb=1 if variable else 0,
        messages=((0, 1, 50_000, 0, LOSSLESS), (2, 3, 50_000, 0, LOSSLESS)),
    )
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    params = replace(params, transport=replace(params.transport, window_bytes=window, variable_window=variable))
    simulating = simulate(Emulator(fabric, params))
    assert simulating.finished
    assert not simulating.state.hosts["timeouts"].any()


def test_acks_are_coalesced_where_the_window_is_wide() -> None:
    world = World(payload=1000, ack_every=10, timeout_us=0, cc=0, messages=((0, 1, 100_000, 0, LOSSLESS),))
    simulating = simulate(emulator(world))
    answers = simulating.state.queues["enqueued_pkts"].reshape(-1, 8)[simulating.fabric.hosts[1].first_port].sum()
    assert answers == 10


def test_bitmaps_of_selective_repeat_are_no_larger_than_what_a_queue_pair_sends() -> None:
    world = World(recovery=Recovery.SELECTIVE, window_kb=1 << 52, cc=0, messages=((1, 3, 20_000, 0, LOSSLESS),))
    simulating = emulator(world)
    simulate(simulating)
    assert simulating.finished
    assert len(simulating.state.bitmap) == 2 * len(simulating.state.qps) * (-(-20_000 // world.payload) + 2)


@pytest.mark.parametrize("recovery", [Recovery.GO_BACK_N, Recovery.GO_BACK_0])
@pytest.mark.parametrize("every", [2, 3, 5, 11])
def test_several_messages_of_one_queue_pair_all_arrive_under_loss(recovery: int, every: int) -> None:
    """Both directions lose: some NAKs and ACKs are lost."""
    size = 9000 if recovery == Recovery.GO_BACK_N else 1024 * (every - 1)
    world = World(
        leaves=1,
        hosts=2,
        recovery=recovery,
        cc=0,
        timeout_us=200,
        drop_every=every,
        messages=tuple((1, 1, size, 100 * k, LOSSLESS) for k in range(8)),
    )
    fabric = worlds.topology(world)
    edits = [e.LinkErrors(0, fabric.links[1].id, 2e-5), e.LinkErrors(3000 * US, fabric.links[1].id, 0.0)]
    simulating = simulate(Emulator(fabric, worlds.parameters(world, fabric), edits))
    state = simulating.state
    assert simulating.finished
    done = state.messages["end_ps"][1:] >= 0
    assert (state.rmessages["arrived_ps"][1:][done] >= 0).all()
    assert (np.diff(state.rmessages["arrived_ps"][1:][done]) > 0).all(), "messages of a queue pair arrive in order"
    whole = state.messages["size_bytes"][1:][state.rmessages["arrived_ps"][1:] >= 0].sum()
    assert whole <= state.hosts["goodput_bytes"][0] < whole + size


@given(seed=st.integers(0, 10**6), every=st.integers(5, 30))
def test_go_back_0_survives_answers_that_overtake_each_other(seed: int, every: int) -> None:
    """Sprayed ACKs and NAKs arrive in any order; an old NAK must not reopen a complete message."""
    world = World(
        leaves=2,
        spines=2,
        hosts=2,
        parallel=2,
        recovery=Recovery.GO_BACK_0,
        cc=0,
        balance=1,
        seed=seed,
        drop_every=every,
        timeout_us=100,
        up_gbps=10,
        messages=tuple((2 + k % 2, 2 - k % 2, 3000, 0, LOSSLESS) for k in range(20)),
    )
    simulating = simulate(emulator(world), END_PS)
    assert not check(simulating.state, simulating.fabric, simulating.now_ps)
    flying = simulating.state.packets[simulating.state.packets["kind"] == PacketKind.DATA]
    assert (flying["payload"] <= world.payload).all()
    done = simulating.state.messages["end_ps"][1:] >= 0
    assert (simulating.state.rmessages["arrived_ps"][1:][done] >= 0).all()
    assert simulating.state.hosts["messages_done"].sum() == done.sum()

"""Recovery out-of-order: reordered packets are no losses, losses are found by time, and no packet is sent in vain."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pytest
import worlds
from hypothesis import example, given
from hypothesis import strategies as st
from runs import END_PS, simulate
from worlds import LOSSLESS, US, World, emulator

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason, EventKind, LoadBalance, Recovery
from fabric.dataplane.state.params import Messages, QueuePairs
from fabric.verify.conservation import check

SPRAY: Final = int(LoadBalance.SPRAY)
CROSSED: Final = tuple((source, 4, 250_000, 0, LOSSLESS) for source in range(8))
"""Every host of one leaf to one of the other, at once."""
SPRAYED: Final = World(
    leaves=2,
    spines=2,
    parallel=2,
    hosts=4,
    host_gbps=25,
    up_gbps=25,
    cc=0,
    balance=SPRAY,
    recovery=Recovery.OUT_OF_ORDER,
    messages=CROSSED,
    pool_kb=800,
    timeout_us=20_000,
)
PAIR: Final = World(leaves=1, hosts=2, recovery=Recovery.OUT_OF_ORDER, cc=0, payload=1024, timeout_us=5000)


def uneven(world: World, gbps: int = 6) -> Emulator:
    """One of the parallel paths is slower, so that packets on it arrive long after their successors."""
    fabric = worlds.topology(world)
    slow = next(
        link.id
        for link in fabric.links
        if not fabric.nodes[fabric.ports[link.a].node].is_host and not fabric.nodes[fabric.ports[link.b].node].is_host
    )
    return Emulator(fabric, worlds.parameters(world, fabric), [e.LinkRate(0, slow, gbps * 10**9)])


@pytest.mark.parametrize("recovery", [Recovery.GO_BACK_N, Recovery.SELECTIVE])
def test_sprayed_packets_are_sent_once_by_out_of_order_alone(recovery: int) -> None:
    """The same world twice; the second shows that packets really overtake each other in it."""
    snapshot = simulate(uneven(replace(SPRAYED, reorder_us=1000))).snapshot()
    assert snapshot.finished
    assert snapshot.hosts["out_of_order_pkts"].sum() > 100
    for counter in ("retransmitted_pkts", "duplicates", "declared_lost_pkts", "spurious_pkts", "naks_sent", "timeouts"):
        assert not snapshot.hosts[counter].any(), counter
    inorder = simulate(uneven(replace(SPRAYED, recovery=recovery, window_kb=64))).snapshot()
    assert inorder.drops["pkts"].sum() == 0
    assert inorder.hosts["retransmitted_pkts"].sum() > 100


@given(
    every=st.integers(3, 60),
    seed=st.integers(0, 1000),
    bitmap=st.sampled_from([16, 64, 1024]),
    ack_every=st.sampled_from([1, 4, 16]),
)
@example(every=3, seed=0, bitmap=16, ack_every=16)
def test_every_copy_is_accounted_for(every: int, seed: int, bitmap: int, ack_every: int) -> None:
    """Data sent = placed + dropped + duplicates, and hardly more than the lost packets are sent again."""
    world = replace(
        SPRAYED,
        drop_every=every,
        seed=seed,
        bitmap=bitmap,
        ack_every=ack_every,
        messages=tuple((4 + source, 1 + source, 100_000, 0, LOSSLESS) for source in range(4)),
    )
    simulating = simulate(emulator(world))
    snapshot = simulating.snapshot()
    assert snapshot.finished
    assert not snapshot.messages["failed"].any()
    assert not check(simulating.state, simulating.fabric, simulating.now_ps)
    lost = int(snapshot.drops["pkts"][:, :, DropReason.INJECTED].sum())
    hosts = snapshot.hosts
    assert int(snapshot.qps["sent_pkts"].sum()) == (
        int(snapshot.messages["n_pkts"].sum()) + lost + int(hosts["duplicates"].sum())
    )
    assert hosts["goodput_bytes"].sum() == snapshot.messages["size_bytes"].sum()
    again, probes = int(hosts["retransmitted_pkts"].sum()), int(hosts["retransmitted_probe_pkts"].sum())
    assert lost <= again <= lost + probes + max(2, lost // 4)


@given(every=st.integers(3, 20), bitmap=st.sampled_from([16, 33, 100]))
def test_nothing_is_sent_beyond_the_bitmap(every: int, bitmap: int) -> None:
    world = replace(
        SPRAYED,
        drop_every=every,
        bitmap=bitmap,
        delay_ns=3000,
        messages=((4, 4, 150_000, 0, LOSSLESS), (5, 3, 150_000, 0, LOSSLESS)),
    )
    simulating, most = emulator(world), 0
    for moment in range(US, 300 * US, 2 * US):
        simulate(simulating, moment)
        flying = simulating.state.qps["next_psn"] - simulating.state.qps["acked_psn"]
        assert (flying <= bitmap).all()
        most = max(most, int(flying.max()))
    assert most == bitmap, "a bound that nothing meets says nothing"
    assert simulate(simulating).finished
    assert simulating.state.hosts["out_of_order_peak_pkts"].max() <= bitmap


def test_a_loss_is_declared_a_round_trip_and_the_window_after_it_was_sent() -> None:
    """RFC 8985 section 6.2, step 5: xmit_ts + RACK.rtt + reo_wnd, to the picosecond."""
    world = replace(PAIR, messages=((1, 1, 20 * 1024, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    port = fabric.hosts[0].first_port
    # Packets arrive 0.36 us apart from 2 us on: exactly one falls into this gap.
    edits = [e.DropEvery(3_600_000, port, 1), e.DropEvery(3_950_000, port, 0)]
    simulating = Emulator(fabric, worlds.parameters(world, fabric), edits, record=31)
    simulate(simulating, 50 * US)
    assert simulating.snapshot().drops["pkts"][:, :, DropReason.INJECTED].sum() == 1
    assert simulating.state.hosts["retransmitted_pkts"].sum() == 0, "for a hundred microseconds it may be late"
    psn = int(simulating.state.rqps["expected_psn"][0])
    assert 0 < psn < 19
    sent_ps, rtt_ps = int(simulating.state.sent_ps[psn]), int(simulating.state.boards["rtt_ps"][0])
    simulate(simulating)
    events = simulating.drain_events()
    declared = events[events["kind"] == EventKind.LOSS_DECLARED]
    assert declared[["a", "b", "c"]].tolist() == [(psn, 1, 100 * US)]
    assert declared["time_ps"][0] == sent_ps + rtt_ps + 100 * US
    assert simulating.finished
    assert simulating.state.hosts["retransmitted_pkts"].sum() == 1
    assert simulating.state.hosts["duplicates"].sum() == 0


def test_a_window_that_is_too_small_grows_until_nothing_is_sent_in_vain() -> None:
    """RFC 8985 section 6.2, step 4: each round trip with a duplicate widens the window."""
    world = replace(
        SPRAYED, reorder_us=5, pool_kb=150, messages=tuple((source, 4, 1_500_000, 0, LOSSLESS) for source in range(4))
    )
    simulating = uneven(world, gbps=10)
    first, half, whole = (
        int(simulate(simulating, moment).state.hosts["spurious_pkts"].sum()) for moment in (250 * US, 700 * US, END_PS)
    )
    assert simulating.finished
    assert first > 50
    assert simulating.state.messages["end_ps"].max() > 1200 * US
    assert whole == half
    assert simulating.state.boards["window_mult"].max() > 4
    wide = simulate(uneven(replace(world, reorder_us=100), gbps=10))
    assert wide.finished
    assert wide.state.hosts["spurious_pkts"].sum() == 0


@pytest.mark.parametrize("size", [500, 3000, 40_000])
def test_a_lost_tail_is_found_by_a_probe_long_before_the_timeout(size: int) -> None:
    """No later packet shows the loss of the last packets or of the probes."""
    world = replace(PAIR, messages=((1, 1, size, 0, LOSSLESS),), reorder_us=10)
    fabric = worlds.topology(world)
    port = fabric.hosts[0].first_port
    packets = -(-size // 1024)
    edits = [e.DropEvery((packets - 1) * 300_000, port, 1), e.DropEvery(150 * US, port, 0)]
    simulating = simulate(Emulator(fabric, worlds.parameters(world, fabric), edits))
    assert simulating.finished
    hosts = simulating.state.hosts
    assert hosts["timeouts"].sum() == 0
    assert hosts["retransmitted_probe_pkts"].sum() > 1
    assert hosts["goodput_bytes"][0] == size
    assert simulating.state.messages["end_ps"][1] < 600 * US


def test_lost_acknowledgements_do_not_widen_the_window() -> None:
    """The second copy of a packet whose ACK was lost is no sign of reordering."""
    world = replace(PAIR, messages=((1, 1, 60_000, 0, LOSSLESS),), reorder_us=10)
    fabric = worlds.topology(world)
    sender = fabric.hosts[1]
    # From here on no answer arrives for a while: the last ACKs are lost, the last data packets are not.
    edits = [
        e.FibRoute(12 * US, fabric.switches[0].id, sender.id, ()),
        e.FibRoute(60 * US, fabric.switches[0].id, sender.id, (fabric.ports[sender.first_port].peer,)),
    ]
    simulating = simulate(Emulator(fabric, worlds.parameters(world, fabric), edits))
    assert simulating.finished
    assert simulating.state.hosts["duplicates"].sum() > 0
    assert (simulating.state.boards["window_mult"] == 1).all()


@given(every=st.integers(2, 30), seed=st.integers(0, 1000))
def test_messages_of_a_queue_pair_arrive_in_the_order_they_were_posted(every: int, seed: int) -> None:
    """A message whose packets are all here waits for those before it (rule 3 of host/placement)."""
    world = replace(
        SPRAYED,
        drop_every=every,
        seed=seed,
        messages=tuple(
            (4, 4, size, 100 * k, LOSSLESS) for k, size in enumerate((9000, 500, 30_000, 1, 1024, 2048, 700, 20_000))
        ),
    )
    simulating = simulate(emulator(world))
    assert simulating.finished
    assert (np.diff(simulating.state.rmessages["arrived_ps"][1:]) >= 0).all()
    assert (np.diff(simulating.state.messages["end_ps"][1:]) >= 0).all()
    assert (simulating.state.rmessages["hops"][1:] == 3).all()


def test_a_switch_that_bridges_counts_as_a_hop() -> None:
    """It takes nothing from the TTL (switch/ttl, rule 2)."""
    near, remote = (0, 1, 50_000, 0, LOSSLESS), (0, 2, 50_000, 0, LOSSLESS)
    simulating = simulate(emulator(replace(PAIR, leaves=2, messages=(near, remote))))
    assert simulating.state.rmessages["hops"][1:].tolist() == [1, 3]


def test_acks_are_coalesced_only_while_nothing_is_missing() -> None:
    world = replace(PAIR, payload=1000, ack_every=10, messages=((0, 1, 100_000, 0, LOSSLESS),))
    simulating = simulate(emulator(world))
    answers = simulating.state.queues["enqueued_pkts"].reshape(-1, 8)[simulating.fabric.hosts[1].first_port].sum()
    assert answers == 10
    lossy = simulate(emulator(replace(world, messages=((1, 1, 100_000, 0, LOSSLESS),), drop_every=20)))
    answers = lossy.state.queues["enqueued_pkts"].reshape(-1, 8)[lossy.fabric.hosts[0].first_port].sum()
    assert lossy.finished
    assert answers > 50


def test_a_queue_pair_without_answers_fails_at_its_retry_limit() -> None:
    world = replace(PAIR, drop_every=1, timeout_us=200, reorder_us=10, messages=((1, 1, 9000, 0, LOSSLESS),) * 2)
    simulating = simulate(emulator(world))
    assert simulating.finished
    assert simulating.state.messages["failed"][1:].all()
    assert simulating.state.hosts["timeouts"][1] == 8
    assert not check(simulating.state, simulating.fabric, simulating.now_ps)


def test_many_timers_of_one_host_at_one_moment_all_run() -> None:
    """One event serves 32 queue pairs; the others follow at the same time."""
    world = replace(PAIR, timeout_us=100, recovery=Recovery.GO_BACK_N, drop_every=1)
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    count = 100
    same = np.ones(count, np.int64)
    params = replace(
        params,
        queue_pairs=QueuePairs(
            src=same,
            dst=0 * same,
            dscp=26 * same,
            src_udp_port=50_000 + np.arange(count),
            dst_udp_port=4791 * same,
            port=fabric.hosts[1].first_port * same,
        ),
        messages=Messages(
            src=same,
            dst=0 * same,
            size_bytes=500 * same,
            start_ps=0 * same,
            dscp=26 * same,
            qp=np.arange(count),
            delay_ps=0 * same,
        ),
    )
    simulating = simulate(Emulator(fabric, params))
    assert simulating.finished
    assert simulating.state.hosts["messages_failed"][1] == count
    assert simulating.state.hosts["timeouts"][1] == 8 * count

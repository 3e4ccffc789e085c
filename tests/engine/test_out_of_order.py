"""Recovery out-of-order: packets in any order are no losses, losses are found by time, and nothing is sent in vain."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pytest
import worlds
from hypothesis import example, given
from hypothesis import strategies as st
from laws import END_PS, play
from worlds import LOSSLESS, US, World, emulator

from fabric.engine import edits as e
from fabric.engine.driver import Emulator
from fabric.state.codes import DropReason, EventKind, LoadBalance, Recovery
from fabric.state.params import Messages, QueuePairs
from fabric.validate.conservation import check

SPRAY: Final = int(LoadBalance.SPRAY)
CROSSED: Final = tuple((source, 4, 250_000, 0, LOSSLESS) for source in range(8))
"""Every host of one leaf to one of the other, at once."""
SPRAYED: Final = World(leaves=2, spines=2, parallel=2, hosts=4, host_gbps=25, up_gbps=25, cc=0, balance=SPRAY,
                       recovery=Recovery.OUT_OF_ORDER, messages=CROSSED, pool_kb=800, timeout_us=20_000)
PAIR: Final = World(leaves=1, hosts=2, recovery=Recovery.OUT_OF_ORDER, cc=0, payload=1024, timeout_us=5000)


def uneven(world: World, gbps: int = 6) -> Emulator:
    """One of the parallel paths is slower, so that packets on it arrive far behind their successors."""
    fabric = worlds.topology(world)
    slow = next(link.id for link in fabric.links if not fabric.nodes[fabric.ports[link.a].node].is_host
                and not fabric.nodes[fabric.ports[link.b].node].is_host)
    return Emulator(fabric, worlds.parameters(world, fabric), [e.LinkRate(0, slow, gbps * 10**9)])


@pytest.mark.parametrize("recovery", [Recovery.GO_BACK_N, Recovery.SELECTIVE])
def test_what_sprays_is_sent_once_by_out_of_order_alone(recovery: int) -> None:
    """The same world twice; the second shows that packets really overtake each other in it."""
    snapshot = play(uneven(replace(SPRAYED, reorder_us=1000))).snapshot()
    assert snapshot.finished
    assert snapshot.hosts["out_of_order_pkts"].sum() > 100
    for counter in ("retransmitted_pkts", "duplicates", "declared_lost_pkts", "spurious_pkts", "naks_sent", "timeouts"):
        assert not snapshot.hosts[counter].any(), counter
    inorder = play(uneven(replace(SPRAYED, recovery=recovery, window_kb=64))).snapshot()
    assert inorder.drops["pkts"].sum() == 0
    assert inorder.hosts["retransmitted_pkts"].sum() > 100


@given(every=st.integers(3, 60), seed=st.integers(0, 1000), bitmap=st.sampled_from([16, 64, 1024]),
       ack_every=st.sampled_from([1, 4, 16]))
@example(every=3, seed=0, bitmap=16, ack_every=16)
def test_every_copy_is_accounted_for(every: int, seed: int, bitmap: int, ack_every: int) -> None:
    """Data sent = placed + dropped + duplicates, and what is sent again is what was lost, and little more."""
    world = replace(SPRAYED, drop_every=every, seed=seed, bitmap=bitmap, ack_every=ack_every,
                    messages=tuple((4 + source, 1 + source, 100_000, 0, LOSSLESS) for source in range(4)))
    playing = play(emulator(world))
    snapshot = playing.snapshot()
    assert snapshot.finished
    assert not snapshot.messages["failed"].any()
    assert not check(playing.state, playing.fabric, playing.now_ps)
    lost = int(snapshot.drops["pkts"][:, :, DropReason.INJECTED].sum())
    hosts = snapshot.hosts
    assert int(snapshot.qps["sent_pkts"].sum()) == (
        int(snapshot.messages["n_pkts"].sum()) + lost + int(hosts["duplicates"].sum()))
    assert hosts["goodput_bytes"].sum() == snapshot.messages["size_bytes"].sum()
    again, probes = int(hosts["retransmitted_pkts"].sum()), int(hosts["retransmitted_probe_pkts"].sum())
    assert lost <= again <= lost + probes + max(2, lost // 4)


@given(every=st.integers(3, 20), bitmap=st.sampled_from([16, 33, 100]))
def test_nothing_is_sent_beyond_the_bitmap(every: int, bitmap: int) -> None:
    world = replace(SPRAYED, drop_every=every, bitmap=bitmap, delay_ns=3000,
                    messages=((4, 4, 150_000, 0, LOSSLESS), (5, 3, 150_000, 0, LOSSLESS)))
    playing, most = emulator(world), 0
    for moment in range(US, 300 * US, 2 * US):
        play(playing, moment)
        flying = playing.state.qps["next_psn"] - playing.state.qps["acked_psn"]
        assert (flying <= bitmap).all()
        most = max(most, int(flying.max()))
    assert most == bitmap, "a bound that nothing meets says nothing"
    assert play(playing).finished
    assert playing.state.hosts["out_of_order_peak_pkts"].max() <= bitmap


def test_a_loss_is_declared_a_round_trip_and_the_window_after_it_was_sent() -> None:
    """RFC 8985 section 6.2, step 5: xmit_ts + RACK.rtt + reo_wnd, to the picosecond."""
    world = replace(PAIR, messages=((1, 1, 20 * 1024, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    port = fabric.hosts[0].first_port
    # Packets arrive 0.36 us apart from 2 us on: exactly one falls into this gap.
    edits = [e.DropEvery(3_600_000, port, 1), e.DropEvery(3_950_000, port, 0)]
    playing = Emulator(fabric, worlds.parameters(world, fabric), edits, record=31)
    play(playing, 50 * US)
    assert playing.snapshot().drops["pkts"][:, :, DropReason.INJECTED].sum() == 1
    assert playing.state.hosts["retransmitted_pkts"].sum() == 0, "for a hundred microseconds it may be late"
    psn = int(playing.state.rqps["expected_psn"][0])
    assert 0 < psn < 19
    sent_ps, rtt_ps = int(playing.state.sent_ps[psn]), int(playing.state.boards["rtt_ps"][0])
    play(playing)
    events = playing.drain_events()
    declared = events[events["kind"] == EventKind.LOSS_DECLARED]
    assert declared[["a", "b", "c"]].tolist() == [(psn, 1, 100 * US)]
    assert declared["time_ps"][0] == sent_ps + rtt_ps + 100 * US
    assert playing.finished
    assert playing.state.hosts["retransmitted_pkts"].sum() == 1
    assert playing.state.hosts["duplicates"].sum() == 0


def test_a_window_that_is_too_small_grows_until_nothing_is_sent_in_vain() -> None:
    """RFC 8985 section 6.2, step 4: each round trip with a duplicate widens the window."""
    world = replace(SPRAYED, reorder_us=5, pool_kb=150,
                    messages=tuple((source, 4, 1_500_000, 0, LOSSLESS) for source in range(4)))
    playing = uneven(world, gbps=10)
    first, half, whole = (int(play(playing, moment).state.hosts["spurious_pkts"].sum())
                          for moment in (250 * US, 700 * US, END_PS))
    assert playing.finished
    assert first > 50
    assert playing.state.messages["end_ps"].max() > 1200 * US
    assert whole == half
    assert playing.state.boards["window_mult"].max() > 4
    wide = play(uneven(replace(world, reorder_us=100), gbps=10))
    assert wide.finished
    assert wide.state.hosts["spurious_pkts"].sum() == 0


@pytest.mark.parametrize("size", [500, 3000, 40_000])
def test_a_lost_tail_is_found_by_a_probe_long_before_the_timeout(size: int) -> None:
    """Nothing later tells of the loss of the last packets, nor of the loss of the probes."""
    world = replace(PAIR, messages=((1, 1, size, 0, LOSSLESS),), reorder_us=10)
    fabric = worlds.topology(world)
    port = fabric.hosts[0].first_port
    packets = -(-size // 1024)
    edits = [e.DropEvery((packets - 1) * 300_000, port, 1), e.DropEvery(150 * US, port, 0)]
    playing = play(Emulator(fabric, worlds.parameters(world, fabric), edits))
    assert playing.finished
    hosts = playing.state.hosts
    assert hosts["timeouts"].sum() == 0
    assert hosts["retransmitted_probe_pkts"].sum() > 1
    assert hosts["goodput_bytes"][0] == size
    assert playing.state.messages["end_ps"][1] < 600 * US


def test_lost_acknowledgements_do_not_widen_the_window() -> None:
    """The second copy of a packet whose ACK was lost says nothing of reordering."""
    world = replace(PAIR, messages=((1, 1, 60_000, 0, LOSSLESS),), reorder_us=10)
    fabric = worlds.topology(world)
    sender = fabric.hosts[1]
    # From here on nothing comes back for a while: the last ACKs are lost, the last data packets are not.
    edits = [e.FibRoute(12 * US, fabric.switches[0].id, sender.id, ()),
             e.FibRoute(60 * US, fabric.switches[0].id, sender.id, (fabric.ports[sender.first_port].peer,))]
    playing = play(Emulator(fabric, worlds.parameters(world, fabric), edits))
    assert playing.finished
    assert playing.state.hosts["duplicates"].sum() > 0
    assert (playing.state.boards["window_mult"] == 1).all()


@given(every=st.integers(2, 30), seed=st.integers(0, 1000))
def test_messages_of_a_queue_pair_arrive_in_the_order_they_were_posted(every: int, seed: int) -> None:
    """A message whose packets are all here waits for those before it (rule 3 of host/placement)."""
    world = replace(SPRAYED, drop_every=every, seed=seed,
                    messages=tuple((4, 4, size, 100 * k, LOSSLESS)
                                   for k, size in enumerate((9000, 500, 30_000, 1, 1024, 2048, 700, 20_000))))
    playing = play(emulator(world))
    assert playing.finished
    assert (np.diff(playing.state.rmessages["arrived_ps"][1:]) >= 0).all()
    assert (np.diff(playing.state.messages["end_ps"][1:]) >= 0).all()
    assert (playing.state.rmessages["hops"][1:] == 3).all()


def test_acks_are_coalesced_only_while_nothing_is_missing() -> None:
    world = replace(PAIR, payload=1000, ack_every=10, messages=((0, 1, 100_000, 0, LOSSLESS),))
    playing = play(emulator(world))
    answers = playing.state.queues["enqueued_pkts"].reshape(-1, 8)[playing.fabric.hosts[1].first_port].sum()
    assert answers == 10
    lossy = play(emulator(replace(world, messages=((1, 1, 100_000, 0, LOSSLESS),), drop_every=20)))
    answers = lossy.state.queues["enqueued_pkts"].reshape(-1, 8)[lossy.fabric.hosts[0].first_port].sum()
    assert lossy.finished
    assert answers > 50


def test_a_queue_pair_that_never_hears_fails_at_its_retry_limit() -> None:
    world = replace(PAIR, drop_every=1, timeout_us=200, reorder_us=10, messages=((1, 1, 9000, 0, LOSSLESS),) * 2)
    playing = play(emulator(world))
    assert playing.finished
    assert playing.state.messages["failed"][1:].all()
    assert playing.state.hosts["timeouts"][1] == 8
    assert not check(playing.state, playing.fabric, playing.now_ps)


def test_many_timers_of_one_host_at_one_moment_all_run() -> None:
    """One event serves 32 queue pairs; the others follow at the same moment."""
    world = replace(PAIR, timeout_us=100, recovery=Recovery.GO_BACK_N, drop_every=1)
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    count = 100
    same = np.ones(count, np.int64)
    params = replace(
        params,
        queue_pairs=QueuePairs(src=same, dst=0 * same, dscp=26 * same, src_udp_port=50_000 + np.arange(count),
                               dst_udp_port=4791 * same, port=fabric.hosts[1].first_port * same),
        messages=Messages(src=same, dst=0 * same, size_bytes=500 * same, start_ps=0 * same, dscp=26 * same,
                          qp=np.arange(count), delay_ps=0 * same))
    playing = play(Emulator(fabric, params))
    assert playing.finished
    assert playing.state.hosts["messages_failed"][1] == count
    assert playing.state.hosts["timeouts"][1] == 8 * count

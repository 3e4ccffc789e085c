"""Invariants of every world: bytes are conserved, no queue is negative, lossless classes lose nothing, pauses add up,
and the digest depends on the scenario alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np
import pytest
import worlds
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from runs import END_PS, digest, simulate, stops
from worlds import LOSSLESS, US, World, emulator

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason, EventKind, Recovery, Stop
from tests.forked import UNCOMPILED, printed

LOSSLESS_REASONS: Final = [DropReason.HEADROOM, DropReason.SHARED_HEADROOM_POOL, DropReason.NO_HEADROOM]
HALF: Final = settings(max_examples=settings.default.max_examples // 2)
"""For invariants that simulate a world several times."""

SEVEN_TO_ONE: Final = tuple((sender, 8 - sender, 60_000, 0, LOSSLESS) for sender in range(1, 8))
INCAST: Final = World(hosts=4, spines=2, up_gbps=100, kmin_kb=5, messages=SEVEN_TO_ONE)
LOSSY: Final = World(pfc=False, pool_kb=20, hosts=4, messages=SEVEN_TO_ONE)
SLOW: Final = World(
    drain_mbps=2000, watchdog=True, messages=((0, 1, 400_000, 0, LOSSLESS), (2, 3, 400_000, 0, LOSSLESS))
)
CHATTER: Final = World(
    leaves=1,
    hosts=3,
    host_gbps=10,
    delay_ns=129,
    payload=256,
    pool_kb=30,
    reserved=2048,
    xon_offset=0,
    dynamic_th=None,
    quanta=2000,
    response_ns=1854,
    incast=True,
    messages=((0, 1, 60_000, 0, LOSSLESS), (0, 1, 60_000, 0, LOSSLESS), (1, 1, 120_000, 0, LOSSLESS)),
)
"""Events that coincide with the end of a frame to the picosecond."""
RESTART: Final = World(
    recovery=2,
    drop_every=7,
    hosts=2,
    leaves=1,
    payload=4096,
    kmin_kb=0,
    messages=tuple((1, 1, 12_000, 0, LOSSLESS) for _ in range(6)),
)
"""Short messages of one queue pair, whose first packets get lost too."""
SPRAYED: Final = World(
    recovery=3,
    balance=1,
    spines=2,
    parallel=2,
    hosts=3,
    host_gbps=25,
    up_gbps=10,
    drop_every=7,
    reorder_us=20,
    bitmap=64,
    ack_every=4,
    vxlan=True,
    messages=tuple((sender, 3 + sender % 2, 60_000, 100 * sender, LOSSLESS) for sender in range(9)),
)
"""Packets placed out of order, lost ones, probes, and a window that grows."""
MOMENTS: Final = st.lists(st.integers(1, 300 * US), max_size=4)


def sent_towards(snapshot: Snapshot, port: int) -> NDArray[np.int64]:
    """(8,) bytes by class that the peer of a port put on the wire, PFC frames left out."""
    return np.asarray(snapshot.queues["sent_bytes"][snapshot.fabric.ports[port].peer])


def data_received(snapshot: Snapshot, port: int) -> int:
    """Bytes that arrived at a port, PFC frames left out."""
    row = snapshot.ports[port]
    return int(row["rx_bytes"]) - int(row["rx_pause_pkts"]) * worlds.FRAMES["pfc"]


@given(world=worlds.worlds(), moments=MOMENTS)
@example(world=INCAST, moments=[10 * US, 50 * US])
@example(world=LOSSY, moments=[10 * US, 50 * US])
@example(world=SLOW, moments=[10 * US, 50 * US])
def test_bytes_in_are_bytes_out_waiting_or_dropped(world: World, moments: list[int]) -> None:
    for simulating, snapshot in stops(world, moments):
        queues, ports = snapshot.queues, snapshot.ports
        switch_rows = ports["node"] >= len(snapshot.hosts)
        flown = ports["tx_bytes"].sum() - ports["rx_bytes"].sum()
        assert flown >= 0, "more arrived than was sent"
        assert (ports["tx_pkts"].sum() - ports["rx_pkts"].sum() == 0) == (flown == 0)
        # A queue: enqueued bytes have left, wait, or were discarded while waiting (refused bytes were not enqueued).
        gone = queues["enqueued_bytes"] - queues["sent_bytes"] - queues["depth_bytes"]
        assert (gone[switch_rows] >= 0).all()
        assert (gone <= queues["dropped_bytes"])[switch_rows].all()
        if not world.watchdog:
            assert (gone[switch_rows] == 0).all()
        if not world.vxlan:
            _check_switches(world, snapshot)
        if simulating.finished and simulating.now_ps < END_PS:
            assert flown == 0
            assert (queues["depth_bytes"] == 0).all()


def _check_switches(world: World, snapshot: Snapshot) -> None:
    """A switch: every received byte of a class was enqueued in that class or counted as its drop."""
    for node in snapshot.fabric.switches:
        rows = list(node.ports)
        arrived = sum(data_received(snapshot, port) for port in rows)
        joined = snapshot.queues["enqueued_bytes"][rows].sum(axis=0)
        drops = snapshot.drops["bytes"][rows].sum(axis=0)
        queues = snapshot.queues[rows]
        flushed = joined - queues["sent_bytes"].sum(axis=0) - queues["depth_bytes"].sum(axis=0)
        by_class = joined + drops.sum(axis=1) - flushed
        assert by_class.sum() == arrived
        sent = sum(sent_towards(snapshot, port) for port in rows)
        assert (by_class <= sent).all(), "a class received more than was sent in it"


@given(world=worlds.worlds(), start_ps=st.integers(0, 200 * US), step_ps=st.sampled_from([100_000, US, 10 * US]))
@example(world=INCAST, start_ps=0, step_ps=US)
@example(world=CHATTER, start_ps=130 * US, step_ps=US)
def test_no_link_is_faster_than_its_rate(world: World, start_ps: int, step_ps: int) -> None:
    largest = world.payload + sum(worlds.FRAMES[part] for part in ("data", "reth", "vxlan", "overhead"))
    moments, before = [start_ps + step_ps * k for k in range(30)], None
    for simulating, snapshot in stops(world, moments):
        ports, now_ps = snapshot.ports, simulating.now_ps
        rate_bps = ports["rate_bps"]
        wire_bytes = ports["tx_bytes"] + worlds.FRAMES["overhead"] * ports["tx_pkts"]
        assert (ports["busy_ps"] >= wire_bytes * 8 * 10**12 // rate_bps).all()
        if before is not None:
            # Sending time is counted at a frame's start, hence one frame may reach beyond now.
            since = ports["busy_ps"] - before[1]
            assert (since <= now_ps - before[0] + largest * 8 * 10**12 // rate_bps + 1).all()
        before = now_ps, ports["busy_ps"]


@given(world=worlds.worlds(), moments=MOMENTS)
@example(world=INCAST, moments=[10 * US, 50 * US])
@example(world=SLOW, moments=[10 * US, 50 * US])
def test_no_depth_is_negative_and_nothing_overflows(world: World, moments: list[int]) -> None:
    for _, snapshot in stops(world, moments):
        for place in (
            "queues.depth_bytes",
            "queues.depth_pkts",
            "pgs.use_bytes",
            "pgs.headroom_bytes",
            "pools.used_bytes",
            "pools.headroom_used_bytes",
            "hosts.rx_used_bytes",
        ):
            table, field = place.split(".")
            assert (getattr(snapshot, table)[field] >= 0).all(), place
        queues, pgs, pools = snapshot.queues, snapshot.pgs, snapshot.pools
        assert ((queues["depth_bytes"] == 0) == (queues["depth_pkts"] == 0)).all()
        assert (queues["depth_bytes"] <= queues["peak_bytes"]).all()
        assert (queues["watermark_bytes"] <= queues["peak_bytes"]).all()
        assert (queues["marked_pkts"] <= queues["ect_pkts"]).all()
        assert (pgs["headroom_bytes"] <= pgs["xoff_bytes"]).all()
        assert (pgs["headroom_peak_bytes"] <= pgs["xoff_bytes"]).all()
        assert (pools["used_bytes"] <= pools["size_bytes"]).all()
        assert (pools["headroom_used_bytes"] <= pools["headroom_size_bytes"]).all()


@given(world=worlds.worlds(), moments=MOMENTS)
@example(world=INCAST, moments=[10 * US, 50 * US])
def test_a_pool_holds_the_sum_of_its_groups_and_queues(world: World, moments: list[int]) -> None:
    for _, snapshot in stops(world, moments):
        rows = snapshot.ports["node"] >= len(snapshot.hosts)
        used, headroom = np.zeros(len(snapshot.pools), np.int64), np.zeros(len(snapshot.pools), np.int64)
        pgs, queues = snapshot.pgs[rows], snapshot.queues[rows]
        np.add.at(used, pgs["pool"], np.maximum(pgs["use_bytes"] - pgs["reserved_bytes"], 0))
        np.add.at(used, queues["pool"], queues["depth_bytes"])
        np.add.at(headroom, pgs["pool"], pgs["headroom_bytes"])
        assert (used == snapshot.pools["used_bytes"]).all()
        shared = snapshot.pools["headroom_size_bytes"] > 0
        assert (headroom == snapshot.pools["headroom_used_bytes"])[shared].all()


@given(world=worlds.worlds(trouble=False))
@example(world=INCAST)
@example(world=CHATTER)
def test_no_lossless_packet_is_lost_where_headroom_is_by_the_book(world: World) -> None:
    snapshot = simulate(emulator(world)).snapshot()
    drops = snapshot.drops["pkts"]
    assert drops[:, LOSSLESS].sum() == 0, {
        reason.name: int(n) for reason, n in zip(DropReason, drops[:, LOSSLESS].sum(axis=0), strict=True) if n
    }
    assert drops[:, :, LOSSLESS_REASONS].sum() == 0


def test_lossless_traffic_is_lost_without_headroom() -> None:
    """The property above can fail: the same incast without PFC loses packets."""
    snapshot = simulate(emulator(LOSSY)).snapshot()
    assert snapshot.drops["pkts"][:, LOSSLESS, DropReason.INGRESS_THRESHOLD].sum() > 0


@given(world=worlds.worlds(), moments=MOMENTS)
@example(world=INCAST, moments=[10 * US, 50 * US])
@example(world=SLOW, moments=[10 * US, 50 * US])
def test_pause_accounting_closes(world: World, moments: list[int]) -> None:
    for simulating, snapshot in stops(world, moments):
        prios, now_ps = snapshot.prios, snapshot.time_ps
        paused = snapshot.ports["paused"][:, np.newaxis] >> np.arange(8) & 1
        assert (prios["pauses"] - prios["on2off_pkts"] == paused).all(), "begun less ended are those that last"
        assert (prios["longest_ps"] <= prios["rx_paused_ps"]).all()
        assert (prios["rx_paused_ps"] <= now_ps).all()
        assert ((prios["rx_paused_ps"] == 0) | (prios["rx_xoff_pkts"] > 0)).all()
        assert (prios["pauses"] <= prios["rx_xoff_pkts"]).all()
        for port in snapshot.fabric.ports:
            here, peer = prios[port.peer], prios[port.id]
            assert (here["rx_xoff_pkts"] <= peer["tx_xoff_pkts"]).all()
            assert (here["rx_xon_pkts"] <= peer["tx_xon_pkts"]).all()
        if simulating.finished and not simulating.snapshot().ports["paused"].any() and now_ps < END_PS:
            assert (prios["tx_xoff_pkts"] == prios["rx_xoff_pkts"][[p.peer for p in snapshot.fabric.ports]]).all()


@given(world=worlds.worlds())
@example(world=INCAST)
@example(world=SLOW)
def test_the_log_of_pauses_agrees_with_the_counters(world: World) -> None:
    simulating = simulate(emulator(world))
    snapshot, events = simulating.snapshot(), simulating.drain_events()
    for kind, field in [(EventKind.PAUSED, "pauses"), (EventKind.RESUMED, "on2off_pkts")]:
        counted = np.zeros((len(snapshot.ports), 8), np.int64)
        rows = events[events["kind"] == kind]
        np.add.at(counted, (rows["port"], rows["prio"]), 1)
        assert (counted == snapshot.prios[field]).all()
    resumed, total = events[events["kind"] == EventKind.RESUMED], np.zeros((len(snapshot.ports), 8), np.int64)
    np.add.at(total, (resumed["port"], resumed["prio"]), resumed["a"])
    paused = snapshot.ports["paused"][:, np.newaxis] >> np.arange(8) & 1
    lasting = paused * (snapshot.time_ps - snapshot.prios["since_ps"])
    assert (total + lasting == snapshot.prios["rx_paused_ps"]).all()
    assert (np.diff(events["time_ps"]) >= 0).all()


@given(world=worlds.worlds())
@example(world=INCAST)
@example(world=LOSSY)
@example(world=RESTART)
@example(world=SPRAYED)
def test_a_message_that_is_done_has_arrived_once_and_whole(world: World) -> None:
    simulating = simulate(emulator(world))
    snapshot = simulating.snapshot()
    messages, arrived = snapshot.messages, snapshot.rmessages["arrived_ps"]
    done = messages["end_ps"] >= 0
    assert (arrived[done] >= 0).all()
    assert (messages["start_ps"][done] < arrived[done]).all()
    assert (arrived[done] <= messages["end_ps"][done]).all()
    assert not (done & (messages["failed"] != 0)).any()
    assert snapshot.hosts["messages_done"].sum() == done.sum()
    assert snapshot.hosts["messages_failed"].sum() == messages["failed"].sum()
    goodput, whole = snapshot.hosts["goodput_bytes"].sum(), messages["size_bytes"][arrived >= 0].sum()
    assert whole <= goodput <= messages["size_bytes"].sum()
    if world.recovery == Recovery.GO_BACK_0:
        assert goodput == whole, "what has to come again counts only with the rest of its message"
    if simulating.finished:
        assert (done | (messages["failed"] != 0)).all()


@given(world=worlds.troubled())
@example(world=INCAST)
@example(world=World(faults=(("storm", 1, 1, 0),)))
@example(world=World(drop_every=1, messages=((1, 1, 9000, 0, LOSSLESS),) * 2))
def test_an_idle_fabric_ends_with_its_last_event(world: World) -> None:
    simulating = emulator(world)
    simulating.advance(END_PS)
    events = simulating.drain_events()
    assert len(events) == 0 or events["time_ps"].max() <= simulating.now_ps
    assert (simulating.snapshot().messages["end_ps"] <= simulating.now_ps).all()


@given(world=worlds.worlds())
@example(world=INCAST)
@example(world=LOSSY)
def test_nothing_stalls_in_silence(world: World) -> None:
    """A run becomes idle when all is done; messages are left over only if a message that they depend on failed."""
    simulating = emulator(world)
    stop = simulating.advance(END_PS)
    if stop is Stop.IDLE and not simulating.finished:
        assert simulating.snapshot().messages["failed"].any()
        assert world.chained


@given(world=worlds.worlds())
@example(world=INCAST)
@example(world=LOSSY)
@example(world=SLOW)
@example(world=SPRAYED)
@HALF
def test_the_digest_is_the_same_for_one_two_and_four_threads(world: World) -> None:
    assert digest(world, threads=1) == digest(world, threads=2) == digest(world, threads=4)


@given(world=worlds.worlds())
@example(world=INCAST)
@example(world=LOSSY)
@example(world=SLOW)
@example(world=SPRAYED)
@HALF
def test_windows_and_one_event_at_a_time_give_the_same_digest(world: World) -> None:
    assert digest(world) == digest(world, scheduler="sequential")


@given(world=worlds.worlds(), moments=st.lists(st.integers(1, 500 * US), max_size=6), budget=st.integers(1, 50))
@example(world=SLOW, moments=[1, 2, 3], budget=1)
@HALF
def test_where_a_run_is_interrupted_does_not_matter(world: World, moments: list[int], budget: int) -> None:
    whole, parts = simulate(emulator(world)), emulator(world)
    for moment in sorted(moments):
        parts.advance(moment, budget=budget)
        parts.snapshot()
    assert simulate(parts).digest() == whole.digest()


@given(world=worlds.worlds())
@HALF
def test_the_same_world_twice_is_the_same_world(world: World) -> None:
    assert digest(world) == digest(world)


@given(world=worlds.worlds(), moment=st.integers(1, 300 * US))
@example(world=SLOW, moment=40 * US)
@example(world=SPRAYED, moment=100 * US)
@HALF
def test_a_restored_run_ends_as_if_it_had_never_stopped(
    tmp_path_factory: pytest.TempPathFactory, world: World, moment: int
) -> None:
    path = tmp_path_factory.mktemp("checkpoint") / "state"
    stopped = simulate(emulator(world), moment)
    stopped.save(path)
    restored = Emulator.restore(stopped.fabric, stopped.params, (), path)
    assert simulate(restored).digest() == digest(world)


@pytest.mark.parametrize(
    "world",
    [
        World(messages=((0, 1, 9000, 0, LOSSLESS), (2, 3, 7000, 100, 0)), kmin_kb=1),
        World(recovery=1, window_kb=16, drop_every=5, messages=((2, 2, 20_000, 0, LOSSLESS),)),
        World(
            vxlan=True,
            drain_mbps=2000,
            watchdog=True,
            balance=2,
            messages=((0, 1, 60_000, 0, LOSSLESS), (2, 3, 9000, 0, 0)),
        ),
        SPRAYED,
    ],
    ids=["plain", "selective repeat under loss", "overlay, slow receiver, watchdog", "sprayed, out of order"],
)
def test_the_digest_is_the_same_without_the_compiler(world: World) -> None:
    text = (
        f"import json, sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import worlds\nfrom runs import digest\nprint(digest(worlds.from_json(json.loads(sys.argv[1]))))"
    )
    assert printed(text, json.dumps(worlds.to_json(world)), env=UNCOMPILED).strip() == digest(world)

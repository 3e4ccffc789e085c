"""No queue, queue pair or run waits while it could proceed, and no wake-up is in the past."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import worlds
from runs import END_PS, simulate
from worlds import DSCP, LOSSLESS, US, World, emulator

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind, Stop, TraceBit, WatchdogAction, WatchdogRule
from fabric.dataplane.state.params import EngineParams, HostParams, Messages, QueuePairs, WatchdogParams
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.verify.conservation import check

GBPS: Final = 10**9


def two_ports(world: World) -> tuple[Fabric, EngineParams]:
    """h0 with a port to each of two leaves, h1 and h2 behind either; parameters as the world's."""
    nodes = [NodeSpec(name, Role.HOST, 0) for name in ("h0", "h1", "h2")]
    nodes += [NodeSpec(name, Role.LEAF, 1) for name in ("leaf0", "leaf1")]
    ends = [("h0", "leaf0"), ("h0", "leaf1"), ("h1", "leaf0"), ("h2", "leaf1"), ("leaf0", "leaf1")]
    links = [LinkSpec(a, b, world.host_gbps * GBPS, world.delay_ns * 1000) for a, b in ends]
    fabric = assemble("two ports", nodes, links)
    return fabric, worlds.parameters(world, fabric)


def work(fabric: Fabric, rows: list[tuple[str, str, int, int]]) -> tuple[Messages, QueuePairs]:
    """(source, target, bytes, number of the source's port), one queue pair each, all at 0."""
    by_name = {node.name: node for node in fabric.nodes}
    n = len(rows)
    src = np.array([by_name[row[0]].id for row in rows], np.int64)
    dst = np.array([by_name[row[1]].id for row in rows], np.int64)
    port = np.array([by_name[row[0]].first_port + row[3] for row in rows], np.int64)
    dscp = np.full(n, DSCP[LOSSLESS], np.int64)
    return (
        Messages(
            src,
            dst,
            np.array([row[2] for row in rows], np.int64),
            np.zeros(n, np.int64),
            dscp,
            np.arange(n),
            np.zeros(n, np.int64),
        ),
        QueuePairs(src, dst, dscp, np.arange(n) + 50_000, np.full(n, 4791), port),
    )


def test_a_queue_pair_that_comes_due_as_the_hosts_other_port_falls_idle_is_not_forgotten() -> None:
    """At half rate B is due every second frame of A, to the picosecond; it must not wait for some later wake-up."""
    world = World(cc=0, host_gbps=25)
    fabric, params = two_ports(world)
    messages, pairs = work(fabric, [("h0", "h1", 400_000, 0), ("h0", "h2", 100_000, 1), ("h0", "h2", 100_000, 1)])
    simulating = Emulator(fabric, replace(params, messages=messages, queue_pairs=pairs))
    simulating.advance(1)
    simulating.state.qps["rate_bps"][1:] = [12_500_000_000, 2_500_000_000]
    simulate(simulating)
    done_ps = simulating.state.messages["end_ps"][2]
    frames = -(-100_000 // world.payload)
    wire_ps = (world.payload + 62 + 20) * 8 * 10**12 // (12_500_000_000)
    assert 0 < done_ps < frames * wire_ps * 11 // 10 + 10 * US


def slow_port(fabric: Fabric, params: EngineParams) -> EngineParams:
    """h0 drains at 1 Gb/s and has room for the frames in flight after XOFF on both ports."""
    return replace(params, hosts={**params.hosts, 0: HostParams(worlds.HOST_LATENCY_PS, GBPS, 200_000, 30_000, 20_000)})


def test_a_slow_receiver_with_two_ports_pauses_both_and_loses_nothing() -> None:
    fabric, params = two_ports(World(cc=0))
    messages, pairs = work(fabric, [("h1", "h0", 300_000, 0), ("h2", "h0", 300_000, 0)])
    simulating = Emulator(fabric, replace(slow_port(fabric, params), messages=messages, queue_pairs=pairs))
    simulate(simulating, 20_000 * US)
    assert simulating.state.hosts["rx_discards"][0] == 0
    assert (simulating.state.prios["tx_xoff_pkts"].reshape(-1, 8)[:2, LOSSLESS] > 0).all()
    assert not check(simulating.state, fabric, simulating.now_ps)
    assert simulating.finished


def test_a_slow_receiver_ends_its_pause_though_its_other_port_has_failed_meanwhile() -> None:
    fabric, params = two_ports(World(cc=0, timeout_us=0))
    messages, pairs = work(fabric, [("h1", "h0", 100_000, 0), ("h2", "h0", 300_000, 0)])
    link = fabric.links[fabric.ports[fabric.hosts[0].first_port].link].id
    simulating = Emulator(
        fabric,
        replace(slow_port(fabric, params), messages=messages, queue_pairs=pairs),
        [e.LinkState(60 * US, link, up=False)],
    )
    simulate(simulating, 60 * US)
    assert simulating.state.prios["xoff_sent"][8 + LOSSLESS] == 1, "the scenario must catch the second port in a pause"
    simulate(simulating)
    assert not simulating.state.prios["xoff_sent"].any()
    assert simulating.state.messages["end_ps"][2] > 0


def storm(world: World, watchdog: WatchdogParams, until_ps: int, *more: e.Edit, **options: Any) -> Emulator:  # noqa: ANN401
    """h1 pauses its leaf from 5 us on while h0 sends to it."""
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    switches = {node: replace(switch, watchdog=watchdog) for node, switch in params.switches.items()}
    return Emulator(
        fabric,
        replace(params, switches=switches),
        [e.PauseStorm(5 * US, fabric.hosts[1].id, 1 << LOSSLESS, until_ps, US, 65_535), *more],
        **options,
    )


FORWARDING: Final = WatchdogParams(20 * US, 20 * US, 40 * US, WatchdogAction.FORWARD, WatchdogRule.CISCO, 1 << LOSSLESS)


def test_forwarding_begins_with_the_storms_detection_though_the_port_is_busy_with_another_class() -> None:
    """The port may be in the middle of a lossy frame, without another event to wake it."""
    for offset_ps in range(0, 2 * US, 100_000):
        world = World(
            leaves=1,
            hosts=3,
            cc=0,
            host_gbps=10,
            payload=4096,
            timeout_us=0,
            messages=((0, 1, 40_000, 0, LOSSLESS), (2, 2, 4096, (38 * US + offset_ps) // 1000, 0)),
        )
        simulating = storm(world, FORWARDING, 10_000 * US)
        simulate(simulating, 2000 * US)
        assert (simulating.state.messages["end_ps"][1:] > 0).all(), offset_ps


def test_an_idle_fabric_still_waits_for_the_edits_to_come() -> None:
    world = World(timeout_us=0, cc=0)
    fabric = worlds.topology(world)
    link = fabric.links[fabric.ports[fabric.hosts[0].first_port].link].id
    simulating = Emulator(
        fabric, worlds.parameters(world, fabric), [e.LinkState(0, link, up=False), e.LinkState(500 * US, link, up=True)]
    )
    assert simulating.advance(100 * US) is Stop.BOUND
    assert simulating.now_ps == 100 * US
    assert simulating.advance(END_PS) is Stop.IDLE
    assert simulating.finished
    assert simulating.state.messages["end_ps"][1] > 500 * US


def test_no_event_of_a_device_is_older_than_the_one_before() -> None:
    """Queue pairs that come due behind a busy port used to set the host's wake-up to a past time."""
    world = World(
        leaves=1,
        hosts=3,
        host_gbps=10,
        kmin_kb=1,
        drain_mbps=3000,
        ack_every=4,
        messages=tuple((1, 1 + k % 2, 30_000, 300 * k, LOSSLESS) for k in range(12)) * 2,
    )
    simulating = emulator(world)
    before = np.zeros(len(simulating.fabric.nodes), np.int64)
    while simulating.advance(END_PS, budget=1) is Stop.BUDGET:
        assert simulating.now_ps >= before.max()
        before[:] = simulating.now_ps
        if simulating.finished:
            break


def test_the_event_log_is_the_same_for_any_number_of_threads() -> None:
    faults = (("link", 0, 20_000, 30_000), ("rate", 3, 25_000, 10), ("pfc", 4, 30_000, 20_000), ("drain", 1, 9_000, 3))
    world = World(
        hosts=4,
        spines=2,
        kmin_kb=5,
        drain_mbps=2000,
        watchdog=True,
        faults=faults,
        messages=tuple((sender, 8 - sender, 60_000, 0, LOSSLESS) for sender in range(1, 8)),
    )
    logs = [simulate(emulator(world, threads=threads)).drain_events() for threads in (1, 2, 3)]
    assert {EventKind.LINK_UP, EventKind.EDIT, EventKind.PAUSED} <= set(logs[0]["kind"].tolist())
    for log in logs[1:]:
        assert all(np.array_equal(log[field], logs[0][field]) for field in log.dtype.names or ())


def test_frames_of_an_edit_are_lost_with_a_link_that_falls_at_the_same_time() -> None:
    """The first edit frees a paused class, which sends at once; the cable is cut at that instant."""
    world = World(leaves=1, hosts=3, cc=0, timeout_us=0, messages=((0, 1, 60_000, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    port = fabric.ports[fabric.hosts[1].first_port].peer
    link = fabric.links[fabric.ports[port].link].id
    simulating = Emulator(
        fabric,
        worlds.parameters(world, fabric),
        [
            e.PauseStorm(2 * US, fabric.hosts[1].id, 1 << LOSSLESS, 9000 * US, US, 65_535),
            e.FlowControlClasses(50 * US, port, 0),
            e.LinkState(50 * US, link, up=False),
        ],
        record=TraceBit(31),
    )
    simulate(simulating, 50 * US)
    held = int(simulating.state.ports["rx_pkts"][fabric.ports[port].peer])
    simulate(simulating, 60 * US)
    assert simulating.state.ports["rx_pkts"][fabric.ports[port].peer] == held
    assert not check(simulating.state, fabric, simulating.now_ps)

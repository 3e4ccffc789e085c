"""Schedulers, marking, thresholds and load balancing against values computed by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pytest
import worlds
from runs import simulate
from worlds import DSCP, LOSSLESS, US, World, with_classes

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind, LoadBalance
from fabric.dataplane.state.params import EcnParams, EngineParams, PoolParams
from fabric.topology.model import Fabric

MTU_FRAME: Final = 1024 + 62
OTHER: Final = 0


def build(world: World, **ports: Any) -> tuple[Fabric, EngineParams]:  # noqa: ANN401  fields of QueueParams
    """The world with other settings in every switch queue."""
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    changed = [
        replace(
            port,
            queues=tuple(
                replace(queue, **{name: value[c] for name, value in ports.items()})
                for c, queue in enumerate(port.queues)
            ),
        )
        for port in params.ports
    ]
    return fabric, replace(params, ports=changed)


def by_class(**of: int) -> list[int]:
    return [of.get(f"c{c}", 1) for c in range(8)]


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 3), (20, 10), (7, 50)])
def test_two_classes_share_a_port_by_their_dwrr_weights(first: int, second: int) -> None:
    """Two senders of full frames, one receiver: bytes within one quantum of the ratio."""
    world = World(
        leaves=1,
        hosts=3,
        cc=0,
        pfc=True,
        pool_kb=800,
        timeout_us=0,
        messages=((0, 2, 900_000, 0, LOSSLESS), (1, 1, 900_000, 0, LOSSLESS)),
    )
    fabric, params = build(world, weight=by_class(c3=first, c6=second), strict=[False] * 8)
    columns = params.messages
    columns.dscp[1] = params.queue_pairs.dscp[1] = DSCP[6]
    port = int(fabric.ports[fabric.hosts[2].first_port].peer)
    sent = []
    simulating = Emulator(fabric, with_classes(params, 0))
    for moment in (50 * US, 150 * US):
        simulate(simulating, moment)
        sent.append(simulating.state.queues["sent_bytes"].reshape(-1, 8)[port].copy())
    shares = (sent[1] - sent[0])[[LOSSLESS, 6]]
    assert (simulating.state.queues["depth_pkts"].reshape(-1, 8)[port, [LOSSLESS, 6]] > 0).all(), "both must be waiting"
    total = shares.sum()
    quantum = 1024 * (first + second)
    assert abs(shares[0] - total * first / (first + second)) <= quantum + MTU_FRAME


def test_a_strict_class_takes_the_port_and_leaves_the_rest() -> None:
    world = World(
        leaves=1,
        hosts=3,
        cc=0,
        strict=True,
        pool_kb=800,
        timeout_us=0,
        pfc=False,
        host_gbps=10,
        messages=((0, 2, 60_000, 0, 0), (1, 1, 300_000, 0, LOSSLESS)),
    )
    fabric, params = build(world, static_th_bytes=[10**9] * 8)
    simulating = simulate(Emulator(fabric, params), 150 * US)
    port = int(fabric.ports[fabric.hosts[2].first_port].peer)
    sent = simulating.state.queues["sent_pkts"].reshape(-1, 8)[port]
    assert sent[OTHER] <= 4
    assert sent[LOSSLESS] > 100


def marked(curve: EcnParams, *, dequeue: bool = False, seed: int = 1) -> list[tuple[int, bool]]:
    """(depth at a packet's arrival, whether it was marked) of an incast without congestion control."""
    world = World(
        leaves=1,
        hosts=4,
        cc=0,
        pool_kb=4000,
        timeout_us=0,
        mark_at_dequeue=dequeue,
        seed=seed,
        pfc=False,
        messages=tuple((sender, 3 - sender, 700_000, 0, LOSSLESS) for sender in range(3)),
        dynamic_th=3,
    )
    fabric, params = build(world, ecn=[curve] * 8, static_th_bytes=[10**9] * 8)
    simulating = simulate(Emulator(fabric, params))
    row = simulating.state.queues.reshape(-1, 8)[int(fabric.ports[fabric.hosts[3].first_port].peer), LOSSLESS]
    log = simulating.drain_events()
    depths = log["a"][log["kind"] == EventKind.MARK]
    return [(int(row["ect_pkts"]), False), *((int(depth), True) for depth in depths)]


def test_no_packet_is_marked_up_to_kmin_and_every_one_from_kmax() -> None:
    curve = EcnParams(100_000, 100_001, 1.0)
    (total, _), *marks = marked(curve)
    assert min(depth for depth, _ in marks) > 100_000
    # The queue passes 100 kB once on its way up and once down; all packets in between are marked.
    flat = marked(EcnParams(0, 1, 1.0))
    assert len(flat) - 1 >= total - 5  # all except those that found an empty queue
    assert len(marks) < total


def test_between_kmin_and_kmax_the_share_of_marks_rises_linearly_to_pmax() -> None:
    kmin, kmax, pmax = 0, 2_000_000, 0.5
    every = [depth for depth, _ in marked(EcnParams(0, 1, 1.0))[1:]]
    some = [depth for seed in range(6) for depth, _ in marked(EcnParams(kmin, kmax, pmax), seed=seed)[1:]]
    edges = np.linspace(0, max(every) + 1, 6)
    expected = (
        np.array(
            [sum(pmax * (d - kmin) / (kmax - kmin) for d in every if low < d <= high) for low, high in pairwise(edges)]
        )
        * 6
    )
    found = np.histogram(some, edges)[0]
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected) + 1).all()


def flows(balance: LoadBalance, gap_us: int, spines: int = 4) -> tuple[Fabric, EngineParams]:
    world = World(
        leaves=2,
        spines=spines,
        hosts=4,
        cc=0,
        pool_kb=4000,
        timeout_us=0,
        hashing=3,
        messages=tuple((k % 4, 4 + (k // 4) % 4 - k % 4, 4000 + k, 0, LOSSLESS) for k in range(16)),
    )
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    switches = {
        node: replace(switch, load_balance=balance, flowlet_gap_ps=gap_us * US)
        for node, switch in params.switches.items()
    }
    return fabric, replace(params, switches=switches)


def test_flowlets_that_begin_at_time_0_spread_as_later_ones_do() -> None:
    """A gap longer than the run so far used to keep every first packet on the first member."""
    fabric, params = flows(LoadBalance.FLOWLET, 1000)
    simulating = simulate(Emulator(fabric, params))
    leaf = next(node for node in fabric.switches if node.name == "leaf0")
    uplinks = [port for port in leaf.ports if not fabric.nodes[fabric.ports[fabric.ports[port].peer].node].is_host]
    used = simulating.state.ports["tx_bytes"][uplinks]
    assert (used > 5000).sum() >= 3


def test_flowlets_avoid_a_deep_queue_however_deep() -> None:
    """Megabytes of queue times picoseconds a second must not overflow and make the port look empty."""
    world = World(
        leaves=2,
        spines=2,
        hosts=4,
        cc=0,
        pool_kb=40_000,
        timeout_us=0,
        up_gbps=10,
        host_gbps=100,
        pfc=False,
        dynamic_th=3,
        messages=tuple((k, 4, 2_000_000, 0, LOSSLESS) for k in range(3))
        + tuple((3, 4, 3000 + k, 280_000 + 9000 * k, OTHER) for k in range(6)),
    )
    fabric, params = build(world, static_th_bytes=[10**9] * 8)
    params = replace(
        params,
        switches={
            node: replace(
                switch,
                load_balance=LoadBalance.FLOWLET,
                flowlet_gap_ps=US,
                pools=(PoolParams("in", 40_000_000, 0), PoolParams("out", 10**9, 0)),
            )
            for node, switch in params.switches.items()
        },
    )
    leaf = next(node for node in fabric.switches if node.name == "leaf0")
    deep, other = [port for port in leaf.ports if not fabric.nodes[fabric.ports[fabric.ports[port].peer].node].is_host]
    spine = fabric.nodes[fabric.ports[fabric.ports[deep].peer].node]
    routes = [e.FibRoute(0, leaf.id, fabric.hosts[4 + k].id, (fabric.ports[deep].id,)) for k in range(3)]
    simulating = Emulator(fabric, params, routes)
    simulate(simulating, 279 * US)
    assert simulating.state.queues["depth_bytes"].reshape(-1, 8)[deep, LOSSLESS] > 1_200_000
    before = simulating.state.queues["enqueued_pkts"].reshape(-1, 8)[[deep, other], OTHER].copy()
    simulate(simulating, 400 * US)
    after = simulating.state.queues["enqueued_pkts"].reshape(-1, 8)[[deep, other], OTHER]
    assert spine.name.startswith("spine")
    assert (after - before)[0] == 0
    assert (after - before)[1] > 6


def test_a_link_that_gets_its_speed_back_is_filled_again_without_congestion_control() -> None:
    world = World(cc=0, host_gbps=100, up_gbps=100, messages=((0, 1, 900_000, 0, LOSSLESS),), pool_kb=800)
    fabric = worlds.topology(world)
    link = fabric.links[fabric.ports[fabric.hosts[0].first_port].link].id
    dip = [e.LinkRate(10 * US, link, 10**10), e.LinkRate(20 * US, link, 10**11)]
    whole, dipped = (simulate(Emulator(fabric, worlds.parameters(world, fabric), edits)) for edits in ([], dip))
    assert dipped.state.qps["rate_bps"][0] == 10**11
    lost_ps = int(dipped.state.messages["end_ps"][1] - whole.state.messages["end_ps"][1])
    assert 8 * US < lost_ps < 11 * US

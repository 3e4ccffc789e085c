"""Small random worlds for tests of the engine: a topology, its configuration, and messages.

A World is plain numbers, so that another process can build the same one from its JSON.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import Edit
from fabric.dataplane.port.flowcontrol.params import PfcParams
from fabric.dataplane.state.codes import (
    CongestionControl,
    HashAlgorithm,
    LoadBalance,
    Recovery,
    TraceBit,
    WatchdogAction,
    WatchdogRule,
)
from fabric.dataplane.state.control_params import CubicParams, HpccParams, PintParams, SwiftParams, TimelyParams
from fabric.dataplane.state.params import (
    DcqcnParams,
    DctcpParams,
    EcnParams,
    EngineParams,
    FrameParams,
    HostParams,
    Messages,
    PgParams,
    PoolParams,
    PortParams,
    QueuePairs,
    QueueParams,
    SegmentParams,
    SwitchParams,
    TransportParams,
    VxlanParams,
    WatchdogParams,
)
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role

US: Final = 1_000_000
LOSSLESS: Final = 3
CNP_CLASS: Final = 6
DSCP: Final = {LOSSLESS: 26, CNP_CLASS: 48, 0: 0}
FRAMES: Final = {"data": 62, "reth": 16, "ack": 66, "cnp": 78, "pfc": 64, "vxlan": 50, "overhead": 20}
"""SEMANTICS: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4; AETH 4; preamble, SFD and gap 20."""
MTU: Final = 9216
NO_LIMIT: Final = 10**9


@dataclass(frozen=True)
class World:
    """One small network with its messages."""

    leaves: int = 2
    spines: int = 1
    hosts: int = 2
    """Per leaf."""
    host_gbps: int = 25
    up_gbps: int = 25
    delay_ns: int = 100
    parallel: int = 1
    payload: int = 1024
    cell: int = 1
    pool_kb: int = 200
    dynamic_th: int | None = 0
    reserved: int = 0
    xon_offset: int = 4096
    shared_headroom: bool = False
    pfc: bool = True
    quanta: int = 65535
    response_ns: int = 100
    kmin_kb: int = 0
    """0: no marking."""
    mark_at_dequeue: bool = False
    drop_non_ect: bool = False
    cc: int = 1
    byte_counter: int = 32_767
    clamp: bool = False
    floor_mbps: int = 100
    recovery: int = 0
    window_kb: int = 0
    ack_every: int = 1
    timeout_us: int = 500
    nak_interval_us: int = 0
    reorder_us: int = 100
    bitmap: int = 1024
    """Out-of-order: reordering window, and packets that a receiver tracks."""
    balance: int = 0
    hashing: int = 0
    vxlan: bool = False
    drain_mbps: int = 0
    watchdog: bool = False
    drop_every: int = 0
    weight: int = 1
    strict: bool = False
    seed: int = 1
    messages: tuple[tuple[int, int, int, int, int], ...] = ((0, 1, 100_000, 0, LOSSLESS),)
    """(source, distance to the destination, bytes, start in ns, class)"""
    incast: bool = False
    """All messages go to the last host."""
    chained: bool = False
    """Each message depends on the one before if that ends at its source."""
    faults: tuple[tuple[str, int, int, int], ...] = ()
    """(kind, number of the thing, time in ns, amount or duration)"""


GEOMETRY: Final = {
    "leaves": st.integers(1, 3),
    "spines": st.integers(1, 2),
    "hosts": st.integers(2, 4),
    "host_gbps": st.sampled_from([10, 25, 100]),
    "up_gbps": st.sampled_from([10, 40, 100]),
    "delay_ns": st.integers(1, 3000),
    "parallel": st.integers(1, 2),
}
MEMORY: Final = {
    "cell": st.sampled_from([1, 208, 254]),
    "pool_kb": st.sampled_from([30, 60, 150, 800]),
    "dynamic_th": st.one_of(st.none(), st.integers(-4, 3)),
    "reserved": st.sampled_from([0, 2048]),
    "xon_offset": st.sampled_from([0, 2048, 18_432]),
    "quanta": st.sampled_from([2000, 65_535]),
    "response_ns": st.integers(1, 2000),
}
MARKING: Final = {
    "kmin_kb": st.sampled_from([0, 1, 5, 20]),
    "mark_at_dequeue": st.booleans(),
    "drop_non_ect": st.booleans(),
}
TRANSPORT: Final = {
    "payload": st.sampled_from([256, 1024, 4096]),
    "cc": st.sampled_from([1, 0, 3, 5, 6, 7, 8, 9]),
    "byte_counter": st.sampled_from([0, 32_767]),
    "clamp": st.booleans(),
    "floor_mbps": st.sampled_from([1, 100]),
    "recovery": st.sampled_from([0, 1, 2, 3]),
    "reorder_us": st.sampled_from([1, 20, 100]),
    "bitmap": st.sampled_from([16, 64, 1024]),
    "window_kb": st.sampled_from([0, 16, 64]),
    "ack_every": st.sampled_from([1, 4]),
    "timeout_us": st.sampled_from([200, 1000]),
    "nak_interval_us": st.sampled_from([0, 50]),
}
FORWARDING: Final = {
    "balance": st.sampled_from([0, 1, 2, 3, 4]),
    "hashing": st.sampled_from([0, 1, 2, 3]),
    "vxlan": st.booleans(),
    "weight": st.sampled_from([1, 10]),
    "strict": st.booleans(),
    "seed": st.integers(0, 10**6),
}
TROUBLE: Final = {
    "shared_headroom": st.booleans(),
    "pfc": st.booleans(),
    "drain_mbps": st.sampled_from([0, 2000]),
    "watchdog": st.booleans(),
    "drop_every": st.sampled_from([0, 0, 7, 50]),
}


def messages(classes: list[int]) -> st.SearchStrategy[tuple[tuple[int, int, int, int, int], ...]]:
    """Up to sixteen messages, most of them large and close together; shorter ones in between."""
    size = st.one_of(st.sampled_from([60_000, 120_000, 250_000]), st.integers(1, 20_000))
    one = st.tuples(
        st.integers(0, 11), st.integers(1, 11), size, st.sampled_from([0, 0, 100, 5000]), st.sampled_from(classes)
    )
    return st.lists(one, min_size=2, max_size=16).map(tuple)


@st.composite
def worlds(draw: st.DrawFn, *, trouble: bool = True, classes: tuple[int, ...] = (LOSSLESS, 0)) -> World:
    """Any world; without `trouble` no lossless packet may be lost."""
    fields = {**GEOMETRY, **MEMORY, **MARKING, **TRANSPORT, **FORWARDING, **(TROUBLE if trouble else {})}
    drawn = {name: draw(strategy) for name, strategy in fields.items()}
    world = World(
        **drawn, messages=draw(messages(list(classes))), incast=draw(st.booleans()), chained=draw(st.booleans())
    )
    if (world.recovery == 1 or world.cc in {8, 9}) and world.window_kb == 0:
        return replace(world, window_kb=64)  # selective repeat, Swift and CUBIC need a window
    return world


FAULTS: Final = ("link", "rate", "errors", "loss", "drain", "storm", "ecn", "pfc", "watchdog", "group", "route")


@st.composite
def troubled(draw: st.DrawFn) -> World:
    """Any world, and up to five dated faults."""
    one = st.tuples(st.sampled_from(FAULTS), st.integers(0, 30), st.integers(1, 150_000), st.integers(0, 100_000))
    return replace(draw(worlds()), faults=tuple(draw(st.lists(one, min_size=1, max_size=5))))


def edits(world: World, fabric: Fabric) -> list[Edit]:
    """The world's faults as edits; the second of a pair ends the first."""
    return [
        edit
        for kind, which, at_ns, much in world.faults
        for edit in _fault(world, fabric, kind, which, at_ns * 1000, much)
    ]


def _fault(world: World, fabric: Fabric, kind: str, which: int, at_ps: int, much: int) -> list[Edit]:
    link, port = fabric.links[which % len(fabric.links)].id, fabric.ports[which % len(fabric.ports)].id
    host, switch = fabric.hosts[which % len(fabric.hosts)].id, fabric.switches[which % len(fabric.switches)]
    end_ps = at_ps + 1 + much * 1000
    watchdog = _switch(replace(world, watchdog=True), switch.id).watchdog
    own = switch.ports[much % switch.n_ports]
    pg = _port(world, 10**10, is_host=False).pgs[LOSSLESS]
    made: dict[str, list[Edit]] = {
        "link": [e.LinkState(at_ps, link, up=False), e.LinkState(end_ps, link, up=True)],
        "rate": [e.LinkRate(at_ps, link, 10**9 * (1 + much % 40)), e.LinkRate(end_ps, link, 25 * 10**9)],
        "errors": [e.LinkErrors(at_ps, link, 1e-5), e.LinkErrors(end_ps, link, 0.0)],
        "loss": [e.DropEvery(at_ps, port, 1 + much % 50), e.DropEvery(end_ps, port, 0)],
        "drain": [e.HostDrain(at_ps, host, 10**8 * (1 + much % 50)), e.HostDrain(end_ps, host, 0)],
        "storm": [e.PauseStorm(at_ps, host, 1 << LOSSLESS, 1 + much * 1000, (much % 3) * 700_000, 2000)],
        "ecn": [e.QueueEcn(at_ps, port, LOSSLESS, EcnParams(2000, 9000, 0.5))],
        "pfc": [e.FlowControlClasses(at_ps, port, 0), e.FlowControlClasses(end_ps, port, 1 << LOSSLESS)],
        "watchdog": [e.WatchdogSet(at_ps, switch.id, watchdog), e.WatchdogSet(end_ps, switch.id, None)],
        "group": [e.PgThreshold(at_ps, own, LOSSLESS, replace(pg, dynamic_th=-3, reserved_bytes=much % 3000))],
        "route": [e.FibRoute(at_ps, switch.id, host, ())],
    }
    if kind == "drain" and not world.drain_mbps:
        return []  # healthy hosts have no receive buffer to fill
    return made[kind]


def topology(world: World) -> Fabric:
    nodes, links = [], []
    for leaf in range(world.leaves):
        nodes.append(NodeSpec(f"leaf{leaf}", Role.LEAF, 1))
        for index in range(world.hosts):
            host = f"h{leaf * world.hosts + index}"
            nodes.append(NodeSpec(host, Role.HOST, 0))
            links.append(LinkSpec(host, f"leaf{leaf}", world.host_gbps * 10**9, world.delay_ns * 1000))
    for spine in range(world.spines if world.leaves > 1 else 0):
        nodes.append(NodeSpec(f"spine{spine}", Role.SPINE, 2))
        links += [
            LinkSpec(f"leaf{leaf}", f"spine{spine}", world.up_gbps * 10**9, world.delay_ns * 1000)
            for leaf in range(world.leaves)
            for _ in range(world.parallel)
        ]
    return assemble("world", nodes, links)


SWITCH_LATENCY_PS: Final = 600_000
HOST_LATENCY_PS: Final = 500_000


def with_classes(params: EngineParams, classes: int) -> EngineParams:
    """The parameters with this bitmap of classes under flow control at every port."""
    ports = [replace(it, flow_control=replace(it.flow_control, classes=classes)) for it in params.ports]
    return replace(params, ports=ports)


def headroom_bytes(world: World, rate_bps: int) -> int:
    """Bytes that may arrive after the threshold is crossed (IEEE 802.1Q annex N), in cells of the worst frame size:
    own frame in progress, PFC frames, cable, response, the peer's frame in progress, cable, latency.
    """
    largest = world.payload + FRAMES["data"] + FRAMES["reth"] + FRAMES["vxlan"] + FRAMES["overhead"]
    frames_bytes = 3 * largest + 2 * (FRAMES["pfc"] + FRAMES["overhead"])
    waiting_ps = 2 * world.delay_ns * 1000 + world.response_ns * 1000 + max(SWITCH_LATENCY_PS, HOST_LATENCY_PS)
    wire_bytes = frames_bytes + -(-waiting_ps * rate_bps // (8 * 10**12))
    worst = max(
        -(-size // world.cell) * world.cell / (size + FRAMES["overhead"]) for size in range(FRAMES["data"] + 1, largest)
    )
    return int(wire_bytes * worst) + 2 * world.cell


def parameters(world: World, fabric: Fabric) -> EngineParams:
    n_hosts = len(fabric.hosts)
    switches = {node.id: _switch(world, node.id) for node in fabric.switches}
    ports = [_port(world, fabric.links[port.link].rate_bps, is_host=port.node < n_hosts) for port in fabric.ports]
    slow = HostParams(HOST_LATENCY_PS, world.drain_mbps * 10**6, 100_000, 30_000, 20_000)
    healthy = HostParams(HOST_LATENCY_PS, 0, 0, 0, 0)
    work, pairs = _work(world, fabric)
    return EngineParams(
        seed=world.seed,
        frames=FrameParams(
            world.payload,
            FRAMES["data"],
            FRAMES["reth"],
            FRAMES["ack"],
            FRAMES["cnp"],
            FRAMES["pfc"],
            FRAMES["vxlan"],
            FRAMES["overhead"],
        ),
        transport=_transport(world),
        switches=switches,
        ports=ports,
        hosts={host.id: slow if host.id == 1 and world.drain_mbps else healthy for host in fabric.hosts},
        host_ip=np.arange(len(fabric.nodes)) + (10 << 24),
        messages=work,
        queue_pairs=pairs,
        vxlan=_overlay(n_hosts) if world.vxlan else None,
        drop_every={fabric.hosts[0].first_port: world.drop_every} if world.drop_every else {},
    )


def _overlay(n_hosts: int) -> VxlanParams:
    return VxlanParams(
        uniform_dscp=True,
        outer_dscp=0,
        ecn_copy=True,
        segments=(SegmentParams(10_000, tuple(range(n_hosts)), suppress_arp=True),),
    )


def _switch(world: World, node: int) -> SwitchParams:
    dscp_to_tc = [0] * 64
    for c, dscp in DSCP.items():
        dscp_to_tc[dscp] = c
    size = world.pool_kb * 1000
    watchdog = WatchdogParams(20 * US, 40 * US, 40 * US, WatchdogAction.DROP, WatchdogRule.MELLANOX, 1 << LOSSLESS)
    return SwitchParams(
        SWITCH_LATENCY_PS,
        world.cell,
        (PoolParams("ingress", size, 50_000 if world.shared_headroom else 0), PoolParams("egress", NO_LIMIT, 0)),
        tuple(dscp_to_tc),
        tuple(range(8)),
        tuple(range(8)),
        world.mark_at_dequeue,
        HashAlgorithm(world.hashing),
        world.seed + node,
        LoadBalance(world.balance),
        5 * US,
        watchdog if world.watchdog else None,
    )


def _port(world: World, rate_bps: int, *, is_host: bool) -> PortParams:
    ecn = EcnParams(world.kmin_kb * 1000, world.kmin_kb * 4000, 0.2, world.drop_non_ect) if world.kmin_kb else None
    queues = tuple(
        QueueParams(
            1,
            None,
            NO_LIMIT if c == LOSSLESS else 60_000,
            ecn if c != CNP_CLASS else None,
            strict=c == CNP_CLASS or (world.strict and c == LOSSLESS),
            weight=world.weight if c else 1,
        )
        for c in range(8)
    )
    pgs = tuple(
        PgParams(
            c == LOSSLESS and world.pfc,
            0,
            world.reserved,
            world.dynamic_th,
            world.pool_kb * 100,
            headroom_bytes(world, rate_bps) if c == LOSSLESS and world.pfc else 0,
            0,
            world.xon_offset,
        )
        for c in range(8)
    )
    flow_control = PfcParams(
        classes=(1 << LOSSLESS) if world.pfc else 0, pause_quanta=world.quanta, response_ps=world.response_ns * 1000
    )
    return PortParams(MTU, flow_control, () if is_host else pgs, queues)


def _transport(world: World) -> TransportParams:
    dcqcn = DcqcnParams(
        1 / 256,
        55 * US,
        4 * US,
        55 * US,
        world.byte_counter,
        3,
        4 * 10**7,
        4 * 10**8,
        world.floor_mbps * 10**6,
        world.clamp,
        1.0,
        10 * US,
        1 * US,
    )
    dctcp = DctcpParams(1 / 16, 1.0, 4 * 10**8, world.floor_mbps * 10**6)
    floor_bps = world.floor_mbps * 10**6
    timely = TimelyParams(0.875, 0.8, 5_000, 50_000, 2_000, 25 * 10**6, 125 * 10**6, floor_bps)
    hpcc = HpccParams(
        target_ratio=0.95,
        additive_bps=10**7,
        min_rate_bps=floor_bps,
        increase_stages=world.seed % 3,
        fast_react=world.seed % 5 != 0,
        multi_rate=world.seed % 2 == 0,
        sample_feedback=world.seed % 7 == 0,
        multiple=1,
        base_rtt_ns=8_000,
        window_bytes=world.window_kb * 1000 or 25_000,
    )
    pint = PintParams(
        0.95, 10**7, floor_bps, world.seed % 3, (1.01, 1.05)[world.seed % 2], 1 - world.seed % 4 / 4, 8_000
    )
    return TransportParams(
        CongestionControl(world.cc),
        dcqcn if world.cc == 1 else None,
        Recovery(world.recovery),
        world.window_kb * 1000,
        world.window_kb > 0 and world.recovery in {0, 3},
        world.ack_every,
        world.timeout_us * US,
        7,
        world.nak_interval_us * US,
        -1,
        DSCP[CNP_CLASS],
        ack_strict=False,
        reorder_window_ps=world.reorder_us * US,
        receive_bitmap_pkts=world.bitmap,
        dctcp=dctcp if world.cc == 3 else None,
        timely=timely if world.cc == 5 else None,
        hpcc=hpcc if world.cc == 6 else None,
        pint=pint if world.cc == 7 else None,
        swift=SwiftParams(5 * US, US, 10 * US, 0.1, 100, 10 * US, 1.0, 0.8, 0.5, 0.01, 4_000)
        if world.cc == 8
        else None,
        cubic=CubicParams(0.7, 10**9, 1 + world.seed % 10, world.seed % 2 == 0) if world.cc == 9 else None,
    )


def _work(world: World, fabric: Fabric) -> tuple[Messages, QueuePairs]:
    n_hosts = len(fabric.hosts)
    rows, pairs = [], {}
    for source, distance, size, start_ns, c in world.messages:
        src = source % n_hosts
        dst = (src + 1 + (distance - 1) % (n_hosts - 1)) % n_hosts
        if world.incast:
            src, dst = source % (n_hosts - 1), n_hosts - 1
        qp = pairs.setdefault((src, dst, DSCP[c]), len(pairs))
        rows.append((src, dst, size, start_ns * 1000, DSCP[c], qp))
    after = [(i, i + 1) for i in range(len(rows) - 1) if rows[i + 1][0] in rows[i][:2]] if world.chained else []
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    keys = [np.array(column, np.int64) for column in zip(*pairs, strict=True)]
    n = len(pairs)
    first_port = np.array([fabric.hosts[src].first_port for src in keys[0]], np.int64)
    return (
        Messages(*columns[:6], np.zeros(len(rows), np.int64), after),
        QueuePairs(keys[0], keys[1], keys[2], np.arange(n) + 50_000, np.full(n, 4791), first_port),
    )


def emulator(world: World, **options: Any) -> Emulator:  # noqa: ANN401  as Emulator takes them
    """An emulator of the world."""
    fabric = topology(world)
    return Emulator(fabric, parameters(world, fabric), edits(world, fabric), record=TraceBit(31), **options)


def to_json(world: World) -> dict[str, Any]:
    return asdict(world)


def from_json(fields: dict[str, Any]) -> World:
    rows = {name: tuple(tuple(row) for row in fields[name]) for name in ("messages", "faults")}
    return World(**{**fields, **rows})

"""The public ns-3 RDMA simulator's model as engine parameters: the constants of its rules, and what follows from links.

Used by scenarios with `model: hpcc-ns3` and by recorded cases of that simulator. Numbers without another source are
those of alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc, src/point-to-point and run.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.port.flowcontrol.params import PfcParams
from fabric.dataplane.state.codes import CongestionControl, HashAlgorithm, LoadBalance, Recovery, Semantics
from fabric.dataplane.state.control_params import HpccParams, PintParams, TimelyParams
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
    SwitchParams,
    TransportParams,
)
from fabric.dataplane.transport.registry import control_of
from fabric.topology.model import Fabric, Link, Node
from fabric.units import PS_PER_US

Ints = NDArray[np.int64]
Acks = Literal["strict", "data-class", "stock"]

PS_PER_NS: Final = 1000
DATA_CLASS: Final = 3
"""Priority group of every flow in the flow files; queue 0 is the strict one."""
DATA_DSCP: Final = 26
"""Stands for priority group 3: the simulator's header carries the group itself."""
PAYLOAD_BYTES: Final = 1000
"""PACKET_PAYLOAD_SIZE."""
DATA_HEADER_BYTES: Final = 48
"""PPP written as Ethernet 14, IPv4 20, UDP 8, sequence number 4, group 2: no BTH, ICRC, FCS, preamble or gap."""
ACK_HEADER_BYTES: Final = 46
"""14 + 20 + 12 (rdma-hw.cc); what the congestion control carries comes on top."""
ACK_BYTES: Final = 60
"""ACKs and NAKs are padded to this."""
PFC_BYTES: Final = 43
"""14 + 20 + 9 (pause-header.cc)."""
RESERVE_BYTES: Final = 4096
"""Per port (switch-mmu.cc: reserve)."""
XON_OFFSET_BYTES: Final = 3072
"""switch-mmu.cc: resume_offset."""
ALPHA_SHIFT: Final = 3
"""Threshold = free bytes / 8 for ports not faster than the NIC; one shift less per doubling above it (third.cc)."""
NAK_INTERVAL_PS: Final = 500 * PS_PER_US
"""NACK generation interval of RdmaHw."""
DESTINATION_PORT: Final = 100
FIRST_SOURCE_PORT: Final = 10_000
"""third.cc: portNumder of a pair of hosts, one more for each of its flows."""
INITIAL_TTL: Final = 255
"""Never used up by shortest paths; the header has 64 and no switch decrements it."""
_UNBOUNDED: Final = 2**50


@dataclass(frozen=True, slots=True)
class Ns3Control:
    """CC_MODE, and the parameters of that control."""

    code: CongestionControl = CongestionControl.NS3_DCQCN
    dcqcn: DcqcnParams | None = None
    dctcp: DctcpParams | None = None
    timely: TimelyParams | None = None
    hpcc: HpccParams | None = None
    pint: PintParams | None = None

    @property
    def header_bytes(self) -> int:
        """What every data frame and its answer carry for it (third.cc: IntHeader::mode)."""
        return control_of(self.code).telemetry_bytes


@dataclass(frozen=True, slots=True)
class Ns3RdmaSettings:
    """What a configuration file of the simulator can change."""

    buffer_bytes: int
    """BUFFER_SIZE x 2^20, of every switch."""
    ecn: Callable[[int], EcnParams | None]
    """Port speed in bit/s -> KMIN_MAP, KMAX_MAP, PMAX_MAP; None: no marking."""
    control: Ns3Control
    acks: Acks
    window_bytes: int = 0
    variable_window: bool = False
    payload_bytes: int = PAYLOAD_BYTES
    reserve_bytes: int = RESERVE_BYTES
    xon_offset_bytes: int = XON_OFFSET_BYTES
    headroom_bytes: int | None = None
    """None: three one-way bandwidth-delay products of the port's cable."""


@dataclass(frozen=True)
class Flows:
    """Columns in the order of the flow file."""

    src: Ints
    dst: Ints
    size_bytes: Ints
    start_ps: Ints
    labels: Sequence[str] = ()
    after: Sequence[tuple[int, int]] = ()
    delay_ps: Ints | None = None
    window_bytes: Ints | None = None
    base_rtt_ns: Ints | None = None
    """GLOBAL_T 0: of each flow's pair of hosts."""


def headroom_bytes(rate_bps: int, delay_ps: int) -> int:
    """rate * delay / 8 / 10^9 * 3, integers at each step, delay in ns (third.cc)."""
    return rate_bps * (delay_ps // PS_PER_NS) // 8 // 10**9 * 3


def alpha_shift(rate_bps: int, nic_bps: int) -> int:
    """Right shift of the free bytes that gives a port's threshold (third.cc)."""
    shift = ALPHA_SHIFT
    while rate_bps > nic_bps and shift > 0:
        shift -= 1
        rate_bps //= 2
    return shift


def nic_rate_bps(fabric: Fabric) -> int:
    """Rate of the first host's cable (third.cc: get_nic_rate)."""
    return fabric.links[fabric.ports[fabric.hosts[0].first_port].link].rate_bps


def default_buffer_bytes(nic_bps: int) -> int:
    """16 MiB per 50G of NIC rate (run.py: bfsz = 16 * bw / 50)."""
    return (16 << 20) * (nic_bps // 10**9) // 50


def addresses(numbers: Ints) -> Ints:
    """11.x.y.1 of a node number (third.cc: node_id_to_ip)."""
    return np.asarray(0x0B000001 + (numbers // 256) * 0x10000 + (numbers % 256) * 0x100, np.int64)


def aside_bytes(fabric: Fabric, settings: Ns3RdmaSettings, node: Node) -> int:
    """What headroom and reserve take of a switch's buffer: once per port, not per group (switch-mmu.cc)."""
    return sum(
        settings.reserve_bytes + _headroom(settings, fabric.links[fabric.ports[port].link]) for port in node.ports
    )


def _headroom(settings: Ns3RdmaSettings, link: Link) -> int:
    if settings.headroom_bytes is not None:
        return settings.headroom_bytes
    return headroom_bytes(link.rate_bps, link.delay_ps)


def engine_params(
    fabric: Fabric, settings: Ns3RdmaSettings, flows: Flows, seed: int, numbers: Sequence[int] | None = None
) -> EngineParams:
    """The parameters of the engine.

    Parameters
    ----------
    fabric : Fabric              every host has one port
    settings, flows              one queue pair per flow
    seed : int                   of the marking streams
    numbers : sequence of int    the simulator's number of each node (addresses and hash seeds); None: NodeId

    Returns: EngineParams with Semantics.NS3_RDMA.
    """
    number = np.asarray(range(len(fabric.nodes)) if numbers is None else numbers, np.int64)
    nic_bps = nic_rate_bps(fabric)
    ports = [_port(fabric, settings, port.id, nic_bps) for port in fabric.ports]
    messages, pairs = _traffic(fabric, flows)
    return EngineParams(
        seed=seed,
        frames=FrameParams(
            payload_bytes=settings.payload_bytes,
            data_header_bytes=DATA_HEADER_BYTES + settings.control.header_bytes,
            reth_bytes=0,
            ack_bytes=max(ACK_BYTES, ACK_HEADER_BYTES + settings.control.header_bytes),
            cnp_bytes=ACK_BYTES,
            pfc_bytes=PFC_BYTES,
            vxlan_bytes=0,
            wire_overhead_bytes=0,
        ),
        transport=_transport(settings),
        switches={node.id: _switch(fabric, settings, node, int(number[node.id])) for node in fabric.switches},
        ports=ports,
        hosts={
            node.id: HostParams(latency_ps=0, drain_bps=0, rx_buffer_bytes=0, rx_xoff_bytes=0, rx_xon_bytes=0)
            for node in fabric.hosts
        },
        host_ip=addresses(number),
        messages=messages,
        queue_pairs=pairs,
        semantics=Semantics.NS3_RDMA,
        initial_ttl=INITIAL_TTL,
        ecmp_descending=True,
    )


def _port(fabric: Fabric, settings: Ns3RdmaSettings, port: int, nic_bps: int) -> PortParams:
    link = fabric.links[fabric.ports[port].link]
    on_host = fabric.node_of(port).is_host
    ecn = None if on_host else settings.ecn(link.rate_bps)
    shift = alpha_shift(link.rate_bps, nic_bps)
    groups = (
        ()
        if on_host
        else tuple(
            PgParams(
                lossless=group == DATA_CLASS,
                pool=0,
                reserved_bytes=settings.reserve_bytes,
                dynamic_th=-shift,
                static_th_bytes=0,
                xoff_bytes=_headroom(settings, link),
                xon_bytes=0,
                xon_offset_bytes=settings.xon_offset_bytes,
            )
            for group in range(8)
        )
    )
    queues = tuple(
        QueueParams(
            pool=1,
            dynamic_th=None,
            static_th_bytes=_UNBOUNDED,
            ecn=ecn if queue == DATA_CLASS else None,
            strict=False,
            weight=1,
        )
        for queue in range(8)
    )
    # pause_quanta 0: a pause lasts until the resume frame; its time field is carried and never read.
    return PortParams(
        mtu_bytes=settings.payload_bytes + DATA_HEADER_BYTES + settings.control.header_bytes,
        flow_control=PfcParams(classes=1 << DATA_CLASS, pause_quanta=0, response_ps=0),
        pgs=groups,
        queues=queues,
    )


def _switch(fabric: Fabric, settings: Ns3RdmaSettings, node: Node, number: int) -> SwitchParams:
    dscp_to_tc = [0] * 64
    dscp_to_tc[DATA_DSCP] = DATA_CLASS
    return SwitchParams(
        latency_ps=0,
        cell_bytes=1,
        pools=(
            PoolParams("ingress", settings.buffer_bytes - aside_bytes(fabric, settings, node), 0),
            PoolParams("egress", _UNBOUNDED, 0),
        ),
        dscp_to_tc=tuple(dscp_to_tc),
        tc_to_pg=tuple(range(8)),
        tc_to_queue=tuple(range(8)),
        mark_at_dequeue=True,
        hash_algorithm=HashAlgorithm.MURMUR3,
        hash_seed=number,
        load_balance=LoadBalance.ECMP,
        flowlet_gap_ps=0,
        watchdog=None,
    )


def _transport(settings: Ns3RdmaSettings) -> TransportParams:
    return TransportParams(
        congestion_control=settings.control.code,
        dcqcn=settings.control.dcqcn,
        dctcp=settings.control.dctcp,
        timely=settings.control.timely,
        hpcc=settings.control.hpcc,
        pint=settings.control.pint,
        recovery=Recovery.GO_BACK_N,
        window_bytes=settings.window_bytes,
        variable_window=settings.variable_window,
        ack_every_packets=1,
        retransmit_timeout_ps=0,
        retry_limit=0,
        nak_interval_ps=NAK_INTERVAL_PS,
        ack_dscp=-1,
        cnp_dscp=DATA_DSCP,
        ack_strict=settings.acks == "strict",
        ack_strict_at_host=settings.acks != "data-class",
    )


def _traffic(fabric: Fabric, flows: Flows) -> tuple[Messages, QueuePairs]:
    n = len(flows.src)
    rank: dict[tuple[int, int], int] = {}
    source_port = np.empty(n, np.int64)
    # A flow gets its source port when it starts, and the flow file is sorted by start.
    for row in np.argsort(flows.start_ps, kind="stable").tolist():
        pair = (int(flows.src[row]), int(flows.dst[row]))
        source_port[row] = FIRST_SOURCE_PORT + rank.get(pair, 0)
        rank[pair] = rank.get(pair, 0) + 1
    delay = np.zeros(n, np.int64) if flows.delay_ps is None else flows.delay_ps
    messages = Messages(
        src=flows.src,
        dst=flows.dst,
        size_bytes=flows.size_bytes,
        start_ps=flows.start_ps,
        dscp=np.full(n, DATA_DSCP),
        qp=np.arange(n),
        delay_ps=delay,
        after=flows.after,
        label=flows.labels,
    )
    first = np.array([fabric.nodes[host].first_port for host in flows.src.tolist()], np.int64)
    return messages, QueuePairs(
        src=flows.src,
        dst=flows.dst,
        dscp=np.full(n, DATA_DSCP),
        src_udp_port=source_port,
        dst_udp_port=np.full(n, DESTINATION_PORT),
        port=first,
        window_bytes=flows.window_bytes,
        base_rtt_ns=flows.base_rtt_ns,
    )


@dataclass(frozen=True, slots=True)
class Distance:
    """What the simulator takes from a pair of hosts for windows (third.cc: CalculateRoute, pairRtt, pairBdp)."""

    rtt_ns: int
    """2 x propagation and one payload's serialisation at each hop, towards the destination only."""
    window_bytes: int
    """Rate of the slowest link x that."""


def largest_distance(fabric: Fabric, payload: int) -> Distance:
    """The largest round trip and the largest bandwidth-delay product of any two hosts (GLOBAL_T 1)."""
    found = [Distance(0, 0)]
    seen: set[tuple[int, int, int]] = set()
    for host in fabric.hosts:
        link = fabric.links[fabric.ports[host.first_port].link]
        kind = (int(fabric.peer_of(host.first_port).id), link.rate_bps, link.delay_ps)
        if kind not in seen:  # hosts on the same switches have the same distances
            seen.add(kind)
            found += distances_to(fabric, host, payload).values()
    return Distance(max(it.rtt_ns for it in found), max(it.window_bytes for it in found))


def distances_to(fabric: Fabric, host: Node, payload: int) -> dict[int, Distance]:
    """By NodeId of the other hosts: integers at each step, over breadth-first paths from the destination that visit
    neighbours by number, highest first.
    """
    reached: dict[int, tuple[int, int, int]] = {host.id: (0, 0, 2**62)}
    frontier = deque([host])
    found: dict[int, Distance] = {}
    while frontier:
        node = frontier.popleft()
        delay_ns, tx_ns, rate_bps = reached[node.id]
        for port, peer in sorted(fabric.neighbours(node.id), key=lambda it: -it[1].id):
            if peer.id in reached:
                continue
            link = fabric.links[port.link]
            far_ns, far_tx_ns = delay_ns + link.delay_ps // PS_PER_NS, tx_ns + payload * 8 * 10**9 // link.rate_bps
            slowest_bps = min(rate_bps, link.rate_bps)
            reached[peer.id] = (far_ns, far_tx_ns, slowest_bps)
            if peer.is_host:
                rtt_ns = 2 * far_ns + far_tx_ns
                found[peer.id] = Distance(rtt_ns, rtt_ns * slowest_bps // 10**9 // 8)
            else:
                frontier.append(peer)
    return found

"""Parameters of State: frozen, already checked, in base units.

scenario/compile/scenario.py makes these from the user's file; build.py turns them into tables. No default
here belongs to a model: the models and their sources are in the scenario presets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import OperationGroup, ScheduleEntry, TransferList
from fabric.collectives.transfers import Transfers as Schedule
from fabric.dataplane.state.codes import (
    FIVE_TUPLE,
    INFINITY_PS,
    CongestionControl,
    FlowControl,
    HashAlgorithm,
    LoadBalance,
    Recovery,
    RouteChoice,
    Semantics,
    WatchdogAction,
    WatchdogRule,
)
from fabric.dataplane.state.control_params import CubicParams, HpccParams, PintParams, SwiftParams, TimelyParams
from fabric.errors import InvariantError


@dataclass(frozen=True, slots=True)
class FrameParams:
    """Bytes of every frame. Frame sizes include FCS; the wire adds `wire_overhead_bytes` to serialisation only."""

    payload_bytes: int
    """RDMA path MTU."""
    data_header_bytes: int
    """Ethernet + IP + UDP + BTH + ICRC + FCS of a data frame."""
    reth_bytes: int
    """Extra on a message's first packet (RETH), 0 in models without it."""
    ack_bytes: int
    cnp_bytes: int
    pfc_bytes: int
    vxlan_bytes: int
    """Added between VTEPs (RFC 7348 section 5)."""
    wire_overhead_bytes: int
    """Preamble, SFD and inter-packet gap: 20, or 0."""


@dataclass(frozen=True, slots=True)
class EcnParams:
    """One WRED/ECN curve."""

    kmin_bytes: int
    kmax_bytes: int
    pmax_ratio: float
    drop_non_ect: bool = False
    """Drop packets that are not ECN-capable with the probability at which others are marked (wred_*_enable)."""


@dataclass(frozen=True, slots=True)
class PgParams:
    """One ingress priority group (SAI buffer profile)."""

    lossless: bool
    pool: int
    """Position in SwitchParams.pools."""
    reserved_bytes: int
    dynamic_th: int | None
    """Limit = 2**dynamic_th * free bytes of the pool; None: static."""
    static_th_bytes: int
    xoff_bytes: int
    """Headroom: bytes that the group may still take after XOFF (private, or its cap on the shared headroom pool)."""
    xon_bytes: int
    xon_offset_bytes: int


@dataclass(frozen=True, slots=True)
class ShaperParams:
    """The largest rate of a queue or port of a switch (SAI scheduler profile)."""

    rate_bps: int
    burst_bytes: int


@dataclass(frozen=True, slots=True)
class QueueParams:
    """One egress queue."""

    pool: int
    """Position in SwitchParams.pools: an egress pool, never the pool of a priority group (each byte is counted once
    at ingress and once at egress)."""
    dynamic_th: int | None
    static_th_bytes: int
    ecn: EcnParams | None
    strict: bool
    weight: int
    """DWRR weight 1..100 (SONiC SCHEDULER)."""
    reserved_bytes: int = 0
    """Guaranteed before the queue draws on the pool; only with EngineParams.egress_detail."""
    shaper: ShaperParams | None = None
    """None on a host."""


@dataclass(frozen=True, slots=True)
class EgressShareParams:
    """Limit of one port in one egress pool (SAI port egress buffer profile list)."""

    pool: int
    """Position in SwitchParams.pools."""
    dynamic_th: int | None
    static_th_bytes: int


@dataclass(frozen=True, slots=True)
class PoolParams:
    """One buffer pool of a switch."""

    name: str
    size_bytes: int
    shared_headroom_bytes: int
    """BUFFER_POOL.xoff: the shared headroom pool; 0: headroom is private."""


@dataclass(frozen=True, slots=True)
class WatchdogParams:
    """PFC watchdog of one switch (times in ps)."""

    poll_ps: int
    detection_ps: int
    restoration_ps: int | None
    """None: a stormed queue is never restored."""
    action: WatchdogAction
    rule: WatchdogRule
    priorities: int
    """Bitmap of the classes it watches (pfcwd_sw_enable)."""
    charge_ps: int = 0
    """Time that each poll counts for, where polls are later than the watchdog reckons; 0: poll_ps."""


@dataclass(frozen=True, slots=True)
class SwitchParams:
    """One switch."""

    latency_ps: int
    cell_bytes: int
    pools: tuple[PoolParams, ...]
    dscp_to_tc: tuple[int, ...]
    """64 entries, of ports that name no map."""
    tc_to_pg: tuple[int, ...]
    """8 entries."""
    tc_to_queue: tuple[int, ...]
    """8 entries."""
    mark_at_dequeue: bool
    hash_algorithm: HashAlgorithm
    hash_seed: int
    load_balance: LoadBalance
    flowlet_gap_ps: int
    watchdog: WatchdogParams | None
    hash_fields: int = int(FIVE_TUPLE)
    """Bitmap of HashField."""
    notice_bytes: int = 0
    """Bytes waiting at a port to a switch from which on its neighbours get congestion notices; 0: none are sent."""
    port_watchdogs: Mapping[int, WatchdogParams | None] = field(default_factory=dict)
    """By PortId, where they differ; with the poll interval and the rule of the switch's. None: not watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowControlParams:
    """Link flow control of one port: what every kind has. A kind adds its own in port/flowcontrol/params.py.

    It alone says what flow control writes into a port at the beginning of a run: the builder of the tables names none.
    """

    kind: FlowControl
    classes: int
    """Bitmap of the classes under flow control."""
    response_ps: int
    """From the last bit of a control frame to its effect on this port's sending."""

    @property
    def obeyed(self) -> int:
        """Bitmap of the classes that the peer can stop."""
        return self.classes

    def port_values(self) -> dict[str, int]:
        """First values by field of PORT; a kind adds its own."""
        return {"pfc_classes": self.classes, "response_ps": self.response_ps, "pfc_next_ps": INFINITY_PS}

    def class_values(self) -> dict[str, int]:
        """First values by field of PRIO, the same for each class; a kind adds its own."""
        return {"until_ps": INFINITY_PS}


@dataclass(frozen=True, slots=True)
class PortParams:
    """One end of a cable, on a switch or a host."""

    mtu_bytes: int
    """Largest frame without FCS and 802.1Q tag: the IP MTU + 14."""
    flow_control: FlowControlParams
    """The kind and its parameters; of one kind at all ports of a run."""
    pgs: tuple[PgParams, ...]
    """8 entries on a switch port, empty on a host."""
    queues: tuple[QueueParams, ...]
    """8 entries."""
    bit_error_ratio: float = 0.0
    overhead_bytes: int | None = None
    """Added to every frame's size for its time on the wire. None: FrameParams.wire_overhead_bytes. Below 0 where the
    link's rate counts payload only, as that of scale-up links."""
    latency_ps: int | None = None
    """From a frame's last bit to its effect, as receiver; None: that of the device."""
    dscp_to_tc: tuple[int, ...] | None = None
    """64 entries, for packets that come in at a switch port; None: those of the switch. A host port has None."""
    egress_shares: tuple[EgressShareParams, ...] = ()
    """At most one for each egress pool; none on a host."""
    shaper: ShaperParams | None = None
    """Of all queues together; None on a host."""


@dataclass(frozen=True, slots=True)
class HostParams:
    """One host's NIC."""

    latency_ps: int
    drain_bps: int
    """Rate at which the host consumes received bytes; 0: always at line rate (no receive buffer is modelled)."""
    rx_buffer_bytes: int
    rx_xoff_bytes: int
    """Receive-buffer use at which XOFF is sent; only with drain_bps."""
    rx_xon_bytes: int


@dataclass(frozen=True, slots=True)
class DcqcnParams:
    """Reaction and notification point. Times in ps, rates in bit/s."""

    gain_ratio: float
    alpha_timer_ps: int
    decrease_interval_ps: int
    """Smallest time between two cuts (rate_reduce_monitor_period)."""
    increase_timer_ps: int
    byte_counter_bytes: int
    """0: no byte counter."""
    fast_recovery_steps: int
    additive_bps: int
    hyper_bps: int
    min_rate_bps: int
    clamp_target: bool
    """Target rate follows every cut (clamp_tgt_rate)."""
    initial_alpha_ratio: float
    cnp_interval_ps: int
    """Notification point: at most one CNP per queue pair in this time."""
    cnp_delay_ps: int
    """Notification point: from the marked packet's arrival to the CNP's departure."""
    cut_divisor: int = 2
    """A cut takes alpha / this of the rate (2 ** (rpg_gd - 10))."""
    least_kept_ratio: float = 0.0
    """The share of the rate that every cut leaves (rpg_min_dec_fac); 0: no such bound."""
    max_rate_bps: int = 0
    """A queue pair at this rate is not limited until its next CNP (rpg_max_rate); 0: none."""
    first_rate_bps: int = 0
    """Rate and target set by the CNP that starts the limiting, instead of a cut (rate_to_set_on_first_cnp);
    0: it cuts as every CNP does."""

    def config_values(self) -> dict[str, float]:
        """By field of State.config."""
        return {
            "gain": self.gain_ratio,
            "initial_alpha": self.initial_alpha_ratio,
            "alpha_timer_ps": self.alpha_timer_ps,
            "decrease_interval_ps": self.decrease_interval_ps,
            "increase_timer_ps": self.increase_timer_ps,
            "byte_counter_bytes": self.byte_counter_bytes,
            "fast_recovery_steps": self.fast_recovery_steps,
            "additive_bps": self.additive_bps,
            "hyper_bps": self.hyper_bps,
            "min_rate_bps": self.min_rate_bps,
            "clamp_target": self.clamp_target,
            "cnp_interval_ps": self.cnp_interval_ps,
            "cnp_delay_ps": self.cnp_delay_ps,
            "cut_divisor": self.cut_divisor,
            "least_kept": self.least_kept_ratio,
            "max_rate_bps": self.max_rate_bps,
            "first_rate_bps": self.first_rate_bps,
        }


@dataclass(frozen=True, slots=True)
class DctcpParams:
    """DCTCP at the sender (RFC 8257). Rates in bit/s."""

    gain_ratio: float
    """g: weight of one observation window in alpha."""
    initial_alpha_ratio: float
    additive_bps: int
    """Added to the rate once per round trip without a cut."""
    min_rate_bps: int
    loss_cut_ratio: float = 0.0
    """Share of the rate that a loss takes."""

    def config_values(self) -> dict[str, float]:
        """By field of State.config."""
        return {
            "gain": self.gain_ratio,
            "initial_alpha": self.initial_alpha_ratio,
            "additive_bps": self.additive_bps,
            "min_rate_bps": self.min_rate_bps,
            "loss_cut": self.loss_cut_ratio,
        }


@dataclass(frozen=True, slots=True)
class TransportParams:
    """RDMA transport of every host."""

    congestion_control: CongestionControl
    dcqcn: DcqcnParams | None
    recovery: Recovery
    window_bytes: int
    """Bytes in flight per queue pair; 0: unbounded."""
    variable_window: bool
    """Scale the window by rate / line rate."""
    ack_every_packets: int
    """One ACK per this many packets and at every message's end."""
    retransmit_timeout_ps: int
    """IB local ACK timeout; 0: none (a lost tail stalls the message)."""
    retry_limit: int
    nak_interval_ps: int
    """Smallest time between two NAKs for the same gap; 0: one NAK per gap."""
    ack_dscp: int
    """-1: the DSCP of the data it answers."""
    cnp_dscp: int
    ack_strict: bool
    """ACKs travel in the switches' strict control queue, outside MMU and PFC (a model of some simulators)."""
    ack_strict_at_host: bool = False
    """ACKs leave the host by its strict control queue, never paused."""
    reorder_window_ps: int = 0
    """Out-of-order: least time that a packet may arrive after its successors before it counts as lost."""
    receive_bitmap_pkts: int = 0
    """Out-of-order: packets that the receiver tracks beyond the first missing one, and that the sender may have in
    flight.
    """
    dctcp: DctcpParams | None = None
    timely: TimelyParams | None = None
    hpcc: HpccParams | None = None
    pint: PintParams | None = None
    swift: SwiftParams | None = None
    cubic: CubicParams | None = None


@dataclass(frozen=True, slots=True)
class SourceRouteParams:
    """Source routes of all hosts, whose bytes FrameParams counts."""

    choice: RouteChoice
    withdrawal_ps: int
    """From a change of a cable's carrier to its effect on the routes that NICs choose from."""


@dataclass(frozen=True, slots=True)
class SegmentParams:
    """One layer-2 VNI. At the start every leaf floods to all others that have a host in it, and every host is known."""

    vni: int
    hosts: tuple[int, ...]
    """NodeIds."""
    suppress_arp: bool


@dataclass(frozen=True, slots=True)
class TenantParams:
    """A tenant whose leaves route between its subnets through an L3 VNI (RFC 9135 section 5)."""

    l3_vni: int
    segments: tuple[int, ...]
    """Positions in VxlanParams.segments."""
    routed: tuple[int, ...] = ()
    """NodeIds of hosts on routed ports: in no segment."""
    by_host: bool = True
    """Routed packets take the routes to their hosts, as bridged packets do. False: they go from VTEP to VTEP by dated
    edits, and have no route before."""


@dataclass(frozen=True, slots=True)
class VxlanParams:
    """Overlay between leaf VTEPs."""

    uniform_dscp: bool
    """Copy the inner DSCP to the outer header; else use outer_dscp."""
    outer_dscp: int
    ecn_copy: bool
    """RFC 6040 normal mode: copy ECN to the outer header; else compatibility mode (outer not-ECT)."""
    segments: tuple[SegmentParams, ...]
    """Every host in exactly one, or on a routed port."""
    asks: tuple[tuple[int, int, int | None], ...] = ()
    """ARP requests: (time in ps, NodeId of the asking host, NodeId of the target; None: no host has that address)."""
    tenants: tuple[TenantParams, ...] = ()
    """Tenants that route between subnets."""
    floods_unknown: bool = False
    """Some hosts are silent: packets for them are flooded until dated edits make them known to leaves."""
    outer_ttl: int = 64
    """TTL that a leaf gives the outer header."""
    flood_by_host: bool = True
    """Copies of broadcasts take the route to a host behind their VTEP. False: they take the routes to the VTEP's
    address, which dated edits write; there are none before."""

    @property
    def vnis(self) -> tuple[int, ...]:
        """VNIs by column of State.segments: layer 2, then layer 3."""
        return tuple(it.vni for it in self.segments) + tuple(it.l3_vni for it in self.tenants)

    @property
    def floods(self) -> bool:
        """Whether leaves replicate frames to VTEPs: broadcasts, or frames for silent hosts."""
        return bool(self.asks) or self.floods_unknown

    @property
    def tunnels(self) -> bool:
        """Whether switches need routes to addresses of VTEPs: for broadcasts, or for packets between subnets."""
        return (self.floods and not self.flood_by_host) or not all(tenant.by_host for tenant in self.tenants)


@dataclass(frozen=True)
class Messages:
    """All messages of a run, as columns of equal length n; row = message id."""

    src: NDArray[np.int64]
    """NodeId of the sending host."""
    dst: NDArray[np.int64]
    size_bytes: NDArray[np.int64]
    start_ps: NDArray[np.int64]
    """Earliest posting time."""
    dscp: NDArray[np.int64]
    qp: NDArray[np.int64]
    """Queue pair, 0..n_qps-1; all messages of one queue pair share src, dst and dscp."""
    delay_ps: NDArray[np.int64]
    """Compute time between the last dependency and the posting."""
    after: Sequence[tuple[int, int]] = ()
    """(earlier message, later message): the later is posted once the earlier has arrived at, or was completed by,
    the later's source host."""
    label: Sequence[str] = ()
    """The user's id of each message; empty: its number."""


@dataclass(frozen=True)
class Transfers:
    """Series of messages, each posted when its needs are met (docs/decisions/0055); row = transfer."""

    rows: Schedule
    """`src` and `dst` are NodeIds of hosts; `operation` is a position in `operations`."""
    qp: NDArray[np.int64]
    """Queue pair of each transfer, of its source and destination; -1 for a computation."""
    operations: Sequence[str] = ()
    """Names of the operations that transfers belong to."""
    ranks: NDArray[np.int64] | None = None
    """(2, n) ranks of sources and destinations within their entry of the workload; None: they are the NodeIds."""
    groups: Sequence[OperationGroup] = ()
    """What the operations are, one each; the engine does not read it."""
    entries: Sequence[ScheduleEntry] = ()
    """The entries of the workload that the transfers belong to; the engine does not read it."""

    @property
    def rank_columns(self) -> NDArray[np.int64]:
        """(2, n) `ranks`."""
        return np.stack([self.rows.src, self.rows.dst]) if self.ranks is None else self.ranks

    def __len__(self) -> int:
        return len(self.qp)


def no_transfers() -> Transfers:
    """No row."""
    return Transfers(TransferList().build(), np.empty(0, np.int64))


@dataclass(frozen=True)
class Streams:
    """Datagrams without a transport, as columns of equal length sorted by `src`; row = stream."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    port: NDArray[np.int64]
    """PortId at the source host."""
    src_udp_port: NDArray[np.int64]
    dst_udp_port: NDArray[np.int64]
    frame_bytes: NDArray[np.int64]
    """FCS included."""
    rate_bps: NDArray[np.int64]
    """Of the frames with FrameParams.wire_overhead_bytes each."""
    dscp: NDArray[np.int64]
    ect: NDArray[np.bool_]
    start_ps: NDArray[np.int64]
    count: NDArray[np.int64]
    """Datagrams of the stream."""
    entry: Sequence[str] = ()
    """Name of the entry of the workload of each stream; the engine does not read it."""

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True)
class QueuePairs:
    """Columns of equal length; row = queue pair."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    dscp: NDArray[np.int64]
    src_udp_port: NDArray[np.int64]
    dst_udp_port: NDArray[np.int64]
    port: NDArray[np.int64]
    """PortId at the source host that the queue pair leaves by."""
    payload_bytes: NDArray[np.int64] | None = None
    """Payload of a full packet; None: FrameParams.payload_bytes for all."""
    window_bytes: NDArray[np.int64] | None = None
    """Semantics.NS3_RDMA, where there are windows: that of each; None: TransportParams.window_bytes for all."""
    base_rtt_ns: NDArray[np.int64] | None = None
    """HPCC's T of each; None: HpccParams.base_rtt_ns for all."""
    law: NDArray[np.int64] | None = None
    """Congestion control of each: 0 is EngineParams.transport, k is EngineParams.laws[k - 1]; None: 0 for all."""


@dataclass(frozen=True, slots=True)
class LawParams:
    """Another congestion control for some queue pairs, with its window and what it puts on the wire."""

    transport: TransportParams
    """Congestion control, its parameters and the window count; the rest is as in EngineParams.transport."""
    frames: FrameParams


@dataclass(frozen=True)
class EngineParams:
    """Everything the engine needs in addition to the topology."""

    seed: int
    frames: FrameParams
    transport: TransportParams
    switches: Mapping[int, SwitchParams]
    """By NodeId, every switch."""
    ports: Sequence[PortParams]
    """By PortId, every port."""
    hosts: Mapping[int, HostParams]
    """By NodeId, every host."""
    host_ip: NDArray[np.int64]
    """(n_nodes,) IPv4 address as an integer: hosts' own, switches' loopback."""
    messages: Messages
    queue_pairs: QueuePairs
    laws: tuple[LawParams, ...] = ()
    transfers: Transfers = field(default_factory=no_transfers)
    """Series of messages beside `messages`."""
    streams: Streams | None = None
    """Datagrams beside the messages; None: none."""
    vxlan: VxlanParams | None = None
    source_routes: SourceRouteParams | None = None
    """None: switches choose paths."""
    semantics: Semantics = Semantics.ASIC
    egress_detail: bool = False
    """Egress pools are held to their sizes, in cells, with guarantees and limits of ports. False: only a queue's own
    limit applies."""
    initial_ttl: int = 64
    """TTL (hop limit) that hosts give their packets."""
    drop_every: Mapping[int, int] = field(default_factory=dict)
    """PortId -> n: the n-th, 2n-th, ... data frame arriving there is discarded (fault injection)."""
    ecmp_descending: bool = False
    """Order of a group's members: by neighbour NodeId, highest first, as in practice in the public ns-3 RDMA simulator;
    else by PortId ascending."""
    spare_rate_rows: int = 16
    """Distinct link rates that dated edits may introduce."""

    @property
    def flow_control(self) -> FlowControl:
        """The kind of every link. Raises: InvariantError where ports have different kinds."""
        kinds = {port.flow_control.kind for port in self.ports}
        if len(kinds) != 1:
            raise InvariantError(f"one link flow control serves all links of a run; ports have {sorted(kinds)}")
        return kinds.pop()

    def payload_of_qps(self) -> NDArray[np.int64]:
        """(n_qps,) payload of a full packet of each queue pair."""
        given = self.queue_pairs.payload_bytes
        return np.full(len(self.queue_pairs.src), self.frames.payload_bytes) if given is None else given

    def overhead_of(self, port: int) -> int:
        """What a frame's time on the wire counts beyond its size, sent by a port (below 0: it counts less)."""
        given = self.ports[port].overhead_bytes
        return self.frames.wire_overhead_bytes if given is None else given

    def reception_ps(self, port: int, node: int) -> int:
        """Latency of a device (NodeId) for a frame that arrives at its port."""
        given = self.ports[port].latency_ps
        if given is not None:
            return given
        return self.hosts[node].latency_ps if node in self.hosts else self.switches[node].latency_ps

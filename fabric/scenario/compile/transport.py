"""The `transport:` and `vxlan:` sections -> frame sizes, transport and overlay parameters of the engine."""

from __future__ import annotations

from typing import Final

from fabric.dataplane.state.codes import Recovery, RouteChoice
from fabric.dataplane.state.params import (
    FrameParams,
    SegmentParams,
    SourceRouteParams,
    TenantParams,
    TransportParams,
    VxlanParams,
)
from fabric.scenario.compile.controls import control_of
from fabric.scenario.compile.lower import needed, whole_number
from fabric.scenario.compile.tenancy import Tenancy
from fabric.scenario.schema.endpoints import TransportSpec, VxlanSpec

ETHERNET: Final = 14
VLAN_TAG: Final = 4
"""IEEE 802.1Q clause 9."""
IP: Final = {4: 20, 6: 40}
UDP: Final = 8
BTH, RETH, AETH, ICRC, FCS = 12, 16, 4, 4, 4
"""IB specification vol. 1, chapter 9 and annex A17 (RoCEv2)."""
CNP_PAYLOAD: Final = 16
RDMA_MTUS: Final = (256, 512, 1024, 2048, 4096)
"""Path MTUs in bytes (IB specification vol. 1, section 9.7)."""
MIN_FRAME: Final = 64
SELECTIVE_ACK: Final = 8
"""What an ACK of recovery out-of-order adds to the AETH: the PSN that it answers and a bitmap of 16, padded to words
(IRN adds the PSN alone: SIGCOMM 2018, section 5.2; UET a bitmap of 64).
"""
WIRE_OVERHEAD: Final = 20
SOURCE_ROUTE: Final = 40
"""Outer IPv6 header with all segments in its destination (H.Encaps.Red, RFC 8986 section 5.2: no SRH for one
container)."""
VXLAN_OVERHEAD: Final = 50
"""Outer Ethernet 14, IPv4 20, UDP 8, VXLAN 8; the inner FCS is dropped and the outer one takes its place (RFC 7348
section 5)."""

_RECOVERY: Final = {
    "go-back-n": Recovery.GO_BACK_N,
    "selective": Recovery.SELECTIVE,
    "go-back-0": Recovery.GO_BACK_0,
    "out-of-order": Recovery.OUT_OF_ORDER,
}


def frames(spec: TransportSpec) -> FrameParams:
    """Bytes of every frame (IB annex A17; IEEE 802.3 minimum of 64); source_routes is None where switches choose."""
    below = ETHERNET + (VLAN_TAG if spec.vlan_tag else 0) + IP[needed(spec.ip)] + UDP + BTH
    below += SOURCE_ROUTE if spec.source_routes is not None else 0
    after = ICRC + FCS
    extra = control_of(spec).telemetry_bytes
    ack = AETH + (SELECTIVE_ACK if spec.recovery == "out-of-order" else 0)
    return FrameParams(
        payload_bytes=needed(spec.mtu),
        data_header_bytes=below + after + extra,
        reth_bytes=RETH,
        ack_bytes=max(below + ack + after + extra, MIN_FRAME),
        cnp_bytes=below + CNP_PAYLOAD + after,
        pfc_bytes=MIN_FRAME,
        vxlan_bytes=VXLAN_OVERHEAD,
        wire_overhead_bytes=WIRE_OVERHEAD,
    )


def source_routes(spec: TransportSpec) -> SourceRouteParams | None:
    """None: switches choose paths."""
    if (routes := spec.source_routes) is None:
        return None
    choice = RouteChoice.PACKET if routes.choice == "packet" else RouteChoice.QUEUE_PAIR
    return SourceRouteParams(choice, needed(routes.withdrawal))


def transport(spec: TransportSpec, slowest_bps: int) -> TransportParams:
    """`spec` is complete (layers.merge with the model's defaults)."""
    control = control_of(spec)
    return TransportParams(
        congestion_control=control.code,
        **control.params(spec, slowest_bps),
        recovery=_RECOVERY[needed(spec.recovery)],
        window_bytes=0 if spec.window in {"auto", "off"} else whole_number(spec.window),
        variable_window=needed(spec.variable_window),
        ack_every_packets=needed(spec.ack_every),
        retransmit_timeout_ps=0 if spec.retransmit_timeout == "off" else whole_number(spec.retransmit_timeout),
        retry_limit=needed(spec.retries),
        nak_interval_ps=needed(spec.nak_interval),
        ack_dscp=-1 if spec.ack_dscp == "data" else whole_number(spec.ack_dscp),
        cnp_dscp=needed(spec.cnp_dscp),
        ack_strict=False,
        reorder_window_ps=needed(spec.reorder_window),
        receive_bitmap_pkts=needed(spec.receive_bitmap),
    )


def vxlan(spec: VxlanSpec | None, tenancy: Tenancy, *, by_host: bool) -> VxlanParams | None:
    """None: no overlay. by_host: without a control plane VTEPs of hosts are known from the start."""
    if spec is None:
        return None
    segments = tuple(SegmentParams(it.vni, it.hosts, it.suppress_arp) for it in tenancy.segments)
    routed = {group.l3_vni: group.hosts for group in tenancy.routed}
    l3_vnis = dict.fromkeys([*(it.l3_vni for it in tenancy.segments if it.l3_vni), *routed])
    tenants = tuple(
        TenantParams(
            vni,
            tuple(place for place, it in enumerate(tenancy.segments) if it.l3_vni == vni),
            routed.get(vni, ()),
            by_host,
        )
        for vni in l3_vnis
    )
    return VxlanParams(
        uniform_dscp=spec.dscp == "uniform",
        outer_dscp=spec.dscp if isinstance(spec.dscp, int) else 0,
        ecn_copy=spec.ecn == "copy",
        segments=segments,
        tenants=tenants,
        outer_ttl=spec.ttl,
        flood_by_host=by_host,
        floods_unknown=bool(spec.silent),
    )


def udp_header_bytes(spec: TransportSpec) -> int:
    """What a UDP datagram's frame holds beside its payload, FCS included."""
    return ETHERNET + (VLAN_TAG if spec.vlan_tag else 0) + IP[needed(spec.ip)] + UDP + FCS


def largest_frame(spec: TransportSpec) -> int:
    """Largest data frame as a port's MTU counts it: without FCS and 802.1Q tag."""
    sizes = frames(spec)
    return sizes.data_header_bytes + sizes.reth_bytes + sizes.payload_bytes - FCS - (VLAN_TAG if spec.vlan_tag else 0)

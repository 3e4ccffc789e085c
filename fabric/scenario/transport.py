"""The `transport:` and `vxlan:` sections -> frame sizes, transport and overlay parameters of the engine."""

from __future__ import annotations

from typing import Any, Final

from fabric.scenario.dcqcn import DCQCN_PRESETS, scaled
from fabric.scenario.endpoints import Dcqcn, TransportSpec, VxlanSpec
from fabric.scenario.lower import needed, whole_number
from fabric.scenario.tenancy import Tenancy
from fabric.state.codes import CongestionControl, Recovery
from fabric.state.params import DcqcnParams, FrameParams, SegmentParams, TenantParams, TransportParams, VxlanParams

ETHERNET: Final = 14
VLAN_TAG: Final = 4
"""IEEE 802.1Q clause 9."""
IP: Final = {4: 20, 6: 40}
UDP: Final = 8
BTH, RETH, AETH, ICRC, FCS = 12, 16, 4, 4, 4
"""IB specification vol. 1, chapter 9 and annex A17 (RoCEv2)."""
CNP_PAYLOAD: Final = 16
MIN_FRAME: Final = 64
WIRE_OVERHEAD: Final = 20
VXLAN_OVERHEAD: Final = 50
"""Outer Ethernet 14, IPv4 20, UDP 8, VXLAN 8; the inner FCS is dropped and the outer one takes its place (RFC 7348
section 5)."""

_RECOVERY: Final = {"go-back-n": Recovery.GO_BACK_N, "selective": Recovery.SELECTIVE, "go-back-0": Recovery.GO_BACK_0}
_FIELDS: Final = {  # schema field -> engine field
    "gain": "gain_ratio", "initial_alpha": "initial_alpha_ratio", "alpha_timer": "alpha_timer_ps",
    "decrease_interval": "decrease_interval_ps", "increase_timer": "increase_timer_ps",
                  "byte_counter": "byte_counter_bytes",
    "fast_recovery_steps": "fast_recovery_steps", "additive": "additive_bps", "hyper": "hyper_bps",
                  "min_rate": "min_rate_bps",
    "clamp_target": "clamp_target", "cnp_interval": "cnp_interval_ps", "cnp_delay": "cnp_delay_ps"}


def frames(spec: TransportSpec) -> FrameParams:
    """Bytes of every frame (IB annex A17; IEEE 802.3 minimum of 64)."""
    below = ETHERNET + (VLAN_TAG if spec.vlan_tag else 0) + IP[needed(spec.ip)] + UDP + BTH
    after = ICRC + FCS
    return FrameParams(payload_bytes=needed(spec.mtu), data_header_bytes=below + after, reth_bytes=RETH,
                       ack_bytes=max(below + AETH + after, MIN_FRAME), cnp_bytes=below + CNP_PAYLOAD + after,
                       pfc_bytes=MIN_FRAME, vxlan_bytes=VXLAN_OVERHEAD, wire_overhead_bytes=WIRE_OVERHEAD)


def transport(spec: TransportSpec, slowest_bps: int) -> TransportParams:
    """`spec` is complete (layers.merge with the model's defaults)."""
    dcqcn = dcqcn_params(spec, slowest_bps) if spec.cc == "dcqcn" else None
    return TransportParams(
        congestion_control=CongestionControl.DCQCN if dcqcn is not None else CongestionControl.NONE, dcqcn=dcqcn,
        recovery=_RECOVERY[needed(spec.recovery)], window_bytes=0
        if spec.window == "off" else whole_number(spec.window),
        variable_window=needed(spec.variable_window), ack_every_packets=needed(spec.ack_every),
        retransmit_timeout_ps=0 if spec.retransmit_timeout == "off" else whole_number(spec.retransmit_timeout),
        retry_limit=needed(spec.retries), nak_interval_ps=needed(spec.nak_interval),
        ack_dscp=-1 if spec.ack_dscp == "data" else whole_number(spec.ack_dscp), cnp_dscp=needed(spec.cnp_dscp),
        ack_strict=False)


def dcqcn_params(spec: TransportSpec, slowest_bps: int, preset: str | None = None) -> DcqcnParams:
    """The preset (None: the one in `spec`), scaled to the slowest NIC, with the user's values on top."""
    chosen = spec.dcqcn if isinstance(spec.dcqcn, Dcqcn) else None
    name = preset or (chosen.preset if chosen is not None else str(spec.dcqcn))
    base = scaled(DCQCN_PRESETS[name], slowest_bps)
    values: dict[str, Any] = {column: getattr(base, column) for column in base.__slots__}
    for field, column in _FIELDS.items():
        value = getattr(chosen, field, None)
        if value is not None:
            values[column] = 0 if value == "off" else value
    return DcqcnParams(**values)


def vxlan(spec: VxlanSpec | None, tenancy: Tenancy, *, by_host: bool) -> VxlanParams | None:
    """None: no overlay. by_host: no control plane says behind which VTEP a host is."""
    if spec is None:
        return None
    segments = tuple(SegmentParams(it.vni, it.hosts, it.suppress_arp) for it in tenancy.segments)
    routed = {group.l3_vni: group.hosts for group in tenancy.routed}
    l3_vnis = dict.fromkeys([*(it.l3_vni for it in tenancy.segments if it.l3_vni), *routed])
    tenants = tuple(TenantParams(vni, tuple(place for place, it in enumerate(tenancy.segments) if it.l3_vni == vni),
                                 routed.get(vni, ()), by_host) for vni in l3_vnis)
    return VxlanParams(uniform_dscp=spec.dscp == "uniform", outer_dscp=spec.dscp if isinstance(spec.dscp, int) else 0,
                       ecn_copy=spec.ecn == "copy", segments=segments, tenants=tenants, outer_ttl=spec.ttl,
                       flood_by_host=by_host)


def largest_frame(spec: TransportSpec) -> int:
    """Largest data frame as a port's MTU counts it: without FCS and 802.1Q tag."""
    sizes = frames(spec)
    return sizes.data_header_bytes + sizes.reth_bytes + sizes.payload_bytes - FCS - (VLAN_TAG if spec.vlan_tag else 0)

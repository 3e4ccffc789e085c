"""The `transport:` and `vxlan:` sections -> frame sizes, transport and overlay parameters of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fabric.errors import Problem
from fabric.scenario.dcqcn import DCQCN_PRESETS, DEFAULT_DCQCN, scaled
from fabric.scenario.endpoints import Dcqcn, TransportSpec, VxlanSpec
from fabric.scenario.lower import needed, whole_number
from fabric.scenario.tenancy import Tenancy
from fabric.state.codes import CongestionControl, Recovery
from fabric.state.params import DcqcnParams, FrameParams, SegmentParams, TenantParams, TransportParams, VxlanParams
from fabric.units import format_rate_bps

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
VXLAN_OVERHEAD: Final = 50
"""Outer Ethernet 14, IPv4 20, UDP 8, VXLAN 8; the inner FCS is dropped and the outer one takes its place (RFC 7348
section 5)."""

_RECOVERY: Final = {"go-back-n": Recovery.GO_BACK_N, "selective": Recovery.SELECTIVE, "go-back-0": Recovery.GO_BACK_0,
                    "out-of-order": Recovery.OUT_OF_ORDER}
_FIELDS: Final = {  # schema field -> engine field
    "gain": "gain_ratio", "initial_alpha": "initial_alpha_ratio", "alpha_timer": "alpha_timer_ps",
    "decrease_interval": "decrease_interval_ps", "increase_timer": "increase_timer_ps",
                  "byte_counter": "byte_counter_bytes",
    "fast_recovery_steps": "fast_recovery_steps", "additive": "additive_bps", "hyper": "hyper_bps",
                  "min_rate": "min_rate_bps",
    "clamp_target": "clamp_target", "cnp_interval": "cnp_interval_ps", "cnp_delay": "cnp_delay_ps",
    "cut_divisor": "cut_divisor", "least_kept": "least_kept_ratio", "max_rate": "max_rate_bps",
    "first_cnp_rate": "first_rate_bps"}


def frames(spec: TransportSpec) -> FrameParams:
    """Bytes of every frame (IB annex A17; IEEE 802.3 minimum of 64)."""
    below = ETHERNET + (VLAN_TAG if spec.vlan_tag else 0) + IP[needed(spec.ip)] + UDP + BTH
    after = ICRC + FCS
    ack = AETH + (SELECTIVE_ACK if spec.recovery == "out-of-order" else 0)
    return FrameParams(payload_bytes=needed(spec.mtu), data_header_bytes=below + after, reth_bytes=RETH,
                       ack_bytes=max(below + ack + after, MIN_FRAME), cnp_bytes=below + CNP_PAYLOAD + after,
                       pfc_bytes=MIN_FRAME, vxlan_bytes=VXLAN_OVERHEAD, wire_overhead_bytes=WIRE_OVERHEAD)


def transport(spec: TransportSpec, slowest_bps: int) -> TransportParams:
    """`spec` is complete (layers.merge with the model's defaults)."""
    dcqcn = dcqcn_params(spec, slowest_bps) if spec.cc == "dcqcn" else None
    return TransportParams(
        congestion_control=CongestionControl.DCQCN if dcqcn is not None else CongestionControl.NONE, dcqcn=dcqcn,
        recovery=_RECOVERY[needed(spec.recovery)], window_bytes=0
        if spec.window in {"auto", "off"} else whole_number(spec.window),
        variable_window=needed(spec.variable_window), ack_every_packets=needed(spec.ack_every),
        retransmit_timeout_ps=0 if spec.retransmit_timeout == "off" else whole_number(spec.retransmit_timeout),
        retry_limit=needed(spec.retries), nak_interval_ps=needed(spec.nak_interval),
        ack_dscp=-1 if spec.ack_dscp == "data" else whole_number(spec.ack_dscp), cnp_dscp=needed(spec.cnp_dscp),
        ack_strict=False, reorder_window_ps=needed(spec.reorder_window),
        receive_bitmap_pkts=needed(spec.receive_bitmap))


def dcqcn_params(spec: TransportSpec, slowest_bps: int, preset: str | None = None) -> DcqcnParams:
    """The preset (None: the one in `spec`), scaled to the slowest NIC, with the user's values on top."""
    chosen = spec.dcqcn if isinstance(spec.dcqcn, Dcqcn) else None
    name = preset or (chosen.preset or DEFAULT_DCQCN if chosen is not None else str(spec.dcqcn))
    base = scaled(DCQCN_PRESETS[name], slowest_bps)
    values: dict[str, Any] = {column: getattr(base, column) for column in base.__slots__}
    for field, column in _FIELDS.items():
        value = getattr(chosen, field, None)
        if value is not None:
            values[column] = 0 if value == "off" else value
    return DcqcnParams(**values)


def rate_problems(spec: TransportSpec, slowest_bps: int, path: str) -> Iterator[Problem]:
    """Rates of `transport.dcqcn` that could not act on the slowest NIC, or contradict each other."""
    chosen = spec.dcqcn
    if spec.cc != "dcqcn" or not isinstance(chosen, Dcqcn):
        return
    values, nic = dcqcn_params(spec, slowest_bps), format_rate_bps(slowest_bps)
    where, least = f"{path}transport.dcqcn.", format_rate_bps(values.min_rate_bps)
    if chosen.min_rate is not None and values.min_rate_bps >= slowest_bps:
        yield Problem(f"{where}min_rate", f"{least} is not below the {nic} of the slowest NIC: no CNP would slow it",
                      "give a lower rate, or transport.cc: none")
    for field, rate in (("max_rate", values.max_rate_bps), ("first_cnp_rate", values.first_rate_bps)):
        if rate >= slowest_bps:
            yield Problem(f"{where}{field}", f"{format_rate_bps(rate)} is not below the {nic} of the slowest NIC: it "
                          "would have no effect there", "give a lower rate, or off")
        elif 0 < rate < values.min_rate_bps:
            yield Problem(f"{where}{field}", f"{format_rate_bps(rate)} is below min_rate, {least}",
                          "give a higher rate, or off")


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
                       flood_by_host=by_host, floods_unknown=bool(spec.silent))


def largest_frame(spec: TransportSpec) -> int:
    """Largest data frame as a port's MTU counts it: without FCS and 802.1Q tag."""
    sizes = frames(spec)
    return sizes.data_header_bytes + sizes.reth_bytes + sizes.payload_bytes - FCS - (VLAN_TAG if spec.vlan_tag else 0)

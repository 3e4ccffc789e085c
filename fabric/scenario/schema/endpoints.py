"""The `hosts:`, `transport:` and `vxlan:` sections: NICs, RDMA and the overlay between VTEPs."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from fabric.scenario.presets.cubic import Cubic
from fabric.scenario.presets.dctcp import Dctcp
from fabric.scenario.presets.hpcc import Hpcc
from fabric.scenario.presets.pint import Pint
from fabric.scenario.presets.swift import Swift
from fabric.scenario.presets.timely import Timely
from fabric.scenario.schema.switches import Weight
from fabric.scenario.schema.tenant_spec import TenantSpec
from fabric.scenario.schema.values import (
    MAP_TAG,
    WORD_TAG,
    AutoOffSize,
    AutoSize,
    Dscp,
    OffRate,
    OffSize,
    OffTime,
    Priorities,
    PriorityKey,
    ResponseTime,
    word_or_map,
)
from fabric.topology.quantities import RateBps, SizeBytes, TimePs
from fabric.topology.spec import Strict

DcqcnName = Literal[
    "mlx5", "paper-2015", "ns3-rdma", "hpcc-dcqcn", "hpcc-dcqcn-paper", "hpcc-dcqcn-vwin", "simai", "hawkeye-deadlock"
]


class HostSettings(Strict):
    """Settings that a host override may change."""

    latency: TimePs | None = Field(None, description="Fixed NIC latency on reception.")
    mtu: SizeBytes | None = Field(None, ge=576, le=9_600, description="IP MTU of the NIC.")
    response: ResponseTime | None = Field(None, description="As for switches.")
    pfc_priorities: Priorities | None = Field(
        None, description="Priorities whose PAUSE the NIC honours; the lossless ones where absent."
    )
    pause_quanta: int | None = Field(None, ge=1, le=65_535, description="Timer of the NIC's own XOFF frames.")
    scheduler: dict[PriorityKey, Weight | Literal["strict"]] | None = Field(None, description="As for switches.")
    drain: OffRate | None = Field(
        None,
        description="Rate at which the host consumes received bytes; off: line rate, "
        "and no receive buffer is modelled.",
    )
    rx_buffer: SizeBytes | None = Field(None, gt=0, description="NIC receive buffer of a slow host.")
    rx_xoff: AutoSize | None = Field(None, description="Use at which the NIC sends XOFF; auto: mlx5e port_buffer.c.")
    rx_xon: AutoSize | None = Field(None, description="Use at which it sends XON; auto: one MTU below rx_xoff.")


class HostOverride(HostSettings):
    """Other settings for some hosts; the last match decides, field by field."""

    host: str = Field(min_length=1, description="Hosts by name or shell pattern.")

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if self.model_fields_set == {"host"}:
            raise ValueError("this override changes nothing; give a setting or remove it")
        return self


class HostsSpec(HostSettings):
    """The `hosts:` section."""

    overrides: Annotated[tuple[HostOverride, ...], Field(strict=False)] = Field(
        (), description="Settings of some hosts."
    )


class Dcqcn(Strict):
    """DCQCN: a preset, and values that replace the preset's."""

    preset: DcqcnName | None = Field(
        None,
        description="Named set: `fabric model show dcqcn` prints values and sources; the model's own where "
        "absent (asic: mlx5, hpcc-ns3: hpcc-dcqcn).",
    )
    gain: float | None = Field(None, gt=0, lt=1, description="g: weight of a CNP in alpha.")
    initial_alpha: float | None = Field(None, gt=0, le=1, description="alpha at a queue pair's first CNP.")
    alpha_timer: TimePs | None = Field(None, gt=0, description="alpha decays once per this time without CNP.")
    decrease_interval: TimePs | None = Field(None, description="Least time between two cuts.")
    increase_timer: TimePs | None = Field(None, gt=0, description="Rate increase timer.")
    byte_counter: OffSize | None = Field(None, description="Rate increase after this many bytes; off: timer only.")
    fast_recovery_steps: int | None = Field(None, ge=1, le=100, description="F.")
    additive: RateBps | None = Field(None, description="R_AI.")
    hyper: RateBps | None = Field(None, description="R_HAI.")
    min_rate: RateBps | None = Field(None, ge=10**5, description="Floor of the rate.")
    clamp_target: bool | None = Field(None, description="The target rate follows every cut (clamp_tgt_rate).")
    cut_divisor: int | None = Field(
        None, ge=1, le=32, description="A cut takes alpha / this of the rate; 2 is rpg_gd 11."
    )
    least_kept: float | None = Field(
        None, ge=0, lt=1, description="Share of the rate that every cut leaves (rpg_min_dec_fac: 50 is 0.5)."
    )
    max_rate: OffRate | None = Field(
        None,
        description="A queue pair that reaches this rate sends at line rate until "
        "its next CNP (rpg_max_rate); off: no such release.",
    )
    first_cnp_rate: OffRate | None = Field(
        None, description="Rate that the first CNP sets in place of a cut (rate_to_set_on_first_cnp); off: it cuts."
    )
    cnp_interval: TimePs | None = Field(None, description="At most one CNP per queue pair in this time.")
    cnp_delay: TimePs | None = Field(None, description="From a marked packet's arrival to its CNP's departure.")


DcqcnOrName = Annotated[
    Annotated[DcqcnName, Tag(WORD_TAG)] | Annotated[Dcqcn, Tag(MAP_TAG)], Discriminator(word_or_map)
]


class QpPolicy(Strict):
    """Queue pairs: one per message, or a fixed number per pair of hosts and priority."""

    per: Literal["message", "pair"] = Field("message", description="message: every message its own queue pair.")
    count: int = Field(1, ge=1, le=256, description="Queue pairs per pair of hosts; messages take them in turn.")

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if self.per == "message" and self.count != 1:
            raise ValueError("count has no effect with per: message; use per: pair, or remove count")
        return self


class SourceRoutes(Strict):
    """How NICs choose among source routes (switches.load_balancing: source-routed)."""

    choice: Literal["packet", "queue-pair"] | None = Field(
        None,
        description="packet: each packet of a queue pair takes the next route; queue-pair: all take the same one, and "
        "the queue pairs of a host take routes in turn.",
    )
    withdrawal: TimePs | None = Field(
        None,
        description="From the loss of a cable's carrier until NICs leave the routes over it, and from its return until "
        "they take them again. Until then packets are lost at the switch before the cable.",
    )

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("changes nothing; give choice or withdrawal, or remove it")
        return self


ControlName = Literal["none", "dcqcn", "dctcp", "timely", "hpcc", "hpcc-pint", "swift", "cubic"]


class TransportOverride(Strict):
    """Another congestion control for some queue pairs; the last match decides."""

    host: str | None = Field(None, min_length=1, description="Sending hosts by name or shell pattern; all if absent.")
    workload: str | None = Field(
        None,
        min_length=1,
        description="Entries of workload by name (kind where one has no name) or shell pattern; all if absent.",
    )
    cc: ControlName = Field(description="As in transport. hpcc-pint cannot be one of several.")
    dcqcn: DcqcnOrName | None = Field(None, description="As in transport.")
    dctcp: Dctcp | None = Field(None, description="As in transport.")
    timely: Timely | None = Field(None, description="As in transport.")
    hpcc: Hpcc | None = Field(None, description="As in transport.")
    pint: Pint | None = Field(None, description="As in transport.")
    swift: Swift | None = Field(None, description="As in transport.")
    cubic: Cubic | None = Field(None, description="As in transport.")
    window: AutoOffSize | None = Field(None, description="As in transport; auto if absent.")
    variable_window: bool | None = Field(None, description="As in transport.")

    @model_validator(mode="after")
    def _chooses(self) -> Self:
        if self.host is None and self.workload is None:
            raise ValueError("this override is for all queue pairs; give host or workload, or set transport.cc")
        return self


Recovery = Literal["go-back-n", "selective", "go-back-0", "out-of-order"]


class TransportSpec(Strict):
    """The `transport:` section: RDMA WRITEs over RoCEv2."""

    mtu: SizeBytes | None = Field(
        None,
        description="RDMA path MTU: 256B, 512B, 1024B, 2048B or 4096B; in model "
        "hpcc-ns3 the payload of a packet, 64B to 9000B.",
    )
    cc: ControlName | None = Field(None, description="Congestion control (docs/congestion-control.md).")
    overrides: Annotated[tuple[TransportOverride, ...], Field(strict=False)] = Field(
        (),
        max_length=255,
        description="Other congestion controls for queue pairs of some hosts or some entries of workload.",
    )
    dcqcn: DcqcnOrName | None = Field(None, description="A preset's name, or a mapping that starts from one.")
    dctcp: Dctcp | None = Field(None, description="Parameters of cc: dctcp.")
    timely: Timely | None = Field(None, description="Parameters of cc: timely.")
    hpcc: Hpcc | None = Field(None, description="Parameters of cc: hpcc.")
    pint: Pint | None = Field(None, description="Parameters of cc: hpcc-pint.")
    swift: Swift | None = Field(None, description="Parameters of cc: swift.")
    cubic: Cubic | None = Field(None, description="Parameters of cc: cubic.")
    recovery: Recovery | None = Field(
        None,
        description="Recovery from loss. out-of-order places packets in any order; "
        "it is the default where packets are sprayed.",
    )
    reorder_window: TimePs | None = Field(
        None,
        gt=0,
        description="recovery: out-of-order: how much later than a packet sent after it a packet may come, "
        "at least, before it counts as lost; more where paths are seen to differ by more.",
    )
    receive_bitmap: int | None = Field(
        None,
        ge=16,
        le=65536,
        description="recovery: out-of-order: packets that a receiver tracks beyond the first "
        "missing one, and so the most in flight per queue pair.",
    )
    window: AutoOffSize | None = Field(
        None,
        description="Bytes in flight per queue pair; off: unbounded; auto: one bandwidth-delay product for DCTCP, "
        "HPCC and HPCC-PINT, NIC rate times the largest target for Swift, and for sets of DCQCN "
        "parameters that come with a window, else off.",
    )
    variable_window: bool | None = Field(
        None,
        description="Scale the window by rate / line rate; true where absent with DCTCP, HPCC, HPCC-PINT or Swift.",
    )
    ack_every: int | None = Field(None, ge=1, le=1024, description="One ACK per this many packets, and at each end.")
    retransmit_timeout: OffTime | None = Field(
        None, description="IB local ACK timeout; off: a lost tail stalls forever."
    )
    retries: int | None = Field(
        None, ge=0, le=7, description="Timeouts in a row before the queue pair fails (3 bits in IB)."
    )
    nak_interval: TimePs | None = Field(None, description="Least time between NAKs for one gap; 0s: one NAK per gap.")
    dscp: Dscp | None = Field(None, description="DSCP of data.")
    cnp_dscp: Dscp | None = Field(None, description="DSCP of CNPs.")
    ack_dscp: Dscp | Literal["data"] | None = Field(None, description="DSCP of ACKs; data: that of the data.")
    acks: Literal["strict", "data-class", "stock"] | None = Field(
        None,
        description="Model hpcc-ns3 only: queue of ACKs. strict: outside buffers and PFC; data-class: with the "
        "data; stock: strict at the host, with the data in switches.",
    )
    ip: Literal[4, 6] | None = Field(None, description="IP version: 20 or 40 bytes of header.")
    ttl: int | None = Field(
        None,
        ge=1,
        le=255,
        description="TTL (hop limit) of hosts' packets. Each switch that "
        "routes takes one; what arrives with 1 is dropped.",
    )
    vlan_tag: bool | None = Field(None, description="Frames carry an 802.1Q tag.")
    qp: QpPolicy | None = Field(None, description="How messages share queue pairs.")
    source_port: Literal["hashed", "linux", "pair"] | None = Field(
        None,
        description="UDP source port: hashed draws 14 bits per queue pair; linux: rdma_calc_flow_label of QP numbers; "
        "pair draws 14 bits per pair of hosts, the same for all of its queue pairs.",
    )
    source_routes: SourceRoutes | None = Field(
        None, description="Choice of paths by NICs; with load_balancing: source-routed."
    )
    nic_port: Literal["rail", "hash"] | None = Field(
        None,
        description="Port of multi-homed hosts: rail takes them in turn per pair of hosts; hash by UDP port. "
        "load_balancing: source-routed uses all ports.",
    )


class VxlanSpec(Strict):
    """The `vxlan:` section: an overlay between the leaves (RFC 7348)."""

    dscp: Dscp | Literal["uniform"] = Field(
        "uniform", description="Outer DSCP: the inner one's copy, or a number (pipe)."
    )
    ecn: Literal["copy", "compatibility"] = Field(
        "copy", description="RFC 6040 normal mode, or compatibility mode (outer header not ECN-capable)."
    )
    ttl: int = Field(
        64,
        ge=1,
        le=255,
        description="TTL that a leaf gives the outer header (Linux: ip_default_ttl); "
        "switches between the VTEPs take from it.",
    )
    tenants: Annotated[tuple[TenantSpec, ...], Field(strict=False)] = Field(
        (), description="Hosts that reach each other; one VNI for all where absent."
    )
    job_vni: Annotated[int, Field(ge=1, lt=2**24 - 4096)] | None = Field(
        None,
        description="Instead of tenants: each job of the workload is a tenant, with its storage nodes, and the first "
        "has this VNI, the next ones those after it; all other hosts share the last.",
    )
    arp_suppression: Literal["on", "off"] = Field(
        "on", description="Without tenants: leaves answer ARP from Type-2 routes (RFC 7432 section 10), or flood it."
    )

    silent: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        (),
        description="Hosts by name or pattern that send nothing before they receive a frame. Leaves flood frames for "
        "them until they have answered; needs routing: bgp.",
    )

    @model_validator(mode="after")
    def _suppression_per_tenant(self) -> Self:
        problems = []
        if self.tenants and self.arp_suppression != "on":
            problems.append("arp_suppression has no effect beside tenants; set it in each tenant")
        if self.job_vni is not None and self.arp_suppression != "on":
            problems.append("arp_suppression has no effect with job_vni; list tenants")
        if self.tenants and self.job_vni is not None:
            problems.append("tenants and job_vni are both given; give one of them")
        if problems:
            raise ValueError("\n".join(problems))
        return self

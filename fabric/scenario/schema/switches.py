"""The `switches:` section: memory, classes, marking, pause, scheduling; defaults for all, overrides for some.

Every field is optional here. The value of an absent field comes, in this order, from an earlier override or the section
itself, the chip (asics.py), the model (models.py). Mappings merge field by field; any other value replaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Discriminator, Field, SerializerFunctionWrapHandler, Tag, model_serializer, model_validator

from fabric.scenario.schema.values import (
    MAP_TAG,
    WORD_TAG,
    AutoSize,
    DscpKey,
    NeverTime,
    OffSize,
    Priorities,
    Priority,
    PriorityKey,
    ResponseTime,
    word_or_map,
)
from fabric.topology.quantities import RateBps, SizeBytes, TimePs
from fabric.topology.spec import Strict

EcnPreset = Literal["hpcc", "paper-2015", "sonic", "dctcp"]
EcnName = Literal["off", EcnPreset]
AsicName = Literal[
    "trident3",
    "tomahawk2",
    "tomahawk3",
    "tomahawk4",
    "tomahawk5",
    "spectrum1",
    "spectrum2",
    "spectrum3",
    "spectrum4",
    "spectrum5",
    "teralynx10",
    "jericho2c+",
]
Weight = Annotated[int, Field(ge=1, le=100)]


class EcnCurve(Strict):
    """WRED/ECN: no mark below kmin, up to pmax at kmax, always above (RFC 3168, SAI WRED with ECN)."""

    preset: EcnPreset | None = Field(
        None, description="Named curve that has the values which are not given here, by the rate of each port."
    )
    kmin: SizeBytes | None = Field(None, description="Queue at which marking begins.")
    kmax: SizeBytes | None = Field(None, description="Queue from which every packet is marked.")
    pmax: float | None = Field(None, gt=0, le=1, description="Mark probability just below kmax.")
    drop_non_ect: bool = Field(
        False, description="Drop packets that are not ECN-capable instead of passing them (wred_green_enable)."
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        missing = [name for name in ("kmin", "kmax", "pmax") if getattr(self, name) is None]
        if self.preset is None and missing:
            raise ValueError(
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; give all of kmin, kmax and "
                "pmax, or preset: the named curve that has the others, such as hpcc"
            )
        if self.preset is not None and not missing:
            raise ValueError("preset has no effect beside kmin, kmax and pmax; remove it")
        if self.kmin is not None and self.kmax is not None and self.kmin >= self.kmax:
            raise ValueError(
                f"kmin ({self.kmin} B) is not below kmax ({self.kmax} B); for step marking make kmax one byte more"
            )
        return self


Ecn = Annotated[Annotated[EcnName, Tag(WORD_TAG)] | Annotated[EcnCurve, Tag(MAP_TAG)], Discriminator(word_or_map)]
"""'off', a named curve, or a curve."""


class Buffer(Strict):
    """Priority-group profile (SONiC BUFFER_PROFILE) of the lossless and lossy classes of a port."""

    dynamic_th: int | None = Field(None, ge=-8, le=7, description="Lossless: limit = 2^dynamic_th x free shared bytes.")
    static_th: SizeBytes | None = Field(None, description="Lossless: fixed limit instead of dynamic_th.")
    headroom: AutoSize | None = Field(
        None,
        description="What a lossless group may take after XOFF "
        "(BUFFER_PROFILE.xoff); "
        "auto: worst case of cable, speed, MTU, response, latency and cells (`fabric headroom --explain`).",
    )
    reserved: SizeBytes | None = Field(None, description="Guaranteed to a lossless group before it draws on the pool.")
    xon: SizeBytes | None = Field(None, description="XON when use is at or below max(xon, limit - xon_offset).")
    xon_offset: SizeBytes | None = Field(None, description="See xon.")
    lossy_dynamic_th: int | None = Field(None, ge=-8, le=7, description="Lossy groups and queues: dynamic limit.")

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if self.dynamic_th is not None and self.static_th is not None:
            raise ValueError("dynamic_th and static_th are both given; give one of them")
        return self


class EgressLimit(Strict):
    """A limit in an egress pool: of a queue, or of a whole port."""

    dynamic_th: int | None = Field(None, ge=-8, le=7, description="Limit = 2^dynamic_th x free bytes of the pool.")
    static_th: SizeBytes | None = Field(None, description="Fixed limit instead of dynamic_th.")

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if self.dynamic_th is not None and self.static_th is not None:
            raise ValueError("dynamic_th and static_th are both given; give one of them")
        return self


class EgressQueue(EgressLimit):
    """Queue profile (SONiC BUFFER_QUEUE)."""

    reserved: SizeBytes | None = Field(None, description="Guaranteed to each queue before it draws on the pool.")


class Egress(Strict):
    """Queues and ports in the egress pools. Where neither this nor egress_pools is given, only queues have limits."""

    lossless: EgressQueue | None = Field(
        None, description="Queues of lossless priorities; static_th of the whole memory where absent."
    )
    lossy: EgressQueue | None = Field(
        None, description="Other queues; dynamic_th of buffer.lossy_dynamic_th where absent."
    )
    port_lossless: EgressLimit | None = Field(
        None,
        description="All lossless queues of a port together (BUFFER_PORT_EGRESS_PROFILE_LIST); unlimited where absent.",
    )
    port_lossy: EgressLimit | None = Field(
        None, description="All other queues of a port together; unlimited where absent."
    )


class EgressPools(Strict):
    """Sizes of the egress pools (SONiC BUFFER_POOL, type egress), reserves of queues aside."""

    lossless: AutoSize | None = Field(None, description="egress_lossless_pool; auto: the whole memory.")
    lossy: AutoSize | None = Field(None, description="egress_lossy_pool; auto: as the shared ingress pool.")


_OF_SOFTWARE: Final = ("poll", "actual_poll", "rule")
"""Fields that a watchdog in hardware has not."""


class Watchdog(Strict):
    """PFC watchdog, semantics of SONiC pfcwd; defaults of `pfcwd start_default` on up to 32 ports."""

    kind: Literal["software", "hardware"] = Field(
        "software",
        description="hardware: a timer of the chip, which goes in steps of granularity and counts an unbroken pause.",
    )
    granularity: TimePs | None = Field(
        None, gt=0, description="Hardware: a step of its timers, of which detection and restoration are multiples."
    )
    actual_poll: TimePs | None = Field(
        None,
        gt=0,
        description="Software: the interval of its polls where they are later than poll, which each of them counts for "
        "(the Mellanox rule counts what has passed).",
    )
    poll: TimePs = Field(200_000_000_000, gt=0, description="Poll interval.")
    detection: TimePs = Field(200_000_000_000, gt=0, description="A storm is declared after this, in whole polls.")
    restoration: NeverTime = Field(
        200_000_000_000,
        description="The queue is restored after this long without pause; never: SONiC without restoration_time.",
    )
    action: Literal["drop", "forward", "alert"] = Field("drop", description="What is done to a stormed queue.")
    rule: Literal["auto", "broadcom", "mellanox", "cisco", "occupancy", "teralynx"] = Field(
        "auto", description="Detection condition; auto: that of the chip's platform."
    )
    priorities: Priorities | None = Field(
        None, description="Watched priorities (pfcwd_sw_enable); the lossless ones where absent."
    )

    @model_validator(mode="after")
    def _by_yang(self) -> Self:
        problems = [*self._of_its_kind()]
        if self.kind == "software" and self.detection < self.poll:
            problems.append("detection is shorter than poll (sonic-pfcwd.yang); lengthen it or poll more often")
        if self.kind == "software" and isinstance(self.restoration, int) and self.restoration < self.poll:
            problems.append("restoration is shorter than poll (sonic-pfcwd.yang); lengthen it or poll more often")
        if self.priorities == ():
            problems.append("priorities is empty, so the watchdog would watch nothing; use watchdog: off")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @model_serializer(mode="wrap")
    def _written_out(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the fields of the other kind, whose defaults are no values here: what is written can be read."""
        found: dict[str, Any] = dump(self)
        return {name: value for name, value in found.items() if self.kind == "software" or name not in _OF_SOFTWARE}

    def _of_its_kind(self) -> Iterator[str]:
        """Fields of the other kind, and times that a timer in steps cannot have."""
        if self.kind == "software":
            if self.granularity is not None:
                yield "granularity is of kind: hardware; a software watchdog has poll"
            if self.actual_poll is not None and self.actual_poll < self.poll:
                yield "actual_poll is shorter than poll; a poll is never early"
            return
        for field in _OF_SOFTWARE:
            if field in self.model_fields_set:
                yield f"{field} is of kind: software; a hardware watchdog has granularity"
        if self.granularity is None:
            yield "granularity is missing; give the step of the chip's timers, such as 100ms"
            return
        for field, value in (("detection", self.detection), ("restoration", self.restoration)):
            if isinstance(value, int) and value % self.granularity:
                yield f"{field} is no multiple of granularity; give the value that the chip is programmed with"


WatchdogOrOff = Annotated[
    Annotated[Literal["off"], Tag(WORD_TAG)] | Annotated[Watchdog, Tag(MAP_TAG)], Discriminator(word_or_map)
]


HashFieldName = Literal["source-ip", "destination-ip", "source-port", "destination-port", "destination-qp"]


class Hash(Strict):
    """ECMP hash."""

    algorithm: Literal["crc32", "xor", "toeplitz", "murmur3"] | None = Field(
        None, description="Over fields. crc32, xor and toeplitz are linear; murmur3 is not."
    )
    fields: Annotated[tuple[HashFieldName, ...], Field(strict=False, min_length=1)] | None = Field(
        None,
        description="Header fields that are hashed: the 5-tuple where absent. destination-qp is that of the "
        "InfiniBand header (E-ECMP); between VTEPs it is behind the outer header and not seen.",
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] | Literal["per-switch"] | None = Field(
        None,
        description="per-switch: drawn for each switch; a number: the same everywhere, which polarises. With a "
        "linear algorithm some pairs of switches polarise with any seeds.",
    )

    @model_validator(mode="after")
    def _each_field_once(self) -> Self:
        if self.fields is not None and len(set(self.fields)) != len(self.fields):
            raise ValueError("fields names a field twice; name each once")
        return self


class PortWatchdog(Strict):
    """PFC watchdog of a port (PFC_WD|<port>); what is left out is as in watchdog."""

    detection: TimePs | None = Field(None, description="A storm is declared after this, in whole polls.")
    restoration: NeverTime | None = Field(None, description="As in watchdog.")
    action: Literal["drop", "forward", "alert"] | None = Field(None, description="What is done to a stormed queue.")
    priorities: Priorities | None = Field(None, min_length=1, description="Watched priorities (pfc_wd).")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("changes nothing; give detection, restoration, action or priorities, or remove it")
        return self


PortWatchdogOrOff = Annotated[
    Annotated[Literal["off"], Tag(WORD_TAG)] | Annotated[PortWatchdog, Tag(MAP_TAG)], Discriminator(word_or_map)
]


class Shaper(Strict):
    """The largest rate of a queue or port (SONiC SCHEDULER.pir and pbs; SAI MAX_BANDWIDTH_RATE and _BURST_RATE)."""

    rate: RateBps = Field(description="Frames without preamble and gap, on average.")
    burst: SizeBytes = Field(
        0,
        description="May leave at the port's speed after an idle time, and one frame more. With 0 frames are evenly "
        "spaced, and what waits for its turn among other queues falls behind the rate.",
    )


ShaperOrOff = Annotated[
    Annotated[Literal["off"], Tag(WORD_TAG)] | Annotated[Shaper, Tag(MAP_TAG)], Discriminator(word_or_map)
]


class PortSettings(Strict):
    """Settings that a port override may change. Packets of a priority come in lossy at a port whose `lossless` does not
    name it; a queue is lossless if any port of its switch names its priority.
    """

    mtu: SizeBytes | None = Field(None, ge=576, le=9_600, description="IP MTU of the port.")
    ecn: Ecn | None = Field(
        None, description="Marking in the queues of lossless priorities: off, a named curve, or a curve."
    )
    ecn_queues: Priorities | None = Field(
        None, description="Queues that mark; those of the lossless priorities where absent."
    )
    ecn_by_queue: dict[PriorityKey, Ecn] | None = Field(
        None, description="ECN of single queues, instead of what ecn and ecn_queues say of them."
    )
    buffer: Buffer | None = Field(None, description="Priority-group profile.")
    buffer_pg: dict[PriorityKey, Buffer] | None = Field(
        None, description="Profiles of single priority groups; a field that is left out is that of buffer."
    )
    lossless: Priorities | None = Field(
        None, description="Priorities that must not lose packets; at a port, those with a lossless group."
    )
    dscp_to_tc: dict[DscpKey, Priority] | None = Field(
        None, description="Traffic class of packets that come in with a DSCP; dscp / 8 where absent."
    )
    egress: Egress | None = Field(None, description="Limits and guarantees in the egress pools.")
    scheduler: dict[PriorityKey, Weight | Literal["strict"]] | None = Field(
        None, description="Queue: strict, or DWRR weight 1 to 100."
    )
    shaper: dict[PriorityKey, ShaperOrOff] | None = Field(
        None, description="Queue: its largest rate; off: that of the port, as where it is absent."
    )
    port_shaper: ShaperOrOff | None = Field(
        None, description="The largest rate of all queues of a port together; PAUSE frames pass."
    )
    pfc_priorities: Priorities | None = Field(None, description="Priorities with PFC; the lossless ones where absent.")
    pfc_send: Priorities | None = Field(
        None, description="Priorities that the port pauses at its peer; pfc_priorities where absent."
    )
    pfc_honour: Priorities | None = Field(
        None, description="Priorities whose PAUSE the port obeys; pfc_priorities where absent."
    )
    pause_quanta: int | None = Field(None, ge=1, le=65_535, description="Timer of XOFF frames, in 512 bit times.")
    port_watchdog: PortWatchdogOrOff | None = Field(
        None, description="PFC watchdog of ports where it differs from watchdog; off: they are not watched."
    )
    response: ResponseTime | None = Field(
        None,
        description="From the last bit of a PAUSE frame to the stop: half or worst of IEEE 802.3 31B.3.7, or a time.",
    )

    @model_validator(mode="after")
    def _some_pfc(self) -> Self:
        if self.pfc_priorities is not None and self.pfc_send is not None and self.pfc_honour is not None:
            raise ValueError("pfc_priorities has no effect beside pfc_send and pfc_honour; remove it")
        return self


class SwitchSettings(PortSettings):
    """Settings that a switch override may change."""

    asic: AsicName | None = Field(None, description="Chip: `fabric model show asic` lists them with sources.")
    latency: TimePs | None = Field(None, description="Fixed forwarding latency.")
    memory: SizeBytes | None = Field(None, gt=0, description="Packet memory instead of the chip's.")
    cell: SizeBytes | None = Field(None, gt=0, le=16_384, description="Accounting unit instead of the chip's.")
    pool: AutoSize | None = Field(None, description="Shared ingress pool; auto: what headroom and guarantees leave.")
    shared_headroom: OffSize | None = Field(None, description="Shared headroom pool (BUFFER_POOL.xoff); off: private.")
    egress_pools: EgressPools | None = Field(None, description="Sizes of the egress pools; a full one drops.")
    tc_to_pg: dict[PriorityKey, Priority] | None = Field(
        None, description="Priority group of a class; its own number if lossless, else 0."
    )
    tc_to_queue: dict[PriorityKey, Priority] | None = Field(
        None, description="Queue of a class; its own number where absent."
    )
    mark: Literal["enqueue", "dequeue"] | None = Field(None, description="When ECN looks at the queue.")
    hash: Hash | None = Field(None, description="ECMP hash.")
    load_balancing: Literal["ecmp", "spray", "flowlet", "adaptive", "weighted", "source-routed"] | None = Field(
        None,
        description="Choice among equal-cost ports. ecmp: by hash; spray: packets in turn; flowlet: a flow may move "
        "after a gap; adaptive: each packet to the port whose queues drain first; weighted: by hash, in proportion to "
        "the rates of the links; source-routed: the NIC chooses the whole path (transport.source_routes), and all "
        "switches follow it.",
    )
    congestion_notices: OffSize | None = Field(
        None,
        description="Bytes waiting at a port to another switch from which on, and at every doubling, the neighbours "
        "get a congestion notice; those with adaptive or flowlet avoid the port. off: no notice is sent.",
    )
    flowlet_gap: TimePs | None = Field(None, gt=0, description="Idle time after which a flow may move; flowlet only.")
    watchdog: WatchdogOrOff | None = Field(None, description="PFC watchdog, or off.")


class SwitchOverride(SwitchSettings):
    """Other settings for some switches or ports; the last match decides, field by field."""

    role: Literal["leaf", "spine", "super-spine", "scale-up", "switch"] | None = Field(
        None, description="Switches of this role."
    )
    switch: str | None = Field(None, min_length=1, description="Switches by name or shell pattern.")
    port: str | None = Field(None, min_length=1, description="Ports by 'switch:port', either part a pattern.")

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        problems = []
        if (self.role is None) + (self.switch is None) + (self.port is None) != 2:
            problems.append("role, switch and port select what differs; give exactly one of them")
        settings = self.model_fields_set - SELECTORS
        if not settings:
            problems.append("this override changes nothing; give a setting or remove it")
        if self.port is not None:
            whole = sorted(settings - set(PortSettings.model_fields))
            problems += [
                f"{name} belongs to a whole switch and has no effect on a port; select with switch or role"
                for name in whole
            ]
        if problems:
            raise ValueError("\n".join(problems))
        return self


class SwitchesSpec(SwitchSettings):
    """The `switches:` section."""

    overrides: Annotated[tuple[SwitchOverride, ...], Field(strict=False)] = Field(
        (), description="Settings that differ."
    )


SELECTORS: Final = frozenset({"role", "switch", "port"})

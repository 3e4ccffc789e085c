"""Faults as a user writes them: one strict model per kind of entry of a scenario's `faults:` list."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fabric.faults.control_spec import (
    BgpCrashSpec,
    DrainSpec,
    EndpointChurnSpec,
    HostLeaveSpec,
    LinkSilentSpec,
    MacMoveSpec,
    RoutePolicySpec,
    SwitchCrashSpec,
    WrongAsnSpec,
)
from fabric.faults.spec_base import CABLE, FaultBase, Lasting
from fabric.topology.quantities import RateBps, SizeBytes, TimePs
from fabric.topology.spec import Strict

_Priority = Annotated[int, Field(ge=0, le=7)]
_Priorities = Annotated[tuple[_Priority, ...], Field(strict=False)]


class LinkDownSpec(Lasting):
    """A cable is cut, or unplugged."""

    kind: Literal["link-down"]
    link: str = Field(min_length=1, description=CABLE)


class LinkFlapSpec(FaultBase):
    """A cable goes down and up again, several times."""

    kind: Literal["link-flap"]
    link: str = Field(min_length=1, description=CABLE)
    down: TimePs = Field(gt=0, description="How long it stays down each time.")
    up: TimePs = Field(gt=0, description="How long it stays up in between.")
    count: int = Field(ge=1, le=10_000, description="How many times it goes down.")
    until: TimePs | None = Field(None, description="When it is repaired, before the last flap ends; up from then on.")

    @model_validator(mode="after")
    def _ends_later(self) -> Self:
        if self.until is not None and self.until <= self.at:
            raise ValueError("until is not after at; move one of them")
        return self


class LinkRateSpec(Lasting):
    """A cable loses lanes: both directions slow down."""

    kind: Literal["link-rate"]
    link: str = Field(min_length=1, description=CABLE)
    rate: RateBps = Field(ge=10**6, description="Rate while degraded.")


class BitErrorsSpec(Lasting):
    """Dirty optics: frames fail their checksum."""

    kind: Literal["bit-errors"]
    link: str = Field(min_length=1, description=CABLE)
    ratio: float = Field(gt=0, lt=0.1, description="Bit error ratio after FEC, both directions.")


class PauseStormSpec(FaultBase):
    """A broken NIC sends XOFF continuously."""

    kind: Literal["pause-storm"]
    hosts: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = Field(
        description="Hosts by name or pattern."
    )
    priorities: _Priorities | None = Field(None, description="Priorities it pauses; the lossless ones where absent.")
    duration: TimePs = Field(gt=0, description="How long.")
    frames_per_second: int | None = Field(None, ge=1, le=10**8, description="Pause frames per second.")
    duty: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Share of time the link is held paused, instead of "
        "frames_per_second; 1.0: without a gap, as where both are "
        "absent.",
    )
    quanta: int = Field(65_535, ge=1, le=65_535, description="Timer value of its frames.")

    @model_validator(mode="after")
    def _one_pace(self) -> Self:
        if self.frames_per_second is not None and self.duty is not None:
            raise ValueError("frames_per_second and duty are both given; give one of them, or none for a gapless storm")
        return self


class SlowReceiverSpec(Lasting):
    """A host consumes data more slowly than its link delivers it."""

    kind: Literal["slow-receiver"]
    hosts: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = Field(
        description="Hosts by name or pattern."
    )
    drain: RateBps = Field(ge=10**6, description="Rate at which received bytes are consumed.")


class DriftCurve(Strict):
    """A new ECN curve."""

    kmin: SizeBytes = Field(description="Queue at which marking begins.")
    kmax: SizeBytes = Field(description="Queue from which every packet is marked.")
    pmax: float = Field(gt=0, le=1, description="Mark probability just below kmax.")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.kmin >= self.kmax:
            raise ValueError(f"kmin ({self.kmin} B) is not below kmax ({self.kmax} B); lower kmin or raise kmax")
        return self


class ConfigDriftSpec(Lasting):
    """The configuration of ports changes by mistake."""

    kind: Literal["config-drift"]
    ports: str = Field(
        min_length=1, description="'switch:port', either part a pattern; a switch alone means all its ports."
    )
    ecn: Literal["off"] | None = Field(None, description="Marking is turned off.")
    ecn_curve: DriftCurve | None = Field(None, description="Another curve in the queues that mark.")
    dynamic_th: int | None = Field(None, ge=-8, le=7, description="Another dynamic threshold of the lossless groups.")
    headroom: SizeBytes | None = Field(None, description="Another headroom of the lossless groups.")
    pfc_priorities: _Priorities | None = Field(None, description="Other priorities with PFC; [] for none.")

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        changes = [self.ecn, self.ecn_curve, self.dynamic_th, self.headroom, self.pfc_priorities]
        if all(change is None for change in changes):
            raise ValueError("this drift changes nothing; give ecn, ecn_curve, dynamic_th, headroom or pfc_priorities")
        if self.ecn is not None and self.ecn_curve is not None:
            raise ValueError("ecn: off and ecn_curve are both given; give one of them")
        return self


class DropEverySpec(Lasting):
    """Every n-th data frame that arrives at a port vanishes."""

    kind: Literal["drop-every"]
    port: str = Field(min_length=1, description="'node:port', either part a pattern.")
    every: int = Field(ge=1, description="n.")


class RouteSpec(Lasting):
    """Switches send the traffic of some hosts to other next hops: a wrong static route, a loop, a detour, a black
    hole.
    """

    kind: Literal["route"]
    switches: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = Field(
        description="Switches by name or pattern."
    )
    hosts: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = Field(
        description="Destinations by name or pattern."
    )
    via: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        description="Next-hop neighbours, ECMP over all cables to them; [] for none. The route is static: it "
        "stays until the repair, independent of routing, and is withdrawn while all its cables are down; of several "
        "routes, the last to begin is in use. With routing: bgp, packets that leaves route between subnets of a tenant "
        "(l3_vni) use the routes to VTEPs instead, up to the host's own leaf."
    )


FaultSpec = Annotated[
    LinkDownSpec
    | LinkFlapSpec
    | LinkRateSpec
    | BitErrorsSpec
    | PauseStormSpec
    | SlowReceiverSpec
    | ConfigDriftSpec
    | DropEverySpec
    | RouteSpec
    | SwitchCrashSpec
    | LinkSilentSpec
    | BgpCrashSpec
    | DrainSpec
    | WrongAsnSpec
    | RoutePolicySpec
    | MacMoveSpec
    | HostLeaveSpec
    | EndpointChurnSpec,
    Field(discriminator="kind"),
]
"""One entry of `faults:`."""

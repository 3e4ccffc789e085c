"""Faults of switches, routing and endpoints: entries of `faults:` that act on the control plane.

All but switch-crash and link-silent need `routing: bgp`; the moves of endpoints need an overlay (`vxlan:`) as well.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from fabric.faults.spec_base import CABLE, FaultBase, Lasting
from fabric.topology.quantities import TimePs
from fabric.topology.spec import Strict

_SWITCH = "Switch by name."
_Asn = Annotated[int, Field(ge=1, lt=2**32)]
_Community = Annotated[str, Field(pattern=r"^\d{1,5}:\d{1,5}$")]


class PolicyMatch(Strict):
    """Routes that a rule applies to; every field given must match."""

    prefix: str | None = Field(None, description="IPv4 network such as '10.64.0.0/16'; routes inside it.")
    ge: int | None = Field(None, ge=0, le=32, description="Least prefix length; that of `prefix` where absent.")
    le: int | None = Field(None, ge=0, le=32, description="Largest prefix length; 32 where absent.")
    community: _Community | None = Field(None, description="'65535:0'.")
    as_path: _Asn | None = Field(None, description="AS number anywhere in the AS_PATH.")
    family: Literal["ipv4", "evpn"] | None = Field(None, description="Address family; both where absent.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.prefix is None:
            if self.ge is not None or self.le is not None:
                raise ValueError("ge and le have no effect without prefix; give prefix or remove them")
            return self
        try:
            network = IPv4Network(self.prefix)
        except ValueError as error:
            raise ValueError(f"prefix: {error}; write it as '10.64.0.0/16'") from error
        if not network.prefixlen <= self.least <= self.most:
            raise ValueError(
                f"no route is inside {self.prefix} with a length from {self.least} to {self.most}; raise le or lower ge"
            )
        return self

    @property
    def least(self) -> int:
        """Least prefix length."""
        return self.ge if self.ge is not None else int((self.prefix or "/0").rpartition("/")[2])

    @property
    def most(self) -> int:
        """Largest prefix length."""
        return 32 if self.le is None else self.le


class PolicySet(Strict):
    """Changes that a rule makes to routes that it accepts."""

    local_pref: int | None = Field(None, ge=0, lt=2**32, description="LOCAL_PREF.")
    med: int | None = Field(None, ge=0, lt=2**32, description="MULTI_EXIT_DISC.")
    prepend: Annotated[tuple[_Asn, ...], Field(strict=False)] = Field((), description="AS numbers before the AS_PATH.")
    add_community: Annotated[tuple[_Community, ...], Field(strict=False)] = Field((), description="'65000:1', ...")


class PolicyRule(Strict):
    """One rule; the first that matches decides. A route that matches no rule is accepted."""

    match: PolicyMatch = Field(default_factory=PolicyMatch, description="Every route where absent.")
    accept: bool = Field(True, description="false: the route is not taken, or not announced.")
    set: PolicySet = Field(default_factory=PolicySet, description="Changes to accepted routes.")

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if not self.accept and self.set != PolicySet():
            raise ValueError("set has no effect with accept: false; remove one of them")
        return self


PolicyRules = Annotated[tuple[PolicyRule, ...], Field(strict=False, min_length=1)]


class SwitchCrashSpec(Lasting):
    """A switch stops; from `until` on it starts again with empty tables."""

    kind: Literal["switch-crash"]
    switch: str = Field(min_length=1, description=_SWITCH)
    carrier: Literal["lost", "kept"] = Field(
        "lost",
        description="lost: its ports lose carrier; kept: they keep carrier and nothing answers, so that hold timers "
        "or BFD must find out.",
    )


class LinkSilentSpec(Lasting):
    """A cable loses every frame and keeps carrier."""

    kind: Literal["link-silent"]
    link: str = Field(min_length=1, description=CABLE)


class BgpCrashSpec(Lasting):
    """The routing daemons of a switch crash; it forwards with its last routes until they start again."""

    kind: Literal["bgp-crash"]
    switch: str = Field(min_length=1, description=_SWITCH)


class DrainSpec(Lasting):
    """Graceful shutdown (RFC 8326): a switch requests that traffic avoids it, and may then close its sessions."""

    kind: Literal["drain"]
    switch: str = Field(min_length=1, description=_SWITCH)
    shutdown_after: TimePs | None = Field(
        None, gt=0, description="Close the sessions this long after `at`; never where absent."
    )

    @model_validator(mode="after")
    def _shuts_in_time(self) -> Self:
        if self.until is not None and self.shutdown_after is not None and self.at + self.shutdown_after >= self.until:
            raise ValueError("shutdown_after ends after until; shut down sooner or end later")
        return self


class WrongAsnSpec(Lasting):
    """A switch is configured with a wrong AS number: its neighbours refuse it (RFC 4271 section 6.2, Bad Peer AS)."""

    kind: Literal["wrong-asn"]
    switch: str = Field(min_length=1, description=_SWITCH)
    asn: _Asn = Field(description="The wrong number.")


class RoutePolicySpec(Lasting):
    """A route map changes at a switch: a mistake, or a remedy."""

    kind: Literal["route-policy"]
    switch: str = Field(min_length=1, description=_SWITCH)
    neighbour: str | None = Field(None, min_length=1, description="Towards this switch; every neighbour where absent.")
    direction: Literal["import", "export"] = Field(description="import: what it takes; export: what it announces.")
    rules: PolicyRules = Field(description="In order; the first that matches decides.")


class MacMoveSpec(FaultBase):
    """A host's MAC and IP address move to another leaf (RFC 7432 section 15)."""

    kind: Literal["mac-move"]
    host: str = Field(min_length=1, description="Host by name.")
    to: str = Field(min_length=1, description="Leaf that hears it from `at` on.")
    gap: TimePs | None = Field(
        None,
        description="The old leaf loses it this long before `at` (break before make); "
        "where absent it is still known there.",
    )
    arps: int = Field(3, ge=0, le=100, description="Gratuitous ARPs it sends; with 0, other frames only.")
    arp_interval: TimePs = Field(10**12, gt=0, description="Time between them.")


class HostLeaveSpec(Lasting):
    """Hosts leave the overlay and return at `until`: a VM stops, an entry ages out."""

    kind: Literal["host-leave"]
    hosts: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = Field(
        description="Hosts by name or pattern."
    )


class EndpointChurnSpec(FaultBase):
    """Endpoints beside the hosts of the scenario come and go behind all leaves, at random."""

    kind: Literal["endpoint-churn"]
    until: TimePs = Field(description="When it ends.")
    per_minute: int = Field(ge=1, le=10_000_000, description="Endpoints that join or leave in a minute, all together.")
    vni: int | None = Field(None, ge=1, lt=2**24, description="VNI of the endpoints; every VNI in turn where absent.")

    @model_validator(mode="after")
    def _ends_later(self) -> Self:
        if self.until <= self.at:
            raise ValueError("until is not after at; move one of them")
        return self


NEEDS_BGP: Final = frozenset(
    {"bgp-crash", "drain", "wrong-asn", "route-policy", "mac-move", "host-leave", "endpoint-churn"}
)
NEEDS_OVERLAY: Final = frozenset({"mac-move", "host-leave", "endpoint-churn"})

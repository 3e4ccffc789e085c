"""The `bgp:` section: settings of the control plane.

Defaults are the behaviour of FRR's datacenter profile; fabric/controlplane/network/config.py names the source of each.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from fabric.faults.control_spec import PolicyRules
from fabric.scenario.schema.values import MAP_TAG, WORD_TAG, word_or_map
from fabric.topology.quantities import TimePs
from fabric.topology.spec import Strict
from fabric.units import PS_PER_S

_SECOND: Final = PS_PER_S
DEFAULT_BOOT_SPREAD_PS: Final = _SECOND // 10


class BfdSpec(Strict):
    """RFC 5880 on every session."""

    interval: TimePs = Field(300_000_000_000, gt=0, description="Between control packets.")
    multiplier: int = Field(3, ge=1, le=255, description="Intervals of silence that take the session down.")


class SwitchPolicySpec(Strict):
    """Policy of one switch from the start."""

    switch: str = Field(min_length=1, description="Switch by name.")
    neighbour: str | None = Field(None, min_length=1, description="Towards this switch; all where absent.")
    direction: Literal["import", "export"] = Field(
        description="import: routes that it accepts; export: routes that it announces."
    )
    rules: PolicyRules = Field(description="In order; the first that matches decides.")


BfdOrWord = Annotated[
    Annotated[Literal["off", "on"], Tag(WORD_TAG)] | Annotated[BfdSpec, Tag(MAP_TAG)], Discriminator(word_or_map)
]


class BgpSpec(Strict):
    """The `bgp:` section: timers and delays, with the defaults of FRR's datacenter profile."""

    design: Literal["ebgp", "ibgp-rr"] = Field(
        "ebgp",
        description="ebgp: on every cable (RFC 7938); ibgp-rr: one AS, switches above the leaves reflect "
        "routes (RFC 4456).",
    )
    spine_asn: Literal["shared", "distinct"] = Field(
        "shared", description="AS numbers above the leaves: shared per tier and pod, or one per switch."
    )
    keepalive: TimePs = Field(3 * _SECOND, gt=0, description="Keepalive interval; whole seconds.")
    hold: TimePs = Field(9 * _SECOND, ge=3 * _SECOND, description="Hold time; whole seconds, at least 3.")
    connect_retry: TimePs = Field(10 * _SECOND, gt=0, description="Between attempts to connect.")
    mrai: TimePs = Field(0, description="Least time between two announcements of a route to a neighbour.")
    update_delay: TimePs = Field(50 * _SECOND // 1000, description="From a route's arrival to the decision about it.")
    announce_delay: TimePs | None = Field(
        None,
        description="From a session's start to its first UPDATE. Absent: FRR's coalesce time, 1 s and 50 ms for "
        "each neighbour, at most 10 s.",
    )
    start_delay: TimePs = Field(_SECOND, description="From a routing daemon's start to its first attempts to connect.")
    boot_spread: TimePs = Field(
        DEFAULT_BOOT_SPREAD_PS,
        description="A daemon starts up to this much later than its switch, drawn; no effect with jitter: off.",
    )
    jitter: Literal["frr", "rfc4271", "off"] = Field(
        "frr",
        description="Delays that the seed decides. frr: phases of keepalives and BFD, start of daemons, the side that "
        "connects first (bgpd's timers are exact); rfc4271: timers last 0.75 to 1.0 of their value as well "
        "(section 10); off: nothing, for exact comparisons.",
    )
    fib_delay: TimePs = Field(105 * _SECOND // 10_000, description="From a decision to forwarding hardware.")
    carrier_delay: TimePs = Field(12 * _SECOND // 1000, description="From loss of carrier to the routing daemon.")
    prune_delay: TimePs = Field(
        _SECOND // 1000, description="From loss of carrier until the port leaves its ECMP groups."
    )
    learn_delay: TimePs = Field(5 * _SECOND // 1000, description="From a host's frame to its leaf's MAC table.")
    bond_delay: TimePs = Field(
        100 * _SECOND // 1000,
        description="From a dead port to a bond's next one, of hosts with several cables in an overlay.",
    )
    max_paths: int = Field(64, ge=1, le=1024, description="Equal-cost paths used.")
    multipath_relax: bool = Field(True, description="Share load over paths of equal length through different ASes.")
    bfd: BfdOrWord = Field("off", description="Fast detection of silent failures: on (300 ms, 3), off, or numbers.")
    unnumbered: bool = Field(False, description="Sessions over IPv6 link-local addresses (RFC 8950).")
    policies: Annotated[tuple[SwitchPolicySpec, ...], Field(strict=False)] = Field((), description="Route maps.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = [
            f"{name} is not a whole number of seconds; the wire has no finer unit (RFC 4271 section 4.2)"
            for name in ("keepalive", "hold")
            if getattr(self, name) % _SECOND
        ]
        if self.keepalive * 3 > self.hold:
            problems.append("keepalive is more than a third of hold; shorten it (RFC 4271 section 4.4)")
        if self.hold > 65_535 * _SECOND:
            problems.append("hold has 16 bits; give at most 65535s")
        if self.jitter == "off" and self.boot_spread != DEFAULT_BOOT_SPREAD_PS:
            problems.append("boot_spread has no effect with jitter: off; remove one of them")
        if self.design == "ibgp-rr" and self.spine_asn == "distinct":
            problems.append("spine_asn has no effect with design: ibgp-rr; remove one of them")
        if problems:
            raise ValueError("\n".join(problems))
        return self

"""Configuration of a speaker: one frozen tree, addresses as text, times in ns unless the wire has seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.policy import ACCEPT_ALL, Policy

NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000
COALESCE_NS: Final = 1000 * NS_PER_MS
COALESCE_PER_PEER_NS: Final = 50 * NS_PER_MS
COALESCE_LIMIT_NS: Final = 10 * NS_PER_S
"""FRR's coalesce time: the wait of an update subgroup without history before its first UPDATE, so that neighbours that
come up during the wait share the subgroup. 1 s and 50 ms per neighbour, at most 10 s (bgpd/bgp_updgrp.h,
peer_create)."""
KEEPALIVE_TOLERANCE_NS: Final = 100 * NS_PER_MS
"""FRR's keepalive thread sends KEEPALIVEs together that are due within this time (bgpd/bgp_keepalives.c)."""


@dataclass(frozen=True, slots=True)
class PeerFamily:
    """Settings of a neighbour for one address family."""

    import_policy: Policy = ACCEPT_ALL
    export_policy: Policy = ACCEPT_ALL
    next_hop_self: bool = False
    """For iBGP too. eBGP always sets itself as next hop in IPv4 and IPv6 unicast (RFC 4271 section 5.1.3)."""
    next_hop_unchanged: bool = False
    """FRR's `attribute-unchanged next-hop`. EVPN never changes the next hop (RFC 8365 section 5.1.2)."""
    route_reflector_client: bool = False
    """RFC 4456: the neighbour is a client of this reflector."""
    allowas_in: int = 0
    """Allowed occurrences of the own AS in a received AS_PATH."""
    max_prefixes: int | None = None
    """More accepted routes end the session: Cease / Maximum Number of Prefixes Reached (RFC 4486 section 4)."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """One session. `name` is its key in all calls: an address, or an interface for an unnumbered neighbour."""

    name: str
    remote_asn: int
    local_address: str
    """This end's address: next hop of what is advertised. IPv6 link-local for unnumbered sessions."""
    remote_address: str
    families: Mapping[AddressFamily, PeerFamily] = field(default_factory=lambda: {IPV4_UNICAST: PeerFamily()})
    local_asn: int | None = None
    """FRR: `local-as N no-prepend replace-as`; None: the speaker's AS. Equal to remote_asn: iBGP."""
    hold_time_s: int = 9
    """0 or at least 3 (RFC 4271 section 4.2). The session uses the smaller one of both ends."""
    keepalive_s: int = 3
    """At most a third of the negotiated hold time is used."""
    connect_retry_ns: int = 10 * NS_PER_S
    idle_hold_ns: int = NS_PER_S
    """Time from an error to the next attempt, RFC 4271 section 8.1.1; FRR starts with 1 s."""
    mrai_ns: int = 0
    """MinRouteAdvertisementInterval, RFC 4271 section 9.2.1.1."""
    passive: bool = False
    """Wait for the neighbour to connect."""
    enforce_first_as: bool = False
    """Withdraw routes whose AS_PATH does not begin with the neighbour's AS (RFC 4271 section 6.3)."""
    peer_group: str = ""
    """For display only."""
    max_attribute_bytes: int | None = None
    """Limit of the attribute bytes of the neighbour's routes, over all families. Above it the session ends: Cease / Out
    of Resources (RFC 4486 section 4). max_prefixes alone does not bound memory: one UPDATE may carry 64 KiB of
    attributes (RFC 8654)."""
    limit_restart_ns: int | None = None
    """Time from the end of a session by a limit (max_prefixes too) to the next attempt. None: no attempt until start()
    or reset(), as in FRR without `maximum-prefix N restart M`."""

    @property
    def by_interface(self) -> bool:
        """Unnumbered: identified by its interface, and lost with it."""
        return self.name != self.remote_address


@dataclass(frozen=True, slots=True)
class SpeakerConfig:
    """One router. Defaults are those of FRR's datacenter profile."""

    asn: int
    router_id: str
    hostname: str
    neighbors: tuple[Neighbor, ...] = ()
    max_paths: Mapping[AddressFamily, int] = field(default_factory=lambda: {IPV4_UNICAST: 64})
    """Equal-cost paths used per family; 1 where a family is missing, as FRR does for EVPN."""
    multipath_relax: bool = True
    """Paths of equal AS_PATH length are equal even if the AS numbers differ."""
    compare_router_id: bool = False
    """True: lowest router id wins at once; False: the older of two external paths stays."""
    always_compare_med: bool = False
    """False: MED compared between paths of one neighbouring AS only (RFC 4271 section 9.1.2.2 (c))."""
    default_local_pref: int = 100
    cluster_id: str = ""
    """RFC 4456; '': the router id."""
    connected: tuple[str, ...] = ()
    """Prefixes reachable without BGP: next hops resolve over them at metric 0."""
    tracked_families: tuple[AddressFamily, ...] = ()
    """Families whose next hops must resolve over the IPv4 unicast table, `connected` or interior routes to be valid."""
    report_received: tuple[AddressFamily, ...] = ()
    """Families for which RoutesReceived is reported as routes arrive."""
    update_delay_ns: int = 50 * NS_PER_MS
    """Time from the first change of a route to the decision process; FRR's process queue holds 50 ms."""
    announce_delay_ns: int | None = None
    """Time from Established of the first neighbour of an update group without history to the group's first UPDATE.
    Neighbours that come up in this time share the UPDATE. None: FRR's coalesce time by the number of neighbours; a
    number: FRR's `coalesce-time`."""
    start_delay_ns: int = 0
    """Time from start() to the first attempts to connect; FRR's bgpd waits 1 s (BGP_INIT_START_TIMER)."""
    resolve_delay_ns: int = 0
    """Time from a decision about IPv4 unicast to the resolution of next hops over it: zebra installs it first."""
    jitter_key: int | None = None
    """Key of the random factors for the ConnectRetry, Keepalive and MinRouteAdvertisementInterval timers (RFC 4271
    section 10). None: exact timers, as in FRR's bgpd (bgp_timer_set)."""
    restart_time_s: int = 120
    """Announced in the graceful restart capability (helper mode, RFC 4724)."""
    stale_path_time_s: int = 360
    """Time after which stale paths of a restarted peer are removed at the latest."""

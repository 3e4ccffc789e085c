"""How the control plane of a fabric is configured: design, timers, and the delays that no RFC fixes.

Defaults are FRR's datacenter profile as it behaves (`show bgp neighbors json`: keepalive 3 s, hold 9 s, connect retry
10 s, MRAI 0); the delays are what such daemons were measured to take, each with its source below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fabric.routing.bgp.policy import Policy
from fabric.units import PS_PER_MS, PS_PER_NS, PS_PER_S

NS_PER_MS = PS_PER_MS // PS_PER_NS
NS_PER_S = PS_PER_S // PS_PER_NS


class Design(StrEnum):
    """Who peers with whom."""

    EBGP = "ebgp"
    """eBGP on every cable, for IPv4 unicast and EVPN (RFC 7938; EVPN next hops stay unchanged)."""
    IBGP_RR = "ibgp-rr"
    """One AS: every switch above the leaves reflects routes (RFC 4456) and is next hop of the underlay itself."""


class SpineAsn(StrEnum):
    """AS numbers of the switches above the leaves."""

    SHARED = "shared"
    """The address plan's: the top tier shares one AS, spines of a pod share one (RFC 7938 section 5.2.1)."""
    DISTINCT = "distinct"
    """One AS per switch: paths through another leaf are then accepted, so valleys appear."""


@dataclass(frozen=True, slots=True)
class Bfd:
    """Bidirectional forwarding detection (RFC 5880): silence for interval * multiplier takes a session down."""

    interval_ns: int = 300 * NS_PER_MS
    multiplier: int = 3

    @property
    def detection_ns(self) -> int:
        """RFC 5880 section 6.8.4."""
        return self.interval_ns * self.multiplier


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """Import or export policy of one router towards one peer, or towards all of them."""

    router: str
    """Name."""
    peer: str | None
    """Name of the neighbour; None: every neighbour."""
    direction: str
    """'import' or 'export'."""
    policy: Policy


@dataclass(frozen=True, slots=True)
class ControlConfig:
    """Everything that shapes the control plane, the plan of routers (plan.py) and the dated events aside."""

    design: Design = Design.EBGP
    spine_asn: SpineAsn = SpineAsn.SHARED
    keepalive_ns: int = 3 * NS_PER_S
    hold_ns: int = 9 * NS_PER_S
    connect_retry_ns: int = 10 * NS_PER_S
    mrai_ns: int = 0
    update_delay_ns: int = 50 * NS_PER_MS
    """From a route's arrival to the decision about it: FRR's bgpd holds its work queue for 50 ms."""
    fib_delay_ns: int = 5 * NS_PER_MS
    """From the decision to forwarding hardware: zebra's batch and the kernel, a few ms."""
    carrier_delay_ns: int = 15 * NS_PER_MS
    """From loss of light to the daemon: interface event, zebra, session teardown (72 ms were measured to the new
    route, 50 of which are update_delay)."""
    prune_delay_ns: int = NS_PER_MS
    """From loss of light until the hardware takes the port out of its ECMP groups, with no daemon's help."""
    learn_delay_ns: int = 5 * NS_PER_MS
    """From a host's frame to the VTEP's MAC table: bridge notification (new FDB entries 4 to 11 ms after a gratuitous
    ARP were measured)."""
    bond_delay_ns: int = 100 * NS_PER_MS
    """From a dead port to the gratuitous ARP on a bond's next one: Linux bonding polls every 100 ms (miimon)."""
    announce_delay_ns: int = 1100 * NS_PER_MS
    """From Established to the first UPDATE to that neighbour: FRR waits 100 ms to announce and coalesces for 1 s."""
    start_jitter_ns: int = 400 * NS_PER_MS
    """Largest delay before a connection is tried, drawn for each attempt (link up to full ECMP: 1.3 to 1.7 s were
    measured)."""
    max_paths: int = 64
    multipath_relax: bool = True
    """Paths of equal length through different ASes share the load (`bestpath as-path multipath-relax`)."""
    bfd: Bfd | None = None
    unnumbered: bool = False
    """Sessions over IPv6 link-local addresses, IPv4 routes with IPv6 next hops (RFC 8950)."""
    policies: tuple[NodePolicy, ...] = ()

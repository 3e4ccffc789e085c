"""Configuration of the control plane of a fabric: design, timers, and the delays that no RFC fixes.

Defaults are those of FRR's datacenter profile (`show bgp neighbors json`: keepalive 3 s, hold 9 s, connect retry 10 s,
MRAI 0). The delays were measured on FRR daemons; each has its source below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fabric.controlplane.bgp.policy import Policy
from fabric.units import PS_PER_MS, PS_PER_NS, PS_PER_S

NS_PER_MS = PS_PER_MS // PS_PER_NS
NS_PER_S = PS_PER_S // PS_PER_NS
INTERFACE_EVENT_NS = 2 * NS_PER_MS
"""Time from loss of carrier to zebra's interface event in bgpd (measured: 1.5 to 2 ms)."""
CLEAR_HOLD_NS = 10 * NS_PER_MS
"""Time from the end of a session until its routes are cleared (bgpd: bgp_clear_node_queue_init, hold = 10)."""


class Design(StrEnum):
    """Which routers peer."""

    EBGP = "ebgp"
    """eBGP on every cable, for IPv4 unicast and EVPN (RFC 7938; EVPN next hops stay unchanged)."""
    IBGP_RR = "ibgp-rr"
    """One AS: every switch above the leaves is a route reflector (RFC 4456) with next hop self in the underlay."""


class SpineAsn(StrEnum):
    """AS numbers of the switches above the leaves."""

    SHARED = "shared"
    """From the address plan: the top tier shares one AS, spines of a pod share one (RFC 7938 section 5.2.1)."""
    DISTINCT = "distinct"
    """One AS per switch: paths through another leaf are then accepted, so valley paths appear."""


class Jitter(StrEnum):
    """Which delays are random, drawn from the run's seed; draws.py lists them."""

    FRR = "frr"
    """As between two runs of a fabric of FRR routers: random phases and start times, exact timers."""
    RFC4271 = "rfc4271"
    """In addition random ConnectRetry, Keepalive and MinRouteAdvertisementInterval: 0.75 to 1.0 times (section 10)."""
    OFF = "off"
    """No random delay: all daemons start at once, every phase is 0. For exact comparisons."""


@dataclass(frozen=True, slots=True)
class Bfd:
    """Bidirectional forwarding detection (RFC 5880): no packet for interval * multiplier takes a session down."""

    interval_ns: int = 300 * NS_PER_MS
    multiplier: int = 3

    @property
    def detection_ns(self) -> int:
        """RFC 5880 section 6.8.4."""
        return self.interval_ns * self.multiplier


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """Import or export policy of one router towards one peer, or towards all peers."""

    router: str
    """Name."""
    peer: str | None
    """Name of the neighbour; None: every neighbour."""
    direction: str
    """'import' or 'export'."""
    policy: Policy


@dataclass(frozen=True, slots=True)
class ControlConfig:
    """All settings of the control plane, except the plan of routers (plan.py) and the dated events."""

    design: Design = Design.EBGP
    spine_asn: SpineAsn = SpineAsn.SHARED
    keepalive_ns: int = 3 * NS_PER_S
    hold_ns: int = 9 * NS_PER_S
    connect_retry_ns: int = 10 * NS_PER_S
    mrai_ns: int = 0
    update_delay_ns: int = 50 * NS_PER_MS
    """Time from the arrival of a route to the decision: FRR's bgpd holds its work queue for 50 ms."""
    fib_delay_ns: int = 10_500_000
    """Time from the decision to forwarding hardware: zebra holds its queue for 10 ms (ZEBRA_RIB_PROCESS_HOLD_TIME), the
    kernel takes the rest. Measured from bgpd's message to the kernel's route: 10.4 to 11.0 ms."""
    carrier_delay_ns: int = 12 * NS_PER_MS
    """Time from a change of carrier to its effect in the daemon. The interface event takes 1.5 to 2 ms (measured). Then
    10 ms pass before routes of a lost session are cleared (bgp_clear_node_queue_init, hold = 10), and before next hop
    tracking reports a neighbour on a new link as reachable (zebra's 10 ms). A loss that is over before the interface
    event is never noticed (interface_event_ns)."""
    prune_delay_ns: int = NS_PER_MS
    """Time from loss of carrier until the hardware removes the port from its ECMP groups, without the daemon."""
    learn_delay_ns: int = 5 * NS_PER_MS
    """Time from a host's frame to the VTEP's MAC table: bridge notification (measured: new FDB entries 4 to 11 ms after
    a gratuitous ARP)."""
    bond_delay_ns: int = 100 * NS_PER_MS
    """Time from a failed port to the gratuitous ARP on the bond's next port: Linux polls every 100 ms (miimon)."""
    announce_delay_ns: int | None = None
    """Time from Established to the first UPDATE to new neighbours. None: FRR's coalesce time, 1 s and 50 ms per
    neighbour; a number: FRR's `coalesce-time`."""
    start_delay_ns: int = NS_PER_S
    """Time from the start of a daemon to its first attempts to connect: BGP_INIT_START_TIMER."""
    session_delay_ns: int = NS_PER_MS
    """Time from the first SYN to Established: TCP, OPEN, KEEPALIVE through both daemons (measured: 0.7 to 1.5 ms)."""
    boot_spread_ns: int = 100 * NS_PER_MS
    """Longest time from the start of a switch to that of its daemon, random (zebra and bgpd took 90 to 185 ms)."""
    dial_jitter_ns: int = 2_500_000
    """Longest delay of one end of a cable behind the other, random (both ends of 46 restored cables connected 11.3 to
    14.1 ms after the event, three of them later)."""
    jitter: Jitter = Jitter.FRR
    max_paths: int = 64
    multipath_relax: bool = True
    """ECMP over paths of equal length through different ASes (`bestpath as-path multipath-relax`)."""
    bfd: Bfd | None = None
    unnumbered: bool = False
    """Sessions over IPv6 link-local addresses, IPv4 routes with IPv6 next hops (RFC 8950)."""
    policies: tuple[NodePolicy, ...] = ()

    @property
    def interface_event_ns(self) -> int:
        """Time from loss of carrier until the daemon reads the interface event, the first part of carrier_delay. From
        then on the loss takes effect, also if the carrier is back sooner: bgpd ends an external session in the event
        (bgp_ifp_down, fast external failover).
        """
        return max(min(self.carrier_delay_ns, INTERFACE_EVENT_NS), self.carrier_delay_ns - CLEAR_HOLD_NS)

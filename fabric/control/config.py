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


class Jitter(StrEnum):
    """What is drawn from the run's seed; draws.py lists it."""

    FRR = "frr"
    """What differs between two runs of one fabric of FRR routers: phases, start times; timers themselves are exact."""
    RFC4271 = "rfc4271"
    """Also ConnectRetry, Keepalive and MinRouteAdvertisementInterval: 0.75 to 1.0 of their value (section 10)."""
    OFF = "off"
    """Nothing: all daemons start at once, every phase is 0. For exact comparisons."""


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
    fib_delay_ns: int = 10_500_000
    """From the decision to forwarding hardware: zebra holds its work queue for 10 ms (ZEBRA_RIB_PROCESS_HOLD_TIME), the
    kernel takes the rest. 10.4 to 11.0 ms were measured from bgpd's message to the kernel's route."""
    carrier_delay_ns: int = 12 * NS_PER_MS
    """From a change of carrier to what follows in the daemon. 1.5 to 2 ms were measured to the interface event; then
    10 ms pass before routes of a lost session are cleared (bgp_clear_node_queue_init, hold = 10), and before next hop
    tracking says that a neighbour on a new link can be reached (zebra's 10 ms)."""
    prune_delay_ns: int = NS_PER_MS
    """From loss of light until the hardware takes the port out of its ECMP groups, with no daemon's help."""
    learn_delay_ns: int = 5 * NS_PER_MS
    """From a host's frame to the VTEP's MAC table: bridge notification (new FDB entries 4 to 11 ms after a gratuitous
    ARP were measured)."""
    bond_delay_ns: int = 100 * NS_PER_MS
    """From a dead port to the gratuitous ARP on a bond's next one: Linux bonding polls every 100 ms (miimon)."""
    announce_delay_ns: int | None = None
    """From Established to the first UPDATE to new neighbours. None: FRR's coalesce time, 1 s and 50 ms for each
    neighbour; a number: its `coalesce-time`."""
    start_delay_ns: int = NS_PER_S
    """From the start of a daemon to its first attempts to connect: BGP_INIT_START_TIMER."""
    session_delay_ns: int = NS_PER_MS
    """From the first SYN to Established: TCP, OPEN and KEEPALIVE through both daemons (0.7 to 1.5 ms were measured)."""
    boot_spread_ns: int = 100 * NS_PER_MS
    """A daemon is up at most this long after its switch, drawn (zebra and bgpd took 90 to 185 ms to start)."""
    dial_jitter_ns: int = 2_500_000
    """An end acts on an event at most this much later than the other, drawn (both ends of 46 restored cables dialled
    11.3 to 14.1 ms after the event, three of them later)."""
    jitter: Jitter = Jitter.FRR
    max_paths: int = 64
    multipath_relax: bool = True
    """Paths of equal length through different ASes share the load (`bestpath as-path multipath-relax`)."""
    bfd: Bfd | None = None
    unnumbered: bool = False
    """Sessions over IPv6 link-local addresses, IPv4 routes with IPv6 next hops (RFC 8950)."""
    policies: tuple[NodePolicy, ...] = ()

"""One switch's QoS configuration, whatever language it was written in, with the place of every value.

A parser fills these records once, and no code changes them afterwards. Every record carries `where`, the path of the
construct in its own file ('BUFFER_PROFILE', 'pg_lossless_400000_40m_profile'); `Device.place` turns that path, or
the path of one field below it, into file and line. None always means 'the file does not say'.

Units: bytes, Mb/s as the switches have it for port speed, metres for cables, milliseconds for the PFC watchdog,
percent for probabilities and weights. Terms follow SAI: `xoff` is the headroom a priority group may take after it
has asked for a pause, not the level at which it asks (saibuffer.h, XOFF_TH).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from fabric.configs.capabilities import CAPABILITIES, Capabilities, Language
from fabric.configs.filters import Filter, FilterUse
from fabric.configs.identity import NOTHING, Identity, Stated
from fabric.configs.interface_address import interface_of
from fabric.configs.policy import Use

Where = tuple[str, ...]
"""Path of a construct or field in its file, outermost first."""

DEFAULT_MTU: Final = 9100
"""PORT.mtu where a SONiC file does not say (sonic-port.yang)."""


class Locator(Protocol):
    """Knows on which line of one file a path stands."""

    def line(self, where: Where) -> int:
        """The line of the longest part of the path that the file has; 1 where it has none of it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


Leaf = tuple[tuple[str, ...], str]
"""Path of a value in its file, and the value as text."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Part of a file that no check uses: not understood, or understood and not judged."""

    place: Place
    """The first place, where several are alike."""
    what: str
    leaves: tuple[Leaf, ...] = ()
    roce: str = ""
    """How it could act on RoCE traffic ('rate limit', 'storm control'); '' where it could not."""

    @property
    def count(self) -> int:
        """How many values or lines it stands for."""
        return max(1, len(self.leaves))


@dataclass(frozen=True, slots=True)
class Meant:
    """A mistyped part of a file, and the same part as it was meant."""

    old: Where
    """Words as they are written: table, key and field; the words of NVUE; the headers of a block and its line. (): it
    is missing.
    """
    new: Where
    value: str = ""
    """Of the field or leaf; '' of a line, which has its value in it."""


@dataclass(frozen=True, slots=True)
class Defect:
    """Something wrong with the file as such: a dangling reference, a value outside its range."""

    check: str
    """Id of the check that reports it: R1 to R9."""
    where: Where
    object: str
    text: str
    root: Where = ()
    """Construct that lacks what a reference names; (): the field itself."""
    harmless: bool = False
    """The switch takes it as it is read here: a note."""
    meant: tuple[Meant, ...] = ()
    """What was meant, where it is mistyped; () where that is not known."""


@dataclass(slots=True)
class Pool:
    """A share of the packet buffer."""

    name: str
    where: Where
    direction: str
    mode: str
    size_bytes: int | None
    shared_headroom_bytes: int = 0
    """Size of the shared headroom pool, on top of size_bytes (SAI: pool XOFF_SIZE)."""


@dataclass(slots=True)
class BufferProfile:
    """Thresholds a priority group, queue or port has in one pool."""

    name: str
    where: Where
    pool: str
    size_bytes: int = 0
    dynamic_th: int | None = None
    """Exponent: the limit is 2**dynamic_th times what is free in the pool."""
    static_th_bytes: int | None = None
    xon_bytes: int = 0
    xon_offset_bytes: int = 0
    xoff_bytes: int = 0
    pause_bytes: int | None = None
    """Level of its own buffer at which a group asks for a pause, where the file states that and no threshold."""
    derived: str = ""
    """Non-empty where the switch itself would make this profile at run time; says from what."""
    assumed: bool = False
    """The vendor computes this headroom and does not publish how: its bytes stand in for it and are not judged."""

    @property
    def lossless(self) -> bool:
        """Whether there is headroom: the test SONiC's own buffer_pool_mellanox.lua makes."""
        return self.xoff_bytes > 0

    @property
    def alpha(self) -> float | None:
        """The factor on the free buffer, None for a static threshold."""
        return None if self.dynamic_th is None else 2.0**self.dynamic_th


@dataclass(frozen=True, slots=True)
class Curve:
    """A marking or drop curve: nothing below min, pmax at max, everything above."""

    min_bytes: int
    max_bytes: int
    pmax_percent: int | None


@dataclass(slots=True)
class Wred:
    """A marking (and drop) profile of a queue."""

    name: str
    where: Where
    ecn: str
    """Which colours are marked: ecn_none, ecn_all, ecn_green, ecn_green_yellow, ..."""
    curves: dict[str, Curve] = field(default_factory=dict)
    drops: frozenset[str] = frozenset()
    """Colours whose packets without ECN capability are dropped on the curve."""
    size_unknown: bool = False
    """The thresholds are stated in a unit of the chip whose size is not known: the curve is not judged."""
    averaging: str = ""
    """Words of the same line that weigh the average queue length, which a change of the curve keeps (' weight 0')."""

    @property
    def marks(self) -> bool:
        """Whether green traffic, which is all that was not metered, is marked."""
        return self.ecn == "ecn_all" or "green" in self.ecn

    @property
    def curve(self) -> Curve | None:
        """The curve of green traffic."""
        return self.curves.get("green")


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest rate of a shaper."""

    where: Where
    field: str
    """Name of the field, as the file has it."""
    mbps: float | None = None
    """None where the rate depends on something else."""
    percent: float | None = None
    """Of the port's speed, where the language states it so."""
    packets: bool = False
    """The rate counts packets: it is not compared with a speed."""
    burst_bytes: int | None = None
    """May leave at the port's speed; None where it is not stated."""

    def rate_mbps(self, speed_mbps: int | None) -> float | None:
        """The rate at a port of this speed; None where it is not known."""
        if self.percent is not None:
            return None if speed_mbps is None else speed_mbps * self.percent / 100
        return self.mbps


@dataclass(slots=True)
class Scheduler:
    """How a queue competes for its port."""

    name: str
    where: Where
    kind: str
    """DWRR, WRR or STRICT."""
    weight: int = 1


@dataclass(slots=True)
class Binding:
    """What one queue or priority group of a port uses."""

    where: Where
    profile: str | None = None
    profile_where: Where = ()
    wred: str | None = None
    scheduler: str | None = None
    limit: Limit | None = None
    """The rate that a shaper holds the queue to."""
    made: bool = False
    """No line of the file states it: the switch makes it when it starts (SONiC's buffermgrd)."""


TRUST_COS: Final = "trust cos"
"""EOS: how the name of a map begins that stands for a port which does not trust the DSCP."""


@dataclass(slots=True)
class QosMap:
    """A table from one number to another: DSCP to traffic class, traffic class to queue, ..."""

    name: str
    where: Where
    entries: dict[int, int] = field(default_factory=dict)
    stated: frozenset[int] | None = None
    """Keys the file states where the language fills in the others by default; None: every key."""
    classes: tuple[tuple[str, int | None, tuple[int, ...]], ...] = ()
    """EOS, NX-OS: classes of the policy in their order, the traffic class that each sets, and its DSCPs."""
    headers: dict[str, str] = field(default_factory=dict)
    """NX-OS: class to the line that begins its class map, which says whether all of its lines must match."""
    uncertain: dict[int, str] = field(default_factory=dict)
    """EOS, NX-OS: DSCPs whose class depends on a condition that was not read, and that condition."""


@dataclass(slots=True)
class Watchdog:
    """PFC watchdog of one port, or of the whole device where the language has no other."""

    where: Where
    action: str
    detection_ms: int | None
    restoration_ms: int | None


@dataclass(frozen=True, slots=True)
class WatchdogCapability:
    """What the switch says of its watchdog (STATE_DB PFC_WD_HW_CAPABILITIES, put beside CONFIG_DB)."""

    recovery: str
    """hardware or software; '' where it does not say."""
    detection_ms: tuple[int, int] | None = None
    """The least and the largest time of the chip's timer."""
    restoration_ms: tuple[int, int] | None = None


@dataclass(slots=True)
class Port:
    """One port with everything bound to it."""

    name: str
    where: Where
    speed_mbps: int | None = None
    mtu: int = DEFAULT_MTU
    mtu_where: Where = ()
    """The LAG that states it for its members; (): the port itself."""
    admin_up: bool = False
    admin_stated: bool = True
    """False where the file does not say whether it is up, and the language's default holds."""
    lanes: int = 1
    fec: str | None = None
    autoneg: str | None = None
    advertised: tuple[str, ...] = ()
    """Speeds in Mb/s that autonegotiation offers, as stated; (): all that the port has."""
    pfc_asym: bool = False
    global_pause: bool = False
    cable_m: int | None = None
    cable_where: Where = ()
    qos_where: Where = ()
    lossless: frozenset[int] = frozenset()
    """Priorities with PFC in both directions."""
    pfc_where: Where = ()
    """Their place, where one line of the switch states them for all ports (NX-OS network-qos); (): `qos_where`."""
    pfc_negotiated: bool = False
    """PFC only where the peer agrees over DCBX (NX-OS `mode auto`)."""
    watched: frozenset[int] = frozenset()
    """Priorities the watchdog looks at."""
    maps: dict[str, str] = field(default_factory=dict)
    """Kind of map ('dscp_to_tc', 'tc_to_queue', 'tc_to_pg', 'pfc_to_queue', 'pfc_to_pg', 'tc_to_dscp' where packets
    leave, 'dscp_to_dscp' where they arrive) to its name."""
    groups: dict[int, Binding] = field(default_factory=dict)
    queues: dict[int, Binding] = field(default_factory=dict)
    ingress_profiles: tuple[str, ...] = ()
    egress_profiles: tuple[str, ...] = ()
    limit: Limit | None = None
    """The rate that a shaper holds the whole port to."""
    class_by_tag: bool = False
    """The 802.1Q priority that the sender writes decides the class, not the DSCP."""
    macsec: str = ""
    """Name of its MACsec profile; '' without one."""
    watchdog: Watchdog | None = None
    lag: str | None = None
    lag_mode: str = ""
    """'active' or 'passive' of LACP, 'on' for a LAG without it; '' where the file does not say (IEEE 802.1AX)."""
    vlan: str = ""
    """Number of its access (untagged) VLAN, or that of its LAG; '' where it has none."""
    trunk: bool = False
    """Whether it carries VLANs with tags, or all VLANs of its bridge (EOS, NX-OS, NVUE)."""
    trunk_vlans: frozenset[int] | None = None
    """VLANs that a trunk is limited to; None where it is not limited."""
    missing_row: tuple[int, int] | None = None
    """(speed, cable) that the platform's headroom table lacks, so that the switch makes no lossless group."""
    headroom_unknown: bool = False
    """The switch would make the lossless group from a table that was not given."""
    neighbor: tuple[str, str] | None = None
    description: str = ""

    @property
    def mtu_at(self) -> Where:
        """The construct whose MTU acts."""
        return self.mtu_where or self.where


@dataclass(frozen=True, slots=True)
class Lag:
    """A link aggregation group."""

    name: str
    where: Where
    shut: Stated = NOTHING
    """'down' where a line shuts it."""
    min_links: Stated = NOTHING
    """Members that must be up before it is; empty: one."""
    mode: str = ""
    """Of LACP, where a language states it for all members at once; as Port.lag_mode."""


@dataclass(slots=True)
class Tunnel:
    """A VXLAN tunnel end point."""

    name: str
    where: Where
    dscp_mode: str = "uniform"
    """uniform copies the DSCP at encapsulation; pipe sets its own (SAI saitunnel.h, ENCAP_DSCP_MODE)."""
    ecn_mode: str = "standard"
    """standard follows RFC 6040; anything else may lose marks at decapsulation."""
    source: str = ""
    """Address of the VTEP, or the interface that has it; '' where the file does not say."""

    @property
    def ipv6(self) -> bool:
        """Whether it encapsulates in IPv6."""
        return ":" in self.source


@dataclass(slots=True)
class Vlan:
    """A bridge domain."""

    name: str
    where: Where
    mtu: int | None
    members: tuple[str, ...] = ()
    routed: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """One configured BGP neighbour."""

    where: Where
    peer: str
    """Its name, where the file has one."""
    asn: str
    address: str
    local_address: str = ""
    up: bool = True
    keepalive_s: int | None = None
    hold_s: int | None = None
    families: frozenset[str] | None = None
    """Address families that are activated ('ipv4', 'evpn', ...); None where the language does not say so."""
    extended_communities: bool | None = None
    """Whether route targets are sent; None where the language always sends them."""
    community_families: frozenset[str] | None = None
    """Families whose routes are sent with their standard communities; None where the language always sends them."""
    keeps_next_hop: bool | None = None
    """Whether EVPN routes are passed on with the VTEP's next hop; None where the file cannot say so."""
    allows_own_as: bool = False
    vrf: str = ""
    """'' is the default VRF."""
    interface: str = ""
    """Port of an unnumbered session."""
    external: bool = False
    """Whether the neighbour may have every AS number but the switch's own ('external')."""
    policies: tuple[Use, ...] = ()
    """Filters of its routes in either direction."""
    reflects: bool = False
    """Whether the neighbour is a client of this route reflector (RFC 4456)."""
    source: str = ""
    """Interface or address that the session is sent from, as stated; '' where the switch takes that of the way out."""
    hops: int | None = None
    """Routers that an external session may cross, plus one: 1 where the file does not allow more; None where the
    language's own templates decide it."""
    password: bool = False
    """Whether it is authenticated."""
    secret: str = field(default="", repr=False)
    """The password where it is written in clear; '' where it is not. No output has it."""
    bfd: bool = False
    """Whether BFD watches the path to the neighbour (RFC 5882)."""
    passive: bool = False
    """Whether the switch waits for the neighbour to open the session (RFC 4271 section 8.1.1)."""
    states_asn: bool = True
    """False where the neighbour has no AS number, not even 'external', so that the switch opens no session."""
    sets_next_hop: bool = False
    """Whether IPv4 routes get this switch as next hop on an internal session, too."""
    local_as: Stated = NOTHING
    """AS number that the neighbour sees in place of the switch's own."""
    ttl_security: Stated = NOTHING
    """Hops that packets of the neighbour may have made, by their TTL (RFC 5082); empty: any TTL is taken."""
    max_prefixes: Stated = NOTHING
    """Number of IPv4 prefixes above which the switch closes the session; empty: no limit, or only a warning."""
    group_where: Where = ()
    """Its peer group, or the template that it inherits; () where it has none."""
    inherited_where: tuple[tuple[str, Where], ...] = ()
    """Settings that it takes from there, in the words of EOS ('remote-as', 'update-source'), and their places."""

    def at(self, setting: str) -> Where:
        """Where a setting is stated: in its group, if it has it from there, else at the neighbour."""
        return dict(self.inherited_where).get(setting, self.where)

    @property
    def neighbor(self) -> str:
        """The neighbour as the file names it: its address, or the port of an unnumbered session."""
        return self.address or self.interface


@dataclass(frozen=True, slots=True)
class StaticRoute:
    """A route that is written down. Without next hops it drops."""

    where: Where
    prefix: str
    hops: tuple[tuple[str, str], ...]
    """(gateway, interface), either of them ''."""
    distance: int = 1


@dataclass(slots=True)
class Device:
    """One switch."""

    name: str
    file: str
    language: Language
    locator: Locator
    beside: dict[str, tuple[str, Locator]] = field(default_factory=dict)
    """Further files of the switch: the first word of the places in each, its path, and its lines."""
    platform: str = ""
    hwsku: str = ""
    role: str = ""
    asn: str = ""
    dynamic_buffers: bool = False
    schema_version: tuple[int, ...] | None = None
    ports: dict[str, Port] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)
    profiles: dict[str, BufferProfile] = field(default_factory=dict)
    wreds: dict[str, Wred] = field(default_factory=dict)
    schedulers: dict[str, Scheduler] = field(default_factory=dict)
    maps: dict[str, dict[str, QosMap]] = field(default_factory=dict)
    global_maps: dict[str, str] = field(default_factory=dict)
    watchdog_poll_ms: int | None = None
    watched_queues: int | None = None
    """Queues that the watchdog of the whole switch watches, where this is a part of it."""
    watchdog_capability: WatchdogCapability | None = None
    """None where no file says what the chip can."""
    watchdog_times: Where = ()
    """Times that act only at ports which have a watchdog (EOS); () where no line states them."""
    drops_lossless: bool = False
    """Every lossless queue drops what it gets (SONiC BIG_RED_SWITCH)."""
    watchdog_default: bool = False
    """Every lossless port gets a watchdog although none is written down."""
    lags: dict[str, Lag] = field(default_factory=dict)
    """Those that the file describes beside their members."""
    tunnels: dict[str, Tunnel] = field(default_factory=dict)
    vlans: dict[str, Vlan] = field(default_factory=dict)
    class_mtus: dict[str, int] = field(default_factory=dict)
    """Lossless class of the network-qos policy in force to the largest frame of its queue (NX-OS), bytes."""
    lossy_mtus: dict[str, int] = field(default_factory=dict)
    """The same for the other classes."""
    hash_fields: tuple[str, ...] | None = None
    hash_where: Where = ("SWITCH_HASH", "GLOBAL")
    hash_algorithm: str = ""
    multipath: int | None = None
    multipath_where: Where = ("maximum-paths",)
    neighbor_types: dict[str, str] = field(default_factory=dict)
    """Neighbour name to its type, 'Server' for hosts."""
    bgp: dict[str, str] = field(default_factory=dict)
    """Neighbour name to its ASN."""
    sessions: list[Session] = field(default_factory=list)
    addresses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Interface (port, LAG, VLAN, loopback) to its addresses with their prefix length."""
    routes: list[StaticRoute] = field(default_factory=list)
    filters: dict[str, Filter] = field(default_factory=dict)
    """Access lists of IPv4 that an interface has."""
    filter_uses: dict[str, FilterUse] = field(default_factory=dict)
    """Interface and direction to the list that it has."""
    identity: Identity = field(default_factory=Identity)
    """Router ids, VNIs, route targets, anycast gateways, MAC addresses, VRFs."""
    peer_link: str = ""
    """LAG or port to the other switch of an MC-LAG pair."""
    peer_where: Where = ()
    name_where: Where = ()
    """Where the file states the name; () where it is that of the file."""
    mux_ports: frozenset[str] = frozenset()
    """Ports to servers that have a second ToR (dual-ToR): the standby one sends their packets back up."""
    mux_where: Where = ()
    bounce_remap: bool | None = None
    """Packets sent back up are in a separate lossless class (tunnel_qos_remap); None where the file is silent."""
    pattern_mtu: int | None = None
    pattern_small_percent: int | None = None
    pattern_where: Where = ()
    over_subscribe_ratio: int = 0
    default_dynamic_th: int = 0
    max_headroom_bytes: int | None = None
    """What one port's headroom may sum up to (dynamic model)."""
    decap_maps: dict[str, str] = field(default_factory=dict)
    mac_age_s: int | None = None
    arp_age_s: int | None = None
    defects: list[Defect] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    """Not understood."""
    unjudged: list[Unread] = field(default_factory=list)
    """Understood, and of no effect on any check."""

    @property
    def capabilities(self) -> Capabilities:
        """What switches of this language do, and what their files state."""
        return CAPABILITIES[self.language]

    def place(self, where: Where, *more: str) -> Place:
        """File and line of a construct, or of one of its fields."""
        if where and where[0] in self.beside:
            file, locator = self.beside[where[0]]
            return Place(file, locator.line((*where, *more)))
        return Place(self.file, self.locator.line((*where, *more)))

    def bundle(self, lag: Lag, mtu: int | None) -> None:
        """Add a LAG, and give its members the MTU that it states, if it does."""
        self.lags[lag.name] = lag
        for port in (it for it in self.ports.values() if it.lag == lag.name and mtu is not None):
            port.mtu, port.mtu_where = mtu or port.mtu, lag.where

    def add_address(self, interface: str, text: str, where: Where) -> None:
        """Add an address with its prefix length. Raises ValueError where it is none."""
        address = str(interface_of(text))
        self.addresses[interface] = (*self.addresses.get(interface, ()), address)
        self.identity.address_where[interface, address] = where

    def map_of(self, port: Port, kind: str) -> QosMap | None:
        """The map of this kind that acts on the port; the device's global one where the port names none."""
        name = port.maps.get(kind) or self.global_maps.get(kind)
        return None if name is None else self.maps.get(kind, {}).get(name)

    def profile_of(self, binding: Binding | None) -> BufferProfile | None:
        """The buffer profile a queue or group uses."""
        return None if binding is None or binding.profile is None else self.profiles.get(binding.profile)


@dataclass(frozen=True, slots=True)
class Site:
    """A field of a device's configuration. Its line is looked up only when it is shown."""

    name: str
    where: Where
    device: Device = field(compare=False, repr=False)

    @property
    def place(self) -> Place:
        """File and line."""
        return self.device.place(self.where)

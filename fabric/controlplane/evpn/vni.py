"""One L2 VNI of a switch: MAC table, address bindings, flood list, and its own routes in BGP.

The rules for changes of entries are in learning.py (local ports) and imports.py (received routes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Final

from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.evpn.addresses import ip_packed
from fabric.controlplane.evpn.config import VniConfig
from fabric.controlplane.evpn.edits import Announcement
from fabric.controlplane.evpn.evpn_attributes import VXLAN, Facts, communities, pmsi_ingress_replication
from fabric.controlplane.evpn.evpn_nlri import EvpnKey, Payload, mac_ip_key, multicast_key
from fabric.controlplane.evpn.mac import MacEntry, MacKind, Neighbor, NeighborKind
from fabric.controlplane.evpn.remote import Candidates, RemotePath, best_of
from fabric.controlplane.evpn.targets import ImportTarget

_ANNOUNCEMENTS: Final = 4096
"""Cache entries per VNI; a full cache is emptied, since growing sequence numbers create new entries without limit."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Route distinguisher, import targets and export targets of a VNI or VRF."""

    rd: bytes
    rd_index: int
    """The number in a derived distinguisher; 0 if configured."""
    imports: tuple[ImportTarget, ...]
    exports: tuple[bytes, ...]


@dataclass(slots=True)
class ArpCounters:
    """Counters of ARP and ND suppression, in frames, since start."""

    proxied: int = 0
    """Answered by the switch."""
    suppressed: int = 0
    """Broadcast or multicast, not sent into tunnels and not answered by the switch."""
    flooded: int = 0
    """Replicated to other VTEPs."""
    flooded_copies: int = 0
    """Copies of flooded frames: one per VTEP."""


@dataclass(frozen=True, slots=True)
class L3Part:
    """Additions of symmetric IRB to a MAC+IP route (RFC 9135 section 5.1)."""

    vni: int
    targets: tuple[bytes, ...]
    router_mac: str


@dataclass(slots=True, eq=False)
class VniTable:
    """Tables of one VNI. Compared by identity."""

    config: VniConfig
    identity: Identity
    address: str
    """The switch's VTEP address."""
    l3: L3Part | None = None
    """Set if the tenant has a VRF with an L3 VNI here."""
    suppression: bool = True
    gateway: IPv4Interface | IPv6Interface | None = None
    ports: dict[str, None] = field(default_factory=dict)
    macs: dict[str, MacEntry] = field(default_factory=dict)
    neighbors: dict[str, Neighbor] = field(default_factory=dict)
    imports: dict[bytes, Candidates] = field(default_factory=dict)
    """Route without distinguisher (EvpnKey.inner) -> imported paths: the VNI's table in BGP."""
    claims: dict[str, dict[str, None]] = field(default_factory=dict)
    """Address -> MACs that claimed it, if several did or a claim was not installed."""
    multicast: dict[bytes, None] = field(default_factory=dict)
    """The Type-3 routes among the imports."""
    found_in_tunnel: dict[str, str] = field(default_factory=dict)
    """MAC -> remote VTEP in the FDB of the kernel's VXLAN device when this daemon started, until the MAC is known."""
    arp: ArpCounters = field(default_factory=ArpCounters)
    announcements: dict[tuple[int, bool, bool, bool, bool], Announcement] = field(default_factory=dict)
    """Cache of the announcements of Type-2 routes by their variable fields."""

    @property
    def vni(self) -> int:
        """The VNI."""
        return self.config.vni

    @property
    def address_packed(self) -> bytes:
        """The switch's VTEP address."""
        return ip_packed(self.address)

    # -- queries ----------------------------------------------------------------------------------------------------

    def where(self, mac: str) -> MacEntry | None:
        """The forwarding entry for `mac`; None: unknown, flood."""
        entry = self.macs.get(mac)
        return None if entry is None or entry.kind is MacKind.AUTO else entry

    def flood_vteps(self) -> tuple[str, ...]:
        """VTEPs to which BUM frames are replicated, sorted by address."""
        found = {path.flood_to for inner in self.multicast for _, path in self.imports[inner] if path.flood_to}
        return tuple(sorted(found, key=ip_packed))

    def remote_mac_count(self, vtep: str) -> int:
        """Number of MACs behind a VTEP."""
        return sum(entry.kind is MacKind.REMOTE and entry.vtep == vtep for entry in self.macs.values())

    def note_claims(self, ip: str, *macs: str) -> None:
        """Record MACs that claimed an address."""
        self.claims.setdefault(ip, {}).update(dict.fromkeys(macs))

    def best_import(self, inner: bytes) -> RemotePath | None:
        """The best imported path of a route."""
        candidates = self.imports.get(inner)
        return None if candidates is None else best_of(candidates)

    # -- own routes -------------------------------------------------------------------------------------------------

    def multicast_route(self) -> tuple[EvpnKey, Announcement]:
        """Type 3: join the flood lists of the VNI (RFC 7432 section 11)."""
        community = communities(Facts(self.identity.exports, VXLAN))
        return multicast_key(self.identity.rd, self.address), Announcement(
            Attributes(ext_communities=community, pmsi_tunnel=pmsi_ingress_replication(self.vni, self.address)), None
        )

    def key(self, mac: str, ip: str = "") -> EvpnKey:
        """Key of this switch's own Type-2 route."""
        return mac_ip_key(self.identity.rd, mac, ip)

    def announcement(
        self, sequence: int, *, sticky: bool = False, with_ip: bool = False, router: bool = False, gateway: bool = False
    ) -> Announcement:
        """Announcement of a Type-2 route of this switch; equal arguments give the same object."""
        l3 = self.l3 if with_ip and not gateway else None
        router = router and with_ip
        state = (sequence, sticky, l3 is not None, router, gateway)
        made = self.announcements.get(state)
        if made is None:
            if len(self.announcements) >= _ANNOUNCEMENTS:
                self.announcements.clear()
            facts = Facts(
                self.identity.exports + (l3.targets if l3 else ()),
                VXLAN,
                sequence,
                sticky,
                l3.router_mac if l3 else "",
                gateway,
                int(router),
            )
            made = self.announcements[state] = Announcement(
                Attributes(ext_communities=communities(facts)), Payload((self.vni, l3.vni) if l3 else (self.vni,))
            )
        return made

    def own_routes(self) -> list[EvpnKey]:
        """Keys of all routes that this switch announces for the VNI."""
        keys = [self.multicast_route()[0]]
        keys += [self.key(mac) for mac, entry in self.macs.items() if entry.announced]
        keys += [self.key(entry.mac, ip) for ip, entry in self.neighbors.items() if self.is_announced(entry)]
        if self.gateway is not None and self.config.advertise_gateway:
            keys += [self.key(self.config.gateway_mac), self.key(self.config.gateway_mac, str(self.gateway.ip))]
        return keys

    def is_announced(self, neighbor: Neighbor) -> bool:
        """True if this switch announces a MAC+IP route for the binding."""
        entry = self.macs.get(neighbor.mac)
        return neighbor.kind is NeighborKind.LOCAL and neighbor.active and entry is not None and entry.announced


def make_table(config: VniConfig, identity: Identity, address: str, l3: L3Part | None) -> VniTable:
    """An empty table."""
    return VniTable(
        config,
        identity,
        address,
        l3,
        config.suppression,
        ip_interface(config.gateway) if config.gateway else None,
        dict.fromkeys(config.ports),
    )

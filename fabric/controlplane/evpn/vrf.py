"""A tenant's routes between subnets: symmetric IRB with an L3 VNI (RFC 9135 section 5) and Type-5 routes (RFC 9136).

1. A MAC+IP route with a second label and a router's MAC is a host route to its VTEP (RFC 9135 section 9.1.1).
2. A Type-5 route without a gateway address is a prefix route to its VTEP (RFC 9136 section 4.4.1, interface-less).
   Routes with an overlay index (ESI or gateway address) are not resolved, and not imported.
3. A packet is routed at the ingress and at the egress VTEP: between them it is in the L3 VNI, with the router's MAC of
   the egress VTEP as inner destination.
4. Of routes for one prefix with several distinguishers the best by RFC 4271 section 9.1.2.2 (a) to (c) are used, with
   ECMP over equal ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.evpn.addresses import ip_packed
from fabric.controlplane.evpn.config import VrfConfig
from fabric.controlplane.evpn.edits import Announcement, Edits
from fabric.controlplane.evpn.evpn_attributes import VXLAN, Facts, communities
from fabric.controlplane.evpn.evpn_nlri import ZERO_ESI, EvpnKey, Payload, RouteType, prefix_key
from fabric.controlplane.evpn.mac import MacKind, NeighborKind
from fabric.controlplane.evpn.remote import RemotePath
from fabric.controlplane.evpn.vni import Identity, VniTable


class TenantHop(NamedTuple):
    """The remote VTEP of a routed packet's tunnel."""

    vtep: str
    vni: int
    """L3 VNI of the outer header."""
    router_mac: str
    """Inner destination MAC."""


class HopKind(StrEnum):
    """Outcome of a route lookup."""

    LOCAL = "local"
    """To a host at an access port of this switch."""
    GATEWAY = "gateway"
    """For this switch itself."""
    GLEAN = "glean"
    """To a subnet of this switch; needs ARP or ND first."""
    REMOTE = "remote"
    """Through a tunnel."""
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class TenantLookup:
    """Result of a route lookup for one address of a tenant."""

    kind: HopKind
    prefix: str = ""
    """The route that matched."""
    hops: tuple[TenantHop, ...] = ()
    """ECMP next hops, if REMOTE."""
    vni: int = 0
    """L2 VNI, if LOCAL or GLEAN."""
    port: str = ""
    mac: str = ""


@dataclass(slots=True, eq=False)
class VrfTable:
    """Routes of one tenant on one switch."""

    config: VrfConfig
    identity: Identity
    router_mac: str
    subnets: list[VniTable] = field(default_factory=list)
    """The tenant's VNIs on this switch."""
    imports: dict[str, dict[EvpnKey, RemotePath]] = field(default_factory=dict)
    """Prefix -> routes for it."""
    by_length: dict[tuple[int, int], dict[int, str]] = field(default_factory=dict)
    """(bits of an address, prefix length) -> network as a number -> prefix: for the longest match."""
    connected: dict[str, None] = field(default_factory=dict)
    """The configured prefixes whose interfaces have carrier."""

    def __post_init__(self) -> None:
        self.connected = dict.fromkeys(self.config.prefixes)

    def own_routes(self) -> list[tuple[EvpnKey, Announcement]]:
        """The Type-5 routes of this switch: connected prefixes, and the subnets of its gateways."""
        prefixes = list(self.connected)
        if self.config.advertise_subnets:
            prefixes += [str(table.gateway.network) for table in self.subnets if table.gateway is not None]
        announcement = Announcement(
            Attributes(ext_communities=communities(Facts(self.identity.exports, VXLAN, router_mac=self.router_mac))),
            Payload((self.config.l3_vni,)),
        )
        networks = [ip_network(prefix) for prefix in dict.fromkeys(prefixes)]
        return [
            (prefix_key(self.identity.rd, str(network.network_address), network.prefixlen), announcement)
            for network in networks
        ]

    def hops(self, prefix: str) -> tuple[TenantHop, ...]:
        """ECMP next hops of a prefix, sorted by VTEP; () if there is none (rule 4)."""
        paths = self.imports.get(prefix, {}).values()
        best = min((path.preference for path in paths), default=None)
        found = {
            TenantHop(path.vtep, path.payload.labels[-1], path.facts.router_mac)
            for path in paths
            if path.preference == best
        }
        return tuple(sorted(found, key=lambda hop: (ip_packed(hop.vtep), hop)))

    def lookup(self, address: str) -> TenantLookup:
        """Look up `address`: a local host, else the longest prefix. Raises ValueError for a malformed address."""
        target = ip_address(address)
        for table in self.subnets:
            if table.gateway is not None and target == table.gateway.ip:
                return TenantLookup(
                    HopKind.GATEWAY, str(table.gateway.network), vni=table.vni, mac=table.config.gateway_mac
                )
            neighbor = table.neighbors.get(address)
            where = None if neighbor is None else table.where(neighbor.mac)
            if (
                neighbor is not None
                and neighbor.kind is NeighborKind.LOCAL
                and where is not None
                and where.kind is MacKind.LOCAL
            ):
                return TenantLookup(
                    HopKind.LOCAL, f"{address}/{target.max_prefixlen}", vni=table.vni, port=where.port, mac=neighbor.mac
                )
        connected = {
            table.gateway.network: table
            for table in self.subnets
            if table.gateway is not None and target in table.gateway.network
        }
        for length in range(target.max_prefixlen, -1, -1):
            prefixes = self.by_length.get((target.max_prefixlen, length))
            prefix = None if prefixes is None else prefixes.get(int(target) >> (target.max_prefixlen - length))
            glean = next((table for network, table in connected.items() if network.prefixlen == length), None)
            if glean is not None:  # connected before BGP: administrative distance
                return TenantLookup(HopKind.GLEAN, str(glean.gateway.network) if glean.gateway else "", vni=glean.vni)
            if prefix is not None:
                return TenantLookup(HopKind.REMOTE, prefix, self.hops(prefix))
        return TenantLookup(HopKind.UNREACHABLE)

    def add_routes(self, keys: Iterable[EvpnKey], path: RemotePath, edits: Edits) -> None:
        """Import routes of other VTEPs, all with one path, if rule 1 or 2 applies."""
        for key in keys:
            prefix = _prefix_of(key)
            if prefix is not None:
                self._set_route(prefix, key, path if _is_wanted(key, path) else None, edits)

    def remove_routes(self, keys: Iterable[EvpnKey], edits: Edits) -> None:
        """Remove routes of other VTEPs."""
        for key in keys:
            prefix = _prefix_of(key)
            if prefix is not None:
                self._set_route(prefix, key, None, edits)

    def _set_route(self, prefix: _Prefix, key: EvpnKey, path: RemotePath | None, edits: Edits) -> None:
        """Set one route of a prefix to `path`; None removes it."""
        routes = self.imports.get(prefix.text)
        if path is None and (routes is None or key not in routes):
            return
        before = () if routes is None else self.hops(prefix.text)
        if routes is None:
            routes = self.imports[prefix.text] = {}
            self.by_length.setdefault((prefix.bits, prefix.length), {})[prefix.number] = prefix.text
        if path is None:
            del routes[key]
        else:
            routes[key] = path
        if not routes:
            del self.imports[prefix.text], self.by_length[prefix.bits, prefix.length][prefix.number]
        if not before or not routes or self.hops(prefix.text) != before:
            edits.prefixes.setdefault(self.config.name, {})[prefix.text] = None


class _Prefix(NamedTuple):
    """Destination prefix of a route."""

    text: str
    bits: int
    """Address length: 32 or 128."""
    length: int
    number: int
    """The network, without its host bits."""


def _prefix_of(key: EvpnKey) -> _Prefix | None:
    """The prefix of a Type-5 route, or the host of a MAC+IP route; None for other routes."""
    if key.type == RouteType.IP_PREFIX:
        bits = (len(key) - 14) * 8
        return _Prefix(
            f"{key.ip}/{key.prefix_len}",
            bits,
            key.prefix_len,
            int.from_bytes(key[14:], "big") >> (bits - key.prefix_len),
        )
    if key.type == RouteType.MAC_IP and key.ip:
        bits = (len(key) - 21) * 8
        return _Prefix(f"{key.ip}/{bits}", bits, bits, int.from_bytes(key[21:], "big"))
    return None


def _is_wanted(key: EvpnKey, path: RemotePath) -> bool:
    """Rules 1 and 2."""
    payload = path.payload
    if not path.facts.router_mac:
        return False
    if key.type == RouteType.MAC_IP:
        return len(payload.labels) == 2
    return bool(payload.labels) and not payload.gateway and payload.esi == ZERO_ESI

"""One switch's overlay. Inputs: frames at its ports, selections of its speaker. Outputs: routes, table edits, alarms.

    vtep = Vtep(config)
    actions = vtep.start(now_ns)                                 Type-3 routes of its VNIs, Type-5 routes of its tenants
    actions = vtep.routes_changed(changes, now_ns)               changes of family EVPN in the speaker's RoutesChanged
    actions = vtep.host_seen(vni, mac, ip, port, now_ns)         gratuitous ARP of a host: it joined, moved or sent
    actions = vtep.hosts_seen(hosts, now_ns)                     many hosts at once: one Originate per VNI
    actions = vtep.host_gone(vni, mac, now_ns)                   its port is lost, before the MAC was seen elsewhere
    decision, actions = vtep.arp(vni, packet, port, now_ns)      suppression and learning
    actions = vtep.tick(now_ns)                                  at next_deadline_ns() or later: ageing, unfreezing

Sans-I/O: every call returns the list of actions to execute in order (actions.py); the same calls give the same actions.
Time never goes backwards. The speaker decides whether a route's next hop is reachable (SpeakerConfig.tracked_families).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from fabric.controlplane.bgp.actions import Change
from fabric.controlplane.bgp.rib import Selection
from fabric.controlplane.evpn import imports, learning
from fabric.controlplane.evpn.actions import Action
from fabric.controlplane.evpn.addresses import ip_packed
from fabric.controlplane.evpn.arp import VXLAN_PORT, ArpPacket, Decision, NdPacket, NdType, Operation, decide
from fabric.controlplane.evpn.config import VniConfig, VrfConfig, VtepConfig, check, vni_problems
from fabric.controlplane.evpn.edits import Edits
from fabric.controlplane.evpn.evpn_nlri import EvpnKey, key_of
from fabric.controlplane.evpn.mac import MacKind, NeighborKind
from fabric.controlplane.evpn.rd import AUTO_RD_FIRST_INDEX, auto_rd, rd_packed
from fabric.controlplane.evpn.remote import Reader, RemotePath
from fabric.controlplane.evpn.targets import ImportTarget, auto_target, import_target, masked, target_packed
from fabric.controlplane.evpn.vni import Identity, L3Part, VniTable, make_table
from fabric.controlplane.evpn.vrf import TenantLookup, VrfTable
from fabric.errors import InputErrors, Problem


class Host(NamedTuple):
    """A host at an access port."""

    vni: int
    mac: str
    ip: str
    """'' for a frame other than ARP."""
    port: str
    sticky: bool = False
    """Configured on the port, not learned: never moves (RFC 7432 section 15.2)."""


class _Timer(IntEnum):
    """Kinds of timers."""

    MAC_AGE = 0
    NEIGHBOR_AGE = 1
    UNFREEZE = 2


@dataclass(slots=True)
class _Importers:
    """VNIs and VRFs that import a route with a given set of targets."""

    vnis: tuple[VniTable, ...]
    vrfs: tuple[VrfTable, ...]


@dataclass(slots=True)
class _Imports:
    """Import targets of a switch, exact and with any AS, and a cache of lookups."""

    exact: dict[bytes, list[VniTable | VrfTable]] = field(default_factory=dict)
    any_asn: dict[bytes, list[VniTable | VrfTable]] = field(default_factory=dict)
    found: dict[tuple[bytes, ...], _Importers] = field(default_factory=dict)

    def add(self, table: VniTable | VrfTable) -> None:
        for wanted in table.identity.imports:
            (self.any_asn if wanted.any_asn else self.exact).setdefault(wanted.form(wanted.target), []).append(table)

    def wanted(self, targets: tuple[bytes, ...]) -> _Importers:
        """Tables that import a route with these targets."""
        known = self.found.get(targets)
        if known is None:
            tables: dict[VniTable | VrfTable, None] = {}
            for target in targets:
                tables.update(dict.fromkeys(self.exact.get(target, ())))
                tables.update(dict.fromkeys(self.any_asn.get(masked(target), ())))
            known = self.found[targets] = _Importers(
                tuple(table for table in tables if isinstance(table, VniTable)),
                tuple(table for table in tables if isinstance(table, VrfTable)),
            )
        return known


class Vtep:
    """One switch's overlay. See the module's docstring. Raises InputErrors for an invalid configuration."""

    def __init__(self, config: VtepConfig) -> None:
        check(config)
        self.config = config
        self.address: Final = ip_packed(config.address)
        self.vnis: Final[dict[int, VniTable]] = {}
        """VNI -> table, in the order of configuration. For reading."""
        self.vrfs: Final[dict[str, VrfTable]] = {}
        """Tenant -> table. For reading."""
        self.port_vni: Final[dict[str, int]] = {}
        """Access port -> VNI. For reading."""
        self._targets = _Imports()
        self._read = Reader(self.address)
        self._timers: list[tuple[int, int, _Timer, int, str]] = []
        self._due: dict[tuple[_Timer, int, str], int] = {}
        self._order = 0
        for vrf in config.vrfs:
            self.vrfs[vrf.name] = VrfTable(vrf, Identity(b"", 0, (), ()), config.router_mac)
        for vni in config.vnis:
            self._add_table(vni)
        for name, table in self.vrfs.items():  # FRR numbers VNIs first; a VRF gets its number with its L3 VNI
            table.identity = self._identity(table.config, table.config.l3_vni)
            for subnet in self.vnis.values():
                if subnet.config.tenant == name:
                    subnet.l3 = self._l3_part(name)
        self._find_targets()

    # -- start and configuration ----------------------------------------------------------------------------------

    def start(self, now_ns: int) -> list[Action]:
        """Announce the routes that need no host: flood membership, gateways, tenants' prefixes."""
        edits = self._edits()
        for table in self.vnis.values():
            self._announce_vni(table, edits)
        for vrf in self.vrfs.values():
            for key, announcement in vrf.own_routes():
                edits.announce(key, announcement)
        del now_ns
        return edits.actions()

    def add_vni(
        self, config: VniConfig, now_ns: int, loc_rib: Iterable[tuple[Sequence[bytes], Selection]] = ()
    ) -> list[Action]:
        """Add a VNI, and import the routes for it from the speaker's EVPN Loc-RIB.

        Raises InputErrors for an invalid VNI.
        """
        problems = list(vni_problems(config))
        if config.vni in self.vnis or any(vrf.config.l3_vni == config.vni for vrf in self.vrfs.values()):
            problems.append(Problem(f"vnis.{config.vni}", "exists already", "remove it first"))
        problems += [
            Problem(f"vnis.{config.vni}", f"port {port} is in VNI {self.port_vni[port]}", "remove it there")
            for port in config.ports
            if port in self.port_vni
        ]
        if problems:
            raise InputErrors(f"overlay of {self.config.hostname}", problems)
        table = self._add_table(config)
        table.l3 = self._l3_part(config.tenant)
        self._find_targets()
        edits = self._edits()
        self._announce_vni(table, edits)
        if table.gateway is not None and config.tenant in self.vrfs:
            for key, announcement in self.vrfs[config.tenant].own_routes():
                edits.announce(key, announcement)
        self._import([Change(tuple(keys), None, selection) for keys, selection in loc_rib], now_ns, edits, only=table)
        return edits.actions()

    def remove_vni(self, vni: int, now_ns: int) -> list[Action]:
        """Remove a VNI: withdraw its routes and clear its entries. Raises KeyError if there is none."""
        table = self.vnis.pop(vni)
        edits = self._edits()
        for key in table.own_routes():
            edits.withdraw(key)
        for port in table.ports:
            del self.port_vni[port]
        vrf = self.vrfs.get(table.config.tenant)
        if vrf is not None:
            before = [key for key, _ in vrf.own_routes()]
            vrf.subnets.remove(table)
            kept = {key for key, _ in vrf.own_routes()}
            for key in before:
                if key not in kept:
                    edits.withdraw(key)
        edits.macs.update(dict.fromkeys((table, mac) for mac in table.macs))
        edits.neighbors.update({(table, ip): entry.mac for ip, entry in table.neighbors.items()})
        if table.multicast:
            edits.floods[table] = None
        for content in (table.macs, table.neighbors, table.imports, table.claims, table.multicast, table.ports):
            content.clear()
        self._find_targets()
        del now_ns
        return edits.actions()

    def attach(self, vni: int, port: str) -> None:
        """Add a port to a VNI. Raises KeyError for an unknown VNI, ValueError for a port of another VNI."""
        if self.port_vni.get(port, vni) != vni:
            raise ValueError(f"port {port} of {self.config.hostname} is in VNI {self.port_vni[port]}")
        self.vnis[vni].ports[port] = None
        self.port_vni[port] = vni

    def detach(self, port: str, now_ns: int) -> list[Action]:
        """Remove a port from its VNI, with its MACs. Raises KeyError for a port that is not an access port."""
        actions = self.port_down(port, now_ns)
        del self.vnis[self.port_vni.pop(port)].ports[port]
        return actions

    def port_down(self, port: str, now_ns: int) -> list[Action]:
        """An access port lost carrier: the bridge flushes the MACs learned there. Raises KeyError as detach()."""
        table, edits = self.vnis[self.port_vni[port]], self._edits()
        gone = [mac for mac, entry in table.macs.items() if entry.kind is MacKind.LOCAL and entry.port == port]
        for mac in gone:
            learning.forget_mac(table, mac, now_ns, edits, self.config.duplicates)
        return edits.actions()

    def set_connected(self, tenant: str, prefix: str, *, up: bool) -> list[Action]:
        """The interface of a tenant's configured prefix goes up or down: announce or withdraw its Type-5 route.

        zebra removes the subnet of an interface without carrier from its table, and bgpd announces zebra's table.
        Raises KeyError for an unknown VRF.
        """
        table, edits = self.vrfs[tenant], self._edits()
        before = dict(table.own_routes())
        if up:
            table.connected[prefix] = None
        else:
            table.connected.pop(prefix, None)
        after = dict(table.own_routes())
        for key in before.keys() - after.keys():
            edits.withdraw(key)
        for key in after.keys() - before.keys():
            edits.announce(key, after[key])
        return edits.actions()

    def set_suppression(self, vni: int, *, on: bool) -> None:
        """Turn ARP/ND suppression of a VNI on or off. Raises KeyError for an unknown VNI."""
        self.vnis[vni].suppression = on

    # -- local ports ------------------------------------------------------------------------------------------------

    def host_seen(self, vni: int, mac: str, ip: str, port: str, now_ns: int, *, sticky: bool = False) -> list[Action]:
        """A host's gratuitous ARP at a port (`ip` '': any other frame). Raises as attach()."""
        return self.hosts_seen((Host(vni, mac, ip, port, sticky),), now_ns)

    def hosts_seen(self, hosts: Iterable[Host], now_ns: int) -> list[Action]:
        """Gratuitous ARPs of many hosts. Addresses must be canonical text."""
        edits = self._edits()
        for host in hosts:
            if self.port_vni.get(host.port) != host.vni:
                self.attach(host.vni, host.port)
            self._learn(self.vnis[host.vni], host, now_ns, edits)
        return edits.actions()

    def host_gone(self, vni: int, mac: str, now_ns: int) -> list[Action]:
        """Remove a local MAC, as if its port were deleted; its bindings stay, inactive."""
        edits = self._edits()
        learning.forget_mac(self.vnis[vni], mac, now_ns, edits, self.config.duplicates)
        return edits.actions()

    def neighbor_gone(self, vni: int, ip: str, now_ns: int) -> list[Action]:
        """A local binding is cleared: `ip neighbour del`, or the kernel's garbage collection."""
        edits = self._edits()
        learning.forget_binding(self.vnis[vni], ip, now_ns, edits, self.config.duplicates)
        return edits.actions()

    def arp(self, vni: int, packet: ArpPacket | NdPacket, port: str, now_ns: int) -> tuple[Decision, list[Action]]:
        """An ARP or ND packet at an access port, or (VXLAN_PORT) from a tunnel: its treatment, and what was learned."""
        table, edits = self.vnis[vni], self._edits()
        sender = packet.sender_mac if isinstance(packet, ArpPacket) else packet.ethernet_source
        if port != VXLAN_PORT:  # remote MACs are learned by BGP: the VXLAN port does not learn
            self._learn(table, Host(vni, sender, "", port), now_ns, edits)
        decision = decide(table, packet, port, proxy_unicast=self.config.proxy_unicast_requests)
        ip = _learned_address(packet, any_packet=self.config.learn == "any")
        if ip:
            router = isinstance(packet, NdPacket) and packet.router
            self._learn_binding(table, ip, sender, now_ns, edits, router=router)
        return decision, edits.actions()

    def clear_duplicate(self, vni: int, mac: str, now_ns: int) -> list[Action]:
        """FRR's `clear evpn dup-addr vni N mac M`."""
        edits = self._edits()
        learning.unfreeze(self.vnis[vni], mac, now_ns, edits, self.config.duplicates)
        return edits.actions()

    # -- received routes --------------------------------------------------------------------------------------------

    def routes_changed(self, changes: Iterable[Change], now_ns: int) -> list[Action]:
        """Import changed selections of this switch's speaker, of family EVPN."""
        edits = self._edits()
        self._import(changes, now_ns, edits)
        return edits.actions()

    def lookup(self, tenant: str, address: str) -> TenantLookup:
        """Route lookup for an address. Raises KeyError for an unknown VRF, ValueError for a malformed address."""
        return self.vrfs[tenant].lookup(address)

    # -- time -------------------------------------------------------------------------------------------------------

    def next_deadline_ns(self) -> int | None:
        """Time of the next tick(); None: none."""
        return self._timers[0][0] if self._timers else None

    def tick(self, now_ns: int) -> list[Action]:
        """Age MACs and bindings, unfreeze frozen MACs."""
        edits = self._edits()
        while self._timers and self._timers[0][0] <= now_ns:
            due_ns, _, timer, vni, name = heapq.heappop(self._timers)
            table = self.vnis.get(vni)
            if self._due.get((timer, vni, name)) != due_ns:
                continue  # set again meanwhile
            del self._due[timer, vni, name]
            if table is None:
                continue
            if timer is _Timer.MAC_AGE:
                self._age_mac(table, name, due_ns, now_ns, edits)
            elif timer is _Timer.NEIGHBOR_AGE:
                self._age_neighbor(table, name, due_ns, now_ns, edits)
            else:
                learning.unfreeze(table, name, now_ns, edits, self.config.duplicates)
        return edits.actions()

    # -- internal ---------------------------------------------------------------------------------------------------

    def _edits(self) -> Edits:
        return Edits(self.address)

    def _learn(self, table: VniTable, host: Host, now_ns: int, edits: Edits) -> None:
        entry = table.macs.get(host.mac)
        fresh = entry is None or entry.kind is not MacKind.LOCAL
        alarms = len(edits.alarms)
        learned = learning.learn_mac(
            table, host.mac, host.port, now_ns, edits, self.config.duplicates, sticky=host.sticky
        )
        if fresh and learned and self.config.ageing_ns is not None and not host.sticky:
            self._at(now_ns + self.config.ageing_ns, _Timer.MAC_AGE, table, host.mac)
        if len(edits.alarms) > alarms:
            self._freeze(table, host.mac, now_ns)
        if host.ip:
            self._learn_binding(table, host.ip, host.mac, now_ns, edits)

    def _learn_binding(
        self, table: VniTable, ip: str, mac: str, now_ns: int, edits: Edits, *, router: bool = False
    ) -> None:
        known = table.neighbors.get(ip)
        fresh = known is None or known.kind is not NeighborKind.LOCAL
        learned = learning.learn_binding(table, ip, mac, now_ns, edits, router=router)
        if fresh and learned and self.config.neighbor_timeout_ns is not None:
            self._at(now_ns + self.config.neighbor_timeout_ns, _Timer.NEIGHBOR_AGE, table, ip)

    def _freeze(self, table: VniTable, mac: str, now_ns: int) -> None:
        duplicates = self.config.duplicates
        if duplicates.freeze and duplicates.freeze_ns:
            self._at(now_ns + duplicates.freeze_ns, _Timer.UNFREEZE, table, mac)

    def _age_mac(self, table: VniTable, mac: str, due_ns: int, now_ns: int, edits: Edits) -> None:
        entry, ageing_ns = table.macs.get(mac), self.config.ageing_ns
        if entry is None or entry.kind is not MacKind.LOCAL or entry.sticky or ageing_ns is None:
            return
        if entry.seen_ns + ageing_ns > due_ns:
            self._at(entry.seen_ns + ageing_ns, _Timer.MAC_AGE, table, mac)
        else:
            learning.forget_mac(table, mac, now_ns, edits, self.config.duplicates)

    def _age_neighbor(self, table: VniTable, ip: str, due_ns: int, now_ns: int, edits: Edits) -> None:
        entry, timeout_ns = table.neighbors.get(ip), self.config.neighbor_timeout_ns
        if entry is None or entry.kind is not NeighborKind.LOCAL or timeout_ns is None:
            return
        if entry.seen_ns + timeout_ns > due_ns:
            self._at(entry.seen_ns + timeout_ns, _Timer.NEIGHBOR_AGE, table, ip)
        else:
            learning.forget_binding(table, ip, now_ns, edits, self.config.duplicates)

    def _at(self, due_ns: int, timer: _Timer, table: VniTable, name: str) -> None:
        self._order += 1  # equal deadlines in the order of setting
        self._due[timer, table.vni, name] = due_ns
        heapq.heappush(self._timers, (due_ns, self._order, timer, table.vni, name))

    def _import(self, changes: Iterable[Change], now_ns: int, edits: Edits, only: VniTable | None = None) -> None:
        duplicates = self.config.duplicates
        for change in changes:
            old = None if change.old is None else self._read(change.old.best)
            new = None if change.new is None else self._read(change.new.best)
            if old == new and only is None:
                continue  # the underlay path changed, the announcement did not
            keys = [key if type(key) is EvpnKey else key_of(key) for key in change.keys]
            before, after = self._wanted(old), self._wanted(new)
            for table in before.vnis:
                if table not in after.vnis:
                    imports.unimport_routes(table, keys, now_ns, edits, duplicates)
            for vrf in before.vrfs:
                if vrf not in after.vrfs:
                    vrf.remove_routes(keys, edits)
            if new is None:
                continue
            for table in after.vnis:
                if only is None or table is only:
                    alarms = len(edits.alarms)
                    imports.import_routes(table, keys, new, now_ns, edits, duplicates)
                    for alarm in edits.alarms[alarms:]:
                        self._freeze(table, alarm.mac, now_ns)
            for vrf in after.vrfs if only is None else ():
                vrf.add_routes(keys, new, edits)

    def _wanted(self, path: RemotePath | None) -> _Importers:
        return _NO_IMPORTERS if path is None else self._targets.wanted(path.facts.targets)

    def _announce_vni(self, table: VniTable, edits: Edits) -> None:
        edits.announce(*table.multicast_route())
        if table.gateway is not None and table.config.advertise_gateway:
            announcement = table.announcement(0, gateway=True)
            edits.announce(table.key(table.config.gateway_mac), announcement)
            edits.announce(table.key(table.config.gateway_mac, str(table.gateway.ip)), announcement)

    def _add_table(self, config: VniConfig) -> VniTable:
        table = make_table(config, self._identity(config, config.vni), self.config.address, None)
        self.vnis[config.vni] = table
        self.port_vni.update(dict.fromkeys(config.ports, config.vni))
        if config.tenant in self.vrfs:
            self.vrfs[config.tenant].subnets.append(table)
        return table

    def _identity(self, config: VniConfig | VrfConfig, vni: int) -> Identity:
        used = {table.identity.rd_index for table in self._tables()}
        index = 0 if config.rd else next(number for number in range(AUTO_RD_FIRST_INDEX, 1 << 16) if number not in used)
        derived = auto_target(self.config.asn, vni, self.config.rt_style)
        return Identity(
            rd_packed(config.rd) if config.rd else auto_rd(self.config.router_id, index),
            index,
            tuple(import_target(text) for text in config.import_targets) or (ImportTarget(derived, any_asn=True),),
            tuple(target_packed(text) for text in config.export_targets) or (derived,),
        )

    def _l3_part(self, tenant: str) -> L3Part | None:
        vrf = self.vrfs.get(tenant)
        return None if vrf is None else L3Part(vrf.config.l3_vni, vrf.identity.exports, self.config.router_mac)

    def _find_targets(self) -> None:
        self._targets = _Imports()
        for table in self._tables():
            self._targets.add(table)

    def _tables(self) -> list[VniTable | VrfTable]:
        return [*self.vnis.values(), *self.vrfs.values()]


_NO_IMPORTERS: Final = _Importers((), ())


def _learned_address(packet: ArpPacket | NdPacket, *, any_packet: bool) -> str:
    """The sender's address if the packet creates a binding; else '' (arp_accept, RFC 826, RFC 4861 section 7.2.3)."""
    if isinstance(packet, ArpPacket):
        is_arp = packet.operation in {Operation.REQUEST, Operation.REPLY}
        wanted = is_arp and (any_packet or packet.is_gratuitous) and not packet.sender_ip.startswith("0.")
        return packet.sender_ip if wanted else ""
    if packet.type is NdType.NEIGHBOR_ADVERTISEMENT:
        return packet.target_ip if any_packet or packet.is_gratuitous else ""
    return packet.source_ip if any_packet and packet.source_ip != "::" else ""

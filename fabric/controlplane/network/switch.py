"""One switch: a BGP speaker, a VTEP if it has hosts, and the forwarding tables that both produce.

It models zebra, bgpd and the bridge of an FRR router, without I/O: network.py calls it with bytes, events and times,
and executes the actions of its speaker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Final

from fabric.controlplane.bgp.actions import Action, Change
from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.cause import Cause
from fabric.controlplane.bgp.policy import Policy
from fabric.controlplane.bgp.rib import Selection
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.bgp.update import Memory
from fabric.controlplane.evpn.actions import Action as OverlayAction
from fabric.controlplane.evpn.actions import (
    DuplicateMac,
    FloodListChanged,
    MacsChanged,
    NeighborsChanged,
    Originate,
    StickyMacMoved,
    TenantRoutesChanged,
    Withdraw,
)
from fabric.controlplane.evpn.config import VniConfig, VrfConfig, VtepConfig
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.evpn.mac import MacKind
from fabric.controlplane.evpn.vni import VniTable
from fabric.controlplane.evpn.vtep import Host, Vtep
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig, Design
from fabric.controlplane.network.forwarding import Forwarding, Ports, prefix_key
from fabric.controlplane.network.plan import ControlPlan, Interface, Router
from fabric.controlplane.network.record import Recorder
from fabric.controlplane.network.speakers import (
    PolicyKey,
    address_text,
    changed_policies,
    configured_policies,
    families,
    peer_name,
    policy_of,
    prefer_clients,
    speaker_config,
)
from fabric.controlplane.network.tenants import EgressVteps, TenantEgress
from fabric.controlplane.network.transit import TransitView
from fabric.controlplane.network.transport import Transport

NEVER_NS: Final = 1 << 62
Install = Sequence[tuple[tuple[bytes, ...], Ports] | TenantRoutesChanged]
"""(prefixes, their ports), or prefixes of a tenant whose table has changed."""
ANYCAST_MAC: Final = "02:00:5e:00:01:01"
"""MAC of every gateway on every leaf (RFC 9135 section 4.1: the same everywhere); locally administered bit set."""


class Switch:
    """One router of a network."""

    def __init__(
        self,
        plan: ControlPlan,
        router: Router,
        config: ControlConfig,
        recorder: Recorder,
        memory: Memory,
        cause: Cause,
        jitter_key: int | None = None,
    ) -> None:
        self.plan = plan
        self.router = router
        self.row = router.row
        self.speaker: Speaker
        self.vtep: Vtep | None = None
        self.forwarding = Forwarding()
        self.links: dict[str, tuple[Transport, int]] = {}
        """Neighbour's name -> (connection, side of this switch)."""
        self.powered = False
        """Has power: its ports have light, and its kernel answers TCP."""
        self.hung = False
        """Has crashed, but its ports have light."""
        self.daemon_up = False
        """Its routing daemon runs."""
        self.incarnation = 0
        """Number of starts; scheduled calls of an earlier incarnation are void."""
        self.wake_ns = NEVER_NS
        """Time of the tick that network.py has scheduled."""
        self._config = config
        self._recorder = recorder
        self._memory = memory
        self._cause = cause
        self._jitter_key = jitter_key
        self._asns: dict[int, int] = {}
        self._policies: dict[PolicyKey, Policy] = configured_policies(config)
        self._port_of: dict[str, int] = {}
        self._interface_of: dict[str, str] = {}
        self._port_of_address: dict[bytes, int] = {}
        for row in router.interfaces:
            interface = plan.interfaces[row]
            self._port_of[self.name_of(interface)] = interface.port
            self._interface_of[self.name_of(interface)] = interface.name
            self._port_of_address[plan.interfaces[interface.peer].address.to_bytes(4, "big")] = interface.port
        self._data_port = {
            name: port for endpoint in plan.endpoints for row, name, port in endpoint.attachments if row == router.row
        }
        self._known: set[tuple[int, str]] | None = None
        self._transit = TransitView(plan) if plan.overlay and not router.vnis and not router.vrfs else None
        self._egress: TenantEgress | None = None
        self._down_ports: set[int] = set()
        """Data-plane ports without carrier now, whether hardware and daemon have noticed or not."""
        self._routed: dict[str, set[int]] = {}
        """Tenant -> data-plane ports in the subnet of its routed ports."""
        for host in plan.routed:
            if host.router == router.row:
                self._routed.setdefault(host.tenant, set()).add(host.port)
        self._local_networks = {prefix_key(*prefix): ports for prefix, ports in router.host_routes}
        for key, ports in self._local_networks.items():
            self.forwarding.connect(key, ports)

    def name_of(self, interface: Interface) -> str:
        """Name of the neighbour on one of its interfaces."""
        return peer_name(self.plan, interface, self._config)

    def interface_of(self, peer: str) -> str:
        """The interface of a neighbour."""
        return self._interface_of[peer]

    # ===== starting and stopping =====

    def boot(self, now_ns: int) -> list[Action]:
        """Start the daemon with empty tables."""
        in_tunnels = self._in_tunnels()
        self._forget(now_ns)
        self.powered = self.daemon_up = True
        self.incarnation += 1
        self.wake_ns = NEVER_NS
        self.speaker = Speaker(
            speaker_config(self.plan, self.router, self._config, self._policies, self._asns, self._jitter_key),
            self._memory,
            self._cause,
        )
        for name, (transport, _) in self.links.items():
            self.speaker.peers[name].reachable = transport.up
        self.vtep = Vtep(self._vtep_config()) if self.router.vnis or self.router.vrfs else None
        if self.vtep is not None:
            for vni, found in in_tunnels.items():
                self.vtep.vnis[vni].found_in_tunnel |= found
        actions = list(self.speaker.start(now_ns))
        lost = {key for key, ports in self._local_networks.items() if all(map(self.forwarding.is_down, ports))}
        keys = [key for key in (prefix_key(*prefix) for prefix in self.router.networks) if key not in lost]
        # Routes of `network` statements have MED 0, as in FRR.
        actions += self.speaker.originate(IPV4_UNICAST, keys, Attributes(med=0), now_ns)
        if self.vtep is not None:
            for tenant in [tenant for tenant, ports in self._routed.items() if ports <= self._down_ports]:
                self._connect(self.vtep, tenant, up=False)
            actions += self._overlay(self.vtep.start(now_ns), now_ns)
            for host, vteps in self._egress.update_all(self.vtep) if self._egress is not None else ():
                self._recorder.egress(now_ns, self.row, host, vteps)
        return actions

    def _in_tunnels(self) -> dict[int, dict[str, str]]:
        """MACs in the FDB of the VXLAN devices, which outlive a daemon but not a loss of power, with their VTEPs."""
        return {
            vni: {mac: it.vtep or it.left_in_tunnel for mac, it in table.macs.items() if it.vtep or it.left_in_tunnel}
            for vni, table in (self.vtep.vnis.items() if self.vtep is not None else ())
        }

    def _vtep_config(self) -> VtepConfig:
        address = address_text(self.router.loopback)
        return VtepConfig(
            hostname=self.router.name,
            asn=self._asns.get(self.row, self.router.asn),
            router_id=address_text(self.router.router_id),
            address=address,
            ageing_ns=None,
            vnis=tuple(
                VniConfig(
                    it.vni,
                    it.tenant,
                    suppression=it.suppress_arp,
                    ports=self._access_ports(it.vni),
                    import_targets=it.import_targets,
                    export_targets=it.export_targets,
                    gateway=it.gateway,
                    gateway_mac=ANYCAST_MAC if it.gateway else "",
                )
                for it in self.router.vnis
            ),
            vrfs=tuple(VrfConfig(it.name, it.l3_vni, prefixes=it.prefixes) for it in self.router.vrfs),
            router_mac=self.router.mac if self.router.vrfs else "",
        )

    def _access_ports(self, vni: int) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                name
                for endpoint in self.plan.endpoints
                if endpoint.vni == vni
                for row, name, _ in endpoint.attachments
                if row == self.row
            )
        )

    def stop_daemon(self) -> None:
        """The daemon is down; forwarding keeps its last state."""
        self.daemon_up = False
        self.incarnation += 1
        self.wake_ns = NEVER_NS

    @property
    def has_light(self) -> bool:
        """Whether its ports have light: cables to them have carrier unless they are cut."""
        return self.powered or self.hung

    def power_on(self) -> None:
        """The switch has power; its daemon does not run yet."""
        self.powered, self.hung = True, False

    def crash(self, now_ns: int, *, hung: bool) -> None:
        """The switch stops, with all of its tables; hung: its ports keep light."""
        self.stop_daemon()
        self.powered, self.hung = False, hung
        self._forget(now_ns)

    def _forget(self, now_ns: int) -> None:
        for key in self.forwarding.clear():
            self._recorder.route(now_ns, self.row, key, self.forwarding.ports(key))
        if self._transit is not None:
            for vni, mac in self._transit.clear():
                self._recorder.location(now_ns, self.row, vni, mac, None, -1)
        if self.vtep is not None:
            for vni, mac in sorted(self.locations()):
                self._recorder.location(now_ns, self.row, vni, mac, None, -1)
            for vni, ip in sorted(self._known or ()):
                self._recorder.binding(now_ns, self.row, vni, ip, known=False)
            self._known = None if self._known is None else set()
            for host in self._egress.clear() if self._egress is not None else ():
                self._recorder.egress(now_ns, self.row, host, ())
            self.vtep = None

    def renumber(self, asn: int | None) -> None:
        """Set the AS number of the next start; None: that of the plan."""
        self._asns = {} if asn is None else {self.row: asn}

    # ===== time =====

    def clear_wake(self) -> None:
        """The scheduled tick has arrived."""
        self.wake_ns = NEVER_NS

    def next_deadline_ns(self) -> int | None:
        """Time of the next tick(); None: none."""
        if not self.daemon_up:
            return None
        mine = self.speaker.next_deadline_ns()
        other = None if self.vtep is None else self.vtep.next_deadline_ns()
        return mine if other is None else other if mine is None else min(mine, other)

    def tick(self, now_ns: int) -> list[Action]:
        """Run the timers of speaker and VTEP."""
        if not self.daemon_up:
            return []
        actions = list(self.speaker.tick(now_ns))
        if self.vtep is not None and (due_ns := self.vtep.next_deadline_ns()) is not None and due_ns <= now_ns:
            self._cause.now = 0
            actions += self._overlay(self.vtep.tick(now_ns), now_ns)
        return actions

    # ===== routes =====

    def take_routes(self, family: AddressFamily, changes: Iterable[Change], now_ns: int) -> Install:
        """Selected routes changed; returns the routes to install."""
        if family is IPV4_UNICAST:
            return [(it.keys, self._ports(it.new)) for it in changes]
        if self._transit is not None:
            for it in changes:
                for (vni, mac), vtep in self._transit.apply(it):
                    self._recorder.location(now_ns, self.row, vni, mac, vtep, -1)
        return ()

    def import_routes(self, changes: Iterable[Change], now_ns: int) -> list[Action]:
        """The VTEP and its tenant tables import received routes; returns the actions of the speaker that follow."""
        if self.vtep is None:
            return []
        actions = self.vtep.routes_changed(changes, now_ns)
        self.install([action for action in actions if isinstance(action, TenantRoutesChanged)], now_ns)
        return self._overlay(actions, now_ns)

    def _ports(self, selection: Selection | None) -> Ports:
        if selection is None or selection.best.source.local:
            return ()  # originated routes are connected
        # A next hop is the neighbour's address on a cable (next hop self), or link-local and identified by the session.
        return tuple(
            sorted(
                {
                    self._port_of_address.get(path.next_hop, self._port_of[path.source.name])
                    for path in selection.multipath
                }
            )
        )

    def install(self, routes: Install, now_ns: int) -> None:
        """Install decided routes in forwarding hardware."""
        for route in routes:
            if isinstance(route, TenantRoutesChanged):
                if self._egress is not None:
                    self._update_egress(route.tenant, self._egress.addresses(route.tenant, route.prefixes), now_ns)
                continue
            keys, ports = route
            for key in keys:
                if self.forwarding.install(key, ports):
                    self._recorder.route(now_ns, self.row, key, self.forwarding.ports(key))

    def note_carrier(self, port: int, *, up: bool) -> None:
        """A port gains or loses carrier. No effect before carrier() and host_carrier()."""
        (self._down_ports.discard if up else self._down_ports.add)(port)

    def carrier(self, port: int, now_ns: int, *, up: bool) -> None:
        """Hardware has noticed a change of carrier; forwarding changes at once."""
        for key in self.forwarding.carrier(port, up=up):
            self._recorder.route(now_ns, self.row, key, self.forwarding.ports(key))
        for tenant, address in self._egress.at_port(port) if self._egress is not None else ():
            self._update_egress(tenant, (address,), now_ns)

    def survives_carrier_loss(self, peer: str) -> bool:
        """Whether a session survives loss of carrier, and ends by its hold timer or BFD. As in FRR: fast external
        fallover (`bgp fast-external-failover`) covers eBGP, and an unnumbered neighbour is lost with its interface.
        """
        neighbor = self.speaker.peers[peer].neighbor if self.daemon_up else None
        return neighbor is not None and not neighbor.by_interface and self._config.design is Design.IBGP_RR

    def link_carrier(self, peer: str, now_ns: int, *, up: bool) -> list[Action]:
        """The daemon notices carrier of a cable: sessions over it, and next hops in its subnet, change."""
        if not self.survives_carrier_loss(peer):
            return (self.speaker.link_up if up else self.speaker.link_down)(peer, now_ns)
        interface = next(
            it for it in map(self.plan.interfaces.__getitem__, self.router.interfaces) if self.name_of(it) == peer
        )
        subnet = f"{address_text(interface.address & ~1)}/{interface.prefix_len}"
        actions = self.speaker.interior_routes({subnet: 0 if up else None}, now_ns)
        return actions + (self.speaker.link_up if up else self.speaker.path_lost)(peer, now_ns)

    def host_carrier(self, port: int, now_ns: int, *, up: bool) -> list[Action]:
        """The daemon notices carrier of a port to a host. Host routes and MACs learned at the port follow, and the
        subnet of routed ports follows the last of these ports.
        """
        actions: list[Action] = []
        for key in (key for key, ports in self._local_networks.items() if port in ports):
            if up:
                actions += self.speaker.originate(IPV4_UNICAST, [key], Attributes(med=0), now_ns)
            elif all(other == port or self.forwarding.is_down(other) for other in self._local_networks[key]):
                actions += self.speaker.withdraw(IPV4_UNICAST, [key], now_ns)
        if not up and self.vtep is not None:
            names = [name for name, row in self._data_port.items() if row == port]
            for name in names:
                actions += self._overlay(self.vtep.port_down(name, now_ns), now_ns)
        for tenant, ports in self._routed.items():
            if self.vtep is not None and port in ports and (up or ports <= self._down_ports):
                actions += self._overlay(self._connect(self.vtep, tenant, up=up), now_ns)
        return actions

    def _connect(self, vtep: Vtep, tenant: str, *, up: bool) -> list[OverlayAction]:
        """The subnet of a tenant's routed ports goes up or down."""
        [vrf] = [vrf for vrf in self.router.vrfs if vrf.name == tenant]
        return [action for prefix in vrf.prefixes for action in vtep.set_connected(tenant, prefix, up=up)]

    def set_policy(
        self,
        peer: str | None,
        direction: str,
        policy: Policy | None,
        now_ns: int,
        others: Sequence[tuple[str | None, Policy]] = (),
    ) -> list[Action]:
        """Change a policy without closing sessions; None: the configured one, then `others`."""
        self._policies = changed_policies(
            self._config, self._policies, self.router.name, (peer, direction), policy, others
        )
        if not self.daemon_up:
            return []
        actions: list[Action] = []
        for row in self.router.interfaces:
            if peer is None or self.plan.peer(row).name == peer:
                client = self.plan.is_client(self.router, self.plan.peer(row))
                mine = policy_of(self._policies, self.router.name, self.plan.peer(row).name, direction)
                chosen = prefer_clients(mine) if client and direction == "import" else mine
                for family in families(self.plan):
                    actions += self.speaker.set_policy(
                        self.name_of(self.plan.interfaces[row]), family, now_ns, **{f"{direction}_policy": chosen}
                    )
        return actions

    # ===== overlay =====

    def hosts_seen(self, events: Sequence[e.HostSeen], now_ns: int) -> list[Action]:
        """Frames of endpoints arrived at ports."""
        if self.vtep is None or not self.daemon_up:
            return []
        for event in events:
            self._data_port[event.port] = event.data_port
        return self._overlay(
            self.vtep.hosts_seen([Host(it.vni, it.mac, it.ip if it.arp else "", it.port) for it in events], now_ns),
            now_ns,
        )

    def host_gone(self, event: e.HostGone, now_ns: int) -> list[Action]:
        """An endpoint left."""
        if self.vtep is None or not self.daemon_up:
            return []
        return self._overlay(self.vtep.host_gone(event.vni, event.mac, now_ns), now_ns)

    def _overlay(self, actions: Iterable[OverlayAction], now_ns: int) -> list[Action]:
        requests: list[Action] = []
        for action in actions:
            if isinstance(action, Originate):
                requests += self.speaker.originate(
                    EVPN, action.keys, action.attributes, now_ns, next_hop=action.next_hop, payload=action.payload
                )
            elif isinstance(action, Withdraw):
                requests += self.speaker.withdraw(EVPN, action.keys, now_ns)
            elif isinstance(action, MacsChanged):
                self._relocate(action, now_ns)
            elif isinstance(action, FloodListChanged):
                self._recorder.flood(now_ns, self.row, action.vni, self._routers(action.vteps))
            elif isinstance(action, NeighborsChanged):
                self._learn_bindings(action.vni, [ip for ip, _ in action.bindings], now_ns)
                self._update_egress_of(action.vni, [ip for ip, _ in action.bindings], now_ns)
            elif isinstance(action, DuplicateMac):
                self._recorder.alarm(
                    now_ns,
                    self.row,
                    action.vni,
                    action.mac,
                    f"moved {action.moves} times" + (", frozen" if action.frozen else ""),
                )
            elif isinstance(action, StickyMacMoved):
                self._recorder.alarm(
                    now_ns,
                    self.row,
                    action.vni,
                    action.mac,
                    f"is sticky at {action.vtep} and was seen at {action.port}",
                )
        return requests

    def _relocate(self, change: MacsChanged, now_ns: int) -> None:
        vtep, port = None, -1
        if change.kind is MacKind.LOCAL:
            vtep, port = self.row, self._data_port.get(change.port, -1)
        elif change.kind is MacKind.REMOTE:
            [vtep] = self._routers((change.vtep,))
        if self._known is not None and self.vtep is not None:
            macs = set(change.macs)
            self._learn_bindings(
                change.vni,
                [ip for ip, entry in self.vtep.vnis[change.vni].neighbors.items() if entry.mac in macs],
                now_ns,
            )
        if self._egress is not None and self.vtep is not None and self._egress.tenant_of(change.vni) is not None:
            macs = set(change.macs)
            self._update_egress_of(
                change.vni,
                [ip for ip, entry in self.vtep.vnis[change.vni].neighbors.items() if entry.mac in macs],
                now_ns,
            )
        for mac in change.macs:
            self._recorder.location(now_ns, self.row, change.vni, mac, vtep, port)

    def _update_egress_of(self, vni: int, addresses: Iterable[str], now_ns: int) -> None:
        """Local learning or a move changed addresses of a VNI: the kernel's neighbour table follows at once."""
        tenant = None if self._egress is None else self._egress.tenant_of(vni)
        if tenant is not None:
            self._update_egress(tenant, addresses, now_ns)

    def _update_egress(self, tenant: str, addresses: Iterable[str], now_ns: int) -> None:
        if self._egress is not None and self.vtep is not None:
            for host, vteps in self._egress.update(self.vtep, tenant, addresses):
                self._recorder.egress(now_ns, self.row, host, vteps)

    def _routers(self, vteps: Iterable[str]) -> tuple[int, ...]:
        return tuple(self.plan.by_loopback[int(IPv4Address(vtep))].row for vtep in vteps)

    # ===== queries =====

    def routes(self) -> Mapping[bytes, Ports]:
        """Prefix -> ports, now."""
        return {key: self.forwarding.ports(key) for key in sorted(self.forwarding.keys())}

    def locations(self) -> dict[tuple[int, str], tuple[int, int]]:
        """(VNI, MAC) -> (router of the VTEP, local data-plane port or -1), now."""
        if self._transit is not None:
            return {place: (vtep, -1) for place, vtep in self._transit.now.items()}
        found: dict[tuple[int, str], tuple[int, int]] = {}
        for vni, table in self.vtep.vnis.items() if self.vtep is not None else ():
            for mac, entry in table.macs.items():
                if entry.kind is MacKind.LOCAL:
                    found[vni, mac] = self.row, self._data_port.get(entry.port, -1)
                elif entry.kind is MacKind.REMOTE:
                    found[vni, mac] = self._routers((entry.vtep,))[0], -1
        return found

    def bindings(self) -> frozenset[tuple[int, str]]:
        """(VNI, IP) of bindings by which its VTEP answers ARP, now; later changes are recorded."""
        self._known = {
            (vni, ip)
            for vni, table in (self.vtep.vnis.items() if self.vtep is not None else ())
            for ip in table.neighbors
            if _answers(table, ip)
        }
        return frozenset(self._known)

    def egresses(self) -> dict[int, EgressVteps]:
        """Host (row in the data plane) -> egress VTEPs of packets routed to it, now; later changes are recorded."""
        if self.router.vrfs and self._egress is None:
            self._egress = TenantEgress(self.plan, self.router, self.forwarding.is_down)
            if self.vtep is not None:
                for _ in self._egress.update_all(self.vtep):
                    pass
        return {} if self._egress is None else dict(self._egress.now)

    def _learn_bindings(self, vni: int, ips: Iterable[str], now_ns: int) -> None:
        if self._known is None or self.vtep is None:
            return
        table = self.vtep.vnis[vni]
        for ip in ips:
            known = _answers(table, ip)
            if known != ((vni, ip) in self._known):
                (self._known.add if known else self._known.discard)((vni, ip))
                self._recorder.binding(now_ns, self.row, vni, ip, known=known)

    def floods(self) -> dict[int, tuple[int, ...]]:
        """VNI -> routers to which broadcast is replicated, now."""
        return {
            vni: self._routers(table.flood_vteps())
            for vni, table in (self.vtep.vnis.items() if self.vtep is not None else ())
        }


def _answers(table: VniTable, ip: str) -> bool:
    """Whether suppression answers for the address: a valid binding with a known MAC (br_do_proxy_suppress_arp)."""
    entry = table.neighbors.get(ip)
    return entry is not None and entry.active and table.where(entry.mac) is not None

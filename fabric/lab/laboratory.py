"""A whole fabric in real kernels: a namespace per switch and host, FRR in each switch, VXLAN in each leaf.

    with Laboratory(plan, config, "name") as lab:
        lab.up()                    namespaces, cables, daemons, gratuitous ARP of every host
        lab.happen(event)           a dated event of the control plane, now
        lab.daemons["leaf1"].show("show bgp summary json")

Behind the context everything is gone: daemons, namespaces, files. `keep()` leaves it to another process to `adopt()`.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Self

from fabric.capture.overlay import arp_frame
from fabric.control import events as e
from fabric.control.config import ControlConfig
from fabric.control.plan import ControlPlan, Endpoint, Interface, Router, VniPlan
from fabric.control.speakers import PolicyKey, address_text, changed_policies, speaker_config
from fabric.errors import FabricError
from fabric.lab import blueprint
from fabric.lab.frr import BFDD, PROGRAMS, Daemons
from fabric.lab.netns import Namespace, Namespaces, require
from fabric.lab.routemaps import RouteMaps
from fabric.lab.silence import hear, silence
from fabric.overlay.arp import ArpPacket, Operation
from fabric.overlay.config import VniConfig
from fabric.overlay.evpn_nlri import EVPN
from fabric.routing.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.routing.bgp.policy import Policy

RUN: Final = Path("/run/fabric-lab")
AGEING_CS: Final = 10_000_000
"""Of bridges: hosts here say nothing for long, and must not be forgotten meanwhile (the model's VTEPs do not age)."""
_NEIGHBOR_AGE_S: Final = 86_400
_PORT_S: Final = 5.0
_BFD_S: Final = 10.0
_POLL_S: Final = 0.02
_NO_MAC: Final = "00:00:00:00:00:00"
_EUI64, _NO_ADDRESS = 0, 1
"""Linux's addr_gen_mode: where an interface's link-local address comes from."""


class Laboratory:
    """One fabric. Raises InputErrors where the plan or this machine does not allow one."""

    def __init__(self, plan: ControlPlan, config: ControlConfig, name: str) -> None:
        blueprint.check(plan, config)
        require((*PROGRAMS, "ip", "bridge", *((BFDD,) if config.bfd is not None else ())))
        self.plan = plan
        self.name = name
        self.folder = RUN / name
        self.daemons: dict[str, Daemons] = {}
        self.dead: set[str] = set()
        """Switches without daemons, of which nothing can be asked."""
        self._config = config
        self._spaces = Namespaces(f"fabric-{name}")
        self._attached: dict[tuple[int, str], str] = {}
        """(leaf, port) -> interface of the host behind it."""
        self._interfaces: dict[str, int] = {}
        """Host -> number of its newest interface."""
        self._kept = self._ours = False
        self._asns: dict[int, int] = {}
        """Row of a router -> the AS number it runs with, where that is not the plan's."""
        self._policies: dict[PolicyKey, Policy] = {
            (it.router, it.peer, it.direction): it.policy for it in config.policies}
        self._dark: set[tuple[int, str]] = set()
        """(leaf, port) to a host without carrier."""
        self._hung: set[int] = set()
        """Crashed routers whose ports keep carrier."""
        self._changes: dict[str, int] = {}
        """Switch -> how often its policies changed since its daemon started: names of route-maps are not used twice."""
        self._active = {(it.vni, it.mac): it.attachments[0][:2] for it in plan.endpoints}
        """(VNI, MAC) of the plan's hosts -> leaf and port at which the host last spoke."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours and not self._kept:
            self.down()

    def __getitem__(self, node: str) -> Namespace:
        return self._spaces[node]

    # -- up and down ------------------------------------------------------------------------------------------------

    def up(self) -> None:
        """Build and start everything; sessions are still to come up. Raises: FabricError."""
        if self.folder.exists():
            raise FabricError(f"the laboratory {self.name} runs already, or was not ended", "fabric lab down ends it")
        self.folder.mkdir(parents=True)
        self._ours = True
        for router in self.plan.routers:
            self._switch(self._spaces.add(router.name), router)
        for a, b in blueprint.interface_ends(self.plan):
            ends = [(self.plan.routers[it.router].name, it.name) for it in (a, b)]
            self._spaces.cable(*ends[0], *ends[1])
            for (node, interface), it in zip(ends, (a, b), strict=True):
                if self._config.unnumbered:
                    self._link_local(self[node], interface, it.mac)
                else:
                    self[node].address(interface, address_text(it.address), it.prefix_len)
        for endpoint in self.plan.endpoints:
            self._host(endpoint)
        for router in self.plan.routers:
            self.daemons[router.name] = Daemons(self[router.name], self.folder / router.name)
            self._start(router)
        for endpoint in self.plan.endpoints:
            row, port, _ = endpoint.attachments[0]
            self.announce(endpoint.mac, endpoint.ip, row, port)

    def _start(self, router: Router) -> None:
        bfd = self._config.bfd
        self.daemons[router.name].start(blueprint.zebra_config(router), self._bgpd_config(router),
                                        None if bfd is None else blueprint.bfdd_config(router, bfd))

    def _bgpd_config(self, router: Router) -> str:
        self._changes.pop(router.name, None)
        return blueprint.bgpd_config(self.plan, router, self._config, self._policies, self._asns)

    def down(self) -> None:
        """End the daemons, remove namespaces and files. Nothing happens to what is gone already."""
        for daemons in self.daemons.values():
            daemons.end()
        self.daemons.clear()
        self._spaces.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self) -> None:
        """Let everything run on behind the context."""
        self._kept = True
        self._spaces.keep()

    def adopt(self) -> Self:
        """Take over what an earlier process kept. Raises: FabricError where there is nothing."""
        if not self.folder.exists():
            raise FabricError(f"no laboratory {self.name} runs here", "fabric lab up starts it")
        self._spaces.adopt()
        self._kept = False
        self.daemons = {it.name: Daemons(self[it.name], self.folder / it.name) for it in self.plan.routers
                        if it.name in self._spaces.names()}
        return self

    # -- devices ----------------------------------------------------------------------------------------------------

    def _quiet(self, space: Namespace) -> None:
        """No IPv6: its own chatter would teach bridges what no host said."""
        for scope in ("all", "default"):
            space.sysctl(f"net/ipv6/conf/{scope}/disable_ipv6", 1)

    @staticmethod
    def _link_local(space: Namespace, interface: str, mac: str) -> None:
        """No address but the one that follows from the plan's MAC (RFC 4291 appendix A), and that at once."""
        space.down(interface)
        space.set(interface, address=mac)
        for key, value in (("accept_dad", 0), ("addr_gen_mode", _EUI64), ("disable_ipv6", 0)):
            space.sysctl(f"net/ipv6/conf/{interface}/{key}", value)
        space.up(interface)

    def _switch(self, space: Namespace, router: Router) -> None:
        self._quiet(space)
        for key, value in (("net/ipv4/ip_forward", 1), ("net/ipv4/conf/all/rp_filter", 0),
                           ("net/ipv4/conf/default/rp_filter", 0), ("net/ipv4/fib_multipath_hash_policy", 1)):
            space.sysctl(key, value)
        space.address("lo", address_text(router.loopback), 32)
        for vni in router.vnis:
            self._vni(space, vni, router)

    @staticmethod
    def _vni(space: Namespace, plan: VniPlan, router: Router) -> None:
        """A bridge that is VLAN-unaware, and one VXLAN device in it; BGP learns, the VXLAN port does not."""
        names = VniConfig(plan.vni)
        bridge, vxlan = names.bridge_name, names.vxlan_name
        # A MAC of its own: one that follows its ports changes with them, and the kernel forgets its neighbours then.
        mac = ":".join(f"{byte:02x}" for byte in b"\x02\xbe" + plan.vni.to_bytes(3, "big") + bytes([router.row & 255]))
        space.add(bridge, "bridge", address=mac, br_ageing_time=AGEING_CS, br_mcast_snooping=0)
        space.add(vxlan, "vxlan", vxlan_id=plan.vni, vxlan_local=address_text(router.loopback),
                  vxlan_port=blueprint.VXLAN_PORT, vxlan_learning=False, vxlan_tos=blueprint.VXLAN_TOS)
        space.set(vxlan, master=space.index(bridge))
        space.set_port(vxlan, learning=0, neigh_suppress=int(plan.suppress_arp))
        # A bridge without an address learns neighbours from gratuitous ARP only, and only if told to.
        space.sysctl(f"net/ipv4/conf/{bridge}/arp_accept", 1)
        space.sysctl(f"net/ipv4/neigh/{bridge}/gc_stale_time", _NEIGHBOR_AGE_S)
        space.up(vxlan)
        space.up(bridge)

    def _host(self, endpoint: Endpoint) -> None:
        self._quiet(self._spaces.add(endpoint.name))
        for row, port, _ in endpoint.attachments:
            self._attach(endpoint.name, endpoint.mac, endpoint.vni, row, port)
        subnet = blueprint.subnet_of([it for it in self.plan.endpoints if it.vni == endpoint.vni])
        self[endpoint.name].address("eth0", endpoint.ip, subnet.prefixlen)

    def _attach(self, host: str, mac: str, vni: int, row: int, port: str) -> None:
        """A cable from a host to a port of a leaf, in the bridge of a VNI."""
        leaf, space = self[self.plan.routers[row].name], self[host]
        number = self._interfaces[host] = self._interfaces.get(host, -1) + 1
        interface = f"eth{number}"
        leaf.add(port, "veth", peer={"ifname": interface, "net_ns_fd": space.name, "address": mac})
        leaf.set(port, master=leaf.index(VniConfig(vni).bridge_name))
        leaf.up(port)
        space.up(interface)
        self._until_forwarding(leaf, port)
        self._attached[row, port] = f"{host}:{interface}"

    @staticmethod
    def _until_forwarding(leaf: Namespace, port: str) -> None:
        """A bridge drops what comes in until it has heard of the port's carrier, up to a second after that is there."""
        until_s = time.monotonic() + _PORT_S
        while json.loads(leaf.run("bridge", "-j", "link", "show", "dev", port))[0]["state"] != "forwarding":
            if time.monotonic() > until_s:
                raise FabricError(f"{leaf.name}: port {port} does not forward after {_PORT_S:g} s")
            time.sleep(_POLL_S)

    def announce(self, mac: str, ip: str, row: int, port: str) -> None:
        """A gratuitous ARP request of the host behind a port of a leaf (RFC 5227 section 3)."""
        host, _, interface = self._attached[row, port].partition(":")
        frame = arp_frame(ArpPacket(Operation.REQUEST, mac, ip, _NO_MAC, ip))
        with self[host].inside(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            sock.bind((interface, 0))
            sock.send(frame)

    # -- events -----------------------------------------------------------------------------------------------------

    def happen(self, event: e.ControlEvent) -> None:
        """Let an event of the control plane happen now. Raises: FabricError where there is no way to do it here."""
        act = _ACTS.get(type(event))
        if act is None:
            raise FabricError(f"{type(event).__name__} has no counterpart in a laboratory",
                              f"known are {', '.join(sorted(it.__name__ for it in _ACTS))}")
        act(self, event)

    def _carrier(self, event: e.CableDown | e.CableUp) -> None:
        """As an operator at the cable's `a` end: the other end loses carrier."""
        self._set_carrier(self.plan.interfaces[self.plan.cables[event.cable].a], up=isinstance(event, e.CableUp))

    def _set_carrier(self, interface: Interface, *, up: bool) -> None:
        node = self.plan.routers[interface.router].name
        space = self[node]
        if not up:
            space.down(interface.name)
        elif self._config.unnumbered:
            self._up_address_last(space, node, interface.name)
        else:
            space.up(interface.name)

    def _ends(self, cable: int) -> Iterator[tuple[Namespace, str]]:
        for row in (self.plan.cables[cable].a, self.plan.cables[cable].b):
            interface = self.plan.interfaces[row]
            yield self[self.plan.routers[interface.router].name], interface.name

    def _until_watched(self, cable: int) -> None:
        """Wait until BFD is up at both ends of a cable, so that it is what finds out; a session can be younger."""
        ends = [self.plan.interfaces[row] for row in (self.plan.cables[cable].a, self.plan.cables[cable].b)]
        watching = [(self.plan.routers[it.router].name, it) for it in ends] if self._config.bfd is not None else []
        until_s = time.monotonic() + _BFD_S
        for node, interface in watching:
            far = address_text(self.plan.interfaces[interface.peer].address)
            while node not in self.dead and time.monotonic() < until_s:
                [peers] = self.daemons[node].show("show bfd peers json")
                if any(it["status"] == "up" for it in peers
                       if far == it["peer"] or (self._config.unnumbered and it.get("interface") == interface.name)):
                    break
                time.sleep(_POLL_S)

    def _silence(self, event: e.CableSilent) -> None:
        self._until_watched(event.cable)
        for space, interface in self._ends(event.cable):
            silence(space, interface)

    def _hear(self, event: e.CableHeard) -> None:
        for space, interface in self._ends(event.cable):
            hear(space, interface)

    def _up_address_last(self, space: Namespace, node: str, interface: str) -> None:
        """An interface that comes up is 'down' to zebra once more, until Linux has heard of the carrier. A bgpd (8.4)
        that learns of this, of the neighbour and of the own address in one turn stops the session last, and nothing
        starts one over an interface again. So there is no address before both daemons know that the interface is up.
        """
        key = f"net/ipv6/conf/{interface}/addr_gen_mode"
        space.sysctl(key, _NO_ADDRESS)
        space.up(interface)
        if node not in self.dead:
            self.daemons[node].until_up(interface)
        space.sysctl(key, _EUI64)

    def _seen(self, event: e.HostSeen) -> None:
        """Make before break: a new cable with the same MAC where there is none yet, the old one stays.

        MACs that are no host of the plan, as churn has them, speak from one station behind their port.
        """
        if (event.router, event.port) not in self._attached:
            known = self._host_of(event.mac, event.vni)
            host = known if known is not None else f"{self.plan.routers[event.router].name}-{event.port}"
            if known is None:
                self._quiet(self._spaces.add(host))
            self._attach(host, event.mac, event.vni, event.router, event.port)
        self._active[event.vni, event.mac] = (event.router, event.port)
        if event.arp:
            self.announce(event.mac, event.ip, event.router, event.port)

    def _gone(self, event: e.HostGone) -> None:
        leaf, host = self[self.plan.routers[event.router].name], self._host_of(event.mac, event.vni)
        if host is None:                           # others are behind its port, too
            for row, port in self._attached:
                if row == event.router:
                    leaf.run("bridge", "fdb", "del", event.mac, "dev", port, "master", check=False)
            return
        for (row, port), there in list(self._attached.items()):
            if row == event.router and there.startswith(f"{host}:"):
                leaf.delete(port)
                del self._attached[row, port]

    def _host_of(self, mac: str, vni: int) -> str | None:
        """The plan's host with a MAC in a VNI."""
        return next((it.name for it in self.plan.endpoints if (it.vni, it.mac) == (vni, mac)), None)

    def _host_port(self, event: e.HostPortDown | e.HostPortUp) -> None:
        """A leaf's port to a host loses or gains carrier; a bond then speaks on its next port."""
        leaf = self[self.plan.routers[event.router].name]
        up = isinstance(event, e.HostPortUp)
        for endpoint in self.plan.endpoints:
            for row, port, data_port in endpoint.attachments:
                if (row, data_port) != (event.router, event.data_port) or (row, port) not in self._attached:
                    continue
                (leaf.up if up else leaf.down)(port)
                key = (endpoint.vni, endpoint.mac)
                if up:
                    self._until_forwarding(leaf, port)
                    self._dark.discard((row, port))
                else:
                    self._dark.add((row, port))
                    ways = [at[:2] for at in endpoint.attachments if at[:2] not in self._dark]
                    if self._active.get(key) != (row, port) or not ways:
                        continue
                    self._active[key] = ways[0]
                    time.sleep(ControlConfig().bond_delay_ns / 1e9)      # of Linux, whatever a scenario says
                if self._active.get(key) not in {None, *self._dark} and (not up or self._active[key] == (row, port)):
                    self.announce(endpoint.mac, endpoint.ip, *self._active[key])

    def _router_bgp(self, router: Router) -> str:
        return f"router bgp {self._asns.get(router.row, router.asn)}"

    def _drain(self, event: e.Drain) -> None:
        router = self.plan.routers[event.router]
        self.daemons[router.name].configure(self._router_bgp(router),
                                            f"{'' if event.on else 'no '}bgp graceful-shutdown")

    def _shutdown(self, event: e.Shutdown) -> None:
        router = self.plan.routers[event.router]
        self.daemons[router.name].configure(self._router_bgp(router), "neighbor FABRIC shutdown")

    def _reconfigure(self, event: e.Reconfigure) -> None:
        """bgpd ends with a Cease and starts with another AS number."""
        router = self.plan.routers[event.router]
        self._asns = {row: asn for row, asn in self._asns.items() if row != event.router}
        if event.asn is not None:
            self._asns[event.router] = event.asn
        self.daemons[router.name].restart("bgpd", self._bgpd_config(router))

    def _set_policy(self, event: e.SetPolicy) -> None:
        """Route-maps with new names, attached to all neighbours: they hold at once."""
        router = self.plan.routers[event.router]
        number = self._changes.get(router.name, 0)
        before = list(self._attached_maps(router, RouteMaps(f"CHANGE{number}") if number else RouteMaps()))
        self._policies = changed_policies(
            self._config, self._policies, router.name, (self.plan.name_of(event.peer), event.direction), event.policy,
            [(self.plan.name_of(peer), policy) for peer, policy in event.others])
        self._changes[router.name] = number + 1
        maps = RouteMaps(f"CHANGE{number + 1}")
        after = list(self._attached_maps(router, maps))
        lines = []
        for family, title in ((IPV4_UNICAST, "ipv4 unicast"), (EVPN, "l2vpn evpn")):
            kept = {it[:3] for it in after}
            lines += [f"address-family {title}",
                      *(f"neighbor {name} route-map {its} {direction}" for name, of, direction, its in after
                        if of is family),
                      *(f"no neighbor {name} route-map {its} {direction}" for name, of, direction, its in before
                        if of is family and (name, of, direction) not in kept),
                      "exit-address-family"] if family is IPV4_UNICAST or self.plan.overlay else []
        self.daemons[router.name].configure(*maps.lines(), self._router_bgp(router), *lines)

    def _attached_maps(self, router: Router, maps: RouteMaps) -> Iterator[tuple[str, AddressFamily, str, str]]:
        return blueprint.attachments(speaker_config(self.plan, router, self._config, self._policies, self._asns), maps)

    def _crash(self, event: e.RouterCrash) -> None:
        """Daemons, routes and bridges are gone. Its ports lose carrier, or keep it and hear nothing."""
        router = self.plan.routers[event.router]
        space = self[router.name]
        for row in router.interfaces:
            if event.carrier:
                for there, interface in self._ends(self.plan.interfaces[row].cable):
                    silence(there, interface)
            else:
                space.down(self.plan.interfaces[row].name)
        self.daemons[router.name].end(number=signal.SIGKILL)
        self.dead.add(router.name)
        space.run("ip", "route", "flush", "proto", "bgp", check=False)
        for vni in router.vnis:
            names = VniConfig(vni.vni)
            space.delete(names.vxlan_name)
            space.delete(names.bridge_name)
        self._hung.discard(router.row)
        if event.carrier:
            self._hung.add(router.row)

    def _boot(self, event: e.RouterBoot) -> None:
        """With empty tables; its hosts speak when its ports forward."""
        router = self.plan.routers[event.router]
        space = self[router.name]
        for vni in router.vnis:
            self._vni(space, vni, router)
        for (row, port), there in self._attached.items():
            known = self._endpoint(there)
            if row == router.row and known is not None:
                space.set(port, master=space.index(VniConfig(known.vni).bridge_name))
                self._until_forwarding(space, port)
        for row in router.interfaces:
            if router.row in self._hung:
                for other, interface in self._ends(self.plan.interfaces[row].cable):
                    hear(other, interface)
            elif self.plan.peer(row).name not in self.dead or self.plan.peer(row).row in self._hung:
                self._set_carrier(self.plan.interfaces[row], up=True)
        self._hung.discard(router.row)
        self._daemons_start(e.DaemonStart(event.time_ns, event.router))

    def _endpoint(self, there: str) -> Endpoint | None:
        """The plan's host of an entry of `_attached`."""
        return next((it for it in self.plan.endpoints if it.name == there.partition(":")[0]), None)

    def _daemons_die(self, event: e.DaemonCrash) -> None:
        """Both, and at once: the kernel closes their connections and forwards on."""
        self.daemons[self.plan.routers[event.router].name].end(number=signal.SIGKILL)
        self.dead.add(self.plan.routers[event.router].name)

    def _daemons_start(self, event: e.DaemonStart) -> None:
        router = self.plan.routers[event.router]
        self._start(router)
        self.dead.discard(router.name)
        for (row, port), there in self._attached.items():
            known = self._endpoint(there)
            if row == router.row and known is not None and self._active.get((known.vni, known.mac)) == (row, port):
                self.announce(known.mac, known.ip, row, port)


_ACTS: Final[Mapping[type, Callable[..., None]]] = {
    e.CableDown: Laboratory._carrier, e.CableUp: Laboratory._carrier, e.HostSeen: Laboratory._seen,  # noqa: SLF001
    e.CableSilent: Laboratory._silence, e.CableHeard: Laboratory._hear, e.SetPolicy: Laboratory._set_policy,  # noqa: SLF001
    e.RouterCrash: Laboratory._crash, e.RouterBoot: Laboratory._boot, e.Reconfigure: Laboratory._reconfigure,  # noqa: SLF001
    e.HostPortDown: Laboratory._host_port, e.HostPortUp: Laboratory._host_port,  # noqa: SLF001
    e.HostGone: Laboratory._gone, e.Drain: Laboratory._drain, e.Shutdown: Laboratory._shutdown,  # noqa: SLF001
    e.DaemonCrash: Laboratory._daemons_die, e.DaemonStart: Laboratory._daemons_start,  # noqa: SLF001
}


def can_happen(event: e.ControlEvent) -> bool:
    """Whether a laboratory has a counterpart of an event."""
    return type(event) in _ACTS

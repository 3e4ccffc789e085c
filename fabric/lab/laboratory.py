"""A whole fabric in real kernels: a namespace per switch and host, FRR in each switch, VXLAN in each leaf.

    with Laboratory(plan, config, "name") as lab:
        lab.up()                    namespaces, cables, daemons, gratuitous ARP of every host
        lab.apply(event)            a dated event of the control plane, now
        lab.daemons["leaf1"].show("show bgp summary json")

The end of the context removes everything: daemons, namespaces, files. After `keep()` it continues to run; its record
(record.py, teardown.py) is then enough to end it, without a plan.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Self

from fabric.capture.overlay import arp_frame
from fabric.capture.process import FrameBuilder
from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.policy import Policy
from fabric.controlplane.evpn.arp import ArpPacket, Operation
from fabric.controlplane.evpn.config import VniConfig
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig
from fabric.controlplane.network.plan import ControlPlan, Endpoint, Router, VniPlan
from fabric.controlplane.network.speakers import PolicyKey, address_text, changed_policies, speaker_config
from fabric.errors import FabricError, InputErrors
from fabric.lab import blueprint, interrupts, names
from fabric.lab.cables import Cables
from fabric.lab.endpoints import endpoint_at, endpoint_of
from fabric.lab.frr import BFDD, PROGRAMS, Daemons
from fabric.lab.netns import Namespace, Namespaces, require
from fabric.lab.record import Kind, Record
from fabric.lab.routemaps import RouteMaps
from fabric.lab.silence import end_silence, silence
from fabric.lab.teardown import Removal, take_down

AGEING_CS: Final = 10_000_000
"""Ageing time of bridges: hosts here are silent for long, and must not age out (the model's VTEPs do not age)."""
_NEIGHBOR_AGE_S: Final = 86_400
_PORT_S: Final = 5.0
_BFD_S: Final = 10.0
_POLL_S: Final = 0.02
_NO_MAC: Final = "00:00:00:00:00:00"
_EUI64, _NO_ADDRESS = 0, 1
"""Linux's addr_gen_mode: source of an interface's link-local address."""


class Laboratory:
    """One fabric. Raises InputErrors if the plan or this machine does not allow it.

    Parameters
    ----------
    plan, config : ControlPlan, ControlConfig     the fabric
    name : str                                    of the laboratory: names.py
    scenario, source : str                        name and file of the scenario; default: the laboratory's name
    kind : Kind                                   purpose
    """

    def __init__(
        self,
        plan: ControlPlan,
        config: ControlConfig,
        name: str,
        *,
        scenario: str = "",
        source: str = "",
        kind: Kind = Kind.UP,
    ) -> None:
        blueprint.check(plan, config)
        problems = list(
            names.node_problems(name, [*(it.name for it in plan.routers), *(it.name for it in plan.endpoints)])
        )
        if problems:
            raise InputErrors("laboratory", problems)
        require((*PROGRAMS, "ip", "bridge", *((BFDD,) if config.bfd is not None else ())))
        self.plan = plan
        self.name = name
        self.folder = names.RUN / name
        self.daemons: dict[str, Daemons] = {}
        self.stopped: set[str] = set()
        """Switches whose daemons are stopped; they cannot be queried."""
        self.removal: Removal | None = None
        """What the end of the context removed; None if nothing was created, or all was kept."""
        self._about = (scenario or name, kind, source)
        self._config = config
        self._record: Record | None = None
        self._made: Namespaces | None = None
        self._frames = FrameBuilder()
        self._attached: dict[tuple[int, str], str] = {}
        """(leaf, port) -> interface of the host behind it."""
        self._vni_of: dict[tuple[int, str], int] = {}
        """(leaf, port) -> VNI of the bridge that the port is in."""
        self._churned: dict[tuple[int, str], e.HostSeen] = {}
        """(VNI, MAC) of hosts that are not the plan's, and present -> their last frame."""
        self._interfaces: dict[str, int] = {}
        """Host -> number of its newest interface."""
        self._asns: dict[int, int] = {}
        """Row of a router -> its present AS number, if it differs from the plan."""
        self._policies: dict[PolicyKey, Policy] = {
            (it.router, it.peer, it.direction): it.policy for it in config.policies
        }
        self._down_ports: set[tuple[int, str]] = set()
        """(leaf, port) to a host without carrier."""
        self._cables = Cables(plan)
        self._changes: dict[str, int] = {}
        """Switch -> number of policy changes since its daemon started: names of route-maps are not used twice."""
        self._active = {(it.vni, it.mac): it.attachments[0][:2] for it in plan.endpoints}
        """(VNI, MAC) of the plan's hosts -> leaf and port of the host's last frame."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.down()
        finally:
            self._frames.close()

    def __getitem__(self, node: str) -> Namespace:
        return self._spaces[node]

    @property
    def _spaces(self) -> Namespaces:
        if self._made is None:
            raise RuntimeError("call up() first: it creates the namespaces")
        return self._made

    # -- up and down ------------------------------------------------------------------------------------------------

    def up(self) -> None:
        """Build and start everything; sessions come up later. Raises: FabricError."""
        record = self._claimed()
        self._made = Namespaces(record)
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
            self.daemons[router.name] = Daemons(router.name, self[router.name], record)
            self._start(router)
        for endpoint in self.plan.endpoints:
            row, port, _ = endpoint.attachments[0]
            self.announce(endpoint.mac, endpoint.ip, row, port)
        record.complete()

    def _claimed(self) -> Record:
        """Create the record. One of an earlier boot is removed first: nothing of it can run."""
        scenario, kind, source = self._about
        try:
            before = Record.open(self.name)
            if before is not None and (before.content is None or before.head.stale):
                take_down(before)
            elif before is not None:
                before.release()
            with interrupts.held_back():
                self._record = Record.create(
                    self.name,
                    scenario,
                    kind,
                    source=source,
                    switches=[it.name for it in self.plan.routers],
                    hosts=[it.name for it in self.plan.endpoints],
                    daemons=["zebra", "bgpd", *(["bfdd"] if self._config.bfd is not None else [])],
                )
        except FileExistsError as error:
            raise FabricError(
                f"there is a laboratory {self.name} already",
                f"`fabric lab show --name {self.name}` tells its state, `fabric lab down --name "
                f"{self.name}` ends it; --name gives this one another name",
            ) from error
        return self._record

    def _start(self, router: Router) -> None:
        bfd = self._config.bfd
        self.daemons[router.name].start(
            blueprint.zebra_config(router),
            self._bgpd_config(router),
            None if bfd is None else blueprint.bfdd_config(router, bfd),
        )

    def _bgpd_config(self, router: Router) -> str:
        self._changes.pop(router.name, None)
        return blueprint.bgpd_config(self.plan, router, self._config, self._policies, self._asns)

    def down(self) -> None:
        """End the daemons, remove namespaces and files; no effect if nothing was created, or all was kept."""
        with interrupts.held_back():
            self.daemons.clear()
            if self._made is not None:
                self._made.close()
            if self._record is not None:
                self.removal = take_down(self._record)
            self._record = self._made = None

    def keep(self) -> None:
        """Let everything run after the context; `fabric lab down` ends it."""
        with interrupts.held_back():
            if self._made is not None:
                self._made.close()
            if self._record is not None:
                self._record.release()
            self._record = self._made = None

    # -- devices ----------------------------------------------------------------------------------------------------

    def _quiet(self, space: Namespace) -> None:
        """No IPv6: the kernel's own IPv6 frames would create bridge entries without a host."""
        for scope in ("all", "default"):
            space.sysctl(f"net/ipv6/conf/{scope}/disable_ipv6", 1)

    @staticmethod
    def _link_local(space: Namespace, interface: str, mac: str) -> None:
        """Only the address derived from the plan's MAC (RFC 4291 appendix A), and that at once."""
        space.down(interface)
        space.set(interface, address=mac)
        for key, value in (("accept_dad", 0), ("addr_gen_mode", _EUI64), ("disable_ipv6", 0)):
            space.sysctl(f"net/ipv6/conf/{interface}/{key}", value)
        space.up(interface)

    def _switch(self, space: Namespace, router: Router) -> None:
        self._quiet(space)
        for key, value in (
            ("net/ipv4/ip_forward", 1),
            ("net/ipv4/conf/all/rp_filter", 0),
            ("net/ipv4/conf/default/rp_filter", 0),
            ("net/ipv4/fib_multipath_hash_policy", 1),
        ):
            space.sysctl(key, value)
        space.address("lo", address_text(router.loopback), 32)
        for vni in router.vnis:
            self._vni(space, vni, router)

    @staticmethod
    def _vni(space: Namespace, plan: VniPlan, router: Router) -> None:
        """A bridge that is VLAN-unaware, and one VXLAN device in it; BGP learns, the VXLAN port does not."""
        names = VniConfig(plan.vni)
        bridge, vxlan = names.bridge_name, names.vxlan_name
        # A fixed MAC: one that follows the ports changes with them, and the kernel then flushes its neighbours.
        mac = ":".join(f"{byte:02x}" for byte in b"\x02\xbe" + plan.vni.to_bytes(3, "big") + bytes([router.row & 255]))
        space.add(bridge, "bridge", address=mac, br_ageing_time=AGEING_CS, br_mcast_snooping=0)
        space.add(
            vxlan,
            "vxlan",
            vxlan_id=plan.vni,
            vxlan_local=address_text(router.loopback),
            vxlan_port=blueprint.VXLAN_PORT,
            vxlan_learning=False,
            vxlan_tos=blueprint.VXLAN_TOS,
        )
        space.set(vxlan, master=space.index(bridge))
        space.set_port(vxlan, learning=0, neigh_suppress=int(plan.suppress_arp))
        # A bridge without an address learns neighbours from gratuitous ARP only, and only with arp_accept.
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
        leaf.up(port)
        space.up(interface)
        if not self._cables.is_crashed(row):  # else its start puts the port into the bridge
            leaf.set(port, master=leaf.index(VniConfig(vni).bridge_name))
            self._until_forwarding(leaf, port)
        self._attached[row, port] = f"{host}:{interface}"
        self._vni_of[row, port] = vni

    @staticmethod
    def _until_forwarding(leaf: Namespace, port: str) -> None:
        """A bridge drops frames until it has noticed the port's carrier, up to 1 s after carrier is up."""
        until_s = time.monotonic() + _PORT_S
        while json.loads(leaf.run("bridge", "-j", "link", "show", "dev", port))[0]["state"] != "forwarding":
            if time.monotonic() > until_s:
                raise FabricError(f"{leaf.name}: port {port} does not forward after {_PORT_S:g} s")
            time.sleep(_POLL_S)

    def announce(self, mac: str, ip: str, row: int, port: str) -> None:
        """A gratuitous ARP request of the host behind a port of a leaf (RFC 5227 section 3)."""
        host, _, interface = self._attached[row, port].partition(":")
        frame = self._frames.bytes_of(arp_frame(ArpPacket(Operation.REQUEST, mac, ip, _NO_MAC, ip)))
        with self[host].inside(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            sock.bind((interface, 0))
            sock.send(frame)

    # -- events -----------------------------------------------------------------------------------------------------

    def apply(self, event: e.ControlEvent) -> None:
        """Apply an event of the control plane now. Raises: FabricError if it cannot be applied here."""
        act = _ACTS.get(type(event))
        if act is None:
            raise FabricError(
                f"{type(event).__name__} has no counterpart in a laboratory",
                f"known are {', '.join(sorted(it.__name__ for it in _ACTS))}",
            )
        act(self, event)

    def _cable(self, event: e.ControlEvent) -> None:
        """An event of a cable or a switch changes carrier and silence of cables."""
        if isinstance(event, e.CableSilent):
            self._until_watched(event.cable)
        changes = self._cables.take(event)
        for row in changes.down:
            space, interface = self._end(row)
            space.down(interface)
        for cables, change in ((changes.silent, silence), (changes.silence_ended, end_silence)):
            for cable in cables:
                for space, interface in self._ends(cable):
                    change(space, interface)
        for rows in changes.up:
            self._carrier_returns(rows)

    def _carrier_returns(self, rows: Sequence[int]) -> None:
        """Bring up the interfaces of one cable that were shut down."""
        if self._config.unnumbered:
            self._up_address_last(rows)
            return
        for row in rows:
            space, interface = self._end(row)
            space.up(interface)

    def _end(self, row: int) -> tuple[Namespace, str]:
        """The namespace and the name of an interface."""
        interface = self.plan.interfaces[row]
        return self[self.plan.routers[interface.router].name], interface.name

    def _ends(self, cable: int) -> Iterator[tuple[Namespace, str]]:
        for row in (self.plan.cables[cable].a, self.plan.cables[cable].b):
            yield self._end(row)

    def _until_watched(self, cable: int) -> None:
        """Wait until BFD is up at both ends of a cable, so that BFD detects the failure; a session can be younger."""
        ends = [self.plan.interfaces[row] for row in (self.plan.cables[cable].a, self.plan.cables[cable].b)]
        watching = [(self.plan.routers[it.router].name, it) for it in ends] if self._config.bfd is not None else []
        until_s = time.monotonic() + _BFD_S
        for node, interface in watching:
            remote = address_text(self.plan.interfaces[interface.peer].address)
            while node not in self.stopped and time.monotonic() < until_s:
                [peers] = self.daemons[node].show("show bfd peers json")
                if any(
                    it["status"] == "up"
                    for it in peers
                    if remote == it["peer"] or (self._config.unnumbered and it.get("interface") == interface.name)
                ):
                    break
                time.sleep(_POLL_S)

    def _up_address_last(self, rows: Sequence[int]) -> None:
        """zebra reports a new interface 'down' once more, until Linux has noticed the carrier. If bgpd (8.4) receives
        this, the neighbour and the own address in one turn, it stops the session last, and never restarts it on an
        unnumbered interface. So no address is set before both daemons have the interface as up.
        """
        ends = [self._end(row) for row in rows]
        with contextlib.ExitStack() as known:
            for row, (space, interface) in zip(rows, ends, strict=True):
                space.sysctl(f"net/ipv6/conf/{interface}/addr_gen_mode", _NO_ADDRESS)
                node = self.plan.routers[self.plan.interfaces[row].router].name
                if node not in self.stopped:
                    known.enter_context(self.daemons[node].coming_up(interface))
            for space, interface in ends:
                space.up(interface)
        for space, interface in ends:
            space.sysctl(f"net/ipv6/conf/{interface}/addr_gen_mode", _EUI64)

    def _seen(self, event: e.HostSeen) -> None:
        """Make before break: a new cable with the same MAC, unless there is one; the old cable stays.

        MACs of churn, which are not hosts of the plan, send from one station behind their port.
        """
        back = event.back
        if back:
            router, port = self._active.get((event.vni, event.mac), (event.router, event.port))
            event = replace(event, router=router, port=port)
        known = endpoint_of(self.plan, event.mac, event.vni)
        if (event.router, event.port) not in self._attached:
            host = known.name if known is not None else names.station(self.plan.routers[event.router].name, event.port)
            if known is None:
                self._quiet(self._spaces.add(host))
            self._attach(host, event.mac, event.vni, event.router, event.port)
        if known is None:
            self._churned[event.vni, event.mac] = event
        carrier_down = (event.router, event.port) in self._down_ports
        if carrier_down and known is not None and len(known.attachments) > 1 and not back:
            return  # a bond sends on ports with carrier only
        self._active[event.vni, event.mac] = (event.router, event.port)
        if event.arp and not carrier_down and not self._cables.is_crashed(event.router):
            self.announce(event.mac, event.ip, event.router, event.port)

    def _gone(self, event: e.HostGone) -> None:
        at = self._active.get((event.vni, event.mac))
        router = event.router if event.router is not None else at[0] if at else None
        if router is None:
            return
        leaf, host = self[self.plan.routers[router].name], endpoint_of(self.plan, event.mac, event.vni)
        if host is None:  # the port has other MACs too
            self._churned.pop((event.vni, event.mac), None)
            for row, port in self._attached:
                if row == router:
                    leaf.run("bridge", "fdb", "del", event.mac, "dev", port, "master", check=False)
            return
        for (row, port), there in list(self._attached.items()):
            if row == router and there.startswith(f"{host.name}:"):
                leaf.delete(port)
                del self._attached[row, port]

    def _host_port(self, event: e.HostPortDown | e.HostPortUp) -> None:
        """A leaf's port to a host loses or gains carrier; a bond then sends on its next port."""
        leaf = self[self.plan.routers[event.router].name]
        up = isinstance(event, e.HostPortUp)
        for endpoint in self.plan.endpoints:
            for row, port, data_port in endpoint.attachments:
                if (row, data_port) != (event.router, event.data_port) or (row, port) not in self._attached:
                    continue
                (leaf.up if up else leaf.down)(port)
                key = (endpoint.vni, endpoint.mac)
                if up:
                    self._down_ports.discard((row, port))
                    if self._cables.is_crashed(row):
                        continue  # its start puts the port into a bridge, and then the host sends
                    self._until_forwarding(leaf, port)
                else:
                    self._down_ports.add((row, port))
                    ports_up = [at[:2] for at in endpoint.attachments if at[:2] not in self._down_ports]
                    if self._active.get(key) != (row, port) or not ports_up:
                        continue
                    self._active[key] = ports_up[0]
                    time.sleep(ControlConfig().bond_delay_ns / 1e9)  # the delay of Linux, not of the scenario
                if self._active.get(key) not in {None, *self._down_ports} and (
                    not up or self._active[key] == (row, port)
                ):
                    self.announce(endpoint.mac, endpoint.ip, *self._active[key])

    def _router_bgp(self, router: Router) -> str:
        return f"router bgp {self._asns.get(router.row, router.asn)}"

    def _drain(self, event: e.Drain) -> None:
        router = self.plan.routers[event.router]
        self.daemons[router.name].configure(
            self._router_bgp(router), f"{'' if event.on else 'no '}bgp graceful-shutdown"
        )

    def _shutdown(self, event: e.Shutdown) -> None:
        router = self.plan.routers[event.router]
        self.daemons[router.name].configure(self._router_bgp(router), "neighbor FABRIC shutdown")

    def _reconfigure(self, event: e.Reconfigure) -> None:
        """End bgpd with a Cease, and start it with another AS number."""
        router = self.plan.routers[event.router]
        self._asns = {row: asn for row, asn in self._asns.items() if row != event.router}
        if event.asn is not None:
            self._asns[event.router] = event.asn
        self.daemons[router.name].restart("bgpd", self._bgpd_config(router))

    def _set_policy(self, event: e.SetPolicy) -> None:
        """Attach route-maps with new names to all neighbours: they are in force at once."""
        router = self.plan.routers[event.router]
        number = self._changes.get(router.name, 0)
        before = list(self._attached_maps(router, RouteMaps(f"CHANGE{number}") if number else RouteMaps()))
        self._policies = changed_policies(
            self._config,
            self._policies,
            router.name,
            (self.plan.name_of(event.peer), event.direction),
            event.policy,
            [(self.plan.name_of(peer), policy) for peer, policy in event.others],
        )
        self._changes[router.name] = number + 1
        maps = RouteMaps(f"CHANGE{number + 1}")
        after = list(self._attached_maps(router, maps))
        lines = []
        for family, title in ((IPV4_UNICAST, "ipv4 unicast"), (EVPN, "l2vpn evpn")):
            kept = {it[:3] for it in after}
            lines += (
                [
                    f"address-family {title}",
                    *(
                        f"neighbor {name} route-map {its} {direction}"
                        for name, of, direction, its in after
                        if of is family
                    ),
                    *(
                        f"no neighbor {name} route-map {its} {direction}"
                        for name, of, direction, its in before
                        if of is family and (name, of, direction) not in kept
                    ),
                    "exit-address-family",
                ]
                if family is IPV4_UNICAST or self.plan.overlay
                else []
            )
        self.daemons[router.name].configure(*maps.lines(), self._router_bgp(router), *lines)

    def _attached_maps(self, router: Router, maps: RouteMaps) -> Iterator[tuple[str, AddressFamily, str, str]]:
        return blueprint.attachments(speaker_config(self.plan, router, self._config, self._policies, self._asns), maps)

    def _crash(self, event: e.RouterCrash) -> None:
        """Remove daemons, routes and bridges. The ports lose carrier, or keep it and receive nothing."""
        router = self.plan.routers[event.router]
        space = self[router.name]
        self._cable(event)
        self.daemons[router.name].end(number=signal.SIGKILL)
        self.stopped.add(router.name)
        space.run("ip", "route", "flush", "proto", "bgp", check=False)
        for vni in router.vnis:
            names = VniConfig(vni.vni)
            space.delete(names.vxlan_name)
            space.delete(names.bridge_name)

    def _boot(self, event: e.RouterBoot) -> None:
        """Start with empty tables; the hosts send when the ports forward."""
        router = self.plan.routers[event.router]
        space = self[router.name]
        for vni in router.vnis:
            self._vni(space, vni, router)
        for row, port in self._attached:
            if row == router.row:
                space.set(port, master=space.index(VniConfig(self._vni_of[row, port]).bridge_name))
                if (row, port) not in self._down_ports:
                    self._until_forwarding(space, port)
        self._cable(event)
        self._daemons_start(e.DaemonStart(event.time_ns, event.router))

    def _daemons_die(self, event: e.DaemonCrash) -> None:
        """Kill both daemons at once: the kernel closes their connections and continues to forward."""
        self.daemons[self.plan.routers[event.router].name].end(number=signal.SIGKILL)
        self.stopped.add(self.plan.routers[event.router].name)

    def _daemons_start(self, event: e.DaemonStart) -> None:
        router = self.plan.routers[event.router]
        self._start(router)
        self.stopped.discard(router.name)
        for (row, port), there in self._attached.items():
            known = endpoint_at(self.plan, there)
            if (row, port) in self._down_ports or row != router.row or known is None:
                continue
            if self._active.get((known.vni, known.mac)) == (row, port):
                self.announce(known.mac, known.ip, row, port)
        for it in self._churned.values():
            if it.router == router.row and it.arp:
                self.announce(it.mac, it.ip, it.router, it.port)


_ACTS: Final[Mapping[type, Callable[..., None]]] = {
    e.CableDown: Laboratory._cable,
    e.CableUp: Laboratory._cable,
    e.HostSeen: Laboratory._seen,
    e.CableSilent: Laboratory._cable,
    e.CableSilenceEnded: Laboratory._cable,
    e.SetPolicy: Laboratory._set_policy,
    e.RouterCrash: Laboratory._crash,
    e.RouterBoot: Laboratory._boot,
    e.Reconfigure: Laboratory._reconfigure,
    e.HostPortDown: Laboratory._host_port,
    e.HostPortUp: Laboratory._host_port,
    e.HostGone: Laboratory._gone,
    e.Drain: Laboratory._drain,
    e.Shutdown: Laboratory._shutdown,
    e.DaemonCrash: Laboratory._daemons_die,
    e.DaemonStart: Laboratory._daemons_start,
}


def can_apply(event: e.ControlEvent) -> bool:
    """Whether a laboratory has a counterpart of an event."""
    return type(event) in _ACTS

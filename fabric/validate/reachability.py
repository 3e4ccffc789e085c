"""Which hosts reach each other, computed from configurations alone, and the first reason where they do not.

The sessions that come up (sessions.py) become a plan (control_plan.py), and the BGP and EVPN speakers of
fabric/controlplane run on it until nothing changes. A host reaches another one of its segment if its switch has
imported the VNI's routes of the other's VTEP, which includes a route to that VTEP.

Filters after convergence, for what the plan does not have: a next hop that a switch on the way rewrites, a VTEP address
of two switches, and the two switches of a multi-chassis pair, which reach each other over their peer link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv4Network, ip_address, ip_network
from typing import Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Where
from fabric.configs.policy import Use
from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.evpn.evpn_nlri import EVPN, multicast_key
from fabric.controlplane.network.config import ControlConfig, Jitter, NodePolicy
from fabric.controlplane.network.forwarding import prefix_key
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import Prefix
from fabric.errors import FabricError
from fabric.units import count as counted
from fabric.validate.adjacencies import share_interior
from fabric.validate.alike import Reduced, reduced
from fabric.validate.checks.base import Evidence
from fabric.validate.checks.identity import paired, vtep_address
from fabric.validate.control_plan import advertised, asn_of, described
from fabric.validate.facts import Facts
from fabric.validate.policies import policies_of
from fabric.validate.reach_reasons import Reasons
from fabric.validate.segments import Group, Host, hosts_of, not_carried, routed_segments
from fabric.validate.sessions import Cause, End, Peering, outside, peerings, place, without_route

CONFIG = ControlConfig(jitter=Jitter.OFF, announce_delay_ns=0, boot_spread_ns=0, dial_jitter_ns=0)

_NOTE: Final = "reachability"
_SHOWN: Final = 4
"""Sessions in a reason."""
MAX_WHOLE: Final = 4_000
"""Sessions times switches with a VNI up to which every switch is computed: 40 leaves and 2 spines have 3,200."""
MAX_WORK: Final = 60_000
"""The same of switches that are not configured alike, above which nothing is computed (20 s)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one group of hosts reaches another."""

    reaches: bool | None
    """None: the configurations that were given do not decide it."""
    cause: Cause | None = None
    meant: bool = True
    """False where the files keep the two apart on purpose: other VRFs, a segment without gateway, a port that is shut,
    a VLAN without VNI that trunks may carry."""


REACHES = Verdict(True)


def _no(text: str, *evidence: Evidence) -> Verdict:
    return Verdict(False, Cause(text, evidence))


def _apart(text: str, *evidence: Evidence) -> Verdict:
    return Verdict(False, Cause(text, evidence), meant=False)


def work_of(facts: Facts) -> int:
    """Sessions times switches with a VNI: the time of the speakers grows with it."""
    sessions = sum(len(device.sessions) for device in facts.devices) // 2
    return sessions * sum(bool(device.identity.vnis) for device in facts.devices)


def reachability_of(facts: Facts) -> Reachability | Cause:
    """The reachability of a network, computed once for all checks; why not, where it is too large.

    Of a network that is not small, the part that stands for all of it (alike.py).
    """
    if _NOTE not in facts.notes:
        sessions = peerings(facts)
        part = Reduced(facts, {}) if work_of(facts) <= MAX_WHOLE else reduced(facts, sessions)
        work = work_of(part.facts)
        if work > MAX_WORK:
            shown = counted(work, "session × switch", "sessions × switches")
            facts.notes[_NOTE] = Cause(f"{shown} of switches that are not configured alike are more than {MAX_WORK:,}")
        else:
            share_interior(facts, part.facts)
            facts.notes[_NOTE] = Reachability(part.facts, part.alike, sessions if part.facts is facts else None)
    found: Reachability | Cause = facts.notes[_NOTE]
    return found


class Reachability:
    """The converged control plane of a network. Raises nothing: what cannot be computed is in `unknown`."""

    def __init__(
        self, facts: Facts, alike: Mapping[str, tuple[str, ...]] | None = None, sessions: list[Peering] | None = None
    ) -> None:
        self.facts = facts
        self.alike = alike or {}
        """Switch to all switches of a larger fabric that it stands for, itself among them."""
        self.groups, self.hosts = hosts_of(facts)
        self.sessions = peerings(facts) if sessions is None else sessions
        self._routing = routed_segments(facts, len(self.groups))
        self.stranded: list[tuple[End, End]] = []
        """Ends of sessions between loopbacks that have no route to the other end."""
        for peering in self.sessions:
            for end, other in peering.ends if peering.down is not None and peering.multihop else ():
                if end.session is not None and without_route(facts, end, other) == peering.down:
                    self.stranded.append((end, other))
        self._converge()
        if self._network is not None and self._lose_sessions():
            self._converge()
        self._cache: dict[tuple[int, int], Verdict] = {}

    def _converge(self) -> None:
        self._described = described(self.facts, [*self.groups, *self._routing.values()], self.sessions)
        self.plan = self._described.plan
        prefixes = [prefix for router in self.plan.routers for prefix in router.networks]
        self._policies, unread = policies_of(self.sessions, prefixes)
        self.unknown = (*self._unknown(), *unread)
        self._network: Network | None = None
        if not self.unknown:
            try:
                network = Network(self.plan, replace(CONFIG, policies=self._policies))
                network.converge()
                self._network = network
            except FabricError as error:
                self.unknown = (Cause(str(error)),)

    def _lose_sessions(self) -> bool:
        """Take the sessions down that lead to a loopback to which the converged routes do not lead; whether some are.

        TCP of such a session has no way (RFC 4271 section 8.2.1). What it brought itself is IPv4 routes at most of
        switches behind it, and never the route to its own end.
        """
        lost = False
        for row, peering in enumerate(self.sessions):
            if peering.down is not None or not peering.multihop or peering.internal:
                continue
            for end, other in peering.ends:
                if end.session is None or not other.address or self._leads(end.device, other.address):
                    continue
                if end.device.identity.igp or other.device.identity.igp:
                    continue  # its routes are not computed, and may lead there
                self.stranded.append((end, other))
                text = f"{end.device.name} has no route to {other.address} of {other.device.name}"
                down = Cause(text, (place(end.device, end.session.where),))
                self.sessions[row] = replace(self.sessions[row], down=down)
                lost = True
        return lost

    def _leads(self, device: Device, address: str) -> bool:
        """Whether a switch has some route to an address: connected, static, or by BGP."""
        row, its = self._described.row_of.get(device.name), ip_address(address)
        if row is None or its.version != 4 or _static_route(device, address):
            return True
        if any(its in interface_of(text).network for texts in device.addresses.values() for text in texts):
            return True
        speaker = self._converged.switches[row].speaker
        networks = (ip_network(f"{address}/{length}", strict=False) for length in range(33))
        keys = (prefix_key(int(it.network_address), it.prefixlen) for it in networks)
        return any(speaker.selection(IPV4_UNICAST, key) is not None for key in keys)

    def _unknown(self) -> Iterator[Cause]:
        """What keeps the files from being the whole control plane."""
        for device, session in outside(self.facts):
            other = session.peer or session.address or session.interface
            text = f"{device.name} has a session to {other}, whose configuration was not given"
            yield Cause(text, (place(device, session.where),))
        for device in self.facts.devices:
            if device.identity.unnumbered and not any(it.interface for it in device.sessions):
                text = f"{device.name} has sessions without addresses (unnumbered), which are not read"
                yield Cause(text, (place(device, device.identity.unnumbered),))
            silent = all(":" in session.address and session.families is None for session in device.sessions)
            if device.sessions and silent:
                yield Cause(f"{device.name} has IPv6 sessions only", (place(device, device.sessions[0].where),))
        for device in self.facts.devices:
            mine = [it for it in self.sessions if device in (it.a.device, it.b.device)]
            if device.identity.vnis and ":" in vtep_address(device):
                text = f"{device.name} has an IPv6 VTEP, which is not computed"
                yield Cause(text, (place(device, device.identity.vtep.where),))
            if mine and not asn_of(device.asn):
                yield Cause(f"{device.name} states no AS number")
            if not device.sessions and (mine or device.identity.vnis) and not device.identity.unnumbered:
                yield Cause(f"{device.name} has no BGP neighbour in its file")

    # ===== pairs =====

    def between(self, source: Group, target: Group) -> Verdict:
        """Whether hosts of one group reach those of another, by switching within a segment, else by routing."""
        key = source.row, target.row
        if key not in self._cache:
            self._cache[key] = self._between(source, target)
        return self._cache[key]

    def hosts_reach(self, source: Host, target: Host) -> Verdict:
        """Whether a host reaches another from every switch that it is attached to."""
        for host in (source, target):
            if not host.groups:
                device, port = host.shut[0]
                return _apart(f"{device.name}:{port.name} of {host.name} is shut", place(device, port.where))
        verdict = REACHES
        for one in source.groups:
            found = [self.between(one, other) for other in target.groups]
            best = next((it for it in found if it.reaches), found[0])
            if not best.reaches:
                verdict = best
        return verdict

    def _between(self, source: Group, target: Group) -> Verdict:
        if source.device is target.device and source.vlan == target.vlan:
            return REACHES
        if source.segment != target.segment:
            return self._routed(source, target)
        if not source.segment.startswith("VNI"):
            return self._subnets(source, target)
        return self._switched(source, target)

    def _switched(self, source: Group, target: Group) -> Verdict:
        for group in (source, target):
            cause = self._not_carried[group.row]
            if cause is not None:
                return Verdict(False, cause)
        ours, theirs = source.vni, target.vni
        if ours is not None and theirs is not None and ours.number != theirs.number:
            return _no(
                f"no common VNI: VLAN {source.vlan} is VNI {ours.number} at {source.device.name}, "
                f"VLAN {target.vlan} is VNI {theirs.number} at {target.device.name}",
                place(source.device, ours.where),
                place(target.device, theirs.where),
            )
        if source.device is target.device or self._twins(source.device, target.device):
            return REACHES
        return self._learned(source, target)

    def _learned(self, source: Group, target: Group) -> Verdict:
        """What the switch of the source has learned of the target."""
        if self.unknown:
            return Verdict(None, self.unknown[0])
        there = self._vtep_of[target.device.name]
        for other in self._vteps[there]:
            if other is not target.device and not self._twins(other, target.device):
                return _no(
                    f"the VTEP address {there} of {target.device.name} is also that of {other.name}",
                    place(target.device, target.device.identity.vtep.where),
                    place(other, other.identity.vtep.where),
                    *(place(it, where) for it in (target.device, other) for where in _address_places(it, there)),
                )
        near, far = (self._described.row_of.get(group.device.name) for group in (source, target))
        own, number = (self._described.stands_for.get(it.vni_number) for it in (source, target))
        if near is None or far is None or number is None or own is None:
            text = f"{source.device.name} or {target.device.name} has no AS number, or VNI {target.vni_number} is none"
            return Verdict(None, Cause(text))
        key = self._route_of(far, number)
        learned = self._floods[near].get(own, frozenset())
        if far in learned or any(
            self._twins(self.facts.network.devices[self.plan.routers[row].name], target.device)
            for row in learned
            if self.plan.routers[row].loopback == self.plan.routers[far].loopback
        ):
            rewritten = self._reasons.rewritten(near, key)
            return REACHES if rewritten is None else Verdict(False, rewritten)
        reasons = self._reasons
        why = reasons.targets(source, target) or reasons.no_session(source, target, "evpn")
        why = why or reasons.not_advertised(target.device, there)
        why = why or reasons.filtered(near, target, EVPN, key)
        why = why or reasons.confined(target, "evpn", EVPN, key)
        why = why or reasons.reflected(target, "evpn", EVPN, key)
        why = why or reasons.no_session(source, target, "ipv4") or reasons.loop(near, EVPN, key)
        address = prefix_key(int(ip_address(there)), 32)
        why = why or reasons.filtered(near, target, IPV4_UNICAST, address, IPv4Network(there))
        if self._converged.switches[near].speaker.selection(IPV4_UNICAST, address) is None:
            why = why or reasons.confined(target, "ipv4", IPV4_UNICAST, address)
        if self._converged.switches[near].speaker.candidates(EVPN, key) and _static_route(source.device, there):
            text = f"{source.device.name} may reach the VTEP {there} of {target.device.name} by a static route"
            return Verdict(None, Cause(text))
        if why is None and self._converged.switches[near].speaker.candidates(EVPN, key):
            text = f"{source.device.name} has no route to the VTEP {there} of {target.device.name}"
            why = Cause(text, (place(target.device, target.device.identity.vtep.where),))
        return Verdict(False, why or reasons.stopped(source, target, EVPN, key))

    def _routed(self, source: Group, target: Group) -> Verdict:
        """Between two segments: the switch of the source routes if it has an interface in both VLANs, in one VRF."""
        names = [(group.device, group.vlan) for group in (source, target)]
        for device, vlan in names:
            if not _subnets(device, vlan):
                return _apart(
                    f"{source.segment} and {target.segment} are apart: {device.name} has no gateway for VLAN {vlan}"
                )
        routing = [self._routing.get((group.device.name, group.vrf)) for group in (source, target)]
        if source.vrf != target.vrf and _leaks(*routing):
            return self._leaked(source, target, *routing)
        if source.vrf != target.vrf:
            shown = [group.device.identity.vrfs.get(group.vlan) for group in (source, target)]
            return _apart(
                f"{source.segment} is in VRF {source.vrf or 'default'}, {target.segment} in VRF "
                f"{target.vrf or 'default'}, and nothing routes between them",
                *(place(it[0], stated.where) for it, stated in zip(names, shown, strict=True) if stated is not None),
            )
        if source.device is target.device:
            return REACHES
        symmetric = self._through(*routing)
        if symmetric is not None and symmetric.reaches:
            return symmetric
        if not target.segment.startswith("VNI"):
            return symmetric or self._subnets(source, target)
        here = next(
            (it for it in self.groups if it.device is source.device and it.segment == target.segment), None
        )  # asymmetric IRB (RFC 9135 section 4): the first switch has every VLAN
        if here is not None and _subnets(here.device, here.vlan):
            bridged = self.between(here, target)
            return bridged if bridged.reaches or symmetric is None else symmetric
        return symmetric or self._without_l3(source, target)

    def _leaked(self, source: Group, target: Group, ours: Group | None, theirs: Group | None) -> Verdict:
        """From one VRF to another whose route targets it imports, by the routes of the L3 VNI of the other."""
        if source.device is target.device or ours is None or theirs is None:
            text = f"{source.device.name} imports route targets of its VRF {target.vrf or 'default'} into its VRF "
            return Verdict(None, Cause(f"{text}{source.vrf or 'default'}, which is not computed"))
        for group in (ours, theirs):
            cause = not_carried(group)
            if cause is not None:
                return Verdict(False, cause, meant=False)
        if self.unknown:
            return Verdict(None, self.unknown[0])
        near, far = (self._described.row_of.get(group.device.name) for group in (ours, theirs))
        number = self._described.stands_for.get(theirs.vni_number)
        if near is None or far is None or number is None:
            return Verdict(None, Cause(f"{source.device.name} or {target.device.name} has no AS number or no VNI"))
        if self._converged.switches[near].speaker.selection(EVPN, self._route_of(far, number)) is not None:
            return REACHES
        learned = self._learned(ours, theirs)
        return Verdict(learned.reaches, learned.cause, meant=False)

    def _through(self, ours: Group | None, theirs: Group | None) -> Verdict | None:
        """Through the L3 VNI of a VRF (symmetric IRB, RFC 9135 section 5); None where one of the switches has none."""
        if ours is None or theirs is None:
            return None
        for group in (ours, theirs):
            cause = not_carried(group)
            if cause is not None:
                return Verdict(False, cause)
        if ours.vni is not None and theirs.vni is not None and ours.vni.number != theirs.vni.number:
            return _no(
                f"no common L3 VNI: VRF {ours.vrf} has VNI {ours.vni.number} at {ours.device.name}, "
                f"{theirs.vni.number} at {theirs.device.name}",
                place(ours.device, ours.vni.where),
                place(theirs.device, theirs.vni.where),
            )
        return REACHES if self._twins(ours.device, theirs.device) else self._learned(ours, theirs)

    def _without_l3(self, source: Group, target: Group) -> Verdict:
        """The first switch has neither the other VLAN nor an L3 VNI at both ends."""
        if not source.vrf or any(it.vrf == source.vrf for it in source.device.sessions):
            where = f"VRF {source.vrf or 'default'} of {source.device.name}"
            return Verdict(None, Cause(f"{where} may route to {target.segment} by its own sessions"))
        bare = next(it for it in (source, target) if (it.device.name, it.vrf) not in self._routing)
        stated = [(it.device, it.device.identity.vrfs.get(it.vlan)) for it in (bare, source, target)]
        return _no(
            f"VRF {source.vrf} has no L3 VNI at {bare.device.name}, and {source.device.name} has no VLAN of "
            f"{target.segment}",
            *(place(device, vrf.where) for device, vrf in stated if vrf is not None),
        )

    def _subnets(self, source: Group, target: Group) -> Verdict:
        """Without VXLAN: whether the switch of the source has a route to the target's subnet."""
        ours, theirs = (_subnets(group.device, group.vlan) for group in (source, target))
        for group, found in ((source, ours), (target, theirs)):
            if not found:
                return _apart(f"{group.device.name} has no address in VLAN {group.vlan}, and no VNI extends it")
        if source.device is target.device:
            return REACHES
        if self.unknown:
            return Verdict(None, self.unknown[0])
        if ours[0] == theirs[0]:
            return _apart(
                f"{ours[0]} is a subnet of both {source.device.name} and {target.device.name}, and no VNI joins it"
            )
        near = self._described.row_of.get(source.device.name)
        far = self._described.row_of.get(target.device.name)
        network = ip_network(theirs[0])
        if near is None or far is None:
            return Verdict(None, Cause("a switch without BGP"))
        key = prefix_key(int(network.network_address), network.prefixlen)
        if self._converged.switches[near].speaker.selection(IPV4_UNICAST, key) is not None:
            return REACHES
        if (int(network.network_address), network.prefixlen) not in advertised(target.device):
            return _no(
                f"{target.device.name} does not advertise {network}",
                place(target.device, target.device.identity.asn_where),
            )
        reasons = self._reasons
        routed = network if isinstance(network, IPv4Network) else None
        why = reasons.no_session(source, target, "ipv4")
        why = why or reasons.filtered(near, target, IPV4_UNICAST, key, routed)
        why = why or reasons.loop(near, IPV4_UNICAST, key) or reasons.reflected(target, "ipv4", IPV4_UNICAST, key)
        return Verdict(False, why or reasons.stopped(source, target, IPV4_UNICAST, key))

    # ===== tables =====

    @property
    def network(self) -> Network | None:
        """The speakers after convergence; None where the files do not decide them."""
        return None if self.unknown else self._network

    def announced(self, name: str) -> tuple[Prefix, ...]:
        """IPv4 prefixes that a switch itself puts into BGP."""
        row = self._described.row_of.get(name)
        return () if row is None else self.plan.routers[row].networks

    def policies_at(self, network: IPv4Network) -> Iterator[tuple[End, Use]]:
        """Policies at which a route stops: one end of a session has it, the policy drops it, the other has none."""
        key = prefix_key(int(network.network_address), network.prefixlen)
        yield from self._reasons.stopping(IPV4_UNICAST, key)

    @property
    def policies(self) -> tuple[NodePolicy, ...]:
        """The policies of all sessions that are up."""
        return self._policies

    def row(self, name: str) -> int | None:
        """The router of a switch."""
        return self._described.row_of.get(name)

    def overlay_routes(self) -> list[tuple[str, bytes]]:
        """(switch, Type-3 route of a VNI of it) for every VNI that is computed."""
        return [
            (router.name, self._route_of(router.row, vni.vni))
            for router in self.plan.routers
            for vni in router.vnis
            if self._converged.switches[router.row].vtep is not None
        ]

    def next_switches(self, name: str, key: bytes) -> tuple[str, ...] | None:
        """Switches that BGP of a switch sends a prefix to; () where it originates it, None where it has no route."""
        row = self._described.row_of.get(name)
        if row is None or self._network is None:
            return None
        selection = self._network.switches[row].speaker.selection(IPV4_UNICAST, key)
        if selection is None:
            return None
        if selection.best.source.local:
            return ()
        return tuple(dict.fromkeys(self._reasons.neighbour(row, path.source.name).name for path in selection.multipath))

    @cached_property
    def _not_carried(self) -> list[Cause | None]:
        return [not_carried(group) for group in self.groups]

    @cached_property
    def _reasons(self) -> Reasons:
        return Reasons(self.facts, self.sessions, self._described, self._policies, self._converged)

    @property
    def _converged(self) -> Network:
        if self._network is None:
            raise ValueError("not computed")  # every caller answers "unknown" before
        return self._network

    @cached_property
    def _floods(self) -> list[dict[int, frozenset[int]]]:
        """By router: VNI to the routers whose VTEPs it has learned."""
        return [
            {vni: frozenset(routers) for vni, routers in switch.floods().items()} for switch in self._converged.switches
        ]

    def _route_of(self, row: int, vni: int) -> bytes:
        """The Type-3 route of a VNI at its originator."""
        vtep = self._converged.switches[row].vtep
        if vtep is None:
            raise KeyError(row)  # a switch that carries a VNI has one
        return multicast_key(vtep.vnis[vni].identity.rd, vtep.config.address)

    @cached_property
    def _vtep_of(self) -> dict[str, str]:
        return {device.name: vtep_address(device) for device in self.facts.devices}

    @cached_property
    def _vteps(self) -> dict[str, list[Device]]:
        """VTEP address to the switches that have it."""
        found: dict[str, list[Device]] = {}
        for device in self.facts.devices:
            found.setdefault(self._vtep_of[device.name], []).append(device)
        return found

    def _twins(self, one: Device, other: Device) -> bool:
        """Whether two switches are a multi-chassis pair with one VTEP, or with a link between them."""
        if not paired((one, other)):
            return False
        names, links = {one.name, other.name}, {one.peer_link, other.peer_link}
        linked = any(
            {wire.a.device.name, wire.b.device.name} == names and links & {wire.a.port.name, wire.a.port.lag}
            for wire in self.facts.wires
        )
        address = self._vtep_of[one.name]
        return linked or (bool(address) and address == self._vtep_of[other.name])


def _static_route(device: Device, address: str) -> bool:
    """Whether a static route of a switch leads to an address."""
    networks = (ip_network(it.prefix) for it in device.routes)
    return any(it.version == 4 and ip_address(address) in it for it in networks)


def _leaks(ours: Group | None, theirs: Group | None) -> bool:
    """Whether one VRF imports what another exports."""
    return (
        ours is not None
        and theirs is not None
        and ours.vni is not None
        and theirs.vni is not None
        and bool(ours.vni.imports & theirs.vni.exports)
    )


def _address_places(device: Device, address: str) -> list[Where]:
    """Where a switch states an address."""
    stated = device.identity.address_where.items()
    return [where for (_, text), where in stated if text.partition("/")[0] == address]


def _subnets(device: Device, vlan: str) -> list[str]:
    """IPv4 subnets of a VLAN's interface, anycast gateways among them."""
    texts = [text for name, its in device.addresses.items() if name.lower() == f"vlan{vlan}" for text in its] + [
        gateway.address for gateway in device.identity.gateways if gateway.vlan == vlan
    ]
    found = []
    for text in texts:
        try:
            network = interface_of(text).network
        except ValueError:
            continue
        if network.version == 4:
            found.append(str(network))
    return found

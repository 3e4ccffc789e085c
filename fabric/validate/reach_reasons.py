"""Why a route does not arrive, from the converged control plane: the first reason, with the lines that say so.

Each function looks at one cause: route targets, sessions, policies, reflection, AS_PATH loops. None speaks where its
cause does not apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network
from typing import Final

from fabric.configs.model import Device
from fabric.configs.policy import Use
from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.policy import evaluate
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.network.config import NodePolicy
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import Router
from fabric.units import listed
from fabric.validate.control_plan import Described, advertised, asn_of
from fabric.validate.facts import Facts
from fabric.validate.policies import confines, uses
from fabric.validate.segments import Group
from fabric.validate.sessions import Cause, End, Peering, drops_foreign_targets, place

_SHOWN: Final = 4
"""Sessions in a reason."""


class Reasons:
    """Of one converged network."""

    def __init__(
        self,
        facts: Facts,
        sessions: Sequence[Peering],
        described: Described,
        policies: Sequence[NodePolicy],
        converged: Network,
    ) -> None:
        self._facts = facts
        self._sessions = sessions
        self._described = described
        self._plan = described.plan
        self._policies = policies
        self._converged = converged

    def rewritten(self, near: int, key: bytes) -> Cause | None:
        """A next hop that is rewritten on the way the best route came."""
        row = near
        for _ in self._plan.routers if self._rewriting else ():
            selection = self._converged.switches[row].speaker.selection(EVPN, key)
            if selection is None or selection.best.source.local:
                return None
            peer = self.neighbour(row, selection.best.source.name)
            end = self._rewriting.get((peer.name, self._plan.routers[row].name))
            if end is not None and end.session is not None:
                return Cause(
                    f"{peer.name} sets itself as next hop of EVPN routes towards {self._plan.routers[row].name}, "
                    "and has no VTEP",
                    (place(end.device, end.session.where),),
                )
            row = peer.row
        return None

    @cached_property
    def _rewriting(self) -> dict[tuple[str, str], End]:
        """(switch, its neighbour) where the switch has no VTEP and sets itself as next hop of EVPN routes."""
        return {
            (end.device.name, other.device.name): end
            for peering in self._sessions
            if peering.carries("evpn") and not peering.internal  # which keeps it (RFC 4271 section 5.1.3)
            for end, other in peering.ends
            if end.rewrites_next_hop and not end.device.identity.vtep
        }

    def neighbour(self, row: int, name: str) -> Router:
        """The router at the other end of the session whose neighbour has this address."""
        for interface in self._plan.routers[row].interfaces:
            far = self._plan.interfaces[self._plan.interfaces[interface].peer]
            if str(IPv4Address(far.address)) == name:
                return self._plan.routers[far.router]
        raise KeyError(name)

    def targets(self, source: Group, target: Group) -> Cause | None:
        """Route targets that the source's switch does not import."""
        ours, theirs = source.vni, target.vni
        if ours is not None and theirs is not None and (ours.imports_nothing or theirs.exports_nothing):
            mine = ours.imports_nothing
            group, way = (source, "imports") if mine else (target, "exports")
            text = f"{group.device.name} {way} no route target for VNI {(ours if mine else theirs).number}"
            return Cause(text, (place(group.device, (ours if mine else theirs).targets_where),))
        if ours is None or theirs is None or not (ours.imports or theirs.exports) or ours.imports & theirs.exports:
            return None
        automatic = f"{asn_of(target.device.asn) & 0xFFFF}:{theirs.number}"
        sent = theirs.exports or {automatic}
        if ours.imports & sent or (not ours.imports and any(it.endswith(f":{ours.number}") for it in sent)):
            return None
        wanted = ", ".join(sorted(ours.imports)) or f"*:{ours.number}"
        return Cause(
            f"the route target is not imported: {target.device.name} exports {', '.join(sorted(sent))} for VNI "
            f"{theirs.number}, {source.device.name} imports {wanted}",
            tuple(
                place(group.device, line)
                for group, _, line in sorted(
                    (
                        (target, theirs, theirs.line_of("export", ours.imports)),
                        (source, ours, ours.line_of("import", theirs.exports)),
                    ),
                    key=lambda it: not (it[1].imports or it[1].exports),
                )  # what is written down comes first: what is derived is no mistake
            ),
        )

    def no_session(self, source: Group, target: Group, family: str) -> Cause | None:
        """No session of one of the two switches carries a family: the first one that could, and why it does not."""
        for device in (target.device, source.device):
            mine = [it for it in self._sessions if device in (it.a.device, it.b.device)]
            if any(it.carries(family) for it in mine):
                continue
            what = {"evpn": "EVPN", "ipv4": "IPv4 routes"}[family]
            if not mine:
                return Cause(f"{device.name} has no BGP session")
            reasons = [self._why(it, family) for it in mine]
            begin = f"no session of {device.name} carries {what}"
            if all(it.down is not None for it in mine):
                begin = f"no session of {device.name} comes up"
            text = "; ".join(f"{peering}: {cause.text}" for peering, cause in zip(mine, reasons, strict=True))
            evidence = tuple(item for cause in reasons for item in cause.evidence)
            return Cause(f"{begin}: {text}", evidence)
        return None

    def _why(self, peering: Peering, family: str) -> Cause:
        if peering.down is not None:
            return peering.down
        for end, _ in peering.ends:
            if not end.carries(family) and end.session is not None:
                here = place(end.device, end.session.where)
                if family == "evpn" and drops_foreign_targets(end.device):
                    text = f"{end.device.name} keeps no EVPN route whose targets it does not import"
                    return Cause(text, (place(end.device, ("router bgp", "l2vpn evpn")),))
                active = end.session.families is None or family in end.session.families
                if active and family == "evpn":
                    return Cause(f"{end.device.name} sends no route targets (extended communities)", (here,))
                return Cause(f"{end.device.name} does not activate {family}", (here,))
        return Cause("it carries other routes")

    def not_advertised(self, device: Device, address: str) -> Cause | None:
        """The VTEP address of a switch, which nothing carries."""
        row = self._described.row_of.get(device.name)
        interior = () if row is None else self._plan.routers[row].interior
        prefixes = (ip_network((prefix, length)) for prefix, length in (*advertised(device), *interior))
        if any(ip_address(address) in prefix for prefix in prefixes):
            return None
        return Cause(
            f"the VTEP address {address} of {device.name} is not advertised",
            (place(device, device.identity.vtep.where), place(device, device.identity.asn_where)),
        )

    def filtered(
        self, near: int, target: Group, family: AddressFamily, key: bytes, network: IPv4Network | None = None
    ) -> Cause | None:
        """Policies that drop the route on its way, at the last switches that have it; `network`: its prefix."""
        if self._converged.switches[near].speaker.selection(family, key) is not None:
            return None
        texts: dict[str, list[str]] = {}
        lines, evidence = [], []
        for by, to, use in self._stopping(family, key):
            way = f"from {to.device.name}" if use.inbound else f"towards {to.device.name}"
            texts.setdefault(f"{by.device.name} drops it {way}", []).append(f"{use.kind} {use.name}")
            evidence.append(place(by.device, use.where))
            policies = by.device.identity.policies
            clauses = policies.route_maps.get(use.name, ()) if use.kind == "route-map" else ()
            evidence += [place(by.device, clause.where) for clause in clauses]
            if network is not None:
                lines += [place(by.device, it) for it in policies.lines_for(policies.clauses(use) or (), network)]
        if not texts:
            return None
        what = "EVPN route" if family is EVPN else "route"
        said = "; ".join(f"{text} ({', '.join(names)})" for text, names in texts.items())
        return Cause(f"the {what} of {target.device.name} is filtered: {said}", (*dict.fromkeys(lines), *evidence))

    def stopping(self, family: AddressFamily, key: bytes) -> Iterator[tuple[End, Use]]:
        """Policies that drop a route on its way, at the last switches that have it."""
        for by, _, use in self._stopping(family, key):
            yield by, use

    def _stopping(self, family: AddressFamily, key: bytes) -> Iterator[tuple[End, End, Use]]:
        """(end with the policy, the other end, policy)."""
        named = {(it.router, it.peer, it.direction): it.policy for it in self._policies}
        carried = "evpn" if family is EVPN else "ipv4"
        for peering in self._sessions if named else ():
            for end, other in peering.ends if peering.carries(carried) else ():
                rows = [self._described.row_of.get(it.device.name) for it in (end, other)]
                if rows[0] is None or rows[1] is None:
                    continue
                here, there = (
                    self._converged.switches[row].speaker.selection(family, key) for row in rows if row is not None
                )
                if here is None or there is not None:
                    continue
                for by, to, inbound in ((end, other, False), (other, end, True)):
                    policy = named.get((by.device.name, to.device.name, "import" if inbound else "export"))
                    if policy is not None and evaluate(policy, family, key, here.best.attributes) is None:
                        yield from ((by, to, use) for use in uses(by, carried, inbound=inbound))

    def confined(self, target: Group, carried: str, family: AddressFamily, key: bytes) -> Cause | None:
        """Switches that do not pass the route on, because of a community such as no-export (RFC 1997)."""
        texts, evidence = [], []
        for peering in self._sessions:
            for end, other in peering.ends if peering.carries(carried) else ():
                rows = [self._described.row_of.get(it.device.name) for it in (end, other)]
                here, there = (
                    None if row is None else self._converged.switches[row].speaker.selection(family, key)
                    for row in rows
                )
                if here is None or there is not None:
                    continue
                carries = set(here.best.attributes.communities)
                setting = [
                    (device, name, clause, text)
                    for device in self._facts.devices
                    for name, clauses in device.identity.policies.route_maps.items()
                    for clause in clauses
                    for text in clause.sets_communities
                    if confines(text) in carries
                ]
                for device, name, clause, text in setting:
                    by = f"route-map {name} of {device.name} sets"
                    texts.append(f"{end.device.name} does not pass it on to {other.device.name}: {by} {text}")
                    evidence.append(place(device, clause.where))
        if not texts:
            return None
        shown = listed(list(dict.fromkeys(texts)), _SHOWN, "; ")
        return Cause(f"the route of {target.device.name} stops: {shown}", tuple(dict.fromkeys(evidence)))

    def reflected(self, target: Group, carried: str, family: AddressFamily, key: bytes) -> Cause | None:
        """Switches that have the route by an internal session and do not pass it on (RFC 4456 section 6)."""
        texts, evidence = [], []
        for peering in self._sessions if self._plan.internal_ends else ():
            for end, other in peering.ends if peering.internal and peering.carries(carried) else ():
                rows = [self._described.row_of.get(it.device.name) for it in (end, other)]
                here, there = (
                    None if row is None else self._converged.switches[row].speaker.selection(family, key)
                    for row in rows
                )
                if here is None or there is not None or here.best.source.local or rows[0] is None:
                    continue
                giver = self.neighbour(rows[0], here.best.source.name)
                source = next((it for it in self._internal_ends(end.device) if it[1].device.name == giver.name), None)
                if source is None or end.session is None or end.session.reflects:
                    continue
                if source[0].session is None or source[0].session.reflects:
                    continue
                texts.append(
                    f"{end.device.name} does not reflect it from {giver.name} to {other.device.name}, "
                    "because neither is its client"
                )
                evidence += [place(end.device, it.where) for it in (end.session, source[0].session)]
        if not texts:
            return None
        shown = listed(list(dict.fromkeys(texts)), _SHOWN, "; ")
        return Cause(f"the route of {target.device.name} stops: {shown}", tuple(dict.fromkeys(evidence)))

    def _internal_ends(self, device: Device) -> Iterator[tuple[End, End]]:
        """Ends of the internal sessions of a switch, with the other ends."""
        for peering in self._sessions:
            if peering.internal and peering.down is None:
                yield from (ends for ends in peering.ends if ends[0].device is device)

    def loop(self, near: int, family: AddressFamily, key: bytes) -> Cause | None:
        """Neighbours have the route, and its AS_PATH contains the switch's own number (RFC 4271 section 9.1.2)."""
        router = self._plan.routers[near]
        for interface in router.interfaces:
            end = self._plan.interfaces[interface]
            peer = self._plan.peer(interface)
            selection = self._converged.switches[peer.row].speaker.selection(family, key)
            asns = () if selection is None else [asn for _, part in selection.best.attributes.as_path for asn in part]
            if router.asn in asns and not end.session.allowas_in:
                device = self._facts.network.devices[router.name]
                return Cause(
                    f"{router.name} refuses the route of {peer.name}: its own AS {router.asn} is in the AS_PATH",
                    (place(device, device.identity.asn_where),),
                )
        return None

    def stopped(self, source: Group, target: Group, family: AddressFamily, key: bytes) -> Cause:
        """Nothing simpler explains it: which switches have the route, and which sessions are down."""
        having = [
            switch.router.name
            for switch in self._converged.switches
            if switch.speaker.selection(family, key) is not None
        ]
        down = [it for it in self._sessions if it.down is not None]
        held = ", ".join(having) or "no switch"
        text = f"the route of {target.device.name} stops before {source.device.name}; it is at {held}"
        if down and down[0].down is not None:
            text += f"; {len(down)} sessions are down, such as {down[0]}: {down[0].down.text}"
            return Cause(text, down[0].down.evidence)
        return Cause(text)

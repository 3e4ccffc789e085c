"""Routes that a session does not carry although its neighbour has them, from the converged control plane.

Two things keep them: a policy of either end, and a limit of received prefixes. A policy counts where the switch has the
route by another session and the one that is dropped, or made worse, would be as short, so that a path of equal cost is
lost; and where a switch keeps its own route from one neighbour alone. A policy that leaves longer paths out, such as
one of a leaf that announces its own prefixes only, loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from fabric.configs.policy import Use
from fabric.configs.text.spelling import is_number
from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.policy import Policy, evaluate
from fabric.controlplane.bgp.rib import Path
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.network.forwarding import prefix_key
from fabric.controlplane.network.network import Network
from fabric.validate.checks.identity import vtep_address
from fabric.validate.policies import uses
from fabric.validate.reachability import Reachability
from fabric.validate.sessions import End, Peering


@dataclass(frozen=True, slots=True)
class Withheld:
    """What the policies of one end keep from the other."""

    by: End
    other: End
    inbound: bool
    family: str
    """'ipv4' or 'evpn'."""
    switches: tuple[str, ...]
    """Whose VTEPs the routes lead to."""
    uses: tuple[Use, ...]
    effect: str = "drops"
    """'drops', 'makes worse' or 'prefers'."""


def withheld(reach: Reachability) -> Iterator[Withheld]:
    """Every policy that drops routes of VTEPs at one of several equal sessions."""
    network = reach.network
    named = {(it.router, it.peer, it.direction): it.policy for it in reach.policies}
    if network is None or not named:
        return
    keys = {"ipv4": _addresses(reach), "evpn": reach.overlay_routes()}
    for peering in reach.sessions:
        for giver, taker in peering.ends:
            for family in ("ipv4", "evpn"):
                if not peering.carries(family) or peering.internal:
                    continue
                for by, other, inbound in ((giver, taker, False), (taker, giver, True)):
                    way = "import" if inbound else "export"
                    policy = named.get((by.device.name, other.device.name, way))
                    if policy is None:
                        continue
                    ends = (giver.device.name, taker.device.name)
                    found = [(name, _effect(reach, network, ends, family, key, policy)) for name, key in keys[family]]
                    for effect in ("drops", "makes worse", "prefers"):
                        its = tuple(uses(by, family, inbound=inbound))
                        lost = tuple(dict.fromkeys(name for name, what in found if what == effect))
                        if lost:
                            yield Withheld(by, other, inbound, family, lost, its, effect)


def _addresses(reach: Reachability) -> list[tuple[str, bytes]]:
    """(switch, route to its VTEP)."""
    found = []
    for device in reach.facts.devices:
        address = vtep_address(device)
        if address and ":" not in address and "." in address:
            found.append((device.name, prefix_key(int(ip_address(address)), 32)))
    return found


_FAMILIES: dict[str, AddressFamily] = {"ipv4": IPV4_UNICAST, "evpn": EVPN}


_LOCAL_PREFERENCE: Final = 100
"""Of a route for which no policy sets one (vendors' BGP guides; RFC 4271 section 9.1.1 leaves it open)."""


def _effect(
    reach: Reachability, network: Network, ends: tuple[str, str], family: str, key: bytes, policy: Policy
) -> str:
    """What a policy does to a route that the taker has by another session, no shorter; '' for nothing.

    It drops the route, makes it worse than that of the other session, or prefers it so that the other is not used.
    """
    giver, taker = (reach.row(name) for name in ends)
    if giver is None or taker is None:
        return ""
    here, there = (network.switches[row].speaker.selection(_FAMILIES[family], key) for row in (giver, taker))
    if here is None or (there is not None and there.best.source.local):
        return ""
    if there is None:
        alone = here.best.source.local and _given_elsewhere(reach, network, ends, family, key)
        gone = alone and evaluate(policy, _FAMILIES[family], key, here.best.attributes) is None
        return "drops" if gone else ""
    asns = [asn for _, part in here.best.attributes.as_path for asn in part]
    if network.switches[taker].router.asn in asns or _length(here.best) + 1 > _length(there.best):
        return ""
    verdict = evaluate(policy, _FAMILIES[family], key, here.best.attributes)
    if verdict is None:
        return "drops"
    after, best = verdict.attributes, there.best.attributes
    grown = sum(len(part) for _, part in after.as_path) - _length(here.best)
    own, its = _preference(after), _preference(best)
    if grown and _length(here.best) + grown + 1 > _length(there.best) and own <= its:
        return "makes worse"
    if after.local_pref is None:
        return ""
    if own < its:
        return "makes worse"
    others = network.switches[taker].speaker.candidates(_FAMILIES[family], key)
    lower = [it for it in others if _preference(it.attributes) < own and _length(it) <= _length(there.best)]
    return "prefers" if own == its and lower else ""


def _given_elsewhere(reach: Reachability, network: Network, ends: tuple[str, str], family: str, key: bytes) -> bool:
    """Whether another neighbour has a switch's own route from it: what all sessions drop, V7 and V11 say."""
    giver, taker = ends
    for peering in reach.sessions:
        names = [peering.a.device.name, peering.b.device.name]
        if giver not in names or taker in names or not peering.carries(family):
            continue
        row = reach.row(next(it for it in names if it != giver))
        found = None if row is None else network.switches[row].speaker.selection(_FAMILIES[family], key)
        if found is not None and _length(found.best) <= 1:
            return True
    return False


def _preference(attributes: Attributes) -> int:
    return _LOCAL_PREFERENCE if attributes.local_pref is None else attributes.local_pref


def _length(path: Path) -> int:
    return sum(len(part) for _, part in path.attributes.as_path)


def too_many(reach: Reachability) -> Iterator[tuple[End, End, int]]:
    """Ends whose limit of prefixes is below what the neighbour announces: (end, neighbour, prefixes)."""
    network = reach.network
    if network is None:
        return
    for peering in reach.sessions:
        for end, other in peering.ends:
            limit = "" if end.session is None else end.session.max_prefixes.value
            row = reach.row(end.device.name)
            if not is_number(limit, 18) or row is None or not peering.carries("ipv4"):
                continue
            count = _received(network, row, peering, other)
            if count > int(limit):
                yield end, other, count


def _received(network: Network, row: int, peering: Peering, other: End) -> int:
    """IPv4 prefixes that a switch has by a session, after its policies."""
    if peering.multihop or other.address not in network.switches[row].speaker.peers:
        return 0
    return sum(len(keys) for keys, _ in network.switches[row].speaker.adj_rib_in(other.address, IPV4_UNICAST))

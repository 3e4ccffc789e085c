"""Route policies of the configurations as policies of the speakers, and why a policy drops a route.

What a prefix list permits is worked out for the prefixes that the fabric has, so a list with denials becomes a plain
set. A policy whose conditions are not all read is taken as it is only where they cannot matter: where every clause
permits and one of them has no condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network
from typing import Final

from fabric.configs.model import Device
from fabric.configs.policy import Clause, Use, matches
from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.bgp.policy import Match, Policy, Rule, Set
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.network.config import NodePolicy
from fabric.controlplane.network.plan import Prefix
from fabric.validate.originated import hidden
from fabric.validate.sessions import Cause, End, Peering, place
from fabric.wire.iana import Community

_FAMILIES: Final = {"ipv4": IPV4_UNICAST, "evpn": EVPN}


def uses(end: End, family: str, *, inbound: bool) -> list[Use]:
    """The policies of one end in one direction; one of the family replaces one of the whole neighbour."""
    its = () if end.session is None else end.session.policies
    mine = [it for it in its if it.inbound is inbound and it.family in {family, ""}]
    own = {it.kind for it in mine if it.family}
    return [it for it in mine if it.family or it.kind not in own]


def policies_of(
    sessions: Iterable[Peering], prefixes: Iterable[Prefix]
) -> tuple[tuple[NodePolicy, ...], tuple[Cause, ...]]:
    """Policies of all sessions that are up, and what keeps some from being computed."""
    networks = [IPv4Network(it) for it in dict.fromkeys(prefixes)]
    found: dict[tuple[str, str, str], Policy] = {}
    unread: list[Cause] = []
    for peering in sessions:
        for end, other in peering.ends if peering.down is None else ():
            for inbound in (True, False):
                rules: list[Rule] = [] if inbound or not peering.carries("ipv4") else _hidden(end.device, networks)
                for family in filter(peering.carries, _FAMILIES):
                    try:
                        rules += _rules(end, family, networks, inbound=inbound)
                    except _UnreadError as error:
                        unread.append(error.cause)
                if rules:
                    key = end.device.name, other.device.name, "import" if inbound else "export"
                    before = found[key].rules if key in found else ()  # of another session of the two
                    found[key] = Policy((*before, *rules), name=" ".join(key))
    named = (NodePolicy(router, peer, way, policy) for (router, peer, way), policy in found.items())
    return tuple(named), tuple(dict.fromkeys(unread))


def _hidden(device: Device, networks: Iterable[IPv4Network]) -> list[Rule]:
    """More specific routes that aggregates of a switch keep from every neighbour."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    for network in networks if device.identity.aggregates else ():
        for it in hidden(device, network):
            found.setdefault(it.prefix, []).append((str(network), network.prefixlen, network.prefixlen))
    return [
        Rule(Match(tuple(its), families=(IPV4_UNICAST.id,)), accept=False, name=f"aggregate-address {prefix}")
        for prefix, its in found.items()
    ]


class _UnreadError(Exception):
    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.text)
        self.cause = cause


def _rules(end: End, family: str, networks: list[IPv4Network], *, inbound: bool) -> Iterator[Rule]:
    """The rules of one family; a prefix list and a route map must both permit."""
    device = end.device
    chains = []
    for use in sorted(uses(end, family, inbound=inbound), key=lambda it: it.kind):
        clauses = device.identity.policies.clauses(use)
        missing = dict(device.capabilities.missing_policies).get(use.kind) if clauses is None else None
        if missing:
            clauses = [Clause(10, missing == "permits", use.where)]
        if clauses is None:
            text = f"{device.name} filters by {use.kind} {use.name}, which is not in its file"
            raise _UnreadError(Cause(text, (place(device, use.where),)))
        if not _permits_all(clauses) or _prefers(clauses):
            chains.append((use, clauses))
    families = (_FAMILIES[family].id,)
    its = None if end.session is None else end.session.community_families
    sent = inbound or its is None or family in its
    for use, clauses in chains:
        last = use is chains[-1][0]
        rules = [
            rule
            for clause in clauses
            for rule in _rule(device, clause, family, families, networks, "" if inbound else None, sent=sent)
        ]
        if not last:  # what the list denies is denied; the route map decides about the rest
            yield from _denied(device, clauses, family, families, networks)
            continue
        yield from rules
        yield Rule(Match(families=families), accept=False, name=use.name)


def _permits_all(clauses: list[Clause]) -> bool:
    """Whether nothing can be dropped, and nothing is set that another policy compares."""
    free = any(_free(it) for it in clauses)
    return free and all(it.permit and not it.sets_communities for it in clauses)


def _prefers(clauses: list[Clause]) -> bool:
    """Whether a route map that drops nothing changes how good routes are, by conditions that are all read."""
    read = not any(it.unread or it.goes_on or it.tags for it in clauses)
    return read and any(it.prepends or it.local_preference is not None for it in clauses)


def _free(clause: Clause) -> bool:
    conditions = clause.prefix_lists or clause.communities or clause.route_types or clause.as_paths or clause.tags
    return not (conditions or clause.unread)


def _rule(
    device: Device,
    clause: Clause,
    family: str,
    families: tuple[tuple[int, int], ...],
    networks: list[IPv4Network],
    tag: str | None,
    *,
    sent: bool,
) -> Iterator[Rule]:
    """The rule of a clause; `sent`: whether communities that it sets reach the neighbour."""
    policies = device.identity.policies
    if clause.tags and tag is None:
        text = f"{device.name} has a route map that matches the tag of routes it sends, which is not computed"
        raise _UnreadError(Cause(text, (place(device, clause.where),)))
    if clause.unread or clause.goes_on:
        what = clause.unread or "continue"
        text = f"{device.name} has a route map with '{what}', which is not computed"
        raise _UnreadError(Cause(text, (place(device, clause.where),)))
    exact: tuple[tuple[str, int, int], ...] = ()
    if family == "evpn":
        if not matches(policies, clause, family, None, tag):
            return
    else:
        verdicts = {network: matches(policies, clause, family, network, tag) for network in networks}
        if None in verdicts.values():
            text = f"{device.name} has a route map with a prefix list that is not in its file"
            raise _UnreadError(Cause(text, (place(device, clause.where),)))
        taken = [network for network, verdict in verdicts.items() if verdict]
        if not taken:
            return
        if len(taken) < len(networks):
            exact = tuple((str(it), it.prefixlen, it.prefixlen) for it in taken)
    change = Set(
        local_pref=clause.local_preference,
        prepend=clause.prepends,
        add_communities=tuple(_community(device, clause, it) for it in clause.sets_communities if sent),
    )
    communities: tuple[int, ...] = ()
    for name in clause.communities:
        rules = policies.community_lists.get(name)
        if rules is None or any(not permit or len(its) != 1 for permit, its in rules):
            text = f"{device.name} has a community list {name} that is not computed, or not in its file"
            raise _UnreadError(Cause(text, (place(device, clause.where),)))
        communities += tuple(_community(device, clause, its[0]) for _, its in rules)
    paths: tuple[tuple[bool, str], ...] = ()
    for name in clause.as_paths:
        found = policies.as_path_lists.get(name)
        if not found:
            text = f"{device.name} has an AS-path list {name} that is not computed, or not in its file"
            raise _UnreadError(Cause(text, (place(device, clause.where),)))
        paths += tuple(found)
    yield Rule(
        Match(exact, communities, families=families, as_path_lists=paths), clause.permit, change, str(clause.number)
    )


_WELL_KNOWN: Final = {
    "no-export": int(Community.NO_EXPORT),
    "no-advertise": int(Community.NO_ADVERTISE),
    "local-as": int(Community.NO_EXPORT_SUBCONFED),
    "graceful-shutdown": 0xFFFF_0000,
}


def confines(text: str) -> int:
    """The number of a community that keeps a route from other switches (RFC 1997); 0 for any other one."""
    return 0 if text.lower() == "graceful-shutdown" else _WELL_KNOWN.get(text.lower(), 0)


def _community(device: Device, clause: Clause, text: str) -> int:
    high, colon, low = text.partition(":")
    if text.lower() in _WELL_KNOWN:
        return _WELL_KNOWN[text.lower()]
    if (
        not (colon and high.isdigit() and low.isdigit() and len(high) < 6 and len(low) < 6)
        or max(int(high), int(low)) > 0xFFFF
    ):
        said = f"{device.name} has a community '{text[:40]}', which is not computed"
        raise _UnreadError(Cause(said, (place(device, clause.where),)))
    return (int(high) << 16) + int(low)


def _denied(
    device: Device,
    clauses: list[Clause],
    family: str,
    families: tuple[tuple[int, int], ...],
    networks: list[IPv4Network],
) -> Iterator[Rule]:
    policies = device.identity.policies
    if family == "evpn":
        return
    dropped = [it for it in networks if not any(matches(policies, clause, family, it) for clause in clauses)]
    if dropped:
        exact = tuple((str(it), it.prefixlen, it.prefixlen) for it in dropped)
        yield Rule(Match(exact, families=families), accept=False)

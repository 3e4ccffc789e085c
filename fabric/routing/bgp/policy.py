"""Import and export policy: an ordered list of rules, each a pure filter. The first rule that matches decides.

A route that no rule matches is accepted unchanged, unless the policy says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network
from typing import Final, NamedTuple

from fabric.routing.bgp.afi import AddressFamily
from fabric.routing.bgp.attributes import Attributes, origin_asn, prepend
from fabric.wire.iana import Afi, Safi


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule applies to; every field that is set must match, one element of a field suffices."""

    prefixes: tuple[tuple[str, int, int], ...] = ()
    """(prefix, ge, le): routes inside `prefix` with a length from ge to le. IPv4 and IPv6 unicast only."""
    communities: tuple[int, ...] = ()
    large_communities: tuple[tuple[int, int, int], ...] = ()
    ext_communities: tuple[bytes, ...] = ()
    as_path_contains: tuple[int, ...] = ()
    """AS numbers anywhere in the AS_PATH."""
    origin_asns: tuple[int, ...] = ()
    """Last AS of the AS_PATH; the own AS for local routes is not in it."""
    families: tuple[tuple[int, int], ...] = ()
    """(AFI, SAFI)."""


@dataclass(frozen=True, slots=True)
class Set:
    """What a rule does to the routes it accepts; None or () leaves a field alone."""

    local_pref: int | None = None
    med: int | None = None
    weight: int | None = None
    prepend: tuple[int, ...] = ()
    """AS numbers put in front of the AS_PATH."""
    add_communities: tuple[int, ...] = ()
    remove_communities: tuple[int, ...] = ()
    add_large_communities: tuple[tuple[int, int, int], ...] = ()
    add_ext_communities: tuple[bytes, ...] = ()
    next_hop: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """If `match` then accept with `set`, or deny."""

    match: Match = Match()
    accept: bool = True
    set: Set = Set()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order. Hashable: neighbours with equal export policies share one update group."""

    rules: tuple[Rule, ...] = ()
    default_accept: bool = True
    name: str = ""


ACCEPT_ALL: Final = Policy()
DENY_ALL: Final = Policy(default_accept=False, name="deny-all")


class Verdict(NamedTuple):
    """What a policy makes of a route it accepts."""

    attributes: Attributes
    weight: int | None = None
    next_hop: bytes | None = None


def looks_at_prefixes(policy: Policy) -> bool:
    """Whether routes with equal attributes may fare differently."""
    return any(rule.match.prefixes for rule in policy.rules)


def evaluate(policy: Policy, family: AddressFamily, key: bytes | None, attributes: Attributes) -> Verdict | None:
    """First rule that matches decides; None: denied. `key` may be None where the policy looks at no prefix."""
    for rule in policy.rules:
        if _matches(rule.match, family, key, attributes):
            return _apply(rule.set, attributes) if rule.accept else None
    return Verdict(attributes) if policy.default_accept else None


def _matches(match: Match, family: AddressFamily, key: bytes | None, its: Attributes) -> bool:
    if match.families and family.id not in match.families:
        return False
    if match.prefixes and (key is None or not _in_prefixes(match.prefixes, family, key)):
        return False
    if match.as_path_contains and not any(asn in match.as_path_contains for _, asns in its.as_path for asn in asns):
        return False
    if match.origin_asns and origin_asn(its.as_path) not in match.origin_asns:
        return False
    return all(not wanted or any(one in there for one in wanted) for wanted, there in (
        (match.communities, its.communities), (match.large_communities, its.large_communities),
        (match.ext_communities, its.ext_communities)))


def _in_prefixes(prefixes: tuple[tuple[str, int, int], ...], family: AddressFamily, key: bytes) -> bool:
    if family.safi != Safi.UNICAST:
        return False
    width = 4 if family.afi == Afi.IPV4 else 16
    bits = int.from_bytes(key[1:].ljust(width, b"\0"))
    for text, low, high in prefixes:
        network = ip_network(text)
        if network.version != (4 if width == 4 else 6) or not low <= key[0] <= high or key[0] < network.prefixlen:
            continue
        shift = width * 8 - network.prefixlen
        if bits >> shift == int(network.network_address) >> shift:
            return True
    return False


def _apply(change: Set, its: Attributes) -> Verdict:
    communities = tuple(sorted({*its.communities, *change.add_communities} - {*change.remove_communities}))
    after = replace(
        its,
        local_pref=its.local_pref if change.local_pref is None else change.local_pref,
        med=its.med if change.med is None else change.med,
        as_path=prepend(its.as_path, *change.prepend),
        communities=communities,
        large_communities=tuple(sorted({*its.large_communities, *change.add_large_communities})),
        ext_communities=(its.ext_communities if not change.add_ext_communities
                         else tuple(sorted({*its.ext_communities, *change.add_ext_communities}))))
    next_hop = None if change.next_hop is None else ip_address(change.next_hop).packed
    return Verdict(after, change.weight, next_hop)

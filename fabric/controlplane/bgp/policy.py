"""Import and export policy: an ordered list of rules, each a pure filter. The first rule that matches decides.

A route that no rule matches is accepted unchanged, unless the policy says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.attributes import Attributes, origin_asn, prepend
from fabric.wire.iana import Afi, Safi


@dataclass(frozen=True, slots=True)
class Match:
    """Condition of a rule. Every field that is set must match; one matching element of a field suffices."""

    prefixes: tuple[tuple[str, int, int], ...] = ()
    """(prefix, ge, le): routes inside `prefix` with a length from ge to le. IPv4 and IPv6 unicast only."""
    communities: tuple[int, ...] = ()
    large_communities: tuple[tuple[int, int, int], ...] = ()
    ext_communities: tuple[bytes, ...] = ()
    as_path_contains: tuple[int, ...] = ()
    """AS numbers anywhere in the AS_PATH."""
    origin_asns: tuple[int, ...] = ()
    """Last AS of the AS_PATH; the AS_PATH of local routes does not have the own AS."""
    families: tuple[tuple[int, int], ...] = ()
    """(AFI, SAFI)."""
    as_path_lists: tuple[tuple[bool, str], ...] = ()
    """(permits, regular expression) in order: the first that is found in the AS_PATH decides; none: no match."""


@dataclass(frozen=True, slots=True)
class Set:
    """Changes that a rule makes to accepted routes; None or () leaves a field unchanged."""

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
    """A route after the policy that accepted it."""

    attributes: Attributes
    weight: int | None = None
    next_hop: bytes | None = None


def looks_at_prefixes(policy: Policy) -> bool:
    """Whether the policy can treat routes with equal attributes differently."""
    return any(rule.match.prefixes for rule in policy.rules)


def evaluate(policy: Policy, family: AddressFamily, key: bytes | None, attributes: Attributes) -> Verdict | None:
    """Apply the first rule that matches; None: denied. `key` may be None if the policy matches no prefixes."""
    for rule in policy.rules:
        if _matches(rule.match, family, key, attributes):
            return _apply(rule.set, attributes) if rule.accept else None
    return Verdict(attributes) if policy.default_accept else None


def _matches(match: Match, family: AddressFamily, key: bytes | None, attributes: Attributes) -> bool:
    if match.families and family.id not in match.families:
        return False
    if match.prefixes and (key is None or not _in_prefixes(match.prefixes, family, key)):
        return False
    if match.as_path_contains and not any(
        asn in match.as_path_contains for _, asns in attributes.as_path for asn in asns
    ):
        return False
    if match.origin_asns and origin_asn(attributes.as_path) not in match.origin_asns:
        return False
    if match.as_path_lists and not _path_permitted(match.as_path_lists, attributes):
        return False
    return all(
        not wanted or any(one in there for one in wanted)
        for wanted, there in (
            (match.communities, attributes.communities),
            (match.large_communities, attributes.large_communities),
            (match.ext_communities, attributes.ext_communities),
        )
    )


def _path_permitted(rules: tuple[tuple[bool, str], ...], attributes: Attributes) -> bool:
    """The AS_PATH as text, AS numbers with blanks between: what the regular expressions of vendors look at."""
    text = " ".join(str(asn) for _, asns in attributes.as_path for asn in asns)
    return next((permits for permits, pattern in rules if re.search(pattern, text)), False)


def _in_prefixes(prefixes: tuple[tuple[str, int, int], ...], family: AddressFamily, key: bytes) -> bool:
    if family.safi != Safi.UNICAST:
        return False
    width = 4 if family.afi == Afi.IPV4 else 16
    bits = int.from_bytes(key[1:].ljust(width, b"\0"))
    for text, low, high in prefixes:
        network = _network(text)
        if network.version != (4 if width == 4 else 6) or not low <= key[0] <= high or key[0] < network.prefixlen:
            continue
        shift = width * 8 - network.prefixlen
        if bits >> shift == int(network.network_address) >> shift:
            return True
    return False


@cache
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


def _apply(change: Set, attributes: Attributes) -> Verdict:
    communities = tuple(sorted({*attributes.communities, *change.add_communities} - {*change.remove_communities}))
    after = replace(
        attributes,
        local_pref=attributes.local_pref if change.local_pref is None else change.local_pref,
        med=attributes.med if change.med is None else change.med,
        as_path=prepend(attributes.as_path, *change.prepend),
        communities=communities,
        large_communities=tuple(sorted({*attributes.large_communities, *change.add_large_communities})),
        ext_communities=(
            attributes.ext_communities
            if not change.add_ext_communities
            else tuple(sorted({*attributes.ext_communities, *change.add_ext_communities}))
        ),
    )
    next_hop = None if change.next_hop is None else ip_address(change.next_hop).packed
    return Verdict(after, change.weight, next_hop)

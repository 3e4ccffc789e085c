"""Policies of a speaker as FRR's route-maps, with the lists that they match by.

A rule is an entry: its match as prefix-list, community-list and AS path list of the entry's own name, its changes as
`set` lines. What no rule matches falls to a last entry, since a route-map denies what a policy accepts by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.errors import Problem
from fabric.routing.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.routing.bgp.policy import ACCEPT_ALL, Match, Policy, Rule, Set

_LAST: Final = 65_535
_MATCHED: Final = {"prefixes", "communities", "as_path_contains", "families"}
_CHANGED: Final = {"local_pref", "med", "weight", "prepend", "add_communities"}


def problems_of(policy: Policy, where: str) -> list[Problem]:
    """Fields that are not rendered."""
    found = []
    for rule in policy.rules:
        parts = ((rule.match, Match(), _MATCHED, "match"), (rule.set, Set(), _CHANGED, "set"))
        for values, empty, known, what in parts:
            found += [Problem(where, f"{what}.{name} is not rendered as a route-map", "leave it out")
                      for name in values.__dataclass_fields__
                      if name not in known and getattr(values, name) != getattr(empty, name)]
    return found


class RouteMaps:
    """Route-maps of one router; equal policies share one. `prefix` of their names: a later set must not reuse them."""

    def __init__(self, prefix: str = "POLICY") -> None:
        self._prefix = prefix
        self._names: dict[tuple[Policy, AddressFamily], str] = {}

    def name(self, policy: Policy, family: AddressFamily) -> str | None:
        """What to attach to a neighbour; None: it accepts everything unchanged."""
        if policy == ACCEPT_ALL:
            return None
        return self._names.setdefault((policy, family), f"{self._prefix}-{len(self._names) + 1}")

    def lines(self) -> Iterator[str]:
        """Definitions of all that was named."""
        for (policy, family), name in self._names.items():
            for number, rule in enumerate(policy.rules, 1):
                if _can_match(rule.match, family):
                    yield from _entry(rule, name, 10 * number)
            yield f"route-map {name} {'permit' if policy.default_accept else 'deny'} {_LAST}"
            yield "exit"


def _can_match(match: Match, family: AddressFamily) -> bool:
    """Prefixes are those of unicast routes (policy.py); a route-map cannot say so, so EVPN's goes without the rule."""
    return (not match.families or family.id in match.families) and (not match.prefixes or family is IPV4_UNICAST)


def _entry(rule: Rule, name: str, number: int) -> Iterator[str]:
    match, its, change = rule.match, f"{name}-{number}", rule.set
    for prefix, least, most in match.prefixes:
        own = int(prefix.rpartition("/")[2])
        bounds = (f" ge {least}" if least > own else "") + (f" le {most}" if most > own else "")
        yield f"ip prefix-list {its} permit {prefix}{bounds}"
    for community in match.communities:
        yield f"bgp community-list standard {its} permit {_community(community)}"
    for asn in match.as_path_contains:
        yield f"bgp as-path access-list {its} permit _{asn}_"
    yield f"route-map {name} {'permit' if rule.accept else 'deny'} {number}"
    if match.prefixes:
        yield f" match ip address prefix-list {its}"
    if match.communities:
        yield f" match community {its}"
    if match.as_path_contains:
        yield f" match as-path {its}"
    if change.local_pref is not None:
        yield f" set local-preference {change.local_pref}"
    if change.med is not None:
        yield f" set metric {change.med}"
    if change.weight is not None:
        yield f" set weight {change.weight}"
    if change.prepend:
        yield f" set as-path prepend {' '.join(map(str, change.prepend))}"
    if change.add_communities:
        yield f" set community {' '.join(map(_community, change.add_communities))} additive"
    yield "exit"


def _community(community: int) -> str:
    return f"{community >> 16}:{community & 0xFFFF}"

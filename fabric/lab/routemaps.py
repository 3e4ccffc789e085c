"""Policies of a speaker as FRR's route-maps, with the lists that they match.

A rule is an entry. Its match is a prefix-list, community-list and AS path list with the entry's name; its changes are
`set` lines. A last entry handles routes that no rule matches: by default a route-map denies them, a policy accepts
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.policy import ACCEPT_ALL, Match, Policy, Rule, Set
from fabric.errors import Problem

_LAST: Final = 65_535
_MATCHED: Final = {"prefixes", "communities", "as_path_contains", "families"}
_CHANGED: Final = {"local_pref", "med", "weight", "prepend", "add_communities"}


def problems_of(policy: Policy, where: str) -> list[Problem]:
    """Fields that are not rendered."""
    found = []
    for rule in policy.rules:
        parts = ((rule.match, Match(), _MATCHED, "match"), (rule.set, Set(), _CHANGED, "set"))
        for values, empty, known, what in parts:
            found += [
                Problem(where, f"{what}.{name} is not rendered as a route-map", "leave it out")
                for name in values.__dataclass_fields__
                if name not in known and getattr(values, name) != getattr(empty, name)
            ]
    return found


class RouteMaps:
    """Route-maps of one router; equal policies share one. `prefix` makes their names unique among later sets."""

    def __init__(self, prefix: str = "POLICY") -> None:
        self._prefix = prefix
        self._names: dict[tuple[Policy, AddressFamily], str] = {}

    def name(self, policy: Policy, family: AddressFamily) -> str | None:
        """Name of the route-map for a neighbour; None: the policy accepts everything unchanged."""
        if policy == ACCEPT_ALL:
            return None
        return self._names.setdefault((policy, family), f"{self._prefix}-{len(self._names) + 1}")

    def lines(self) -> Iterator[str]:
        """Definitions of all named route-maps."""
        for (policy, family), name in self._names.items():
            for number, rule in enumerate(policy.rules, 1):
                if _can_match(rule.match, family):
                    yield from _entry(rule, name, 10 * number)
            yield f"route-map {name} {'permit' if policy.default_accept else 'deny'} {_LAST}"
            yield "exit"


def _can_match(match: Match, family: AddressFamily) -> bool:
    """A rule's prefixes match unicast routes only (policy.py). Route-maps lack this, so EVPN's one omits the rule."""
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

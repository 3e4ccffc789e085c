"""Route policies of a switch in one form: route maps, prefix lists and community lists, and where sessions use them.

`decide` evaluates a policy for one prefix. What a clause compares and this model does not have makes the clause unread:
whether it matches is then not known. Sources: RFC 4271 section 9.1 and 9.2 (import and export policy); EOS, NX-OS and
FRR agree on the order: the first clause that matches decides, and a route that none matches is dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Network, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabric.configs.model import Where

MAX_LENGTH: Final = 32
HOST_ROUTES: Final = 2
"""EVPN route type of MAC and IP addresses (RFC 7432 section 7.2)."""


@dataclass(frozen=True, slots=True)
class PrefixEntry:
    """One line of a prefix list: IPv4 prefixes inside `network` with a length from `low` to `high`."""

    permit: bool
    network: str
    low: int
    high: int
    number: int = 0
    line_where: Where = field(default=(), compare=False)

    def matches(self, prefix: IPv4Network) -> bool:
        """Whether a prefix is one of these."""
        own = ip_network(self.network)
        inside = isinstance(own, IPv4Network) and prefix.subnet_of(own)
        return inside and self.low <= prefix.prefixlen <= self.high


@dataclass(slots=True)
class Clause:
    """One entry of a route map. Every kind of condition that is stated must match."""

    number: int
    permit: bool
    where: Where
    prefix_lists: tuple[str, ...] = ()
    """One of these permits the prefix."""
    communities: tuple[str, ...] = ()
    """Community lists, one of which matches."""
    route_types: frozenset[int] = frozenset()
    """EVPN route types, one of which it is."""
    as_paths: tuple[str, ...] = ()
    """AS-path lists, one of which permits the AS_PATH."""
    tags: frozenset[str] = frozenset()
    """Tags of routes of this switch, one of which it has. BGP carries none (RFC 4271)."""
    sets_communities: tuple[str, ...] = ()
    prepends: tuple[int, ...] = ()
    """AS numbers that are put in front of the AS_PATH."""
    local_preference: int | None = None
    next_hop: str = ""
    """Address that it makes the next hop; '' where it leaves that alone."""
    unread: str = ""
    """A condition that this model does not have."""
    others: tuple[tuple[str, str], ...] = ()
    """(kind, name) of lists of kinds that are not read."""
    goes_on: bool = False
    """A match does not end the evaluation (`continue`)."""


@dataclass(frozen=True, slots=True)
class Use:
    """A policy at a session."""

    family: str
    """'ipv4' or 'evpn'; '' for both."""
    inbound: bool
    name: str
    where: Where
    kind: str = "route-map"
    """'route-map' or 'prefix-list'."""

    @property
    def of_ipv4(self) -> bool:
        """Whether it is a policy of a kind that is read: lists of IPv6 prefixes are not."""
        return self.family in {"ipv4", "evpn"} or (not self.family and self.kind == "route-map")

    def __str__(self) -> str:
        return f"{self.family or 'every family'} {'in' if self.inbound else 'out'} {self.kind} {self.name}"


@dataclass(slots=True)
class Policies:
    """Every policy of a switch."""

    route_maps: dict[str, list[Clause]] = field(default_factory=dict)
    prefix_lists: dict[str, list[PrefixEntry]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    """Lists that are in the file and are not read: prefix lists of IPv6, AS-path lists with other expressions."""
    unread_lists: set[tuple[str, str]] = field(default_factory=set)
    """(kind, name) of lists of kinds that are not read: extended communities, access lists."""
    community_lists: dict[str, list[tuple[bool, tuple[str, ...]]]] = field(default_factory=dict)
    """Name to (permits, communities that must all be there)."""
    as_path_lists: dict[str, list[tuple[bool, str]]] = field(default_factory=dict)
    """Name to (permits, regular expression)."""
    redistribution: tuple[str, Where] | None = None
    """Route map that filters connected routes on their way into BGP."""

    def permits(self, name: str, prefix: IPv4Network) -> bool | None:
        """Whether a prefix list permits a prefix; None where the list is not in the file.

        A list without entries, or of which none matches, denies.
        """
        entries = self.prefix_lists.get(name)
        if entries is None:
            return None
        return next((it.permit for it in sorted(entries, key=lambda it: it.number) if it.matches(prefix)), False)

    def entry_for(self, name: str, prefix: IPv4Network) -> PrefixEntry | None:
        """The line of a prefix list that decides about a prefix; the last one where none matches; None: no line."""
        entries = sorted(self.prefix_lists.get(name, ()), key=lambda it: it.number)
        return next((it for it in entries if it.matches(prefix)), entries[-1] if entries else None)

    def lines_for(self, clauses: Iterable[Clause], prefix: IPv4Network) -> list[Where]:
        """Lines of prefix lists that make clauses drop a prefix: those that a denial matches, or that keep it out of
        what is permitted.
        """
        found: list[Where] = []
        for clause in sorted(clauses, key=lambda it: it.number):
            for name in clause.prefix_lists:
                entry = self.entry_for(name, prefix)
                if entry is not None and (entry.permit and entry.matches(prefix)) is not clause.permit:
                    found.append(entry.line_where)
        return list(filter(None, found))

    def clauses(self, use: Use) -> list[Clause] | None:
        """The clauses of a policy in their order, a prefix list as one; None where it is not in the file."""
        if use.kind == "prefix-list":
            return [Clause(10, True, use.where, (use.name,))] if use.name in self.prefix_lists else None
        found = self.route_maps.get(use.name)
        return None if found is None else sorted(found, key=lambda it: it.number)


def matches(
    policies: Policies, clause: Clause, family: str, prefix: IPv4Network | None, tag: str | None = None
) -> bool | None:
    """Whether the conditions of a clause that a route's key decides hold; None where that is not known.

    Of EVPN, routes of hosts are meant (type 2): a prefix list matches none of them, and a route type only its own.
    `tag` is the route's, '' for one that came by BGP; None where it is not known.
    """
    if clause.unread or (clause.tags and tag is None):
        return None
    if clause.tags and tag not in clause.tags:
        return False
    if clause.route_types and (family != "evpn" or HOST_ROUTES not in clause.route_types):
        return False
    if clause.prefix_lists:
        if family == "evpn" or prefix is None:
            return False
        found = [policies.permits(name, prefix) for name in clause.prefix_lists]
        return True if True in found else None if None in found else False
    return True


def prefix_entry(
    permit: bool, text: str, ge: str | None, le: str | None, number: int, where: Where = ()
) -> PrefixEntry | None:
    """'10.0.0.0/8', '24', None -> 24 to 32. None where it is no IPv4 prefix, or no length."""
    try:
        network = ip_network("0.0.0.0/0" if text == "any" else text, strict=False)
        low = int(ge) if ge else network.prefixlen
        high = int(le) if le else MAX_LENGTH if ge or text == "any" else network.prefixlen
    except ValueError:
        return None
    return PrefixEntry(permit, str(network), low, high, number, where) if network.version == 4 else None


_NESTED: Final = re.compile(r"[)\]}*+?][*+{]|\)\?.*[*+]|\\[^.d_|()\[\]]")
"""Repeated groups and classes: of these, a short text can take exponential time. `[0-9]+` is allowed below."""
_LONGEST: Final = 200


def as_path_expression(text: str) -> str:
    """A list's regular expression as Python's; '' where it is not understood. `_` is a delimiter or an end."""
    text = text.strip("\"'")
    plain = text.replace("[0-9]+", "D").replace("[0-9]*", "D").replace("\\d+", "D")
    if len(text) > _LONGEST or _NESTED.search(plain):
        return ""
    found = text.replace("_", "(?:^|[ ,{}()]|$)")
    try:
        re.compile(found)
    except re.error:
        return ""
    return found

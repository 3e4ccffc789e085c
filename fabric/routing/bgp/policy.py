"""Import and export policy: an ordered list of rules, each a pure filter. The first rule that matches decides.

A route that no rule matches is accepted unchanged, unless the policy says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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

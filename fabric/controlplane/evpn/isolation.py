"""Proof of tenant isolation from the tables of all switches, or the breaches found.

A packet of one tenant can reach another tenant only if a switch imported a route of the other into the tenant's table,
or if both use the same number. So tenants are isolated if

1. no VNI, L2 or L3, belongs to two tenants,
2. no route distinguisher belongs to two tenants (their routes would replace each other),
3. no table of one tenant imports a route target that a table of another tenant exports,
4. no table holds a route that another tenant's table exported, whatever the present targets are.

Rules 1 to 3 hold for all possible routes, rule 4 for the present ones. A VNI of the default tenant without routing is a
separate domain, since it is only bridged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from fabric.controlplane.evpn.config import DEFAULT_TENANT
from fabric.controlplane.evpn.evpn_attributes import target_text
from fabric.controlplane.evpn.evpn_nlri import EvpnKey
from fabric.controlplane.evpn.rd import rd_text
from fabric.controlplane.evpn.targets import masked
from fabric.controlplane.evpn.vni import VniTable
from fabric.controlplane.evpn.vrf import VrfTable
from fabric.controlplane.evpn.vtep import Vtep

_Table = VniTable | VrfTable
_Number = TypeVar("_Number")


class BreachKind(StrEnum):
    """The violated rule."""

    SHARED_VNI = "shared VNI"
    SHARED_RD = "shared route distinguisher"
    IMPORT = "imports a foreign target"
    LEAK = "holds a foreign route"


@dataclass(frozen=True, slots=True)
class Place:
    """A table of a switch."""

    switch: str
    vni: int
    domain: str
    """The tenant, or 'VNI n'."""


@dataclass(frozen=True, slots=True)
class Breach:
    """One connection between tenants, with its evidence."""

    kind: BreachKind
    here: Place
    there: Place
    evidence: str
    """The number, target or route in both tables."""

    def __str__(self) -> str:
        here, there = (f"{place.domain} on {place.switch} (VNI {place.vni})" for place in (self.here, self.there))
        return f"{self.kind}: {here} and {there}: {self.evidence}"


@dataclass(frozen=True, slots=True)
class Isolation:
    """Breaches, and the amount of checked state."""

    breaches: tuple[Breach, ...]
    domains: tuple[str, ...]
    tables: int
    routes: int
    """Number of checked imported routes."""

    @property
    def proved(self) -> bool:
        """True: no packet can go from one domain to another."""
        return not self.breaches


def check_isolation(vteps: Iterable[Vtep]) -> Isolation:
    """Prove or disprove tenant isolation. Breaches are sorted; each pair of tables appears once per kind."""
    tables = [(place, table) for vtep in vteps for place, table in _tables(vtep)]
    found: dict[tuple[BreachKind, Place, str], Breach] = {}
    owner_of_rd = {table.identity.rd: place for place, table in tables}
    for breach in (
        *_shared(BreachKind.SHARED_VNI, tables, lambda place, _: place.vni, str),
        *_shared(BreachKind.SHARED_RD, tables, lambda _, table: table.identity.rd, rd_text),
        *_imports(tables),
        *_leaks(tables, owner_of_rd),
    ):
        found.setdefault((breach.kind, breach.here, breach.there.domain), breach)
    breaches = sorted(found.values(), key=lambda one: (one.kind, one.here.switch, one.here.vni, one.there.domain))
    return Isolation(
        tuple(breaches),
        tuple(sorted({place.domain for place, _ in tables})),
        len(tables),
        sum(len(table.imports) for _, table in tables),
    )


def _tables(vtep: Vtep) -> Iterator[tuple[Place, _Table]]:
    name = vtep.config.hostname
    for vni, table in vtep.vnis.items():
        tenant = table.config.tenant
        alone = tenant == DEFAULT_TENANT and tenant not in vtep.vrfs
        yield Place(name, vni, f"VNI {vni}" if alone else tenant), table
    for tenant, vrf in vtep.vrfs.items():
        yield Place(name, vrf.config.l3_vni, tenant), vrf


def _shared(
    kind: BreachKind,
    tables: list[tuple[Place, _Table]],
    number_of: Callable[[Place, _Table], _Number],
    text: Callable[[_Number], str],
) -> Iterator[Breach]:
    """Rules 1 and 2: numbers that two domains share."""
    first: dict[_Number, Place] = {}
    for place, table in tables:
        number = number_of(place, table)
        other = first.setdefault(number, place)
        if other.domain != place.domain:
            yield Breach(kind, place, other, text(number))


def _imports(tables: list[tuple[Place, _Table]]) -> Iterator[Breach]:
    """Rule 3: look up the imported targets in an index of the exported ones."""
    exact: dict[bytes, dict[str, tuple[Place, bytes]]] = {}
    any_asn: dict[bytes, dict[str, tuple[Place, bytes]]] = {}
    for place, table in tables:
        for target in table.identity.exports:
            exact.setdefault(target, {}).setdefault(place.domain, (place, target))
            any_asn.setdefault(masked(target), {}).setdefault(place.domain, (place, target))
    for place, table in tables:
        for wanted in table.identity.imports:
            exporters = (any_asn if wanted.any_asn else exact).get(wanted.form(wanted.target), {})
            for domain, (other, target) in exporters.items():
                if domain != place.domain:
                    yield Breach(BreachKind.IMPORT, place, other, f"route target {target_text(target)}")


def _leaks(tables: list[tuple[Place, _Table]], owner_of_rd: dict[bytes, Place]) -> Iterator[Breach]:
    """Rule 4: check the owner of every held route's distinguisher."""
    for place, table in tables:
        for rd, route in _held(table):
            owner = owner_of_rd.get(rd)
            if owner is not None and owner.domain != place.domain:
                yield Breach(BreachKind.LEAK, place, owner, f"route {rd_text(rd)} {route}")


def _held(table: _Table) -> Iterator[tuple[bytes, str]]:
    """(distinguisher, name) of held routes; the first route of an announcement represents all of its routes."""
    if isinstance(table, VrfTable):
        for prefix, routes in table.imports.items():
            yield from ((key.rd, prefix) for key in routes)
        return
    seen: set[int] = set()
    for inner, candidates in table.imports.items():
        if id(candidates) not in seen:
            seen.add(id(candidates))
            yield from ((rd, EvpnKey(inner[:1] + rd + inner[1:]).text) for rd, _ in candidates)

"""What one call changed, gathered and then said once: the last state of each route, MAC and binding, by fate."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabric.overlay.actions import (
    Action,
    DuplicateMac,
    FloodListChanged,
    MacsChanged,
    NeighborsChanged,
    Originate,
    StickyMacMoved,
    TenantRoutesChanged,
    Withdraw,
)
from fabric.overlay.evpn_nlri import EvpnKey, Payload
from fabric.overlay.mac import MacKind, NeighborKind
from fabric.routing.bgp.attributes import Attributes

if TYPE_CHECKING:
    from fabric.overlay.vni import VniTable

_Item = TypeVar("_Item")
_Fate = TypeVar("_Fate", bound=Hashable)


class Announcement(NamedTuple):
    """What is said about a route besides its key."""

    attributes: Attributes
    payload: Payload | None


@dataclass(slots=True)
class Edits:
    """Gathered changes of one call."""

    next_hop: bytes
    routes: dict[EvpnKey, Announcement | None] = field(default_factory=dict)
    """In the order of their last change; None withdraws."""
    macs: dict[tuple[VniTable, str], None] = field(default_factory=dict)
    neighbors: dict[tuple[VniTable, str], str] = field(default_factory=dict)
    """(table, IP) -> MAC, which a binding that is gone had."""
    floods: dict[VniTable, None] = field(default_factory=dict)
    prefixes: dict[str, dict[str, None]] = field(default_factory=dict)
    """Tenant -> prefixes."""
    alarms: list[DuplicateMac | StickyMacMoved] = field(default_factory=list)

    def announce(self, key: EvpnKey, announcement: Announcement) -> None:
        """Originate a route, or replace what was said about it."""
        self.routes.pop(key, None)
        self.routes[key] = announcement

    def withdraw(self, key: EvpnKey) -> None:
        """Take a route back."""
        self.routes.pop(key, None)
        self.routes[key] = None

    def actions(self) -> list[Action]:
        """Everything that changed: tables first (they forward at once), then routes, then alarms."""
        found: list[Action] = []
        for (table, kind, port, vtep), macs in grouped((_mac_fate(table, mac), mac) for table, mac in self.macs):
            found.append(MacsChanged(table.vni, macs, kind, port, vtep))
        for (table, bound, vtep), bindings in grouped(
                (_neighbor_fate(table, ip), (ip, mac)) for (table, ip), mac in self.neighbors.items()):
            found.append(NeighborsChanged(table.vni, bindings, bound, vtep))
        found += [FloodListChanged(table.vni, table.flood_vteps()) for table in self.floods]
        found += [TenantRoutesChanged(tenant, tuple(prefixes)) for tenant, prefixes in self.prefixes.items()]
        said = {id(announcement): announcement for announcement in self.routes.values()}
        for fate, keys in grouped((id(announcement), key) for key, announcement in self.routes.items()):
            announcement = said[fate]            # tables keep their announcements, so equal ones are one object
            found.append(Withdraw(keys) if announcement is None
                         else Originate(keys, announcement.attributes, self.next_hop, announcement.payload))
        return found + self.alarms


def _mac_fate(table: VniTable, mac: str) -> tuple[VniTable, MacKind | None, str, str]:
    entry = table.macs.get(mac)
    if entry is None or entry.kind is MacKind.AUTO:
        return table, None, "", ""
    return table, entry.kind, entry.port, entry.vtep


def _neighbor_fate(table: VniTable, ip: str) -> tuple[VniTable, NeighborKind | None, str]:
    entry = table.neighbors.get(ip)
    return (table, None, "") if entry is None else (table, entry.kind, entry.vtep)


def grouped(pairs: Iterable[tuple[_Fate, _Item]]) -> Iterable[tuple[_Fate, tuple[_Item, ...]]]:
    """Items of one fate together, in the order in which fates and items appear."""
    groups: dict[_Fate, list[_Item]] = {}
    for fate, item in pairs:
        groups.setdefault(fate, []).append(item)
    return ((fate, tuple(items)) for fate, items in groups.items())

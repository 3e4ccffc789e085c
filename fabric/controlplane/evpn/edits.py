"""Changes of one call, collected and reported once: the last state of each route, MAC and binding, grouped by state."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.evpn.actions import (
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
from fabric.controlplane.evpn.evpn_nlri import EvpnKey, Payload
from fabric.controlplane.evpn.mac import MacKind, NeighborKind

if TYPE_CHECKING:
    from fabric.controlplane.evpn.vni import VniTable

_Item = TypeVar("_Item")
_State = TypeVar("_State", bound=Hashable)


class Announcement(NamedTuple):
    """Content of a route besides its key."""

    attributes: Attributes
    payload: Payload | None


@dataclass(slots=True)
class Edits:
    """Collected changes of one call."""

    next_hop: bytes
    routes: dict[EvpnKey, Announcement | None] = field(default_factory=dict)
    """In the order of their last change; None: withdraw."""
    macs: dict[tuple[VniTable, str], None] = field(default_factory=dict)
    neighbors: dict[tuple[VniTable, str], str] = field(default_factory=dict)
    """(table, IP) -> MAC of the binding, or of the removed binding."""
    floods: dict[VniTable, None] = field(default_factory=dict)
    prefixes: dict[str, dict[str, None]] = field(default_factory=dict)
    """Tenant -> prefixes."""
    alarms: list[DuplicateMac | StickyMacMoved] = field(default_factory=list)

    def announce(self, key: EvpnKey, announcement: Announcement) -> None:
        """Originate a route, or replace its announcement."""
        self.routes.pop(key, None)
        self.routes[key] = announcement

    def withdraw(self, key: EvpnKey) -> None:
        """Withdraw a route."""
        self.routes.pop(key, None)
        self.routes[key] = None

    def actions(self) -> list[Action]:
        """All changes: tables first (forwarding changes at once), then routes, then alarms."""
        found: list[Action] = []
        for (table, kind, port, vtep), macs in grouped((_mac_state(table, mac), mac) for table, mac in self.macs):
            found.append(MacsChanged(table.vni, macs, kind, port, vtep))
        for (table, bound, vtep), bindings in grouped(
            (_neighbor_state(table, ip), (ip, mac)) for (table, ip), mac in self.neighbors.items()
        ):
            found.append(NeighborsChanged(table.vni, bindings, bound, vtep))
        found += [FloodListChanged(table.vni, table.flood_vteps()) for table in self.floods]
        found += [TenantRoutesChanged(tenant, tuple(prefixes)) for tenant, prefixes in self.prefixes.items()]
        announcements = {id(announcement): announcement for announcement in self.routes.values()}
        for state, keys in grouped((id(announcement), key) for key, announcement in self.routes.items()):
            announcement = announcements[state]  # tables keep their announcements, so equal ones are one object
            found.append(
                Withdraw(keys)
                if announcement is None
                else Originate(keys, announcement.attributes, self.next_hop, announcement.payload)
            )
        return found + self.alarms


def _mac_state(table: VniTable, mac: str) -> tuple[VniTable, MacKind | None, str, str]:
    entry = table.macs.get(mac)
    if entry is None or entry.kind is MacKind.AUTO:
        return table, None, "", ""
    return table, entry.kind, entry.port, entry.vtep


def _neighbor_state(table: VniTable, ip: str) -> tuple[VniTable, NeighborKind | None, str]:
    entry = table.neighbors.get(ip)
    return (table, None, "") if entry is None else (table, entry.kind, entry.vtep)


def grouped(pairs: Iterable[tuple[_State, _Item]]) -> Iterable[tuple[_State, tuple[_Item, ...]]]:
    """Items grouped by state, in the order in which states and items appear."""
    groups: dict[_State, list[_Item]] = {}
    for state, item in pairs:
        groups.setdefault(state, []).append(item)
    return ((state, tuple(items)) for state, items in groups.items())

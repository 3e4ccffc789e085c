"""Changes of VNI entries that local learning and BGP imports share."""

from __future__ import annotations

from fabric.controlplane.evpn.actions import DuplicateMac
from fabric.controlplane.evpn.config import DuplicateDetection
from fabric.controlplane.evpn.edits import Edits
from fabric.controlplane.evpn.mac import Detection, MacEntry, MacKind, Neighbor, NeighborKind
from fabric.controlplane.evpn.vni import VniTable


def count_move(
    table: VniTable,
    mac: str,
    entry: MacEntry,
    now_ns: int,
    edits: Edits,
    duplicates: DuplicateDetection,
    *,
    local: bool,
) -> bool:
    """Duplicate detection, RFC 7432 section 15.1. Returns: True if the MAC is frozen: announce and install nothing."""
    if entry.detection is None:
        entry.detection = Detection()
    if entry.detection.moved(duplicates, now_ns, local=local):
        edits.alarms.append(DuplicateMac(table.vni, mac, entry.moves, duplicates.freeze))
    return entry.duplicate and duplicates.freeze


def announce_mac(table: VniTable, mac: str, entry: MacEntry, edits: Edits) -> None:
    """Announce a local MAC in BGP."""
    entry.announced = True
    edits.macs[table, mac] = None
    edits.announce(table.key(mac), table.announcement(entry.local_sequence, sticky=entry.sticky))


def activate_bindings(table: VniTable, entry: MacEntry, edits: Edits, *, again: bool = False) -> None:
    """The MAC is local (or, `again`, its announcement changed): announce the local bindings to it."""
    for ip in entry.neighbors:
        neighbor = table.neighbors[ip]
        if neighbor.kind is NeighborKind.LOCAL and (again or not neighbor.active):
            announce_binding(table, ip, neighbor, entry, edits)


def announce_binding(table: VniTable, ip: str, neighbor: Neighbor, entry: MacEntry, edits: Edits) -> None:
    """Announce a local binding in BGP, with its MAC's sequence number."""
    neighbor.active, neighbor.local_sequence = True, entry.local_sequence  # rule 3
    edits.neighbors[table, ip] = neighbor.mac
    edits.announce(
        table.key(neighbor.mac, ip),
        table.announcement(entry.local_sequence, sticky=entry.sticky, with_ip=True, router=neighbor.router),
    )


def deactivate(table: VniTable, ip: str, edits: Edits) -> None:
    """Withdraw a local binding whose MAC is no longer local."""
    neighbor = table.neighbors[ip]
    if neighbor.kind is NeighborKind.LOCAL and neighbor.active:
        if table.is_announced(neighbor):
            edits.withdraw(table.key(neighbor.mac, ip))
        neighbor.active, neighbor.local_sequence = False, 0


def release(table: VniTable, mac: str, ip: str, edits: Edits) -> None:
    """Detach a binding from `mac`. A MAC entry that exists only for its bindings may be removed."""
    entry = table.macs.get(mac)
    if entry is None:
        return
    entry.neighbors = tuple(other for other in entry.neighbors if other != ip)
    if entry.kind is MacKind.AUTO or entry.only_by_neighbor:
        derive_from_bindings(table, mac, entry, edits)


def derive_from_bindings(table: VniTable, mac: str, entry: MacEntry, edits: Edits) -> None:
    """A MAC known from bindings only: remote if one is remote, AUTO if all are local, removed if there is none."""
    holder = next(
        (table.neighbors[ip] for ip in entry.neighbors if table.neighbors[ip].kind is NeighborKind.REMOTE), None
    )
    edits.macs[table, mac] = None
    entry.sticky, entry.only_by_neighbor = False, holder is not None
    if holder is not None:
        entry.kind, entry.vtep, entry.remote_sequence = MacKind.REMOTE, holder.vtep, holder.remote_sequence
    elif entry.neighbors:
        entry.kind, entry.vtep = MacKind.AUTO, ""
    else:
        del table.macs[mac]

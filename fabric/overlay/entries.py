"""Steps that entries of a VNI go through, whether a local port or BGP is the cause."""

from __future__ import annotations

from fabric.overlay.actions import DuplicateMac
from fabric.overlay.config import DuplicateDetection
from fabric.overlay.edits import Edits
from fabric.overlay.mac import Detection, MacEntry, MacKind, Neighbor, NeighborKind
from fabric.overlay.vni import VniTable


def count_move(table: VniTable, mac: str, entry: MacEntry, now_ns: int, edits: Edits, duplicates: DuplicateDetection, *,
               local: bool) -> bool:
    """Duplicate detection, RFC 7432 section 15.1. Returns: True where the MAC is frozen: say and install nothing."""
    if entry.detection is None:
        entry.detection = Detection()
    if entry.detection.moved(duplicates, now_ns, local=local):
        edits.alarms.append(DuplicateMac(table.vni, mac, entry.moves, duplicates.freeze))
    return entry.duplicate and duplicates.freeze


def announce_mac(table: VniTable, mac: str, entry: MacEntry, edits: Edits) -> None:
    """Say in BGP that a MAC is here."""
    entry.announced = True
    edits.macs[table, mac] = None
    edits.announce(table.key(mac), table.announcement(entry.local_sequence, sticky=entry.sticky))


def activate_bindings(table: VniTable, entry: MacEntry, edits: Edits, *, again: bool = False) -> None:
    """The MAC is here (or, `again`, its announcement changed): local bindings to it are announced."""
    for ip in entry.neighbors:
        neighbor = table.neighbors[ip]
        if neighbor.kind is NeighborKind.LOCAL and (again or not neighbor.active):
            announce_binding(table, ip, neighbor, entry, edits)


def announce_binding(table: VniTable, ip: str, neighbor: Neighbor, entry: MacEntry, edits: Edits) -> None:
    """Say in BGP that a binding is here, with its MAC's sequence number."""
    neighbor.active, neighbor.local_sequence = True, entry.local_sequence                   # rule 3
    edits.neighbors[table, ip] = neighbor.mac
    edits.announce(table.key(neighbor.mac, ip), table.announcement(
        entry.local_sequence, sticky=entry.sticky, with_ip=True, router=neighbor.router))


def deactivate(table: VniTable, ip: str, edits: Edits) -> None:
    """A local binding whose MAC is not here any more."""
    neighbor = table.neighbors[ip]
    if neighbor.kind is NeighborKind.LOCAL and neighbor.active:
        if table.is_announced(neighbor):
            edits.withdraw(table.key(neighbor.mac, ip))
        neighbor.active, neighbor.local_sequence = False, 0


def release(table: VniTable, mac: str, ip: str, edits: Edits) -> None:
    """A binding no longer names `mac`; a MAC that lives by its bindings may go."""
    entry = table.macs.get(mac)
    if entry is None:
        return
    entry.neighbors = tuple(other for other in entry.neighbors if other != ip)
    if entry.kind is MacKind.AUTO or entry.only_by_neighbor:
        hold_by_bindings(table, mac, entry, edits)


def hold_by_bindings(table: VniTable, mac: str, entry: MacEntry, edits: Edits) -> None:
    """A MAC that nothing says anything about but bindings: it is where a received one says; else AUTO; else it goes."""
    holder = next((table.neighbors[ip] for ip in entry.neighbors
                   if table.neighbors[ip].kind is NeighborKind.REMOTE), None)
    edits.macs[table, mac] = None
    entry.sticky, entry.only_by_neighbor = False, holder is not None
    if holder is not None:
        entry.kind, entry.vtep, entry.remote_sequence = MacKind.REMOTE, holder.vtep, holder.remote_sequence
    elif entry.neighbors:
        entry.kind, entry.vtep = MacKind.AUTO, ""
    else:
        del table.macs[mac]

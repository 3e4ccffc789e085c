"""Import of received routes into a VNI: remote MACs, remote bindings and flood lists. Rules of RFC 7432 and FRR.

1. Of several routes for one MAC the sticky one wins, then the highest sequence number, then the lowest VTEP address
   (RFC 7432 sections 15 and 15.2). The route of this switch is one of them.
2. If a received route wins, the own route is withdrawn, and local bindings of the MAC become inactive.
3. A MAC+IP route also creates an entry for its MAC, unless a MAC route does (FRR: "auto").
4. A MAC+IP route with a lower sequence number than that of its MAC has an old location, and is not installed.
5. After a withdrawal the best of the remaining routes is installed. Without one the entry is removed, unless local
   bindings refer to the MAC.
6. A switch that keeps a MAC only because of its own bindings (AUTO) stores the last received sequence number, and
   installs no lower one: zebra's zebra_evpn_mac_remote_macip_add. RFC 7432 section 15 has no such memory. A host that
   was here, moved, moved again and came back with sequence 0 stays unknown here, as in FRR, until its sequence number
   is reached or its bindings are cleared. A MAC route that is withdrawn while the MAC is remote takes the number with
   it: zebra_evpn_rem_mac_del sets rem_seq to 0, because the MAC may be gone from all switches, and the next number
   may be 0 again.
7. The MAC of an anycast gateway is local on every leaf; received routes for it are not installed.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.controlplane.evpn.config import DuplicateDetection
from fabric.controlplane.evpn.edits import Edits
from fabric.controlplane.evpn.entries import count_move, deactivate, derive_from_bindings, release
from fabric.controlplane.evpn.evpn_nlri import EvpnKey, RouteType
from fabric.controlplane.evpn.mac import MacEntry, MacKind, Neighbor, NeighborKind
from fabric.controlplane.evpn.remote import (
    Candidates,
    RemotePath,
    best_of,
    mobility_order,
    with_candidate,
    without_candidate,
)
from fabric.controlplane.evpn.vni import VniTable


def import_routes(
    table: VniTable,
    keys: Sequence[EvpnKey],
    path: RemotePath,
    now_ns: int,
    edits: Edits,
    duplicates: DuplicateDetection,
) -> None:
    """Import routes of other VTEPs, all with one path, into the VNI."""
    imports = table.imports
    gateway_mac = table.config.gateway_mac
    singles: dict[bytes, Candidates] = {}  # one object per distinguisher serves thousands of rows
    for key in keys:
        single = singles.get(key.rd)
        if single is None:
            single = singles[key.rd] = ((key.rd, path),)
        inner, kind = key.inner, key.type
        before = imports.get(inner)
        after = imports[inner] = single if before is None else with_candidate(before, single)
        if kind == RouteType.MAC_IP:
            if key.mac == gateway_mac:
                continue  # rule 7
            best = path if after is single else best_of(after)
            if before is not None and best_of(before) == best:
                continue
            if key.ip:
                install_binding(table, key.ip, key.mac, best, now_ns, edits, duplicates)
            else:
                install_mac(table, key.mac, best, now_ns, edits, duplicates)
        elif kind == RouteType.INCLUSIVE_MULTICAST:
            table.multicast[inner] = None
            edits.floods[table] = None


def unimport_routes(
    table: VniTable, keys: Sequence[EvpnKey], now_ns: int, edits: Edits, duplicates: DuplicateDetection
) -> None:
    """Remove routes of other VTEPs from the VNI. Routes that were not imported are ignored."""
    imports = table.imports
    for key in keys:
        before = imports.get(key.inner)
        after = without_candidate(before, key.rd)
        if before is None or len(after) == len(before):
            continue
        if after:
            imports[key.inner] = after
        else:
            del imports[key.inner]
        if key.type == RouteType.INCLUSIVE_MULTICAST:
            if not after:
                del table.multicast[key.inner]
            edits.floods[table] = None
        elif after:
            best = best_of(after)
            if best == best_of(before) or key.mac == table.config.gateway_mac:
                continue
            if key.ip:
                install_binding(table, key.ip, key.mac, best, now_ns, edits, duplicates)
            else:
                install_mac(table, key.mac, best, now_ns, edits, duplicates)
        elif key.ip:
            _remove_binding(table, key.ip, key.mac, now_ns, edits, duplicates)
        else:
            _remove_mac(table, key.mac, edits)


def install_mac(
    table: VniTable,
    mac: str,
    path: RemotePath,
    now_ns: int,
    edits: Edits,
    duplicates: DuplicateDetection,
    *,
    only_by_neighbor: bool = False,
) -> bool:
    """Install the best received path of a MAC. Returns: True if the MAC is remote by this path now."""
    entry = table.macs.get(mac)
    if entry is None:
        table.found_in_tunnel.pop(mac, None)
        table.macs[mac] = MacEntry(
            MacKind.REMOTE, "", path.vtep, path.facts.sticky, 0, path.facts.sequence, only_by_neighbor, since_ns=now_ns
        )
        edits.macs[table, mac] = None
        return True
    if entry.kind is MacKind.LOCAL and not _beats(table, path, entry):  # rule 1
        return False
    if entry.kind is MacKind.AUTO and path.facts.sequence < entry.remote_sequence:  # rule 6
        return False
    was_remote = entry.kind is MacKind.REMOTE
    if (
        was_remote
        and entry.vtep == path.vtep
        and entry.remote_sequence == path.facts.sequence
        and entry.sticky == path.facts.sticky
    ):
        entry.only_by_neighbor = entry.only_by_neighbor and only_by_neighbor
        return True
    if entry.announced:  # rule 2
        edits.withdraw(table.key(mac))
    for ip in entry.neighbors:
        deactivate(table, ip, edits)
    entry.announced = False
    if not was_remote and entry.moves and count_move(table, mac, entry, now_ns, edits, duplicates, local=False):
        return False  # frozen at its location (RFC 7432 section 15.1), but no longer announced
    entry.kind, entry.port, entry.vtep, entry.left_in_tunnel = MacKind.REMOTE, "", path.vtep, ""
    entry.sticky, entry.only_by_neighbor = path.facts.sticky, only_by_neighbor
    entry.remote_sequence = path.facts.sequence
    edits.macs[table, mac] = None
    return True


def _beats(table: VniTable, path: RemotePath, entry: MacEntry) -> bool:
    """True if a received path is better than the MAC's local entry."""
    if entry.duplicate and not entry.announced:
        return False  # frozen at its location until an operator or a timer clears it
    own = mobility_order(table.address_packed, entry.local_sequence, sticky=entry.sticky)
    return path.mobility < own


def install_binding(
    table: VniTable, ip: str, mac: str, path: RemotePath, now_ns: int, edits: Edits, duplicates: DuplicateDetection
) -> None:
    """Install the best received path of a MAC+IP route."""
    entry = table.macs.get(mac)
    kind = None if entry is None else entry.kind
    if entry is not None and kind is MacKind.REMOTE:
        if path.facts.sequence < entry.remote_sequence and path.vtep != entry.vtep:  # rule 4
            table.note_claims(ip, mac)
            return
    elif entry is not None and kind is MacKind.LOCAL and path.facts.sequence < entry.local_sequence:
        table.note_claims(ip, mac)
        return
    if entry is None or kind is not MacKind.REMOTE or entry.only_by_neighbor:  # rule 3
        if not install_mac(table, mac, path, now_ns, edits, duplicates, only_by_neighbor=True):
            table.note_claims(ip, mac)
            return
        entry = table.macs[mac]
    _bind(table, ip, mac, entry, path, now_ns, edits)


def _bind(table: VniTable, ip: str, mac: str, entry: MacEntry, path: RemotePath, now_ns: int, edits: Edits) -> None:
    neighbor = table.neighbors.get(ip)
    if neighbor is None:
        table.neighbors[ip] = Neighbor(
            NeighborKind.REMOTE,
            mac,
            path.vtep,
            remote_sequence=path.facts.sequence,
            router=bool(path.facts.nd_flags & 1),
            since_ns=now_ns,
        )
        entry.neighbors = (*entry.neighbors, ip)
        edits.neighbors[table, ip] = mac
        return
    if neighbor.kind is NeighborKind.LOCAL:
        deactivate(table, ip, edits)
    if neighbor.mac != mac:
        table.note_claims(ip, neighbor.mac, mac)
        release(table, neighbor.mac, ip, edits)
        neighbor.mac = mac
    if ip not in entry.neighbors:
        entry.neighbors = (*entry.neighbors, ip)
    neighbor.kind, neighbor.active, neighbor.vtep = NeighborKind.REMOTE, True, path.vtep
    neighbor.remote_sequence, neighbor.router = path.facts.sequence, bool(path.facts.nd_flags & 1)
    edits.neighbors[table, ip] = mac


def _remove_binding(
    table: VniTable, ip: str, mac: str, now_ns: int, edits: Edits, duplicates: DuplicateDetection
) -> None:
    """No other VTEP announces the binding any more."""
    neighbor = table.neighbors.get(ip)
    if neighbor is None or neighbor.kind is not NeighborKind.REMOTE or neighbor.mac != mac:
        return
    del table.neighbors[ip]
    edits.neighbors[table, ip] = mac
    release(table, mac, ip, edits)
    if ip in table.claims:
        restore_binding(table, ip, (), now_ns, edits, duplicates)


def restore_binding(
    table: VniTable, ip: str, macs: tuple[str, ...], now_ns: int, edits: Edits, duplicates: DuplicateDetection
) -> None:
    """An address has no binding any more: install the best remaining claim, of `macs` or of noted claims (rule 5)."""
    claimed: dict[str, RemotePath] = {}
    for mac in (*macs, *table.claims.pop(ip, ())):
        path = table.best_import(table.key(mac, ip).inner)
        if path is not None:
            claimed[mac] = path
    if claimed:
        mac = min(claimed, key=lambda candidate: claimed[candidate].mobility)
        if len(claimed) > 1:
            table.note_claims(ip, *claimed)
        install_binding(table, ip, mac, claimed[mac], now_ns, edits, duplicates)


def _remove_mac(table: VniTable, mac: str, edits: Edits) -> None:
    """No other VTEP announces the MAC any more."""
    entry = table.macs.get(mac)
    if entry is None or entry.kind is not MacKind.REMOTE:
        return
    derive_from_bindings(table, mac, entry, edits)  # rules 3 and 5
    entry.remote_sequence = 0  # rule 6

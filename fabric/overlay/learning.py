"""What local ports teach a VNI: MACs and bindings, their moves, and their end. The rules are RFC 7432's and FRR's.

1. A MAC that was remote and is seen here has moved: its sequence number is one more than the one received, and never
   less than the one announced before (RFC 7432 section 15).
2. A MAC that is sticky elsewhere is not learned (section 15.2).
3. A binding is announced beside its MAC, never instead of it, with the MAC's sequence number.
4. A binding whose MAC is not here is kept inactive, with sequence 0, and not announced.
5. A binding that BGP brought is not overridden by local ARP: the kernel holds it as NOARP. The old switch has to
   withdraw it first; so a host that moved and says so once has no MAC+IP route until it says so again.
6. A MAC that is forgotten while a binding names it stays as AUTO; its sequence number lives on.
7. A binding that takes another MAC continues the sequence of the MAC it had
   (draft-ietf-bess-evpn-irb-extended-mobility).
"""

from __future__ import annotations

from fabric.overlay.actions import StickyMacMoved
from fabric.overlay.config import DuplicateDetection
from fabric.overlay.edits import Edits
from fabric.overlay.entries import activate_bindings, announce_binding, announce_mac, count_move, deactivate, release
from fabric.overlay.evpn_attributes import MAX_SEQUENCE
from fabric.overlay.imports import install_mac, restore_binding
from fabric.overlay.mac import MacEntry, MacKind, Neighbor, NeighborKind
from fabric.overlay.vni import VniTable


def learn_mac(table: VniTable, mac: str, port: str, now_ns: int, edits: Edits, duplicates: DuplicateDetection, *,
              sticky: bool = False) -> bool:
    """A frame from `mac` came in at a local port. Returns: True where the MAC is local now."""
    entry = table.macs.get(mac)
    if entry is None:
        entry = table.macs[mac] = MacEntry(MacKind.LOCAL, port, sticky=sticky, since_ns=now_ns, seen_ns=now_ns)
        announce_mac(table, mac, entry, edits)
        return True
    if entry.kind is MacKind.LOCAL:
        _seen_again(table, mac, entry, port, now_ns, edits, sticky=sticky)
        return True
    if entry.kind is MacKind.REMOTE and entry.sticky:                                       # rule 2
        edits.alarms.append(StickyMacMoved(table.vni, mac, port, entry.vtep))
        return False
    moved = entry.kind is MacKind.REMOTE
    if moved:                                                                               # rule 1
        entry.local_sequence = max(successor(entry.remote_sequence), entry.local_sequence)
        entry.left_in_tunnel = entry.vtep
    entry.kind, entry.port, entry.vtep = MacKind.LOCAL, port, ""
    entry.sticky, entry.only_by_neighbor, entry.seen_ns = sticky, False, now_ns
    edits.macs[table, mac] = None
    if moved:
        count_move(table, mac, entry, now_ns, edits, duplicates, local=True)
    if not (entry.duplicate and duplicates.freeze):
        announce_mac(table, mac, entry, edits)
        activate_bindings(table, entry, edits)
    return True


def _seen_again(table: VniTable, mac: str, entry: MacEntry, port: str, now_ns: int, edits: Edits, *,
                sticky: bool) -> None:
    """A local MAC shows itself; only another port or another stickiness is news."""
    entry.seen_ns = now_ns
    if entry.sticky and not sticky and entry.port != port:
        return                                   # a static entry of the bridge does not roam
    if entry.port != port:
        entry.port = port
        edits.macs[table, mac] = None
    if sticky and not entry.sticky:
        entry.sticky = True
        if entry.announced:
            announce_mac(table, mac, entry, edits)
            activate_bindings(table, entry, edits, again=True)


def learn_binding(table: VniTable, ip: str, mac: str, now_ns: int, edits: Edits, *, router: bool = False) -> bool:
    """ARP or ND said that `ip` is at `mac`. Returns: True where the local entry was made or confirmed."""
    neighbor = table.neighbors.get(ip)
    if neighbor is not None and neighbor.kind is NeighborKind.REMOTE:
        return False                                                                        # rule 5
    entry = table.macs.get(mac)
    if entry is None:
        entry = table.macs[mac] = MacEntry(MacKind.AUTO, since_ns=now_ns)
    sequence = entry.local_sequence
    if entry.kind is MacKind.REMOTE:
        sequence = max(sequence, successor(entry.remote_sequence))
    if neighbor is None:
        neighbor = table.neighbors[ip] = Neighbor(NeighborKind.LOCAL, mac, active=False, router=router,
                                                  since_ns=now_ns, seen_ns=now_ns)
    elif neighbor.mac != mac:
        sequence = max(sequence, _sequence_after(table, neighbor.mac))                      # rule 7
        table.note_rivals(ip, neighbor.mac, mac)
        _unbind(table, ip, neighbor, edits)
        neighbor.mac, neighbor.router, neighbor.active, neighbor.seen_ns = mac, router, False, now_ns
    else:
        neighbor.seen_ns = now_ns
        if neighbor.router == router:
            return True
        neighbor.router, neighbor.active = router, False
    if ip not in entry.neighbors:
        entry.neighbors = (*entry.neighbors, ip)
    edits.neighbors[table, ip] = mac
    if entry.kind is not MacKind.LOCAL:                                                     # rule 4
        entry.local_sequence, neighbor.local_sequence = sequence, 0
    elif entry.announced:
        if sequence != entry.local_sequence:
            entry.local_sequence = sequence
            announce_mac(table, mac, entry, edits)
            activate_bindings(table, entry, edits, again=True)
        else:
            announce_binding(table, ip, neighbor, entry, edits)
    return True


def _sequence_after(table: VniTable, mac: str) -> int:
    """Sequence number that a successor of `mac` has to have."""
    entry = table.macs.get(mac)
    if entry is None:
        return 0
    return successor(entry.remote_sequence if entry.kind is MacKind.REMOTE else entry.local_sequence)


def successor(sequence: int) -> int:
    """The next sequence number, as far as 32 bits go."""
    return min(sequence + 1, MAX_SEQUENCE)


def _unbind(table: VniTable, ip: str, neighbor: Neighbor, edits: Edits) -> None:
    """Take a local binding from its MAC, and back from BGP."""
    if table.is_announced(neighbor):
        edits.withdraw(table.key(neighbor.mac, ip))
    release(table, neighbor.mac, ip, edits)


def forget_mac(table: VniTable, mac: str, now_ns: int, edits: Edits, duplicates: DuplicateDetection) -> bool:
    """A local MAC aged out, or its port went away. Returns: False where there was none."""
    entry = table.macs.get(mac)
    if entry is None or entry.kind is not MacKind.LOCAL:
        return False
    for ip in entry.neighbors:                                                              # rule 4
        deactivate(table, ip, edits)
    if entry.announced:
        edits.withdraw(table.key(mac))
    entry.announced = False
    edits.macs[table, mac] = None
    if entry.neighbors:                                                                     # rule 6
        entry.kind, entry.port, entry.sticky = MacKind.AUTO, "", False
    else:
        del table.macs[mac]
    _fall_back(table, mac, entry.neighbors, now_ns, edits, duplicates)
    return True


def forget_binding(table: VniTable, ip: str, now_ns: int, edits: Edits, duplicates: DuplicateDetection) -> bool:
    """A local binding timed out or was cleared. Returns: False where there was none."""
    neighbor = table.neighbors.get(ip)
    if neighbor is None or neighbor.kind is not NeighborKind.LOCAL:
        return False
    _unbind(table, ip, neighbor, edits)
    del table.neighbors[ip]
    edits.neighbors[table, ip] = neighbor.mac
    _fall_back(table, neighbor.mac, (ip,), now_ns, edits, duplicates)
    return True


def _fall_back(table: VniTable, mac: str, ips: tuple[str, ...], now_ns: int, edits: Edits,
               duplicates: DuplicateDetection) -> None:
    """What was local is gone: what other switches say of it counts now."""
    path = table.best_import(table.key(mac).inner)
    if path is not None:
        install_mac(table, mac, path, now_ns, edits, duplicates)
    for ip in ips:
        restore_binding(table, ip, (mac,), now_ns, edits, duplicates)


def thaw(table: VniTable, mac: str, now_ns: int, edits: Edits, duplicates: DuplicateDetection) -> bool:
    """A duplicate MAC is trusted again, by time or by command. Returns: False where it was no duplicate."""
    entry = table.macs.get(mac)
    if entry is None or entry.detection is None or not entry.duplicate:
        return False
    entry.detection.clear()
    if entry.kind is MacKind.LOCAL and not entry.announced:
        announce_mac(table, mac, entry, edits)
        activate_bindings(table, entry, edits)
        _fall_back(table, mac, entry.neighbors, now_ns, edits, duplicates)
    return True

"""Local learning of a VNI: MACs and bindings, their moves and their removal. Rules of RFC 7432 and FRR.

1. A frame from a remote MAC at a local port is a move: the new sequence number is the received one plus 1, and never
   less than the one announced before (RFC 7432 section 15).
2. A MAC that is sticky at another switch is not learned (section 15.2).
3. A binding is announced in addition to its MAC, with the MAC's sequence number.
4. A binding whose MAC is not local is kept inactive, with sequence 0, and not announced.
5. Local ARP does not override a binding from BGP: the kernel holds it as NOARP. The old switch has to withdraw it
   first. So a host that moved and sends one gratuitous ARP has no MAC+IP route until it sends another one.
6. A MAC that ages out while a binding refers to it stays as AUTO, with its sequence number.
7. A binding that changes to another MAC continues the sequence of the old MAC
   (draft-ietf-bess-evpn-irb-extended-mobility).
"""

from __future__ import annotations

from fabric.controlplane.evpn.actions import StickyMacMoved
from fabric.controlplane.evpn.config import DuplicateDetection
from fabric.controlplane.evpn.edits import Edits
from fabric.controlplane.evpn.entries import (
    activate_bindings,
    announce_binding,
    announce_mac,
    count_move,
    deactivate,
    release,
)
from fabric.controlplane.evpn.evpn_attributes import MAX_SEQUENCE
from fabric.controlplane.evpn.imports import install_mac, restore_binding
from fabric.controlplane.evpn.mac import MacEntry, MacKind, Neighbor, NeighborKind
from fabric.controlplane.evpn.vni import VniTable


def learn_mac(
    table: VniTable,
    mac: str,
    port: str,
    now_ns: int,
    edits: Edits,
    duplicates: DuplicateDetection,
    *,
    sticky: bool = False,
) -> bool:
    """A frame from `mac` arrived at a local port. Returns: True if the MAC is local now."""
    entry = table.macs.get(mac)
    if entry is None:
        entry = table.macs[mac] = MacEntry(MacKind.LOCAL, port, sticky=sticky, since_ns=now_ns, seen_ns=now_ns)
        entry.left_in_tunnel = table.found_in_tunnel.pop(mac, "")
        announce_mac(table, mac, entry, edits)
        return True
    if entry.kind is MacKind.LOCAL:
        _seen_again(table, mac, entry, port, now_ns, edits, sticky=sticky)
        return True
    if entry.kind is MacKind.REMOTE and entry.sticky:  # rule 2
        edits.alarms.append(StickyMacMoved(table.vni, mac, port, entry.vtep))
        return False
    moved = entry.kind is MacKind.REMOTE
    if moved:  # rule 1
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


def _seen_again(
    table: VniTable, mac: str, entry: MacEntry, port: str, now_ns: int, edits: Edits, *, sticky: bool
) -> None:
    """A frame from a local MAC: only a new port or a new sticky flag is a change."""
    entry.seen_ns = now_ns
    if entry.sticky and not sticky and entry.port != port:
        return  # a static entry of the bridge does not roam
    if entry.port != port:
        entry.port = port
        edits.macs[table, mac] = None
    if sticky and not entry.sticky:
        entry.sticky = True
        if entry.announced:
            announce_mac(table, mac, entry, edits)
            activate_bindings(table, entry, edits, again=True)


def learn_binding(table: VniTable, ip: str, mac: str, now_ns: int, edits: Edits, *, router: bool = False) -> bool:
    """ARP or ND bound `ip` to `mac`. Returns: True if the local entry was created or confirmed."""
    neighbor = table.neighbors.get(ip)
    if neighbor is not None and neighbor.kind is NeighborKind.REMOTE:
        return False  # rule 5
    entry = table.macs.get(mac)
    if entry is None:
        entry = table.macs[mac] = MacEntry(MacKind.AUTO, since_ns=now_ns)
    sequence = entry.local_sequence
    if entry.kind is MacKind.REMOTE:
        sequence = max(sequence, successor(entry.remote_sequence))
    if neighbor is None:
        neighbor = table.neighbors[ip] = Neighbor(
            NeighborKind.LOCAL, mac, active=False, router=router, since_ns=now_ns, seen_ns=now_ns
        )
    elif neighbor.mac != mac:
        sequence = max(sequence, _sequence_after(table, neighbor.mac))  # rule 7
        table.note_claims(ip, neighbor.mac, mac)
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
    if entry.kind is not MacKind.LOCAL:  # rule 4
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
    """Sequence number of the MAC that replaces `mac`."""
    entry = table.macs.get(mac)
    if entry is None:
        return 0
    return successor(entry.remote_sequence if entry.kind is MacKind.REMOTE else entry.local_sequence)


def successor(sequence: int) -> int:
    """The next sequence number, at most 32 bits."""
    return min(sequence + 1, MAX_SEQUENCE)


def _unbind(table: VniTable, ip: str, neighbor: Neighbor, edits: Edits) -> None:
    """Detach a local binding from its MAC, and withdraw it from BGP."""
    if table.is_announced(neighbor):
        edits.withdraw(table.key(neighbor.mac, ip))
    release(table, neighbor.mac, ip, edits)


def forget_mac(table: VniTable, mac: str, now_ns: int, edits: Edits, duplicates: DuplicateDetection) -> bool:
    """A local MAC aged out, or its port was lost. Returns: False if there was no entry."""
    entry = table.macs.get(mac)
    if entry is None or entry.kind is not MacKind.LOCAL:
        return False
    for ip in entry.neighbors:  # rule 4
        deactivate(table, ip, edits)
    if entry.announced:
        edits.withdraw(table.key(mac))
    entry.announced = False
    edits.macs[table, mac] = None
    if entry.neighbors:  # rule 6
        entry.kind, entry.port, entry.sticky = MacKind.AUTO, "", False
    else:
        del table.macs[mac]
    _fall_back(table, mac, entry.neighbors, now_ns, edits, duplicates)
    return True


def forget_binding(table: VniTable, ip: str, now_ns: int, edits: Edits, duplicates: DuplicateDetection) -> bool:
    """A local binding timed out or was cleared. Returns: False if there was no entry."""
    neighbor = table.neighbors.get(ip)
    if neighbor is None or neighbor.kind is not NeighborKind.LOCAL:
        return False
    _unbind(table, ip, neighbor, edits)
    del table.neighbors[ip]
    edits.neighbors[table, ip] = neighbor.mac
    _fall_back(table, neighbor.mac, (ip,), now_ns, edits, duplicates)
    return True


def _fall_back(
    table: VniTable, mac: str, ips: tuple[str, ...], now_ns: int, edits: Edits, duplicates: DuplicateDetection
) -> None:
    """A local entry was removed: install the routes of other switches for it."""
    path = table.best_import(table.key(mac).inner)
    if path is not None:
        install_mac(table, mac, path, now_ns, edits, duplicates)
    for ip in ips:
        restore_binding(table, ip, (mac,), now_ns, edits, duplicates)


def unfreeze(table: VniTable, mac: str, now_ns: int, edits: Edits, duplicates: DuplicateDetection) -> bool:
    """Clear a duplicate MAC, by timer or by command. Returns: False if it was not a duplicate."""
    entry = table.macs.get(mac)
    if entry is None or entry.detection is None or not entry.duplicate:
        return False
    entry.detection.clear()
    if entry.kind is MacKind.LOCAL and not entry.announced:
        announce_mac(table, mac, entry, edits)
        activate_bindings(table, entry, edits)
        _fall_back(table, mac, entry.neighbors, now_ns, edits, duplicates)
    return True

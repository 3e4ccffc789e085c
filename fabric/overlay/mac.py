"""Entries of the MAC and neighbour (ARP/ND) tables of a VNI, and how often a MAC may move (RFC 7432 section 15).

An entry keeps two sequence numbers, as FRR does: the one this switch announced or would announce, and the last one that
was received. A MAC that has no place of its own but a neighbour entry that names it is AUTO.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fabric.overlay.config import DuplicateDetection


class MacKind(StrEnum):
    """Where a MAC is."""

    LOCAL = "local"
    REMOTE = "remote"
    AUTO = "auto"


class NeighborKind(StrEnum):
    """Who knows a binding."""

    LOCAL = "local"
    REMOTE = "remote"


@dataclass(slots=True, eq=False)
class Detection:
    """Moves of one MAC inside the window that a local move opens. FRR: zebra_evpn_dup_addr_detect_for_mac."""

    moves: int = 0
    started_ns: int | None = None
    """When the window opened; None: never."""
    duplicate: bool = False

    def moved(self, config: DuplicateDetection, now_ns: int, *, local: bool) -> bool:
        """Count a move; True where it makes the MAC a duplicate now.

        RFC 7432 section 15.1: "a PE that detects a MAC mobility event via local learning starts an M-second timer"; so
        a move away counts only inside a window that a move hither opened.
        """
        if not config.enabled or self.duplicate:
            return False
        expired = self.started_ns is None or now_ns - self.started_ns > config.window_ns
        if expired or (local and self.moves == 0):
            self.moves = 0
            if local:
                self.started_ns = now_ns
        elif not local:
            self.moves += 1
        if local:
            self.moves += 1
        self.duplicate = self.moves >= config.max_moves
        return self.duplicate

    def clear(self) -> None:
        """Forget the moves: after recovery, or by an operator's command."""
        self.moves, self.started_ns, self.duplicate = 0, None, False


@dataclass(slots=True, eq=False)
class MacEntry:
    """A MAC of a VNI."""

    kind: MacKind
    port: str = ""
    """Of a local MAC."""
    vtep: str = ""
    """Of a remote MAC."""
    sticky: bool = False
    local_sequence: int = 0
    remote_sequence: int = 0
    only_by_neighbor: bool = False
    """Remote, known from a MAC+IP route alone."""
    announced: bool = False
    """A Type-2 route of this switch says that the MAC is here."""
    since_ns: int = 0
    """When the entry was made."""
    seen_ns: int = 0
    """When a local MAC last sent."""
    neighbors: tuple[str, ...] = ()
    """Addresses bound to this MAC, in the order of learning."""
    detection: Detection | None = None
    left_in_tunnel: str = ""
    """VTEP that the kernel's VXLAN device still has for a MAC that moved hither: nobody deletes that entry, and nothing
    is forwarded by it, since the bridge asks its own table first. For views."""

    @property
    def duplicate(self) -> bool:
        """Moved too often."""
        return self.detection is not None and self.detection.duplicate

    @property
    def moves(self) -> int:
        """Moves counted in the present window."""
        return 0 if self.detection is None else self.detection.moves


@dataclass(slots=True, eq=False)
class Neighbor:
    """An address of a VNI bound to a MAC."""

    kind: NeighborKind
    mac: str
    vtep: str = ""
    """Of a remote binding."""
    active: bool = True
    """False: the binding is remembered, but its MAC is not here; nothing is announced."""
    local_sequence: int = 0
    remote_sequence: int = 0
    router: bool = False
    since_ns: int = 0
    seen_ns: int = 0

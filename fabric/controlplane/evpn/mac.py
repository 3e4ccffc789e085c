"""Entries of the MAC and neighbour (ARP/ND) tables of a VNI, and detection of duplicate MACs (RFC 7432 section 15).

An entry has two sequence numbers, as in FRR: the one that this switch announces or would announce, and the last
received one. A MAC without a known location, but with a neighbour entry that refers to it, is AUTO.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fabric.controlplane.evpn.config import DuplicateDetection


class MacKind(StrEnum):
    """Location of a MAC."""

    LOCAL = "local"
    REMOTE = "remote"
    AUTO = "auto"


class NeighborKind(StrEnum):
    """Source of a binding."""

    LOCAL = "local"
    REMOTE = "remote"


@dataclass(slots=True, eq=False)
class Detection:
    """Moves of one MAC inside the window that a local move opens. FRR: zebra_evpn_dup_addr_detect_for_mac."""

    moves: int = 0
    started_ns: int | None = None
    """Start of the window; None: never."""
    duplicate: bool = False

    def moved(self, config: DuplicateDetection, now_ns: int, *, local: bool) -> bool:
        """Count a move; True if the MAC becomes a duplicate.

        RFC 7432 section 15.1: "a PE that detects a MAC mobility event via local learning starts an M-second timer". So
        a move to another switch counts only inside a window that a move to this switch has opened.
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
        """Clear the moves: after recovery, or by an operator's command."""
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
    """Remote, known from a MAC+IP route only."""
    announced: bool = False
    """This switch announces a Type-2 route for the MAC."""
    since_ns: int = 0
    """Time of the entry's creation."""
    seen_ns: int = 0
    """Time of the last frame of a local MAC."""
    neighbors: tuple[str, ...] = ()
    """Addresses bound to this MAC, in the order of learning."""
    detection: Detection | None = None
    left_in_tunnel: str = ""
    """Stale remote VTEP in the FDB of the kernel's VXLAN device after the MAC became local. The entry is never deleted,
    not even by a daemon that starts again, and never used, since the bridge looks up its own table first. For views."""

    @property
    def duplicate(self) -> bool:
        """Whether the MAC moved too often."""
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
    """False: the binding is kept, but its MAC is not local; it is not announced."""
    local_sequence: int = 0
    remote_sequence: int = 0
    router: bool = False
    since_ns: int = 0
    seen_ns: int = 0

"""Actions that a speaker returns: requests to its owner, and reports. The owner executes them in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabric.controlplane.bgp.afi import AddressFamily
    from fabric.controlplane.bgp.rib import Selection


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a transport connection to `peer`, then call connected() or closed()."""

    peer: str
    cause: int = field(default=0, compare=False)
    """See cause.py; the same field of the other actions too."""


@dataclass(frozen=True, slots=True)
class Send:
    """Write `data` (whole messages) to the peer's connection. The same bytes object may go to many peers."""

    peer: str
    data: bytes
    connection: int = 0
    cause: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Close:
    """Close the peer's connection; closed() need not be called for it."""

    peer: str
    reason: str
    connection: int = 0
    cause: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SessionUp:
    """The session with `peer` is Established."""

    peer: str
    cause: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SessionDown:
    """The session with `peer` left Established."""

    peer: str
    reason: str
    cause: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Change:
    """Routes whose selection (best path or multipath set) changed in the same way."""

    keys: tuple[bytes, ...]
    """Route keys of the family."""
    old: Selection | None
    """The selection before; None: no route."""
    new: Selection | None
    """The selection now; None: route removed. Never equal to `old`."""
    cause: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class RoutesChanged:
    """The Loc-RIB of a family changed. Changes are in the order of the routes' first change; no key occurs twice."""

    family: AddressFamily
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class RoutesReceived:
    """Best received paths changed, in a family of SpeakerConfig.report_received. RoutesChanged follows later.

    FRR imports EVPN routes into VNIs and VRFs as they arrive (bgp_update, bgp_evpn_import_route) and only then queues
    them for the decision process, which decides what is advertised.
    """

    family: AddressFamily
    changes: tuple[Change, ...]
    """As in RoutesChanged; a selection holds the best path only."""


Action = Connect | Send | Close | SessionUp | SessionDown | RoutesChanged | RoutesReceived

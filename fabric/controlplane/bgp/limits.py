"""Limits of a neighbour: the number of routes per address family, and the total bytes of attributes.

Both are checked after each UPDATE, so a limit is exceeded by one UPDATE at most. A session over a limit ends with a
Cease (RFC 4486 section 4): Maximum Number of Prefixes Reached, or Out of Resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.errors import BgpError
from fabric.controlplane.bgp.peer import Peer
from fabric.controlplane.bgp.rib import Table
from fabric.wire.iana import Cease, ErrorCode

_RECOUNT_PARTS: Final = 8
"""Attribute bytes are recounted exactly after 1/8 of the limit has arrived."""


def check(tables: Mapping[AddressFamily, Table], peer: Peer, attributes: Attributes | None) -> None:
    """Check the limits after an UPDATE with these `attributes`. Raises: BgpError."""
    for family, config in peer.families.items():
        limit = config.max_prefixes
        if limit is not None and tables[family].accepted.get(peer.neighbor.name, 0) > limit:
            peer.over_limit = True
            raise BgpError(
                ErrorCode.CEASE,
                Cease.MAXIMUM_PREFIXES,
                f"more than {limit} routes of {family.name}",
                family.afi.to_bytes(2) + bytes([family.safi]) + min(limit, 0xFFFFFFFF).to_bytes(4),
            )
    limit = peer.neighbor.max_attribute_bytes
    if limit is None or attributes is None:
        return
    peer.attribute_bytes += len(attributes.wire)
    if peer.attribute_bytes > peer.recount_bytes:
        peer.attribute_bytes = _attribute_bytes(tables, peer.neighbor.name)
        if peer.attribute_bytes > limit:
            peer.over_limit = True
            raise BgpError(ErrorCode.CEASE, Cease.OUT_OF_RESOURCES, f"more than {limit} bytes of attributes")
        peer.recount_bytes = max(limit, peer.attribute_bytes + limit // _RECOUNT_PARTS)


def _attribute_bytes(tables: Mapping[AddressFamily, Table], name: str) -> int:
    """Bytes on the wire of the attributes of a neighbour's routes, each distinct set once."""
    held = {
        id(path.attributes): path.attributes
        for table in tables.values()
        for group in table.groups
        if (path := group.paths.get(name)) is not None
    }
    return sum(len(attributes.wire) for attributes in held.values())

"""Decoded paths of received EVPN routes, one object for all routes with the same attributes, and their preference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fabric.controlplane.bgp.attributes import path_length
from fabric.controlplane.bgp.errors import UpdateError
from fabric.controlplane.bgp.rib import Path
from fabric.controlplane.evpn.addresses import ip_text
from fabric.controlplane.evpn.evpn_attributes import INGRESS_REPLICATION, VXLAN, Facts, read, read_pmsi
from fabric.controlplane.evpn.evpn_nlri import Payload

_NO_PAYLOAD: Final = Payload()
_CACHE_ENTRIES: Final = 1 << 16


class RemotePath(NamedTuple):
    """One path to some announced routes. Equal paths are interchangeable."""

    vtep: str
    facts: Facts
    payload: Payload
    flood_to: str
    """Endpoint of ingress replication from the PMSI attribute; '' if the route has none."""
    preference: tuple[int, int, int, int]
    """(-LOCAL_PREF, AS_PATH length, origin, MED): between prefixes of several RDs, RFC 4271 section 9.1.2."""
    mobility: tuple[bool, int, bytes]
    """(not sticky, -sequence, packed VTEP), lower wins: RFC 7432 sections 15 and 15.2; at a tie the lower address."""


Candidates = tuple[tuple[bytes, RemotePath], ...]
"""(route distinguisher, path) of every import of one route."""


def mobility_order(vtep: bytes, sequence: int, *, sticky: bool) -> tuple[bool, int, bytes]:
    """Preference of `vtep` (packed) as the location of a MAC; lower wins."""
    return not sticky, -sequence, vtep


def best_of(candidates: Candidates) -> RemotePath:
    """The preferred path to a MAC."""
    return candidates[0][1] if len(candidates) == 1 else min(candidates, key=lambda pair: pair[1].mobility)[1]


def with_candidate(candidates: Candidates | None, single: Candidates) -> Candidates:
    """Candidates with that of one distinguisher added or replaced; `single` itself if it is the only one."""
    if candidates is None or (len(candidates) == 1 and candidates[0][0] == single[0][0]):
        return single
    return tuple(pair for pair in candidates if pair[0] != single[0][0]) + single


def without_candidate(candidates: Candidates | None, rd: bytes) -> Candidates:
    """Candidates without that of a distinguisher; () if none remains."""
    return tuple(pair for pair in candidates or () if pair[0] != rd)


@dataclass(slots=True)
class Reader:
    """Selected path -> RemotePath, cached by content. None for a path that is not a VXLAN path of another VTEP."""

    own_address: bytes
    cache: dict[tuple[object, ...], RemotePath | None] = field(default_factory=dict)
    """Emptied when full: growing sequence numbers create new entries without limit."""

    def __call__(self, path: Path) -> RemotePath | None:
        """Decode a path; usually the same object for the same content."""
        attributes = path.attributes
        contents = (
            path.next_hop,
            attributes.ext_communities,
            path.payload,
            attributes.pmsi_tunnel,
            attributes.local_pref,
            path_length(attributes.as_path),
            attributes.origin,
            attributes.med,
            path.source.local,
        )
        if contents in self.cache:
            return self.cache[contents]
        if len(self.cache) >= _CACHE_ENTRIES:
            self.cache.clear()
        remote = self.cache[contents] = self._read(path)
        return remote

    def _read(self, path: Path) -> RemotePath | None:
        attributes, next_hop = path.attributes, path.next_hop
        if path.source.local or next_hop == self.own_address or len(next_hop) not in {4, 16}:
            return None
        facts = read(attributes.ext_communities)
        if facts.encapsulation not in {None, VXLAN}:
            return None  # RFC 8365 section 5.1.3: an encapsulation that this VTEP does not support
        local_pref = 100 if attributes.local_pref is None else attributes.local_pref
        return RemotePath(
            ip_text(next_hop),
            facts,
            path.payload if isinstance(path.payload, Payload) else _NO_PAYLOAD,
            _flood_endpoint(attributes.pmsi_tunnel),
            (-local_pref, path_length(attributes.as_path), attributes.origin, attributes.med or 0),
            mobility_order(next_hop, facts.sequence, sticky=facts.sticky),
        )


def _flood_endpoint(pmsi: bytes | None) -> str:
    """RFC 7432 section 11.2: the tunnel identifier. A route with a malformed attribute is not used for flooding."""
    try:
        tunnel = None if pmsi is None else read_pmsi(pmsi)
    except UpdateError:
        return ""
    return tunnel.endpoint if tunnel is not None and tunnel.tunnel_type == INGRESS_REPLICATION else ""

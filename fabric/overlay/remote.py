"""What a received EVPN route says, once for all routes that share its attributes; and which of two says it better."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fabric.overlay.addresses import ip_text
from fabric.overlay.evpn_attributes import INGRESS_REPLICATION, VXLAN, Facts, read, read_pmsi
from fabric.overlay.evpn_nlri import Payload
from fabric.routing.bgp.attributes import path_length
from fabric.routing.bgp.errors import UpdateError
from fabric.routing.bgp.rib import Path

_NO_PAYLOAD: Final = Payload()
_MEMORY: Final = 1 << 16


class RemotePath(NamedTuple):
    """One way to reach what some routes announce. Equal paths are interchangeable."""

    vtep: str
    facts: Facts
    payload: Payload
    flood_to: str
    """Endpoint of ingress replication from the PMSI attribute; '' where the route carries none."""
    preference: tuple[int, int, int, int]
    """(-LOCAL_PREF, AS_PATH length, origin, MED): between prefixes of several RDs, RFC 4271 section 9.1.2."""
    mobility: tuple[bool, int, bytes]
    """(not sticky, -sequence, packed VTEP), lower wins: RFC 7432 sections 15 and 15.2; at a tie the lower address."""


Candidates = tuple[tuple[bytes, RemotePath], ...]
"""(route distinguisher, path) of every import of one route."""


def mobility_order(vtep: bytes, sequence: int, *, sticky: bool) -> tuple[bool, int, bytes]:
    """How well a MAC is known to be behind `vtep` (packed); lower wins."""
    return not sticky, -sequence, vtep


def best_of(candidates: Candidates) -> RemotePath:
    """The path by which a MAC is reached."""
    return candidates[0][1] if len(candidates) == 1 else min(candidates, key=lambda pair: pair[1].mobility)[1]


def with_candidate(candidates: Candidates | None, single: Candidates) -> Candidates:
    """Candidates with that of one distinguisher added or replaced; `single` itself where it is the only one."""
    if candidates is None or (len(candidates) == 1 and candidates[0][0] == single[0][0]):
        return single
    return tuple(pair for pair in candidates if pair[0] != single[0][0]) + single


def without_candidate(candidates: Candidates | None, rd: bytes) -> Candidates:
    """Candidates without that of a distinguisher; () where none is left."""
    return tuple(pair for pair in candidates or () if pair[0] != rd)


@dataclass(slots=True)
class Reader:
    """Selected paths -> RemotePath, remembered by their contents. None for what is no VXLAN path of another VTEP."""

    own_address: bytes
    memory: dict[tuple[object, ...], RemotePath | None] = field(default_factory=dict)
    """Forgotten as a whole when it is full, so that sequence numbers that grow for ever do not fill it."""

    def __call__(self, path: Path) -> RemotePath | None:
        """Read a path; the same object for the same contents, as a rule."""
        attributes = path.attributes
        contents = (path.next_hop, attributes.ext_communities, path.payload, attributes.pmsi_tunnel,
                    attributes.local_pref, path_length(attributes.as_path), attributes.origin, attributes.med,
                    path.source.local)
        if contents in self.memory:
            return self.memory[contents]
        if len(self.memory) >= _MEMORY:
            self.memory.clear()
        remote = self.memory[contents] = self._read(path)
        return remote

    def _read(self, path: Path) -> RemotePath | None:
        attributes, next_hop = path.attributes, path.next_hop
        if path.source.local or next_hop == self.own_address or len(next_hop) not in {4, 16}:
            return None
        facts = read(attributes.ext_communities)
        if facts.encapsulation not in {None, VXLAN}:
            return None                          # RFC 8365 section 5.1.3: an encapsulation this VTEP does not have
        local_pref = 100 if attributes.local_pref is None else attributes.local_pref
        return RemotePath(
            ip_text(next_hop), facts, path.payload if isinstance(path.payload, Payload) else _NO_PAYLOAD,
            _flood_endpoint(attributes.pmsi_tunnel),
            (-local_pref, path_length(attributes.as_path), attributes.origin, attributes.med or 0),
            mobility_order(next_hop, facts.sequence, sticky=facts.sticky))


def _flood_endpoint(pmsi: bytes | None) -> str:
    """RFC 7432 section 11.2: the tunnel identifier. A malformed attribute makes a route that nothing is flooded by."""
    try:
        tunnel = None if pmsi is None else read_pmsi(pmsi)
    except UpdateError:
        return ""
    return tunnel.endpoint if tunnel is not None and tunnel.tunnel_type == INGRESS_REPLICATION else ""

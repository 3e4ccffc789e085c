"""From Adj-RIB-In to candidate path: loop checks, what external peers may not say, graceful shutdown, import policy.

All of it is a function of the attributes (and of the prefix, if the policy looks at it), so it is done once per
distinct attributes and remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from fabric.routing.bgp.afi import AddressFamily
from fabric.routing.bgp.attributes import PARTIAL, Attributes, neighbor_asn, path_count
from fabric.routing.bgp.config import PeerFamily
from fabric.routing.bgp.policy import Verdict, evaluate, looks_at_prefixes
from fabric.routing.bgp.update import MEMORY_BYTES, Kept
from fabric.wire.iana import Community

GRACEFUL_SHUTDOWN_LOCAL_PREF: Final = 0
"""RFC 8326 section 4.2: lowest preference."""


class Rejected(Enum):
    """Why a received route is no candidate; value: where the rule stands."""

    AS_LOOP = "RFC 4271 section 9.1.2: own AS in AS_PATH"
    ORIGINATOR = "RFC 4456 section 8: own ORIGINATOR_ID"
    CLUSTER_LOOP = "RFC 4456 section 8: own cluster in CLUSTER_LIST"
    FIRST_AS = "RFC 4271 section 6.3: first AS is not the neighbour's"
    OWN_NEXT_HOP = "RFC 4271 section 6.3: next hop is this router"
    POLICY = "import policy"

    __hash__ = object.__hash__
    """Members are unique; Enum's own hash runs in Python, for every route that a loop turns away."""


Judged = tuple[tuple[bytes, ...], Verdict | Rejected]
"""Routes, and what becomes of them."""


class Importer:
    """Import side of all neighbours of a speaker that are treated alike in one family."""

    def __init__(self, family: AddressFamily, config: PeerFamily, *, local_asn: int, external: bool, router_id: int,
                 cluster_id: int, first_as: int = 0, draining: bool = False,
                 memory_bytes: int = MEMORY_BYTES) -> None:
        self.family = family
        self.config = config
        self.local_asn = local_asn
        self.external = external
        self.router_id = router_id
        self.cluster_id = cluster_id
        self.first_as = first_as
        """AS that AS_PATH must begin with; 0: any."""
        self.draining = draining
        """This router is being drained: what external peers say is marked and of lowest preference, too."""
        self._per_key = looks_at_prefixes(config.import_policy)
        self._memory: Kept[bytes, Verdict | Rejected] = Kept(memory_bytes)

    def __call__(self, attributes: Attributes, keys: tuple[bytes, ...]) -> Sequence[Judged]:
        """What becomes of `keys` under `attributes`: parts of the keys with their verdict."""
        found = self._memory.get(attributes.wire)
        if found is not None:
            return ((keys, found),)
        if path_count(attributes.as_path, self.local_asn) > self.config.allowas_in:
            return ((keys, Rejected.AS_LOOP),)               # cheaper to find again than to remember
        if not self._per_key:
            found = self._judge(attributes, None)
            self._memory.put(attributes.wire, found, len(attributes.wire))
            return ((keys, found),)
        parts: dict[Verdict | Rejected, list[bytes]] = {}
        for key in keys:
            parts.setdefault(self._judge(attributes, key), []).append(key)
        return [(tuple(taken), verdict) for verdict, taken in parts.items()]

    def _judge(self, its: Attributes, key: bytes | None) -> Verdict | Rejected:
        if its.originator_id == self.router_id:
            return Rejected.ORIGINATOR
        if self.cluster_id in its.cluster_list:
            return Rejected.CLUSTER_LOOP
        if self.external and self.first_as and neighbor_asn(its.as_path) != self.first_as:
            return Rejected.FIRST_AS
        local_pref = its.local_pref
        if self.external and Community.GRACEFUL_SHUTDOWN in its.communities:
            local_pref = GRACEFUL_SHUTDOWN_LOCAL_PREF
        elif self.external and self.draining:
            its, local_pref = drained(its), GRACEFUL_SHUTDOWN_LOCAL_PREF
        verdict = evaluate(self.config.import_policy, self.family, key, normalised(its, local_pref))
        return Rejected.POLICY if verdict is None else verdict


def drained(its: Attributes) -> Attributes:
    """As FRR keeps its own copies of routes while `bgp graceful-shutdown` is on (bgp_attr_add_gshut_community)."""
    return replace(its, local_pref=GRACEFUL_SHUTDOWN_LOCAL_PREF,
                   communities=tuple(sorted({*its.communities, int(Community.GRACEFUL_SHUTDOWN)})))


def normalised(its: Attributes, local_pref: int | None) -> Attributes:
    """Communities sorted and unique, as FRR keeps them; foreign attributes marked partial (RFC 4271 section 5)."""
    if not (its.communities or its.ext_communities or its.large_communities or its.unknown):
        return its if its.local_pref == local_pref else replace(its, local_pref=local_pref)
    return replace(
        its, local_pref=local_pref, communities=tuple(sorted(set(its.communities))),
        ext_communities=tuple(sorted(set(its.ext_communities))),
        large_communities=tuple(sorted(set(its.large_communities))),
        unknown=tuple((flags | PARTIAL, code, value) for flags, code, value in its.unknown))

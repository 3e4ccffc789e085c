"""From a received route to a candidate path: loop checks, rules for external peers, graceful shutdown, import policy.

The result is a function of the attributes (and of the prefix, if the policy matches prefixes), so it is computed once
per distinct attributes and cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.attributes import PARTIAL, Attributes, neighbor_asn, path_count
from fabric.controlplane.bgp.config import PeerFamily
from fabric.controlplane.bgp.policy import Verdict, evaluate, looks_at_prefixes
from fabric.controlplane.bgp.update import MEMORY_BYTES, Kept
from fabric.wire.iana import Community

GRACEFUL_SHUTDOWN_LOCAL_PREF: Final = 0
"""RFC 8326 section 4.2: lowest preference."""


class Rejected(Enum):
    """Reason why a received route is no candidate; value: source of the rule."""

    AS_LOOP = "RFC 4271 section 9.1.2: own AS in AS_PATH"
    ORIGINATOR = "RFC 4456 section 8: own ORIGINATOR_ID"
    CLUSTER_LOOP = "RFC 4456 section 8: own cluster in CLUSTER_LIST"
    FIRST_AS = "RFC 4271 section 6.3: first AS is not the neighbour's"
    OWN_NEXT_HOP = "RFC 4271 section 6.3: next hop is this router"
    POLICY = "import policy"

    __hash__ = object.__hash__
    """Members are unique. Enum's default hash runs in Python, for every route that a loop check rejects."""


ImportedPart = tuple[tuple[bytes, ...], Verdict | Rejected]
"""(keys, result of import)."""


class Importer:
    """Import for all neighbours of a speaker with equal settings in one family."""

    def __init__(
        self,
        family: AddressFamily,
        config: PeerFamily,
        *,
        local_asn: int,
        external: bool,
        router_id: int,
        cluster_id: int,
        first_as: int = 0,
        draining: bool = False,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self.family = family
        self.config = config
        self.local_asn = local_asn
        self.external = external
        self.router_id = router_id
        self.cluster_id = cluster_id
        self.first_as = first_as
        """AS that AS_PATH must begin with; 0: any."""
        self.draining = draining
        """This router is being drained: routes of external peers get the community and the lowest preference too."""
        self._per_key = looks_at_prefixes(config.import_policy)
        self._memory: Kept[bytes, Verdict | Rejected] = Kept(memory_bytes)

    def __call__(self, attributes: Attributes, keys: tuple[bytes, ...]) -> Sequence[ImportedPart]:
        """Import `keys` with `attributes`: parts of the keys, each with its result."""
        found = self._memory.get(attributes.wire)
        if found is not None:
            return ((keys, found),)
        if path_count(attributes.as_path, self.local_asn) > self.config.allowas_in:
            return ((keys, Rejected.AS_LOOP),)  # cheaper to compute than to cache
        if not self._per_key:
            found = self._check(attributes, None)
            self._memory.put(attributes.wire, found, len(attributes.wire))
            return ((keys, found),)
        parts: dict[Verdict | Rejected, list[bytes]] = {}
        for key in keys:
            parts.setdefault(self._check(attributes, key), []).append(key)
        return [(tuple(taken), verdict) for verdict, taken in parts.items()]

    def _check(self, attributes: Attributes, key: bytes | None) -> Verdict | Rejected:
        if attributes.originator_id == self.router_id:
            return Rejected.ORIGINATOR
        if self.cluster_id in attributes.cluster_list:
            return Rejected.CLUSTER_LOOP
        if self.external and self.first_as and neighbor_asn(attributes.as_path) != self.first_as:
            return Rejected.FIRST_AS
        local_pref = attributes.local_pref
        if self.external and Community.GRACEFUL_SHUTDOWN in attributes.communities:
            local_pref = GRACEFUL_SHUTDOWN_LOCAL_PREF
        elif self.external and self.draining:
            attributes, local_pref = drained(attributes), GRACEFUL_SHUTDOWN_LOCAL_PREF
        verdict = evaluate(self.config.import_policy, self.family, key, normalised(attributes, local_pref))
        return Rejected.POLICY if verdict is None else verdict


def drained(attributes: Attributes) -> Attributes:
    """Attributes of FRR's own copies of routes under `bgp graceful-shutdown` (bgp_attr_add_gshut_community)."""
    return replace(
        attributes,
        local_pref=GRACEFUL_SHUTDOWN_LOCAL_PREF,
        communities=tuple(sorted({*attributes.communities, int(Community.GRACEFUL_SHUTDOWN)})),
    )


def normalised(attributes: Attributes, local_pref: int | None) -> Attributes:
    """Communities sorted and unique, as in FRR; unknown attributes marked partial (RFC 4271 section 5)."""
    if not (attributes.communities or attributes.ext_communities or attributes.large_communities or attributes.unknown):
        return attributes if attributes.local_pref == local_pref else replace(attributes, local_pref=local_pref)
    groups = attributes.communities, attributes.ext_communities, attributes.large_communities
    ordered = communities, ext_communities, large_communities = (
        tuple(sorted(set(groups[0]))),
        tuple(sorted(set(groups[1]))),
        tuple(sorted(set(groups[2]))),
    )
    if ordered == groups and not attributes.unknown and attributes.local_pref == local_pref:
        return attributes  # as most arrive; encoding equal ones again is a fifth of the time of many reflectors
    return replace(
        attributes,
        local_pref=local_pref,
        communities=communities,
        ext_communities=ext_communities,
        large_communities=large_communities,
        unknown=tuple((flags | PARTIAL, code, value) for flags, code, value in attributes.unknown),
    )

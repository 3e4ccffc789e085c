"""From Loc-RIB to UPDATEs. Peers with equal outbound settings form an update group, whose UPDATEs are encoded once.

Only the next hop can differ between peers of a group ('self': this end's address of each session). The encoded batch
leaves it open, and each peer's bytes are one ``join``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.attributes import Attributes, prepend
from fabric.controlplane.bgp.config import Neighbor, PeerFamily
from fabric.controlplane.bgp.policy import ACCEPT_ALL, evaluate, looks_at_prefixes
from fabric.controlplane.bgp.rib import Group, Path, Sent, Table
from fabric.controlplane.bgp.timers import Timer
from fabric.controlplane.bgp.update import MEMORY_BYTES, Kept, reach_messages, unreach_messages
from fabric.wire.iana import Community

_NOT_TO_EXTERNAL: Final = (Community.NO_EXPORT, Community.NO_EXPORT_SUBCONFED)


@dataclass(frozen=True, slots=True)
class Outbound:
    """Everything that decides what is advertised to a peer: peers with equal Outbound share an update group."""

    external: bool
    client: bool
    """A client of this route reflector, RFC 4456."""
    local_asn: int
    config: PeerFamily
    self_bytes: int
    """Length of this end's address: 4, or 16 for IPv6 next hops (RFC 8950)."""
    limit: int
    width: int
    mrai_ns: int
    graceful_shutdown: bool
    router_id: int
    cluster_id: int
    default_local_pref: int


class Batch:
    """UPDATEs for one update group: pieces that are joined by the next hop for each peer."""

    def __init__(self, family: AddressFamily, outbound: Outbound) -> None:
        self._family = family
        self._outbound = outbound
        self._reach: dict[tuple[bytes, bytes, Hashable], tuple[Sent, list[bytes]]] = {}
        self._gone: list[bytes] = []
        self.messages = 0
        self.cause = 0
        """The highest cause of the changes in it (cause.py)."""

    def announce(self, sent: Sent, keys: Iterable[bytes]) -> None:
        """Add routes to announce. Routes with equal attributes, next hop and payload share UPDATEs."""
        where = (sent.attributes.wire, sent.next_hop, sent.payload)
        entry = self._reach.get(where)
        if entry is None:
            entry = self._reach[where] = (sent, [])
        entry[1].extend(keys)

    def withdraw(self, keys: Iterable[bytes]) -> None:
        """Add routes to withdraw."""
        self._gone.extend(keys)

    def __bool__(self) -> bool:
        return bool(self._reach or self._gone)

    def encode(self) -> tuple[bytes, ...]:
        """Pieces to be joined by the peer's next hop; a single piece is the same for all. Withdrawals come first."""
        family, out = self._family, self._outbound
        pieces: list[bytes] = []
        part: list[bytes] = []
        if self._gone:
            for message in unreach_messages(family, family.encode_nlri(self._gone, None, True), out.limit):
                part.append(message)
                self.messages += 1
        for sent, keys in self._reach.values():
            nlri = family.encode_nlri(keys, sent.payload, False)
            size = len(sent.next_hop) or out.self_bytes
            for before, behind in reach_messages(family, sent.attributes, size, nlri, out.limit, out.width):
                self.messages += 1
                part.append(before)
                if sent.next_hop:
                    part.append(sent.next_hop)
                else:
                    pieces.append(b"".join(part))
                    part = []
                part.append(behind)
        pieces.append(b"".join(part))
        return tuple(pieces)


class UpdateGroup:
    """Adj-RIB-Out of the peers with equal outbound settings in one family."""

    def __init__(self, index: int, table: Table, outbound: Outbound, memory_bytes: int = MEMORY_BYTES) -> None:
        self.index = index
        self.table = table
        self.outbound = outbound
        self.members: dict[str, bytes] = {}
        """Name -> this end's packed address; established peers, before and after their initial table."""
        self.synced: dict[str, None] = {}
        """Members that have received the whole table and follow its changes."""
        self.waiting: dict[str, int] = {}
        """Members that receive the whole table when the coalesce timer expires -> cause (cause.py)."""
        self.coalesce_timer = Timer(lambda _: None)
        """Runs while members wait; distribution.py sets its action."""
        self.pending: dict[Group, int] = {}
        """Routes to compare with what was advertised -> cause (cause.py)."""
        self.active = False
        self.advertised = 0
        """Routes in the Adj-RIB-Out."""
        self.next_send_ns = 0
        """MinRouteAdvertisementInterval: no UPDATE before this time."""
        self.version = 0
        self._dump: tuple[int, tuple[bytes, ...], int] = (-1, (), 0)
        self._memory: Kept[tuple[bytes, bytes, bool, bool, int], tuple[Attributes, bytes] | None] = Kept(memory_bytes)
        self._per_key = looks_at_prefixes(outbound.config.export_policy)

    def activate(self) -> None:
        """Start to follow the table: all routes are pending."""
        self.active = True
        self.pending.update(dict.fromkeys(self.table.groups, 0))
        self.table.queues.append(self.pending)

    def deactivate(self) -> None:
        """The group has no members: drop its Adj-RIB-Out."""
        self.active = False
        self.pending.clear()
        self.table.queues = [queue for queue in self.table.queues if queue is not self.pending]
        for group in self.table.groups:
            group.sent.pop(self.index, None)
        self.advertised = 0
        self.version += 1

    def batch(self) -> Batch:
        """An empty batch for this group's peers."""
        return Batch(self.table.family, self.outbound)

    def flush(self) -> Batch:
        """UPDATEs for the `synced` members: pending routes whose selection differs from what was advertised."""
        batch = self.batch()
        index = self.index
        queue = list(self.pending)
        batch.cause = max(self.pending.values(), default=0)
        self.pending.clear()
        for group in queue:
            for part in self._parts(group):
                old, new = part.sent.get(index), self.desired(part)
                if new == old:
                    continue
                self.version += 1
                if new is None:
                    del part.sent[index]
                    self.advertised -= len(part.members)
                    batch.withdraw(part.keys)
                else:
                    part.sent[index] = new
                    if old is None:
                        self.advertised += len(part.members)
                    batch.announce(new, part.keys)
        return batch

    def dump(self) -> tuple[tuple[bytes, ...], int]:
        """(pieces, number of UPDATEs) of the whole Adj-RIB-Out; cached until it changes."""
        if self._dump[0] != self.version:
            batch = self.batch()
            for group in self.table.groups:
                sent = group.sent.get(self.index)
                if sent is not None:
                    batch.announce(sent, group.keys)
            pieces = batch.encode()
            self._dump = (self.version, pieces, batch.messages)
        return self._dump[1], self._dump[2]

    def _parts(self, group: Group) -> Iterable[Group]:
        """The group itself, or its parts if the export policy treats its routes differently."""
        if not self._per_key or group.selection is None or len(group.members) == 1:
            return (group,)
        best = group.selection.best
        outcomes: dict[Sent | None, list[bytes]] = {}
        for key in group.keys:
            outcomes.setdefault(self._advertisement(best, key), []).append(key)
        parts = [self.table.split(group, keys) for keys in list(outcomes.values())[1:]]
        for part in parts:
            self.pending.pop(part, None)  # the caller handles it now
        return (group, *parts)

    def desired(self, group: Group) -> Sent | None:
        """What should be advertised for a group; None: nothing."""
        if group.selection is None:
            return None
        best = group.selection.best
        if self._per_key:
            return self._advertisement(best, next(iter(group.members)))
        source = best.source
        where = (
            best.attributes.wire,
            best.next_hop,
            source.external,
            source.client,
            0 if self.outbound.external else source.router_id,
        )
        if best.source.local:  # its MED is advertised, and local routes are few
            return self._advertisement(best, None)
        if where in self._memory:
            found = self._memory[where]
            return None if found is None else Sent(found[0], found[1], best.payload)
        sent = self._advertisement(best, None)
        self._memory.put(where, None if sent is None else (sent.attributes, sent.next_hop), len(best.attributes.wire))
        return sent

    def _advertisement(self, best: Path, key: bytes | None) -> Sent | None:
        out, family, attributes = self.outbound, self.table.family, best.attributes
        source = best.source
        if Community.NO_ADVERTISE in attributes.communities:
            return None
        if out.external and any(community in attributes.communities for community in _NOT_TO_EXTERNAL):
            return None
        reflected = not source.local and not source.external and not out.external
        if reflected and not (source.client or out.client):
            return None  # RFC 4456 section 6: non-client to non-client
        if out.config.export_policy == ACCEPT_ALL:
            attributes, next_hop = self._outgoing(attributes, best, reflected=reflected), self._next_hop(best)
        else:
            verdict = evaluate(out.config.export_policy, family, key, attributes)
            if verdict is None:
                return None
            # Policy comes first: the own AS precedes the AS numbers that it prepends, and a MED that it sets is sent.
            attributes = self._outgoing(
                verdict.attributes, best, reflected=reflected, med_is_ours=verdict.attributes.med != attributes.med
            )
            next_hop = self._next_hop(best) if verdict.next_hop is None else verdict.next_hop
        if out.graceful_shutdown:
            # RFC 8326 section 4.1; towards internal peers LOCAL_PREF 0 at once.
            attributes = replace(
                attributes,
                communities=tuple(sorted({*attributes.communities, int(Community.GRACEFUL_SHUTDOWN)})),
                local_pref=None if out.external else 0,
            )
        return Sent(attributes, next_hop, best.payload)

    def _outgoing(
        self, attributes: Attributes, best: Path, *, reflected: bool, med_is_ours: bool = False
    ) -> Attributes:
        """Attributes as advertised to the peers."""
        out = self.outbound
        if out.external:
            # RFC 4271 section 5.1.4: a received MED is not propagated to other neighbouring ASes.
            return replace(
                attributes,
                as_path=prepend(attributes.as_path, out.local_asn),
                local_pref=None,
                originator_id=None,
                cluster_list=(),
                med=attributes.med if best.source.local or med_is_ours else None,
            )
        local_pref = out.default_local_pref if attributes.local_pref is None else attributes.local_pref
        if not reflected:
            return replace(attributes, local_pref=local_pref)
        originator = best.source.router_id if attributes.originator_id is None else attributes.originator_id
        return replace(
            attributes,
            local_pref=local_pref,
            originator_id=originator,
            cluster_list=(out.cluster_id, *attributes.cluster_list),
        )  # RFC 4456 section 8

    def _next_hop(self, best: Path) -> bytes:
        """RFC 4271 section 5.1.3; b'' stands for this end's address."""
        out, config, family = self.outbound, self.outbound.config, self.table.family
        if not best.next_hop or config.next_hop_self:
            return b""
        if family.keeps_next_hop or config.next_hop_unchanged or not out.external:
            return best.next_hop
        return b""


def outbound_of(
    neighbor: Neighbor,
    family: AddressFamily,
    config: PeerFamily,
    *,
    external: bool,
    local_asn: int,
    self_bytes: int,
    limit: int,
    width: int,
    graceful_shutdown: bool,
    router_id: int,
    cluster_id: int,
    default_local_pref: int,
) -> Outbound:
    """The key of the update group of a neighbour; settings of import are not part of it."""
    bare = replace(config, import_policy=PeerFamily().import_policy, allowas_in=0, max_prefixes=None)
    if family.keeps_next_hop:
        bare = replace(bare, next_hop_unchanged=False)  # such a family never changes the next hop
    return Outbound(
        external,
        config.route_reflector_client,
        local_asn,
        bare,
        self_bytes,
        limit,
        width,
        neighbor.mrai_ns,
        graceful_shutdown,
        router_id,
        cluster_id,
        default_local_pref,
    )

"""Advertisement to peers: update groups, initial tables, changes, and the minimum interval between changes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.cause import Cause
from fabric.controlplane.bgp.config import COALESCE_LIMIT_NS, COALESCE_NS, COALESCE_PER_PEER_NS, SpeakerConfig
from fabric.controlplane.bgp.export import Outbound, UpdateGroup, outbound_of
from fabric.controlplane.bgp.fsm import State
from fabric.controlplane.bgp.peer import Peer
from fabric.controlplane.bgp.rib import Table
from fabric.controlplane.bgp.session import Session, router_id_number
from fabric.controlplane.bgp.timers import Timer, TimerJitter, Timers
from fabric.controlplane.bgp.update import MEMORY_BYTES, end_of_rib

Advertised = tuple[tuple[bytes, ...], Attributes, bytes, Hashable]
"""(keys, attributes, next hop, payload)."""


def adj_rib_out(peer: Peer, family: AddressFamily) -> Iterator[Advertised]:
    """Routes advertised to a peer."""
    update_group = peer.groups.get(family)
    if update_group is None or peer.neighbor.name not in update_group.synced:
        return
    for group in update_group.table.groups:
        sent = group.sent.get(update_group.index)
        if sent is not None:
            yield group.keys, sent.attributes, sent.next_hop or peer.local_bytes, sent.payload


class Distributor:
    """Adj-RIBs-Out of a speaker."""

    def __init__(
        self,
        config: SpeakerConfig,
        tables: Mapping[AddressFamily, Table],
        peers: Mapping[str, Peer],
        timers: Timers,
        cause: Cause,
        jittered: TimerJitter,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self._memory_bytes = memory_bytes
        self.cause = cause
        self.config = config
        self.router_id = router_id_number(config.router_id)
        self.cluster_id = router_id_number(config.cluster_id) if config.cluster_id else self.router_id
        self.tables = tables
        self.peers = peers
        self.timers = timers
        self.groups: dict[tuple[AddressFamily, Outbound], UpdateGroup] = {}
        self.peers_counted = len(config.neighbors)
        """Neighbours as bgpd counts them for its coalesce time: the configured ones, and one more for each that was not
        established at the last incoming connection (peer_create in bgp_accept counts a neighbour structure when it is
        created, not when it is freed)."""
        self._jittered = jittered
        self._mrai_timer = Timer(self.flush_all)

    def followers(self, table: Table) -> list[UpdateGroup]:
        """Active groups that advertise `table`."""
        return [group for group in self.groups.values() if group.table is table and group.active]

    def join(self, peer: Peer, session: Session, family: AddressFamily) -> None:
        """Put the peer into the update group with equal outbound settings."""
        agreed = session.agreed
        if agreed is None:
            raise TypeError("a session without negotiated parameters cannot join an update group")
        outbound = outbound_of(
            peer.neighbor,
            family,
            peer.families[family],
            external=session.external,
            local_asn=session.local_asn,
            self_bytes=len(peer.local_bytes),
            limit=agreed.limit,
            width=agreed.width,
            graceful_shutdown=peer.graceful_shutdown,
            router_id=self.router_id,
            cluster_id=self.cluster_id,
            default_local_pref=self.config.default_local_pref,
        )
        group = self.groups.get((family, outbound))
        if group is None:
            group = self.groups[family, outbound] = UpdateGroup(
                len(self.groups) + 1, self.tables[family], outbound, self._memory_bytes
            )
            made = group
            group.coalesce_timer.expire = lambda now_ns: self._coalesced(family, made, now_ns)
        group.members[peer.neighbor.name] = peer.local_bytes
        peer.groups[family] = group

    @staticmethod
    def leave(peer: Peer, family: AddressFamily) -> None:
        """Remove the peer from its update group; an empty group drops its Adj-RIB-Out."""
        group = peer.groups.pop(family)
        group.members.pop(peer.neighbor.name, None)
        group.synced.pop(peer.neighbor.name, None)
        group.waiting.pop(peer.neighbor.name, None)
        if not group.waiting:
            Timers.stop(group.coalesce_timer)
        if group.active and not group.synced:
            group.deactivate()

    def regroup(self, peer: Peer, family: AddressFamily, now_ns: int) -> None:
        """The peer's outbound settings changed: move it to another update group, and advertise the difference."""
        session, old = peer.established, peer.groups[family]
        if session is None:
            return
        was_synced, was_waiting = peer.neighbor.name in old.synced, peer.neighbor.name in old.waiting
        before = {key: None for keys, *_ in adj_rib_out(peer, family) for key in keys}
        self.leave(peer, family)
        self.join(peer, session, family)
        if was_waiting:
            self.announce_later(peer, family, now_ns)
        if was_synced:
            self._advertise_all(peer, session, family, now_ns)
            for keys, *_ in adj_rib_out(peer, family):
                for key in keys:
                    before.pop(key, None)
            if before:
                batch = peer.groups[family].batch()
                batch.withdraw(before)
                self._send(peer, session, batch.encode(), batch.messages, now_ns)

    def count_peers(self) -> None:
        """Count neighbours again after an incoming connection."""
        sessions = [session for peer in self.peers.values() for session in peer.sessions.values()]
        self.peers_counted = len(self.peers) + sum(
            not session.outgoing and session.state != State.ESTABLISHED for session in sessions
        )

    def coalesce_ns(self) -> int:
        """The wait of a subgroup without history, from now."""
        if self.config.announce_delay_ns is not None:
            return self.config.announce_delay_ns
        return min(COALESCE_LIMIT_NS, COALESCE_NS + COALESCE_PER_PEER_NS * self.peers_counted)

    def announce_later(self, peer: Peer, family: AddressFamily, now_ns: int) -> None:
        """Schedule the initial table for a new member of an update group, together with other new members.

        FRR's update_subgroup_find: a peer joins the subgroup without history, whose coalesce timer runs already, or a
        new one, whose timer starts now.
        """
        group = peer.groups[family]
        if not group.waiting:
            self.timers.set(group.coalesce_timer, now_ns + self.coalesce_ns())
        group.waiting[peer.neighbor.name] = self.cause.now

    @property
    def coalescing(self) -> bool:
        """Whether any peer still waits for its initial table."""
        return any(group.waiting for group in self.groups.values())

    def _coalesced(self, family: AddressFamily, group: UpdateGroup, now_ns: int) -> None:
        """Send the whole table, then End-of-RIB. From now on these peers follow the group's changes."""
        waiting = list(group.waiting.items())
        group.waiting.clear()
        for name, cause in waiting:
            peer = self.peers[name]
            session = peer.established
            if session is None or session.agreed is None:
                continue
            self.cause.now = cause
            self._advertise_all(peer, session, family, now_ns)
            if session.agreed.peer.restart is not None:
                session.traffic.sent.updates += 1
                session.send(end_of_rib(family.id), now_ns)
                peer.end_of_rib_sent[family] = now_ns

    def _advertise_all(self, peer: Peer, session: Session, family: AddressFamily, now_ns: int) -> None:
        group, cause = peer.groups[family], self.cause.now
        if not group.active:
            group.activate()
        self._flush(group, now_ns)
        self.cause.now = cause
        self.send_dump(peer, session, family, now_ns)
        group.synced[peer.neighbor.name] = None

    def send_dump(self, peer: Peer, session: Session, family: AddressFamily, now_ns: int) -> None:
        """Send the whole Adj-RIB-Out of the peer's group to this peer."""
        pieces, messages = peer.groups[family].dump()
        self._send(peer, session, pieces, messages, now_ns)

    def flush_all(self, now_ns: int) -> None:
        """Send pending changes to every group, unless its MinRouteAdvertisementInterval still runs."""
        wait_ns: int | None = None
        for group in self.groups.values():
            if not group.pending:
                continue
            if now_ns < group.next_send_ns:
                wait_ns = group.next_send_ns if wait_ns is None else min(wait_ns, group.next_send_ns)
            else:
                self._flush(group, now_ns)
        if wait_ns is not None:
            self.timers.set(self._mrai_timer, wait_ns)
        for table in self.tables.values():
            table.sweep()

    def _flush(self, group: UpdateGroup, now_ns: int) -> None:
        batch = group.flush()
        if not batch:
            return
        group.next_send_ns = now_ns + self._jittered(group.outbound.mrai_ns)
        self.cause.now = batch.cause
        pieces = batch.encode()
        for name in group.synced:
            peer = self.peers[name]
            if peer.established is not None:
                self._send(peer, peer.established, pieces, batch.messages, now_ns)

    @staticmethod
    def _send(peer: Peer, session: Session, pieces: tuple[bytes, ...], messages: int, now_ns: int) -> None:
        data = pieces[0] if len(pieces) == 1 else peer.local_bytes.join(pieces)
        if data:
            session.traffic.sent.updates += messages
            session.send(data, now_ns)

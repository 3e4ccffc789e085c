"""One BGP router without I/O: calls carry bytes and times, and return actions.

    speaker = Speaker(config, memory)                memory: share one Memory among the speakers of a fabric
    actions = speaker.start(now_ns)                  -> Connect(peer) for every active neighbour
    actions = speaker.connected(peer, now_ns)        the transport is up (either side opened it)
    actions = speaker.received(peer, data, now_ns)   any cut of the byte stream
    actions = speaker.closed(peer, now_ns)           the transport went down or could not be opened
    actions = speaker.link_down(peer, now_ns)        carrier lost (FRR: fast external fallover); bfd_down likewise
    actions = speaker.path_lost(peer, now_ns)        carrier lost below a session that waits for its hold timer
    actions = speaker.tick(now_ns)                   at, or any time after, next_deadline_ns()
    actions = speaker.originate(family, keys, attributes, now_ns, next_hop=..., payload=...)
    actions = speaker.withdraw(family, keys, now_ns)

Every call returns the list of actions to execute in order. Time never goes backwards between calls. The same calls with
the same arguments give the same actions, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from fabric.controlplane.bgp import graceful_restart, keepalives, route_refresh, ties
from fabric.controlplane.bgp.actions import Action, SessionDown, SessionUp
from fabric.controlplane.bgp.adj_rib_in import AdjRibIn
from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.cause import Cause
from fabric.controlplane.bgp.config import NS_PER_S, PeerFamily, SpeakerConfig
from fabric.controlplane.bgp.decision import NOTHING, Decision, decide
from fabric.controlplane.bgp.decision_process import DecisionProcess
from fabric.controlplane.bgp.distribution import Advertised, Distributor, adj_rib_out
from fabric.controlplane.bgp.errors import BgpError
from fabric.controlplane.bgp.fsm import Event, State
from fabric.controlplane.bgp.importing import drained
from fabric.controlplane.bgp.message import RouteRefresh
from fabric.controlplane.bgp.peer import Peer
from fabric.controlplane.bgp.policy import Policy
from fabric.controlplane.bgp.rib import Path, Selection, Source, Table
from fabric.controlplane.bgp.session import Reset, Session, router_id_number
from fabric.controlplane.bgp.timers import TimerJitter, Timers
from fabric.controlplane.bgp.update import Decoder, Memory, Update
from fabric.wire.iana import Cease, ErrorCode

LOCAL_WEIGHT = 32768
"""FRR's weight of routes this router originates."""


class Speaker:
    """One BGP router. The module's docstring has the protocol between the speaker and its owner."""

    def __init__(self, config: SpeakerConfig, memory: Memory | None = None, cause: Cause | None = None) -> None:
        self.config = config
        self.cause = cause if cause is not None else Cause()
        self.router_id = router_id_number(config.router_id)
        self.cluster_id = router_id_number(config.cluster_id) if config.cluster_id else self.router_id
        families = dict.fromkeys(family for neighbor in config.neighbors for family in neighbor.families)
        self.tables: dict[AddressFamily, Table] = {IPV4_UNICAST: Table(IPV4_UNICAST, self.cause)}
        for family in families:
            self.table(family)
        for family in config.report_received:
            self.table(family).reports_received = True
        self.memory = memory if memory is not None else Memory(families)
        self.timers = Timers(self.cause)
        self.actions: list[Action] = []
        self.peers = {neighbor.name: Peer(self, neighbor, self._purge) for neighbor in config.neighbors}
        self.local = Source("", config.asn, external=False, router_id=self.router_id, address=b"")
        self.jittered = TimerJitter(config.jitter_key)
        self.out = Distributor(
            config, self.tables, self.peers, self.timers, self.cause, self.jittered, self.memory.room_bytes
        )
        self.decisions = DecisionProcess(config, self.tables, self.timers, self.cause, self.out, self.actions)
        self._adj_rib_in = AdjRibIn(
            self.tables, router_id=self.router_id, cluster_id=self.cluster_id, memory_bytes=self.memory.room_bytes
        )
        self.draining = False
        self._networks: dict[bytes, tuple[Attributes, bytes, Hashable]] = {}
        """IPv4 routes of this speaker, as advertised while the speaker is not drained."""

    def table(self, family: AddressFamily) -> Table:
        """The table of a family; created on first use."""
        if family not in self.tables:
            self.tables[family] = Table(family, self.cause)
        return self.tables[family]

    # The owner's calls

    def start(self, now_ns: int) -> list[Action]:
        """ManualStart of every neighbour (RFC 4271 section 8.1.2: event 1, or event 4 if passive). With a start delay:
        the automatic start of section 8.1.1 (event 13) after that delay.
        """
        for peer in self.peers.values():
            if self.config.start_delay_ns and not peer.neighbor.passive:
                self.timers.set(peer.primary.idle_timer, now_ns + self.config.start_delay_ns)
            else:
                self._start(peer, now_ns)
        return self._finish(now_ns)

    def stop(self, now_ns: int, reason: str = "Administrative Shutdown") -> list[Action]:
        """ManualStop for every neighbour: Cease / Administrative Shutdown."""
        for peer in self.peers.values():
            peer.shut = True
            for session in self._all_sessions(peer):
                session.handle(Event.MANUAL_STOP, now_ns, reason=reason)
        return self._finish(now_ns)

    def connected(self, peer: str, now_ns: int, connection: int = 0, *, outgoing: bool = True) -> list[Action]:
        """A transport connection to `peer` is up. `connection` numbers parallel connections (RFC 4271 section 6.8)."""
        peer_state = self.peers[peer]
        event = Event.TCP_CR_ACKED if outgoing else Event.TCP_CONFIRMED
        session = peer_state.primary
        if session.state >= State.OPEN_SENT:
            if connection in peer_state.sessions:
                raise ValueError(f"connection {connection} to {peer} is already up")
            session = Session(self, peer_state.neighbor, peer_state.traffic, connection)
            session.state = State.ACTIVE
        session.connection, session.outgoing = connection, outgoing
        if (
            not outgoing
            and session.state == State.IDLE
            and session.idle_timer.deadline_ns is not None
            and (not peer_state.over_limit)
        ):
            # In RFC 4271 section 8.2.2, Idle refuses connections. FRR's bgp_accept accepts one unless the neighbour is
            # shut down, being cleared or over its prefix limit, even before the neighbour's start timer expires.
            self._start(peer_state, now_ns, passive=True)
        if session.state != State.IDLE:
            peer_state.sessions[connection] = session
        if not outgoing:
            self.out.count_peers()
        session.handle(event, now_ns)
        return self._finish(now_ns)

    def received(self, peer: str, data: bytes, now_ns: int, connection: int = 0) -> list[Action]:
        """Bytes from `peer`, cut anywhere. Bytes of a connection that this end has closed are ignored."""
        session = self.peers[peer].sessions.get(connection)
        if session is not None:
            session.receive(data, now_ns)
        return self._finish(now_ns)

    def closed(self, peer: str, now_ns: int, connection: int = 0) -> list[Action]:
        """The connection went down, or could not be opened."""
        peer_state = self.peers[peer]
        session = peer_state.sessions.get(connection, peer_state.primary)
        if session.state in (State.CONNECT, State.ACTIVE) or connection in peer_state.sessions:
            session.handle(Event.TCP_FAILS, now_ns, reason="Peer closed the session")
        return self._finish(now_ns)

    def link_down(self, peer: str, now_ns: int) -> list[Action]:
        """The link of the session lost carrier: the session ends at once, without NOTIFICATION. Next: link_up()."""
        peer_state = self.peers[peer]
        peer_state.reachable = False
        for session in self._all_sessions(peer_state):
            session.handle(Event.LINK_DOWN, now_ns, reason="Interface down")
        peer_state.waits_for_next_hop = True
        if peer_state.neighbor.by_interface:
            self.timers.stop(peer_state.primary.idle_timer)  # FRR: without an address there is no restart
        return self._finish(now_ns)

    def path_lost(self, peer: str, now_ns: int) -> list[Action]:
        """The link lost carrier, but the session stays: FRR's fast external fallover covers single-hop eBGP only. The
        session ends by its hold timer or BFD; the owner removes the next hops over the link (interior_routes).
        """
        peer_state = self.peers[peer]
        peer_state.reachable, peer_state.waits_for_next_hop = False, True
        return self._finish(now_ns)

    def link_up(self, peer: str, now_ns: int) -> list[Action]:
        """The link is up again, or BFD is: connect, unless a session or an attempt exists."""
        peer_state = self.peers[peer]
        peer_state.reachable = True
        if not peer_state.shut:
            if peer_state.primary.state == State.ACTIVE:
                peer_state.primary.handle(Event.CONNECT_RETRY_EXPIRES, now_ns)
            else:
                self._start(peer_state, now_ns)
        return self._finish(now_ns)

    def bfd_down(self, peer: str, now_ns: int) -> list[Action]:
        """BFD reports the neighbour down (RFC 5882 section 10.2). The session is retried, as after any error."""
        peer_state = self.peers[peer]
        for session in self._all_sessions(peer_state):
            session.handle(
                Event.AUTOMATIC_STOP,
                now_ns,
                reason="BFD down received",
                error=BgpError(ErrorCode.CEASE, Cease.BFD_DOWN, "BFD down received"),
            )  # RFC 9384
        if not peer_state.shut:
            self.timers.set(peer_state.primary.idle_timer, now_ns + peer_state.neighbor.idle_hold_ns)
        return self._finish(now_ns)

    def reset(self, peer: str, now_ns: int) -> list[Action]:
        """Administrative reset: Cease, then connect again."""
        peer_state = self.peers[peer]
        for session in self._all_sessions(peer_state):
            session.handle(
                Event.AUTOMATIC_STOP,
                now_ns,
                reason="Administrative reset",
                error=BgpError(ErrorCode.CEASE, Cease.ADMINISTRATIVE_RESET, "Administrative reset"),
            )
        self._start(peer_state, now_ns)
        return self._finish(now_ns)

    def tick(self, now_ns: int) -> list[Action]:
        """Run every timer that is due: hold, keepalive, connect retry, decision process, advertisement."""
        self.timers.run(now_ns)
        return self._finish(now_ns)

    def next_deadline_ns(self) -> int | None:
        """Time of the next tick(); None: no timer runs."""
        return self.timers.next_ns()

    def originate(
        self,
        family: AddressFamily,
        keys: Sequence[bytes],
        attributes: Attributes,
        now_ns: int,
        *,
        next_hop: bytes = b"",
        payload: Hashable = None,
    ) -> list[Action]:
        """Originate routes, in one block; replaces an earlier origination of the same keys.

        `next_hop` packed; b'' means 'self' (this end's address of each session).
        """
        if family is IPV4_UNICAST:
            self._networks.update(dict.fromkeys(keys, (attributes, next_hop, payload)))
        self._put_local(family, keys, attributes, next_hop, payload, now_ns)
        return self._finish(now_ns)

    def _put_local(
        self,
        family: AddressFamily,
        keys: Sequence[bytes],
        attributes: Attributes,
        next_hop: bytes,
        payload: Hashable,
        now_ns: int,
    ) -> None:
        if (
            self.draining and family is IPV4_UNICAST
        ):  # FRR marks `network` routes, but not the EVPN routes that it originates
            attributes = drained(attributes)
        path = Path(self.local, attributes, next_hop, payload, now_ns, LOCAL_WEIGHT)
        if self.table(family).put("", tuple(keys), path):
            self.decisions.schedule(now_ns)

    def withdraw(self, family: AddressFamily, keys: Sequence[bytes], now_ns: int) -> list[Action]:
        """Withdraw originated routes. Keys that were not originated are ignored."""
        for key in keys if family is IPV4_UNICAST else ():
            self._networks.pop(key, None)
        if keys and self.table(family).remove("", tuple(keys)):
            self.decisions.schedule(now_ns)
        return self._finish(now_ns)

    def graceful_shutdown(self, now_ns: int, *, on: bool, peer: str | None = None) -> list[Action]:
        """RFC 8326: add or remove GRACEFUL_SHUTDOWN on all routes advertised to `peer` (None: to all peers).

        None is FRR's `bgp graceful-shutdown`. It also sets the community and LOCAL_PREF 0 on this router's own copies:
        on its networks at once, on routes of external peers by route refresh (RFC 2918).
        """
        if peer is None and on != self.draining:
            self.draining = on
            for key, (attributes, next_hop, payload) in list(self._networks.items()):
                self._put_local(IPV4_UNICAST, (key,), attributes, next_hop, payload, now_ns)
            for peer_state in self.peers.values():
                if peer_state.established is not None and peer_state.established.external:
                    for family in list(peer_state.groups):
                        peer_state.importers[family] = self._adj_rib_in.importer(
                            peer_state, peer_state.established, family, draining=self.draining
                        )
                        route_refresh.request(peer_state, family, now_ns)
        for peer_state in self.peers.values() if peer is None else (self.peers[peer],):
            peer_state.graceful_shutdown = on
            for family in list(peer_state.groups):
                self.out.regroup(peer_state, family, now_ns)
        return self._finish(now_ns)

    def set_policy(
        self,
        peer: str,
        family: AddressFamily,
        now_ns: int,
        *,
        import_policy: Policy | None = None,
        export_policy: Policy | None = None,
    ) -> list[Action]:
        """Change policies of a live session. Export takes effect at once, import by route refresh (RFC 2918)."""
        peer_state = self.peers[peer]
        old = peer_state.families[family]
        peer_state.families[family] = PeerFamily(
            old.import_policy if import_policy is None else import_policy,
            old.export_policy if export_policy is None else export_policy,
            old.next_hop_self,
            old.next_hop_unchanged,
            old.route_reflector_client,
            old.allowas_in,
            old.max_prefixes,
        )
        if peer_state.established is not None and family in peer_state.groups:
            if export_policy is not None:
                self.out.regroup(peer_state, family, now_ns)
            if import_policy is not None:
                peer_state.importers[family] = self._adj_rib_in.importer(
                    peer_state, peer_state.established, family, draining=self.draining
                )
                route_refresh.request(peer_state, family, now_ns)
        return self._finish(now_ns)

    def request_refresh(self, peer: str, family: AddressFamily, now_ns: int) -> list[Action]:
        """Request the routes of `peer` again (RFC 2918). No effect if the peer lacks the capability."""
        route_refresh.request(self.peers[peer], family, now_ns)
        return self._finish(now_ns)

    def interior_routes(self, metrics: Mapping[str, int | None], now_ns: int) -> list[Action]:
        """Prefix -> metric of non-BGP routes that next hops resolve over (an IGP, static); None removes one."""
        self.decisions.set_interior(metrics, now_ns)
        return self._finish(now_ns)

    def prefer_older(self, family: AddressFamily, older: Mapping[bytes, str], now_ns: int) -> tuple[int, list[Action]]:
        """Prefer, among equal paths, those of the given neighbours as the older ones (ties.py).

        Returns the number of routes that change, and the actions.
        """
        changed = ties.prefer(
            self.table(family), older, self.decisions.preferences(family), self.decisions.metric(family), self.cause.now
        )
        if changed:
            self.decisions.schedule(now_ns)
        return changed, self._finish(now_ns)

    # Queries

    def selection(self, family: AddressFamily, key: bytes) -> Selection | None:
        """The selection for one route."""
        group = self.table(family).group_of.get(key)
        return None if group is None else group.selection

    def loc_rib(self, family: AddressFamily) -> Iterator[tuple[tuple[bytes, ...], Selection]]:
        """Every selected route of a family: (keys that share it, selection)."""
        for group in self.table(family).groups:
            if group.selection is not None:
                yield group.keys, group.selection

    def candidates(self, family: AddressFamily, key: bytes) -> tuple[Path, ...]:
        """All paths known for one route, the newest first."""
        group = self.table(family).group_of.get(key)
        if group is None:
            return ()
        paths = list(group.paths.values())
        paths.reverse()
        paths.sort(key=lambda path: -path.received_ns)  # stable: at equal times, the later in the stream first
        return tuple(paths)

    def explain(self, family: AddressFamily, key: bytes) -> Decision:
        """The last decision about one route: the selection, and the clause by which every other path lost."""
        group = self.table(family).group_of.get(key)
        if group is None:
            return NOTHING
        return decide(
            tuple(group.paths.values()),
            self.decisions.preferences(family),
            group.incumbent,
            self.decisions.metric(family),
        )

    def adj_rib_in(self, peer: str, family: AddressFamily) -> Iterator[tuple[tuple[bytes, ...], Path]]:
        """Routes received from `peer` after import policy: (keys, path)."""
        for group in self.table(family).groups:
            path = group.paths.get(peer)
            if path is not None:
                yield group.keys, path

    def adj_rib_out(self, peer: str, family: AddressFamily) -> Iterator[Advertised]:
        """Routes advertised to `peer`: (keys, attributes, next hop, payload)."""
        return adj_rib_out(self.peers[peer], family)

    # Calls of the sessions

    def decoder(self, width: int, *, external: bool) -> Decoder:
        """The shared UPDATE decoder for sessions of this kind."""
        return self.memory.decoder(width, external=external)

    def on_open(self, session: Session, now_ns: int) -> bool:
        """Collision resolution, RFC 4271 section 6.8: keep the connection opened by the higher BGP identifier."""
        peer = self.peers[session.neighbor.name]
        for other in list(peer.sessions.values()):
            if other is session or other.state < State.OPEN_CONFIRM:
                continue
            wins = session.outgoing == (self.router_id > session.remote_router_id) and other.state != State.ESTABLISHED
            loser = other if wins else session
            loser.handle(Event.COLLISION_DUMP, now_ns, reason="collision")
            self.timers.stop(loser.idle_timer)
            if peer.primary is loser:
                peer.primary = other if loser is session else session
            return wins
        return True

    def on_established(self, session: Session, now_ns: int) -> None:
        """The session is up: join update groups. The table is sent after the announce delay."""
        peer = self.peers[session.neighbor.name]
        agreed = session.agreed
        if agreed is None:
            raise TypeError("established without an agreement")
        if peer.primary is not session:
            for timer in (peer.primary.retry_timer, peer.primary.idle_timer):
                self.timers.stop(timer)
            peer.primary = session
        peer.established, peer.over_limit = session, False
        peer.hostname = agreed.peer.hostname
        peer.connections_established += 1
        peer.end_of_rib_sent.clear()
        peer.end_of_rib_received.clear()
        for family in agreed.families:
            peer.importers[family] = self._adj_rib_in.importer(peer, session, family, draining=self.draining)
            self.out.join(peer, session, family)
        client = any(peer.families[family].route_reflector_client for family in agreed.families)
        peer.source = Source(
            peer.neighbor.name, peer.neighbor.remote_asn, session.external, agreed.router_id, peer.remote_bytes, client
        )
        if graceful_restart.resume(
            self.tables, self.timers, peer, session, now_ns + self.config.stale_path_time_s * NS_PER_S
        ):
            self.decisions.schedule(now_ns)
        self.actions.append(SessionUp(peer.neighbor.name, self.cause.now))
        for family in agreed.families:
            self.out.announce_later(peer, family, now_ns)

    def on_updates(self, session: Session, updates: Iterable[Update], now_ns: int) -> None:
        """UPDATEs arrived. Raises BgpError (Cease) if the neighbour exceeds a limit."""
        if self._adj_rib_in.apply(self.peers[session.neighbor.name], updates, now_ns):
            self.decisions.schedule(now_ns)

    def on_refresh(self, session: Session, message: RouteRefresh, now_ns: int) -> None:
        """ROUTE-REFRESH arrived: RFC 2918, and the demarcation of RFC 7313 section 4."""
        if route_refresh.handle(self.tables, self.out, self.peers[session.neighbor.name], session, message, now_ns):
            self.decisions.schedule(now_ns)

    def on_down(self, session: Session, was: State, reset: Reset, now_ns: int) -> None:
        """A connection ended. Remove its routes, or mark them stale for graceful restart (RFC 4724 section 4.2)."""
        peer = self.peers[session.neighbor.name]
        peer.sessions.pop(session.connection, None)
        if was != State.ESTABLISHED:
            return
        name = peer.neighbor.name
        peer.established = None
        peer.connections_dropped += 1
        peer.last_reset, peer.waits_for_next_hop = reset, False
        for family in list(peer.groups):
            self.out.leave(peer, family)
        agreed = session.agreed
        kept = {(afi, safi) for afi, safi, _ in agreed.peer.restart_families} if agreed is not None else set()
        graceful = reset.reason == "Peer closed the session" and bool(kept)
        for family, table in self.tables.items():
            if graceful and family.id in kept:
                table.remove_source(name, stale_only=True)  # a second restart: RFC 4724 section 4.2
                table.mark_stale(name)
            else:
                table.remove_source(name)
        self.timers.stop(peer.stale_timer)
        if graceful and agreed is not None and agreed.peer.restart is not None:
            self.timers.set(peer.stale_timer, now_ns + agreed.peer.restart[1] * NS_PER_S)
        peer.importers.clear()
        peer.attribute_bytes, peer.recount_bytes = 0, peer.neighbor.max_attribute_bytes or 0
        if peer.over_limit and peer.neighbor.limit_restart_ns is not None:
            self.timers.set(session.idle_timer, now_ns + peer.neighbor.limit_restart_ns)
        self.decisions.schedule(now_ns)
        self.actions.append(SessionDown(name, reset.reason, self.cause.now))

    def reachable(self, session: Session) -> bool:
        """Whether the neighbour's address is reachable."""
        peer = self.peers[session.neighbor.name]
        peer.waits_for_next_hop = not peer.reachable
        return peer.reachable

    def hold_expired(self, session: Session) -> None:
        """The hold timer expired: the cause is the last event of the session's link."""
        self.cause.now = self.peers[session.neighbor.name].cause

    # Sessions

    def keepalive_due(self, session: Session, now_ns: int) -> None:
        """The keepalive timer of a session expired."""
        keepalives.send_due(self.peers.values(), session, now_ns)

    def shift_keepalives(self, phase: Callable[[str], float], now_ns: int) -> list[Action]:
        """Set the keepalive phase of each session: the next KEEPALIVE is due after `phase` (0 to 1) of the interval.

        In a fabric that has run for long, sessions came up at different times, so their phases differ.
        """
        keepalives.shift(self.peers.values(), self.timers, phase, now_ns)
        return self._finish(now_ns)

    def _start(self, peer: Peer, now_ns: int, *, passive: bool = False) -> None:
        peer.shut = False
        event = Event.MANUAL_START_PASSIVE if passive or peer.neighbor.passive else Event.MANUAL_START
        self.timers.stop(peer.primary.idle_timer)
        peer.primary.handle(event, now_ns)

    @staticmethod
    def _all_sessions(peer: Peer) -> list[Session]:
        return list({id(session): session for session in (*peer.sessions.values(), peer.primary)}.values())

    def _purge(self, peer: Peer, now_ns: int) -> None:
        if graceful_restart.purge(self.tables, peer):
            self.decisions.schedule(now_ns)

    # The end of every call

    def _finish(self, now_ns: int) -> list[Action]:
        """Run a due decision process, and return the actions."""
        self.decisions.run_due(now_ns)
        actions = self.actions[:]
        self.actions.clear()
        return actions

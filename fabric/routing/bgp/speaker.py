"""One router: sessions, tables and update groups behind a door of bytes, times and actions. Sans-I/O.

    speaker = Speaker(config, memory)                memory: share one Memory among the speakers of a fabric
    actions = speaker.start(now_ns)                  -> Connect(peer) for every active neighbour
    actions = speaker.connected(peer, now_ns)        the transport is up (either side opened it)
    actions = speaker.received(peer, data, now_ns)   any cut of the byte stream
    actions = speaker.closed(peer, now_ns)           the transport went down or could not be opened
    actions = speaker.link_down(peer, now_ns)        carrier lost (FRR: fast external fallover); bfd_down likewise
    actions = speaker.way_lost(peer, now_ns)         carrier lost below a session that waits for its hold timer
    actions = speaker.tick(now_ns)                   at, or any time after, next_deadline_ns()
    actions = speaker.originate(family, keys, attributes, now_ns, next_hop=..., payload=...)
    actions = speaker.withdraw(family, keys, now_ns)

Every call returns the list of actions to execute in order. Time never goes backwards between calls. The same calls with
the same arguments give the same actions, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from fabric.routing.bgp import keepalives, restarting, ties
from fabric.routing.bgp.actions import Action, Change, RoutesChanged, RoutesHeard, SessionDown, SessionUp
from fabric.routing.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.routing.bgp.attributes import Attributes
from fabric.routing.bgp.cause import Cause
from fabric.routing.bgp.config import NS_PER_S, PeerFamily, SpeakerConfig
from fabric.routing.bgp.decision import NOTHING, Decision, Preferences, decide
from fabric.routing.bgp.distribution import Distributor, Told, adj_rib_out
from fabric.routing.bgp.errors import BgpError
from fabric.routing.bgp.fsm import Event, State
from fabric.routing.bgp.hearing import heard
from fabric.routing.bgp.importing import Importer, Rejected, drained
from fabric.routing.bgp.message import RouteRefresh, encode_refresh
from fabric.routing.bgp.next_hops import NextHops
from fabric.routing.bgp.peer import Peer
from fabric.routing.bgp.policy import Policy
from fabric.routing.bgp.rib import Path, Selection, Source, Table
from fabric.routing.bgp.selecting import select
from fabric.routing.bgp.session import Reset, Session, router_id_number
from fabric.routing.bgp.timers import Timer, TimerJitter, Timers
from fabric.routing.bgp.update import Decoder, Memory, Update
from fabric.wire.iana import Cease, ErrorCode, RefreshSubtype

LOCAL_WEIGHT = 32768
"""FRR's weight of routes this router originates."""
_RECOUNT_PARTS = 8
"""Attributes of a neighbour's routes are counted again after this part of their limit has come."""


class Speaker:
    """One BGP router. See the module's docstring for the protocol between it and its owner."""

    def __init__(self, config: SpeakerConfig, memory: Memory | None = None, cause: Cause | None = None) -> None:
        self.config = config
        self.cause = cause if cause is not None else Cause()
        self.router_id = router_id_number(config.router_id)
        self.cluster_id = router_id_number(config.cluster_id) if config.cluster_id else self.router_id
        families = dict.fromkeys(family for neighbor in config.neighbors for family in neighbor.families)
        self.tables: dict[AddressFamily, Table] = {IPV4_UNICAST: Table(IPV4_UNICAST, self.cause)}
        for family in families:
            self.table(family)
        for family in config.heard_families:
            self.table(family).eager = True
        self.memory = memory if memory is not None else Memory(families)
        self.timers = Timers(self.cause)
        self.actions: list[Action] = []
        self.peers = {neighbor.name: Peer(self, neighbor, self._purge) for neighbor in config.neighbors}
        self.next_hops = NextHops(self.tables[IPV4_UNICAST])
        self.next_hops.set_interior(dict.fromkeys(config.connected, 0))
        self.local = Source("", config.asn, external=False, router_id=self.router_id, address=b"")
        self._decision_timer = Timer(self._run_decisions)
        self._resolve_timer = Timer(self._resolve)
        self._unresolved: dict[bytes, int] = {}
        """IPv4 routes over which next hops have to be resolved again when that timer runs out, and why (cause.py)."""
        self.jittered = TimerJitter(config.jitter_key)
        self.out = Distributor(config, self.tables, self.peers, self.timers, self.cause, self.jittered,
                               self.memory.room_bytes)
        self._prefer: dict[AddressFamily, Preferences] = {}
        self._importers: dict[tuple[AddressFamily, PeerFamily, int, bool, int, bool], Importer] = {}
        self.draining = False
        self._networks: dict[bytes, tuple[Attributes, bytes, Hashable]] = {}
        """IPv4 routes of this speaker, as they are announced when it is not drained."""

    def table(self, family: AddressFamily) -> Table:
        """The table of a family; made if it is new."""
        if family not in self.tables:
            self.tables[family] = Table(family, self.cause)
        return self.tables[family]

    # The owner's calls

    def start(self, now_ns: int) -> list[Action]:
        """ManualStart for every neighbour (RFC 4271 section 8.1.2, event 1, or 4 for passive ones); with a start delay,
        the automatic start of section 8.1.1 (event 13) that much later.
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
        """A transport connection to `peer` is up. `connection` tells two at once apart (RFC 4271 section 6.8)."""
        its = self.peers[peer]
        event = Event.TCP_CR_ACKED if outgoing else Event.TCP_CONFIRMED
        session = its.primary
        if session.state >= State.OPEN_SENT:
            if connection in its.sessions:
                raise ValueError(f"connection {connection} to {peer} is already up")
            session = Session(self, its.neighbor, its.traffic, connection)
            session.state = State.ACTIVE
        session.connection, session.outgoing = connection, outgoing
        if not outgoing and session.state == State.IDLE and session.idle_timer.deadline_ns is not None and (
                not its.over_limit):
            # RFC 4271 section 8.2.2 has Idle refuse connections. bgp_accept takes one for every neighbour that is not
            # shut down, being cleared or over its limit of prefixes, also before its own start timer runs out.
            self._start(its, now_ns, passive=True)
        if session.state != State.IDLE:
            its.sessions[connection] = session
        if not outgoing:
            self.out.count_peers()
        session.handle(event, now_ns)
        return self._finish(now_ns)

    def received(self, peer: str, data: bytes, now_ns: int, connection: int = 0) -> list[Action]:
        """Bytes from `peer`; any cut of the stream. Bytes of a connection that this end has closed are ignored."""
        session = self.peers[peer].sessions.get(connection)
        if session is not None:
            session.receive(data, now_ns)
        return self._finish(now_ns)

    def closed(self, peer: str, now_ns: int, connection: int = 0) -> list[Action]:
        """The connection went down, or could not be opened."""
        its = self.peers[peer]
        session = its.sessions.get(connection, its.primary)
        if session.state in (State.CONNECT, State.ACTIVE) or connection in its.sessions:
            session.handle(Event.TCP_FAILS, now_ns, reason="Peer closed the session")
        return self._finish(now_ns)

    def link_down(self, peer: str, now_ns: int) -> list[Action]:
        """The link below the session lost carrier: the session ends at once, without NOTIFICATION. Next: link_up()."""
        its = self.peers[peer]
        its.has_way = False
        for session in self._all_sessions(its):
            session.handle(Event.LINK_DOWN, now_ns, reason="Interface down")
        its.waits_for_way = True
        if its.neighbor.by_interface:
            self.timers.stop(its.primary.idle_timer)         # FRR: no address, so nothing to start again with
        return self._finish(now_ns)

    def way_lost(self, peer: str, now_ns: int) -> list[Action]:
        """The link lost carrier, and the session stays: FRR's fast external fallover is for eBGP over one hop alone. It
        ends with its hold timer or BFD; next hops over the link are the owner's to take away (interior_routes).
        """
        its = self.peers[peer]
        its.has_way, its.waits_for_way = False, True
        return self._finish(now_ns)

    def link_up(self, peer: str, now_ns: int) -> list[Action]:
        """The link is back, or BFD says so: connect again, unless a session or an attempt is alive."""
        its = self.peers[peer]
        its.has_way = True
        if not its.shut:
            if its.primary.state == State.ACTIVE:
                its.primary.handle(Event.CONNECT_RETRY_EXPIRES, now_ns)
            else:
                self._start(its, now_ns)
        return self._finish(now_ns)

    def bfd_down(self, peer: str, now_ns: int) -> list[Action]:
        """Fast detection says the neighbour is gone (RFC 5882 section 10.2); it is tried again, as after any error."""
        its = self.peers[peer]
        for session in self._all_sessions(its):
            session.handle(Event.AUTOMATIC_STOP, now_ns, reason="BFD down received",
                           error=BgpError(ErrorCode.CEASE, Cease.BFD_DOWN, "BFD down received"))      # RFC 9384
        if not its.shut:
            self.timers.set(its.primary.idle_timer, now_ns + its.neighbor.idle_hold_ns)
        return self._finish(now_ns)

    def reset(self, peer: str, now_ns: int) -> list[Action]:
        """Administrative reset: Cease, then connect again."""
        its = self.peers[peer]
        for session in self._all_sessions(its):
            session.handle(Event.AUTOMATIC_STOP, now_ns, reason="Administrative reset",
                           error=BgpError(ErrorCode.CEASE, Cease.ADMINISTRATIVE_RESET, "Administrative reset"))
        self._start(its, now_ns)
        return self._finish(now_ns)

    def tick(self, now_ns: int) -> list[Action]:
        """Run every timer that is due: hold, keepalive, connect retry, decision process, advertisement."""
        self.timers.run(now_ns)
        return self._finish(now_ns)

    def next_deadline_ns(self) -> int | None:
        """When tick() must be called next; None: never."""
        return self.timers.next_ns()

    def originate(self, family: AddressFamily, keys: Sequence[bytes], attributes: Attributes, now_ns: int, *,
                  next_hop: bytes = b"", payload: Hashable = None) -> list[Action]:
        """Announce routes of this speaker, in one block; replaces an earlier origination of the same keys.

        `next_hop` packed; b'' means 'self' (each peer is told this end's address of its session).
        """
        if family is IPV4_UNICAST:
            self._networks.update(dict.fromkeys(keys, (attributes, next_hop, payload)))
        self._put_local(family, keys, attributes, next_hop, payload, now_ns)
        return self._finish(now_ns)

    def _put_local(self, family: AddressFamily, keys: Sequence[bytes], attributes: Attributes, next_hop: bytes,
                   payload: Hashable, now_ns: int) -> None:
        if self.draining and family is IPV4_UNICAST:         # FRR marks `network` routes, and no EVPN route of its own
            attributes = drained(attributes)
        path = Path(self.local, attributes, next_hop, payload, now_ns, LOCAL_WEIGHT)
        if self.table(family).put("", tuple(keys), path):
            self._touch(now_ns)

    def withdraw(self, family: AddressFamily, keys: Sequence[bytes], now_ns: int) -> list[Action]:
        """Take back routes of this speaker. Keys that were not originated are ignored."""
        for key in keys if family is IPV4_UNICAST else ():
            self._networks.pop(key, None)
        if keys and self.table(family).remove("", tuple(keys)):
            self._touch(now_ns)
        return self._finish(now_ns)

    def graceful_shutdown(self, now_ns: int, *, on: bool, peer: str | None = None) -> list[Action]:
        """RFC 8326: (un)mark everything advertised to `peer` (None: to all) with the GRACEFUL_SHUTDOWN community.

        To all: FRR's `bgp graceful-shutdown`, which also puts the mark and LOCAL_PREF 0 on this router's own copies:
        its networks at once, what external peers say by route refresh (RFC 2918).
        """
        if peer is None and on != self.draining:
            self.draining = on
            for key, (attributes, next_hop, payload) in list(self._networks.items()):
                self._put_local(IPV4_UNICAST, (key,), attributes, next_hop, payload, now_ns)
            for its in self.peers.values():
                if its.established is not None and its.established.external:
                    for family in list(its.groups):
                        its.importers[family] = self._importer(its, its.established, family)
                        self._ask(its, family, now_ns)
        for its in self.peers.values() if peer is None else (self.peers[peer],):
            its.graceful_shutdown = on
            for family in list(its.groups):
                self.out.regroup(its, family, now_ns)
        return self._finish(now_ns)

    def set_policy(self, peer: str, family: AddressFamily, now_ns: int, *, import_policy: Policy | None = None,
                   export_policy: Policy | None = None) -> list[Action]:
        """Change policies while the session is up: export takes effect at once, import by route refresh (RFC 2918)."""
        its = self.peers[peer]
        old = its.families[family]
        its.families[family] = PeerFamily(
            old.import_policy if import_policy is None else import_policy,
            old.export_policy if export_policy is None else export_policy, old.next_hop_self, old.next_hop_unchanged,
            old.route_reflector_client, old.allowas_in, old.max_prefixes)
        if its.established is not None and family in its.groups:
            if export_policy is not None:
                self.out.regroup(its, family, now_ns)
            if import_policy is not None:
                its.importers[family] = self._importer(its, its.established, family)
                self._ask(its, family, now_ns)
        return self._finish(now_ns)

    def request_refresh(self, peer: str, family: AddressFamily, now_ns: int) -> list[Action]:
        """Ask `peer` for its routes again (RFC 2918). Nothing happens if it cannot do that."""
        self._ask(self.peers[peer], family, now_ns)
        return self._finish(now_ns)

    def interior_routes(self, metrics: Mapping[str, int | None], now_ns: int) -> list[Action]:
        """Prefix -> metric of non-BGP routes that next hops resolve over (an IGP, static); None takes one away."""
        self._recheck(self.next_hops.set_interior(metrics), now_ns)
        return self._finish(now_ns)

    def prefer_older(self, family: AddressFamily, older: Mapping[bytes, str], now_ns: int) -> tuple[int, list[Action]]:
        """Let paths of some neighbours be the older ones of equal paths: ties.py. First: how many routes change."""
        changed = ties.prefer(self.table(family), older, self._preferences(family), self._metric(family),
                              self.cause.now)
        if changed:
            self._touch(now_ns)
        return changed, self._finish(now_ns)

    # What is known

    def selection(self, family: AddressFamily, key: bytes) -> Selection | None:
        """What is selected for one route."""
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
        paths.sort(key=lambda path: -path.received_ns)       # stable: of one moment, the later in the stream first
        return tuple(paths)

    def explain(self, family: AddressFamily, key: bytes) -> Decision:
        """The last decision about one route: what was selected, and by which clause every other path lost."""
        group = self.table(family).group_of.get(key)
        if group is None:
            return NOTHING
        return decide(tuple(group.paths.values()), self._preferences(family), group.incumbent, self._metric(family))

    def adj_rib_in(self, peer: str, family: AddressFamily) -> Iterator[tuple[tuple[bytes, ...], Path]]:
        """What `peer` announced and import policy let in: (keys, path)."""
        for group in self.table(family).groups:
            path = group.paths.get(peer)
            if path is not None:
                yield group.keys, path

    def adj_rib_out(self, peer: str, family: AddressFamily) -> Iterator[Told]:
        """What `peer` was told: (keys, attributes, next hop, payload)."""
        return adj_rib_out(self.peers[peer], family)

    # What sessions tell

    def decoder(self, width: int, *, external: bool) -> Decoder:
        """The memory of UPDATEs for such sessions."""
        return self.memory.decoder(width, external=external)

    def on_open(self, session: Session, now_ns: int) -> bool:
        """Collision resolution, RFC 4271 section 6.8: the connection that the higher identifier opened stays."""
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
        """The session is up: join update groups; the table goes out after the announce delay."""
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
            peer.importers[family] = self._importer(peer, session, family)
            self.out.join(peer, session, family)
        client = any(peer.families[family].route_reflector_client for family in agreed.families)
        peer.source = Source(peer.neighbor.name, peer.neighbor.remote_asn, session.external, agreed.router_id,
                             peer.remote_bytes, client)
        if restarting.resume(self.tables, self.timers, peer, session,
                             now_ns + self.config.stale_path_time_s * NS_PER_S):
            self._touch(now_ns)
        self.actions.append(SessionUp(peer.neighbor.name, self.cause.now))
        for family in agreed.families:
            self.out.announce_later(peer, family, now_ns)

    def on_updates(self, session: Session, updates: Iterable[Update], now_ns: int) -> None:
        """Routes came. Raises BgpError (Cease) where a neighbour sends more than it may."""
        peer = self.peers[session.neighbor.name]
        name, source = peer.neighbor.name, peer.source
        importers, tables, limited = peer.importers, self.tables, peer.limited
        changed = False
        for attributes, reach, unreach, marker, flaws in updates:
            for family, keys in unreach:
                if family in importers and tables[family].remove(name, keys):
                    changed = True
            if attributes is not None:
                for family, next_hop, blocks in reach:
                    importer = importers.get(family)
                    if importer is None:
                        continue
                    table = tables[family]
                    if next_hop == peer.local_bytes:
                        self._reject(peer, table, blocks, Rejected.OWN_NEXT_HOP, now_ns)
                        continue
                    for keys, payload in blocks:
                        for part, verdict in importer(attributes, keys):
                            if isinstance(verdict, Rejected):
                                peer.rejected[verdict] = peer.rejected.get(verdict, 0) + len(part)
                                changed |= table.remove(name, part)
                            else:
                                changed |= table.put(name, part, Path(
                                    source, verdict.attributes, verdict.next_hop or next_hop, payload, now_ns,
                                    verdict.weight or 0))
            if marker is not None:
                changed |= restarting.end_of_rib(self.tables, peer, marker, now_ns)
            peer.flaws += len(flaws)
            if limited:
                self._check_limits(peer, attributes)
        if changed:
            self._touch(now_ns)

    def on_refresh(self, session: Session, message: RouteRefresh, now_ns: int) -> None:
        """RFC 2918, and the demarcation of RFC 7313 section 4."""
        peer = self.peers[session.neighbor.name]
        family = next((one for one in peer.groups if one.id == (message.afi, message.safi)), None)
        if family is None or session.agreed is None:
            return                                           # RFC 2918 section 4: not negotiated, ignored
        enhanced = session.agreed.enhanced_refresh
        if message.subtype == RefreshSubtype.REQUEST:
            if peer.neighbor.name not in peer.groups[family].synced:
                return                                       # the first table is still to come
            if enhanced:
                self._send_refresh(peer, session, family, RefreshSubtype.BEGIN, now_ns)
            self.out.send_dump(peer, session, family, now_ns)
            if enhanced:
                self._send_refresh(peer, session, family, RefreshSubtype.END, now_ns)
        elif enhanced and message.subtype == RefreshSubtype.BEGIN:
            self.tables[family].mark_stale(peer.neighbor.name)
            self._touch(now_ns)
        elif (enhanced and message.subtype == RefreshSubtype.END
              and self.tables[family].remove_source(peer.neighbor.name, stale_only=True)):
            self._touch(now_ns)

    def on_down(self, session: Session, was: State, reset: Reset, now_ns: int) -> None:
        """A connection ended. Routes go, or become stale if the peer restarts gracefully (RFC 4724 section 4.2)."""
        peer = self.peers[session.neighbor.name]
        peer.sessions.pop(session.connection, None)
        if was != State.ESTABLISHED:
            return
        name = peer.neighbor.name
        peer.established = None
        peer.connections_dropped += 1
        peer.last_reset, peer.waits_for_way = reset, False
        for family in list(peer.groups):
            self.out.leave(peer, family)
        agreed = session.agreed
        kept = {(afi, safi) for afi, safi, _ in agreed.peer.restart_families} if agreed is not None else set()
        graceful = reset.reason == "Peer closed the session" and bool(kept)
        for family, table in self.tables.items():
            if graceful and family.id in kept:
                table.remove_source(name, stale_only=True)   # a second restart: RFC 4724 section 4.2
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
        self._touch(now_ns)
        self.actions.append(SessionDown(name, reset.reason, self.cause.now))

    def has_way(self, session: Session) -> bool:
        """Whether the neighbour can be reached."""
        peer = self.peers[session.neighbor.name]
        peer.waits_for_way = not peer.has_way
        return peer.has_way

    def silent(self, session: Session) -> None:
        """A session ends because nothing came: put it down to what last happened to its link."""
        self.cause.now = self.peers[session.neighbor.name].cause

    # Sessions

    def keepalive_due(self, session: Session, now_ns: int) -> None:
        """The keepalive timer of a session has run out."""
        keepalives.send_due(self.peers.values(), session, now_ns)

    def shift_keepalives(self, phase: Callable[[str], float], now_ns: int) -> list[Action]:
        """Let the next KEEPALIVE to each neighbour go out when `phase` (0 to 1) of its interval from now has passed: as
        in a fabric that has been up for long, whose sessions came up at different times.
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

    def _importer(self, peer: Peer, session: Session, family: AddressFamily) -> Importer:
        """The importer of the peer; shared by all that are treated alike."""
        config = peer.families[family]
        first_as = peer.neighbor.remote_asn if peer.neighbor.enforce_first_as else 0
        alike = (family, config, session.local_asn, session.external, first_as, self.draining)
        if alike not in self._importers:
            self._importers[alike] = Importer(
                family, config, local_asn=session.local_asn, external=session.external, first_as=first_as,
                router_id=self.router_id, cluster_id=self.cluster_id, draining=self.draining,
                memory_bytes=self.memory.room_bytes)
        return self._importers[alike]

    def _check_limits(self, peer: Peer, attributes: Attributes | None) -> None:
        """After each UPDATE, so that a limit is exceeded by one UPDATE at most. Raises: BgpError."""
        for family, config in peer.families.items():
            limit = config.max_prefixes
            if limit is not None and self.table(family).accepted.get(peer.neighbor.name, 0) > limit:
                # RFC 4486 section 4
                peer.over_limit = True
                raise BgpError(ErrorCode.CEASE, Cease.MAXIMUM_PREFIXES, f"more than {limit} routes of {family.name}",
                               family.afi.to_bytes(2) + bytes([family.safi]) + min(limit, 0xFFFFFFFF).to_bytes(4))
        limit = peer.neighbor.max_attribute_bytes
        if limit is None or attributes is None:
            return
        peer.attribute_bytes += len(attributes.wire)
        if peer.attribute_bytes > peer.recount_bytes:
            peer.attribute_bytes = self._attribute_bytes(peer.neighbor.name)
            if peer.attribute_bytes > limit:
                peer.over_limit = True
                raise BgpError(ErrorCode.CEASE, Cease.OUT_OF_RESOURCES, f"more than {limit} bytes of attributes")
            peer.recount_bytes = max(limit, peer.attribute_bytes + limit // _RECOUNT_PARTS)

    def _attribute_bytes(self, name: str) -> int:
        """What the attributes of a neighbour's routes have on the wire, each set of attributes once."""
        held = {id(path.attributes): path.attributes for table in self.tables.values() for group in table.groups
                if (path := group.paths.get(name)) is not None}
        return sum(len(its.wire) for its in held.values())

    def _reject(self, peer: Peer, table: Table, blocks: Iterable[tuple[tuple[bytes, ...], Hashable]], why: Rejected,
                now_ns: int) -> None:
        for keys, _ in blocks:
            peer.rejected[why] = peer.rejected.get(why, 0) + len(keys)
            if table.remove(peer.neighbor.name, keys):
                self._touch(now_ns)

    def _purge(self, peer: Peer, now_ns: int) -> None:
        if restarting.purge(self.tables, peer):
            self._touch(now_ns)

    # Decisions

    def _touch(self, now_ns: int) -> None:
        """Something is dirty: decide after the update delay, together with all that comes until then."""
        if self._decision_timer.deadline_ns is None:
            self.timers.set(self._decision_timer, now_ns + self.config.update_delay_ns)

    def _preferences(self, family: AddressFamily) -> Preferences:
        found = self._prefer.get(family)
        if found is None:
            config = self.config
            found = self._prefer[family] = Preferences(
                config.max_paths.get(family, 1), config.multipath_relax, config.compare_router_id,
                config.always_compare_med, config.default_local_pref, family.rank)
        return found

    def _metric(self, family: AddressFamily) -> Callable[[bytes], int | None] | None:
        return self.next_hops.metric if family in self.config.tracked_families else None

    def _run_decisions(self, now_ns: int) -> None:
        # IPv4 unicast first: the next hops of the others resolve over it.
        for family in (IPV4_UNICAST, *(family for family in self.tables if family is not IPV4_UNICAST)):
            changes = self._decide(self.tables[family], now_ns)
            if changes:
                self.actions.append(RoutesChanged(family, tuple(changes)))
                if family is IPV4_UNICAST:
                    self.cause.now = max(change.cause for change in changes)
                    self._resolve_later(changes, now_ns)
        self.timers.stop(self._decision_timer)
        self.out.flush_all(now_ns)

    def _resolve_later(self, changes: Sequence[Change], now_ns: int) -> None:
        """Next hops are resolved over what zebra has installed, and it tells bgpd of changes (next hop tracking)."""
        keys = (key for change in changes for key in change.keys)
        if not self.config.resolve_delay_ns:
            self._recheck(self.next_hops.changed(keys), now_ns)
        elif self.config.tracked_families:
            self._unresolved.update(dict.fromkeys(keys, self.cause.now))
            if self._resolve_timer.deadline_ns is None:
                self.timers.set(self._resolve_timer, now_ns + self.config.resolve_delay_ns)

    def _resolve(self, now_ns: int) -> None:
        keys, self._unresolved = self._unresolved, {}
        self.cause.now = max(keys.values())
        self._recheck(self.next_hops.changed(keys), now_ns)

    def _decide(self, table: Table, now_ns: int) -> list[Change]:
        return select(table, self.out.followers(table), self._preferences(table.family), self._metric(table.family),
                      now_ns)

    def _hear(self) -> None:
        """Tell what is best of what has arrived, where the owner does not wait for decisions."""
        for family in self.config.heard_families:
            table = self.tables[family]
            if table.fresh:
                changes = heard(table, self._preferences(family), self._metric(family))
                if changes:
                    self.actions.append(RoutesHeard(family, tuple(changes)))

    def _recheck(self, next_hops: Mapping[bytes, None], now_ns: int) -> None:
        """Next hops came, went or moved: decide again about the routes that use them."""
        if not next_hops:
            return
        for family in self.config.tracked_families:
            table = self.table(family)
            for group in table.groups:
                if any(path.next_hop in next_hops for path in group.paths.values()):
                    table.dirty[group] = self.cause.now
                    if table.eager:
                        table.fresh[group] = self.cause.now
        self._touch(now_ns)

    # Refresh, and the end of every call

    def _ask(self, peer: Peer, family: AddressFamily, now_ns: int) -> None:
        session = peer.established
        if session is not None and session.agreed is not None and session.agreed.refresh and family in peer.groups:
            self._send_refresh(peer, session, family, RefreshSubtype.REQUEST, now_ns)

    @staticmethod
    def _send_refresh(_peer: Peer, session: Session, family: AddressFamily, subtype: int, now_ns: int) -> None:
        session.traffic.sent.route_refreshes += 1
        session.send(encode_refresh(RouteRefresh(family.afi, family.safi, subtype)), now_ns)

    def _finish(self, now_ns: int) -> list[Action]:
        """Run what is due at once, and hand the actions over."""
        self._hear()
        due_ns = self._decision_timer.deadline_ns
        if due_ns is not None and due_ns <= now_ns:
            self.timers.stop(self._decision_timer)
            self._run_decisions(now_ns)
            self._hear()
        actions, self.actions = self.actions, []
        return actions


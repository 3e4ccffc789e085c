"""One connection to a neighbour: framing, the state machine of fsm.py, timers, and the negotiation of the OPENs.

A session does not interpret routes: it passes UPDATEs and refresh requests to its owner, and appends its requests to
the owner's list of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from fabric.controlplane.bgp.actions import Action, Close, Connect, Send
from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.capabilities import (
    GRACEFUL_NOTIFICATION,
    RESTART_STATE,
    Capabilities,
    read_capabilities,
    write_capabilities,
)
from fabric.controlplane.bgp.cause import Cause
from fabric.controlplane.bgp.config import NS_PER_S, Neighbor, SpeakerConfig
from fabric.controlplane.bgp.errors import BgpError, UpdateError
from fabric.controlplane.bgp.fsm import TRANSITIONS, Do, Event, State, Transition
from fabric.controlplane.bgp.message import (
    KEEPALIVE_BYTES,
    Keepalive,
    Notification,
    Open,
    RouteRefresh,
    decode_body,
    encode_notification,
    encode_open,
    message_length,
)
from fabric.controlplane.bgp.timers import Timer, TimerJitter, Timers
from fabric.controlplane.bgp.update import Decoder, Update
from fabric.wire.iana import (
    AS_TRANS,
    HEADER_BYTES,
    MAX_EXTENDED_MESSAGE_BYTES,
    MAX_MESSAGE_BYTES,
    Cease,
    ErrorCode,
    MessageType,
    OpenError,
)

_OPEN_HOLD_NS: Final = 240 * NS_PER_S
"""HoldTimer before negotiation: 4 minutes, RFC 4271 section 8.2.2 (OpenSent)."""


@dataclass(slots=True)
class MessageCounts:
    """Messages of one direction since start, as `show bgp neighbors` counts them."""

    opens: int = 0
    updates: int = 0
    notifications: int = 0
    keepalives: int = 0
    route_refreshes: int = 0

    @property
    def total(self) -> int:
        """All messages."""
        return self.opens + self.updates + self.notifications + self.keepalives + self.route_refreshes


@dataclass(frozen=True, slots=True)
class Agreed:
    """Parameters negotiated by two OPENs."""

    families: tuple[AddressFamily, ...]
    width: int
    """Of AS numbers on the wire, RFC 6793."""
    limit: int
    """Longest message in bytes, RFC 8654."""
    hold_ns: int
    """0: no keepalives, the session never times out."""
    keepalive_ns: int
    peer: Capabilities
    router_id: int
    refresh: bool
    enhanced_refresh: bool


@dataclass(slots=True)
class Reset:
    """Reason why a session ended, as `lastReset...` shows it."""

    reason: str
    at_ns: int
    code: int = 0
    subcode: int = 0


class Owner(Protocol):
    """Interface of the speaker to its sessions."""

    config: SpeakerConfig
    cause: Cause
    timers: Timers
    jittered: TimerJitter
    actions: list[Action]

    def decoder(self, width: int, *, external: bool) -> Decoder:
        """The shared UPDATE decoder for sessions of this kind."""
        ...

    def on_open(self, session: Session, now_ns: int) -> bool:
        """An OPEN was accepted; False if collision resolution (RFC 4271 section 6.8) ended this session."""
        ...

    def on_established(self, session: Session, now_ns: int) -> None:
        """The session is up."""
        ...

    def on_updates(self, session: Session, updates: Iterable[Update], now_ns: int) -> None:
        """UPDATEs arrived. Raises BgpError to end the session (limits.py)."""
        ...

    def on_refresh(self, session: Session, message: RouteRefresh, now_ns: int) -> None:
        """The neighbour requests routes, or marks the begin or end of an answer."""
        ...

    def on_down(self, session: Session, was: State, reset: Reset, now_ns: int) -> None:
        """The session left `was` for Idle or Active."""
        ...

    def hold_expired(self, session: Session) -> None:
        """The hold timer is about to end the session."""
        ...

    def keepalive_due(self, session: Session, now_ns: int) -> None:
        """The keepalive timer of a session expired."""
        ...

    def reachable(self, session: Session) -> bool:
        """Whether the neighbour's address is reachable; the speaker records that a session waits for it."""
        ...


@dataclass(slots=True)
class Traffic:
    """Counters of a neighbour, kept across its sessions."""

    sent: MessageCounts = field(default_factory=MessageCounts)
    received: MessageCounts = field(default_factory=MessageCounts)
    last_read_ns: int = 0
    last_write_ns: int = 0
    last_update_ns: int = 0


class Session:
    """State machine of one connection. All methods append to the owner's actions."""

    def __init__(self, owner: Owner, neighbor: Neighbor, traffic: Traffic, connection: int = 0) -> None:
        self.owner = owner
        self.neighbor = neighbor
        self.traffic = traffic
        self.connection = connection
        self.local_asn = neighbor.local_asn if neighbor.local_asn is not None else owner.config.asn
        self.external = self.local_asn != neighbor.remote_asn
        self.state = State.IDLE
        self.outgoing = True
        self.agreed: Agreed | None = None
        self.sent_open: Open | None = None
        self.remote_router_id = 0
        self.established_ns = 0
        self._decoder: Decoder | None = None
        self._buffer = b""
        self._limit = MAX_MESSAGE_BYTES
        self.hold_timer = Timer(self._hold_expired)
        self.keepalive_timer = Timer(self._keepalive_due)
        self.retry_timer = Timer(lambda now_ns: self.handle(Event.CONNECT_RETRY_EXPIRES, now_ns))
        self.idle_timer = Timer(lambda now_ns: self.handle(Event.IDLE_HOLD_EXPIRES, now_ns))

    # Inputs

    def handle(
        self,
        event: Event,
        now_ns: int,
        *,
        message: Open | RouteRefresh | Iterable[Update] | None = None,
        error: BgpError | None = None,
        reason: str = "",
    ) -> None:
        """One input: look up the transition, change the state, run the transition's actions."""
        transition = TRANSITIONS[self.state, event]
        was, self.state = self.state, transition.state
        step = _Step(transition, was, now_ns, message, error, reason)
        for do in transition.do:
            if not _DO[do](self, step):
                break

    def _hold_expired(self, now_ns: int) -> None:
        self.owner.hold_expired(self)
        self.handle(Event.HOLD_EXPIRES, now_ns, reason="Hold Timer Expired")

    def _keepalive_due(self, now_ns: int) -> None:
        self.owner.cause.now = 0
        self.owner.keepalive_due(self, now_ns)

    def receive(self, data: bytes, now_ns: int) -> None:
        """Bytes of the stream, cut anywhere."""
        self.traffic.last_read_ns = now_ns
        if self.state == State.ESTABLISHED and not self._buffer:
            # Fast path for the two usual cases; TRANSITIONS gives the same result (tests compare both).
            if data == KEEPALIVE_BYTES:
                self.traffic.received.keepalives += 1
                self._restart_hold(now_ns)
                return
            decoder = self._decoder
            updates = decoder.stream(data, self._limit) if decoder is not None else None
            if updates is not None:
                self.traffic.received.updates += len(updates)
                self.traffic.last_update_ns = now_ns
                self._restart_hold(now_ns)
                self._guarded(lambda: self.owner.on_updates(self, updates, now_ns), Event.UPDATE_ERROR, now_ns)
                return
        self._buffer += data
        connection_state = self.state
        while len(self._buffer) >= HEADER_BYTES and self.state >= State.OPEN_SENT:
            if not self._one_message(now_ns):
                return
            connection_state = self.state
        if connection_state < State.OPEN_SENT:
            self._buffer = b""

    def _one_message(self, now_ns: int) -> bool:
        """Process one message of the buffer; False if more bytes are needed or the session ended."""
        try:
            length = message_length(self._buffer, 0, self._limit)
        except BgpError as error:
            self.handle(Event.HEADER_ERROR, now_ns, error=error, reason=error.text)
            return False
        if len(self._buffer) < length:
            return False
        kind, body = self._buffer[HEADER_BYTES - 1], self._buffer[HEADER_BYTES:length]
        self._buffer = self._buffer[length:]
        if kind == MessageType.UPDATE:
            self._one_update(body, now_ns)
            return True
        event_of_error = Event.OPEN_ERROR if kind == MessageType.OPEN else Event.HEADER_ERROR
        self._guarded(lambda: self._other_message(kind, body, now_ns), event_of_error, now_ns)
        return True

    def _one_update(self, body: bytes, now_ns: int) -> None:
        self.traffic.received.updates += 1
        self.traffic.last_update_ns = now_ns
        if self.state != State.ESTABLISHED or self._decoder is None:
            self.handle(Event.UPDATE, now_ns, reason="UPDATE before Established")
            return
        decoder = self._decoder
        self._guarded(
            lambda: self.handle(Event.UPDATE, now_ns, message=(decoder.update(body),)), Event.UPDATE_ERROR, now_ns
        )

    def _other_message(self, kind: int, body: bytes, now_ns: int) -> None:
        message = decode_body(kind, body)
        counts = self.traffic.received
        if isinstance(message, Open):
            counts.opens += 1
            if self.state == State.OPEN_SENT:
                self._check_open(message)
            self.handle(Event.OPEN, now_ns, message=message, reason="OPEN in the wrong state")
        elif isinstance(message, Keepalive):
            counts.keepalives += 1
            self.handle(Event.KEEPALIVE, now_ns, reason="KEEPALIVE in the wrong state")
        elif isinstance(message, RouteRefresh):
            counts.route_refreshes += 1
            self.handle(Event.ROUTE_REFRESH, now_ns, message=message, reason="ROUTE-REFRESH in the wrong state")
        else:
            counts.notifications += 1
            version = (message.code, message.subcode) == (ErrorCode.OPEN, OpenError.UNSUPPORTED_VERSION)
            self.handle(
                Event.VERSION_ERROR if version else Event.NOTIFICATION,
                now_ns,
                error=BgpError(message.code, message.subcode, "received", message.data),
                reason=f"NOTIFICATION received: {notification_text(message)}",
            )

    def _guarded(self, act: Callable[[], None], event: Event, now_ns: int) -> None:
        try:
            act()
        except BgpError as error:
            wrong = (
                Event.AUTOMATIC_STOP
                if error.code == ErrorCode.CEASE
                else (Event.UPDATE_ERROR if isinstance(error, UpdateError) else event)
            )
            self.handle(wrong, now_ns, error=error, reason=error.text)

    # Negotiation

    def _check_open(self, message: Open) -> None:
        """RFC 4271 section 6.2, RFC 6793, RFC 5492. Raises BgpError."""
        capabilities = read_capabilities(message.capabilities)
        asn = capabilities.asn4 if capabilities.asn4 is not None else message.asn
        if asn != self.neighbor.remote_asn or asn == 0 or message.asn not in (asn, AS_TRANS):
            raise BgpError(
                ErrorCode.OPEN,
                OpenError.BAD_PEER_AS,
                f"AS {asn} instead of {self.neighbor.remote_asn}",
                message.asn.to_bytes(2),
            )
        own = router_id_number(self.owner.config.router_id)
        if message.router_id == 0 or (not self.external and message.router_id == own):
            # RFC 6286 section 2.2: not 0, and not our own identifier on an internal session.
            raise BgpError(ErrorCode.OPEN, OpenError.BAD_BGP_IDENTIFIER, f"BGP identifier {message.router_id:#010x}")
        if message.hold_time_s in (1, 2):
            raise BgpError(ErrorCode.OPEN, OpenError.UNACCEPTABLE_HOLD_TIME, f"hold time of {message.hold_time_s} s")
        if not self._common_families(capabilities):
            raise BgpError(ErrorCode.OPEN, OpenError.UNSUPPORTED_CAPABILITY, "no address family in common")

    def _common_families(self, peer: Capabilities) -> tuple[AddressFamily, ...]:
        # RFC 4760 section 8: without the capability, the family is IPv4 unicast.
        theirs = peer.families or (IPV4_UNICAST.id,)
        return tuple(family for family in self.neighbor.families if family.id in theirs)

    def own_capabilities(self) -> Capabilities:
        """Capabilities of this end: FRR's set."""
        families = tuple(family.id for family in self.neighbor.families)
        packed_length = 16 if ":" in self.neighbor.local_address else 4
        return Capabilities(
            families=families,
            route_refresh=True,
            route_refresh_cisco=True,
            enhanced_refresh=True,
            extended_message=True,
            asn4=self.local_asn,
            extended_next_hop=((1, 1, 2),) if packed_length == 16 and IPV4_UNICAST.id in families else (),
            restart=(RESTART_STATE | GRACEFUL_NOTIFICATION, self.owner.config.restart_time_s),
            hostname=self.owner.config.hostname,
        )

    def _agree(self, message: Open) -> Agreed:
        peer = read_capabilities(message.capabilities)
        own_hold, hold_s = self.neighbor.hold_time_s, min(self.neighbor.hold_time_s, message.hold_time_s)
        keepalive_ns = min(self.neighbor.keepalive_s * NS_PER_S, hold_s * NS_PER_S // 3) if own_hold else 0
        return Agreed(
            families=self._common_families(peer),
            width=4 if peer.asn4 is not None else 2,
            limit=MAX_EXTENDED_MESSAGE_BYTES if peer.extended_message else MAX_MESSAGE_BYTES,
            hold_ns=hold_s * NS_PER_S,
            keepalive_ns=keepalive_ns if hold_s else 0,
            peer=peer,
            router_id=message.router_id,
            refresh=peer.route_refresh,
            enhanced_refresh=peer.route_refresh and peer.enhanced_refresh,
        )

    # Actions of transitions; each returns whether the remaining actions still apply

    def _dial(self, step: _Step) -> bool:
        if self.neighbor.passive:
            self.state = State.ACTIVE
            return True
        if not self.owner.reachable(self):
            # FRR's bgp_start treats an address that next hop tracking cannot resolve as a failed connection. An
            # unnumbered neighbour has lost its address, and stays Idle until a router advertisement arrives.
            self.state = State.IDLE if self.neighbor.by_interface else State.ACTIVE
            return self._wait(step) if self.state == State.ACTIVE else True
        self.owner.actions.append(Connect(self.neighbor.name, self.owner.cause.now))
        return self._wait(step)

    def _wait(self, step: _Step) -> bool:
        if not self.neighbor.passive:
            self.owner.timers.set(self.retry_timer, step.now_ns + self.owner.jittered(self.neighbor.connect_retry_ns))
        return True

    def _refuse(self, step: _Step) -> bool:
        self.owner.actions.append(
            Close(
                self.neighbor.name,
                "not started" if not step.reason else step.reason,
                self.connection,
                self.owner.cause.now,
            )
        )
        return True

    def _send_open(self, step: _Step) -> bool:
        self.owner.timers.stop(self.retry_timer)
        self._buffer = b""
        self.sent_open = Open(
            self.local_asn,
            self.neighbor.hold_time_s,
            router_id_number(self.owner.config.router_id),
            write_capabilities(self.own_capabilities()),
        )
        self.traffic.sent.opens += 1
        self.send(encode_open(self.sent_open), step.now_ns)
        self.owner.timers.set(self.hold_timer, step.now_ns + _OPEN_HOLD_NS)
        return True

    def _confirm(self, step: _Step) -> bool:
        message = step.message
        if not isinstance(message, Open):
            raise TypeError("CONFIRM without an OPEN")
        self.remote_router_id = message.router_id
        self.agreed = agreed = self._agree(message)
        if not self.owner.on_open(self, step.now_ns):
            return False
        self._limit = agreed.limit
        self._decoder = self.owner.decoder(agreed.width, external=self.external)
        self._send_keepalive(step)
        self._restart_hold(step.now_ns)
        return True

    def _establish(self, step: _Step) -> bool:
        self.established_ns = step.now_ns
        self.owner.on_established(self, step.now_ns)
        return True

    def _send_keepalive(self, step: _Step) -> bool:
        self.traffic.sent.keepalives += 1
        self.send(KEEPALIVE_BYTES, step.now_ns)
        if self.agreed is not None and self.agreed.keepalive_ns:
            self.owner.timers.set(self.keepalive_timer, step.now_ns + self.owner.jittered(self.agreed.keepalive_ns))
        return True

    def _restart(self, step: _Step) -> bool:
        self._restart_hold(step.now_ns)
        return True

    def _restart_hold(self, now_ns: int) -> None:
        if self.agreed is not None and self.agreed.hold_ns:
            self.owner.timers.set(self.hold_timer, now_ns + self.agreed.hold_ns)
        else:
            self.owner.timers.stop(self.hold_timer)

    def _deliver(self, step: _Step) -> bool:
        if isinstance(step.message, RouteRefresh):
            self.owner.on_refresh(self, step.message, step.now_ns)
        elif step.message is not None and not isinstance(step.message, Open):
            self.owner.on_updates(self, step.message, step.now_ns)
        return True

    def _notify(self, step: _Step) -> bool:
        code, subcode = step.transition.error or (
            (step.error.code, step.error.subcode)
            if step.error is not None
            else (ErrorCode.CEASE, Cease.ADMINISTRATIVE_SHUTDOWN)
        )
        data = step.error.data if step.error is not None and step.transition.error is None else b""
        message = Notification(code, subcode, data)
        self.traffic.sent.notifications += 1
        self.send(encode_notification(message), step.now_ns)
        step.sent = message
        return True

    def _drop(self, step: _Step) -> bool:
        for timer in (self.hold_timer, self.keepalive_timer, self.retry_timer, self.idle_timer):
            self.owner.timers.stop(timer)
        if step.was >= State.OPEN_SENT:
            self.owner.actions.append(Close(self.neighbor.name, step.reason, self.connection, self.owner.cause.now))
        self._buffer = b""
        self._decoder = None
        self._limit = MAX_MESSAGE_BYTES
        error = step.sent or step.error
        reset = Reset(step.reason, step.now_ns, error.code if error else 0, error.subcode if error else 0)
        if step.was >= State.OPEN_SENT:
            self.owner.on_down(self, step.was, reset, step.now_ns)
        self.agreed = None
        return True

    def _idle_hold(self, step: _Step) -> bool:
        self.owner.timers.set(self.idle_timer, step.now_ns + self.neighbor.idle_hold_ns)
        return True

    def send(self, data: bytes, now_ns: int) -> None:
        """Send whole messages to the neighbour."""
        self.traffic.last_write_ns = now_ns
        self.owner.actions.append(Send(self.neighbor.name, data, self.connection, self.owner.cause.now))


@dataclass(slots=True)
class _Step:
    """One transition in progress."""

    transition: Transition
    was: State
    now_ns: int
    message: Open | RouteRefresh | Iterable[Update] | None
    error: BgpError | None
    reason: str
    sent: Notification | None = None


_DO: Final[dict[Do, Callable[[Session, _Step], bool]]] = {
    Do.DIAL: Session._dial,
    Do.WAIT: Session._wait,
    Do.REFUSE: Session._refuse,
    Do.SEND_OPEN: Session._send_open,
    Do.CONFIRM: Session._confirm,
    Do.ESTABLISH: Session._establish,
    Do.SEND_KEEPALIVE: Session._send_keepalive,
    Do.RESTART_HOLD: Session._restart,
    Do.DELIVER: Session._deliver,
    Do.NOTIFY: Session._notify,
    Do.DROP: Session._drop,
    Do.IDLE_HOLD: Session._idle_hold,
}


def router_id_number(text: str) -> int:
    """'10.255.0.1' -> 32-bit number."""
    return int.from_bytes(bytes(map(int, text.split("."))))


def notification_text(message: Notification) -> str:
    """'Cease/Administrative Shutdown'; numbers if a name is unknown."""
    names: dict[int, type[Cease | OpenError]] = {ErrorCode.CEASE: Cease, ErrorCode.OPEN: OpenError}
    try:
        head = ErrorCode(message.code).name.replace("_", " ").title()
    except ValueError:
        return f"{message.code}/{message.subcode}"
    try:
        tail = names[message.code](message.subcode).name.replace("_", " ").title()
    except (KeyError, ValueError):
        tail = str(message.subcode)
    return f"{head}/{tail}"

"""I/O of a speaker towards real routers: TCP connections and the clock, nothing else.

    sockets = SpeakerSockets(direct(speaker), speaker, Ports(listen=("10.0.0.2", 179)))
    sockets.start()
    sockets.run_until(lambda: ..., deadline_ns)   serves sockets and timers until the condition holds or the deadline
    sockets.stop()                                Cease to every neighbour, and an orderly close of the connections

One thread and one selector. Times are nanoseconds since the object was created, from the monotonic clock. All inputs of
the speaker go through `call`, so that a journal can record them (fabric/capture/journal.py).
"""

from __future__ import annotations

import errno
import logging
import selectors
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fabric.capture.journal import Caller
from fabric.controlplane.bgp.actions import Action, Close, Connect, Send
from fabric.controlplane.bgp.config import Neighbor
from fabric.controlplane.bgp.speaker import Speaker
from fabric.errors import FabricError

log = logging.getLogger(__name__)

BGP_PORT: Final = 179
CONTROL_TRAFFIC: Final = 0xC0
"""IP precedence 6, internetwork control (required by RFC 4271 section 4; CS6 in RFC 4594 section 3.1)."""
_READ_BYTES: Final = 1 << 16
_LINGER_NS: Final = 1_000_000_000
"""Longest time that a closed connection is read until the other end closes too: an earlier reset would discard our last
NOTIFICATION at the other end."""
_LONGEST_WAIT_NS: Final = 3_600_000_000_000
"""A selector accepts at most 2**31 ms, and a session that stays down has no timer."""
_PER_PEER: Final = 4
"""Limit of incoming connections per neighbour: a session, a collision, and connections that are being closed."""
_PENDING: Final = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK})


@dataclass(frozen=True, slots=True)
class Ports:
    """Listening address, and the port of each neighbour."""

    listen: tuple[str, int] | None = None
    dial: Mapping[str, int] = field(default_factory=dict)
    """Neighbour's name -> its TCP port; default 179."""


@dataclass(slots=True, eq=False)
class _Connection:
    """One TCP connection, from the SYN to the last byte read."""

    number: int
    """Its number in calls of the speaker: `connection`."""
    peer: str
    sock: socket.socket
    outgoing: bool
    up: bool = False
    unsent: bytearray = field(default_factory=bytearray)
    closing_since_ns: int | None = None


class SpeakerSockets:
    """Sockets of one speaker. `on_actions`, if given, is called with every list of actions after their execution."""

    def __init__(
        self,
        call: Caller,
        speaker: Speaker,
        ports: Ports | None = None,
        on_actions: Callable[[int, Sequence[Action]], None] | None = None,
    ) -> None:
        self.speaker = speaker
        self._call = call
        self._ports = ports if ports is not None else Ports()
        self._on_actions = on_actions
        self._neighbors: dict[str, Neighbor] = {it.name: it for it in speaker.config.neighbors}
        self._by_address = {it.remote_address: it.name for it in speaker.config.neighbors}
        self._selector = selectors.DefaultSelector()
        self._listener: socket.socket | None = None
        self._woken, self._waker = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._connections: dict[int, _Connection] = {}
        self._number = 0
        self._origin_ns = time.monotonic_ns()
        self.open = True
        """Until stop()."""

    @property
    def now_ns(self) -> int:
        """Time since creation."""
        return time.monotonic_ns() - self._origin_ns

    @property
    def listening(self) -> tuple[str, int] | None:
        """Listening address and port; for port 0 the one that the system chose."""
        return None if self._listener is None else self._listener.getsockname()[:2]

    def start(self) -> None:
        """Listen, if configured, and start the speaker. Raises: FabricError if the address cannot be used."""
        if self._ports.listen is not None:
            self._listener = _listen(*self._ports.listen)
            self._selector.register(self._listener, selectors.EVENT_READ)
        self.do("start")

    def do(self, method: str, /, **arguments: object) -> None:
        """Call a method of the speaker now, and execute its actions."""
        now_ns = self.now_ns
        actions = self._call(method, now_ns, **arguments)
        for action in actions:
            if isinstance(action, Send):
                self._send(action)
            elif isinstance(action, Connect):
                self._dial(self._neighbors[action.peer])
            elif isinstance(action, Close):
                self._close(action)
        if self._on_actions is not None and actions:
            self._on_actions(now_ns, actions)

    def run_until(self, done: Callable[[], bool], until_ns: int) -> bool:
        """Serve sockets and timers until `done()` or until now_ns is `until_ns`. Returns: the result of `done()`."""
        while not done():
            if self.now_ns >= until_ns:
                return False
            self._turn(until_ns)
        return True

    def interrupt(self) -> None:
        """Make run_until() check `done` again; for signal handlers."""
        self._waker.send(b"\0")

    def stop(self, reason: str = "Administrative Shutdown") -> None:
        """Stop the speaker (NOTIFICATION Cease, RFC 4486), and wait at most 1 s for the neighbours to receive it."""
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        self.do("stop", reason=reason)
        for connection in [it for it in self._connections.values() if not it.up]:
            self._forget(connection)
        until_ns = self.now_ns + _LINGER_NS
        while self._connections and self.now_ns < until_ns:
            self._turn(until_ns, ticking=False)
        for connection in list(self._connections.values()):
            self._forget(connection)
        self.open = False
        self._selector.close()
        self._woken.close()
        self._waker.close()

    # -- one turn ---------------------------------------------------------------------------------------------------

    def _turn(self, until_ns: int, *, ticking: bool = True) -> None:
        due_ns = self.speaker.next_deadline_ns() if ticking else None
        closing = [
            it.closing_since_ns + _LINGER_NS for it in self._connections.values() if it.closing_since_ns is not None
        ]
        wait_ns = min([until_ns, *closing, *([] if due_ns is None else [due_ns])]) - self.now_ns
        for key, events in self._selector.select(min(max(wait_ns, 0), _LONGEST_WAIT_NS) / 1e9):
            if key.fileobj is self._woken:
                self._woken.recv(_READ_BYTES)
            elif key.fileobj is self._listener:
                self._accept(self._listener)
            elif key.data.number in self._connections:
                self._ready(key.data, events)
        for connection in [
            it
            for it in self._connections.values()
            if it.closing_since_ns is not None and it.closing_since_ns + _LINGER_NS <= self.now_ns
        ]:
            self._forget(connection)
        due_ns = self.speaker.next_deadline_ns() if ticking else None
        if due_ns is not None and due_ns <= self.now_ns:
            self.do("tick")

    def _ready(self, connection: _Connection, events: int) -> None:
        if not connection.up:
            self._dialled(connection)
            return
        if events & selectors.EVENT_WRITE:
            self._flush(connection)
        if events & selectors.EVENT_READ and connection.number in self._connections:
            self._read(connection)

    # -- opening ----------------------------------------------------------------------------------------------------

    def _add(self, peer: str, sock: socket.socket, events: int, *, outgoing: bool) -> _Connection:
        self._number += 1
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, CONTROL_TRAFFIC)
        connection = _Connection(self._number, peer, sock, outgoing)
        self._connections[self._number] = connection
        self._selector.register(sock, events, connection)
        return connection

    def _dial(self, neighbor: Neighbor) -> None:
        for old in [it for it in self._connections.values() if it.peer == neighbor.name and not it.up]:
            self._forget(old)
        host, port = neighbor.remote_address, self._ports.dial.get(neighbor.name, BGP_PORT)
        sock = socket.socket(_family(host), socket.SOCK_STREAM)
        connection = self._add(neighbor.name, sock, selectors.EVENT_WRITE, outgoing=True)
        try:
            sock.bind((neighbor.local_address, 0))
            problem = sock.connect_ex((host, port))
        except OSError as error:
            problem = error.errno or errno.EINVAL
        if problem and problem not in _PENDING:
            self._failed(connection, problem)

    def _dialled(self, connection: _Connection) -> None:
        problem = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if problem:
            self._failed(connection, problem)
        else:
            self._opened(connection)

    def _failed(self, connection: _Connection, problem: int) -> None:
        log.info("connection failed", extra={"peer": connection.peer, "why": errno.errorcode.get(problem, problem)})
        self._forget(connection)
        self.do("closed", peer=connection.peer, connection=connection.number)

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, address = listener.accept()
        except OSError:
            return  # the connection was closed already
        peer = self._by_address.get(address[0].removeprefix("::ffff:"))
        if peer is None:
            log.warning("connection refused", extra={"address": address[0], "why": "no such neighbour"})
            sock.close()
            return
        if sum(it.peer == peer and not it.outgoing for it in self._connections.values()) >= _PER_PEER:
            log.warning("connection refused", extra={"address": address[0], "why": f"it has {_PER_PEER} already"})
            sock.close()
            return
        self._opened(self._add(peer, sock, selectors.EVENT_READ, outgoing=False))

    def _opened(self, connection: _Connection) -> None:
        connection.up = True
        self._selector.modify(connection.sock, selectors.EVENT_READ, connection)
        self.do("connected", peer=connection.peer, connection=connection.number, outgoing=connection.outgoing)

    # -- bytes ------------------------------------------------------------------------------------------------------

    def _send(self, action: Send) -> None:
        connection = self._connections.get(action.connection)
        if connection is not None and connection.closing_since_ns is None:
            connection.unsent += action.data
            self._flush(connection)

    def _flush(self, connection: _Connection) -> None:
        try:
            while connection.unsent:
                del connection.unsent[: connection.sock.send(connection.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            connection.unsent.clear()  # the other end is gone; the next read reports it
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.unsent else 0)
        self._selector.modify(connection.sock, wanted, connection)
        if connection.closing_since_ns is not None and not connection.unsent:
            _no_more(connection.sock)

    def _read(self, connection: _Connection) -> None:
        try:
            data = connection.sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if connection.closing_since_ns is not None:
            if not data:
                self._forget(connection)
        elif data:
            self.do("received", peer=connection.peer, data=data, connection=connection.number)
        else:
            self._forget(connection)
            self.do("closed", peer=connection.peer, connection=connection.number)

    # -- closing ----------------------------------------------------------------------------------------------------

    def _close(self, action: Close) -> None:
        connection = self._connections.get(action.connection)
        if connection is None or connection.peer != action.peer:
            return  # not open yet, or already closed
        connection.closing_since_ns = self.now_ns
        if not connection.unsent:
            _no_more(connection.sock)

    def _forget(self, connection: _Connection) -> None:
        del self._connections[connection.number]
        self._selector.unregister(connection.sock)
        connection.sock.close()


def _listen(host: str, port: int) -> socket.socket:
    sock = socket.socket(_family(host), socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen()
    except OSError as error:
        sock.close()
        raise FabricError(
            f"cannot listen at {host}, port {port}: {error.strerror}",
            "ports below 1024 need root, and only one program can have a port; choose another with --port",
        ) from error
    sock.setblocking(False)
    return sock


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _no_more(sock: socket.socket) -> None:
    """Send FIN: this end sends no more, but still reads."""
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the other end has closed already

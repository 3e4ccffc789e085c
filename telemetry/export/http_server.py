"""An HTTP server that neither slow nor many clients can block: one event loop, deadlines, bounded queues.

Rules
1. One request per connection. Its parts have deadlines: TLS handshake and head together HEAD_S, body BODY_S, the answer
   a limit of the handler, sending SEND_S. A late client gets 408; a client that does not read is disconnected.
2. A connection that waits for its client costs a socket and a buffer, no thread. At most `places` connections are open.
   When all are in use, the connection that has waited longest for its client is closed for a new one, so a client that
   sends a byte at a time cannot block others. If none waits for its client, the new connection gets one of RESERVED
   places, in which only urgent requests (health) are answered; others get 503.
3. Requests are processed in lanes: threads with a bounded queue of requests. When the queue is full, the answer is 503
   at once, with Retry-After. Lanes do not wait for each other.
4. HEAD is answered like GET, without the body.

Answers are in telemetry/export/server.py, the syntax of requests in telemetry/export/http_request.py.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import resource
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final, TypeVar

from telemetry.export.http_request import MAX_HEAD_BYTES, Hosts, HttpError, Request, read_head

log = logging.getLogger(__name__)

HEAD_S: Final = 5.0
BODY_S: Final = 5.0
SEND_S: Final = 30.0
LINGER_S: Final = 1.0
"""How long data from a refused client is read and dropped: an immediate reset would discard the answer."""
PLACES: Final = 1024
"""Maximum of concurrent connections. Prometheus and users need a handful."""
RESERVED: Final = 32
_OWN_FILES: Final = 256
"""File descriptors for the rest of the process."""
_LINGER_BYTES: Final = 1 << 20
_PIECE_BYTES: Final = 1 << 16
_NO_FILES_S: Final = 0.05
_NO_LINGER: Final = struct.pack("ii", 1, 0)
_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_AGAIN: Final = ("Retry-After", "1")
_END: Final = b"\r\n\r\n"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: str
    """'200 OK'."""
    headers: Sequence[tuple[str, str]]
    body: bytes


Respond = Callable[[Request], Awaitable[Answer]]


def plain(status: HTTPStatus, text: str, *headers: tuple[str, str]) -> Answer:
    """An answer with one line of text."""
    return Answer(
        f"{status.value} {status.phrase}",
        [("Content-Type", "text/plain; charset=utf-8"), *headers],
        f"{text}\n".encode(),
    )


def full(text: str) -> HttpError:
    """503: retry later."""
    return HttpError(HTTPStatus.SERVICE_UNAVAILABLE, text, _AGAIN)


class Lane:
    """Threads for one kind of request, with at most `places` queued or active requests.

    The threads are daemons: a thread that waits for the engine does not prevent the process from ending.
    """

    def __init__(self, name: str, threads: int, places: int) -> None:
        self.name, self._places, self._taken = name, places, 0
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"http-{name}-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def do(self, work: Callable[[], T]) -> T:
        """Run `work` in one of the threads; return or raise its result. Raises: HttpError where the lane is full."""
        if self._taken >= self._places:
            raise full(f"{self._places} requests of this kind are waiting already")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(put: Callable[[Any], None], value: object) -> None:
            if not future.done():
                put(value)

        def act() -> None:
            if future.cancelled():  # the client gave up before the work began
                return
            try:
                put, value = future.set_result, work()
            except Exception as error:  # noqa: BLE001  the client gets it
                put, value = future.set_exception, error  # type: ignore[assignment]
            with suppress(RuntimeError):  # the loop is closed: no client waits any more
                loop.call_soon_threadsafe(settle, put, value)

        self._taken += 1
        self._queue.put(act)
        try:
            return await future
        finally:
            self._taken -= 1

    def close(self) -> None:
        """End the threads."""
        for _ in self._threads:
            self._queue.put(None)

    def _work(self) -> None:
        while (act := self._queue.get()) is not None:
            act()


def places() -> int:
    """Maximum of open connections, as far as the limit of open files (RLIMIT_NOFILE) allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return PLACES
    return max(min(PLACES, soft - _OWN_FILES), RESERVED)


class HttpServer:
    """A listening socket and the thread of its event loop.

    Parameters
    ----------
    listener : socket         bound and listening
    respond : callable        coroutine for the answer; runs in the event loop, so it must not block
    urgent : callable         whether a request may use a reserved place
    hosts : Hosts             names under which requests are answered
    max_body_bytes : int      longer bodies are not read: `respond` gets the head alone and must refuse it
    tls : SSLContext          None: no TLS
    limit : int               maximum of connections; None: as the system allows
    """

    def __init__(
        self,
        listener: socket.socket,
        respond: Respond,
        urgent: Callable[[Request], bool],
        hosts: Hosts,
        max_body_bytes: int,
        tls: ssl.SSLContext | None = None,
        limit: int | None = None,
    ) -> None:
        self._listener, self._respond, self._urgent, self._hosts = listener, respond, urgent, hosts
        self._max_body_bytes, self._tls = max_body_bytes, tls
        self._limit = limit if limit is not None else places()
        self._open: set[asyncio.Task[None]] = set()
        self._waiting: dict[asyncio.Task[None], None] = {}
        """Connections that wait for their client, the longest wait first."""
        listener.setblocking(False)
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_note)
        self._main: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering and free the port. May be called twice."""
        with suppress(RuntimeError):  # closed already
            self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()

    def _stop(self) -> None:
        if self._main is not None:
            self._main.cancel()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._main = self._loop.create_task(self._accept())
        try:
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._main)
            left = asyncio.all_tasks(self._loop)  # connections and their shared tasks
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.run_until_complete(asyncio.sleep(0))  # transports close in the next iteration of the loop
        finally:
            self._listener.close()
            self._loop.close()

    # ===== places =====

    async def _accept(self) -> None:
        while True:
            try:
                sock, address = await self._loop.sock_accept(self._listener)
            except OSError as error:  # no file descriptor is free, or the client is gone
                log.debug("no connection", extra={"error": str(error)})
                self._make_room()
                await asyncio.sleep(_NO_FILES_S)
                continue
            reserved = False
            if len(self._open) >= self._limit and not self._make_room():
                reserved = True
                if len(self._open) >= self._limit + RESERVED:
                    self._send_away(sock)
                    continue
            task = self._loop.create_task(self._connection(sock, str(address[0]), reserved=reserved))
            self._open.add(task)
            self._waiting[task] = None
            task.add_done_callback(self._forget)
            await asyncio.sleep(0)  # read the heads that have arrived before accepting more connections

    def _make_room(self) -> bool:
        """Close the connection that has waited longest for its client; False: none waits."""
        task = next(iter(self._waiting), None)
        if task is None:
            return False
        del self._waiting[task]
        self._open.discard(task)
        task.cancel()
        return True

    def _send_away(self, sock: socket.socket) -> None:
        with suppress(OSError):
            sock.setblocking(False)
            if self._tls is None:
                sock.send(_FULL)
        sock.close()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        self._waiting.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("a connection was not answered", exc_info=task.exception())

    # ===== one connection =====

    async def _connection(self, sock: socket.socket, client: str, *, reserved: bool) -> None:
        arrived_at = str(sock.getsockname()[0])
        reader = asyncio.StreamReader(MAX_HEAD_BYTES, self._loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self._loop)
        late_s = self._loop.time() + HEAD_S
        try:
            async with asyncio.timeout_at(late_s):
                transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, sock, ssl=self._tls)
        except (OSError, asyncio.CancelledError) as error:  # OSError: also TimeoutError and ssl.SSLError
            sock.close()
            if isinstance(error, asyncio.CancelledError):
                raise
            log.debug("no TLS session", extra={"client": client, "error": str(error)})
            return
        # drain() waits until the last byte is sent. Not high=0 with TLS: asyncio's SSLProtocol compares with >= where
        # plain transports compare with >, and would pause forever on an empty buffer (_control_app_writing).
        transport.set_write_buffer_limits(high=0 if self._tls is None else 1, low=0)
        writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        try:
            await self._exchange(reader, writer, late_s, client, arrived_at, reserved=reserved)
            transport.close()
        except OSError as error:
            log.debug("a client is gone", extra={"client": client, "error": str(error)})
            _reset(transport)
        except asyncio.CancelledError:
            _reset(transport)
            raise

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        late_s: float,
        client: str,
        arrived_at: str,
        *,
        reserved: bool,
    ) -> None:
        request, unread, headless = None, True, False
        try:
            request = await self._head(reader, late_s)
            if request is None:  # the client closed without a request, as port scanners and load balancers do
                return
            headless = request.method == "HEAD"
            self._hosts.check(request, arrived_at)
            request = await self._body(reader, writer, replace(request, client=client, subject=_subject(writer)))
            unread = request.length != len(request.body)
            self._waiting.pop(_this_task(), None)  # from here on the client waits for the server
            if reserved and not self._urgent(request):
                answer = plain(HTTPStatus.SERVICE_UNAVAILABLE, f"all {self._limit} connections are in use", _AGAIN)
            else:
                answer = await self._respond(replace(request, method="GET") if headless else request)
        except HttpError as error:
            answer = plain(error.status, error.text, *error.headers)
        except (asyncio.CancelledError, OSError):
            raise
        except Exception:
            log.exception("a request was not answered", extra={"path": "" if request is None else ascii(request.path)})
            answer = plain(HTTPStatus.INTERNAL_SERVER_ERROR, "a defect of the server; its log says more")
        log.debug(
            "http request",
            extra={
                "client": client,
                "status": answer.status,
                "line": "" if request is None else f"{request.method} {request.path!a}",
            },
        )
        self._waiting[_this_task()] = None
        await self._send(writer, answer, headless=headless)
        if unread:
            await self._linger(reader, writer)

    @staticmethod
    async def _head(reader: asyncio.StreamReader, late_s: float) -> Request | None:
        try:
            async with asyncio.timeout_at(late_s):
                return read_head(await reader.readuntil(_END))
        except TimeoutError:
            raise HttpError(HTTPStatus.REQUEST_TIMEOUT, f"the head did not come within {HEAD_S:g} s") from None
        except asyncio.LimitOverrunError:
            raise HttpError(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head has more than {MAX_HEAD_BYTES} bytes"
            ) from None
        except asyncio.IncompleteReadError as error:
            if not error.partial:
                return None
            raise HttpError(HTTPStatus.BAD_REQUEST, "the head is incomplete") from None

    async def _body(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request) -> Request:
        length = request.length
        if not length or length > self._max_body_bytes:
            return request
        try:
            async with asyncio.timeout(BODY_S):
                if request.headers.get("expect", "").lower() == "100-continue":  # RFC 9110 section 10.1.1
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return replace(request, body=await reader.readexactly(length))
        except TimeoutError:
            raise HttpError(HTTPStatus.REQUEST_TIMEOUT, f"the body did not come within {BODY_S:g} s") from None
        except asyncio.IncompleteReadError:
            raise HttpError(HTTPStatus.BAD_REQUEST, "the body ends before its Content-Length") from None

    @staticmethod
    async def _send(writer: asyncio.StreamWriter, answer: Answer, *, headless: bool) -> None:
        """Send an answer. Raises: OSError (TimeoutError) where the client does not read."""
        fields = [*answer.headers, ("Content-Length", str(len(answer.body))), ("Connection", "close")]
        head = "".join(f"{name}: {value}\r\n" for name, value in fields)
        view = memoryview(b"" if headless else answer.body)
        async with asyncio.timeout(SEND_S):
            writer.write(f"HTTP/1.1 {answer.status}\r\n{head}\r\n".encode("latin-1"))
            await writer.drain()
            # In chunks: a body is shared by all its clients, and copied only as far as each client reads.
            for at in range(0, len(view), _PIECE_BYTES):
                writer.write(view[at : at + _PIECE_BYTES])
                await writer.drain()

    @staticmethod
    async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if writer.can_write_eof():
            writer.write_eof()
        left = _LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while left > 0 and (data := await reader.read(_PIECE_BYTES)):
                    left -= len(data)


def _reset(transport: asyncio.WriteTransport) -> None:
    """Close at once and drop the data that the kernel still holds for a client that does not read."""
    sock = transport.get_extra_info("socket")
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("not in a task")
    return task


def _subject(writer: asyncio.StreamWriter) -> str:
    """Common name of the client's certificate; '' without one."""
    certificate = writer.get_extra_info("peercert") or {}
    return next((value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"), "")


def _note(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if isinstance(error, OSError):
        log.debug("a client is gone", extra={"error": str(error)})
    else:
        log.error("event loop: %s", context.get("message"), exc_info=error)

"""The HTTP interface: GET /metrics answers a scrape, in OpenMetrics 1.0 or the Prometheus text format by its Accept
field. /metrics/NAME is another view of the same run.

Scrapes need no token, so the server listens on a loopback address by default; on other addresses TLS with client
certificates (telemetry/export/tls.py) restricts access. The API (telemetry/live/api.py) is served on the same port and
checks its own tokens.

Health checks, scrapes, reads and changes have separate threads (telemetry/export/http_server.py), so that no kind of
request waits for another; only the run itself is shared (telemetry/live/mailbox.py).
"""

from __future__ import annotations

import asyncio
import errno
import io
import ipaddress
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from prometheus_client.registry import CollectorRegistry

from fabric.errors import FabricError
from telemetry.export.http_request import Hosts, HttpError, Request
from telemetry.export.http_server import Answer, HttpServer, Lane, full, plain
from telemetry.export.scrapes import Scrapes
from telemetry.export.tls import TlsFiles, server_context

log = logging.getLogger(__name__)

_EXAMPLE: Final = "give an address and a port, such as '127.0.0.1:9464'; port 0 takes any free one"
_BACKLOG: Final = 1024
"""Backlog of connections that wait for accept; the kernel may allow fewer (net.core.somaxconn)."""
ANSWER_S: Final = 9.0
"""Two snapshots of at most 4 s each (the current one and the next), and less than Prometheus' default
scrape_timeout."""
CHANGE_S: Final = 120.0
"""A change that has begun is completed; control-plane convergence may take this long."""

T = TypeVar("T")


class ListenError(FabricError):
    """An address on which the server cannot listen."""


def parse_listen(text: str) -> tuple[str, int]:
    """'127.0.0.1:9464' or '[::1]:9464' -> (address, port). Raises ListenError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if not colon or not host or not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
        raise ListenError(f"{text!r} is not an address to listen on", _EXAMPLE)
    if ":" in host and not text.startswith("["):
        raise ListenError(f"{text!r} is ambiguous: put an IPv6 address in brackets", "write '[::1]:9464'")
    return host, int(port)


@dataclass(frozen=True, slots=True)
class Beside:
    """Another WSGI application at the same address."""

    serves: Callable[[str], bool]
    """Whether a path belongs to the application."""
    app: Callable[..., Iterable[bytes]]
    health: frozenset[str] = frozenset()
    """Paths of health checks, which have reserved threads and connections."""
    max_body_bytes: int = 0
    """Longer bodies are not read; the application refuses them by Content-Length."""


@dataclass(frozen=True, slots=True)
class Access:
    """Access to a server: names and TLS."""

    hosts: tuple[str, ...] = ()
    """Further names and addresses for which requests are answered (http_request.Hosts)."""
    tls: TlsFiles | None = None
    """None: no TLS."""


class _Routes:
    """Answers to requests; a coroutine for the event loop."""

    def __init__(
        self, registry: CollectorRegistry, beside: Beside | None, views: Mapping[str, CollectorRegistry]
    ) -> None:
        self._beside = beside
        self._health = Lane("health", 2, 16)
        self._scraping = Lane("scrape", 1, 16)
        self._looking = Lane("look", 4, 64)
        self._changing = Lane("change", 4, 32)
        self._scrapes = {"/metrics": Scrapes(registry, self._scraping)}
        self._scrapes |= {f"/metrics/{name}": Scrapes(it, self._scraping) for name, it in views.items()}
        self._checks: dict[str, asyncio.Task[Answer]] = {}

    def urgent(self, request: Request) -> bool:
        """Whether the request is a health check."""
        return self._beside is not None and request.path in self._beside.health

    async def __call__(self, request: Request) -> Answer:
        """Raises: HttpError."""
        path = request.path
        if path in self._scrapes:
            if request.method != "GET":
                raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "use GET or HEAD", ("Allow", "GET, HEAD"))
            return await _in_time(self._scrapes[path].answer(request), ANSWER_S, "the run gave no answer")
        if self._beside is not None and self._beside.serves(path):
            return await self._ask(self._beside, request)
        metrics = f"metrics are at {' and '.join(self._scrapes)}"
        if path == "/":
            return plain(HTTPStatus.OK, f"fabric emulator: {metrics}")
        return plain(HTTPStatus.NOT_FOUND, f"nothing is at {ascii(path)[1:-1]}; {metrics}")

    async def _ask(self, beside: Beside, request: Request) -> Answer:
        def work() -> Answer:
            return _wsgi(beside.app, request)

        if request.method != "GET":
            return await _in_time(self._changing.do(work), CHANGE_S, "the change has begun, and has not ended")
        if request.path not in beside.health:
            return await _in_time(self._looking.do(work), ANSWER_S, "the run gave no answer")
        check = self._checks.get(request.path)
        if check is None:  # requests that arrive meanwhile share its answer
            check = self._checks[request.path] = asyncio.get_running_loop().create_task(self._health.do(work))
            check.add_done_callback(lambda _: self._checks.pop(request.path))
        return await _in_time(asyncio.shield(check), ANSWER_S, "the run gave no answer")

    def close(self) -> None:
        """End the threads."""
        for lane in (self._health, self._scraping, self._looking, self._changing):
            lane.close()


async def _in_time(answer: Awaitable[T], limit_s: float, text: str) -> T:
    try:
        async with asyncio.timeout(limit_s):
            return await answer
    except TimeoutError:
        raise full(f"{text} within {limit_s:g} s") from None


def _wsgi(app: Callable[..., Iterable[bytes]], request: Request) -> Answer:
    """An application's answer (PEP 3333)."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "SCRIPT_NAME": "",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": request.client,
        "fabric.client_subject": request.subject,
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"] = value
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    body = b"".join(app(environ, lambda status, headers, *_: begun.append((status, headers))))
    status, headers = begun[-1]
    return Answer(status, headers, body)


class MetricsServer:
    """A running server; close it, or use it as a context manager."""

    def __init__(
        self,
        listener: socket.socket,
        routes: _Routes,
        beside: Beside | None,
        access: Access,
        host: str,
        limit: int | None,
    ) -> None:
        self._address = listener.getsockname()[:2]
        self._scheme = "http" if access.tls is None else "https"
        self._routes = routes
        self._server = HttpServer(
            listener,
            routes,
            routes.urgent,
            Hosts.of(host, access.hosts),
            beside.max_body_bytes if beside else 0,
            None if access.tls is None else server_context(access.tls),
            limit,
        )

    @property
    def address(self) -> tuple[str, int]:
        """Address and port in use; the assigned port where 0 was given."""
        host, port = self._address
        return str(host), int(port)

    @property
    def url(self) -> str:
        """URL of scrapes."""
        host, port = self.address
        return f"{self._scheme}://{f'[{host}]' if ':' in host else host}:{port}/metrics"

    def close(self) -> None:
        """Stop answering and free the port. May be called twice."""
        self._server.close()
        self._routes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(
    listen: str,
    registry: CollectorRegistry,
    beside: Beside | None = None,
    access: Access | None = None,
    limit: int | None = None,
    views: Mapping[str, CollectorRegistry] | None = None,
) -> MetricsServer:
    """Answer scrapes of `registry` at `listen` in separate threads.

    Parameters
    ----------
    listen : str                     'address:port', '[address]:port' for IPv6; port 0 takes any free one
    registry : CollectorRegistry     the registry of this run, never prometheus_client's global one
    beside : Beside, optional        another application at the same address
    access : Access, optional        names of the server, and TLS
    limit : int, optional            maximum of connections; default: as the system allows, 1024 at most
    views : mapping, optional        name -> registry of another view of the run, at /metrics/NAME

    Returns: MetricsServer, already listening.
    Raises: ListenError for an address that is invalid, not local, or in use; TlsError.
    """
    host, port = parse_listen(listen)
    access = access if access is not None else Access()
    if access.tls is not None:
        server_context(access.tls)  # errors of its files are reported before the port is opened
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror as error:
        raise ListenError(f"cannot listen on {listen}: {error.strerror}", _EXAMPLE) from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        hint = {
            errno.EADDRINUSE: "stop the program that holds it, or choose another port; port 0 takes any free one",
            errno.EACCES: "choose a port above 1023",
        }.get(error.errno or 0, _EXAMPLE)
        raise ListenError(f"cannot listen on {listen}: {os.strerror(error.errno or 0)}", hint) from error
    server = MetricsServer(listener, _Routes(registry, beside, views or {}), beside, access, host, limit)
    if not ipaddress.ip_address(server.address[0].partition("%")[0]).is_loopback:
        _warn(server.url, access, api=beside is not None)
    return server


def _warn(url: str, access: Access, *, api: bool) -> None:
    if access.tls is None or access.tls.client_ca is None:
        log.warning("metrics are open to the network without authentication", extra={"url": url})
    if access.tls is None and api:
        log.warning("tokens of the API are sent unencrypted", extra={"url": url, "remedy": "--tls-cert and --tls-key"})

"""The HTTP door: GET /metrics answers a scrape, in OpenMetrics 1.0 or the Prometheus text format as the client asks.

Scrapes need no authentication and there is no TLS, so the door opens on the loopback address unless another one is
named. What else there is to ask (telemetry/live/api.py) stands beside /metrics and guards itself.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import CollectorRegistry

from fabric.errors import FabricError
from telemetry.exposition import Writer

log = logging.getLogger(__name__)

_EXAMPLE: Final = "give an address and a port, such as '127.0.0.1:9464'; port 0 takes any free one"
_POLL_S: Final = 0.05
"""How long close() may have to wait for the thread to look up."""
_CLIENT_TIMEOUT_S: Final = 10.0
"""A client that sends nothing for so long is let go."""
_MAX_CLIENTS: Final = 64
"""Connections at a time, a thread each; the next ones are told to come again. Prometheus and people need a handful."""
_FULL: Final = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class ListenError(FabricError):
    """An address that cannot be listened on."""


def parse_listen(text: str) -> tuple[str, int]:
    """'127.0.0.1:9464' or '[::1]:9464' -> (address, port). Raises ListenError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ListenError(f"{text!r} is not an address to listen on", _EXAMPLE)
    if ":" in host and not text.startswith("["):
        raise ListenError(f"{text!r} is ambiguous: an IPv6 address stands in brackets", "write '[::1]:9464'")
    return host, int(port)


class _Handler(WSGIRequestHandler):
    timeout = _CLIENT_TIMEOUT_S

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class calls it so
        log.debug("http request", extra={"client": self.client_address[0], "line": format % args})


class _Server(ThreadingWSGIServer):
    """A thread a connection, and no more than _MAX_CLIENTS of them: who only opens connections exhausts nothing."""

    request_queue_size = _MAX_CLIENTS

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401  the base's own
        self._free = threading.BoundedSemaphore(_MAX_CLIENTS)
        super().__init__(*args, **options)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  the base's own
        """Give the connection a thread, or send it away."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.settimeout(_POLL_S)
            request.sendall(_FULL)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  the base's own
        """Answer, and make room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  the base's own
        """A client that went away, or said nothing, is no defect of ours."""
        if isinstance(sys.exception(), OSError):
            log.debug("a client is gone", extra={"client": client_address[0], "error": str(sys.exception())})
        else:
            super().handle_error(request, client_address)


@dataclass(frozen=True, slots=True)
class Beside:
    """Another WSGI application behind the same door."""

    serves: Callable[[str], bool]
    """Whether a path is its own."""
    app: Callable[..., Iterable[bytes]]


def _app(registry: CollectorRegistry, beside: Beside | None) -> Callable[..., Iterable[bytes]]:
    writer = Writer()

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            return _scrape(registry, writer, environ, start_response)
        if beside is not None and beside.serves(path):
            return beside.app(environ, start_response)
        if path == "/":
            return _plain(start_response, "200 OK", "fabric emulator: metrics are at /metrics")
        return _plain(start_response, "404 Not Found", f"nothing is at {path}; metrics are at /metrics")

    return answer


def _scrape(registry: CollectorRegistry, writer: Writer, environ: dict[str, Any],
            start_response: Callable[..., Any]) -> Iterable[bytes]:
    if environ["REQUEST_METHOD"] != "GET":
        return _plain(start_response, "405 Method Not Allowed", "use GET", ("Allow", "GET"))
    names = parse_qs(environ.get("QUERY_STRING", "")).get("name[]")
    asked = registry.restricted_registry(names) if names else registry
    try:
        headers, body = writer.answer(asked.collect(), environ.get("HTTP_ACCEPT", ""),
                                      environ.get("HTTP_ACCEPT_ENCODING", ""))
    except FabricError as error:
        return _plain(start_response, "503 Service Unavailable", str(error.args[0]), ("Retry-After", "1"))
    start_response("200 OK", headers)
    return [body]


def _plain(start_response: Callable[..., Any], status: str, text: str, *more: tuple[str, str]) -> Iterable[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), *more])
    return [f"{text}\n".encode()]


class MetricsServer:
    """A running door; close it, or use it as a context manager."""

    def __init__(self, httpd: WSGIServer) -> None:
        self._httpd = httpd
        self._thread = threading.Thread(target=httpd.serve_forever, args=(_POLL_S,), name="metrics", daemon=True)
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        """Address and port in use; the port is the real one where 0 was asked for."""
        host, port = self._httpd.server_address[:2]
        return str(host), int(port)

    @property
    def url(self) -> str:
        """Where a scrape goes."""
        host, port = self.address
        return f"http://[{host}]:{port}/metrics" if ":" in host else f"http://{host}:{port}/metrics"

    def close(self) -> None:
        """Stop answering and free the port. May be called twice."""
        self._httpd.shutdown()
        self._httpd.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def serve(listen: str, registry: CollectorRegistry, beside: Beside | None = None) -> MetricsServer:
    """Answer scrapes of `registry` at `listen` from a thread of its own.

    Parameters
    ----------
    listen : str                     'address:port', '[address]:port' for IPv6; port 0 takes any free one
    registry : CollectorRegistry     one made for this run, never prometheus_client's global one
    beside : Beside, optional        what else answers there

    Returns: MetricsServer, already listening.
    Raises: ListenError for an address that cannot be read, is not ours, or is in use.
    """
    host, port = parse_listen(listen)
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror as error:
        raise ListenError(f"cannot listen on {listen}: {error.strerror}", _EXAMPLE) from error

    class Server(_Server):
        address_family = family

    try:
        httpd = make_server(str(address[0]), port, _app(registry, beside), Server, handler_class=_Handler)
    except OSError as error:
        hint = {errno.EADDRINUSE: "stop the program that holds it, or choose another port; port 0 takes any free one",
                errno.EACCES: "choose a port above 1023"}.get(error.errno or 0, _EXAMPLE)
        raise ListenError(f"cannot listen on {listen}: {os.strerror(error.errno or 0)}", hint) from error
    server = MetricsServer(httpd)
    if not ipaddress.ip_address(server.address[0].partition("%")[0]).is_loopback:
        log.warning("metrics are open to the network without authentication", extra={"url": server.url})
    return server

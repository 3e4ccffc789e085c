"""A gNMI server in a thread of its own: its event loop, its port, TLS.

Values are served without a token, as scrapes are, so it listens on loopback unless told otherwise. With a certificate
and a key it serves TLS only, and with an authority for clients it answers those alone (telemetry/export/tls.py).
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

import grpc
from pygnmi.spec.v080 import gnmi_pb2_grpc

from telemetry.export.server import ListenError, parse_listen
from telemetry.export.tls import TlsFiles
from telemetry.gnmi.feed import Feed
from telemetry.gnmi.reading import Reading
from telemetry.gnmi.service import Service

log = logging.getLogger(__name__)

GRACE_S: Final = 0.5
"""Time for RPCs to end by themselves when the server is closed."""
_CLOSE_S: Final = 10.0
_OPTIONS: Final = (
    ("grpc.so_reuseport", 0),  # a port in use is an error
    ("grpc.max_receive_message_length", 1 << 20),
    ("grpc.max_concurrent_streams", 256),
    ("grpc.keepalive_time_ms", 30_000),  # a client whose machine is gone is found
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
)


class GnmiServer:
    """A running server; close it, or use it as a context manager. Raises: ListenError.

    Parameters
    ----------
    listen : str          'address:port', '[address]:port' for IPv6; port 0 takes any free one
    read : callable       makes a reading; called in a thread, one call at a time
    tls : TlsFiles        None: no TLS
    """

    def __init__(self, listen: str, read: Callable[[], Reading], tls: TlsFiles | None = None) -> None:
        self._host, port = parse_listen(listen)
        _try(self._host, port, listen)
        self._tls, self._read = tls, read
        self._port = port
        self._ready = threading.Event()
        self._errors: list[Exception] = []
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="gnmi", daemon=True)
        self._thread.start()
        self._ready.wait()
        for error in self._errors:
            self._thread.join()
            raise ListenError(f"cannot listen on {listen}: {error}", "choose another port") from error
        if not ipaddress.ip_address(self._host.partition("%")[0]).is_loopback and (tls is None or not tls.client_ca):
            log.warning("gNMI is open to the network without authentication", extra={"address": self.address})

    @property
    def address(self) -> str:
        """'address:port' in use."""
        return f"{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}"

    def close(self) -> None:
        """End all RPCs and free the port. May be called twice."""
        with suppress(RuntimeError):  # closed already
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(_CLOSE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except Exception as error:  # noqa: BLE001  raised by the thread that waits for it
            self._errors.append(error)
        finally:
            left = asyncio.all_tasks(self._loop)  # RPCs that are being cancelled
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        feed = Feed(self._read)
        server = grpc.aio.server(options=_OPTIONS)
        gnmi_pb2_grpc.add_gNMIServicer_to_server(Service(feed), server)
        where = self.address
        try:
            if self._tls is None:
                self._port = server.add_insecure_port(where)
            else:
                self._port = server.add_secure_port(where, credentials(self._tls))
            await server.start()
            self._ready.set()
            await self._end.wait()
            await server.stop(GRACE_S)
        finally:
            feed.close()


def credentials(files: TlsFiles) -> Any:  # noqa: ANN401  grpc has no types
    """TLS of the server from files that telemetry/export/tls.py has checked."""
    pair = files.key.read_bytes(), files.certificate.read_bytes()
    if files.client_ca is None:
        return grpc.ssl_server_credentials([pair])
    return grpc.ssl_server_credentials([pair], files.client_ca.read_bytes(), require_client_auth=True)


def _try(host: str, port: int, listen: str) -> None:
    """Whether the address can be listened on: gRPC says only that it cannot. Raises: ListenError."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(1)
    except OSError as error:
        used = error.errno == errno.EADDRINUSE
        hint = (
            "stop the program that holds it, or choose another port; port 0 takes any free one"
            if used
            else ("give an address of this machine and a port above 1023, such as '127.0.0.1:9339'")
        )
        text = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise ListenError(f"cannot listen on {listen}: {text}", hint) from error

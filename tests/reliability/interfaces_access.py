"""Who gets in at the interfaces of `fabric serve`: names of the Host field, HEAD, roles, audit log, TLS, and gNMI."""

from __future__ import annotations

import argparse
import json
import random
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry

from telemetry.export.server import Access, serve
from telemetry.export.tls import TlsFiles
from telemetry.live.openapi import Route
from tests.reliability.interfaces import TOKEN, VIEW, Served, get, post, serving
from tests.reliability.patient import PATIENCE_S
from tests.reliability.report import Row

SEED: Final = 16
NAMES: Final = 300
CHANGES: Final = 40
BEYOND: Final = 8
"""Subscriptions beyond the limit."""


def rows(work: Path) -> list[Row]:
    """One row for each rule; one server for those of HTTP."""
    audit = work / "audit.jsonl"
    with serving(work / "served", more=("--audit", audit)) as served:
        found = [_hosts(served), _heads(served), _roles(served), _audited(served, audit)]
        log = served.errors.read_text(encoding="utf-8", errors="replace")
    if "Traceback" in log or TOKEN in log or VIEW in log:
        found[0] = replace(found[0], failures=[*found[0].failures, "a traceback or a token on standard error"])
    return [*found, _tls(work), _gnmi_default(), _gnmi_streams()]


def _hosts(served: Served) -> Row:
    """Requests in the name of another host, as a browser sends them after DNS rebinding."""
    choose = random.Random(SEED)
    failures = []
    ours = ("localhost", "LOCALHOST.", f"127.0.0.1:{served.address[1]}", "127.0.0.1", "[::1]:9464")
    for number in range(NAMES):
        path = choose.choice(["/metrics", "/", "/-/healthy", "/api/v1/status", "/api/v1/pause"])
        name = _foreign(choose)
        target, host = (path, name) if number % 2 else (f"http://{name}{path}", "localhost")
        head = f"{'POST' if 'pause' in path else 'GET'} {target} HTTP/1.1\r\nHost: {host}\r\n"
        status = served.status(f"{head}Authorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n".encode())
        failures += [] if status in {"421", "400"} else [f"{name} at {path}: {status}"]
    for name in ours:
        status = served.status(f"GET /-/healthy HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        failures += [] if status == "200" else [f"{name}: {status}"]
    return Row(
        "Requests for other host names (random names, addresses, names that hold localhost; as Host or in the request "
        "line) are refused, also with the token; the server's own names are answered",
        NAMES + len(ours),
        "no count: there was no check",
        failures,
    )


def _foreign(choose: random.Random) -> str:
    letters = "".join(choose.choices("abcdefgh", k=6))
    return choose.choice(
        [
            f"{letters}.example",
            f"localhost.{letters}.example",
            f"127.{letters}",
            f"10.{choose.randrange(256)}.{choose.randrange(256)}.1",
            f"[2001:db8::{choose.randrange(1, 9999):x}]",
            f"{letters}.example:{choose.randrange(1, 65536)}",
            f"127.0.0.1.{letters}.example",
        ]
    )


def _heads(served: Served) -> Row:
    failures = []
    paths = ("/metrics", "/", "/-/healthy", "/-/ready", "/api/v1/status", "/nothing")
    for path in paths:
        head, _, body = served.ask(get(path).replace(b"GET", b"HEAD", 1)).partition(b"\r\n\r\n")
        status = served.status(get(path))
        if head[9:12].decode() != status or body:
            failures.append(f"{path}: {head[:40]!r} and {len(body)} bytes, GET {status}")
    return Row(
        "HEAD is answered with the status of GET, and without a body",
        len(paths),
        "no count: HEAD had no answer of its own",
        failures,
    )


def _roles(served: Served) -> Row:
    """Every route without a token, with a wrong one, with that to read, and with that to operate."""
    cases: list[tuple[Route, str, Sequence[str]]] = []
    for route in Route.all():
        reads = route.method == "GET"
        cases += [(route, "", ["401"]), (route, TOKEN[:-1], ["401"]), (route, VIEW + "x", ["401"])]
        cases += [(route, VIEW, ["200"] if reads else ["403"])]
        cases += [(route, TOKEN, ["200"])] if reads else []
    failures = []
    for route, token, wanted in cases:
        authorization = f"Authorization: Bearer {token}\r\n" if token else ""
        status = served.status(
            f"{route.method} {route.path} HTTP/1.1\r\nHost: localhost\r\n{authorization}"
            "Content-Type: application/json\r\nContent-Length: 0\r\n\r\n".encode()
        )
        role = "view" if token == VIEW else "operate" if token == TOKEN else "none"
        failures += [] if status in wanted else [f"{route.method} {route.path}, role {role}: {status}"]
    return Row(
        "Each route of the API without a token, with a wrong one, with that of the role view and of operate: 401, 401, "
        "200 for looks and 403 for changes, 200",
        len(cases),
        "no count: there was one role",
        failures,
    )


def _audited(served: Served, log: Path) -> Row:
    """Changes, some of them refused, from several clients at once: a line each, with who and what."""
    before = len(log.read_text(encoding="ascii").splitlines())
    failures: list[str] = []

    def change(number: int) -> None:
        body: Any = {"dilation": 1000 + number} if number % 2 else {"dilation": "\x1b[2J\n"}
        end_s = time.monotonic() + PATIENCE_S
        # More changes at once than the server queues are answered 503 with Retry-After, and not tried: ask again.
        while (status := served.status(post("speed", body))) == "503" and time.monotonic() < end_s:
            time.sleep(0.1)
        if status[0] == "5" or not status.isdigit():
            failures.append(f"change {number}: {status}")

    threads = [threading.Thread(target=change, args=(number,)) for number in range(CHANGES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    raw = log.read_bytes()
    lines = [json.loads(line) for line in raw.splitlines()[before:]]
    if len(lines) != CHANGES:
        failures.append(f"{len(lines)} lines of {CHANGES} changes")
    if any(it["role"] != "operate" or it["action"] != "speed" or it["client"] != "127.0.0.1" for it in lines):
        failures.append("a line does not say who changed what")
    if any(byte < 32 or byte > 126 for byte in raw.replace(b"\n", b"")) or TOKEN.encode() in raw:
        failures.append("a control character or the token in the log")
    return Row(
        "Changes from 40 clients at once, half of them refused: the audit log has a line of plain ASCII for each, with "
        "role, client, action and result, and never the token",
        CHANGES,
        "no count: there was no audit log",
        failures,
    )


def _tls(work: Path) -> Row:
    """Plain text, and clients without a certificate or with one of another authority, at an interface with TLS."""
    from tests.telemetry.test_tls import make_pki

    folder = work / "pki"
    folder.mkdir()
    pki = make_pki(folder)
    failures: list[str] = []
    cases = 0
    tls = TlsFiles(*pki.pair("server"), pki.ca)
    with serve("127.0.0.1:0", CollectorRegistry(), access=Access(tls=tls)) as server:
        for context, welcome in (
            (pki.client("operator"), True),
            (pki.client(), False),
            (pki.client("stranger"), False),
            (ssl.create_default_context(), False),
        ):
            for _ in range(10):
                cases += 1
                answered = _answered(server.url, context)
                failures += [] if answered == welcome else [f"client {cases}: answered {answered}"]
        for number in range(10):
            cases += 1
            with socket.create_connection(server.address, timeout=30) as plain:
                plain.sendall(get("/metrics") if number % 2 else bytes([0x16, 3, 1, number]))
                plain.shutdown(socket.SHUT_WR)
                failures += [f"plain text {number} is answered"] if b"200" in _all_of(plain) else []
    return Row(
        "A client with a certificate of the authority is answered over TLS; clients without one, with one of another "
        "authority, without trust in the server, in plain text or with half a handshake are not",
        cases,
        "no count: there was no TLS",
        failures,
    )


def _answered(url: str, context: ssl.SSLContext) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=30, context=context) as answer:  # noqa: S310  our own server
            return int(answer.status) == 200
    except OSError:
        return False


def _all_of(client: socket.socket) -> bytes:
    found = b""
    try:
        while piece := client.recv(4096):
            found += piece
    except OSError:
        pass
    return found


def _gnmi_default() -> Row:
    from fabric.cli.options.gnmi import add_gnmi
    from fabric.cli.serve import DEFAULT_LISTEN

    parser = argparse.ArgumentParser()
    add_gnmi(parser)
    addresses = [str(parser.parse_args(["--gnmi"]).gnmi), DEFAULT_LISTEN]
    failures = [it for it in addresses if not it.startswith("127.0.0.1:")]
    failures += [] if parser.parse_args([]).gnmi is None else ["gNMI is answered without --gnmi"]
    return Row(
        "The addresses of the HTTP and the gNMI interface where none is given are of loopback, and gNMI is answered "
        "with --gnmi only",
        3,
        "no count: there was no gNMI",
        failures,
    )


def _gnmi_streams() -> Row:
    """As many subscriptions as are allowed, over several connections, and some more."""
    import grpc
    from pygnmi.spec.v080 import gnmi_pb2 as pb
    from pygnmi.spec.v080 import gnmi_pb2_grpc

    from telemetry.gnmi.service import MAX_STREAMS
    from tests.gnmi.small_switches import Switches, served

    path = pb.Path(elem=[pb.PathElem(name=name) for name in ("interfaces", "interface", "state", "oper-status")])
    request = pb.SubscribeRequest(
        subscribe=pb.SubscriptionList(
            prefix=pb.Path(target="leaf1"),
            mode="STREAM",
            encoding="JSON_IETF",
            subscription=[pb.Subscription(path=path, mode="ON_CHANGE")],
        )
    )
    over = threading.Event()

    def sent() -> Iterator[Any]:
        yield request
        over.wait(60)

    failures = []
    with ExitStack() as stack, served(Switches()) as (server, _):
        stack.callback(over.set)
        own = [("grpc.use_local_subchannel_pool", 1)]  # a connection each
        channels = [stack.enter_context(grpc.insecure_channel(server.address, options=own)) for _ in range(8)]
        stubs = [gnmi_pb2_grpc.gNMIStub(it) for it in channels]
        streams = []
        for number in range(MAX_STREAMS):
            stream = stubs[number % len(stubs)].Subscribe(sent(), timeout=60)
            next(stream)
            streams.append(stream)
        for number in range(BEYOND):
            try:
                next(stubs[number % len(stubs)].Subscribe(sent(), timeout=60))
                failures.append(f"subscription {MAX_STREAMS + number} was opened")
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    failures.append(f"subscription {MAX_STREAMS + number}: {error.code()}")
        over.set()
        for stream in streams:
            stream.cancel()
    return Row(
        "256 subscriptions of gNMI are answered at once over 8 connections, and those beyond are refused by "
        "RESOURCE_EXHAUSTED",
        MAX_STREAMS + BEYOND,
        "no count: there was no gNMI",
        failures,
    )

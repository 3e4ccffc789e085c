"""HTTP interface of `fabric serve` under load and under malformed requests, by raw sockets on the loopback address.

Bounded: at most 500 connections at a time, and a server lasts SERVER_S. A load is judged by what is answered and by the
order of answers; the server is patient.py, because how long an answer takes is the machine's.
"""

from __future__ import annotations

import json
import random
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.forked import Program
from tests.reliability.patient import PATIENCE_S, PATIENT
from tests.reliability.report import Row

TOKEN: Final = "a-token-of-the-tests-0123456789"
VIEW: Final = "a-view-token-of-the-tests-98765"
SCENARIO: Final = """\
name: interfaces
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_rate: 100G, fabric_rate: 400G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["host2", "host3", "host4"], size: 2MB}
telemetry: {interval: 50us}
run: {duration: 20ms, seed: 3, stop: duration}
"""
ROUTED: Final = """\
name: routed
topology: {kind: leaf-spine, leaves: 40, spines: 4, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 400G}
routing: bgp
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["host5", "host9", "host13"], size: 2MB}
telemetry: {interval: 50us}
run: {duration: 20ms, seed: 3, stop: duration}
"""
"""Here a fault lets the routers converge again."""
SERVER_S: Final = 3600
"""A server ends by itself, also where what started it was killed."""
SLOW: Final = 64
ROUNDS: Final = 20
"""Scrapes and health checks beside slow clients."""
SCRAPES: Final = 500
INJECTORS: Final = 12
INJECTED_ROUNDS: Final = 4
"""Scrapes, health checks and reads of the status beside injectors; a change takes a second or so."""
MOST_CHANGES: Final = 2
"""The one in progress as a request arrives, and one that ends while the answer is written."""
MUTANTS: Final = 5000


@dataclass(frozen=True)
class Served:
    """A running `fabric serve`."""

    address: tuple[str, int]
    process: subprocess.Popen[str]
    errors: Path

    def ask(self, data: bytes, timeout_s: float = PATIENCE_S) -> bytes:
        """All that is answered to these bytes. Raises: OSError."""
        with socket.create_connection(self.address, timeout=timeout_s) as client:
            client.sendall(data)
            return _rest(client, timeout_s)

    def status(self, data: bytes, timeout_s: float = PATIENCE_S) -> str:
        """'200', or what came instead of an answer."""
        try:
            answer = self.ask(data, timeout_s)
        except OSError as error:
            return type(error).__name__
        return answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.") else "no answer"


@contextmanager
def serving(work: Path, text: str = SCENARIO, more: Sequence[str | Path] = ()) -> Iterator[Served]:
    """`fabric serve` on a free port of the loopback address, from its first scrape until the block ends."""
    work.mkdir(parents=True, exist_ok=True)
    scenario = work / "interfaces.yml"
    scenario.write_text(text, encoding="utf-8")
    errors = work / "stderr"
    with errors.open("w", encoding="utf-8") as file:
        process = Program(
            PATIENT,
            "serve",
            str(scenario),
            "--loop",
            "--dilation",
            "2000",
            "--listen",
            "127.0.0.1:0",
            "--json",
            "--quiet",
            "--duration",
            f"{SERVER_S}s",
            *map(str, more),
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            env={"FABRIC_TOKEN": TOKEN, "FABRIC_VIEW_TOKEN": VIEW, "XDG_STATE_HOME": str(work), "XDG_RUNTIME_DIR": ""},
        )
    try:
        assert process.stdout is not None
        host, _, port = json.loads(process.stdout.readline())["url"].removesuffix("/metrics").rpartition(":")
        served = Served((host.removeprefix("http://"), int(port)), process, errors)
        end_s = time.monotonic() + PATIENCE_S
        while served.status(get("/metrics")) != "200":
            assert time.monotonic() < end_s, "the run did not begin"
            time.sleep(0.1)
        yield served
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def get(path: str) -> bytes:
    """A GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()


def post(name: str, body: object) -> bytes:
    """A POST to the API."""
    text = json.dumps(body).encode()
    return (
        f"POST /api/v1/{name} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    ).encode() + text


def rows(work: Path) -> list[Row]:
    """Every load against a separate server."""
    found = []
    for number, (text, before, load) in enumerate(_LOADS):
        folder = work / str(number)
        injected = load is _injectors
        with serving(folder, ROUTED if injected else SCENARIO, ("--audit", folder / _AUDIT)) as served:
            cases, failures = load(served)
            if served.process.poll() is not None:
                failures.append(f"the server ended with {served.process.returncode}")
        log = served.errors.read_text(encoding="utf-8", errors="replace")
        if "Traceback" in log:
            failures.append(f"traceback on standard error: {log.strip().splitlines()[-1]}")
        found.append(Row(text, cases, before, failures))
    return found


# ===== slow clients =====


def _slow(begin: bytes, go_on: bytes, *, read: bool = False) -> Callable[[Served], tuple[int, list[str]]]:
    """Scrapes and health checks beside SLOW clients that send `begin`, then a byte every 4 s, and come back when they
    are cut off. `read`: they send all of a request, and read a byte of the answer every 4 s.
    """

    def load(served: Served) -> tuple[int, list[str]]:
        over, begun, cut_off = threading.Event(), Tally(), Tally()

        def crawl() -> None:
            while not over.is_set():
                with suppress(OSError), socket.socket() as client:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                    client.settimeout(PATIENCE_S)
                    client.connect(served.address)
                    client.sendall(begin)
                    begun.add()
                    while not over.wait(4.0):
                        if read:
                            client.recv(1)
                        else:
                            client.sendall(go_on)
                cut_off.add()
                over.wait(0.01)

        threads = [threading.Thread(target=crawl, daemon=True) for _ in range(SLOW)]
        for thread in threads:
            thread.start()
        cases, failures = 0, list[str]()
        try:
            for times in (1,) if read else (1, 2):
                if not (cut_off.reaches((times - 1) * SLOW) and begun.reaches(times * SLOW)):
                    failures.append(f"the slow clients did not come, or were not cut off: time {times}")
                for _ in range(ROUNDS):
                    for path in ("/metrics", "/-/healthy"):
                        failures += _unanswered(served, path)
                        cases += 1
                    time.sleep(0.1)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        return cases, failures

    return load


class Tally:
    """Events that threads have counted together."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = threading.Condition()

    def add(self) -> None:
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def reaches(self, count: int) -> bool:
        """Wait for so many; False where they do not come."""
        with self._changed:
            return self._changed.wait_for(lambda: self.count >= count, PATIENCE_S)


def _unanswered(served: Served, path: str) -> list[str]:
    status = served.status(get(path))
    return [] if status == "200" else [f"{path}: {status}"]


# ===== many scrapes =====


def _at_once(served: Served) -> tuple[int, list[str]]:
    """SCRAPES connections that ask at the same time."""
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        answers: dict[int, bytearray] = {}
        for number in range(SCRAPES):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(served.address)
            selector.register(client, selectors.EVENT_WRITE, number)
            answers[number] = bytearray()
        open_, end_s = SCRAPES, time.monotonic() + PATIENCE_S
        outcome: dict[int, str] = {}
        while open_ and time.monotonic() < end_s:
            for key, events in selector.select(1.0):
                client, number = key.fileobj, key.data
                assert isinstance(client, socket.socket)
                try:
                    if events & selectors.EVENT_WRITE:
                        client.sendall(get("/metrics"))
                        selector.modify(client, selectors.EVENT_READ, number)
                        continue
                    data = client.recv(1 << 16)
                except OSError as error:
                    outcome[number], data = type(error).__name__, b""
                answers[number] += data
                if not data:
                    selector.unregister(client)
                    open_ -= 1
    for number, answer in answers.items():
        if answer[9:12] != b"200":
            outcome.setdefault(number, answer[9:12].decode("latin-1") or "no answer")
    return SCRAPES, [f"scrape {number}: {why}" for number, why in sorted(outcome.items())]


# ===== injectors =====


def _injectors(served: Served) -> tuple[int, list[str]]:
    """Requests beside INJECTORS clients that inject faults as fast as they are answered: each is answered after no more
    than MOST_CHANGES of these, although more are always waiting.
    """
    over, injected = threading.Event(), Tally()
    served.status(post("faults", {"kind": "link-down", "link": "leaf20--spine2", "until": "+100us"}))
    served.status(get("/metrics"))  # what only faults use has been compiled now
    log = served.errors.with_name(_AUDIT)

    def carried_out() -> int:
        return log.read_bytes().count(b'"result": "200 OK"')

    def inject(number: int) -> None:
        fault = {"kind": "link-down", "link": f"leaf{number + 1}--spine1", "until": "+100us"}
        while not over.is_set():
            if served.status(post("faults", fault)) == "200":
                injected.add()

    threads = [threading.Thread(target=inject, args=(number,), daemon=True) for number in range(INJECTORS)]
    for thread in threads:
        thread.start()
    cases, failures = 0, list[str]()
    try:
        if not injected.reaches(1):
            failures.append("no fault was injected")
        for _ in range(INJECTED_ROUNDS):
            for path in ("/metrics", "/-/healthy", "/api/v1/status"):
                before = carried_out()
                failures += _unanswered(served, path)
                waited = carried_out() - before
                failures += [f"{path}: after {waited} changes"] if waited > MOST_CHANGES else []
                cases += 1
    finally:
        over.set()  # threads that wait for an answer end with the server
    return cases, failures


# ===== malformed requests =====


def _malformed(served: Served) -> tuple[int, list[str]]:
    """Requests mutated byte by byte, field by field; each must be disconnected or answered without 5xx."""
    failures = []
    for number in range(MUTANTS):
        data = mutant(random.Random(number))
        try:
            with socket.create_connection(served.address, timeout=PATIENCE_S) as client:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                answer = _rest(client, PATIENCE_S)
        except (ConnectionResetError, BrokenPipeError):
            continue
        except OSError as error:
            failures.append(f"seed {number}: {type(error).__name__}: {data[:60]!r}")
            continue
        if answer and (not answer.startswith(b"HTTP/1.") or answer[9:10] not in b"1234"):
            failures.append(f"seed {number}: {answer[:40]!r} to {data[:60]!r}")
        elif not _framed(answer):
            failures.append(f"seed {number}: the answer's length is not what it says: {data[:60]!r}")
    if served.status(get("/metrics")) != "200":
        failures.append("afterwards a scrape is not answered")
    return MUTANTS, failures


def mutant(choose: random.Random) -> bytes:
    """A request that is nearly right."""
    paths = [
        "/metrics",
        "/metrics?name[]=x",
        "/-/healthy",
        "/-/ready",
        "/api/v1/status",
        "/api/v1/view?rows=5",
        "/api/v1/events?after=1",
        "/api/v1/openapi.json",
        *["/api/v1/speed", "/api/v1/faults"] * 4,
        "/",
    ]
    method = choose.choice(["GET", "GET", "POST", "POST", "POST", "HEAD", "PUT", "OPTIONS", "get"])
    path = choose.choice(paths)
    body = choose.choice(
        [
            b"",
            b'{"dilation": 2000}',
            b'{"kind": "link-down", "link": "x"}',
            b"[" * 3000,
            b'{"dilation": 1e999}',
            b'{"dilation": ' + b"9" * 5000 + b"}",
            b"\xff\xfe{}",
            b"{" + b'"a":1,' * 9,
        ]
    )
    length = choose.choice(
        [
            str(len(body)),
            str(len(body)),
            "9" * 5000,
            "-1",
            "+5",
            "0x10",
            "1e3",
            " ",
            "²",
            str(len(body) + 5),
            str(1 << 62),
            f"{len(body)}, {len(body)}",
            "007",
        ]
    )
    fields = [
        b"Host: localhost",
        f"Authorization: Bearer {TOKEN}".encode(),
        b"Content-Type: application/json",
        b"Content-Length: " + length.encode(),
        b"Accept-Encoding: gzip;q=x",
        b"Accept: ;;,,q=",
        b"Transfer-Encoding: chunked",
        b"Expect: 100-continue",
        b"X-Long: " + b"y" * choose.choice([9, 9000]),
    ]
    rare = (b"Transfer", b"Expect")
    chosen = [field for field in fields if choose.random() < (0.3 if field.startswith(rare) else 0.9)]
    choose.shuffle(chosen)
    head = b"\r\n".join([f"{method} {path} HTTP/1.{choose.choice('01')}".encode(), *chosen])
    data = head + b"\r\n\r\n" + body
    for _ in range(choose.choice([0, 0, 1, 1, 2, 8])):
        at = choose.randrange(len(data))
        piece = bytes(
            choose.choices(
                [0, 9, 10, 13, 32, 37, 58, 127, 200, 255, choose.randrange(256)], k=choose.choice([1, 1, 1, 4])
            )
        )
        cut = choose.choice([at, at + 1, at + choose.randrange(20)])
        data = data[:at] + choose.choice([piece, b"", data[at:cut] * 2]) + data[cut:]
    return data if choose.random() < 0.9 else data[: choose.randrange(len(data) + 1)]


def _framed(answer: bytes) -> bool:
    """Whether no more than one answer came, with no header of the client's making."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return not answer or not lengths or len(body) in {0, int(lengths[0].split(b":")[1])}


def _rest(client: socket.socket, timeout_s: float) -> bytes:
    """All that comes until the other end closes. Raises: OSError, TimeoutError after timeout_s in all."""
    found, end_s = bytearray(), time.monotonic() + timeout_s
    while (left_s := end_s - time.monotonic()) > 0:
        client.settimeout(left_s)
        data = client.recv(1 << 16)
        if not data:
            return bytes(found)
        found += data
    raise TimeoutError


_HEAD: Final = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
_BODY: Final = post("speed", {"dilation": 2000}).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

_AUDIT: Final = "audit.jsonl"
_ANSWERED: Final = "scrapes and health checks beside them are answered"
_INJECTED: Final = (
    f"{INJECTORS} clients inject faults as fast as they can into a fabric of 44 routers: scrapes, health checks and "
    f"status are answered, each after {MOST_CHANGES} of their changes at most"
)
_LOADS: Final[Sequence[tuple[str, str, Callable[[Served], tuple[int, list[str]]]]]] = (
    (
        f"{SLOW} clients send a byte of a request's head every 4 s and come back when they are cut off: {_ANSWERED}",
        "200 of 200: status 503",
        _slow(_HEAD, b"X"),
    ),
    (
        f"{SLOW} clients send a byte of a request's body every 4 s: the same",
        "200 of 200: status 503",
        _slow(_BODY, b" "),
    ),
    (
        f"{SLOW} clients read a byte of the answer every 4 s: the same",
        "0 of 190",
        _slow(get("/metrics"), b"", read=True),
    ),
    (f"{SCRAPES} scrapes at the same time are answered", "98 of 500: status 503", _at_once),
    (_INJECTED, "3 of 6: status 503 after 5 s", _injectors),
    (
        "A mutated request (bytes, fields, lengths, JSON, cut anywhere) is answered by no 5xx, and without a traceback",
        "208 of 5,000: status 500 with a traceback, answers without a status line",
        _malformed,
    ),
)

"""Scrapes over HTTP on the loopback address."""

from __future__ import annotations

import gc
import gzip
import select
import socket
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from fabric.dataplane.engine.counters import Snapshot
from fabric.errors import FabricError
from fabric.topology.model import Fabric
from telemetry.catalogue.derive import RunInfo
from telemetry.export import http_server
from telemetry.export.collect import FabricCollector, ScrapeError
from telemetry.export.server import Access, Beside, MetricsServer, parse_listen, serve
from tests.telemetry.programs import PATIENCE_S, wait_for

Still = Callable[..., Snapshot]


@pytest.fixture
def registry(tiny: Fabric, still: Still, info: RunInfo) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(FabricCollector(lambda: still(tiny, time_ps=7_000_000), info))
    return registry


def get(url: str, **headers: str) -> tuple[int, str, str]:
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  an address of our own
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def test_a_scrape_is_answered_in_the_text_format(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        status, kind, text = get(server.url)
    assert status == 200
    assert kind.startswith("text/plain; version=0.0.4")
    assert "\nfabric_sim_time_seconds 7e-06\n" in text


def test_a_client_that_prefers_openmetrics_gets_it(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        _, kind, text = get(server.url, Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")


def test_a_client_may_ask_for_some_metrics_only(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        _, _, text = get(f"{server.url}?name[]=fabric_port_up")
    assert {line.split("{")[0] for line in text.splitlines() if not line.startswith("#")} == {"fabric_port_up"}


def test_a_client_that_takes_gzip_gets_it(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        request = urllib.request.Request(server.url, headers={"Accept-Encoding": "gzip"})  # noqa: S310  as above
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            text = gzip.decompress(answer.read()).decode()
    assert "\nfabric_sim_time_seconds 7e-06\n" in text


def test_metrics_are_only_read(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        request = urllib.request.Request(server.url, method="POST", data=b"")  # noqa: S310  as above
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=PATIENCE_S)  # noqa: S310
    assert (caught.value.code, caught.value.headers["Allow"]) == (405, "GET, HEAD")
    caught.value.close()


def test_scrapes_at_the_same_time_are_all_answered(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(get, [server.url] * 16))
    assert {status for status, _, _ in answers} == {200}


def connected(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address, timeout=PATIENCE_S)


def asked(address: tuple[str, int], head: bytes) -> bytes:
    """Everything that is answered to these bytes."""
    with connected(address) as client:
        client.sendall(head)
        client.shutdown(socket.SHUT_WR)
        found = b""
        while data := client.recv(1 << 16):
            found += data
        return found


def test_clients_that_wait_give_way_to_new_ones_the_oldest_first(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry, limit=4) as server, ExitStack() as silent:
        clients = [silent.enter_context(connected(server.address)) for _ in range(4)]
        for client in clients:
            client.sendall(b"GET /metrics HT")
        assert [get(server.url)[0] for _ in range(3)] == [200] * 3
        with pytest.raises(ConnectionResetError):  # the first had to go, and only the first
            clients[0].recv(1)
        clients[-1].sendall(b"TP/1.1\r\nHost: localhost\r\n\r\n")
        assert clients[-1].recv(100).startswith(b"HTTP/1.1 200 OK")


def test_a_client_that_does_not_send_its_request_in_time_is_told(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(http_server, "HEAD_S", 0.05)
    with serve("127.0.0.1:0", registry) as server, connected(server.address) as silent:
        assert silent.recv(100).startswith(b"HTTP/1.1 408 ")
    assert capfd.readouterr().err == ""


def test_a_client_that_does_not_read_is_let_go(registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "SEND_S", 0.05)
    large = Beside(lambda path: path == "/large", lambda _, start: (start("200 OK", []), [bytes(64 << 20)])[1])
    with serve("127.0.0.1:0", registry, large) as server, connected(server.address) as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        reset = select.poll()
        reset.register(lazy, 0)  # errors alone
        assert reset.poll(PATIENCE_S * 1000), "the server waits for ever"
        got = 0
        with suppress(ConnectionResetError):
            while data := lazy.recv(1 << 20):
                got += len(data)
    assert got < 64 << 20


class Counting:
    """A collector that counts its calls, and answers when released."""

    def __init__(self) -> None:
        self.count, self.go = 0, threading.Event()

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> list[Metric]:
        self.count += 1
        self.go.wait(PATIENCE_S)
        family = Metric("looks", "", "gauge")
        family.add_sample("looks", {}, self.count)
        return [family]


def held(server: MetricsServer) -> int:
    """How many connections have asked and wait for the server: the others wait for their client."""
    http = server._server
    return len(http._open) - len(http._waiting)


def test_scrapes_of_one_moment_share_one_look_that_began_after_they_were_asked_for() -> None:
    counting, registry = Counting(), CollectorRegistry()
    registry.register(counting)
    with serve("127.0.0.1:0", registry) as server, ThreadPoolExecutor(41) as pool:
        first = pool.submit(get, server.url)
        wait_for(lambda: counting.count, "the first look")
        rest = [
            pool.submit(get, server.url, **({"Accept": "application/openmetrics-text"} if number % 2 else {}))
            for number in range(40)
        ]
        wait_for(lambda: held(server) == 41, "all scrapes to be asked for")
        counting.go.set()
        assert "\nlooks 1.0\n" in first.result()[2]
        assert Counter("\nlooks 2.0\n" in it.result()[2] for it in rest) == {True: 40}
    assert counting.count == 2


def test_five_hundred_scrapes_at_the_same_time_are_all_answered(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server, ExitStack() as stack:
        clients = [stack.enter_context(connected(server.address)) for _ in range(500)]
        for client in clients:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        heads = Counter(client.recv(15) for client in clients)
    assert heads == {b"HTTP/1.1 200 OK": 500}


def test_a_server_that_is_closed_leaves_no_scrape_waiting(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    counting, registry = Counting(), CollectorRegistry()
    registry.register(counting)
    with serve("127.0.0.1:0", registry) as server, connected(server.address) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: counting.count, "the first look")
        server.close()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    counting.go.set()
    gc.collect()
    assert capfd.readouterr().err == ""
    assert not caplog.records


def test_health_is_answered_while_all_connections_wait_for_a_scrape() -> None:
    counting, registry = Counting(), CollectorRegistry()
    registry.register(counting)
    health = Beside(
        lambda path: path == "/-/healthy", lambda _, start: (start("200 OK", []), [b"ok"])[1], frozenset({"/-/healthy"})
    )
    with serve("127.0.0.1:0", registry, health, limit=8) as server, ExitStack() as stack:
        waiting = [stack.enter_context(connected(server.address)) for _ in range(8)]
        for client in waiting:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: held(server) == 8, "all connections to be in use")
        assert get(server.url.replace("metrics", "-/healthy"))[0] == 200
        assert get(server.url)[0] == 503
        counting.go.set()
        assert [client.recv(15) for client in waiting] == [b"HTTP/1.1 200 OK"] * 8


def test_a_head_request_is_answered_as_get_without_the_body(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        head, _, body = asked(server.address, b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").partition(
            b"\r\n\r\n"
        )
        whole = asked(server.address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").partition(b"\r\n\r\n")[2]
    assert head.startswith(b"HTTP/1.1 200 OK")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
    assert body == b""
    assert abs(length - len(whole)) < 500  # a second scrape tells the pace since the first, too


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9464", "10.1.2.3", "localhost.evil.example", "127.evil", "[2001:db8::1]"]
)
@pytest.mark.parametrize("path", ["/metrics", "/", "/-/healthy"])
def test_a_request_for_another_name_is_refused_dns_rebinding(registry: CollectorRegistry, host: str, path: str) -> None:
    health = Beside(lambda path: path.startswith("/-/"), lambda _, start: (start("200 OK", []), [b"ok"])[1])
    with serve("127.0.0.1:0", registry, health) as server:
        answer = asked(server.address, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        absolute = asked(server.address, f"GET http://{host}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 421 ")
    assert absolute.startswith(b"HTTP/1.1 421 ")
    assert b"--allow-host" in answer


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST.:80", "127.0.0.1:1", "[::1]:9464", "[::ffff:127.0.0.1]", "emulator:9464", "10.9.8.7"],
)
def test_names_that_are_ours_are_answered(registry: CollectorRegistry, host: str) -> None:
    with serve("127.0.0.1:0", registry, access=Access(("Emulator", "10.9.8.7"))) as server:
        answer = asked(server.address, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 200),
        (b"GET / HTTP/2.0\r\nHost: ::1\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: lo\r\n calhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: \x00\r\n\r\n", 400),
        (b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100 + b"\r\n", 431),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        (b"GET /metrics?" + b"a=1&" * 99 + b" HTTP/1.0\r\n\r\n", 400),
        (b"GET /%0d%0aSet-Cookie:x HTTP/1.0\r\n\r\n", 404),
    ],
)
def test_a_malformed_request_is_refused_by_its_status(registry: CollectorRegistry, head: bytes, status: int) -> None:
    with serve("127.0.0.1:0", registry) as server:
        answer = asked(server.address, head)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer
        assert b"Set-Cookie" not in answer.partition(b"\r\n\r\n")[0]
        assert get(server.url)[0] == 200


def test_other_paths_are_not_metrics(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        base = server.url.removesuffix("/metrics")
        assert get(f"{base}/")[0] == 200
        status, _, text = get(f"{base}/metricz")
    assert status == 404
    assert "metrics are at /metrics" in text


def test_a_scrape_that_cannot_be_answered_says_why(info: RunInfo) -> None:
    def late() -> Snapshot:
        raise ScrapeError("the run gave no snapshot within 4 s")

    registry = CollectorRegistry()
    registry.register(FabricCollector(late, info))
    with serve("127.0.0.1:0", registry) as server:
        status, _, text = get(server.url)
    assert (status, text) == (503, "the run gave no snapshot within 4 s\n")


def test_a_busy_port_is_an_error_with_a_remedy(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server, pytest.raises(FabricError, match="Address already in use") as caught:
        serve(f"127.0.0.1:{server.address[1]}", registry)
    assert "another port" in caught.value.hint
    assert caught.value.exit_code == 2


def test_a_closed_door_frees_its_port(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        host, port = server.address
    with serve(f"{host}:{port}", registry) as again:
        assert get(again.url)[0] == 200
    again.close()


def test_an_address_that_is_not_ours_is_an_error(registry: CollectorRegistry) -> None:
    with pytest.raises(FabricError, match=r"cannot listen on 192\.0\.2\.1:0"):
        serve("192.0.2.1:0", registry)


def test_an_open_door_without_authentication_is_warned_of(
    registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    serve("127.0.0.1:0", registry).close()
    assert not caplog.records
    serve("0.0.0.0:0", registry).close()
    assert [record.message for record in caplog.records] == ["metrics are open to the network without authentication"]
    caplog.clear()
    serve("0.0.0.0:0", registry, Beside(lambda _: False, lambda *_: [])).close()
    assert "tokens of the API are sent unencrypted" in [record.message for record in caplog.records]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("127.0.0.1:9464", ("127.0.0.1", 9464)), ("[::1]:0", ("::1", 0)), ("localhost:80", ("localhost", 80))],
)
def test_an_address_is_read(text: str, expected: tuple[str, int]) -> None:
    assert parse_listen(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9464",
        ":9464",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:http",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "::1:9464",
        "127.0.0.1:²",
    ],
)
def test_an_address_without_sense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_listen(text)
    assert "9464" in caught.value.hint or "[::1]" in caught.value.hint


def test_another_view_of_the_run_is_below_the_path_of_the_first(
    tiny: Fabric, still: Still, info: RunInfo, registry: CollectorRegistry
) -> None:
    other = CollectorRegistry()
    other.register(FabricCollector(lambda: still(tiny, time_ps=9_000_000), info))
    with serve("127.0.0.1:0", registry, views={"sonic": other}) as server:
        base = server.url
        assert "fabric_sim_time_seconds 7e-06" in get(base)[2]
        assert "fabric_sim_time_seconds 9e-06" in get(f"{base}/sonic")[2]
        status, _, text = get(f"{base}/hft")
    assert status == 404
    assert "metrics are at /metrics and /metrics/sonic" in text

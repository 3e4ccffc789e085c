"""Scrapes over HTTP on the loopback address."""

from __future__ import annotations

import gzip
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from prometheus_client import CollectorRegistry

from fabric.engine.counters import Snapshot
from fabric.errors import FabricError
from fabric.topology.model import Fabric
from telemetry.collect import FabricCollector, ScrapeError
from telemetry.derive import RunInfo
from telemetry.server import _MAX_CLIENTS, _Handler, parse_listen, serve

Still = Callable[..., Snapshot]


@pytest.fixture
def registry(tiny: Fabric, still: Still, info: RunInfo) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(FabricCollector(lambda: still(tiny, time_ps=7_000_000), info))
    return registry


def get(url: str, **headers: str) -> tuple[int, str, str]:
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  an address of our own
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
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
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            text = gzip.decompress(answer.read()).decode()
    assert "\nfabric_sim_time_seconds 7e-06\n" in text


def test_metrics_are_only_read(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        request = urllib.request.Request(server.url, method="POST", data=b"")  # noqa: S310  as above
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=30)  # noqa: S310
    assert (caught.value.code, caught.value.headers["Allow"]) == (405, "GET")
    caught.value.close()


def test_scrapes_at_the_same_time_are_all_answered(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(get, [server.url] * 16))
    assert {status for status, _, _ in answers} == {200}


def test_connections_beyond_the_limit_are_sent_away_and_the_rest_are_answered(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server, ExitStack() as silent:
        for _ in range(_MAX_CLIENTS):
            silent.enter_context(socket.create_connection(server.address, timeout=30))
        one_more = silent.enter_context(socket.create_connection(server.address, timeout=30))
        assert one_more.recv(100).startswith(b"HTTP/1.0 503 ")
        silent.close()
        one_more.close()
        answered = False
        while not answered:     # threads notice one by one that their client has gone
            answered = get(server.url)[0] == 200
    assert answered


def test_a_client_that_says_nothing_is_let_go_without_a_traceback(
        registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(_Handler, "timeout", 0.05)
    with serve("127.0.0.1:0", registry) as server, socket.create_connection(server.address, timeout=30) as silent:
        assert silent.recv(1) == b""
    assert capfd.readouterr().err == ""


def test_other_paths_are_not_metrics(registry: CollectorRegistry) -> None:
    with serve("127.0.0.1:0", registry) as server:
        base = server.url.removesuffix("/metrics")
        assert get(f"{base}/")[0] == 200
        status, _, text = get(f"{base}/metricz")
    assert status == 404
    assert "metrics are at /metrics" in text


def test_a_scrape_that_cannot_be_answered_says_why(info: RunInfo) -> None:
    def late() -> Snapshot:
        raise ScrapeError("the run gave no snapshot within 5 s")

    registry = CollectorRegistry()
    registry.register(FabricCollector(late, info))
    with serve("127.0.0.1:0", registry) as server:
        status, _, text = get(server.url)
    assert (status, text) == (503, "the run gave no snapshot within 5 s\n")


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
        registry: CollectorRegistry, caplog: pytest.LogCaptureFixture) -> None:
    serve("127.0.0.1:0", registry).close()
    assert not caplog.records
    serve("0.0.0.0:0", registry).close()
    assert [record.message for record in caplog.records] == ["metrics are open to the network without authentication"]


@pytest.mark.parametrize(("text", "expected"), [
    ("127.0.0.1:9464", ("127.0.0.1", 9464)), ("[::1]:0", ("::1", 0)), ("localhost:80", ("localhost", 80))])
def test_an_address_is_read(text: str, expected: tuple[str, int]) -> None:
    assert parse_listen(text) == expected


@pytest.mark.parametrize("text", ["", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536",
                                  "127.0.0.1:-1", "::1:9464", "127.0.0.1:²"])
def test_an_address_without_sense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_listen(text)
    assert "9464" in caught.value.hint or "[::1]" in caught.value.hint

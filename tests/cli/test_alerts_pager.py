"""`fabric alerts pager`: a line for each alert of a notification, and a refusal of all that is none."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from fabric.cli import alerts
from fabric.cli.main import main
from telemetry.alerting.pager import LISTEN, line, server

STORM = {
    "status": "firing",
    "labels": {"alertname": "FabricPfcStorm"},
    "annotations": {"description": "host1 kept leaf1 from\x1b[31m sending."},
}
Received = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def pager() -> Iterator[tuple[str, Received]]:
    """Its address, and what it was sent."""
    received: Received = []
    with server("127.0.0.1", 0, lambda name, alert: received.append((name, alert))) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}", received
        listening.shutdown()
        thread.join()


def sent(url: str, body: bytes) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, method="POST")) as answer:  # noqa: S310  our own
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_each_alert_of_a_notification_is_received_with_the_name_of_its_receiver(pager: tuple[str, Received]) -> None:
    url, received = pager
    body = json.dumps({"alerts": [STORM, {**STORM, "status": "resolved"}]}).encode()
    assert sent(f"{url}/tickets", body) == 204
    assert [(name, alert["status"]) for name, alert in received] == [("tickets", "firing"), ("tickets", "resolved")]


ENDED = {
    **STORM,
    "status": "resolved",
    "fingerprint": "a1",
    "startsAt": "2026-01-01T10:00:00.5Z",
    "endsAt": "2026-01-01T10:08:20.123456789Z",
}


def test_the_end_of_an_alert_comes_once_though_the_next_notification_repeats_it(pager: tuple[str, Received]) -> None:
    url, received = pager
    again = {**STORM, "fingerprint": "a1", "startsAt": "2026-01-01T11:00:00Z"}
    for its in ([ENDED], [ENDED, again], [{**again, "status": "resolved"}]):
        assert sent(f"{url}/tickets", json.dumps({"alerts": its}).encode()) == 204
    assert [alert["status"] for _, alert in received] == ["resolved", "firing", "resolved"]


def test_receivers_are_each_told_the_end(pager: tuple[str, Received]) -> None:
    url, received = pager
    for name in ("pager", "tickets"):
        assert sent(f"{url}/{name}", json.dumps({"alerts": [ENDED]}).encode()) == 204
    assert [name for name, _ in received] == ["pager", "tickets"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "is over, lasted 8m20s"),
        ({"labels": {"alertname": "FabricPfcStorm", "device": "leaf1", "port": "Ethernet0"}},
         "leaf1:Ethernet0 is over, lasted 8m20s"),
        ({"endsAt": "2026-01-01T12:00:00.5Z"}, "is over, lasted 2h"),
        ({"endsAt": "soon"}, "is over"),
        ({"endsAt": "2025-01-01T10:00:00Z"}, "is over"),
    ],
)  # fmt: skip
def test_a_resolved_alert_says_how_long_it_lasted_and_not_what_was_wrong(changes: dict[str, Any], text: str) -> None:
    assert line("pager", {**ENDED, **changes}) == f"pager   resolved FabricPfcStorm: {text}"


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"{}", b'{"alerts": [1]}', b'{"alerts": [{"status": "firing"}]}'])
def test_what_is_no_notification_is_refused_and_the_next_one_received(pager: tuple[str, Received], body: bytes) -> None:
    url, received = pager
    assert sent(f"{url}/pager", body) in {400, 413}
    assert received == []
    assert sent(f"{url}/pager", json.dumps({"alerts": [STORM]}).encode()) == 204
    assert len(received) == 1


def test_a_length_that_is_no_number_is_refused(pager: tuple[str, Received]) -> None:
    url, received = pager
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as client:
        client.sendall(b"POST /pager HTTP/1.0\r\nContent-Length: many\r\n\r\n")
        assert b" 413 " in client.makefile("rb").readline()
    assert received == []


def test_an_alert_is_one_line_without_control_characters() -> None:
    assert line("pager", STORM) == "pager   firing   FabricPfcStorm: host1 kept leaf1 from\\u001b[31m sending."


def test_the_default_address_is_that_of_the_rules() -> None:
    assert alerts._PAGER == LISTEN


def test_an_address_that_is_taken_or_none_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["alerts", "pager", "--listen", address]) == 2
    assert f"--listen: {address}: " in capsys.readouterr().err
    assert main(["alerts", "pager", "--listen", "nowhere"]) == 2
    assert "--listen" in capsys.readouterr().err

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

STORM: dict[str, Any] = {
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
    "endsAt": "2026-01-01T10:02:10.123456789Z",
}


BEGUN = {**ENDED, "status": "firing"}


def test_an_end_is_told_once_though_a_later_notification_repeats_it(pager: tuple[str, Received]) -> None:
    url, received = pager
    later = {**BEGUN, "startsAt": "2026-01-01T11:00:00Z"}
    for its in ([BEGUN], [ENDED], [ENDED], [later], [{**later, "status": "resolved"}], [ENDED]):
        assert sent(f"{url}/tickets", json.dumps({"alerts": its}).encode()) == 204
    assert [alert["status"] for _, alert in received] == ["firing", "resolved", "firing", "resolved"]


def test_the_end_of_an_alert_that_was_muted_while_it_fired_is_not_told(pager: tuple[str, Received]) -> None:
    url, received = pager
    muted = {**ENDED, "fingerprint": "b2"}
    for its in ([BEGUN], [ENDED, muted]):
        assert sent(f"{url}/tickets", json.dumps({"alerts": its}).encode()) == 204
    assert [(alert["status"], alert["fingerprint"]) for _, alert in received] == [("firing", "a1"), ("resolved", "a1")]


def test_each_receiver_is_told_the_end_of_what_it_was_told(pager: tuple[str, Received]) -> None:
    url, received = pager
    for name in ("pager", "tickets"):
        assert sent(f"{url}/{name}", json.dumps({"alerts": [BEGUN]}).encode()) == 204
    for name in ("pager", "tickets", "others"):
        assert sent(f"{url}/{name}", json.dumps({"alerts": [ENDED]}).encode()) == 204
    assert [name for name, _ in received] == ["pager", "tickets"] * 2


AT_A_PORT = {"device": "leaf1", "port": "Ethernet0", "priority": "3", "root_device": "host1"}


@pytest.mark.parametrize(
    ("changes", "labels", "text"),
    [
        ({}, {}, "is over, lasted 2 min 10 s"),
        ({}, AT_A_PORT, "leaf1:Ethernet0, priority 3 (root device host1) is over, lasted 2 min 10 s"),
        ({}, {"device": "leaf1", "root_device": "leaf1"}, "leaf1 is over, lasted 2 min 10 s"),
        ({"endsAt": "2026-01-01T12:00:00.5Z"}, {}, "is over, lasted 2 h"),
        ({"endsAt": "2026-01-01T10:00:00.6Z"}, {}, "is over, lasted less than 1 s"),
        ({}, {"instance": "fabric:9464"}, "fabric:9464 is over, lasted 2 min 10 s"),
        ({"annotations": {"kept_firing_for": "1m30s"}}, {}, "is over, lasted 40 s; kept for 1 min 30 s more"),
        (
            {"annotations": {"kept_firing_for": "2m9s500ms"}},
            {},
            "is over, lasted less than 1 s; kept for 2 min 10 s more",
        ),
        ({"annotations": {"kept_firing_for": "soon"}}, {}, "is over, lasted 2 min 10 s"),
        ({"endsAt": "soon"}, {}, "is over"),
        ({"endsAt": "2026-01-01T10:02:10"}, {}, "is over"),
        ({"endsAt": "2025-01-01T10:00:00Z"}, {}, "is over"),
    ],
)
def test_a_resolved_alert_says_that_it_is_over_and_not_what_was_wrong(
    changes: dict[str, Any], labels: dict[str, str], text: str
) -> None:
    alert = {**ENDED, **changes, "labels": {**STORM["labels"], **labels}}
    assert line("pager", alert) == f"pager   resolved FabricPfcStorm: {text}"


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

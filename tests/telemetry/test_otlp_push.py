"""OTLP over HTTP: a receiver decodes what was sent as the file has it, a busy one is asked again, a refusal is said."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from fabric.cli.main import main
from telemetry.export.otlp_push import BATCH_POINTS, PATH, push
from telemetry.export.posting import ReceiverError

Capture = pytest.CaptureFixture[str]
START = "2026-01-31T12:00:00Z"


@dataclass
class Collector:
    """What a receiver was sent, and what it answers."""

    url: str
    answers: list[tuple[int, dict[str, str], bytes]]
    """Status, headers, body; success once there are no more."""
    requests: list[ExportMetricsServiceRequest] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def collector(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            here.requests.append(ExportMetricsServiceRequest.FromString(gzip.decompress(body)))
            here.headers.append({**self.headers, "path": self.path})
            status, headers, text = here.answers.pop(0) if here.answers else (200, {}, b"")
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        here = Collector(f"http://127.0.0.1:{server.server_port}{PATH}", list(answers))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield here
        server.shutdown()


def a_request(points: int = 1) -> dict[str, Any]:
    metric = {
        "name": "m",
        "gauge": {"dataPoints": [{"timeUnixNano": str(it), "asDouble": 1.5} for it in range(points)]},
    }
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}


def test_a_receiver_gets_the_requests_that_the_file_has(stormy_run: Path, tmp_path: Path, capsys: Capture) -> None:
    file, often = tmp_path / "run.jsonl", ("--interval", "1ms", "--start", START)
    assert main(["export", "otlp", str(stormy_run), *often, "-o", str(file)]) == 0
    with collector() as here:
        capsys.readouterr()
        assert main(["export", "otlp", str(stormy_run), *often, "--to", here.url, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    written = ExportMetricsServiceRequest()
    for line in file.read_text(encoding="utf-8").splitlines():
        written.MergeFrom(ParseDict(json.loads(line), ExportMetricsServiceRequest()))
    received = ExportMetricsServiceRequest()
    for request in here.requests:
        received.MergeFrom(request)
    assert received == written
    assert len(received.resource_metrics) > len(here.requests) == said["requests"] > 1
    assert {it["path"] for it in here.headers} == {PATH}
    assert {it["Content-Type"] for it in here.headers} == {"application/x-protobuf"}


def test_samples_go_together_until_a_request_is_large_enough() -> None:
    with collector() as here:
        assert push([a_request(BATCH_POINTS // 2)] * 5, here.url) == 3
    assert [len(it.resource_metrics) for it in here.requests] == [2, 2, 1]


def test_a_busy_receiver_is_asked_again_when_it_says() -> None:
    waited: list[float] = []
    with collector((503, {"Retry-After": "7"}, b""), (429, {}, b""), (502, {"Retry-After": "900"}, b"")) as here:
        assert push([a_request()], here.url, sleep=waited.append) == 1
    assert waited == [7.0, 1.0, 30.0]
    assert here.requests == [here.requests[0]] * 4


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((500, {}, b"broken"), "answers 500: broken"),  # the protocol lets nobody ask again after that
        ((404, {}, b""), "answers 404"),
        ((200, {}, b"<html>"), "no OTLP response"),
        (
            (
                200,
                {},
                ExportMetricsServiceResponse(
                    partial_success=ExportMetricsPartialSuccess(rejected_data_points=3, error_message="too old")
                ).SerializeToString(),
            ),
            "rejects 3 points: too old",
        ),
    ],
)
def test_a_refusal_is_an_error(answer: tuple[int, dict[str, str], bytes], said: str) -> None:
    with collector(answer) as here, pytest.raises(ReceiverError, match=said):
        push([a_request()], here.url, sleep=lambda _: None)
    assert len(here.requests) == 1


def test_a_receiver_that_is_not_there_is_one_clear_error(stormy_run: Path, capsys: Capture) -> None:
    assert main(["export", "otlp", str(stormy_run), "--to", f"http://127.0.0.1:9{PATH}"]) == 2
    text = capsys.readouterr().err
    assert "cannot be reached" in text
    assert "Traceback" not in text


def test_options_that_would_do_nothing_are_refused_together(stormy_run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["export", "otlp", str(stormy_run), "--user", "ann", "--interval", "0s"]) == 2
    text = capsys.readouterr().err
    assert "--user: has no effect without --to" in text
    assert "--interval" in text
    file = tmp_path / "x"
    assert main(["export", "otlp", str(stormy_run), "--to", "127.0.0.1:4318", "-o", str(file)]) == 2
    text = capsys.readouterr().err
    assert "--to" in text
    assert "--out: and --to are both given" in text

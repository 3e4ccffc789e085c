"""Remote write: a real Prometheus accepts a run, in order, with the ends of its series; a busy receiver is retried."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pytest

from fabric.cli.main import main
from fabric.runs.rundir import RunDir
from telemetry.export.client_access import Access, basic, bearer
from telemetry.export.clock import WallClock
from telemetry.export.openmetrics import Recording
from telemetry.export.posting import ATTEMPTS, ReceiverError
from telemetry.export.remote_write import SLICE_MS, post_to, send_recording
from telemetry.record.store import Store
from telemetry.sources.recorded import store_of
from tests.telemetry.programs import get, prometheus

Capture = pytest.CaptureFixture[str]
START = "2026-01-31T12:00:00Z"
START_S = 1769860800
RECEIVER = "--web.enable-remote-write-receiver"


@pytest.fixture
def run(stormy_run: Path) -> Path:
    return stormy_run


def pushed(url: str, run: Path, *options: str) -> int:
    return main(["export", "remote-write", f"{url}/api/v1/write", str(run), "--start", START, *options])


@pytest.mark.parametrize("scale", [15_000, pytest.param(1_250_000, marks=pytest.mark.slow)])
def test_prometheus_gives_back_every_value(run: Path, tmp_path: Path, scale: int) -> None:
    """At the greater scale a run lasts hours, which Prometheus takes only in order of time."""
    store = store_of(RunDir.open(run))
    with prometheus(tmp_path / "prometheus", "global: {}\n", RECEIVER, "--storage.tsdb.retention.time=100y") as url:
        assert pushed(url, run, "--time-scale", str(scale)) == 0
        end_ns = int(store.times_ns[-1])
        at_s = START_S + end_ns * scale / 10**9
        assert scale < 10**6 or (at_s - START_S) * 1000 > 10 * SLICE_MS
        for metric in (
            "fabric_port_receive_bytes_total",
            "fabric_queue_watermark_bytes",
            "fabric_pfc_paused",
            "fabric_flow_completion_seconds_bucket",
            "fabric_run_info",
        ):
            asked = urlencode({"query": f"{metric}[{at_s - START_S + 1:.0f}s]", "time": f"{at_s}"})
            found = {
                tuple(sorted(it["metric"].items())): [float(value) for _, value in it["values"]]
                for it in get(f"{url}/api/v1/query?{asked}")["data"]["result"]
            }
            target = [("__name__", metric), ("instance", "pause-storm"), ("job", "fabric")]
            assert found == {
                tuple(sorted([*target, *labels])): value.tolist() for labels, (_, value) in store.series(metric).items()
            }


def test_a_series_that_ended_is_not_shown_afterwards(run: Path, tmp_path: Path) -> None:
    store = store_of(RunDir.open(run))
    causes = store.series("fabric_pfc_pause_cause_info")
    labels, (time_ns, _) = next(it for it in causes.items() if it[1][0][-1] < store.times_ns[-1])
    last_s = START_S + int(time_ns[-1]) * 15_000 / 10**9
    mine = ", ".join(f'{name}="{value}"' for name, value in labels)
    with prometheus(tmp_path / "prometheus", "global: {}\n", RECEIVER, "--storage.tsdb.retention.time=100y") as url:
        assert pushed(url, run) == 0
        asked = [
            urlencode({"query": f"fabric_pfc_pause_cause_info{{{mine}}}", "time": at_s})
            for at_s in (last_s, last_s + 0.8)
        ]
        shown = [get(f"{url}/api/v1/query?{it}")["data"]["result"] for it in asked]
    assert [len(rows) for rows in shown] == [1, 0], "a sample of the run lasts 0.75 s here"


def test_a_prometheus_that_takes_none_says_what_is_missing(run: Path, tmp_path: Path, capsys: Capture) -> None:
    with prometheus(tmp_path / "prometheus", "global: {}\n") as url:
        capsys.readouterr()
        assert pushed(url, run) == 2
    text = capsys.readouterr().err
    assert "404" in text
    assert "--web.enable-remote-write-receiver" in text


def test_an_address_that_is_none_is_bad_input(run: Path, capsys: Capture) -> None:
    assert main(["export", "remote-write", "localhost:9090", str(run), "--start", "yesterday"]) == 2
    text = capsys.readouterr().err
    assert "URL" in text
    assert "--start" in text


@contextmanager
def receiver(*statuses: int) -> Iterator[tuple[str, list[bytes]]]:
    """Answers with these, one after the other, and keeps what it was sent."""
    bodies: list[bytes] = []
    answers = list(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(answers.pop(0))
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", bodies
        server.shutdown()


def test_a_busy_receiver_is_asked_again_with_the_same_body() -> None:
    waited: list[float] = []
    with receiver(503, 429, 204) as (url, bodies):
        post_to(url, sleep=waited.append)(b"request")
    assert waited == [0.5, 1.0]
    assert bodies == [pa.compress(b"request", codec="snappy", asbytes=True)] * 3


@pytest.mark.parametrize("kind", ["token", "password"])
def test_a_protected_receiver_gets_the_secret_of_a_file_and_no_message_shows_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    file.write_text("s3cret-word\n", encoding="utf-8")
    asked: list[str] = []
    secret = bearer(file, "--token-file") if kind == "token" else basic("ann", file, "--password-file")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.headers["Authorization"])
            self.send_response(401)
            self.end_headers()
            self.wfile.write(f"not {asked[-1]}".encode())

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(ReceiverError, match="answers 401: not") as caught:
            post_to(f"http://127.0.0.1:{server.server_port}/", Access(secret))(b"request")
        server.shutdown()
    assert asked == ["Bearer s3cret-word" if kind == "token" else "Basic YW5uOnMzY3JldC13b3Jk"]
    assert "s3cret" not in str(caught.value)
    assert "YW5u" not in str(caught.value)
    assert "--token-file" in caught.value.hint


def test_options_of_the_receiver_are_refused_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", "remote-write", str(tmp_path), "http://ann:pw@h:1/w", "--user", "ann"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "pw@" not in said
    assert "--password-file" in said
    assert main(["export", "remote-write", str(tmp_path), "ftp://h/w"]) == 2
    assert "http://127.0.0.1:9090/api/v1/write" in capsys.readouterr().err


def test_a_refusal_is_final_and_so_is_the_last_attempt() -> None:
    for statuses in ((400,), (500,) * ATTEMPTS):
        with receiver(*statuses) as (url, bodies), pytest.raises(ReceiverError, match=f"answers {statuses[0]}"):
            post_to(url, sleep=lambda _: None)(b"request")
        assert len(bodies) == len(statuses)


def test_a_request_is_written_as_the_specification_has_it() -> None:
    store = Store()
    for number, time_ns in enumerate((0, 1_000_000)):
        store.begin(time_ns)
        if number == 0:
            store.track("fabric_sim_finished").labels.append(())
            store.track("fabric_sim_finished").append(0, np.array([0], np.int32), np.array([1.0]))
    sent: list[bytes] = []
    written = send_recording(Recording(store, WallClock(1000, 1000), np.array([0, 1]), {"job": "j"}), sent.append)
    name, job = b"\x0a\x1f\x0a\x08__name__\x12\x13fabric_sim_finished", b"\x0a\x08\x0a\x03job\x12\x01j"
    one, two = (b"\x12\x0c\x09" + struct.pack("<d", 1.0) + b"\x10" + moment for moment in (b"\xe8\x07", b"\xd0\x0f"))
    series = name + job + one + two
    assert b"\x0a" + bytes([len(series)]) + series in sent[0]
    assert (written.series, written.samples) == (2, 4), "fabric_sim_dilation_ratio is the other"

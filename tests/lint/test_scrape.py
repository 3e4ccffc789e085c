"""An exporter's answers are judged one after the other, by the clock of its counters where it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from fabric.cli.main import main
from telemetry.lint.rules import check
from telemetry.lint.scrape import scrape

Capture = pytest.CaptureFixture[str]
SPEED = 'fabric_port_speed_bytes_per_second{device="leaf1",port="Ethernet0"} 1.25e+10\n'
SENT = 'fabric_port_transmit_bytes_total{{device="leaf1",port="Ethernet0"}} {}\n'


@contextmanager
def exporter(answer: Callable[[int], str]) -> Iterator[str]:
    """A server whose n-th answer is answer(n), from 0."""
    count = iter(range(1000))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answer(next(count)).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def simulated(per_step: float) -> Callable[[int], str]:
    """A simulated fabric that advances 100 us between two answers, whatever time they take."""
    return lambda n: f"fabric_sim_elapsed_seconds_total {n / 10_000}\n{SPEED}{SENT.format(n * per_step)}"


def test_a_simulated_fabric_is_judged_by_its_own_clock() -> None:
    with exporter(simulated(1_200_000)) as url:
        assert not check(scrape(url, 4, 0.001))
    with exporter(simulated(1_400_000)) as url:
        assert {it.rule for it in check(scrape(url, 4, 0.001))} == {"rate"}


def test_a_counter_that_falls_between_two_answers_is_a_reset(capsys: Capture) -> None:
    with exporter(lambda n: f"x_rx_bytes_total {[100, 200, 50, 60][n]}\n") as url:
        assert main(["telemetry", "lint", url, "--scrapes", "4", "--interval", "1ms"]) == 1
    assert "falls from 200 to 50" in capsys.readouterr().out


def test_an_address_without_an_exporter_is_refused(capsys: Capture) -> None:
    with exporter(lambda _: "<html>no metrics</html>") as url:
        assert main(["telemetry", "lint", url, "--interval", "1ms"]) == 2
    assert "no exposition" in capsys.readouterr().err
    assert main(["telemetry", "lint", url]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_options_that_mean_nothing_are_refused(capsys: Capture) -> None:
    assert main(["telemetry", "lint", "x.om", "--scrapes", "1", "--rate", "fast", "--interval", "soon"]) == 2
    text = capsys.readouterr().err
    assert all(name in text for name in ("--scrapes", "--rate", "--interval"))

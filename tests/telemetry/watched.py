"""A run that `fabric serve` carries out, a real Prometheus scrapes, and a real Alertmanager sends notifications of."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from telemetry.alerting.alertmanager import alertmanager_yaml
from telemetry.alerting.render import rules_yaml
from telemetry.alerting.rules import NOMINAL_DILATION, SCRAPE_S
from tests.forked import fabric
from tests.telemetry.programs import end, get, held_port, program, prometheus, query, running, wait_for

T = TypeVar("T")
DILATION: Final = 2000.0
EVALUATION_S: Final = DILATION / 1000
"""Wall time from one scrape and evaluation to the next: a simulated millisecond."""
COMPILING_S: Final = 600.0
SERVER_S: Final = 3600
"""A served run ends by itself, also where its test was killed."""
CONFIG: Final = """\
global:
  scrape_interval: {scrape}
  scrape_timeout: {scrape}
  evaluation_interval: {scrape}
  external_labels: {{fabric: test}}
rule_files: [rules.yml]
alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{alertmanager}']}}]}}]}}
scrape_configs: [{{job_name: fabric, static_configs: [{{targets: ['{emulator}']}}]}}]
"""


class Inbox:
    """A webhook receiver: notifications by receiver's path."""

    def __init__(self) -> None:
        self.received: dict[str, list[dict[str, Any]]] = {"/pager": [], "/tickets": []}
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                inbox.received[self.path].append(json.loads(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def firing(self, path: str) -> list[dict[str, Any]]:
        return [it for it in self.received[path] if it["status"] == "firing"]

    def resolved(self, path: str) -> list[dict[str, Any]]:
        return [it for it in self.received[path] if it["status"] == "resolved"]


@contextmanager
def served(scenario: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """(host:port, process) of `fabric serve`, once it runs."""
    words = ("serve", scenario, "--listen", "127.0.0.1:0", "--json", "--quiet", "--duration", f"{SERVER_S}s")
    process = fabric(*words, *options, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"].removesuffix("/metrics")
        wait_for(lambda: get(f"{url}/-/ready"), "the emulator to run", COMPILING_S)
        yield url.removeprefix("http://"), process
    finally:
        end(process)


class Watch(NamedTuple):
    """A run that is being watched."""

    inbox: Inbox
    prometheus: str
    alertmanager: str


@contextmanager
def watched(folder: Path, scenario: Path, dilation: float, *options: str) -> Iterator[Watch]:
    """`fabric serve`, scraped and alerted on, with rules and waiting times rendered for this dilation."""
    alertmanager = program("prometheus-alertmanager", "alertmanager")
    program("prometheus")
    (folder / "prom").mkdir(parents=True)
    (folder / "prom" / "rules.yml").write_text(rules_yaml(dilation))
    with ExitStack() as stack:
        inbox = Inbox()
        stack.callback(inbox.close)
        (folder / "am.yml").write_text(alertmanager_yaml(dilation, f"{inbox.url}/pager", f"{inbox.url}/tickets"))
        manager = f"127.0.0.1:{stack.enter_context(held_port())}"
        words = [
            alertmanager,
            f"--config.file={folder / 'am.yml'}",
            "--cluster.listen-address=",
            f"--storage.path={folder / 'am'}",
            f"--web.listen-address={manager}",
            "--log.level=warn",
        ]
        stack.enter_context(running(words, f"http://{manager}/-/ready", folder / "am.log"))
        emulator, _ = stack.enter_context(served(scenario, "--dilation", f"{dilation:g}", *options))
        scrape = f"{round(SCRAPE_S * 1000 * dilation / NOMINAL_DILATION)}ms"
        config = CONFIG.format(scrape=scrape, alertmanager=manager, emulator=emulator)
        resend = "--rules.alert.resend-delay=2s"
        url = stack.enter_context(prometheus(folder / "prom", config, resend))
        yield Watch(inbox, url, f"http://{manager}")


def seen(folder: Path, scenario: Path, options: Sequence[str], look: Callable[[Watch], T]) -> T:
    """What `look` finds or raises; of a second try where the machine did not keep up in the first.

    Windows of rules are seconds here: where scrapes are lost, or simulated time falls behind, alerts are other ones.
    """
    for number in range(2):
        found: T | AssertionError
        with watched(folder / str(number), scenario, DILATION, *options) as watch:
            try:
                found = look(watch)
            except AssertionError as error:
                found = error
            lost, slipped = (
                sum(float(it["value"][1]) for it in query(watch.prometheus, expr))
                for expr in ("count_over_time((up == 0)[1h:])", "max_over_time(fabric_sim_slipped_seconds_total[1h])")
            )
        print(f"try {number}: {lost:g} scrapes lost, {slipped:g} s slipped")  # noqa: T201  a failure is told with it
        if not lost and slipped < EVALUATION_S:
            break
    if isinstance(found, AssertionError):
        raise found
    return found

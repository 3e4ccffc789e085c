"""A run that `fabric serve` plays, a real Prometheus scrapes, and a real Alertmanager sends notifications of."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

from telemetry.alerting.alertmanager import alertmanager_yaml
from telemetry.alerting.render import rules_yaml
from telemetry.alerting.rules import NOMINAL_DILATION, SCRAPE_S
from tests.forked import fabric
from tests.telemetry.programs import end, get, held_port, program, prometheus, running, wait_for

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
    """(host:port, process) of `fabric serve`, once it plays."""
    words = ("serve", scenario, "--listen", "127.0.0.1:0", "--json", "--quiet", "--duration", f"{SERVER_S}s")
    process = fabric(*words, *options, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"].removesuffix("/metrics")
        wait_for(lambda: get(f"{url}/-/ready"), "the emulator to play", COMPILING_S)
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
        door = f"127.0.0.1:{stack.enter_context(held_port())}"
        words = [
            alertmanager,
            f"--config.file={folder / 'am.yml'}",
            "--cluster.listen-address=",
            f"--storage.path={folder / 'am'}",
            f"--web.listen-address={door}",
            "--log.level=warn",
        ]
        stack.enter_context(running(words, f"http://{door}/-/ready", folder / "am.log"))
        emulator, _ = stack.enter_context(served(scenario, "--dilation", f"{dilation:g}", *options))
        scrape = f"{round(SCRAPE_S * 1000 * dilation / NOMINAL_DILATION)}ms"
        config = CONFIG.format(scrape=scrape, alertmanager=door, emulator=emulator)
        resend = "--rules.alert.resend-delay=2s"
        url = stack.enter_context(prometheus(folder / "prom", config, resend))
        yield Watch(inbox, url, f"http://{door}")

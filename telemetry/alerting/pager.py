"""A receiver of Alertmanager's notifications for tests and rehearsals: one line an alert, so that pages can be counted.

The path of a request is the name of the receiver: /pager, /tickets. Source of the form: prometheus.io/docs/alerting,
webhook_config.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

from fabric.visible import visible
from telemetry.alerting.alertmanager import PAGER_URL

LISTEN: Final = f"{urlsplit(PAGER_URL).hostname}:{urlsplit(PAGER_URL).port}"
"""Where the rules that come with the package send notifications."""
_MOST_BYTES: Final = 1_000_000
Receiver = Callable[[str, dict[str, Any]], None]
"""Called with the receiver's name and one alert of a notification."""


def line(receiver: str, alert: dict[str, Any]) -> str:
    """An alert in one line; while it fires, with the address of its runbook."""
    text, runbook = (alert["annotations"].get(name, "") for name in ("description", "runbook_url"))
    link = f" Runbook: {runbook}" if runbook and alert["status"] == "firing" else ""
    return visible(f"{receiver:<7} {alert['status']:<8} {alert['labels']['alertname']}: {text}{link}")


def server(host: str, port: int, received: Receiver) -> ThreadingHTTPServer:
    """A server that calls `received` for each alert; port 0 takes a free one. Raises: OSError where it is taken."""

    class Handler(BaseHTTPRequestHandler):
        """Takes notifications; answers every GET, which is its health."""

        def do_POST(self) -> None:
            """A notification; one that is none is refused, so that a wrong webhook is noticed."""
            stated = self.headers.get("Content-Length", "")
            length = int(stated) if stated.isascii() and stated.isdigit() else 0
            if not 0 < length <= _MOST_BYTES:
                self.send_error(413)
                return
            try:
                alerts = json.loads(self.rfile.read(length))["alerts"]
                shown = [(alert, line(self.path.strip("/"), alert)) for alert in alerts]
            except (ValueError, KeyError, TypeError, AttributeError):
                self.send_error(400, "no notification of Alertmanager")
                return
            for alert, _ in shown:
                received(self.path.strip("/"), alert)
            self.send_response(204)
            self.end_headers()

        def do_GET(self) -> None:
            """Health."""
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class calls it so
            """Only notifications are printed."""

    return ThreadingHTTPServer((host, port), Handler)

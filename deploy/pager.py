"""Test pager: prints every notification of Alertmanager on one line, so that pages can be counted."""

# ruff: noqa: INP001, T201  a script by itself, made to print

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADDRESS = ("127.0.0.1", 9095)
MOST_BYTES = 1_000_000


class Pager(BaseHTTPRequestHandler):
    """Takes Alertmanager's webhook (prometheus.io/docs/alerting, webhook_config)."""

    def do_POST(self) -> None:
        """/pager or /tickets."""
        length = int(self.headers.get("Content-Length", 0))
        if not 0 < length <= MOST_BYTES:
            self.send_error(413)
            return
        notification = json.loads(self.rfile.read(length))
        for alert in notification["alerts"]:
            print(
                f"{self.path.strip('/'):<7} {alert['status']:<8} {alert['labels']['alertname']}: "
                f"{alert['annotations'].get('description', '')}",
                flush=True,
            )
        self.send_response(204)
        self.end_headers()

    def do_GET(self) -> None:
        """Health."""
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class calls it so
        """Only notifications are printed."""


if __name__ == "__main__":
    ThreadingHTTPServer(ADDRESS, Pager).serve_forever()

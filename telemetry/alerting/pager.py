"""A receiver of Alertmanager's notifications for tests and rehearsals: one line an alert, so that pages can be counted.

The path of a request is the name of the receiver: /pager, /tickets. Source of the form: prometheus.io/docs/alerting,
webhook_config.

Prometheus sends an alert that is resolved again for 15 minutes, and Alertmanager puts it into the next notification of
its group, which may be of another incident. So the end of an alert is told once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
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
    """An alert in one line: while it fires, what is wrong, and the address of its runbook; then that it is over."""
    if alert["status"] == "resolved":
        return visible(f"{receiver:<7} resolved {alert['labels']['alertname']}: {_over(alert)}")
    text, runbook = (alert["annotations"].get(name, "") for name in ("description", "runbook_url"))
    link = f" Runbook: {runbook}" if runbook else ""
    return visible(f"{receiver:<7} {alert['status']:<8} {alert['labels']['alertname']}: {text}{link}")


def _over(alert: dict[str, Any]) -> str:
    """'leaf1:Ethernet0: is over, lasted 8m20s'; its place and times as far as the notification has them."""
    labels = alert["labels"]
    place = ":".join(str(labels[name]) for name in ("device", "port") if labels.get(name))
    began, ended = (_moment(alert.get(name)) for name in ("startsAt", "endsAt"))
    lasted = f", lasted {_duration(ended - began)}" if began and ended and ended >= began else ""
    return f"{f'{place} ' if place else ''}is over{lasted}"


def _moment(value: object) -> datetime | None:
    """A moment of Alertmanager's (RFC 3339, with up to nanoseconds); None where it is none."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _duration(span: timedelta) -> str:
    """'8m20s', whole seconds, of the wall clock."""
    minutes, seconds = divmod(round(span.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


class Told:
    """Which ends of alerts have been told. One for each server; calls come from several threads."""

    def __init__(self) -> None:
        self._ends: set[tuple[str, str, str]] = set()
        self._lock = Lock()

    def is_news(self, receiver: str, alert: dict[str, Any]) -> bool:
        """Whether an alert of a notification is not the end of one whose end has been told to this receiver already.

        An alert is known by its fingerprint and begin; without them it is always news.
        """
        name, began = alert.get("fingerprint"), alert.get("startsAt")
        if alert["status"] != "resolved" or not name or not began:
            return True
        key = receiver, str(name), str(began)
        with self._lock:
            if key in self._ends:
                return False
            self._ends.add(key)
        return True


def server(host: str, port: int, received: Receiver) -> ThreadingHTTPServer:
    """A server that calls `received` for each alert, and once for the end of one; port 0 takes a free one.

    Raises: OSError where the port is taken.
    """
    told = Told()

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
                receiver = self.path.strip("/")
                shown = [(alert, line(receiver, alert)) for alert in alerts]
            except (ValueError, KeyError, TypeError, AttributeError):
                self.send_error(400, "no notification of Alertmanager")
                return
            for alert, _ in shown:
                if told.is_news(receiver, alert):
                    received(receiver, alert)
            self.send_response(204)
            self.end_headers()

        def do_GET(self) -> None:
            """Health."""
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class calls it so
            """Only notifications are printed."""

    return ThreadingHTTPServer((host, port), Handler)

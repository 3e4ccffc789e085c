"""A receiver of Alertmanager's notifications for tests and rehearsals: one line an alert, so that pages can be counted.

The path of a request is the name of the receiver: /pager, /tickets. Source of the form: prometheus.io/docs/alerting,
webhook_config.

Prometheus sends an alert that is over again for 15 minutes, and Alertmanager, which forgets such an alert once it has
told of it, puts it into the next notification of its group, which may be about a later incident. An alert that was
muted as long as it fired can come the same way. So a receiver is told the end of what it was told the begin of, once; a
receiver that was started in between tells no ends of alerts from before. Sources: resolvedRetention in
rules/alerting.go of Prometheus, aggrGroup.flush in dispatch/dispatch.go of Alertmanager; seen with Alertmanager 0.25.
"""

from __future__ import annotations

import json
import re
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
    """An alert in one line: while it fires what is wrong, with its runbook; after it where it was and how long."""
    labels, status = alert["labels"], alert["status"]
    if status == "resolved":
        text = f"{_place(labels)}is over{_lasted(alert)}"
    else:
        text, runbook = (alert["annotations"].get(name, "") for name in ("description", "runbook_url"))
        text += f" Runbook: {runbook}" if runbook else ""
    return visible(f"{receiver:<7} {status:<8} {labels['alertname']}: {text}")


_TOLD_APART_BY: Final = ("priority", "queue", "peer", "vni", "workload", "operation", "route_type")
"""Labels beside device and port in which alerts of one name differ."""


def _place(labels: dict[str, str]) -> str:
    """'leaf1:Ethernet0, priority 3 (root device host1) '; the target for an alert about the whole fabric."""
    port = ":".join(labels[name] for name in ("device", "port") if labels.get(name))
    named = port or ("" if labels.get("workload") else labels.get("instance", ""))
    words = [named, *(f"{name.replace('_', ' ')} {labels[name]}" for name in _TOLD_APART_BY if labels.get(name))]
    root = labels.get("root_device", "")
    place = ", ".join(word for word in words if word)
    beside = f"(root device {root})" if root not in {"", labels.get("device")} else ""
    return "".join(f"{it} " for it in (place, beside) if it)


def _lasted(alert: dict[str, Any]) -> str:
    """', lasted 2 min 10 s'; '' where the notification does not have both moments.

    The time for which the alert was kept firing after its condition (keep_firing_for) does not count; rules have it in
    an annotation, because a notification does not.
    """
    began, ended = (_moment(alert.get(name)) for name in ("startsAt", "endsAt"))
    if not began or not ended or ended < began:
        return ""
    kept = _span((alert.get("annotations") or {}).get("kept_firing_for", ""))
    told = f"; kept for {_duration(kept)} more" if kept and ended - began >= kept else ""
    return f", lasted {_duration(ended - began - (kept if told else timedelta()))}{told}"


def _span(text: object) -> timedelta:
    """A duration as Prometheus writes it, '1m30s'; 0 for anything else."""
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?", text) if isinstance(text, str) else None
    hours, minutes, seconds, ms = (int(it or 0) for it in parts.groups()) if parts else (0, 0, 0, 0)
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=ms)


def _moment(value: object) -> datetime | None:
    """A moment with its time zone (RFC 3339); None for anything else."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found and found.tzinfo else None


def _duration(span: timedelta) -> str:
    """'2 min 10 s', in whole seconds."""
    minutes, seconds = divmod(round(span.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (seconds, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "less than 1 s"


class _Firing:
    """Which alerts a receiver was told of and not of their end. Notifications come in several threads."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._lock = Lock()

    def is_news(self, receiver: str, alert: dict[str, Any]) -> bool:
        """Whether the receiver is to be told: of every alert that fires, and of the end of one that it was told of.

        An alert is known by its fingerprint, a hash of its labels; without one each is new.
        """
        name = alert.get("fingerprint")
        if not name:
            return True
        key = receiver, str(name)
        with self._lock:
            news = alert["status"] != "resolved" or key in self._told
            (self._told.discard if alert["status"] == "resolved" else self._told.add)(key)
        return news


def server(host: str, port: int, received: Receiver) -> ThreadingHTTPServer:
    """A server that calls `received` for each alert that fires, and once for its end; port 0 takes a free one.

    Raises: OSError where the port is taken.
    """
    firing = _Firing()

    class Handler(BaseHTTPRequestHandler):
        """Takes notifications; answers every GET, which is its health."""

        def do_POST(self) -> None:
            """A notification; one that is none is refused, so that a wrong webhook is noticed."""
            stated = self.headers.get("Content-Length", "")
            length = int(stated) if stated.isascii() and stated.isdigit() else 0
            if not 0 < length <= _MOST_BYTES:
                self.send_error(413)
                return
            receiver = self.path.strip("/")
            try:
                alerts = json.loads(self.rfile.read(length))["alerts"]
                for alert in alerts:
                    line(receiver, alert)  # raises for what cannot be told
            except (ValueError, KeyError, TypeError, AttributeError):
                self.send_error(400, "no notification of Alertmanager")
                return
            for alert in alerts:
                if firing.is_news(receiver, alert):
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

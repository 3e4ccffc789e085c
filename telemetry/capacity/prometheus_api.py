"""History of utilisation from the HTTP API of a Prometheus: one range query for each day of a link's ports.

    quantile_over_time(0.95, (rate(bytes[5m]) / speed)[1d:5m]), joined with the roles of both ends

The metrics are those of the catalogue. Simulated time runs slower or faster than the clock of the database by
fabric_sim_dilation_ratio, and rates of bytes are multiplied by it; where that metric is absent, time is real.
"""

from __future__ import annotations

import http.client
import math
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.errors import FabricError
from fabric.reading import json_value
from telemetry.capacity.history import Reading
from telemetry.export.client_access import Access

MAX_BYTES: Final = 256 * 2**20
"""Of one answer."""
TIMEOUT_S: Final = 120.0
_REFUSALS: Final = (401, 403)
"""Status codes of a request without the right authorization (RFC 9110, sections 15.5.2 and 15.5.4)."""
_REFUSED: Final = "give --token-file, or --user and --password-file; the server said no to what it got"
MAX_POINTS: Final = 11_000
"""Prometheus' own limit of values for each series of a range query."""


@dataclass(frozen=True)
class Source:
    """What to ask, and of whom."""

    url: str
    """'http://127.0.0.1:9090'."""
    matchers: str = ""
    """Label matchers of every metric, such as 'job="fabric"'."""
    sample_s: int = 300
    """Interval of one rate; holds two scrapes at least."""
    period_s: int = 86_400
    """Interval of one value."""
    quantile: float = 0.95
    access: Access = field(default_factory=Access)


def query(source: Source, *, dilated: bool) -> str:
    """The expression of one port's value for one period."""
    w, s = f"{source.period_s}s", f"{source.sample_s}s"
    m = f"{{{source.matchers}}}" if source.matchers else ""
    speed = f"max_over_time(fabric_port_speed_bytes_per_second{m}[{w}])"
    sent = f"quantile_over_time({source.quantile:g}, rate(fabric_port_transmit_bytes_total{m}[{s}])[{w}:{s}])"
    if dilated:
        sent = f"({sent} * on(job, instance) group_left() max_over_time(fabric_sim_dilation_ratio{m}[{w}]))"
    peers = f"max without(peer_port) (last_over_time(fabric_port_info{m}[{w}]))"
    roles = f"max by(job, instance, device, role) (last_over_time(fabric_device_info{m}[{w}]))"
    named = f'label_replace({roles}, "peer_device", "$1", "device", "(.*)")'
    named = f'label_replace({named}, "peer_role", "$1", "role", "(.*)")'
    theirs = f"max by(job, instance, peer_device, peer_role) ({named})"
    return (
        f"({sent} / {speed}) * on(job, instance, device, port) group_left(peer_device) {peers} "
        f"* on(job, instance, device) group_left(role) {roles} "
        f"* on(job, instance, peer_device) group_left(peer_role) {theirs}"
    )


def readings(source: Source, start_s: int, end_s: int) -> Iterator[Reading]:
    """One reading for each port and period between two times.

    Raises: FabricError where the server cannot be reached, refuses the query, or has no such metric.
    """
    if (end_s - start_s) // source.period_s > MAX_POINTS:
        raise FabricError(
            f"{(end_s - start_s) // source.period_s:,} periods are more than {MAX_POINTS:,}",
            "begin later, or take longer periods",
        )
    m = f"{{{source.matchers}}}" if source.matchers else ""
    span = max(end_s - start_s, 1)
    scale = f"count(last_over_time(fabric_sim_dilation_ratio{m}[{span}s]))"
    dilated = bool(_get(source, "query", query=scale, time=end_s))
    found = _get(
        source, "query_range", query=query(source, dilated=dilated), start=start_s, end=end_s, step=source.period_s
    )
    if not found:
        raise FabricError(
            f"{source.url} has no utilisation of ports between these times",
            "check --start, --end and --match; the metrics are fabric_port_transmit_bytes_total, "
            "fabric_port_speed_bytes_per_second, fabric_port_info and fabric_device_info",
        )
    try:
        for series in found:
            labels: Mapping[str, str] = series["metric"]
            link_class = f"{labels['role']} to {labels['peer_role']}"
            for time, value in series["values"]:
                at_s, ratio = float(time), float(value)
                if math.isfinite(at_s) and math.isfinite(ratio):  # NaN: a period without a sample
                    yield Reading(at_s, link_class, f"{labels['device']}:{labels['port']}", ratio)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise _stranger(source.url) from error


def _get(source: Source, what: str, **parameters: object) -> list[dict[str, Any]]:
    """The result of one call. Raises: FabricError."""
    url = f"{source.url.rstrip('/')}/api/v1/{what}"
    data = urllib.parse.urlencode(parameters).encode()
    request = urllib.request.Request(url, data)  # noqa: S310  the scheme is checked by the verb
    source.access.authorize(request)
    try:
        with source.access.opener().open(request, timeout=TIMEOUT_S) as answer:
            body = answer.read(MAX_BYTES + 1)
    except urllib.error.HTTPError as error:
        text = source.access.hide(error.read(2000).decode(errors="replace")).strip()
        hint = _REFUSED if error.code in _REFUSALS else "check the URL and the options"
        raise FabricError(f"{url} answered {error.code}: {text}", hint) from error
    except ssl.SSLError as error:
        raise _distrusted(url, error) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLError):
            raise _distrusted(url, reason) from error
        raise FabricError(f"{url} cannot be reached: {reason}", "check that Prometheus runs there") from error
    if len(body) > MAX_BYTES:
        raise FabricError(f"{url} answered with more than {MAX_BYTES >> 20} MiB", "begin later, or match fewer series")
    try:
        found = json_value(body)["data"]["result"]
    except (ValueError, KeyError, TypeError) as error:
        raise _stranger(url) from error
    if not isinstance(found, list):
        raise _stranger(url)
    return found


def _distrusted(url: str, error: ssl.SSLError) -> FabricError:
    """TLS failed: mostly an unknown authority, or a server that wants a client certificate."""
    why = getattr(error, "verify_message", "") or error.reason or str(error)
    return FabricError(
        f"{url}: TLS failed: {why}", "name the authority of its certificate by --tls-ca, your certificate by --tls-cert"
    )


def _stranger(url: str) -> FabricError:
    return FabricError(f"{url} is no Prometheus: its answer is not of its API", "check the URL")

"""OTLP requests sent to a collector by HTTP, in protobuf (OpenTelemetry protocol 1.x, "OTLP/HTTP").

The requests are those of the file (otlp.py), encoded by the messages that OpenTelemetry publishes.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from telemetry.export.client_access import OPEN, Access
from telemetry.export.posting import Receiver, ReceiverError

PATH: Final = "/v1/metrics"
"""Of a collector's receiver, usually at port 4318."""
BATCH_POINTS: Final = 5000
"""A request is sent when it has at least this many points; samples are not divided."""
_HEADERS: Final = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
_AGAIN: Final = frozenset({429, 502, 503, 504})
"""The only statuses after which the protocol lets a client try again."""
_HINTS: Final = {
    401: "give the receiver's token or user: --token-file, or --user with --password-file",
    403: "give the token or user of somebody who may write",
    404: f"is this the address of an OTLP receiver over HTTP, such as http://127.0.0.1:4318{PATH}?",
    415: "the receiver takes no protobuf: write a file, and let the collector's otlpjsonfile receiver read it",
}


def push(
    requests: Iterable[dict[str, Any]], url: str, access: Access = OPEN, sleep: Callable[[float], None] = time.sleep
) -> int:
    """Send requests in order, several samples in one; returns how many were sent.

    Parameters
    ----------
    requests    as write_otlp() writes them
    url         the receiver, with its path

    Raises: ReceiverError where the receiver cannot be reached, refuses a request, or rejects points.
    """
    receiver = Receiver(url, _HEADERS, _AGAIN, _HINTS, access, sleep)
    sent, waiting, points = 0, ExportMetricsServiceRequest(), 0
    for request in requests:
        waiting.MergeFrom(ParseDict(request, ExportMetricsServiceRequest()))
        points += sum(
            len(metric.get("sum", metric.get("gauge", {}))["dataPoints"])
            for resource in request["resourceMetrics"]
            for scope in resource["scopeMetrics"]
            for metric in scope["metrics"]
        )
        if points >= BATCH_POINTS:
            _send(receiver, waiting)
            sent, waiting, points = sent + 1, ExportMetricsServiceRequest(), 0
    if points:
        _send(receiver, waiting)
        sent += 1
    return sent


def _send(receiver: Receiver, request: ExportMetricsServiceRequest) -> None:
    """Raises: ReceiverError, also where the answer says that points were rejected ("partial success")."""
    body = receiver.post(gzip.compress(request.SerializeToString(), mtime=0))
    answer = ExportMetricsServiceResponse()
    try:
        answer.ParseFromString(body)
    except DecodeError as error:
        raise ReceiverError(
            f"{receiver.url} answers with what is no OTLP response", "name the receiver of a collector"
        ) from error
    rejected = answer.partial_success
    if rejected.rejected_data_points:
        raise ReceiverError(
            f"{receiver.url} rejects {rejected.rejected_data_points:,} points: "
            f"{receiver.access.hide(rejected.error_message)}",
            "look at the receiver's log; points before these were accepted",
        )

"""Requests of an export to a receiver over HTTP, sent again where the receiver is busy."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fabric.errors import FabricError
from telemetry.export.client_access import OPEN, Access

ATTEMPTS: Final = 4
TIMEOUT_S: Final = 30.0
LONGEST_WAIT_S: Final = 30.0
"""What a receiver's Retry-After is followed to."""
_BUSY: Final = "try again later"


class ReceiverError(FabricError):
    """A receiver that cannot be reached or that refuses a request."""


@dataclass(frozen=True)
class Receiver:
    """Where requests go, and what its protocol says of answers."""

    url: str
    headers: Mapping[str, str]
    again: frozenset[int]
    """Statuses after which the same request may be accepted later."""
    hints: Mapping[int, str]
    """What helps against a status."""
    access: Access = OPEN
    sleep: Callable[[float], None] = time.sleep

    def post(self, body: bytes) -> bytes:
        """Send one request; the body of the answer. Raises: ReceiverError."""
        for attempt in range(ATTEMPTS):
            answer = self._posted(body)
            if isinstance(answer, bytes):
                return answer
            if answer.status not in self.again or attempt + 1 == ATTEMPTS:
                hint = self.hints.get(answer.status, _BUSY)
                raise ReceiverError(f"{self.url} answers {answer.status}: {answer.text}", hint)
            self.sleep(min(answer.wait_s if answer.wait_s is not None else 0.5 * 2**attempt, LONGEST_WAIT_S))
        raise AssertionError(ATTEMPTS)

    def _posted(self, body: bytes) -> bytes | _Refusal:
        """Raises: ReceiverError where there is no answer."""
        request = urllib.request.Request(  # noqa: S310  the verbs let http and https pass
            self.url, body, {"User-Agent": "fabric-emulator", **self.headers}, method="POST"
        )
        self.access.authorize(request)
        try:
            with self.access.opener().open(request, timeout=TIMEOUT_S) as answer:
                found: bytes = answer.read()
                return found
        except urllib.error.HTTPError as error:
            wait = error.headers.get("Retry-After", "")
            text = self.access.hide(error.read(500).decode(errors="replace").strip())
            return _Refusal(error.code, text, float(wait) if wait.isascii() and wait.isdigit() else None)
        except (OSError, http.client.HTTPException) as error:
            raise ReceiverError(
                f"{self.url} cannot be reached: {getattr(error, 'reason', error)}",
                "start the receiver, or name its address",
            ) from error


@dataclass(frozen=True)
class _Refusal:
    """An answer that is no success."""

    status: int
    text: str
    wait_s: float | None
    """Retry-After in seconds (RFC 9110 section 10.2.3); None: not stated, or as a date."""

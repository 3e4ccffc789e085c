"""Errors of the protocol. Each carries the NOTIFICATION to send: code, subcode and data."""

from __future__ import annotations

from typing import Literal

from fabric.errors import ProtocolError
from fabric.wire.iana import ErrorCode

Severity = Literal["discard", "withdraw", "reset"]
"""RFC 7606 section 2, from mild to harsh: attribute discard, treat-as-withdraw, session reset."""
SEVERITY_ORDER: tuple[Severity, ...] = ("discard", "withdraw", "reset")


class BgpError(ProtocolError):
    """A message that ends the session with a NOTIFICATION of `code`, `subcode` and `data`."""

    def __init__(self, code: int, subcode: int, text: str, data: bytes = b"") -> None:
        super().__init__(text)
        self.code = code
        self.subcode = subcode
        self.data = data[:255]


class UpdateError(BgpError):
    """A flaw of an UPDATE; `severity` is its handling by RFC 7606."""

    def __init__(self, subcode: int, text: str, severity: Severity, data: bytes = b"") -> None:
        super().__init__(ErrorCode.UPDATE, subcode, text, data)
        self.severity = severity

"""A request that is refused, with its status code."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Names of gRPC's status codes that gNMI servers use (gNMI specification sections 2.5, 3.3.1, 3.4.7, 3.5.1)."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    NOT_FOUND = "NOT_FOUND"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    UNAVAILABLE = "UNAVAILABLE"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"


class Refusal(Exception):  # noqa: N818  an answer to a client, not an error of this program
    """The RPC ends with this code; the text says what to send instead."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text

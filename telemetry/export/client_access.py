"""What a protected Prometheus, or a receiver of its protocol, asks of its clients: a bearer token or a password,
authorities, a client certificate.

Secrets are read from files, since the words of a command are seen by every user of the machine. They are sent to the
named server alone, not to one that it redirects to, and appear in no message.
Source: RFC 6750 section 2.1 (bearer token), RFC 7617 section 2 (user and password).
"""

from __future__ import annotations

import base64
import ssl
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.reading import read_text

_MAX_FILE_BYTES: Final = 65_536
_HIDDEN: Final = "***"


@dataclass(frozen=True, slots=True)
class Secret:
    """The field Authorization of a request, and what of it must not be shown."""

    header: str = field(repr=False)
    parts: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """How a server is asked. The default: without authorization, with the authorities of the system."""

    secret: Secret | None = None
    tls: ssl.SSLContext | None = None

    def opener(self) -> urllib.request.OpenerDirector:
        """Opens URLs with the authorities and the client certificate."""
        return urllib.request.build_opener(
            *([] if self.tls is None else [urllib.request.HTTPSHandler(context=self.tls)])
        )

    def authorize(self, request: urllib.request.Request) -> None:
        """Add the authorization; a redirected request has none."""
        if self.secret is not None:
            request.add_unredirected_header("Authorization", self.secret.header)

    def hide(self, text: str) -> str:
        """A text of the server without the secret."""
        for part in self.secret.parts if self.secret is not None else ():
            text = text.replace(part, _HIDDEN)
        return text


OPEN: Final = Access()
"""Of a server that asks for nothing."""


def bearer(path: Path, option: str) -> Secret:
    """The token that is the only line of a file. Raises: InputErrors."""
    token = _line(path, option, "token")
    if not token.isascii() or " " in token:
        raise _unusable(path, option, "is no token: a token has ASCII characters without spaces", "name its file")
    return Secret(f"Bearer {token}", (token,))


def basic(user: str, path: Path, option: str) -> Secret:
    """A user with the password that is the only line of a file. Raises: InputErrors."""
    password = _line(path, option, "password")
    text = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Secret(f"Basic {text}", (text, password))


def _line(path: Path, option: str, what: str) -> str:
    """The only line of a file, without its end. The message never quotes it."""
    lines = read_text(path, _MAX_FILE_BYTES, place=option, stage="options").splitlines()
    if len(lines) != 1 or not lines[0].strip() or not lines[0].isprintable():
        found = "is empty" if not any(it.strip() for it in lines) else "is not one line of printable characters"
        raise _unusable(path, option, found, f"name a file with the {what} as its only line")
    return lines[0]


def _unusable(path: Path, option: str, text: str, hint: str) -> InputErrors:
    return InputErrors("options", [Problem(option, f"{path} {text}", hint)])

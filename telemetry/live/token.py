"""Bearer tokens of the control API (RFC 6750), a role each: made at start, in files that only their owner reads."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from fabric.errors import FabricError

VARIABLE: Final = "FABRIC_TOKEN"
"""Environment variable that holds the token of the role 'operate'."""
VIEW_VARIABLE: Final = "FABRIC_VIEW_TOKEN"
"""The same for the role 'view'."""
_BYTES: Final = 32
_SHORTEST: Final = 16


class TokenError(FabricError):
    """A token that cannot be used, or a file of it."""


class Role(StrEnum):
    """What a token allows."""

    VIEW = "view"
    """To look."""
    OPERATE = "operate"
    """To look, and to change what runs."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a server. Raises TokenError where both are the same."""

    operate: str
    view: str | None = None
    """None: nobody has only this role."""

    def __post_init__(self) -> None:
        """Check."""
        if self.view is not None and same(self.view, self.operate):
            raise TokenError("both roles have the same token", "give the role 'view' another one")

    def role(self, given: str) -> Role | None:
        """The role of who gives this token; None: it is none of ours. Both are compared, whatever the first says."""
        operates, views = same(given, self.operate), same(given, self.view or self.operate)
        if operates:
            return Role.OPERATE
        return Role.VIEW if views else None


def make_token() -> str:
    """A new token: 256 random bits, URL-safe."""
    return secrets.token_urlsafe(_BYTES)


def same(given: str, token: str) -> bool:
    """Whether they are equal; how long that takes tells nothing of where they differ."""
    return hmac.compare_digest(given.encode(), token.encode())


def token_folder(environ: Mapping[str, str]) -> Path:
    """Where tokens of running servers are: $XDG_RUNTIME_DIR/fabric, or ~/.local/state/fabric.

    Raises: TokenError where there is no such place. Source: XDG Base Directory Specification 0.8.
    """
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        return Path(runtime) / "fabric"
    state = environ.get("XDG_STATE_HOME")
    if state:
        return Path(state) / "fabric"
    try:
        return Path.home() / ".local" / "state" / "fabric"
    except RuntimeError as error:   # a container's user without a home
        raise TokenError("there is no home folder for the token's file",
                         f"give a token by --token-file or {VARIABLE}, or set XDG_STATE_HOME") from error


def token_path(port: int, environ: Mapping[str, str], role: Role = Role.OPERATE) -> Path:
    """The file of the server that listens on this port of this machine."""
    return token_folder(environ) / f"serve-{port}{'.view' if role is Role.VIEW else ''}.token"


def write_token(path: Path, token: str) -> None:
    """Write the file with mode 0600, replacing what a server that was killed left there.

    Raises: TokenError where it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{token}\n")
    except OSError as error:
        raise TokenError(f"cannot write the token to {path}: {error.strerror}",
                         f"give a token by --token-file or {VARIABLE}") from error


def read_token(path: Path) -> str:
    """A token from its file. Raises: TokenError where there is none, or not a good one."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise TokenError(f"cannot read the token file {path}: {error.strerror}",
                         "name the file that `fabric serve` said it wrote, or one of your own") from error
    except UnicodeDecodeError as error:
        raise TokenError(f"{path} is not text", "put one line with the token there") from error
    return checked(text, str(path))


def checked(token: str, source: str) -> str:
    """The token. Raises: TokenError for one that is too short, or that no HTTP header can carry."""
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise TokenError(f"the token from {source} is no token: {_SHORTEST} or more printable ASCII characters, on one "
                         "line, make one", "such as by: python -c 'import secrets; print(secrets.token_urlsafe())'")
    return token


def is_open_to_others(path: Path) -> bool:
    """Whether others than its owner can read the file."""
    return bool(stat.S_IMODE(path.stat().st_mode) & (stat.S_IRGRP | stat.S_IROTH))

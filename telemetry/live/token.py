"""Bearer tokens of the control API (RFC 6750), one per role: made at start, in files readable only by their owner."""

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

from fabric.errors import FabricError, InputErrors
from fabric.reading import read_text

VARIABLE: Final = "FABRIC_TOKEN"
"""Environment variable that holds the token of the role 'operate'."""
VIEW_VARIABLE: Final = "FABRIC_VIEW_TOKEN"
"""The same for the role 'view'."""
_BYTES: Final = 32
_SHORTEST: Final = 16
_MAX_FILE_BYTES: Final = 4096


class TokenError(FabricError):
    """An unusable token or token file."""


class Role(StrEnum):
    """The rights of a token."""

    VIEW = "view"
    """To look."""
    OPERATE = "operate"
    """Read and change the run."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a server. Raises: TokenError where both are equal."""

    operate: str
    view: str | None = None
    """None: there is no token of this role alone."""

    def __post_init__(self) -> None:
        """Check."""
        if self.view is not None and same(self.view, self.operate):
            raise TokenError("both roles have the same token", "give the role 'view' another one")

    def role(self, given: str) -> Role | None:
        """The role of a token; None: unknown token. Both are always compared, for constant time."""
        operates, views = same(given, self.operate), same(given, self.view or self.operate)
        if operates:
            return Role.OPERATE
        return Role.VIEW if views else None


def make_token() -> str:
    """A new token: 256 random bits, URL-safe."""
    return secrets.token_urlsafe(_BYTES)


def same(given: str, token: str) -> bool:
    """Whether two tokens are equal, in constant time."""
    return hmac.compare_digest(given.encode(), token.encode())


def token_folder(environ: Mapping[str, str]) -> Path:
    """Folder of the tokens of running servers: $XDG_RUNTIME_DIR/fabric, or ~/.local/state/fabric.

    Raises: TokenError where there is no such folder. Source: XDG Base Directory Specification 0.8.
    """
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        return Path(runtime) / "fabric"
    state = environ.get("XDG_STATE_HOME")
    if state:
        return Path(state) / "fabric"
    try:
        return Path.home() / ".local" / "state" / "fabric"
    except RuntimeError as error:  # a container's user without a home
        raise TokenError(
            "there is no home folder for the token's file",
            f"give a token by --token-file or {VARIABLE}, or set XDG_STATE_HOME",
        ) from error


def token_path(port: int, environ: Mapping[str, str], role: Role = Role.OPERATE) -> Path:
    """Token file of the server on this port of this machine."""
    return token_folder(environ) / f"serve-{port}{'.view' if role is Role.VIEW else ''}.token"


def write_token(path: Path, token: str) -> None:
    """Write the file with mode 0600, replacing the file of a killed server.

    Raises: TokenError where it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{token}\n")
    except OSError as error:
        raise TokenError(
            f"cannot write the token to {path}: {error.strerror}", f"give a token by --token-file or {VARIABLE}"
        ) from error


def read_token(path: Path) -> str:
    """Read a token from its file. Raises: TokenError where it is missing or invalid."""
    try:
        text = read_text(path, _MAX_FILE_BYTES)
    except InputErrors as error:
        problem = error.problems[0]
        raise TokenError(
            f"cannot read the token file {path}: {problem.text.removeprefix('cannot be read: ')}",
            "name the token file that `fabric serve` printed, or another file with the token as its only line",
        ) from error
    return checked(text.strip(), str(path))


def checked(token: str, source: str) -> str:
    """The token. Raises: TokenError where it is too short or not valid in an HTTP header."""
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise TokenError(
            f"the token from {source} is no token: {_SHORTEST} or more printable ASCII characters, on one "
            "line, make one",
            "such as by: python -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    return token


def is_open_to_others(path: Path) -> bool:
    """Whether users other than its owner can read the file."""
    return bool(stat.S_IMODE(path.stat().st_mode) & (stat.S_IRGRP | stat.S_IROTH))

"""The audit log of changes of a live run: role, request, time, result. JSON lines that are only appended.

Rules
1. Every change request with a valid token is one line, also refused requests. Requests without a valid token are not
   logged: any client could fill the disk with them.
2. A change that cannot be logged is not carried out: when a line cannot be written, later changes are refused until it
   can be. Lines of changes already in progress are kept and written first.
3. External text is JSON in ASCII, so no control character reaches the file or a terminal that shows it.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from fabric.errors import FabricError
from fabric.visible import in_json

log = logging.getLogger(__name__)

MAX_REQUEST_CHARS: Final = 4096
"""Longer requests are cut in the log; the rest of the line says so."""
_ONLY_OWNER: Final = 0o600


class AuditError(FabricError):
    """An audit log that cannot be written."""


class AuditLog:
    """Appends lines to a file; thread-safe.

    Parameters
    ----------
    path : Path            a regular file, or none yet
    clock : callable       the wall clock

    Raises: AuditError where lines cannot be appended.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path, self._clock = path, clock
        self._lock = threading.Lock()
        self._unwritten = b""
        try:
            # Not blocking: a named pipe without a reader would never open.
            self._file = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, _ONLY_OWNER
            )
        except OSError as error:
            raise AuditError(
                f"cannot write the audit log {path}: {error.strerror}", "name another file: --audit FILE"
            ) from error
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            os.close(self._file)
            raise AuditError(f"the audit log {path} is not a regular file", "name another one: --audit FILE")

    def write(self, role: str, client: str, action: str, result: str, **facts: object) -> None:
        """Write one line. A line that cannot be written is kept, and `check` raises until it is written."""
        line = {
            "time": self._clock().isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "role": role,
            "client": client,
            "action": action,
            "result": result,
            **facts,
        }
        with self._lock:
            self._unwritten += _text(line)
            try:
                self._flush()
            except OSError as error:
                log.warning("the audit log cannot be written", extra={"path": str(self.path), "why": error.strerror})

    def check(self) -> None:
        """Write kept lines. Raises: AuditError where they still cannot be written."""
        with self._lock:
            try:
                self._flush()
            except OSError as error:
                raise AuditError(
                    f"the audit log cannot be written ({error.strerror}), so changes are refused",
                    f"free space for {self.path.name} and retry",
                ) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _flush(self) -> None:
        while self._unwritten:
            self._unwritten = self._unwritten[os.write(self._file, self._unwritten) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _text(line: Mapping[str, Any]) -> bytes:
    # ensure_ascii escapes all hidden characters but DEL.
    return in_json(json.dumps(line, ensure_ascii=True, default=str)).encode() + b"\n"


def shortened(request: Mapping[str, Any] | None) -> object:
    """A request for the log: complete, or the beginning of its text."""
    text = json.dumps(request)
    return request if len(text) <= MAX_REQUEST_CHARS else f"{text[:MAX_REQUEST_CHARS]}... ({len(text)} characters)"


def beside(folder: Path) -> Path:
    """The audit log beside a run directory: runs/live -> runs/live.audit.jsonl."""
    whole = folder if folder.name else folder.resolve()
    return whole.with_name(f"{whole.name}.audit.jsonl")

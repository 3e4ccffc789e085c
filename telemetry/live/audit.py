"""The audit log: who changed what in a live run, when, and with what result. JSON lines that are only appended.

Rules
1. Every request to change something that comes with a valid token is one line, refused ones too. Requests without a
   valid token are not logged: anybody could fill the disk with them.
2. What is not logged is not done: where a line cannot be written, later changes are refused until it can. The lines
   of changes that were under way are kept and written first.
3. Everything that came from outside is JSON text in ASCII, so no control character reaches the file or a terminal
   that shows it.
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

log = logging.getLogger(__name__)

MAX_REQUEST_CHARS: Final = 4096
"""Longer requests are cut in the log; the rest of the line says so."""
_ONLY_OWNER: Final = 0o600


class AuditError(FabricError):
    """A log that cannot be written."""


class AuditLog:
    """Appends lines to a file; for any thread.

    Parameters
    ----------
    path : Path            a regular file, or none yet
    clock : callable       the wall clock

    Raises: AuditError where it cannot be appended to.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path, self._clock = path, clock
        self._lock = threading.Lock()
        self._unwritten = b""
        try:
            # Not blocking: a named pipe without a reader would never open.
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK,
                                 _ONLY_OWNER)
        except OSError as error:
            raise AuditError(f"cannot write the audit log {path}: {error.strerror}", "name another file: --audit FILE"
                             ) from error
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            os.close(self._file)
            raise AuditError(f"the audit log {path} is not a regular file", "name another one: --audit FILE")

    def write(self, role: str, client: str, action: str, result: str, **facts: object) -> None:
        """One line. It is kept where it cannot be written, and `check` raises until it is."""
        line = {"time": self._clock().isoformat(timespec="microseconds").replace("+00:00", "Z"), "role": role,
                "client": client, "action": action, "result": result, **facts}
        with self._lock:
            self._unwritten += _text(line)
            try:
                self._flush()
            except OSError as error:
                log.warning("the audit log cannot be written", extra={"path": str(self.path), "why": error.strerror})

    def check(self) -> None:
        """Raises AuditError where what happened before has not been written, and cannot be now."""
        with self._lock:
            try:
                self._flush()
            except OSError as error:
                raise AuditError(f"the audit log cannot be written ({error.strerror}), so nothing is changed",
                                 f"make room for {self.path.name} and ask again") from error

    def close(self) -> None:
        """No more lines."""
        os.close(self._file)

    def _flush(self) -> None:
        while self._unwritten:
            self._unwritten = self._unwritten[os.write(self._file, self._unwritten):]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _text(line: Mapping[str, Any]) -> bytes:
    # ensure_ascii escapes all control characters but DEL.
    return json.dumps(line, ensure_ascii=True, default=str).replace("\x7f", "\\u007f").encode() + b"\n"


def shortened(request: Mapping[str, Any] | None) -> object:
    """A request as the log has it: as it is, or the beginning of its text."""
    text = json.dumps(request)
    return request if len(text) <= MAX_REQUEST_CHARS else f"{text[:MAX_REQUEST_CHARS]}... ({len(text)} characters)"


def beside(folder: Path) -> Path:
    """The log of a run whose folder is this one: runs/live -> runs/live.audit.jsonl."""
    whole = folder if folder.name else folder.resolve()
    return whole.with_name(f"{whole.name}.audit.jsonl")

"""Starts the program fabric/capture/writer.py, sends it frames, and raises its errors.

Frames are described by dicts in the format that the docstring of writer.py gives. This module does not import scapy,
and the program imports nothing of ours, so no process holds scapy together with the libraries of the emulator
(docs/decisions/0041).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self

from fabric.errors import FabricError, InvariantError

Frame = Mapping[str, Any]
PROGRAM: Final = Path(__file__).with_name("writer.py")
_BUFFER_BYTES: Final = 1 << 16
_STDOUT: Final = 1
"""File descriptor of standard output."""
_STATUS_BYTES: Final = 1 << 16
"""Bytes read from the end of the program's standard error."""


class _Program:
    """One run of the program. At most a pipe's capacity of frames is in flight, so memory is bounded."""

    def __init__(self, output: str, stdout: int | IO[bytes], subject: str) -> None:
        """`subject`: the output of the program, for messages."""
        self._subject = subject
        self.frames = 0
        self._status = tempfile.TemporaryFile()  # noqa: SIM115  closed with the program
        # -P: the current folder must not hide scapy or the standard library. A separate process group: Ctrl-C ends the
        # emulator, then end of file on standard input ends the program, which closes its file first.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM), output],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=self._status,
            bufsize=_BUFFER_BYTES,
            process_group=0,
        )
        self.answers = self._process.stdout

    def send(self, frame: Frame, *, flush: bool = False) -> None:
        """Send a frame. Raises: as end()."""
        assert self._process.stdin is not None  # noqa: S101  it is a pipe
        try:
            self._process.stdin.write(json.dumps(frame, separators=(",", ":")).encode() + b"\n")
            if flush:
                self._process.stdin.flush()
        except BrokenPipeError:
            self.end()
            raise InvariantError(f"the program that makes {self._subject} ended early without an error") from None
        self.frames += 1

    def end(self) -> None:
        """Wait for the end of the program. Raises: OSError, FabricError, InvariantError, if it failed."""
        if self._status.closed:
            return
        assert self._process.stdin is not None  # noqa: S101  it is a pipe
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        code = self._process.wait()
        if self.answers is not None:
            self.answers.close()
        with self._status as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _STATUS_BYTES))
            lines = file.read().decode(errors="replace").strip().splitlines()
        self._check_end(code, lines[-1] if lines else "")

    def abandon(self) -> None:
        """End the program without regard for its output."""
        self._process.kill()
        with suppress(OSError, FabricError, InvariantError):
            self.end()

    def _check_end(self, code: int, last: str) -> None:
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            raise FabricError(
                f"the program that makes {self._subject} was ended by the signal {name}",
                f"what is there of {self._subject} is not whole; where memory was short, capture less",
            )
        status: Any = None
        with suppress(ValueError):
            status = json.loads(last)
        if not isinstance(status, dict):
            raise InvariantError(f"the program that makes {self._subject} failed with status {code}: {last}")
        if "errno" in status:
            number = int(status["errno"] or 0)
            raise OSError(number, os.strerror(number), self._subject)
        if "line" in status:
            why = f"refuses frame {status['line']}: {status['error']}"
            raise InvariantError(f"the program that makes {self._subject} {why}")
        if "error" in status:
            raise FabricError(f"{self._subject} cannot be made: {status['error']}", "pip install scapy")
        if status.get("frames") != self.frames:
            raise InvariantError(f"{self._subject} has {status.get('frames')} frames, not {self.frames}")


class FrameFile:
    """A pcapng file of frames, in the order of writing."""

    def __init__(self, path: Path | int | None) -> None:
        """`path`: a number is an open file descriptor, which the caller closes; None is this process's standard output.

        Raises: OSError if the file cannot be written.
        """
        if path is None or isinstance(path, int):
            subject = "standard output" if path is None else "the capture"
            self._program = _Program("pcapng", _STDOUT if path is None else path, subject)
            return
        with path.open("wb") as file:
            self._program = _Program("pcapng", file, str(path))

    def write(self, at_ns: int, frame: Frame, *, flush: bool = False) -> None:
        """Append a frame; `flush`: at once, for a reader that follows.

        Raises: OSError, FabricError, if the program ended; InvariantError for a wrong frame.
        """
        self._program.send({"at_ns": at_ns, **frame}, flush=flush)

    def close(self) -> None:
        """Complete the file. Raises: as write()."""
        self._program.end()

    def abandon(self) -> None:
        """Leave the file as it is: nobody reads it any more."""
        self._program.abandon()


class FrameBuilder:
    """Encodes single frames. The first frame starts the program, which runs until close()."""

    def __init__(self) -> None:
        self._program: _Program | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def bytes_of(self, frame: Frame) -> bytes:
        """Bytes of a frame without FCS. Raises: FabricError if the program ended; InvariantError for a wrong frame."""
        program = self._program
        if program is None:
            program = self._program = _Program("hex", subprocess.PIPE, "a frame")
        try:
            program.send(frame, flush=True)
        except (OSError, FabricError):  # it has ended: the next frame starts another
            self._program = None
            raise
        assert program.answers is not None  # noqa: S101  it is a pipe
        line = program.answers.readline()
        if not line.endswith(b"\n"):
            self.close()
            raise InvariantError("the program that makes frames ended without an error")
        return bytes.fromhex(line.decode())

    def close(self) -> None:
        """End the program, if it was started."""
        program, self._program = self._program, None
        if program is not None:
            program.end()

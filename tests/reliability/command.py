"""What the families share: `fabric` commands in this process and in others, and what counts as a defect."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from fabric.cli.main import main
from tests.forked import fabric

RESULTS: Final = (
    "summary.json",
    "topology.json",
    "messages.parquet",
    "counters.parquet",
    "timeseries.parquet",
    "events.parquet",
    "tables.npz",
    "truth.jsonl",
)
"""Files of a finished run that depend on the scenario only."""
HANGS_S: Final = 300.0
"""How long a command may take before it is taken for one that waits for ever."""


class Answer(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def defect(self) -> str:
        """What makes it a defect of the program: a traceback or exit code 3; '' where it is none."""
        last = (self.err.strip() or self.out.strip() or "no output").splitlines()[-1][:160]
        crashed = "Traceback (most recent call last)" in self.err or "defect:" in self.err
        return f"exit {self.code}: {last}" if crashed or self.code not in {0, 1, 2, 130, 141} else ""


def call(*words: str | Path) -> Answer:
    """Run a command in this process: as `start` does, a hundred times faster."""
    out, err = io.StringIO(), io.StringIO()
    with _no_longer_than(HANGS_S), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(word) for word in words])
        except BaseException as error:  # noqa: BLE001  any exception that leaves main() is a traceback for a user
            return Answer(3, out.getvalue(), f"{err.getvalue()}\nTraceback (most recent call last)\n{error!r}")
    return Answer(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    """A command that waits for ever is a defect, and must not stop the family. In the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(*_: object) -> None:
        raise TimeoutError(f"no end within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def start(*words: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Run a command as a process; its output is bytes, since its encoding may be the point."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return fabric(*words, env=env, **streams)


def ended(process: subprocess.Popen[bytes], timeout_s: float = 300) -> Answer:
    """Wait for a process."""
    out, err = process.communicate(timeout=timeout_s)
    return Answer(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def wait_for(path: Path, process: subprocess.Popen[bytes], timeout_s: float = 300) -> None:
    """Until a file is there, or the process has ended."""
    deadline = time.monotonic() + timeout_s
    while not path.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)

"""`fabric validate` on the mutants of one fabric: scores, processor time and memory, from separate processes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final

from bench.configs.sarif import Answer, Scored
from bench.worker import ROOT
from fabric.errors import FabricError


@dataclass(frozen=True, slots=True)
class Measured:
    """One language at one size."""

    language: str
    switches: int
    rows: tuple[Scored, ...]
    false_alarms: int
    """Warnings and errors in the working fabric."""
    healthy_s: float
    """Processor time of loading and checking the working fabric."""
    memory_mib: float
    """Peak of the process."""
    asked: int = 0
    """Mutants that were asked for; those that this fabric cannot have are left out of `rows`."""
    prepare_s: float = 0.0
    """Processor time of writing the files; 0: not measured."""
    files_bytes: int = 0
    """Space of the files; 0: not measured."""
    date: str = ""
    """Day on which it was measured, UTC."""


Tick = Callable[[int | None], None]
"""Called with the number of a step that begins (0: files, 1: the working fabric, then mutant after mutant), and with
None once a second while it runs."""
_TICK_S: Final = 1.0


def measured(language: str, size: int, count: int, tick: Tick) -> Measured:
    """One language at one size: files by one new process, runs by another, whose memory is its own.

    Raises: FabricError.
    """
    today = time.strftime("%Y-%m-%d", time.gmtime())
    found: dict[str, Any] = {"language": language, "switches": size, "asked": count, "date": today}
    with tempfile.TemporaryDirectory(prefix="bench-configs-") as folder:
        for words in (("prepare", folder, language, str(size), str(count)), ("check", folder)):
            for said in _python(words, tick):
                if "step" in said:
                    tick(said["step"])
                else:
                    found |= said
    return of_json(found)


def of_json(data: Mapping[str, Any]) -> Measured:
    """Of what JSON keeps of a row."""
    rows = tuple(Scored(**{**it, "answer": Answer.of_json(it["answer"])}) for it in data["rows"])
    return Measured(**{**data, "rows": rows})


def _python(arguments: tuple[str, ...], tick: Tick) -> Iterator[dict[str, Any]]:
    """What a process (process.py) says, line by line. It ends with the caller."""
    command = [sys.executable, "-m", "bench.configs.process", *arguments]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors) as child,
    ):
        try:
            for line in _lines(child, tick):
                yield json.loads(line)
        except BaseException:
            child.terminate()
            raise
        if child.wait():
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip()[-500:]
            raise FabricError(f"{' '.join(arguments)} failed with exit code {child.returncode}: {last}")


def _lines(child: subprocess.Popen[bytes], tick: Tick) -> Iterator[bytes]:
    out: IO[bytes] | None = child.stdout
    assert out is not None
    kept = b""
    while True:
        if not select.select([out], [], [], _TICK_S)[0]:
            tick(None)
            continue
        part = os.read(out.fileno(), 1 << 16)
        if not part:
            return
        *lines, kept = (kept + part).split(b"\n")
        yield from lines

"""`fabric validate` on the mutants of one fabric: scores, processor time and memory, in a separate process."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from bench.configs.make import ANSWERS, HEALTHY, fabric_of, mutants, read_answers
from bench.configs.sarif import Answer, Scored, results, scored
from bench.machine import peak_rss_bytes
from bench.worker import ROOT
from fabric.errors import FabricError
from tests.mistakes.mistake import write


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
    prepare_s: float = 0.0
    """Processor time of writing the files; 0: not measured."""


Tick = Callable[[int | None], None]
"""Called with the number of a step that begins (0: files, 1: the working fabric, then mutant after mutant), and with
None once a second while it runs."""
_TICK_S: Final = 1.0


def measured(language: str, size: int, count: int, tick: Tick = lambda step: None) -> Measured:
    """One language at one size: files by one new process, runs by another, whose memory is its own.

    Raises: FabricError.
    """
    found: dict[str, Any] = {"language": language, "switches": size}
    with tempfile.TemporaryDirectory(prefix="bench-configs-") as folder:
        for words in (("--prepare", folder, language, str(size), str(count)), ("--worker", folder)):
            for said in _python(words, tick):
                if "step" in said:
                    tick(said["step"])
                else:
                    found |= said
    return _measured(found)


def _python(arguments: tuple[str, ...], tick: Tick) -> Iterator[dict[str, Any]]:
    """What a process of this module says, line by line. It ends with the caller."""
    command = [sys.executable, "-m", "bench.configs", *arguments]
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


def say(**facts: object) -> None:
    """One line of a process to measured()."""
    print(json.dumps(facts), flush=True)


def read_results(path: Path) -> list[Measured]:
    """Rows that earlier calls kept; none where there is no file."""
    return [_measured(it) for it in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def _measured(data: dict[str, Any]) -> Measured:
    rows = tuple(Scored(**{**it, "answer": Answer.of_json(it["answer"])}) for it in data.pop("rows"))
    return Measured(rows=rows, **data)


def prepare(folder: Path, language: str, size: int, count: int) -> None:
    """Write the working fabric, the file of each mutant that differs from it, and the answers."""
    say(step=0)
    began = time.process_time()
    files = fabric_of(language, size)
    (folder / HEALTHY).mkdir()
    write(language, files, folder / HEALTHY)
    answers = []
    for answer, name, content in mutants(files, language, size, count):
        answers.append(asdict(answer))
        (folder / answer.id).mkdir()
        write(language, {name: content}, folder / answer.id)
    (folder / ANSWERS).write_text(json.dumps(answers), encoding="utf-8")
    say(prepare_s=time.process_time() - began)


def worker(folder: Path) -> None:
    """Say what measured() reads of a prepared folder."""
    say(step=1)
    configs = folder / HEALTHY
    began = time.process_time()
    healthy = validated(configs)
    healthy_s = time.process_time() - began
    rows = []
    for number, answer in enumerate(read_answers(folder), 2):
        say(step=number)
        (changed,) = (folder / answer.id).iterdir()
        path = configs / changed.name
        before = path.read_bytes()
        path.write_bytes(changed.read_bytes())
        began = time.process_time()
        log = validated(configs)
        rows.append(asdict(scored(answer, log, healthy, time.process_time() - began)))
        path.write_bytes(before)
    alarms = len(results(healthy)[1])
    say(rows=rows, false_alarms=alarms, healthy_s=healthy_s, memory_mib=peak_rss_bytes() / 2**20)


def validated(folder: Path) -> dict[str, Any]:
    """The SARIF log of `fabric validate`, made in this process."""
    from fabric.configs.load import load_network  # noqa: PLC0415  measured() needs no parser
    from fabric.validate.output.data import as_sarif  # noqa: PLC0415  as above
    from fabric.validate.runner import validate  # noqa: PLC0415  as above

    log: dict[str, Any] = json.loads(as_sarif(validate(load_network([folder]))))
    return log

"""`fabric validate` on the mutants of one fabric: scores, processor time and memory, in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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


def measured(language: str, size: int, count: int) -> Measured:
    """One language at one size: files by one new process, runs by another, whose memory is its own.

    Raises: FabricError.
    """
    with tempfile.TemporaryDirectory(prefix="bench-configs-") as folder:
        _python("--prepare", folder, language, str(size), str(count))
        return _measured({"language": language, "switches": size, **json.loads(_python("--worker", folder))})


def _python(*arguments: str) -> str:
    command = [sys.executable, "-m", "bench.configs", *arguments]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    if done.returncode:
        raise FabricError(f"{' '.join(arguments)} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def read_results(path: Path) -> list[Measured]:
    """Rows that earlier calls kept; none where there is no file."""
    return [_measured(it) for it in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def _measured(data: dict[str, Any]) -> Measured:
    rows = tuple(Scored(**{**it, "answer": Answer.of_json(it["answer"])}) for it in data.pop("rows"))
    return Measured(rows=rows, **data)


def prepare(folder: Path, language: str, size: int, count: int) -> None:
    """Write the working fabric, the file of each mutant that differs from it, and the answers."""
    files = fabric_of(language, size)
    (folder / HEALTHY).mkdir()
    write(language, files, folder / HEALTHY)
    answers = []
    for answer, name, content in mutants(files, language, size, count):
        answers.append(asdict(answer))
        (folder / answer.id).mkdir()
        write(language, {name: content}, folder / answer.id)
    (folder / ANSWERS).write_text(json.dumps(answers), encoding="utf-8")


def worker(folder: Path) -> str:
    """What measured() reads, as JSON, from a prepared folder."""
    configs = folder / HEALTHY
    began = time.process_time()
    healthy = validated(configs)
    healthy_s = time.process_time() - began
    rows = []
    for answer in read_answers(folder):
        (changed,) = (folder / answer.id).iterdir()
        path = configs / changed.name
        before = path.read_bytes()
        path.write_bytes(changed.read_bytes())
        began = time.process_time()
        log = validated(configs)
        rows.append(asdict(scored(answer, log, healthy, time.process_time() - began)))
        path.write_bytes(before)
    alarms = len(results(healthy)[1])
    found = {"rows": rows, "false_alarms": alarms, "healthy_s": healthy_s, "memory_mib": peak_rss_bytes() / 2**20}
    return json.dumps(found)


def validated(folder: Path) -> dict[str, Any]:
    """The SARIF log of `fabric validate`, made in this process."""
    from fabric.configs.load import load_network  # noqa: PLC0415  measured() needs no parser
    from fabric.validate.output.data import as_sarif  # noqa: PLC0415  as above
    from fabric.validate.runner import validate  # noqa: PLC0415  as above

    log: dict[str, Any] = json.loads(as_sarif(validate(load_network([folder]))))
    return log

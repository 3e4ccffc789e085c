"""`fabric validate` on the mutants of one fabric: scores, seconds and memory, in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.configs.make import fabric_of, mutants
from bench.configs.sarif import Answer, Scored, results, scored
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
    """Loading and checking the working fabric."""
    memory_mib: float
    """Peak of the process."""


def measured(language: str, size: int, count: int) -> Measured:
    """The same by a new process, whose memory is its own. Raises: FabricError."""
    command = [sys.executable, "-m", "bench.configs", "--worker", language, str(size), str(count)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    if done.returncode:
        raise FabricError(f"the worker of {language} with {size} switches failed: {done.stderr.strip()[-500:]}")
    return _measured(json.loads(done.stdout))


def read_results(path: Path) -> list[Measured]:
    """Rows that earlier calls kept; none where there is no file."""
    return [_measured(it) for it in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def _measured(data: dict[str, Any]) -> Measured:
    rows = tuple(Scored(**{**it, "answer": Answer.of_json(it["answer"])}) for it in data.pop("rows"))
    return Measured(rows=rows, **data)


def worker(language: str, size: int, count: int) -> str:
    """What measured() reads, as JSON."""
    with tempfile.TemporaryDirectory(prefix="bench-configs-") as work:
        folder = Path(work)
        files = fabric_of(language, size)
        write(language, files, folder)
        began = time.perf_counter()
        healthy = validated(folder)
        healthy_s = time.perf_counter() - began
        rows = []
        for answer, name, content in mutants(language, size, count):
            write(language, {name: content}, folder)
            began = time.perf_counter()
            log = validated(folder)
            rows.append(scored(answer, log, healthy, time.perf_counter() - began))
            write(language, {name: files[name]}, folder)
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    alarms = len(results(healthy)[1])
    found = Measured(language, size, tuple(rows), alarms, healthy_s, peak_kib / 1024)
    return json.dumps(asdict(found))


def validated(folder: Path) -> dict[str, Any]:
    """The SARIF log of `fabric validate`, made in this process."""
    from fabric.configs.load import load_network  # noqa: PLC0415  measured() needs no parser
    from fabric.validate.output.data import as_sarif  # noqa: PLC0415  as above
    from fabric.validate.runner import validate  # noqa: PLC0415  as above

    log: dict[str, Any] = json.loads(as_sarif(validate(load_network([folder]))))
    return log

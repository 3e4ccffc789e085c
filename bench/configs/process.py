"""`python -m bench.configs.process`: the processes of measure.py, which say in lines of JSON what they do and find.

They import little: the memory of "check" is that of the checker.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from bench.configs.make import ANSWERS, HEALTHY, fabric_of, mutants, read_answers
from bench.configs.sarif import results, scored
from bench.machine import peak_rss_bytes
from tests.mistakes.mistake import write

_BLOCK_BYTES: Final = 512
"""Unit of st_blocks (POSIX, sys/stat.h)."""


def say(**facts: object) -> None:
    """One line of a process to measured()."""
    print(json.dumps(facts), flush=True)


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
    used = sum(it.stat().st_blocks * _BLOCK_BYTES for it in folder.rglob("*"))
    say(prepare_s=time.process_time() - began, files_bytes=used)


def check(folder: Path) -> None:
    """Check the working fabric of a prepared folder and each mutant, and say the scores."""
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
        gc.collect()  # the network of the run before, which a command would not have
        began = time.process_time()
        log = validated(configs)
        rows.append(asdict(scored(answer, log, healthy, time.process_time() - began)))
        path.write_bytes(before)
    alarms = len(results(healthy)[1])
    say(rows=rows, false_alarms=alarms, healthy_s=healthy_s, memory_mib=peak_rss_bytes() / 2**20)


def validated(folder: Path) -> dict[str, Any]:
    """The SARIF log of `fabric validate`, made in this process."""
    from fabric.configs.load import load_network  # noqa: PLC0415  "prepare" needs no parser
    from fabric.validate.output.data import as_sarif  # noqa: PLC0415  as above
    from fabric.validate.runner import validate  # noqa: PLC0415  as above

    log: dict[str, Any] = json.loads(as_sarif(validate(load_network([folder]))))
    return log


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    if what == "prepare":
        prepare(Path(where), rest[0], int(rest[1]), int(rest[2]))
    else:
        check(Path(where))

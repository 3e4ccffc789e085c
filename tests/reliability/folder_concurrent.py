"""Processes that start on one run folder at the same time: one writes, the others are refused without damage."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path
from typing import Final

from tests.reliability import worlds
from tests.reliability.command import RESULTS, call, ended, start, wait_for
from tests.reliability.report import Row

ROUNDS: Final = 6
STARTS: Final = 10
READS: Final = 120
"""Beside each of three runs; the last of them may come after its end."""
"""Of refused starts in each round, a third with each option."""
RACES: Final = 4
RACERS: Final = 3
SLOW: Final = {"NUMBA_DISABLE_JIT": "1"}
"""Kernels as plain Python: a small run lasts long enough."""
SIZE: Final = "300KB"
"""Of messages: a run of some fifty checkpoints, long enough for every reader."""
SMALL: Final = "100KB"
"""Of messages, where one checkpoint is enough."""
READERS: Final = (
    ("show", "DIR"),
    ("show", "DIR", "events", "--json"),
    ("show", "DIR", "messages", "--json"),
    ("verify", "DIR"),
    ("diff", "DIR", "WHOLE"),
    ("report", "DIR", "--json"),
)


def rows(work: Path) -> list[Row]:
    """Three rows."""
    whole = worlds.finished(work, size=SIZE)
    return [_refused(work, worlds.finished(work, "small", SMALL)), _read(work, whole), _races(work, whole)]


def _refused(work: Path, whole: Path) -> Row:
    """Starts beside a run that is being written, and that is stopped for as long, so that it cannot end first."""
    scenario = worlds.scenario(work, SMALL)
    failures: list[str] = []
    for number in range(ROUNDS):
        out = work / f"refused-{number}"
        process = start("run", scenario, "--out", out, "--quiet", "--checkpoint-every", "0.1", env=SLOW)
        wait_for(out / "checkpoint" / "checkpoint.json", process)
        process.send_signal(signal.SIGSTOP)
        for attempt in range(STARTS):
            words = (("--force",), ("--resume",), ())[(number + attempt) % 3]
            answer = call("run", scenario, "--out", out, "--quiet", *words)
            if answer.code != 2:
                failures.append(f"round {number}, start {attempt} {' '.join(words)}: exit {answer.code}: got in")
            elif "is being written by" not in answer.err:
                failures.append(f"round {number}, start {attempt} {' '.join(words)}: {answer.err.strip()[:120]}")
        process.send_signal(signal.SIGCONT)
        answer = ended(process)
        failures += (
            [f"round {number}: the writer: exit {answer.code}: {answer.err.strip()[-160:]}"]
            if answer.code
            else _differences(f"round {number}: the writer", out, whole)
        )
    return Row(
        "`fabric run --out DIR` with --force, --resume or neither while another process writes DIR: refused "
        "(exit 2), and the first ends with the results of a run that was left alone",
        ROUNDS * STARTS,
        "34 of 40 with an option got in; all 6 first processes died",
        failures,
    )


def _read(work: Path, whole: Path) -> Row:
    """Readers beside a writer: a first run, and one that replaces it."""
    out, scenario = work / "read", worlds.scenario(work, SIZE)
    failures: list[str] = []
    tried = 0
    for words in ([], ["--force"], ["--force"]):
        process = start("run", scenario, "--out", out, "--quiet", "--checkpoint-every", "0.01", *words, env=SLOW)
        wait_for(out / "manifest.json", process)
        tried += READS
        for number in range(READS):
            command = READERS[number % len(READERS)]
            answer = call(*({"DIR": out, "WHOLE": whole}.get(word, word) for word in command))
            time.sleep(0.02)  # the writer needs the processor, too
            if answer.defect or (answer.code == 2 and str(out) not in answer.err):
                failures.append(f"{' '.join(command)}: {answer.defect or answer.err.strip()[:160]}")
        answer = ended(process)
        failures += [f"the writer: exit {answer.code}: {answer.err.strip()[-160:]}"] if answer.code else []
        failures += [] if answer.code else _differences("the writer", out, whole)
    return Row(
        "readers (show, verify, diff, report) of a folder that is being written or replaced: results of one "
        "state, or an error that says so (exit 0, 1 or 2, never a traceback)",
        tried,
        "0",
        failures,
    )


def _races(work: Path, whole: Path) -> Row:
    """Processes that start at once."""
    failures: list[str] = []
    scenario = worlds.scenario(work, SIZE)
    options: tuple[tuple[str, ...], ...] = ((), ("--force",))
    for race in range(RACES):
        out, words = work / "race", options[race % 2]
        if words:
            shutil.copytree(whole, out)
        answers = [ended(it) for it in [start("run", scenario, "--out", out, "--quiet", *words) for _ in range(RACERS)]]
        codes = sorted(it.code for it in answers)
        won = codes.count(0)
        if set(codes) - {0, 2} or won < 1 or (won > 1 and not words):
            failures.append(f"race {race} {' '.join(words)}: exits {codes}: {answers[-1].err.strip()[-160:]}")
        failures += _differences(f"race {race}", out, whole)
        shutil.rmtree(out)
    return Row(
        f"{RACERS} processes that start on one folder at once, with and without --force: one at a time writes, "
        "the others are refused, and the folder holds one whole run",
        RACES * RACERS,
        "0",
        failures,
    )


def _differences(case: str, out: Path, whole: Path) -> list[str]:
    if not (out / "manifest.json").is_file() or worlds.manifest(out).get("digest") != worlds.manifest(whole)["digest"]:
        return [f"{case}: another digest, or none"]
    found = [f"{case}: {name} differs" for name in RESULTS if (out / name).read_bytes() != (whole / name).read_bytes()]
    verified = call("verify", out)
    return found + ([f"{case}: verify: {verified.out.strip()}"] if verified.code == 1 else [])

"""`python -m tools.suite WHICH [arguments of pytest]`: run the tests in two parts, and say last what failed.

WHICH is fast (what is not marked `slow`), slow (only what is), or all.

    parallel   tests that are not marked `timed`, in one process a processor
    timed      tests that are: their verdict depends on wall time or on the speed of other programs, so they run after
               the others, one at a time; the slow ones, which wait for most of their time, four at a time

A timed test that fails has one second look, when the processor is free: passed then, it is named as unstable, and
more than three unstable tests fail. Any other test that fails is run once more as well, to say whether it is a race;
it has failed all the same. docs/testing.md says what belongs where.

Other words are pytest's, and `--shuffle SEED`: the tests in an order drawn by this seed (tools/shuffle.py).

Written to --out (tests/.results): outcomes and junit files of each part. Exit status: 0 passed, 1 failed, 2 wrong
usage.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.outcomes import timed_files
from tools.scratch import in_memory

ROOT: Final = Path(__file__).resolve().parent.parent
MOST_UNSTABLE: Final = 3
MOST_AGAIN: Final = 20
"""Tests that have a second look; more of them have one cause, which the first look shows."""
SHOWN_SLOWEST: Final = 15
FREE_SHARE: Final = 20.0
"""Percent of the last ten seconds in which a task waited for a processor; below it the processor is free."""
FREE_WITHIN_S: Final = 60
NO_TESTS: Final = 5
"""Exit status of pytest that collected nothing."""
SELECTION: Final = {"fast": "not slow", "slow": "slow", "all": ""}
_QUICK: Final = {"timed": ("timed and not slow", 1)}
_SLOW: Final = {"timed-slow": ("timed and slow", 4)}
TIMED: Final = {"fast": _QUICK, "slow": _SLOW, "all": {**_QUICK, **_SLOW}}
"""Parts of the timed tests: what they select, and how many run at a time."""
HANGS_AFTER_S: Final = {"fast": 300, "slow": 900, "all": 900}


@dataclass(frozen=True)
class Outcome:
    """One test's end; `seconds` with its set-up and tear-down, `cpu_s` of them those of a processor."""

    id: str
    outcome: str
    seconds: float
    message: str
    cpu_s: float = 0.0


@dataclass(frozen=True)
class Part:
    """What one run of pytest came to; `passed` as pytest says it."""

    name: str
    outcomes: tuple[Outcome, ...]
    passed: bool
    seconds: float
    load: str

    def having(self, outcome: str) -> list[Outcome]:
        """The tests with this outcome."""
        return [one for one in self.outcomes if one.outcome == outcome]


class Pytest:
    """Runs of pytest whose outcomes and junit files are in one folder."""

    def __init__(self, out: Path, which: str, given: Sequence[str]) -> None:
        self._out, self._given = out, tuple(given)
        hangs = HANGS_AFTER_S[which]
        self._hangs = ("-o", f"faulthandler_timeout={hangs}", "-o", "faulthandler_exit_on_timeout=true")
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)

    def run(self, name: str, *words: str, given: bool = True) -> Part:
        """Run it; a worker process that hangs ends and is named, so there is always at least one."""
        written = self._out / f"{name}.jsonl"
        files = (
            "-p",
            "tools.schedule",
            "-p",
            "tools.outcomes",
            "-p",
            "tools.shuffle",
            f"--outcomes={written}",  # one word: pytest looks for its configuration above every path among the words
            f"--junitxml={self._out / name}.xml",
        )
        command = (sys.executable, "-m", "pytest", "-q", *self._hangs, *files, *words, *(self._given if given else ()))
        began, cpu = time.monotonic(), _cpu_times()
        status = _ended(command)
        return Part(
            name, tuple(outcomes(written)), status in {0, NO_TESTS}, time.monotonic() - began, _load(cpu, _cpu_times())
        )


def _ended(command: Sequence[str]) -> int:
    """Run it to its end; where this process is ended, it is interrupted, so that tests take away what they made."""
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            return process.wait()
        except SystemExit:  # of SIGTERM; Ctrl-C of a terminal reaches both
            process.send_signal(signal.SIGINT)
            raise


def main(words: Sequence[str] | None = None) -> int:
    """Run the parts, look again at what failed, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.suite",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("which", choices=SELECTION)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="0: in this process, for a debugger")
    parser.add_argument("--out", type=Path, default=ROOT / "tests/.results", help="folder; what is in it is removed")
    parser.add_argument("--none-skipped", action="store_true", help="a skipped test fails")
    args, given = parser.parse_known_args(words)
    # A shell that starts this in the background has it ignore interrupts, and pytest would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # The slow ones write more than is to be held in memory.
    with in_memory() if args.which == "fast" else contextlib.nullcontext():
        return _run(args, given)


def _run(args: argparse.Namespace, given: Sequence[str]) -> int:
    pytest = Pytest(args.out, args.which, given)
    slow = SELECTION[args.which]
    parallel = pytest.run("parallel", *_workers(args.workers), "-m", _and(slow, "not timed"))
    files = [] if given else _listed(timed_files(args.out / "parallel.jsonl"))
    parts = [parallel]
    for name, (marked, at_once) in TIMED[args.which].items():
        workers = at_once if args.workers > 1 else args.workers
        parts.append(pytest.run(name, *_workers(workers), "-m", marked, *files))
    if not any(part.outcomes for part in parts):
        print("error: no test was found; say which, as to pytest: a file, or file::test", file=sys.stderr)
        return 2
    again = _again(pytest, [one.id for part in parts for one in part.having("failed")])
    lines, failed = report(parts, again, none_skipped=args.none_skipped)
    print("\n".join(lines))
    return int(failed)


def report(parts: Sequence[Part], again: dict[str, str], *, none_skipped: bool) -> tuple[list[str], bool]:
    """The lines at the end, what failed last, and whether the tests failed.

    `again`: id of each test that had a second look -> its second outcome.
    """
    lines = [f"== slowest {SHOWN_SLOWEST}: seconds, of them the processor's"]
    everything = sorted((one for part in parts for one in part.outcomes), key=lambda one: -one.seconds)
    lines += [f"{one.seconds:7.1f} {one.cpu_s:7.1f}  {one.id}" for one in everything[:SHOWN_SLOWEST]]
    lines += [
        f"== {part.name}: {len(part.having('passed'))} passed, {len(part.having('failed'))} failed, "
        f"{len(part.having('skipped'))} skipped in {part.seconds:.0f} s; {part.load}"
        for part in parts
    ]
    unstable = [
        one for part in parts if part.name in {*_QUICK, *_SLOW} for one in part.having("failed") if _stood(one, again)
    ]
    lines += [f"unstable: {one.id}: {one.message}" for one in unstable]
    problems = [
        f"FAILED {one.id}{' (passed alone: a race)' if _stood(one, again) else ''}: {one.message}"
        for part in parts
        for one in part.having("failed")
        if one not in unstable
    ]
    problems += [
        f"FAILED part {part.name}: pytest ended early"
        for part in parts
        if not part.passed and not part.having("failed")
    ]
    if len(unstable) > MOST_UNSTABLE:
        problems.append(f"FAILED {len(unstable)} tests are unstable; at most {MOST_UNSTABLE} may be")
    skipped = [one for part in parts for one in part.having("skipped")]
    lines += [f"skipped: {one.id}: {one.message}" for one in skipped]
    if none_skipped and skipped:
        problems.append(f"FAILED {len(skipped)} tests were skipped, named above")
    return lines + problems, bool(problems)


def _and(*markers: str) -> str:
    return " and ".join(filter(None, markers))


def _listed(file: Path) -> list[str]:
    """Its different lines; none where the part ended before it was written: then all files are collected."""
    return sorted(set(file.read_text(encoding="utf-8").splitlines())) if file.exists() else []


def _stood(one: Outcome, again: dict[str, str]) -> bool:
    return again.get(one.id) == "passed"


def _workers(count: int) -> tuple[str, ...]:
    return ("-n", str(count), "--dist", "loadfile")  # a file's tests share its fixtures (tools/schedule.py)


def _again(pytest: Pytest, ids: Sequence[str]) -> dict[str, str]:
    """Second outcomes of tests that failed, alone and one after the other."""
    if not 0 < len(ids) <= MOST_AGAIN:
        return {}
    print(f"== second look at {len(ids)} failed tests", flush=True)
    _until_free()
    return {one.id: one.outcome for one in pytest.run("again", "-n", "1", *ids, given=False).outcomes}


def _until_free() -> None:
    """Wait until the processor is free, at most FREE_WITHIN_S."""
    pressure = Path("/proc/pressure/cpu")
    limit = time.monotonic() + FREE_WITHIN_S
    while pressure.exists() and time.monotonic() < limit:
        some = pressure.read_text(encoding="ascii").split()
        if float(some[1].removeprefix("avg10=")) < FREE_SHARE:
            return
        time.sleep(1)


def _cpu_times() -> list[int]:
    """Ticks of all processors: user, nice, system, idle, iowait, irq, softirq, steal; none where /proc is not."""
    stat = Path("/proc/stat")
    return [int(word) for word in stat.read_text(encoding="ascii").split()[1:9]] if stat.exists() else []


def _load(before: Sequence[int], after: Sequence[int]) -> str:
    spent = [now - was for was, now in zip(before, after, strict=True)]
    if not sum(spent):
        return "load unknown"
    idle, stolen = spent[3] / sum(spent), spent[7] / sum(spent)
    return f"processors idle {idle:.0%}, stolen {stolen:.0%}, load {os.getloadavg()[0]:.1f}"


def outcomes(file: Path) -> Iterable[Outcome]:
    """What tools/outcomes.py wrote; nothing where it wrote no file."""
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            yield Outcome(**json.loads(line))


if __name__ == "__main__":
    sys.exit(main())

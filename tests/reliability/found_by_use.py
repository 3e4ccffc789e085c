"""What people found when they used the product: each row names the tests that show that it holds now.

found_by_use.yml lists them: what was tried and must hold, how it failed before, and files or ids of tests. A case is a
test; slow ones count as well.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.reliability.report import Row
from tools.requirements import ROOT
from tools.suite import Outcome, outcomes

TABLE: Final = Path(__file__).with_name("found_by_use.yml")


@dataclass(frozen=True, slots=True)
class Found:
    """One row of the table; `tests` are words of pytest: files, or ids of tests."""

    tried: str
    before: str
    tests: tuple[str, ...]

    def is_of(self, test: str) -> bool:
        """Whether a test is one of its cases."""
        return any(_within(test, it) for it in self.tests)


def table() -> list[Found]:
    """Rows of the table, in its order."""
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return [Found(row["tried"], row["before"], tuple(row["tests"])) for row in rows]


def rows(work: Path) -> list[Row]:
    """All tests in one process of pytest; what it cannot find is a failed case."""
    found, file = table(), work / "outcomes.jsonl"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.outcomes", f"--outcomes={file}",
         *_words(found)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    ended = list(outcomes(file))
    return [_row(row, [it for it in ended if row.is_of(it.id)]) for row in found]


def collected_rows(_work: Path) -> list[Row]:
    """The same rows, of tests that are found and not run: each is an ordinary or a slow test itself."""
    found = table()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *_words(found)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    ids = [line for line in done.stdout.splitlines() if "::" in line]
    return [_row(row, [Outcome(it, "passed", 0.0, "") for it in ids if row.is_of(it)]) for row in found]


def _words(found: Sequence[Found]) -> list[str]:
    """What pytest is asked for: each file or id of the table once."""
    return sorted({test for row in found for test in row.tests})


def _row(row: Found, cases: Sequence[Outcome]) -> Row:
    failures = [f"{it.id}: {it.message or it.outcome}" for it in cases if it.outcome != "passed"]
    absent = [f"no test {it}" for it in row.tests if not any(_within(case.id, it) for case in cases)]
    return Row(row.tried, len(cases), row.before, [*failures, *absent])


def _within(test: str, words: str) -> bool:
    return test == words or test.startswith((f"{words}::", f"{words}["))

"""10,000 random valid scenarios, and 10,000 nearly valid ones: refused with an explanation, or run without a broken
invariant.

tests/fuzz makes and checks them. A case is its seed: `python -m tests.fuzz.campaign KIND SEED` repeats it.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from tests.fuzz.campaign import Tally, campaign
from tests.reliability.report import Row

SIMULATED: Final = 10_000
"""Valid scenarios that reach the engine."""
MUTANTS: Final = 10_000
PART: Final = 96
"""`make test-all` tries the first of so many parts."""
PORTION: Final = 125
"""Seeds that a process takes at once."""
_BEFORE_VALID: Final = "6 of 904: traceback (4), refused when written out with its defaults (2)"
_BEFORE_MUTANTS: Final = "25 of 1,000: no remedy (23), traceback (2)"
_MUST: Final = (
    "errors with place and remedy, or a run under `--check` that ends with one digest, whatever the "
    "scheduler, the number of threads, a checkpoint between, or defaults written out"
)


def rows(work: Path, part: int = 1) -> list[Row]:
    """Valid scenarios until enough of them were simulated; then mutants. part: a share of 1 / part of them."""
    valid = _tried("valid", work, simulated=SIMULATED // part, cases=0)
    mutants = _tried("mutant", work, simulated=0, cases=MUTANTS // part)
    return [
        Row(
            f"random valid scenarios of every kind of topology, workload, fault, chip, model, overlay and routing, "
            f"those that the compiler accepts: {_MUST}",
            valid.reached["engine"],
            _BEFORE_VALID,
            valid.failures,
        ),
        Row(
            f"the same with one to three changes (edge values, words and names swapped, entries twice or left "
            f"out, sections of others, damaged files): {_MUST}",
            mutants.cases,
            _BEFORE_MUTANTS,
            mutants.failures,
        ),
    ]


def some_rows(work: Path) -> list[Row]:
    """The rows of the first of PART parts of the cases."""
    return rows(work, PART)


def _tried(kind: str, work: Path, *, simulated: int, cases: int) -> Tally:
    """Cases in the order of their seeds, until there are as many, and as many were simulated."""
    whole = Tally()
    processes = os.cpu_count() or 1
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        while whole.cases < cases or whole.reached["engine"] < simulated:
            firsts = range(whole.cases, whole.cases + processes * PORTION, PORTION)
            for tally in pool.map(partial(_portion, kind, work), firsts):
                whole.join(tally)
    return whole


def _portion(kind: str, work: Path, first: int) -> Tally:
    return campaign(kind, range(first, first + PORTION), work / f"{kind}-{first}")

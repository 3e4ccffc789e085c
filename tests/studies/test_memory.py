"""Many small runs in one worker: its memory does not grow with them."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from small_study import SCENARIO

from bench.studies import with_memory
from fabric.studies.jobs import Job
from fabric.studies.local import LocalProcesses
from fabric.studies.simulation import Variant

RUNS = 400
MOST_GROWTH_BYTES = 6_000_000
"""Over 300 runs: 20 KB each; a run allocates some 5 MB, so a leak of its tables would be 1.5 GB."""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_runs() -> None:
    jobs = deque(Job(str(seed), Variant(SCENARIO, Path("small.yml"), {"run.seed": seed})) for seed in range(RUNS))
    with LocalProcesses(1) as workers:
        found = [result.value[0] for result in workers.results(with_memory, jobs)]
    assert len(found) == RUNS
    assert found[-1] - found[99] < MOST_GROWTH_BYTES

"""A worker that is asked to end has no result: its run is done again, and is no failed row."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from small_study import SCENARIO

from fabric.runs import simulate
from fabric.runs.measured import measure_run
from fabric.runs.session import Hooks
from fabric.scenario.load import build_scenario
from fabric.studies.jobs import failure_of
from fabric.studies.sweep import AGAIN


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_a_run_without_a_directory_that_is_interrupted_ends_as_interrupted(asked: signal.Signals) -> None:
    compiled, plan = simulate.prepare(build_scenario(SCENARIO, Path("small.yml")), text="")
    with pytest.raises(KeyboardInterrupt) as caught:
        measure_run(compiled, plan, Hooks(check=lambda *_: os.kill(os.getpid(), asked)))
    assert failure_of(caught.value).kind in AGAIN

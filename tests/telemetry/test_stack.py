"""docker-compose.yml with its real servers, wherever a docker engine answers; elsewhere skipped, with the reason."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.telemetry.test_check_stack import stack


@pytest.mark.slow
@pytest.mark.timed
def test_prometheus_and_grafana_accept_the_rules_and_every_panel() -> None:
    try:
        stack.engine()
    except stack.CannotAskError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [sys.executable, str(ROOT / "deploy/check_stack.py")], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode == 2 and "another check runs" in said:
        pytest.skip(said.strip().splitlines()[-1])
    # Also where the stack does not start: an image that cannot be built is no reason to skip.
    assert done.returncode == 0, said

"""Ready means that a scrape is answered; what docker-compose.yml starts compiles the engine once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import yaml

from fabric.dataplane.state.compiled.jit import is_compiled
from tests.conftest import ROOT
from tests.telemetry.programs import end, wait_for
from tests.telemetry.test_compose import PROMETHEUS, SERVICES

SCRAPE_TIMEOUT_S: Final = float(PROMETHEUS["global"]["scrape_timeout"].removesuffix("s"))
COMPILING_S: Final = 600.0
SERVER_S: Final = 3600
"""A service ends by itself, also where its test was killed."""


def words(service: str) -> list[str]:
    """A service's command with the variables' defaults, on any free port, for a limited time."""
    found = [
        os.path.expandvars(word.replace("${SCENARIO:-", "").replace("}", "")) for word in SERVICES[service]["command"]
    ]
    found[found.index("--listen") + 1] = "127.0.0.1:0"
    return [*found, "--json", "--quiet", "--duration", f"{SERVER_S}s"]


@contextmanager
def container(service: str, folder: Path) -> Iterator[str]:
    """URL of what the image's entry point runs; the cache is the volume that both have."""
    environ = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / service)}
    process = subprocess.Popen(
        [sys.executable, "-c", "from fabric.cli.main import entry; entry()", *words(service)],
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=ROOT / "scenarios",
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"].removesuffix("/metrics")
    finally:
        end(process)


def asked(url: str) -> tuple[int, str]:
    """(status, body); an answer that takes longer than a scrape may is an error."""
    try:
        with urllib.request.urlopen(url, timeout=SCRAPE_TIMEOUT_S) as answer:  # noqa: S310  our own server
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def kernels(folder: Path) -> dict[str, int]:
    """Files of compiled kernels -> when they were written."""
    return {str(path): path.stat().st_mtime_ns for path in (folder / "cache").rglob("*.nb?")}


@pytest.fixture(scope="module")
def started(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[tuple[int, int]], float, float, dict[str, int], dict[str, int]]:
    """((ready, metrics) until both are 200, seconds until ready, seconds slipped, kernels after the first start and
    after the second)."""
    folder = tmp_path_factory.mktemp("compose")
    with container("emulator", folder) as url:
        began_s, seen = time.monotonic(), []
        while not seen or seen[-1] != (200, 200):
            seen.append((asked(f"{url}/-/ready")[0], asked(f"{url}/metrics")[0]))
            assert time.monotonic() - began_s < COMPILING_S, seen[-1]
            time.sleep(0.05)
        took_s = time.monotonic() - began_s
        slipped = next(
            line
            for line in asked(f"{url}/metrics")[1].splitlines()
            if line.startswith("fabric_sim_slipped_seconds_total ")
        )
        first = kernels(folder)
        with container("emulator", folder) as other:
            wait_for(lambda: asked(f"{other}/-/ready")[0] == 200, "the emulator, started again", COMPILING_S)
            assert asked(f"{other}/metrics")[0] == 200
            return seen, took_s, float(slipped.split()[1]), first, kernels(folder)


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.skipif(not is_compiled(), reason="nothing is compiled under NUMBA_DISABLE_JIT=1")
def test_ready_means_that_a_scrape_is_answered(
    started: tuple[list[tuple[int, int]], float, float, dict[str, int], dict[str, int]],
) -> None:
    seen = started[0]
    assert seen[0] == (503, 503), "the engine was compiled already"
    assert set(seen) <= {(503, 503), (503, 200), (200, 200)}, "ready, and no metrics"


@pytest.mark.slow
@pytest.mark.timed
def test_compiling_is_not_told_as_a_pace_that_is_not_held(
    started: tuple[list[tuple[int, int]], float, float, dict[str, int], dict[str, int]],
) -> None:
    _, took_s, slipped_s, _, _ = started
    assert slipped_s < took_s / 2


@pytest.mark.slow
@pytest.mark.timed
def test_a_second_start_compiles_nothing(
    started: tuple[list[tuple[int, int]], float, float, dict[str, int], dict[str, int]],
) -> None:
    first, second = started[3:]
    assert first
    assert second == first


def test_a_service_keeps_its_kernels_in_a_volume() -> None:
    assert "/-/ready" in SERVICES["emulator"]["healthcheck"]["test"][-1]
    assert SERVICES["emulator"]["volumes"] == ["kernels:/cache"]
    dockerfile = (ROOT / "deploy/Dockerfile").read_text()
    assert "XDG_CACHE_HOME=/cache" in dockerfile
    assert yaml.safe_load((ROOT / "docker-compose.yml").read_text())["volumes"].keys() >= {"kernels"}

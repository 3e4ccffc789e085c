"""From the shell to the result: `fabric run` of a small incast, with an empty and with a full kernel cache."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench import cases
from bench.machine import median
from bench.worker import ROOT
from fabric.errors import FabricError

_ENTRY: Final = "import sys; from fabric.cli.main import entry; sys.exit(entry())"
"""Content of the `fabric` script."""
_INCAST: Final = {"kind": "incast", "receiver": "host1", "fan_in": 7, "size": "100KB"}


def startup(*, cold: bool = True, repeats: int = 3) -> dict[str, Any]:
    """Wall and CPU seconds of the whole command; cold: with an empty cache of compiled kernels."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        scenario = cases.write(cases.scenario("small-incast", 16, _INCAST), folder)
        own_cache = {"XDG_CACHE_HOME": str(folder / "cache")} if cold else {}
        spent = [children_cpu_s()]
        first_s = run(scenario, folder / "run-0", own_cache)
        spent.append(children_cpu_s())
        warm = [run(scenario, folder / f"run-{number}", own_cache) for number in range(1, repeats + 1)]
        spent.append(children_cpu_s())
    return {
        "cold": cold,
        "cold_s": first_s,
        "cold_cpu_s": spent[1] - spent[0],
        "warm_cpu_s": (spent[2] - spent[1]) / repeats,
        "warm_s": median(warm),
        "warm_min_s": min(warm),
        "repeats": repeats,
    }


def children_cpu_s() -> float:
    """CPU seconds of all ended commands."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(scenario: Path, out: Path, environment: dict[str, str]) -> float:
    """Wall seconds of `fabric run`."""
    return command(["run", str(scenario), "--out", str(out), "--quiet"], environment)


def command(arguments: list[str], environment: dict[str, str] | None = None) -> float:
    """Wall seconds of `fabric ARGUMENTS`, from exec to exit.

    Raises: FabricError if it fails.
    """
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _ENTRY, *arguments],
        env={**os.environ, **(environment or {})},
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    wall_s = time.perf_counter() - began
    if done.returncode:
        raise FabricError(f"fabric {arguments[0]} ended with exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return wall_s

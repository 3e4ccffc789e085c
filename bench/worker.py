"""One measurement in a separate process: `python -m bench.worker WHAT ARGUMENTS` (JSON) prints JSON."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from fabric.errors import FabricError

ROOT: Final = Path(__file__).resolve().parent.parent
_MEASUREMENTS: Final = {
    "simulate": ("simulate", "simulate"),
    "profile": ("profile", "profile"),
    "results": ("control", "write_results"),
    "bgp": ("bgp", "converge"),
    "scrape": ("telemetry", "scrape"),
    "sampling": ("telemetry", "sampling"),
    "studies": ("studies", "studies"),
    "idle": ("idle", "idle_second"),
}
"""WHAT to its module and function; a process loads only the module that it needs."""


def measure(what: str, **arguments: object) -> dict[str, Any]:
    """Measure in a fresh process.

    Raises: FabricError with the process's last line if it failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "bench.worker", what, json.dumps(arguments)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise FabricError(
            f"measuring '{what}' ended with exit code {done.returncode}: {last}",
            f"for its whole output: python -m bench.worker {what} '{json.dumps(arguments)}'",
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(what: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Carry out one measurement here. Raises: KeyError where no measurement has this name."""
    module, function = _MEASUREMENTS[what]
    found: dict[str, Any] = getattr(importlib.import_module(f"bench.{module}"), function)(**arguments)
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))))

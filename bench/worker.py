"""One measurement in a process of its own: `python -m bench.worker WHAT ARGUMENTS` (JSON) prints JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from fabric.errors import FabricError

ROOT: Final = Path(__file__).resolve().parent.parent


def measure(what: str, **arguments: object) -> dict[str, Any]:
    """What a fresh process measures.

    Raises: FabricError with its last line where it failed.
    """
    done = subprocess.run([sys.executable, "-m", "bench.worker", what, json.dumps(arguments)], cwd=ROOT, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise FabricError(f"measuring '{what}' ended with exit code {done.returncode}: {last}",
                          f"for all of it: python -m bench.worker {what} '{json.dumps(arguments)}'")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(what: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Carry out one measurement here."""
    if what == "play":
        from bench.play import play  # noqa: PLC0415  a worker loads what it measures, no more

        return play(**arguments)
    if what == "profile":
        from bench.profile import profile  # noqa: PLC0415  as above

        return profile(**arguments)
    if what == "results":
        from bench.control import write_results  # noqa: PLC0415  as above

        return write_results(**arguments)
    if what == "bgp":
        from bench.bgp import converge  # noqa: PLC0415  as above

        return converge(**arguments)
    if what == "scrape":
        from bench.telemetry import scrape  # noqa: PLC0415  as above

        return scrape(**arguments)
    if what == "sampling":
        from bench.telemetry import sampling  # noqa: PLC0415  as above

        return sampling(**arguments)
    raise KeyError(what)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))))

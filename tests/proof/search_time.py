"""Time and memory of a search of 64 switches: `python -m tests.proof.search_time`.

56 leaves with 8 hosts each and 8 spines, all of the clean fabric's settings: 1,344 ports, 448 links between switches.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEAVES, SPINES, HOSTS_OF_A_LEAF = 56, 8, 8


def written(folder: Path) -> Path:
    """The configurations of the fabric."""
    from broken_fabrics import HOSTS, switch

    def port(number: int) -> str:
        return f"Ethernet{8 * number}"

    for leaf in range(LEAVES):
        near = {port(n): (f"host{leaf * HOSTS_OF_A_LEAF + n}", "eth0") for n in range(HOSTS_OF_A_LEAF)}
        near |= {port(HOSTS_OF_A_LEAF + n): (f"spine{n}", port(leaf)) for n in range(SPINES)}
        tables = switch(f"leaf{leaf}", str(65100 + leaf), "ToRRouter", near)
        (folder / f"leaf{leaf}.json").write_text(json.dumps(tables), encoding="utf-8")
    for spine in range(SPINES):
        near = {port(n): (f"leaf{n}", port(HOSTS_OF_A_LEAF + spine)) for n in range(LEAVES)}
        tables = switch(f"spine{spine}", "65000", "LeafRouter", near)
        (folder / f"spine{spine}.json").write_text(json.dumps(tables), encoding="utf-8")
    (folder / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")
    return folder


def main() -> None:
    """Print the last line of the search, the processor time and the most memory."""
    sys.path[:0] = [str(Path(__file__).parent)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        command = [sys.executable, "-m", "fabric", "validate", str(written(Path(folder))), "--prove", "--search"]
        found = subprocess.run([*command, *sys.argv[1:]], capture_output=True, text=True, check=False)
        sys.stdout.write(found.stdout + found.stderr)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        sys.stdout.write(
            f"exit code {found.returncode}, {time.monotonic() - began:.0f} s, "
            f"{used.ru_utime + used.ru_stime:.0f} s of processor time, {used.ru_maxrss // 1024} MiB\n"
        )


if __name__ == "__main__":
    main()

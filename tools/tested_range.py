"""lock/tested-range.json: with which versions and sources the lowest end of Numba's range passed last.

`make test-version-range` writes it. The gate runs with the highest end, because the lowest takes minutes; instead it
compares the record with the present state (docs/decisions/0155): the versions of Numba and of what Numba compiles with,
at both ends, and the sources that use its internals. Where one of them has changed since, the gate fails and names it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

from tools.requirements import ROOT, entries, lock_path

PACKAGES: Final = ("llvmlite", "numba", "numpy")
SOURCES: Final = "fabric/dataplane/state/compiled"
COMMAND: Final = "python -m tools.version_range --end lowest --quick"


def record_path(root: Path = ROOT) -> Path:
    """Where the record is."""
    return root / "lock" / "tested-range.json"


def inputs(root: Path = ROOT) -> dict[str, str]:
    """Package or file -> its versions at both ends, or the SHA-256 of its text."""
    found = {}
    ends = [
        {it.name: it.version for it in entries(lock_path(lock, root).read_text(encoding="utf-8"))}
        for lock in ("lowest", "dev")
    ]
    for name in PACKAGES:
        found[name] = " and ".join(end[name] for end in ends)
    for path in sorted((root / SOURCES).glob("*.py")):
        found[path.relative_to(root).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def write(root: Path = ROOT) -> None:
    """Record that the lowest end has passed."""
    record_path(root).write_text(json.dumps(inputs(root), indent=1) + "\n", encoding="utf-8")


def untested(root: Path = ROOT) -> str:
    """What has changed since the lowest end passed, and what to do; '' where nothing has."""
    path = record_path(root)
    tested = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    now = inputs(root)
    changed = sorted(name for name in tested.keys() | now.keys() if tested.get(name) != now.get(name))
    return f"{', '.join(changed)}: changed since the lowest Numba passed; run {COMMAND}" if changed else ""

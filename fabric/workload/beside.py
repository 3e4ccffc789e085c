"""Files that a scenario names: message lists, distributions of sizes."""

from __future__ import annotations

from pathlib import Path

from fabric.reading import read_text
from fabric.topology.select import nearest


def read_beside(file: Path, limit_bytes: int, place: str) -> str:
    """The text of a file; `place` is the field that names it. Raises: InputErrors with one problem."""
    missing = "check its permissions"
    if not file.exists():
        siblings = [entry.name for entry in file.parent.iterdir() if entry.is_file()] if file.parent.is_dir() else []
        missing = nearest(file.name, siblings, "files there") or "names are relative to the scenario's folder"
    return read_text(file, limit_bytes, place=place, stage="making the traffic", missing=missing)

"""Checkpoints of a run: the engine's state, the recorder's memory, and how far the session was.

checkpoint/checkpoint.json is written last and names the files of its own number, so a crash at any moment leaves the
previous checkpoint whole. It also names how many parts of each stream belong to it (parts.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fabric.errors import RunDirError
from fabric.report import files


class Saves(Protocol):
    """The engine, as far as a checkpoint is concerned."""

    def save(self, path: Path) -> None:
        """Write the whole state."""


class Checkpoint(NamedTuple):
    """One checkpoint that was found."""

    number: int
    engine: Path
    memory: Mapping[str, NDArray[Any]]
    """The recorder's."""
    parts: Mapping[str, int]
    session: Mapping[str, Any]
    """The session's own position."""


def write(
    folder: Path,
    number: int,
    engine: Saves,
    memory: Mapping[str, NDArray[Any]],
    parts: Mapping[str, int],
    session: Mapping[str, Any],
) -> None:
    """Write checkpoint `number` and forget the older ones."""
    home = folder / files.CHECKPOINT
    home.mkdir(exist_ok=True)
    engine.save(_engine(home, number))
    with files.replacing(_memory(home, number)) as pending, pending.open("wb") as handle:
        np.savez(handle, allow_pickle=False, **memory)
    files.write_json(home / "checkpoint.json", {"number": number, "parts": dict(parts), "session": dict(session)})
    keep = {_engine(home, number), _memory(home, number), home / "checkpoint.json"}
    for path in home.iterdir():
        if path not in keep:
            path.unlink()


def read(folder: Path) -> Checkpoint | None:
    """The last checkpoint, or None where the run was ended before its first.

    Raises: RunDirError where it is damaged.
    """
    home = folder / files.CHECKPOINT
    index = home / "checkpoint.json"
    if not index.is_file():
        return None
    try:
        found = json.loads(index.read_text(encoding="utf-8"))
        number = int(found["number"])
        with np.load(_memory(home, number), allow_pickle=False) as memory:
            arrays = {name: memory[name] for name in memory.files}
        return Checkpoint(number, _engine(home, number), arrays, found["parts"], found["session"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunDirError(f"{index} cannot be used: {error}", "start again with --force instead of --resume") from error


def forget(folder: Path) -> None:
    """Remove checkpoints and parts: the run is done and its final files are written."""
    for name in (files.CHECKPOINT, files.PARTS):
        home = folder / name
        if home.is_dir():
            for path in home.iterdir():
                path.unlink()
            home.rmdir()


def _engine(home: Path, number: int) -> Path:
    return home / f"engine-{number:06}.npz"


def _memory(home: Path, number: int) -> Path:
    return home / f"recorder-{number:06}.npz"

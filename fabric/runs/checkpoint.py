"""Checkpoints of a run: the state of the engine, of the recorder and of the session.

checkpoint/checkpoint.json is written last and names the files with the same number, so a crash at any moment leaves the
previous checkpoint intact. It also lists the parts of each stream that belong to it (parts.py), the checksums of all
these files and one over itself, so that a damaged checkpoint is refused before anything is simulated.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fabric.errors import RunDirError
from fabric.runs import files
from fabric.runs.files import Sum
from fabric.runs.parts import EVENTS, SERIES, part_path

INDEX: Final = "checkpoint.json"
_PREFIXES: Final = (INDEX, "engine-", "recorder-", f"{SERIES.name}-", f"{EVENTS.name}-")
REMEDY: Final = "start again with --force instead of --resume"


class Saves(Protocol):
    """The interface of the engine that a checkpoint needs."""

    def save(self, path: Path) -> None:
        """Write the whole state."""


class Checkpoint(NamedTuple):
    """One checkpoint on disk."""

    number: int
    engine: Path
    memory: Mapping[str, NDArray[Any]]
    """State of the recorder."""
    parts: Mapping[str, Sequence[Sum]]
    """Stream -> checksums of its parts, in order."""
    session: Mapping[str, Any]
    """State of the session."""


class Index(NamedTuple):
    """checkpoint.json."""

    number: int
    identity: str
    """Identity of the run (session.Plan)."""
    parts: Mapping[str, Sequence[Sum]]
    files: Mapping[str, Sum]
    """Checksums of the files of the engine and the recorder, by their names in checkpoint/."""
    session: Mapping[str, Any]

    def paths(self, folder: Path) -> dict[Path, Sum]:
        """Every file of the checkpoint."""
        return {folder / files.CHECKPOINT / name: known for name, known in self.files.items()} | {
            part_path(folder, stream, number): known
            for stream in (SERIES, EVENTS)
            for number, known in enumerate(self.parts.get(stream.name, ()), start=1)
        }


def write(
    folder: Path,
    number: int,
    engine: Saves,
    memory: Mapping[str, NDArray[Any]],
    parts: Mapping[str, Sequence[Sum]],
    session: Mapping[str, Any],
    identity: str,
) -> None:
    """Write checkpoint `number` and remove the older ones. Raises: OSError with a file's name."""
    home = folder / files.CHECKPOINT
    home.mkdir(exist_ok=True)
    with files.naming(_engine(home, number)):
        engine.save(_engine(home, number))
    sums = {_engine(home, number).name: Sum.of(_engine(home, number))}
    with files.replacing(_memory(home, number), sums) as pending, pending.open("wb") as handle:
        np.savez(handle, allow_pickle=False, **memory)
    files.write_index(
        home / INDEX,
        {
            "number": number,
            "identity": identity,
            "parts": {stream: [known.as_json() for known in its] for stream, its in parts.items()},
            "files": files.listing(sums),
            "session": dict(session),
        },
    )
    keep = {_engine(home, number), _memory(home, number), home / INDEX}
    for path in _ours(home):
        if path not in keep:
            path.unlink()


def read_index(folder: Path) -> Index | None:
    """The files of the last checkpoint; None where the run ended before its first checkpoint.

    Raises: RunDirError where checkpoint.json is damaged.
    """
    path = folder / files.CHECKPOINT / INDEX
    try:
        value = files.read_index(path)
        files.check_seal(value)
        return Index(
            int(value["number"]),
            str(value["identity"]),
            {str(name): [Sum.from_json(it) for it in its] for name, its in value["parts"].items()},
            files.listed(value["files"]),
            dict(value["session"]),
        )
    except FileNotFoundError:
        return None
    except files.DamageError as error:
        raise RunDirError(f"{path} is damaged: {error}", REMEDY) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunDirError(f"{path} was written by another version: {error!r}", REMEDY) from error
    except OSError as error:
        raise RunDirError(f"{path} cannot be read: {error.strerror}", REMEDY) from error


def read(folder: Path, identity: str) -> Checkpoint | None:
    """The last checkpoint, or None where the run ended before its first checkpoint.

    Every file is compared with its checksum here, before anything is simulated.
    Raises: RunDirError where it is damaged or belongs to another run.
    """
    index = check(folder, identity)
    if index is None:
        return None
    home = folder / files.CHECKPOINT
    try:
        with np.load(_memory(home, index.number), allow_pickle=False) as memory:
            arrays = {name: memory[name] for name in memory.files}
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError) as error:
        raise RunDirError(f"{_memory(home, index.number)} cannot be used: {error}", REMEDY) from error
    return Checkpoint(index.number, _engine(home, index.number), arrays, index.parts, index.session)


def check(folder: Path, identity: str) -> Index | None:
    """Compare every file of the last checkpoint; None where there is none. Raises: RunDirError, as read()."""
    index = read_index(folder)
    if index is None:
        return None
    home = folder / files.CHECKPOINT
    if index.identity != identity:
        raise RunDirError(f"{home} is the checkpoint of another run", REMEDY)
    faults = [f"{path} is {fault}" for path, known in index.paths(folder).items() if (fault := known.fault(path))]
    if faults:
        more = f", and {len(faults) - 1} more files of its checkpoint are damaged" if len(faults) > 1 else ""
        raise RunDirError(faults[0] + more, REMEDY)
    return index


def forget(folder: Path) -> None:
    """Remove checkpoints and parts: the run is done and its final files are written. Other files stay."""
    (folder / files.CHECKPOINT / INDEX).unlink(missing_ok=True)  # first: it names the others
    for name in (files.CHECKPOINT, files.PARTS):
        home = folder / name
        if home.is_dir():
            for path in _ours(home):
                path.unlink()
            with suppress(OSError):  # it holds another file, or is a link to a folder
                home.rmdir()


def _ours(home: Path) -> list[Path]:
    """Files that a run makes in checkpoint/ or parts/, finished or not."""
    return [path for path in home.iterdir() if path.name.startswith(_PREFIXES)]


def _engine(home: Path, number: int) -> Path:
    return home / f"engine-{number:06}.npz"


def _memory(home: Path, number: int) -> Path:
    return home / f"recorder-{number:06}.npz"

"""Whether a run directory is as it was written: every file that its indexes list, compared with its checksum.

Files that no index lists are not judged: a user's own, or leftovers of a killed process, which --resume removes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fabric.errors import RunDirError
from fabric.report import checkpoint, files, lock
from fabric.report.folder import ENDED
from fabric.report.rundir import FORMAT


class Verdict(NamedTuple):
    """One file."""

    file: str
    """Relative to the run directory."""
    size_bytes: int | None
    """As it was written; None for an index."""
    fault: str
    """'' where it is as it was written."""


def examine(folder: Path) -> list[Verdict]:
    """Every file of a run; the indexes stand before what they list.

    Where manifest.json cannot be read, nothing else can be judged. Raises: RunDirError where there is no run, another
    process writes it, or another format wrote it.
    """
    if not (folder / files.MANIFEST).is_file():
        raise RunDirError(f"{folder} has no {files.MANIFEST}: no run was written there",
                          "give the directory named by --out of `fabric run`")
    owner = lock.writer(folder)
    if owner is not None:
        raise RunDirError(f"{folder} is being written by {owner}", "wait for its end")
    return list(_verdicts(folder))


def _verdicts(folder: Path) -> Iterator[Verdict]:
    try:
        manifest = files.read_index(folder / files.MANIFEST)
    except files.DamageError as error:
        yield Verdict(files.MANIFEST, None, f"{error}; without it no other file can be judged")
        return
    if manifest.get("format") != FORMAT and not _seal_fault(manifest):
        raise RunDirError(f"{folder / files.MANIFEST}: format is {manifest.get('format')!r}, this version reads "
                          f"{FORMAT}", "verify it with the version that wrote it")
    fault = _seal_fault(manifest)
    yield Verdict(files.MANIFEST, None, fault)
    try:
        listed = files.listed(manifest["files"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return                          # the manifest is damaged, and has been named
    for name, known in listed.items():
        yield Verdict(name, known.size, known.fault(folder / name))
    if manifest.get("status") not in ENDED:
        yield from _checkpoint(folder, None if fault else manifest.get("identity"))


def _checkpoint(folder: Path, identity: object) -> Iterator[Verdict]:
    """What --resume would take up; `identity` is the run's, None where nobody can tell."""
    name = f"{files.CHECKPOINT}/{checkpoint.INDEX}"
    try:
        index = checkpoint.read_index(folder)
    except RunDirError as error:
        yield Verdict(name, None, error.text.removeprefix(f"{folder / name} ").removeprefix("is "))
        return
    if index is None:
        return
    yield Verdict(name, None, "" if identity in {None, index.identity} else "the checkpoint of another run")
    for path, known in index.paths(folder).items():
        yield Verdict(str(path.relative_to(folder)), known.size, known.fault(path))


def _seal_fault(manifest: dict[str, object]) -> str:
    try:
        files.check_seal(manifest)
    except files.DamageError as error:
        return str(error)
    return ""

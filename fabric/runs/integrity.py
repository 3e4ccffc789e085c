"""Integrity of a run directory: every file that its indexes list, compared with its checksum.

Files that no index lists are not checked: files of the user, or leftovers of a killed process, which --resume removes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from fabric.errors import RunDirError
from fabric.runs import checkpoint, files, lock
from fabric.runs.folder import ENDED
from fabric.runs.rundir import FORMAT

_ALONE: Final = "; without it no other file can be checked"


class Verdict(NamedTuple):
    """One file."""

    file: str
    """Relative to the run directory."""
    size_bytes: int | None
    """Written size and checksum; None for an index."""
    fault: str
    """Damage; '' where there is none."""


def examine(folder: Path) -> list[Verdict]:
    """Every file of a run; an index comes before the files that it lists.

    Where manifest.json is damaged, no other file is checked: the damage may be in their checksums.

    Raises: RunDirError where there is no run, another process writes it, or another format wrote it.
    """
    if not (folder / files.MANIFEST).is_file():
        raise RunDirError(
            f"{folder} has no {files.MANIFEST}: no run was written there",
            "give the directory named by --out of `fabric run`",
        )
    owner = lock.writer(folder)
    if owner is not None:
        raise RunDirError(f"{folder} is being written by {owner}", "wait for its end")
    return list(_verdicts(folder))


def _verdicts(folder: Path) -> Iterator[Verdict]:
    try:
        manifest = files.read_index(folder / files.MANIFEST)
    except files.DamageError as error:
        yield Verdict(files.MANIFEST, None, f"{error}{_ALONE}")
        return
    if manifest.get("format") != FORMAT and not _seal_fault(manifest):
        raise RunDirError(
            f"{folder / files.MANIFEST}: format is {manifest.get('format')!r}, this version reads {FORMAT}",
            "verify it with the version that wrote it",
        )
    fault = _seal_fault(manifest)
    if fault:
        yield Verdict(files.MANIFEST, None, f"{fault}{_ALONE}")
        return
    try:
        listed = files.listed(manifest["files"])
    except (KeyError, TypeError, ValueError, AttributeError):
        yield Verdict(files.MANIFEST, None, f"without a list of files{_ALONE}")
        return
    yield Verdict(files.MANIFEST, None, "")
    for name, known in listed.items():
        yield Verdict(name, known.size, known.fault(folder / name))
    if manifest.get("status") not in ENDED:
        yield from _checkpoint(folder, manifest.get("identity"))


def _checkpoint(folder: Path, identity: object) -> Iterator[Verdict]:
    """The files that --resume would use; `identity` is that of the run."""
    name = f"{files.CHECKPOINT}/{checkpoint.INDEX}"
    try:
        index = checkpoint.read_index(folder)
    except RunDirError as error:
        yield Verdict(name, None, error.text.removeprefix(f"{folder / name} ").removeprefix("is "))
        return
    if index is None:
        return
    yield Verdict(name, None, "" if identity == index.identity else "the checkpoint of another run")
    for path, known in index.paths(folder).items():
        yield Verdict(str(path.relative_to(folder)), known.size, known.fault(path))


def _seal_fault(manifest: dict[str, object]) -> str:
    try:
        files.check_seal(manifest)
    except files.DamageError as error:
        return str(error)
    return ""

"""Integrity of a study's folder: every file that study.json lists, the journal line by line, and its run directories.

Files that no index lists are not checked: those of the user, and optuna.journal, which is made again by --resume.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fabric.errors import RunDirError
from fabric.runs import files, lock
from fabric.runs import integrity as run_integrity
from fabric.runs.integrity import Verdict
from fabric.studies import journal
from fabric.studies.dataset import FORMAT, INDEX, KEPT

RUN_DIRECTORIES: Final = "run_directories"
"""Key of study.json: names of run directories inside the folder, besides those of kept/."""
_INNER: Final = frozenset({KEPT, "baseline", "worst"})


def is_study(folder: Path) -> bool:
    """Whether a folder holds a study, and not a run."""
    return (folder / INDEX).is_file() and not (folder / files.MANIFEST).is_file()


def examine(folder: Path) -> list[Verdict]:
    """Every file of a study; study.json comes first.

    Where it cannot be read, no other file is checked. Raises: RunDirError where another process writes to the folder,
    or another format wrote it.
    """
    owner = lock.writer(folder)
    if owner is not None:
        raise RunDirError(f"{folder} is being written by {owner}", "wait for its end")
    return list(_verdicts(folder))


def _verdicts(folder: Path) -> Iterator[Verdict]:
    try:
        index = files.read_index(folder / INDEX)
    except files.DamageError as error:
        yield Verdict(INDEX, None, f"{error}; without it no other file can be checked")
        return
    try:
        files.check_seal(index)
        fault = ""
    except files.DamageError as error:
        fault = str(error)
    if index.get("format") != FORMAT and not fault:
        raise RunDirError(
            f"{folder / INDEX}: format is {index.get('format')!r}, this version reads {FORMAT}",
            "verify it with the version that wrote it",
        )
    yield Verdict(INDEX, None, fault)
    yield from _listed(folder, index)
    yield Verdict(journal.NAME, None, journal.fault(folder / journal.NAME))
    for inner in sorted(_run_directories(folder, index)):
        yield from _run(folder, inner)


def _listed(folder: Path, index: dict[str, Any]) -> Iterator[Verdict]:
    try:
        parts = {f"{name}/": files.listed(sums) for name, sums in index["files"].items()}
        parts[""] = files.listed(index.get("products", {}))
    except (KeyError, TypeError, ValueError, AttributeError):
        return  # the index is damaged, and has been named
    for prefix, sums in parts.items():
        for name, known in sums.items():
            yield Verdict(f"{prefix}{name}", known.size, known.fault(folder / prefix / name))


def _run_directories(folder: Path, index: dict[str, Any]) -> set[str]:
    named = index.get(RUN_DIRECTORIES, [])
    found = {it for it in named if it in _INNER} if isinstance(named, list) else set()
    kept = folder / KEPT
    return found | {f"{KEPT}/{it.name}" for it in (kept.iterdir() if kept.is_dir() else ()) if it.is_dir()}


def _run(folder: Path, inner: str) -> Iterator[Verdict]:
    try:
        for it in run_integrity.examine(folder / inner):
            yield it._replace(file=f"{inner}/{it.file}")
    except RunDirError as error:
        yield Verdict(inner, None, error.text.removeprefix(f"{folder / inner} "))

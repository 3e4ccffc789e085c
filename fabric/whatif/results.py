"""The folder of a what-if study: finished runs in the journal of fabric/studies, so that a killed study is continued.

    study.json       the question, the status, and the checksums of the other files
    journal.jsonl    a line for each finished run (fabric/studies/journal.py)
    baseline/        run directory without a failure; worst/: that of the worst failure
    whatif.json      and whatif.html: the findings

There is no table of runs as a sweep has: a case has no parameters, and its facts are few (measure.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from fabric import __version__
from fabric.errors import FabricError, RunDirError
from fabric.runs import files, lock
from fabric.runs.files import Sum
from fabric.studies import journal
from fabric.studies.dataset import FORMAT, INDEX, WHAT_IF, WHAT_IF_DATA
from fabric.studies.integrity import RUN_DIRECTORIES
from fabric.whatif.carry_out import Outcome
from fabric.whatif.felt import Felt
from fabric.whatif.measure import Compared, Measured

DATA: Final = WHAT_IF_DATA
PAGE: Final = "whatif.html"
_FIELDS: Final = {it.name for it in fields(Outcome)}


@dataclass(frozen=True)
class Kept:
    """The result of one case."""

    outcome: Outcome | None
    failure: str
    """Why there is no outcome; '' where there is one."""
    wall_s: float


class Results:
    """The folder of a study. Use `claimed()`, which locks it."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], *, resume: bool) -> None:
        """Begin a study, or continue one.

        Raises: FabricError where the folder holds another study, or one that was not asked for.
        """
        self.folder = folder
        self.found: dict[str, Kept] = {}
        self._index: dict[str, Any] = {
            "format": FORMAT,
            "kind": WHAT_IF,
            "version": __version__,
            "status": "running",
            "identity": json.loads(json.dumps(identity)),
            "files": {},
            "products": {},
            RUN_DIRECTORIES: [],
        }
        whole = b""
        if resume:
            whole = self._resumed()
        elif (folder / INDEX).exists():
            raise FabricError(
                f"{folder} holds a what-if study already", "continue it with --resume, or give another --out"
            )
        else:
            with files.naming(folder):
                folder.mkdir(parents=True, exist_ok=True)
        files.write_index(folder / INDEX, self._index)
        self._journal = journal.Journal(folder / journal.NAME, whole)

    def add(self, key: str, kept: Kept) -> None:
        """Keep one result. When this returns, it is on the disk."""
        self.found[key] = kept
        outcome = None if kept.outcome is None else asdict(kept.outcome)
        self._journal.add({"key": key, "outcome": outcome, "failure": kept.failure, "wall_s": kept.wall_s})

    def end(self, status: str, products: Mapping[str, Sum], run_directories: list[str]) -> None:
        """Keep the status, and the checksums of the findings."""
        self._index |= {"status": status, "products": files.listing(products), RUN_DIRECTORIES: run_directories}
        files.write_index(self.folder / INDEX, self._index)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _resumed(self) -> bytes:
        """Read the results so far. Returns: the whole lines of the journal."""
        path = self.folder / INDEX
        if not path.is_file():
            raise FabricError(
                f"{self.folder} holds no what-if study", "name its folder with --out, or leave --resume out"
            )
        try:
            index = files.read_index(path)
            files.check_seal(index)
        except files.DamageError as error:
            raise RunDirError(f"{path} is {error}", "restore it, or give another --out") from error
        begun, asked = index.get("identity"), self._index["identity"]
        if begun != asked and isinstance(begun, dict) and begun.get("code") != asked.get("code"):
            raise FabricError(
                f"{self.folder} was begun with other code of this program, or with another version of Python or Numba: "
                "its runs and new ones may differ",
                "go on with the installation it was begun with, or give another --out",
            )
        if begun != asked:
            raise FabricError(
                f"{self.folder} holds the study of another scenario, or with other options",
                "repeat the command that began it with --resume, or give another --out",
            )
        rows, whole = journal.read(self.folder / journal.NAME)
        try:
            foreign = any(row["outcome"] is not None and row["outcome"].keys() != _FIELDS for row in rows)
        except (AttributeError, KeyError, TypeError):
            foreign = True
        if foreign:
            raise FabricError(
                f"{self.folder / journal.NAME} has results of another version of fabric, which measured other facts",
                "begin the study again with another --out",
            )
        for row in rows:
            self.found[row["key"]] = Kept(_outcome(row["outcome"]), row["failure"], row["wall_s"])
        return whole


@contextmanager
def claimed(folder: Path, identity: Mapping[str, Any], *, resume: bool) -> Iterator[Results]:
    """The folder, created where it is missing, locked while this process writes to it.

    Raises: FabricError as Results; RunDirError where another process writes to it.
    """
    if folder.exists() and not folder.is_dir():
        raise RunDirError(f"{folder} is a file", "give another --out")
    if not resume:
        with files.naming(folder):
            folder.mkdir(parents=True, exist_ok=True)
    elif not folder.is_dir():
        raise FabricError(f"{folder} holds no what-if study", "name its folder with --out, or leave --resume out")
    with lock.held(folder):
        results = Results(folder, identity, resume=resume)
        try:
            yield results
        finally:
            results.close()


def _outcome(row: Mapping[str, Any] | None) -> Outcome | None:
    if row is None:
        return None
    against = None if row["compared"] is None else Compared(**row["compared"])
    noticed = None if row["felt"] is None else Felt(**row["felt"])
    facts = row["headline"], row["packet_hops"], row["peak_rss_bytes"]
    return Outcome(Measured(**row["measured"]), against, *facts, noticed)

"""The folder of a study on disk. A run that has finished is never lost, whatever is killed, and when.

    study.json      the study as written, what decides its runs, and the checksum of every part; written last
    journal.jsonl   finished runs that are in no part yet (journal.py)
    runs/           parts of the table of runs: one Parquet dataset (columns.py)
    costs/          parts of the table of what each run took
    report.html     and points.json: made from the tables, again at every end; a search has patches, too. Their
                    checksums are in study.json as well
    kept/           run directories, where the study keeps them

Rules
1. A finished run is a line of the journal before the next one is asked for.
2. The journal becomes parts (PART_ROWS rows) in three steps: the parts are written, study.json lists them, the journal
   is emptied. After a kill between the steps a run is in both; it is read once.
3. Rows of the table of runs hold nothing that depends on the machine, and are read in the order of their numbers: the
   table of an interrupted and resumed study is that of one which was not, to the byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from fabric import __version__
from fabric.errors import RunDirError
from fabric.runs import files, lock, parquet
from fabric.runs.content import Content
from fabric.runs.files import Sum
from fabric.studies import journal
from fabric.studies.columns import COSTS
from fabric.studies.journal import Journal

INDEX: Final = "study.json"
JOURNAL: Final = journal.NAME
RUNS, COSTS_FOLDER = "runs", "costs"
KEPT: Final = "kept"
REPORT: Final = "report.html"
POINTS: Final = "points.json"
WHAT_IF: Final = "what-if"
"""study.json's "kind" of a folder of fabric/whatif, which has no table of runs."""
WHAT_IF_DATA: Final = "whatif.json"
FORMAT: Final = 1
PART_ROWS: Final = 500
_AGAIN: Final = "restore it, or start the study again with --force"
_OURS: Final = (INDEX, JOURNAL, RUNS, COSTS_FOLDER, KEPT, REPORT, POINTS)


class StudyFolder:
    """A study's folder that this process writes. Use `claimed()`.

    Parameters
    ----------
    path : Path
    schema : pa.Schema      of the table of runs
    check : callable        raises RunDirError where another process has taken the folder
    """

    def __init__(self, path: Path, schema: pa.Schema, check: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self._schema = schema
        self._check = check
        self._index: dict[str, Any] = {}
        self._sums: dict[str, dict[str, Sum]] = {RUNS: {}, COSTS_FOLDER: {}}
        self._rows: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._journal: Journal | None = None

    def begin(self, about: Mapping[str, Any]) -> None:
        """Start a study; `about` is kept in study.json, `identity` in it guards --resume."""
        for folder in (RUNS, COSTS_FOLDER):
            (self.path / folder).mkdir(exist_ok=True)
        self._index = {"format": FORMAT, "version": __version__, "status": "running", "products": {}, **about}
        self._write_index()
        self._open_journal(b"")

    def resume(self, about: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Take a study up again. Returns: the rows of its finished runs.

        Raises: RunDirError where the folder holds another study, or is damaged.
        """
        found = _read_index(self.path)
        if found["identity"] != about["identity"]:
            if found.get("code") != about.get("code"):
                raise RunDirError(
                    f"{self.path} was begun with other code of this program, or with another version of Python or "
                    "Numba: its runs and new ones may differ",
                    "go on with the installation it was begun with, give another --out, or --force to start again",
                )
            if found.get("optuna") != about.get("optuna"):
                raise RunDirError(
                    f"{self.path} was begun with optuna {found.get('optuna')}, and here is {about.get('optuna')}, "
                    "which would ask for other points",
                    "install the one it was begun with, give another --out, or --force to start again",
                )
            raise RunDirError(
                f"{self.path} is another study: its scenarios, parameters, seeds or warm-up differ",
                "give the same study, another --out, or --force to start again",
            )
        self._sums = {name: files.listed(found["files"][name]) for name in (RUNS, COSTS_FOLDER)}
        self._index = {**found, **about, "status": "running", "products": {}}
        table = _table(self.path, self._sums[RUNS], RUNS, self._schema)
        finished = {row["run"]: row for row in table.to_pylist()}
        lines, whole = journal.read(self.path / JOURNAL)
        self._rows = [it for it in lines if it[0]["run"] not in finished]
        self._remove_strays()
        self._open_journal(whole)
        return [*finished.values(), *(row for row, _ in self._rows)]

    def add(self, row: Mapping[str, Any], cost: Mapping[str, Any]) -> None:
        """Keep a finished run. When this returns, it is on the disk."""
        self._rows.append((dict(row), dict(cost)))
        assert self._journal is not None  # noqa: S101  begin() or resume() came first
        self._journal.add([row, cost])
        if len(self._rows) >= PART_ROWS:
            self.flush()

    def flush(self) -> None:
        """Make parts of the journal."""
        self._check()
        if not self._rows:
            return
        number = len(self._sums[RUNS])
        for name, schema, place in ((RUNS, self._schema, 0), (COSTS_FOLDER, COSTS, 1)):
            rows = sorted((it[place] for it in self._rows), key=lambda row: int(row["run"]))
            table = pa.Table.from_pylist(rows, schema=schema)
            part = self.path / name / f"part-{number:05}.parquet"
            with files.replacing(part, self._sums[name]) as pending, pending.open("wb") as out:
                pq.write_table(table, out, compression="zstd")
        self._write_index()
        self._rows = []
        self._open_journal(b"")

    def end(self, status: str) -> None:
        """Write the parts and the status: done, or interrupted."""
        self.flush()
        self._index |= {"status": status}
        self._write_index()

    def keep(self, products: Mapping[str, Sum]) -> None:
        """Keep the checksums of files that were made from the table, by name."""
        self._index["products"] = files.listing(products)
        self._write_index()

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _open_journal(self, content: bytes) -> None:
        self.close()
        self._journal = Journal(self.path / JOURNAL, content)

    def _write_index(self) -> None:
        self._index["files"] = {name: files.listing(sums) for name, sums in self._sums.items()}
        files.write_index(self.path / INDEX, self._index)

    def _remove_strays(self) -> None:
        """Parts that study.json does not list, of a process that was killed between two steps."""
        for name, sums in self._sums.items():
            (self.path / name).mkdir(exist_ok=True)
            for it in (self.path / name).iterdir():
                if it.name not in sums:
                    it.unlink()


@contextmanager
def claimed(path: Path, schema: pa.Schema, *, resume: bool, force: bool) -> Iterator[StudyFolder]:
    """The folder, created where it is missing, locked while this process writes to it.

    Raises: RunDirError where it is in use, or not empty and neither resumed nor replaced.
    """
    if path.exists() and not path.is_dir():
        raise RunDirError(f"{path} is a file", "give another --out")
    held = path.is_dir() and any(it.name != lock.NAME for it in path.iterdir())
    ours = (path / INDEX).is_file() and not _is_whatif(path)
    if resume and not ours:
        raise RunDirError(f"{path} holds no study to resume", "leave --resume out to start one")
    if held and not ours and not resume:
        raise RunDirError(f"{path} is not empty and holds no study", "give another --out")
    if held and not resume and not force:
        raise RunDirError(
            f"{path} holds a study", "give another --out, --resume to take it up again, or --force to replace it"
        )
    path.mkdir(parents=True, exist_ok=True)
    with lock.held(path) as check:
        if held and not resume:
            for found in [*(path / name for name in _OURS), *path.glob("patch-*")]:
                shutil.rmtree(found) if found.is_dir() else found.unlink(missing_ok=True)
        folder = StudyFolder(path, schema, check)
        try:
            yield folder
        finally:
            folder.close()


class StudyResults:
    """A study's folder, read. Every part is compared with its checksum when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index = _read_index(path)
        self._sums = {name: files.listed(self.index["files"][name]) for name in (RUNS, COSTS_FOLDER)}

    @property
    def status(self) -> str:
        """'done', 'interrupted', or 'running' (also of a study that was killed)."""
        return str(self.index["status"])

    def runs(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The table of runs in the order of their numbers, with these columns only.

        Raises: RunDirError where a part is missing or damaged, or has no such column.
        """
        if columns is None:
            return _table(self.path, self._sums[RUNS], RUNS, None)
        try:
            found = _table(self.path, self._sums[RUNS], RUNS, None, [*dict.fromkeys(["run", *columns])])
        except KeyError:
            known = self.runs().column_names
            unknown = ", ".join(name for name in columns if name not in known)
            raise RunDirError(f"{self.path} has no column {unknown}", "runs() without columns has all") from None
        return found.select([name for name in columns if name in found.column_names])

    def costs(self) -> pa.Table:
        """The table of what each run took."""
        return _table(self.path, self._sums[COSTS_FOLDER], COSTS_FOLDER, COSTS)

    def digest(self) -> str:
        """SHA-256 over the values of the table of runs."""
        content = Content()
        content.add_table(RUNS, self.runs())
        return content.hexdigest("")


def _table(
    path: Path, sums: Mapping[str, Sum], name: str, schema: pa.Schema | None, columns: Sequence[str] | None = None
) -> pa.Table:
    found = []
    for part, known in sorted(sums.items()):
        file = path / name / part
        fault = known.fault(file)
        if fault:
            raise RunDirError(f"{file} is {fault}", _AGAIN)
        try:
            with file.open("rb") as source:
                found.append(parquet.read(source, columns))
        except pa.ArrowInvalid as error:
            raise RunDirError(f"{file} cannot be read: {error}", _AGAIN) from error
    if not found:
        return (schema or pa.schema([("run", pa.int64())])).empty_table()
    return pa.concat_tables(found).sort_by("run").combine_chunks()


def _read_index(path: Path) -> dict[str, Any]:
    file = path / INDEX
    if not file.is_file():
        raise RunDirError(f"{path} holds no study: it has no {INDEX}", "give the directory named by --out")
    try:
        found = files.read_index(file)
        files.check_seal(found)
    except files.DamageError as error:
        raise RunDirError(f"{file} is {error}", _AGAIN) from error
    if found.get("kind") == WHAT_IF:
        raise RunDirError(f"{path} holds a what-if study", f"read its {WHAT_IF_DATA}, or give another --out")
    if found.get("format") != FORMAT:
        raise RunDirError(
            f"{file}: format is {found.get('format')!r}, this version reads {FORMAT}",
            "read it with the version that wrote it",
        )
    return found


def _is_whatif(path: Path) -> bool:
    """Whether the folder is that of a what-if study, which --force must not replace by another kind."""
    try:
        return files.read_index(path / INDEX).get("kind") == WHAT_IF
    except files.DamageError:
        return False

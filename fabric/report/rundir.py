"""Reading a run directory: the one door to a run's results for tables, reports and playbooks.

Everything is lazy: opening reads manifest.json alone, each table is read from its Parquet file when it is asked for,
and compared with its checksum the first time. A file that the manifest does not list is not part of the run, even if it
is there: another process may be writing it. So a reader beside a writer gets one state of the run, or an error.

A run that was killed has no Parquet files of events and time series yet; those are then read from the parts that its
last checkpoint lists, so nothing here ever shows rows that a resumed run would take back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from fabric.errors import RunDirError
from fabric.report import checkpoint, files, lock, parts, schemas
from fabric.report.topology_file import fabric_from_json
from fabric.topology.model import Fabric

FORMAT: Final = 3
"""Version of the directory's layout; manifest.json carries it as "format". 2: summary.json has units in its names and
no picoseconds, manifest.json the whole resolved scenario. 3: manifest.json and checkpoint.json hold checksums."""
_AGAIN: Final = "run the scenario again with --force"


class RunDir:
    """One run's results. Use `RunDir.open(path)`."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path = path
        self.manifest = manifest
        self._listed = files.listed(manifest["files"])
        self._whole: set[str] = set()
        """Files that were compared with their checksums."""

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a directory that `fabric run` wrote.

        Raises: RunDirError where there is no manifest, it is damaged, or another format wrote it.
        """
        folder = Path(path)
        if not folder.is_dir():
            raise RunDirError(f"{folder} is not a directory", "give the directory named by --out of `fabric run`")
        if not (folder / files.MANIFEST).is_file():
            owner = lock.writer(folder)
            if owner is not None:
                raise RunDirError(f"{folder} is being written by {owner}, which has not begun its run yet", "try again")
            raise RunDirError(
                f"{folder} has no {files.MANIFEST}: no run was written there",
                "give the directory named by --out of `fabric run`",
            )
        path = folder / files.MANIFEST
        try:
            manifest = files.read_index(path)
            _check_format(path, manifest)
            files.check_seal(manifest)
            _check_shape(manifest)
            return cls(folder, manifest)
        except files.DamageError as error:
            raise RunDirError(f"{path} is damaged: {error}", _AGAIN) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunDirError(f"{path} was written by another version: {error!r}", _AGAIN) from error
        except OSError as error:
            raise RunDirError(f"{path} cannot be read: {error.strerror}", _AGAIN) from error

    @property
    def status(self) -> str:
        """'running' (or killed), 'done', 'interrupted' or 'stopped-no-progress'."""
        return str(self.manifest["status"])

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """summary.json. Raises: RunDirError while the run has not ended."""
        return self._json(files.SUMMARY)

    @cached_property
    def fabric(self) -> Fabric:
        """The topology the run was made on."""
        return fabric_from_json(self._json(files.TOPOLOGY))

    def messages(self, columns: Sequence[str] | None = None) -> pa.Table:
        """One row per message: schemas.MESSAGES."""
        return self._table(files.MESSAGES, schemas.MESSAGES, columns)

    def counters(self, observables: Sequence[str] | None = None) -> pa.Table:
        """Every observable's value at the end, zeros left out: schemas.COUNTERS."""
        return self._table(files.COUNTERS, schemas.COUNTERS, None, _among("observable", observables))

    def timeseries(self, observables: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Changes of every observable over time (all, or the ones named): schemas.TIMESERIES."""
        return self._stream(
            files.TIMESERIES, schemas.TIMESERIES, parts.SERIES, columns, _among("observable", observables)
        )

    def events(self, kinds: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """The event log (all kinds, or the ones named): schemas.EVENTS."""
        return self._stream(files.EVENTS, schemas.EVENTS, parts.EVENTS, columns, _among("kind", kinds))

    def truth(self) -> pa.Table:
        """Faults that the scenario injected, one row each; columns as the faults declare them."""
        text = self.file(files.TRUTH).read_text(encoding="utf-8")
        return pa.Table.from_pylist([json.loads(line) for line in text.splitlines() if line])

    def file(self, name: str) -> Path:
        """A file of the run that is as it was written. Raises: RunDirError where it is not, or not there yet."""
        path = self.path / name
        known = self._listed.get(name)
        if known is None:
            raise RunDirError(f"{path} is not there: {self._why_not()[0]}", self._why_not()[1])
        if name not in self._whole:
            fault = known.fault(path)
            if fault:
                raise self._damage([f"{path} is {fault}"])
            self._whole.add(name)
        return path

    def verify(self) -> None:
        """Compare every file that the manifest lists. Raises: RunDirError naming those that are damaged."""
        faults = {name: known.fault(self.path / name) for name, known in self._listed.items()
                  if name not in self._whole}
        self._whole |= {name for name, fault in faults.items() if not fault}
        damaged = [f"{self.path / name} is {fault}" for name, fault in faults.items() if fault]
        if damaged:
            raise self._damage(damaged)

    @property
    def listed(self) -> Mapping[str, files.Sum]:
        """Files that belong to the run, with their checksums."""
        return self._listed

    def _why_not(self) -> tuple[str, str]:
        """Why results are not there, and the remedy."""
        if self.status == "broken-invariant":
            return "a law of the model was broken, and the run has no results", "see manifest.json for the error"
        owner = lock.writer(self.path)
        if owner is not None:
            return f"the run is being written by {owner}", "wait for its end"
        return "the run was killed before its end", f"finish it with `fabric run SCENARIO --out {self.path} --resume`"

    def _damage(self, damaged: Sequence[str]) -> RunDirError:
        """The error for files that are not as they were written; the run may have been replaced under our eyes."""
        try:
            same = files.read_index(self.path / files.MANIFEST).get(files.SEAL) == self.manifest[files.SEAL]
        except (OSError, files.DamageError):
            same = False
        if not same:
            return RunDirError(f"{self.path} was written again while it was read", "try again")
        return RunDirError("\n".join(damaged), _AGAIN)

    def _json(self, name: str) -> dict[str, Any]:
        path = self.file(name)
        try:
            value = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise RunDirError(f"{path} cannot be read: {error}", _AGAIN) from error
        if not isinstance(value, dict):
            raise RunDirError(f"{path} is not an object", _AGAIN)
        return value

    def _table(
        self,
        name: str,
        schema: pa.Schema,
        columns: Sequence[str] | None,
        filters: list[tuple[str, str, list[str]]] | None = None,
    ) -> pa.Table:
        path = self.file(name)
        _known(schema, columns)
        try:
            with path.open("rb") as file:
                return pq.read_table(file, columns=None if columns is None else list(columns), filters=filters)
        except (pa.ArrowException, OSError) as error:
            raise RunDirError(f"{path} cannot be read: {error}", _AGAIN) from error

    def _stream(
        self,
        name: str,
        schema: pa.Schema,
        stream: parts.Stream,
        columns: Sequence[str] | None,
        filters: list[tuple[str, str, list[str]]] | None,
    ) -> pa.Table:
        if name in self._listed:
            return self._table(name, schema, columns, filters)
        _known(schema, columns)
        index = checkpoint.read_index(self.path)
        table = parts.read_all(self.path, stream, index.parts.get(stream.name, ()) if index else (), self.fabric)
        if filters is not None:
            column, _, wanted = filters[0]
            table = table.filter(pa.compute.is_in(table[column], pa.array(wanted)))
        return table if columns is None else table.select(list(columns))


def _check_format(path: Path, manifest: Mapping[str, Any]) -> None:
    """Before the seal: older formats have none."""
    if manifest.get("format") != FORMAT:
        raise RunDirError(f"{path}: format is {manifest.get('format')!r}, this version reads {FORMAT}",
                          "run the scenario again with this version")


def _check_shape(manifest: Mapping[str, Any]) -> None:
    """Raises: KeyError, TypeError where what is read before the tables is not there, or is something else."""
    for name in ("version", "name", "status", "identity"):
        if not isinstance(manifest[name], str):
            raise TypeError(f"{name} is not text")
    if not isinstance(manifest["scenario"], dict):
        raise TypeError("scenario is not an object")
    for name in ("threads", "scheduler", "order"):
        _ = manifest["how"][name]


def _among(column: str, names: Sequence[str] | None) -> list[tuple[str, str, list[str]]] | None:
    return None if names is None else [(column, "in", list(names))]


def _known(schema: pa.Schema, columns: Sequence[str] | None) -> None:
    unknown = [column for column in columns or () if column not in schema.names]
    if unknown:
        raise RunDirError(f"no column {', '.join(unknown)}", f"columns are {', '.join(schema.names)}")

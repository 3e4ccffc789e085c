"""Reading a run directory: the one door to a run's results for tables, reports and playbooks.

Everything is lazy: opening reads manifest.json alone, each table is read from its Parquet file when it is asked for.
A run that was killed has no Parquet files of events and time series yet; those are then read from the parts that its
last checkpoint names, so nothing here ever shows rows that a resumed run would take back.
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
from fabric.report import files, parts, schemas
from fabric.report.topology_file import fabric_from_json
from fabric.topology.model import Fabric

FORMAT: Final = 2
"""Version of the directory's layout; manifest.json carries it as "format". 2: summary.json has units in its names and
no picoseconds, manifest.json the whole resolved scenario."""


class RunDir:
    """One run's results. Use `RunDir.open(path)`."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a directory that `fabric run` wrote.

        Raises: RunDirError where there is no manifest, it cannot be read, or another format wrote it.
        """
        folder = Path(path)
        if not folder.is_dir():
            raise RunDirError(f"{folder} is not a directory", "give the directory named by --out of `fabric run`")
        if not (folder / files.MANIFEST).is_file():
            raise RunDirError(
                f"{folder} has no {files.MANIFEST}: no run was written there",
                "give the directory named by --out of `fabric run`",
            )
        manifest = _json(folder / files.MANIFEST)
        if manifest.get("format") != FORMAT:
            raise RunDirError(
                f"{folder / files.MANIFEST}: format is {manifest.get('format')!r}, this version reads {FORMAT}",
                "run the scenario again with this version",
            )
        return cls(folder, manifest)

    @property
    def status(self) -> str:
        """'running' (or killed), 'done', 'interrupted' or 'stopped-no-progress'."""
        return str(self.manifest["status"])

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """summary.json. Raises: RunDirError while the run has not ended."""
        return _json(self._existing(files.SUMMARY))

    @cached_property
    def fabric(self) -> Fabric:
        """The topology the run was made on."""
        return fabric_from_json(_json(self._existing(files.TOPOLOGY)))

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
        text = self._existing(files.TRUTH).read_text(encoding="utf-8")
        return pa.Table.from_pylist([json.loads(line) for line in text.splitlines() if line])

    def _existing(self, name: str) -> Path:
        path = self.path / name
        if not path.is_file():
            state = "it was killed or still runs" if self.status == "running" else "the directory is damaged"
            raise RunDirError(
                f"{path} is not there: {state}", f"finish it with `fabric run SCENARIO --out {self.path} --resume`"
            )
        return path

    def _table(
        self,
        name: str,
        schema: pa.Schema,
        columns: Sequence[str] | None,
        filters: list[tuple[str, str, list[str]]] | None = None,
    ) -> pa.Table:
        path = self._existing(name)
        _known(schema, columns)
        try:
            return pq.read_table(path, columns=None if columns is None else list(columns), filters=filters)
        except (pa.ArrowException, OSError) as error:
            raise RunDirError(
                f"{path} cannot be read: {error}", "the file is damaged; run the scenario again"
            ) from error

    def _stream(
        self,
        name: str,
        schema: pa.Schema,
        stream: parts.Stream,
        columns: Sequence[str] | None,
        filters: list[tuple[str, str, list[str]]] | None,
    ) -> pa.Table:
        if (self.path / name).is_file():
            return self._table(name, schema, columns, filters)
        _known(schema, columns)
        table = parts.read_all(self.path, stream, self.fabric)
        if filters is not None:
            column, _, wanted = filters[0]
            table = table.filter(pa.compute.is_in(table[column], pa.array(wanted)))
        return table if columns is None else table.select(list(columns))


def _among(column: str, names: Sequence[str] | None) -> list[tuple[str, str, list[str]]] | None:
    return None if names is None else [(column, "in", list(names))]


def _known(schema: pa.Schema, columns: Sequence[str] | None) -> None:
    unknown = [column for column in columns or () if column not in schema.names]
    if unknown:
        raise RunDirError(f"no column {', '.join(unknown)}", f"columns are {', '.join(schema.names)}")


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunDirError(f"{path} cannot be read: {error}", "the file is damaged; run the scenario again") from error
    if not isinstance(value, dict):
        raise RunDirError(f"{path} does not hold an object", "the file is damaged; run the scenario again")
    return value

"""Reading a run directory: the interface to the results of a run for tables, reports and playbooks.

Reading is lazy: opening reads only manifest.json; each table is read from its Parquet file at its first use, and
compared with its checksum the first time. A file that the manifest does not list is not part of the run, even if it
exists: another process may be writing it. So a reader beside a writer gets one state of the run, or an error.

A run that was killed has no Parquet files of events and time series yet; those are then read from the parts that its
last checkpoint lists, so readers never see rows that a resumed run would remove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa

from fabric.errors import RunDirError
from fabric.reading import json_value
from fabric.runs import checkpoint, files, lock, parquet, parts, schemas
from fabric.runs.topology_file import fabric_from_json
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS
from fabric.visible import command, visible

FORMAT: Final = 3
"""Version of the directory's layout; manifest.json carries it as "format". 2: summary.json has units in its names and
no picoseconds, manifest.json the whole resolved scenario. 3: manifest.json and checkpoint.json hold checksums."""
_AGAIN: Final = "run the scenario again with --force"


def _which(folder: Path) -> str:
    """What to give: the run of a like name beside it, where there is one."""
    there = [it.parent for it in folder.parent.glob(f"*/{files.MANIFEST}")]
    near = get_close_matches(folder.name, [it.name for it in there], n=1)
    return f"did you mean '{folder.parent / near[0]}'?" if near else "give the directory named by --out of `fabric run`"


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
            scheme, *rest = folder.parts or ("",)
            if scheme in {"http:", "https:"}:
                url = f"{scheme}//{'/'.join(rest)}"
                hint = f"of a run that is served: `fabric explain roots {url}`, `fabric top {url}`"
                raise RunDirError(f"{url} is an address, and this command reads the directory of a finished run", hint)
            raise RunDirError(f"{folder} is not a directory", _which(folder))
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

    @property
    def sampling_ns(self) -> int:
        """Time between two samples of counters and gauges."""
        return int(self.manifest["sampling_ps"]) // PS_PER_NS

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """summary.json. Raises: RunDirError while the run has not ended."""
        return self._json(files.SUMMARY)

    @cached_property
    def fabric(self) -> Fabric:
        """The topology of the run."""
        return fabric_from_json(self._json(files.TOPOLOGY))

    def messages(self, columns: Sequence[str] | None = None) -> pa.Table:
        """One row per message: schemas.MESSAGES."""
        return self._table(files.MESSAGES, schemas.MESSAGES, columns)

    def transfers(self, columns: Sequence[str] | None = None) -> pa.Table:
        """One row per transfer: schemas.TRANSFERS; no row where the run has none."""
        return self._where_present(files.TRANSFERS, schemas.TRANSFERS, columns)

    def transfer_messages(self, columns: Sequence[str] | None = None) -> pa.Table:
        """One row per message of a transfer, in the order of their ends: schemas.TRANSFER_MESSAGES.

        Raises: RunDirError where the run has transfers and did not record their messages.
        """
        if files.TRANSFER_MESSAGES not in self._listed and files.TRANSFERS in self._listed:
            raise RunDirError(
                f"{self.path} did not record the messages of transfers",
                "run the scenario again with telemetry.transfer_messages: on",
            )
        return self._where_present(files.TRANSFER_MESSAGES, schemas.TRANSFER_MESSAGES, columns)

    def schedule(self) -> pa.Table:
        """What each transfer asked for: schemas.SCHEDULE; no row where the run has none."""
        return self._where_present(files.SCHEDULE, schemas.SCHEDULE, None)

    def needs(self) -> pa.Table:
        """What transfers waited for: schemas.NEEDS."""
        return self._where_present(files.NEEDS, schemas.NEEDS, None)

    def datagrams(self) -> pa.Table:
        """One row per stream of datagrams: schemas.DATAGRAMS; no row where the run has none."""
        return self._where_present(files.DATAGRAMS, schemas.DATAGRAMS, None)

    def _where_present(self, name: str, schema: pa.Schema, columns: Sequence[str] | None) -> pa.Table:
        if name not in self._listed and files.MESSAGES in self._listed:
            _known(schema, columns)
            return schema.empty_table().select(list(columns) if columns is not None else schema.names)
        return self._table(name, schema, columns)

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
        path = self.file(files.TRUTH)
        try:
            text = path.read_text(encoding="utf-8")
            return pa.Table.from_pylist([json_value(line) for line in text.splitlines() if line])
        except (OSError, ValueError, TypeError, AttributeError, pa.ArrowException) as error:
            raise RunDirError(f"{path} cannot be read: {error}", _AGAIN) from error

    def file(self, name: str) -> Path:
        """An intact file of the run. Raises: RunDirError where it is damaged or does not exist yet."""
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
        faults = {
            name: known.fault(self.path / name) for name, known in self._listed.items() if name not in self._whole
        }
        self._whole |= {name for name, fault in faults.items() if not fault}
        damaged = [f"{self.path / name} is {fault}" for name, fault in faults.items() if fault]
        if damaged:
            raise self._damage(damaged)

    @property
    def listed(self) -> Mapping[str, files.Sum]:
        """Files that belong to the run, with their checksums."""
        return self._listed

    def _why_not(self) -> tuple[str, str]:
        """The reason why results are missing, and the remedy."""
        if self.status == "broken-invariant":
            return "an invariant of the model was broken, and the run has no results", "see manifest.json for the error"
        owner = lock.writer(self.path)
        if owner is not None:
            return f"the run is being written by {owner}", "wait for its end"
        return (
            "the run was killed before its end",
            f"finish it with `fabric run SCENARIO {command('--out', self.path, '--resume')}`",
        )

    def _damage(self, damaged: Sequence[str]) -> RunDirError:
        """The error for damaged files; another process may have replaced the run meanwhile."""
        try:
            same = files.read_index(self.path / files.MANIFEST).get(files.SEAL) == self.manifest[files.SEAL]
        except (OSError, files.DamageError):
            same = False
        if not same:
            return RunDirError(f"{self.path} was written again while it was read", "try again")
        return RunDirError("\n".join(map(visible, damaged)), _AGAIN, many_lines=True)

    def _json(self, name: str) -> dict[str, Any]:
        path = self.file(name)
        try:
            value = json_value(path.read_bytes())
        except (OSError, ValueError) as error:
            raise RunDirError(f"{path} cannot be read: {error}", _AGAIN) from error
        if not isinstance(value, dict):
            raise RunDirError(f"{path} is not an object", _AGAIN)
        return value

    def _table(
        self, name: str, schema: pa.Schema, columns: Sequence[str] | None, within: tuple[str, list[str]] | None = None
    ) -> pa.Table:
        path = self.file(name)
        _known(schema, columns)
        try:
            with path.open("rb") as file:
                return parquet.read(file, columns, within)
        except (pa.ArrowException, OSError) as error:
            raise RunDirError(f"{path} cannot be read: {error}", _AGAIN) from error

    def _stream(
        self,
        name: str,
        schema: pa.Schema,
        stream: parts.Stream,
        columns: Sequence[str] | None,
        within: tuple[str, list[str]] | None,
    ) -> pa.Table:
        if name in self._listed:
            return self._table(name, schema, columns, within)
        _known(schema, columns)
        index = checkpoint.read_index(self.path)
        table = parts.read_all(self.path, stream, index.parts.get(stream.name, ()) if index else (), self.fabric)
        table = parquet.among(table, within)
        return table if columns is None else table.select(list(columns))


def _check_format(path: Path, manifest: Mapping[str, Any]) -> None:
    """Raises: RunDirError for another format; checked before the seal, which older formats do not have."""
    if manifest.get("format") != FORMAT:
        raise RunDirError(
            f"{path}: format is {manifest.get('format')!r}, this version reads {FORMAT}",
            "run the scenario again with this version",
        )


def _check_shape(manifest: Mapping[str, Any]) -> None:
    """Raises: KeyError, TypeError where a key that is read before the tables is missing or has another type."""
    for name in ("version", "name", "status", "identity"):
        if not isinstance(manifest[name], str):
            raise TypeError(f"{name} is not text")
    if not isinstance(manifest["scenario"], dict):
        raise TypeError("scenario is not an object")
    for name in ("threads", "scheduler", "order"):
        _ = manifest["how"][name]


def _among(column: str, names: Sequence[str] | None) -> tuple[str, list[str]] | None:
    return None if names is None else (column, list(names))


def _known(schema: pa.Schema, columns: Sequence[str] | None) -> None:
    unknown = [column for column in columns or () if column not in schema.names]
    if unknown:
        raise RunDirError(f"no column {', '.join(unknown)}", f"columns are {', '.join(schema.names)}")

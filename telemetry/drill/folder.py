"""The folder of a drill: what the trainee may see, the looks so far, and the sealed root.

    drill.json        level, view, the digest of the seal; nothing that tells the scenario
    topology.json     cables and devices, under the drill's names
    metrics.parquet   what the monitoring has read
    alerts.json       alerts that fired on it
    looks.jsonl       a line for each table that was shown
    sealed.txt        the root, packed so that no reader meets it by accident; `fabric drill answer` opens it
    result.json       the score, once the drill is answered

The seal keeps an honest trainee from seeing the answer. It is no encryption: a drill examines nobody.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from fabric.errors import FabricError, InputErrors, RunDirError
from fabric.reading import MIB, inflate, json_value, read_text
from fabric.runs.files import naming, write_json, write_text
from fabric.runs.topology_file import fabric_from_json, fabric_to_json
from fabric.topology.model import Fabric
from telemetry.drill.incidents import ANSWERS
from telemetry.record.store import Store

FORMAT: Final = 1
INDEX: Final = "drill.json"
RESULT: Final = "result.json"
_TOPOLOGY: Final = "topology.json"
_METRICS: Final = "metrics.parquet"
_ALERTS: Final = "alerts.json"
_LOOKS: Final = "looks.jsonl"
_SEAL: Final = "sealed.txt"
_MAX: Final = 64 * MIB
_AGAIN: Final = "start a new drill"


class _Strict(BaseModel):
    """Other keys may stand beside those that are read."""

    model_config = ConfigDict(strict=True, extra="ignore")


class _Index(_Strict):
    """Keys of drill.json that are read."""

    format: int
    started: str
    level: int
    view: str
    duration_ns: int
    choices: list[str]
    shows_alerts: bool
    digest: str


class _Alert(_Strict):
    """Keys of an entry of alerts.json that are read."""

    alert: str
    text: str
    firing_ns: int
    cleared_ns: int | None
    labels: dict[str, str]


class _Result(_Strict):
    """Keys of result.json that are read."""

    points: int
    of: int
    kind: str


class _Secret(_Strict):
    """The sealed root."""

    kind: str
    places: list[str]
    priority: int | None
    evidence: list[str]
    also: list[str]
    names: dict[str, str]
    reproduce: list[str]
    scenario: str
    seed: int


class Folder:
    """One drill on disk."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises: RunDirError where it is no drill."""
        if not (path / INDEX).is_file():
            raise RunDirError(f"{path} holds no drill", "start one with `fabric drill start --out DIR`")
        self.path = path
        found = self._json(INDEX)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise RunDirError(f"{path / INDEX} is of another release", _AGAIN)
        self.index: dict[str, Any] = self._shaped(INDEX, found, _Index)
        try:
            datetime.fromisoformat(self.index["started"]).astimezone(UTC)
        except (OverflowError, ValueError) as error:
            raise RunDirError(f"{path / INDEX} is damaged: 'started' is no time", _AGAIN) from error

    @classmethod
    def write(
        cls,
        path: Path,
        index: Mapping[str, Any],
        fabric: Fabric,
        seen: Store,
        alerts: Sequence[Mapping[str, Any]],
        secret: Mapping[str, Any],
    ) -> Folder:
        """Begin a drill. Raises: FabricError where the folder is not empty."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise FabricError(f"{path} exists and is not empty", "give another --out")
        with naming(path):
            path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(secret, sort_keys=True)
        write_json(path / _TOPOLOGY, fabric_to_json(fabric))
        with naming(path / _METRICS):
            seen.write(path / _METRICS)
        write_json(path / _ALERTS, alerts)
        write_text(path / _SEAL, base64.b64encode(zlib.compress(text.encode())).decode() + "\n")
        write_json(path / INDEX, {"format": FORMAT, **index, "digest": sha256(text.encode()).hexdigest()})
        return cls(path)

    @cached_property
    def fabric(self) -> Fabric:
        """The topology under the drill's names."""
        return fabric_from_json(self._shaped(_TOPOLOGY, self._json(_TOPOLOGY), dict[str, Any]))

    @cached_property
    def store(self) -> Store:
        """What the monitoring has read."""
        return Store.read(self.path / _METRICS)

    @property
    def alerts(self) -> list[dict[str, Any]]:
        """Alerts that fired; none where the level shows none."""
        found: list[dict[str, Any]] = self._shaped(_ALERTS, self._json(_ALERTS), list[_Alert])
        return found

    @property
    def looks(self) -> list[dict[str, Any]]:
        """The looks so far."""
        path = self.path / _LOOKS
        if not os.path.lexists(path):
            return []
        lines = self._text(_LOOKS).splitlines()
        try:
            return [json_value(line) for line in lines]
        except ValueError as error:
            raise RunDirError(f"{path} is damaged: {error}", _AGAIN) from error

    def looked(self, what: str) -> None:
        """Count one look."""
        line = json.dumps({"at": now(), "what": what})
        _ = self.looks  # refuses what is no such file: opening a pipe for writing would wait for its reader
        path = self.path / _LOOKS
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise RunDirError(
                f"{path} cannot be written: {error.strerror}", "check the disk and permissions"
            ) from error

    @property
    def result(self) -> dict[str, Any] | None:
        """The score; None: not answered yet."""
        if not os.path.lexists(self.path / RESULT):
            return None
        found: dict[str, Any] = self._shaped(RESULT, self._json(RESULT), _Result)
        return found

    def opened(self) -> dict[str, Any]:
        """The sealed root. Raises: RunDirError where it is not the one that was sealed."""
        path = self.path / _SEAL
        packed = self._text(_SEAL)
        try:
            data = inflate(base64.b64decode(packed, validate=False), _MAX)
            if sha256(data).hexdigest() != self.index["digest"]:
                raise RunDirError(f"{path} does not fit the digest of {INDEX}", _AGAIN)
            value = json_value(data)
        except (binascii.Error, ValueError) as error:
            raise RunDirError(f"{path} is damaged: {error}", _AGAIN) from error
        found: dict[str, Any] = self._shaped(_SEAL, value, _Secret)
        if found["kind"] not in ANSWERS:
            raise RunDirError(f"{path} is damaged: '{found['kind'][:60]}' is no kind of root", _AGAIN)
        return found

    def answered(self, result: Mapping[str, Any]) -> None:
        """Keep the score."""
        write_json(self.path / RESULT, dict(result))

    def _json(self, name: str) -> Any:  # noqa: ANN401  any JSON value
        try:
            return json_value(self._text(name))
        except ValueError as error:
            raise RunDirError(f"{self.path / name} is damaged: {error}", _AGAIN) from error

    def _text(self, name: str) -> str:
        try:
            return read_text(self.path / name, _MAX, stage="reading the drill")
        except InputErrors as error:
            raise RunDirError(f"{error.problems[0].path} {error.problems[0].text}", _AGAIN) from error

    def _shaped(self, name: str, value: object, shape: Any) -> Any:  # noqa: ANN401  a type, and a value of it
        """The value, where it has the keys and types of a file of this name. Raises: RunDirError."""
        try:
            TypeAdapter(shape).validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]
            why = ": ".join([*filter(None, [".".join(map(str, first["loc"]))]), first["msg"]])
            raise RunDirError(f"{self.path / name} is damaged: {why}", _AGAIN) from error
        return value


def now() -> str:
    """The wall clock, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def folders(parent: Path) -> list[Folder]:
    """Every drill directly below a folder, by time of its start. Raises: RunDirError where there is no folder."""
    if not parent.is_dir():
        raise RunDirError(f"{parent} is not a directory", "give the folder that holds the folders of `drill start`")
    found = [Folder(it.parent) for it in sorted(parent.glob(f"*/{INDEX}"))]
    return sorted(found, key=lambda it: (str(it.index.get("started")), it.path.name))

"""Files that a scenario names: those that must be copied with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from fabric.errors import InputErrors
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.spec import NamesFile


def named_files(scenario: Scenario) -> list[Path]:
    """Files in the folder of the scenario and below it, relative to it, each once, in the order of its fields.

    A name that is no file is either the prefix of Chakra files, of which all are given, or a preset, which has no file.
    """
    folder = scenario.file.parent
    found: dict[Path, None] = {}
    for name in _names(scenario):
        files = [folder / name] if (folder / name).is_file() else _of_prefix(folder / name)
        found |= dict.fromkeys(file.relative_to(folder) for file in files)
    return list(found)


def _names(value: object) -> Iterator[str]:
    """Values of all fields that are marked with NamesFile."""
    if isinstance(value, BaseModel):
        for field, about in type(value).model_fields.items():
            held = getattr(value, field)
            if isinstance(held, str) and _marked((about.annotation, *about.metadata)):
                yield held
            else:
                yield from _names(held)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _names(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _names(item)


def _marked(parts: tuple[Any, ...]) -> bool:
    return any(isinstance(part, NamesFile) or _marked(get_args(part)) for part in parts)


def _of_prefix(prefix: Path) -> list[Path]:
    from fabric.traces.chakra.reader import files_of, groups_file  # noqa: PLC0415  protobuf is loaded for these alone

    try:
        files = files_of(prefix)
    except InputErrors:
        return []
    groups = groups_file(prefix)
    return [*files, groups] if groups.is_file() else files

"""Scenarios for Python: load one, change values, fill in defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, Self

import yaml

from fabric import shipped
from fabric.api.words import python_words
from fabric.errors import FabricError
from fabric.reading import read_text
from fabric.scenario.compile.scenario import PlacedScenario, place
from fabric.scenario.load import apply_overrides, apply_values, build_scenario
from fabric.scenario.resolved import resolved
from fabric.scenario.schema.scenario import Scenario as Spec
from fabric.scenario.yaml_input import MAX_BYTES, parse_yaml, read_yaml
from fabric.units import PS_PER_NS

Source = str | PathLike[str] | Mapping[str, Any]
"""A scenario file, the name of a scenario that comes with the package, YAML text of more than one line, or its data."""
_UNNAMED: Final = "scenario.yml"


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """A scenario whose schema and values have been checked. Immutable; can be pickled. Use `fabric.load`.

    Two scenarios are equal when their data are, and files they name are looked for in the same folder.
    """

    data: Mapping[str, Any]
    """The scenario as written, overrides applied: plain mappings, lists, text and numbers. Do not change it."""
    file: Path
    """Its file. Paths in it are relative to its folder; for text and data, to the working directory."""
    text: str
    """The scenario as its author wrote it; a run directory keeps it."""
    sets: tuple[str, ...]
    """Overrides as `fabric run --set` takes them."""
    spec: Spec = field(repr=False)
    """The checked model. Not part of the stable interface."""

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.spec.name

    @property
    def description(self) -> str:
        """Description; '' where there is none."""
        return self.spec.description

    @property
    def seed(self) -> int:
        """Seed of every random stream."""
        return self.spec.run.seed

    @property
    def duration_ns(self) -> int:
        """Longest simulated time."""
        return self.spec.run.duration // PS_PER_NS

    def with_(self, values: Mapping[str, object] | None = None, /, **more: object) -> Self:
        """The same scenario with other values; this one is not changed.

        Parameters
        ----------
        values : mapping    path -> value, such as {'switches.ecn.kmin': '100KB', 'workload[0].size': '4MB'}; quantities
                            carry their unit, None removes a field
        more                the same as keywords, for paths without a dot: `description='...'`

        Raises: InputErrors with every problem.
        """
        changes = {**(values or {}), **more}
        with python_words():
            data = apply_values(deepcopy(dict(self.data)), changes)
            sets = (*self.sets, *(f"{path}={json.dumps(value)}" for path, value in changes.items()))
            return type(self)(data, self.file, self.text, sets, build_scenario(data, self.file))

    def set(self, *sets: str) -> Self:
        """The same scenario with overrides as on the command line: `scenario.set('transport.cc=none')`.

        Raises: InputErrors with every problem.
        """
        with python_words():
            data = apply_overrides(deepcopy(dict(self.data)), sets)
            return type(self)(data, self.file, self.text, (*self.sets, *sets), build_scenario(data, self.file))

    def check(self) -> None:
        """Compile without a run: topology, settings, traffic, faults. `fabric.run` does this, too.

        Raises: InputErrors with every problem of the first stage that finds any.
        """
        self._place()

    def resolved(self) -> dict[str, Any]:
        """The whole scenario with every default filled in. It is a valid scenario and gives the same run.

        Raises: InputErrors, like check().
        """
        return resolved(self.spec, self._place().fabric)

    def to_yaml(self) -> str:
        """The scenario as a file, overrides applied."""
        return str(yaml.safe_dump(deepcopy(dict(self.data)), sort_keys=False, allow_unicode=True))

    def _place(self) -> PlacedScenario:
        with python_words():
            return place(self.spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return self.data == other.data and self.file.parent == other.file.parent

    def __hash__(self) -> int:
        return hash((self.name, self.seed, json.dumps(self.data, sort_keys=True, default=str)))

    def __repr__(self) -> str:
        return f"<fabric.Scenario {self.name!r}: {self.spec.topology.kind}, {self.spec.model}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        """For notebooks: name, description, and the scenario as YAML."""
        return (
            f"<div><strong>{escape(self.name)}</strong> {escape(self.description)}"
            f"<pre style='margin:.5em 0'>{escape(self.to_yaml())}</pre></div>"
        )


def load(source: Source | Scenario, sets: Sequence[str] | Mapping[str, object] = ()) -> Scenario:
    """Load and check a scenario.

    Parameters
    ----------
    source    a path; the name of a scenario that comes with the package ('incast'); YAML text, distinguished from a
              path by its line breaks; or a mapping with the same fields
    sets      overrides: ['transport.cc=none'] as on the command line, or {'transport.cc': 'none'} with Python values

    Returns: Scenario.
    Raises: InputErrors with every problem of the first stage that finds any, each with its place and remedy.

    Example
    -------
    >>> fabric.load('incast', {'workload[0].size': '4MB'})
    <fabric.Scenario 'incast': leaf-spine, asic, seed 7>
    """
    if isinstance(source, Scenario):
        scenario = source
    else:
        with python_words():
            scenario = _loaded(source)
    if not sets:
        return scenario
    if isinstance(sets, str):
        raise FabricError(f"sets is the text {sets!r}", "give a list: sets=['transport.cc=none']")
    return scenario.with_(sets) if isinstance(sets, Mapping) else scenario.set(*sets)


def source_data(source: Source) -> tuple[dict[str, Any], Path, str]:
    """(data, file, text) of a scenario that has not been checked. Raises: InputErrors, FabricError."""
    if isinstance(source, Mapping):
        data = deepcopy(dict(source))
        return data, Path.cwd() / _UNNAMED, str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    if isinstance(source, str) and "\n" in source:
        file = Path.cwd() / _UNNAMED
        return parse_yaml(source, file), file, source
    if not isinstance(source, (str, PathLike)):
        raise FabricError(f"a {type(source).__name__} is not a scenario", "give a path, YAML text, or a mapping")
    file = shipped.scenario(Path(fspath(source)))
    data = read_yaml(file)
    text = read_text(
        file,
        MAX_BYTES,
        stage="reading the scenario",
        missing="give the path of a scenario file",
        too_large="put long message lists into a CSV file",
    )
    return data, file, text


def _loaded(source: Source) -> Scenario:
    data, file, text = source_data(source)
    return Scenario(data, file, text, (), build_scenario(data, file))

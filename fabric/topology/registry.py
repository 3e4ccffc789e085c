"""Kind of topology -> builder, and the way from a user's mapping to a Fabric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from fabric.errors import FabricError, InputErrors, Problem
from fabric.topology.builders.clos import clos3, leaf_spine
from fabric.topology.builders.custom import custom
from fabric.topology.builders.dual_tor import dual_tor
from fabric.topology.builders.rail import rail
from fabric.topology.builders.server import server
from fabric.topology.model import Fabric
from fabric.topology.models import fields_at
from fabric.topology.spec import Clos3Spec, CustomSpec, DualTorSpec, LeafSpineSpec, RailSpec, ServerSpec, TopologySpec

BUILDERS: Final[Mapping[str, Callable[[Any], Fabric]]] = {
    "leaf-spine": leaf_spine,
    "clos3": clos3,
    "rail": rail,
    "dual-tor": dual_tor,
    "server": server,
}
"""Kinds that are built from numbers; `custom` also needs the directory its file is relative to."""

SPECS: Final[Mapping[str, type[BaseModel]]] = {
    "leaf-spine": LeafSpineSpec,
    "clos3": Clos3Spec,
    "rail": RailSpec,
    "dual-tor": DualTorSpec,
    "server": ServerSpec,
    "custom": CustomSpec,
}
"""Kind -> its strict model."""

_ADAPTER: Final[TypeAdapter[TopologySpec]] = TypeAdapter(TopologySpec)


def build_topology(spec: TopologySpec, base_dir: Path = Path()) -> Fabric:
    """Build the fabric of a spec.

    Parameters
    ----------
    spec : TopologySpec    any of the five models
    base_dir : Path        directory of the file the spec came from; `file:` of a custom topology is relative to it

    Returns: Fabric. Raises: InputErrors with every problem found.
    """
    if isinstance(spec, CustomSpec):
        return custom(spec, base_dir)
    return BUILDERS[spec.kind](spec)


def parse_topology(raw: object, where: str = "topology") -> TopologySpec:
    """A `topology:` mapping -> its strict model.

    Raises: InputErrors with every problem, each at '<where>.<field>' with the nearest valid spelling.
    """
    if isinstance(raw, dict) and "kind" not in raw:
        hint = f"add kind: one of {', '.join(SPECS)}"
        raise InputErrors("topology", [Problem(where, "has no kind", hint)])
    try:
        return _ADAPTER.validate_python(raw)
    except ValidationError as error:
        problems = [problem for item in error.errors() for problem in _problems(item, where)]
        raise InputErrors("topology", problems) from error


def _problems(item: ErrorDetails, where: str) -> list[Problem]:
    """One pydantic finding in our words; a validator of ours may have found several things at once."""
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, ValueError) and not isinstance(cause, FabricError):
        found = (line.partition("; ") for line in str(cause).split("\n"))
        return [Problem(_path(item, where), text, hint) for text, _, hint in found]
    return [_problem(item, where)]


def _path(item: ErrorDetails, where: str) -> str:
    """'topology.links[2].rate'; the union's tag is left out."""
    return where + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in _loc(item))


def _loc(item: ErrorDetails) -> list[int | str]:
    return [part for part in item["loc"] if part not in SPECS]


def _problem(item: ErrorDetails, where: str) -> Problem:
    path, loc = _path(item, where), _loc(item)
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, FabricError):
        return Problem(path, cause.text, cause.hint)
    if item["type"] == "union_tag_invalid":
        kind = str(item["ctx"]["tag"])
        near = get_close_matches(kind, SPECS, 1)
        return Problem(
            f"{path}.kind",
            f"{kind!r} is not a kind of topology",
            f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(SPECS)}",
        )
    if item["type"] == "extra_forbidden":
        known = fields_at(SPECS[str(item["loc"][0])], [str(part) for part in loc[:-1] if not isinstance(part, int)])
        near = get_close_matches(str(loc[-1]), known, 1)
        return Problem(
            path,
            "there is no such field",
            f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(sorted(known))}",
        )
    if item["type"] == "missing":
        return Problem(path, "is missing", "add it")
    return Problem(path, f"{item['input']!r}: {item['msg'][0].lower()}{item['msg'][1:]}")

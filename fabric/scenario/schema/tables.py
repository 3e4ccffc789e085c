"""A JSON schema of a model as Markdown tables of its fields: the common part of the generated references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fabric.topology.quantities import exact_time

LONG_ENUM: Final = 20
"""Values above which a table gives their number; a section of the page lists them."""


def first_paragraph(text: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return text.split("\n\n", maxsplit=1)[0].replace("\n", " ")


def _resolve(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return schema["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field


def models_of(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Object models of a field: its own, those of its alternatives, and those of its list entries."""
    target = _resolve(field, schema)
    if "properties" in target:
        yield target
    for branch in (*target.get("anyOf", ()), *target.get("oneOf", ())):
        yield from models_of(branch, schema)
    if "items" in target:
        yield from models_of(target["items"], schema)


def nested_models(model: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(field, object model) of every field that holds one."""
    for name, field in model["properties"].items():
        for inner in models_of(field, schema):
            yield name, inner


def field_table(
    model: Mapping[str, Any], schema: Mapping[str, Any], section: str, defaults: Mapping[str, Any]
) -> list[str]:
    """Rows of a Markdown table: field, value, default, meaning.

    Parameters
    ----------
    section : path of the model in the file; '' for the file itself
    defaults : path -> default of the model card, instead of the schema's
    """
    required = set(model.get("required", ()))
    rows = ["| field | value | default | meaning |", "|---|---|---|---|"]
    for name, field in model["properties"].items():
        path = f"{section}.{name}" if section else name
        if name in required:
            default = "required"
        elif path in defaults:
            default = f"`{defaults[path].value}`"
        else:
            default = f"`{_written(field)}`" if field.get("default") else ""
        meaning = first_paragraph(field.get("description", ""))
        rows.append(f"| `{name}` | {_kind(field, schema)} | {default} | {meaning} |")
    return rows


def _written(field: Mapping[str, Any]) -> object:
    """A default as a user would write it: pydantic keeps times in picoseconds."""
    value = field["default"]
    return exact_time(value) if isinstance(value, int) and field.get("examples", ())[:1] == ["500ns"] else value


def _kind(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A few words: `a` or `b`, whole number, a mapping, a list of ..."""
    target = _resolve(field, schema)
    if len(target.get("enum", ())) > LONG_ENUM:
        return f"one of {len(target['enum'])} names"
    if "enum" in target:
        return " ".join(f"`{value}`" for value in target["enum"])
    if "const" in target:
        return f"`{target['const']}`"
    branches = [
        branch for branch in (*target.get("anyOf", ()), *target.get("oneOf", ())) if branch.get("type") != "null"
    ]
    if branches:
        return " or ".join(dict.fromkeys(_kind(branch, schema) for branch in branches))
    if "properties" in target:
        kind = target["properties"].get("kind", {}).get("const")
        return f"kind `{kind}`" if kind else "mapping"
    if target.get("type") == "array":
        return f"list of {_kind(target['items'], schema)}" if "items" in target else "list"
    if "examples" in target:
        return f"`{target['examples'][0]}`"
    low, high = (
        target.get("minimum", target.get("exclusiveMinimum")),
        target.get("maximum", target.get("exclusiveMaximum")),
    )
    if target.get("type") == "integer":  # whole numbers: the last that is allowed, in full
        low = target.get("minimum", None if low is None else low + 1)
        high = target.get("maximum", None if high is None else high - 1)
    words = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "`true` `false`",
        "object": "mapping",
    }
    text = words.get(target.get("type", ""), "value")
    whole = "" if target.get("type") == "integer" else "g"
    return f"{text} {low:{whole}} to {high:{whole}}" if low is not None and high is not None and high < 10**12 else text

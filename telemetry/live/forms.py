"""Terminal forms made from the API's JSON schemas: the fields of a fault or a change, and parsing of their texts.

The menu thus always agrees with the server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabric.errors import InputErrors, Problem

Schema = Mapping[str, Any]
_HIDDEN: Final = frozenset({"kind"})


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a form."""

    name: str
    required: bool
    kind: str
    """'text', 'integer', 'number', 'list of text', 'list of integer' or 'json'."""
    help: str


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of fault or change."""

    kind: str
    help: str
    fields: tuple[Field, ...]

    def read(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """The request from the texts of the fields, without empty ones.

        Raises: InputErrors for a text that is not of its field's kind; the server checks the rest.
        """
        found: dict[str, Any] = {"kind": self.kind}
        problems = []
        for field in self.fields:
            text = texts.get(field.name, "").strip()
            if text:
                try:
                    found[field.name] = _READERS[field.kind](text)
                except ValueError:
                    problems.append(Problem(field.name, f"'{text}' is not of the kind {field.kind}", field.help))
        if problems:
            raise InputErrors("reading the form", problems)
        return found


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.strip("[]").split(",") if item.strip()]


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "text": str,
    "integer": int,
    "number": float,
    "list of text": _items,
    "list of integer": lambda text: [int(item) for item in _items(text)],
    "json": json.loads,
}


def forms(description: Schema, name: str) -> dict[str, Form]:
    """kind -> form, for 'Fault' or 'ConfigChange' of an OpenAPI description."""
    schemas = description["components"]["schemas"]
    mapping = schemas[name]["discriminator"]["mapping"]
    return {kind: _form(kind, schemas[ref.rpartition("/")[2]], schemas) for kind, ref in sorted(mapping.items())}


def _form(kind: str, schema: Schema, schemas: Schema) -> Form:
    required = set(schema.get("required", ()))
    fields = [
        Field(name, name in required, _kind_of(part, schemas), str(part.get("description", "")))
        for name, part in schema["properties"].items()
        if name not in _HIDDEN
    ]
    fields.sort(key=lambda field: not field.required)  # stable: otherwise the schema's order
    return Form(kind, str(schema.get("description", "")).split("\n", maxsplit=1)[0], tuple(fields))


def _kind_of(schema: Schema, schemas: Schema) -> str:
    for branch in schema.get("anyOf", ()):
        if branch.get("type") != "null":
            return _kind_of(branch, schemas)
    if "$ref" in schema:
        return _kind_of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    kind = schema.get("type", "string")
    if kind == "array":
        return "list of integer" if schema.get("items", {}).get("type") == "integer" else "list of text"
    return {"integer": "integer", "number": "number", "object": "json"}.get(str(kind), "text")

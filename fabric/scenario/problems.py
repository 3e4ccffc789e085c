"""Validation errors of the schema -> problems that name the place, the value, and the nearest valid spelling."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fabric.errors import FabricError, Problem, UnitError
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.quantities import exact_length, exact_rate, exact_size, exact_time
from fabric.topology.select import nearest
from fabric.units import parse_length_mm, parse_rate_bps, parse_size_bytes, parse_time_ps

_BOUNDS: Final = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_TYPES: Final = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}

_FORMS: Final = {"a list": "a list, such as [a, b]", "a mapping": "a mapping, such as {field: value}"}
_YAML: Final[Mapping[object, str]] = {None: "null", True: "true", False: "false"}
_FIELD: Final = re.compile(r"(?P<field>(?P<name>\w+)(\[\d+\])?(\.\w+)*):? (?!and |\()")
"""A field, or one of its parts, and a statement about it; no match where the statement is about two fields
('dynamic_th and static_th are both given')."""


class _Document(NamedTuple):
    """A file and its JSON schema, from which remedies are taken."""

    raw: Any
    schema: Mapping[str, Any]


def explain(
    error: ValidationError, raw: Mapping[str, Any], file: str, schema: Mapping[str, Any] | None = None
) -> list[Problem]:
    """One problem per error, in the order of the file's sections; `schema` is that of a scenario if absent."""
    document = _Document(raw, _root_schema() if schema is None else schema)
    found: dict[tuple[str, str], Problem] = {}
    for item in error.errors(include_url=False):
        steps, value = _place(item, raw)
        if item["type"] == "too_short" and value:
            continue  # its entries are wrong, and each has its own problem
        words = _words(item, value, steps, document)  # may add a step
        known = _properties(_schema_at(steps, document)) if item["type"] == "value_error" else {}
        for sentence, hint in words:
            field, text = _field_first(sentence, known)
            place = ".".join(filter(None, (_dotted(steps), field)))
            path = f"{file}: {place}" if place else file
            found.setdefault((path, text), Problem(path, text, hint))
    return list(found.values())


def _place(item: ErrorDetails, raw: Any) -> tuple[list[str | int], Any]:  # noqa: ANN401  whatever YAML holds
    """The path of the error without the tags of unions, and the value at that path."""
    steps: list[str | int] = []
    value = raw
    loc = item["loc"]
    entered = False  # the present value was the last step: a union's tag comes before its fields
    for number, step in enumerate(loc):
        last = number == len(loc) - 1
        if entered and isinstance(value, Mapping) and step in value and value.get("kind") == step and not last:
            entered = False
            continue  # a tag that is also the name of a field: `kind: job` has the field `job`
        entered = True
        if isinstance(step, str) and (step.startswith("·") or step == "[key]"):
            continue
        if isinstance(value, Mapping):
            if step in value:
                value = value[step]
            elif isinstance(step, str) and step.lstrip("-").isdigit() and int(step) in value:
                value = value[int(step)]
                steps.append(int(step))
                continue
            elif value.get("kind") == step and not (last and item["type"] == "missing"):
                continue
            elif last:
                value = None
            else:
                continue
        elif isinstance(value, Sequence) and not isinstance(value, str) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            continue  # a union's branch that has no counterpart in the file
        steps.append(step)
    return steps, value


def _field_first(text: str, known: Mapping[str, Any]) -> tuple[str, str]:
    """('until', 'is not after at'): a model's sentence that begins with one of its fields is about that field."""
    begins = _FIELD.match(text)
    if begins is None or begins["name"] not in known:
        return "", text
    return begins["field"], text[begins.end() :]


def _dotted(steps: Sequence[str | int]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _words(item: ErrorDetails, value: object, steps: list[str | int], document: _Document) -> list[tuple[str, str]]:
    """(text, hint) of every statement of one error; the rules of a model are lines of 'text; hint'."""
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, FabricError):
        return [(cause.text, cause.hint)]
    if item["type"] == "value_error":
        parts = (line.partition("; ") for line in str(cause).split("\n"))
        return [(text, hint) for text, _, hint in parts]
    text, hint = _sentence(item, value, steps, document)
    return [(text, hint or _REMEDIES.get(item["type"], "correct it"))]


_REMEDIES: Final = {"missing": "add it", "extra_forbidden": "remove it", "string_too_long": "shorten it"}
"""Used where a file of another kind than a scenario is explained, whose schema is not available."""


def _sentence(item: ErrorDetails, value: object, steps: list[str | int], document: _Document) -> tuple[str, str]:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "missing":
        about = _about(steps, document)
        return "is missing", f"add it: {about}" if about else "add it"
    if kind == "extra_forbidden":
        known = list(_properties(_schema_at(steps[:-1], document)))
        others = _kinds_with(str(steps[-1]), steps[:-1], document)
        if others:
            return f"unknown field (value {_short(value)})", f"only these kinds have it: {', '.join(others)}"
        return f"unknown field (value {_short(value)})", nearest(str(steps[-1]), known, "fields here")
    if kind in {"literal_error", "enum"}:
        words = [word.strip("' ") for word in str(context["expected"]).replace(" or ", ", ").split(",")]
        hint = nearest(str(value), words, "valid values")
        fields = _mapping_instead(steps, document) if hint.startswith("valid values") else []
        mapping = f"; or a mapping with {', '.join(fields)}" if fields else ""
        return f"{_short(value)} is not a valid value", hint + mapping
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        tags = [tag.strip("' ") for tag in str(context.get("expected_tags", "")).split(",") if tag.strip()]
        steps.append("kind")
        if kind == "union_tag_not_found":
            return "is missing", nearest("", _kinds(steps[:-1], document), "kinds")
        return f"{context['tag']!r} is not a known kind", nearest(str(context["tag"]), tags, "kinds")
    if kind in _BOUNDS:
        key, words_ = _BOUNDS[kind]
        bound = f"{words_} {_bound(value, context[key])}"
        wanted = bound if isinstance(value, str) else _range(_schema_at(steps, document)) or bound
        return f"{_short(value)} is out of range: it must be {bound}", (
            f"write {wanted}: {_about(steps, document, example=not isinstance(value, str))}"
        )  # a unit was given already
    if kind in _TYPES:
        what = _TYPES[kind]
        return f"{_short(value)} is not {what}", f"write {_FORMS.get(what, what)}: {_about(steps, document)}"
    if kind == "string_pattern_mismatch":
        return (
            f"{_short(value)} is not a valid name",
            "letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )
    if kind in {"too_short", "string_too_short"}:
        return "is empty", f"fill it, or leave it out: {_about(steps, document)}"
    return f"{_short(value)}: {item['msg'][0].lower()}{item['msg'][1:]}", _about(steps, document)


def _range(schema: Mapping[str, Any]) -> str:
    """'a number above 0 and at most 1', 'a whole number from 0 to 7', from a field's limits; '' where it has none."""
    if schema.get("type") == "integer" and "minimum" in schema:
        most = schema.get("maximum", schema.get("exclusiveMaximum", 0) - 1)
        return f"a whole number from {schema['minimum']} {f'to {most}' if most >= schema['minimum'] else 'up'}"
    limits = (
        ("exclusiveMinimum", "above"),
        ("minimum", "at least"),
        ("exclusiveMaximum", "below"),
        ("maximum", "at most"),
    )
    found = [f"{word} {_plain(schema[key])}" for key, word in limits if key in schema]
    return f"a number {' and '.join(found)}" if found else ""


def _plain(bound: float) -> str:
    return f"{bound:g}" if bound % 1 else f"{int(bound)}"


def _bound(value: object, bound: float) -> str:
    """A limit in the unit of the value that exceeds it."""
    readers: tuple[tuple[Callable[[object], int], Callable[[int], str]], ...] = (
        (parse_time_ps, exact_time),
        (parse_rate_bps, exact_rate),
        (parse_size_bytes, exact_size),
        (parse_length_mm, exact_length),
    )
    for parse, write in readers if isinstance(value, str) else ():
        try:
            parse(value)
        except UnitError:
            continue
        return write(int(bound))
    return _plain(bound)


def _short(value: object) -> str:
    text = _YAML[value] if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _about(steps: Sequence[str | int], document: _Document, *, example: bool = True) -> str:
    """The description of the field, for the remedy."""
    schema = _schema_at(steps, document)
    examples = schema.get("examples")
    text = str(schema.get("description", "")).split("\n", maxsplit=1)[0]
    return text + (f" Such as {examples[0]!r}." if examples and example else "")


def _kinds(steps: Sequence[str | int], document: _Document) -> list[str]:
    return list(_schema_at(steps, document).get("discriminator", {}).get("mapping", {}))


def _kinds_with(field: str, steps: Sequence[str | int], document: _Document) -> list[str]:
    """Kinds of the union at a place that have a field; none where the place has no kinds."""
    union = _schema_at(steps, document, of_kind=False)
    mapping: Mapping[str, str] = union.get("discriminator", {}).get("mapping", {})
    return [
        kind for kind, ref in mapping.items() if field in _properties(_resolve({"$ref": ref}, document.schema, None))
    ]


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schema.get("properties", {})
    return found


def _mapping_instead(steps: Sequence[str | int], document: _Document) -> list[str]:
    """Fields of the mapping that may stand in place of a word, such as watchdog: off; [] where none may."""
    if not steps:
        return []
    around = _schema_at(steps[:-1], document)
    schema = around.get("items") if isinstance(steps[-1], int) else _properties(around).get(str(steps[-1]))
    pending = [schema or {}]
    for _ in range(16):
        if not pending:
            break
        one = pending.pop(0)
        if "$ref" in one:
            pending.append(document.schema["$defs"][one["$ref"].rpartition("/")[2]])
        elif _properties(one):
            return list(_properties(one))
        else:
            pending += [*one.get("anyOf", ()), *one.get("oneOf", ()), *one.get("allOf", ())]
    return []


def schema_at(steps: Sequence[str | int], raw: Any) -> dict[str, Any]:  # noqa: ANN401  whatever YAML holds
    """The JSON schema of one place of a scenario, as explain() takes remedies from it."""
    return _schema_at(steps, _Document(raw, _root_schema()))


def _schema_at(steps: Sequence[str | int], document: _Document, *, of_kind: bool = True) -> dict[str, Any]:
    """The JSON schema of one place; where it depends on a `kind`, that of the file, or the union of all kinds."""
    root = document.schema
    schema: dict[str, Any] = dict(root)
    value: Any = document.raw
    for step in [*steps, None]:
        schema = _resolve(schema, root, value if of_kind or step is not None else None)
        if step is None:
            break
        outer = {key: schema[key] for key in ("description",) if key in schema}
        if isinstance(step, int) and "items" in schema:
            schema = schema["items"]
        else:
            schema = _properties(schema).get(str(step)) or schema.get("additionalProperties") or {}
        schema = schema if isinstance(schema, dict) else outer
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
    return schema


@cache
def _root_schema() -> dict[str, Any]:
    return Scenario.model_json_schema()


def _resolve(schema: dict[str, Any], root: Mapping[str, Any], value: Any) -> dict[str, Any]:  # noqa: ANN401
    for _ in range(8):
        kept: dict[str, Any] = {key: schema[key] for key in ("description", "examples") if key in schema}
        if "$ref" in schema:
            schema = {**root["$defs"][schema["$ref"].rpartition("/")[2]], **kept}
        elif "discriminator" in schema and isinstance(value, Mapping):
            mapping = schema["discriminator"]["mapping"]
            if value.get("kind") not in mapping:
                return schema
            schema = {"$ref": mapping[value["kind"]]}
        elif any(key in schema for key in ("anyOf", "oneOf")) and "discriminator" not in schema:
            branches = schema.get("anyOf") or schema["oneOf"]
            wanted = "object" if isinstance(value, Mapping) else "array" if isinstance(value, list) else None
            fitting = [
                branch
                for branch in branches
                if branch.get("type") == wanted or ("$ref" in branch and wanted == "object")
            ] or [branch for branch in branches if branch.get("type") != "null"]
            schema = {**fitting[0], **kept}
        else:
            break
    return schema

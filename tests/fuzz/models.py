"""The schema for the fuzzer: every model of a scenario, its fields, and their alternatives.

`universe()` is read from the annotations alone, so a field, a kind or a word that is added to the schema is in it.
`contents()` says which of them one scenario holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from fabric.scenario.schema.scenario import Scenario

Place = tuple[str, str, str]
"""(model, field, alternative): ('Watchdog', 'action', 'drop'); the alternative is '' for the field itself."""


def bare(annotation: Any) -> Any:  # noqa: ANN401  any annotation
    """Without Annotated."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def members(annotation: Any) -> list[Any]:  # noqa: ANN401
    """The alternatives of a union, None left out; the annotation itself where it is none."""
    plain = bare(annotation)
    if get_origin(plain) in {Union, UnionType}:
        return [member for part in get_args(plain) if bare(part) is not NoneType for member in members(part)]
    return [plain]


def alternatives(annotation: Any) -> tuple[list[str], list[type[BaseModel]]]:  # noqa: ANN401
    """(words that may be written, models that may be nested) in a field, also in its lists and mappings."""
    words: list[str] = []
    models: list[type[BaseModel]] = []
    for member in members(annotation):
        if get_origin(member) is Literal:
            words += [str(word) for word in get_args(member)]
        elif isinstance(member, type) and issubclass(member, BaseModel):
            models.append(member)
        elif member is bool:
            words += ["False", "True"]
        else:
            for inner in get_args(member):
                if inner is not Ellipsis:
                    more_words, more_models = alternatives(inner)
                    words, models = words + more_words, models + more_models
    return words, models


@cache
def models() -> Mapping[str, type[BaseModel]]:
    """Every model of a scenario, by name."""
    found: dict[str, type[BaseModel]] = {}

    def visit(model: type[BaseModel]) -> None:
        if found.setdefault(model.__name__, model) is not model:
            raise ValueError(f"two models are called {model.__name__}")
        for field in model.model_fields.values():
            for inner in alternatives(field.annotation)[1]:
                if inner.__name__ not in found:
                    visit(inner)

    visit(Scenario)
    return found


def universe() -> set[Place]:
    """Every field of every model, and every word or model that a field may have."""
    found: set[Place] = set()
    for name, model in models().items():
        for field, info in model.model_fields.items():
            words, nested = alternatives(info.annotation)
            found.add((name, field, ""))
            found |= {(name, field, word) for word in words}
            found |= {(name, field, inner.__name__) for inner in nested}
    return found


def contents(value: Any) -> Iterator[Place]:  # noqa: ANN401  any value of a model's field
    """What a scenario, or a part of it, holds of the universe; only what was written counts."""
    if isinstance(value, BaseModel):
        name = type(value).__name__
        for field in value.model_fields_set:
            inner = getattr(value, field)
            if inner is not None:
                yield name, field, ""
                for part in _parts(inner):
                    yield name, field, type(part).__name__ if isinstance(part, BaseModel) else str(part)
                    yield from contents(part)


def _parts(value: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(value, Mapping):
        yield from value
        yield from value.values()
    elif isinstance(value, tuple | list):
        yield from value
    else:
        yield value

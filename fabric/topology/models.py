"""Models of pydantic below a model, for messages that name the fields of a mapping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from pydantic import BaseModel


def models_in(annotation: object) -> list[type[BaseModel]]:
    """The models that an annotation names, unions and containers included."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in models_in(inner)]


def model_at(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel] | None:
    """The model at `path` below `model`, of a union the first; None where there is none."""
    for name in path:
        found = models_in(model.model_fields[name].annotation) if name in model.model_fields else []
        if not found:
            return None
        model = found[0]
    return model


def fields_at(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """Names of its fields; none where there is no model."""
    found = model_at(model, path)
    return [] if found is None else list(found.model_fields)

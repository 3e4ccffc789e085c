"""What a file says at a path: of the languages that are trees (JSON, YAML, `nv set`), without regard to its lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fabric.configs.model import Locator, Where
from fabric.configs.nvue.commands import Commands, keys_of
from fabric.configs.text.jsonfile import JsonText
from fabric.configs.text.yamlfile import YamlText


@dataclass(frozen=True, slots=True)
class Part:
    """The value at the longest part of a path that a tree has."""

    depth: int
    """Words of the path that the tree has."""
    value: Any


def tree_of(locator: Locator) -> Any:  # noqa: ANN401  JSON
    """The value of a file that is a tree; None of one whose constructs are lines and the lines below them."""
    if isinstance(locator, JsonText):
        return locator.read()
    return locator.value if isinstance(locator, YamlText | Commands) else None


def part_of(tree: Any, where: Where) -> Part:  # noqa: ANN401  JSON
    """What stands at a path; the last words of commands are keys where the path goes on below them."""
    here = tree
    for depth, word in enumerate(where):
        inner = here if isinstance(here, dict) else dict(_elements(here))
        if word not in inner:
            return Part(depth, here)
        here = inner[word]
    return Part(len(where), here)


def _elements(value: Any) -> list[tuple[str, Any]]:  # noqa: ANN401  JSON
    """Elements of a list by their position, and words by themselves."""
    if isinstance(value, list):
        return [*((str(number), it) for number, it in enumerate(value)), *keys_of(value).items()]
    return list(keys_of(value).items())

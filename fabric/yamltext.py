"""YAML text -> plain values, from libyaml's events: strict, without recursion, and 8 MB in a few seconds.

PyYAML composes nodes recursively: in its C loader deep nesting overflows the stack and ends the process, and composing
takes ten times as long as parsing. Here one loop over the events builds the values and refuses what is not wanted: keys
given twice, keys that are not words, tags, a second document, nesting and aliases beyond the stated bounds.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

_END: Final = yaml.events.CollectionEndEvent
MAX_DEPTH: Final = 40
_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"
_SHALLOWER: Final = "a few levels are enough"


class YamlError(Exception):
    """What is wrong with a text; `line` counts from 1, 0 where it concerns the whole text."""

    def __init__(self, text: str, line: int, hint: str) -> None:
        super().__init__(text)
        self.text, self.line, self.hint = text, line, hint


class Resolve(Protocol):
    """Makes a value of a scalar."""

    def __call__(self, text: str, plain: bool, line: int) -> Any:  # noqa: ANN401  what YAML holds
        """`plain`: neither quoted nor a block. Raises: YamlError."""


class _Open:
    """A mapping or list that has not ended."""

    __slots__ = ("anchor", "at_value", "began", "key", "lines", "value")

    def __init__(self, value: dict[Any, Any] | list[Any], anchor: str | None, began: int) -> None:
        self.value, self.anchor, self.began = value, anchor, began
        self.key: Any = None
        self.at_value = False        # of a mapping: its last key still waits for a value
        self.lines: dict[Any, int] = {}


_OPEN: Final = object()


def build(text: str, resolve: Resolve, *, max_nodes: int, too_many: str,
          twice: Callable[[list[Any], int, int], None] | None = None,
          note: Callable[[list[Any], int], object] | None = None) -> Any:  # noqa: ANN401  what YAML holds
    """The value of one document; None where there is none.

    Parameters
    ----------
    text : str
    resolve : Resolve          of scalars, keys included
    max_nodes : int            after aliases are followed
    too_many : str             the remedy where there are more
    twice : (path, first line, second line), optional    called for a key that is given twice; refused where absent
    note : (path, line), optional                        called for every key and list item

    Raises: YamlError.
    """
    stack: list[_Open] = []
    anchors: dict[str, tuple[Any, int]] = {}
    root: Any = None
    nodes = documents = 0
    try:
        with _without_collector():
            for event in yaml.parse(text, Loader=yaml.CSafeLoader):
                if isinstance(event, NodeEvent):
                    line = _line(event)
                    nodes += 1
                    if isinstance(event, ScalarEvent):
                        _plain_tag(event.tag, line)
                        value = resolve(event.value, event.implicit[0], line)
                        if event.anchor:
                            anchors[event.anchor] = value, 1
                    elif isinstance(event, AliasEvent):
                        value, size = anchors.get(str(event.anchor), (_OPEN, 0))
                        if value is _OPEN:
                            raise YamlError(f"alias '{str(event.anchor)[:60]}' names nothing before it", line,
                                              "write the value out")
                        nodes += size - 1
                    elif isinstance(event, CollectionStartEvent):
                        _plain_tag(event.tag, line)
                        value = {} if isinstance(event, MappingStartEvent) else []
                        if len(stack) >= MAX_DEPTH:
                            raise YamlError(_DEEP, line, _SHALLOWER)
                        if event.anchor:
                            anchors[event.anchor] = _OPEN, 0
                    if nodes > max_nodes:
                        raise YamlError(f"more than {max_nodes:,} values once aliases are followed", line, too_many)
                    if not stack:
                        root = value
                    else:
                        _put(stack, value, line, collection=isinstance(event, CollectionStartEvent),
                             twice=twice, note=note)
                    if isinstance(event, CollectionStartEvent):
                        stack.append(_Open(value, event.anchor, nodes - 1))
                elif isinstance(event, _END):
                    ended = stack.pop()
                    if ended.anchor:
                        anchors[ended.anchor] = ended.value, nodes - ended.began
                elif isinstance(event, DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        raise YamlError("holds more than one document", _line(event),
                                          "remove what follows '---'")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise YamlError(f"not YAML: {error.problem}", mark.line + 1 if mark else 0,
                          "check indentation, colons and quotes on this line and the one above") from error
    except yaml.YAMLError as error:
        raise YamlError(f"not YAML: {str(error).splitlines()[0][:100]}", 0, "save it as plain text") from error
    return root


def check_depth(text: str) -> None:
    """Refuse what would overflow the stack of a recursive reader. Raises: YamlError; syntax errors are left to it."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise YamlError(_DEEP, _line(event), _SHALLOWER)
            elif isinstance(event, _END):
                depth -= 1
    except yaml.YAMLError:
        return


def _put(stack: list[_Open], value: Any, line: int, *, collection: bool,  # noqa: ANN401  what YAML holds
         twice: Callable[[list[Any], int, int], None] | None, note: Callable[[list[Any], int], object] | None) -> None:
    """Append a value to the innermost list, or take it as a key or value of the innermost mapping."""
    top = stack[-1]
    if isinstance(top.value, list):
        top.value.append(value)
        if note is not None:
            note([*_path(stack[:-1]), str(len(top.value) - 1)], line)
        return
    if top.at_value:
        top.value[top.key] = value
        top.at_value = False
        return
    if collection or isinstance(value, dict | list):
        raise YamlError("a key is not a plain word", line, "write 'key: value'")
    if value is None or isinstance(value, bool | float):
        raise YamlError(f"'{value}' is no key", line, "keys are words or whole numbers; quote it if it is a word")
    if value in top.lines:
        first = top.lines[value]
        if twice is None:
            raise YamlError(f"'{value}' is given twice in one mapping", line,
                            f"the first is on line {first}; remove one of them")
        twice([*_path(stack[:-1]), value], first, line)
    top.lines[value] = line
    top.key, top.at_value = value, True
    if note is not None:
        note([*_path(stack[:-1]), value], line)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0


def _plain_tag(tag: str | None, line: int) -> None:
    if tag is not None and tag != "!":            # '!' alone: a quoted scalar's, or one that is to stay a word
        raise YamlError(f"tag '{tag[:60]}' is not read", line, "write plain mappings, lists and words")


@contextmanager
def _without_collector() -> Iterator[None]:
    """Millions of new containers make Python's cycle collector look at all of them again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _path(stack: list[_Open]) -> list[Any]:
    return [str(len(it.value) - 1) if isinstance(it.value, list) else it.key for it in stack]

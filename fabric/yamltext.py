"""YAML text -> plain values, from libyaml's events: strict, without recursion.

8 MB take 3.3 to 4.6 CPU seconds (keys, and messages in flow style; measured beside other work on two
cores), twice what libyaml's events alone take; tests/test_yaml_speed.py guards the ratio.

PyYAML composes nodes recursively: in its C loader deep nesting overflows the stack and ends the process, and composing
takes ten times as long as parsing. Here one loop over the events builds the values and refuses duplicate keys, keys
that are not words, tags, a second document, and nesting and aliases beyond the stated bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from fabric.garbage_collection import without_collector
from fabric.visible import spelled

_END: Final = yaml.events.CollectionEndEvent
_SCALAR: Final = ScalarEvent
_STARTS: Final = frozenset({MappingStartEvent, SequenceStartEvent})
_ENDS: Final = frozenset({MappingEndEvent, SequenceEndEvent})
_END_OF_STREAM: Final = StreamEndEvent
_MOST_KNOWN: Final = 10_000
"""Words whose values are kept: most texts repeat a few."""
MAX_DEPTH: Final = 40
_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"
_SHALLOWER: Final = "a few levels are enough"


class YamlError(Exception):
    """A problem of a text; `line` counts from 1, 0 for the whole text."""

    def __init__(self, text: str, line: int, hint: str) -> None:
        super().__init__(text)
        self.text, self.line, self.hint = text, line, hint


class Resolve(Protocol):
    """Makes a value of a scalar."""

    def __call__(self, text: str, plain: bool, line: int) -> Any:  # noqa: ANN401  what YAML holds
        """`plain`: neither quoted nor a block. Raises: YamlError."""


class _Open(NamedTuple):
    """A mapping or list that waits for the end of one that it holds."""

    value: dict[Any, Any] | list[Any]
    key: Any
    """Of a mapping: the last one."""
    anchor: str | None
    began: int
    lines: dict[Any, int]
    """Of a mapping's keys, where lines are kept."""


class _GivenTwiceError(Exception):
    """A key is given twice, and lines of keys were not kept."""


_OPEN: Final = object()


def build(
    text: str,
    resolve: Resolve,
    *,
    max_nodes: int,
    too_many: str,
    twice: Callable[[list[Any], int, int], None] | None = None,
    note: Callable[[list[Any], int], object] | None = None,
) -> Any:  # noqa: ANN401  what YAML holds
    """The value of one document; None where there is none.

    Parameters
    ----------
    text : str
    resolve : Resolve          of scalars, keys included; equal words have equal values
    max_nodes : int            after aliases are followed
    too_many : str             the remedy where there are more
    twice : (path, first line, second line), optional    called for a key that is given twice; refused where absent
    note : (path, line), optional                        called for every key and list item

    Raises: YamlError.
    """
    try:
        with without_collector():
            try:
                return _built(
                    text, resolve, max_nodes, too_many, twice, note, lined=not (twice is None and note is None)
                )
            except _GivenTwiceError:  # once more, for the line of the first
                return _built(text, resolve, max_nodes, too_many, twice, note, lined=True)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 0
        if _is_depth(error):
            raise YamlError(_DEEP, line, _SHALLOWER) from error
        raise YamlError(
            f"not YAML: {error.problem}", line, "check indentation, colons and quotes on this line and the one above"
        ) from error
    except UnicodeEncodeError as error:  # libyaml takes UTF-8, which has no lone surrogates
        line = text.count("\n", 0, error.start) + 1
        raise YamlError(f"a text holds the hidden character {spelled(text[error.start])}", line, "remove it") from error
    except yaml.YAMLError as error:
        raise YamlError(f"not YAML: {str(error).splitlines()[0][:100]}", 0, "save it as plain text") from error


def _built(
    text: str,
    resolve: Resolve,
    max_nodes: int,
    too_many: str,
    twice: Callable[[list[Any], int, int], None] | None,
    note: Callable[[list[Any], int], object] | None,
    *,
    lined: bool,
) -> Any:  # noqa: ANN401  as build()
    """The loop over the events. It runs a million times for 8 MB, and takes nearly as long as libyaml does itself.

    The innermost collection is in local names, those around it in `around`. Lines of keys are kept where `lined`.
    """
    around: list[_Open] = []
    inner: Any = None  # a dict, a list, or None before the first
    key: Any = None
    at_value = False  # of a mapping: its last key still waits for a value
    anchor: str | None = None
    began = 0
    lines: dict[Any, int] = {}
    anchors: dict[str, tuple[Any, int]] = {}
    plain: dict[str, Any] = {}
    quoted: dict[str, Any] = {}
    root: Any = None
    nodes = documents = 0
    is_plainly_read = note is None and not lined
    loader = yaml.CSafeLoader(text)
    following: Callable[[], Any] = loader.get_event
    try:
        while True:
            event = following()
            kind = type(event)
            if kind is _END_OF_STREAM:
                return root
            if kind is _SCALAR:
                if event.tag is not None:
                    _plain_tag(event.tag, _line(event))
                known = plain if event.implicit[0] else quoted
                word = event.value
                value = known.get(word, _OPEN)
                if value is _OPEN:
                    value = resolve(word, known is plain, _line(event))
                    if len(known) < _MOST_KNOWN:
                        known[word] = value
                if event.anchor:
                    anchors[event.anchor] = value, 1
                collection = False
            elif kind in _STARTS:
                _plain_tag(event.tag, _line(event))
                if len(around) + (inner is not None) >= MAX_DEPTH:
                    raise YamlError(_DEEP, _line(event), _SHALLOWER)
                value = {} if kind is MappingStartEvent else []
                if event.anchor:
                    anchors[event.anchor] = _OPEN, 0
                collection = True
            elif kind in _ENDS:
                if anchor:
                    anchors[anchor] = inner, nodes - began
                if around:
                    inner, key, anchor, began, lines = around.pop()
                else:
                    inner = None
                at_value = False
                continue
            elif kind is AliasEvent:
                value, size = anchors.get(str(event.anchor), (_OPEN, 0))
                if value is _OPEN:
                    raise YamlError(
                        f"alias '{str(event.anchor)[:60]}' names nothing before it", _line(event), "write the value out"
                    )
                nodes += size - 1
                collection = False
            else:
                if kind is DocumentStartEvent:
                    documents += 1
                    if documents > 1:
                        raise YamlError("holds more than one document", _line(event), "remove what follows '---'")
                continue
            nodes += 1
            if nodes > max_nodes:
                raise YamlError(f"more than {max_nodes:,} values once aliases are followed", _line(event), too_many)
            if at_value:
                inner[key] = value
                at_value = False
            elif inner is None:
                root = value
            elif type(inner) is list:
                inner.append(value)
                if note is not None:
                    note([*_path(around), str(len(inner) - 1)], _line(event))
            else:
                if not (is_plainly_read and type(value) is str and value not in inner):
                    _check_key(
                        value, inner, lines, _line(event), around, collection=collection, lined=lined, twice=twice
                    )
                    if lined:
                        lines[value] = _line(event)
                    if note is not None:
                        note([*_path(around), value], _line(event))
                key, at_value = value, True
            if collection:
                if inner is not None:
                    around.append(_Open(inner, key, anchor, began, lines))
                inner, key, anchor, began, at_value = value, None, event.anchor, nodes - 1, False
                if lined:
                    lines = {}
    finally:
        loader.dispose()


def check_depth(text: str) -> None:
    """Refuse nesting that overflows the stack of a recursive reader. Raises: YamlError. Syntax errors are not found."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise YamlError(_DEEP, _line(event), _SHALLOWER)
            elif isinstance(event, _END):
                depth -= 1
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        if isinstance(error, yaml.MarkedYAMLError) and _is_depth(error):
            line = error.problem_mark.line + 1 if error.problem_mark else 0
            raise YamlError(_DEEP, line, _SHALLOWER) from error


def _is_depth(error: yaml.MarkedYAMLError) -> bool:
    """Of libyaml's own limit of nesting (0.2.6: 1,000). Its scanner looks ahead of the events that are counted here."""
    return "nesting depth" in (error.problem or "")


def _check_key(
    value: Any,  # noqa: ANN401
    inner: dict[Any, Any],
    lines: dict[Any, int],
    line: int,
    around: list[_Open],
    *,
    collection: bool,
    lined: bool,
    twice: Callable[[list[Any], int, int], None] | None,
) -> None:
    """Refuse what is no key of the mapping `inner`, or is one already."""
    if collection or isinstance(value, dict | list):
        raise YamlError("a key is not a plain word", line, "write 'key: value'")
    if value is None or isinstance(value, bool | float):
        raise YamlError(f"'{value}' is not a key", line, "keys are words or whole numbers; quote it if it is a word")
    if value in inner:
        if not lined:
            raise _GivenTwiceError
        first = lines[value]
        if twice is None:
            raise YamlError(
                f"'{value}' is given twice in one mapping", line, f"the first is on line {first}; remove one of them"
            )
        twice([*_path(around), value], first, line)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0


def _plain_tag(tag: str | None, line: int) -> None:
    if tag is not None and tag != "!":  # '!' alone: a quoted scalar's, or one that is to stay a word
        raise YamlError(f"tag '{tag[:60]}' is not read", line, "write plain mappings, lists and words")


def _path(stack: list[_Open]) -> list[Any]:
    return [str(len(it.value) - 1) if isinstance(it.value, list) else it.key for it in stack]

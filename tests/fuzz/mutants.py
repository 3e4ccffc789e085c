"""Scenarios that are nearly valid: a valid one with one to three changes that users, scripts and accidents make.

Edge values (0, the bounds of the schema and one beyond, one more and one less than what was written, the value of
another field), words and names swapped, entries given twice, left out or reordered, sections of another scenario, and
damage to the files beside it. Numbers that make a fabric or a list large stay small: size is not what is tried here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Final

from fabric.errors import UnitError
from fabric.scenario.problems import schema_at
from fabric.topology.quantities import exact_length, exact_rate, exact_size, exact_time
from fabric.units import parse_length_mm, parse_rate_bps, parse_size_bytes, parse_time_ps
from tests.fuzz.choices import Choices
from tests.fuzz.scenarios import Case, scenario

Steps = tuple[str | int, ...]
_QUANTITIES: Final[tuple[tuple[Callable[[object], int], Callable[[int], str], tuple[int, ...]], ...]] = (
    (parse_time_ps, exact_time, (0, 1, 10**3, 10**6, 10**9, 10**12, 500 * 10**12, 500 * 10**12 + 1)),
    (parse_size_bytes, exact_size, (0, 1, 575, 576, 9_600, 9_601, 2**31, 2**32, 2**40, 2**62)),
    (parse_rate_bps, exact_rate, (0, 1, 10**5, 10**6, 10**9, 10**12, 10**13, 2**62)),
    (parse_length_mm, exact_length, (0, 1, 10**6, 10**9, 2**62)),
)
_SMALL: Final = frozenset({"repeat", "count", "fan_in", "per_minute", "receive_bitmap"})
"""Numbers that make long lists: their upper bounds are not tried."""
_LONGEST_RUN_PS: Final = 20_000_000_000


def mutant(choose: Choices) -> Case:
    """A valid scenario with one to three changes, which case.about describes."""
    case = scenario(choose)
    descriptions = []
    for _ in range(choose.pick((1, 1, 1, 2, 3))):
        change = choose.pick(
            (
                _edge,
                _edge,
                _edge,
                _edge,
                _edge,
                _same,
                _same,
                _word,
                _word,
                _removed,
                _twice,
                _swapped,
                _reference,
                _grafted,
                _grafted,
                _file,
            )
        )
        descriptions.append(change(choose, case))
    case.about = "; ".join(filter(None, descriptions))
    return case


def _leaves(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:  # noqa: ANN401  YAML data
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        if isinstance(child, dict | list):
            yield from _leaves(child, (*path, key))
        else:
            yield (*path, key), child


def _nodes(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:  # noqa: ANN401  YAML data
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield (*path, key), child
        yield from _nodes(child, (*path, key))


def _at(raw: Any, path: Steps) -> Any:  # noqa: ANN401  YAML data
    for step in path:
        raw = raw[step]
    return raw


def _put(raw: dict[str, Any], path: Steps, value: object) -> str:
    parent = _at(raw, path[:-1])
    text = ".".join(map(str, path))
    old, parent[path[-1]] = parent[path[-1]], value
    return f"{text}: {old!r} becomes {value!r}"[:200]


def _edge(choose: Choices, case: Case) -> str:
    """A bound, one beyond it, or one beside what was written."""
    leaves = [(path, value) for path, value in _leaves(case.raw) if not isinstance(value, str) or value[:1].isdigit()]
    path, value = choose.pick(leaves or list(_leaves(case.raw)))
    if isinstance(value, bool) or value is None:
        return _put(case.raw, path, not value)
    if isinstance(value, int | float):
        schema = schema_at(list(path), case.raw)
        bounds = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
        if path[0] != "topology" and path[-1] not in _SMALL:
            bounds += [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
        near = [0, 1, value - 1, value + 1, -1, *bounds, *(bound + step for bound in bounds for step in (-1, 1))]
        return _put(case.raw, path, choose.pick(near))
    for parse, write, bounds in _QUANTITIES:
        try:
            found = parse(value)
        except UnitError:
            continue
        near = [*bounds, found + 1, max(found - 1, 0), found * 2, found // 2]
        if path in {("run", "duration"), ("telemetry", "interval")}:
            near = [it for it in near if it <= _LONGEST_RUN_PS]
        return _put(case.raw, path, write(choose.pick(near)))
    return _put(case.raw, path, choose.pick((f"{value}x", "", value.upper(), "*")))


def _word(choose: Choices, case: Case) -> str:
    """Another valid word of the field."""
    found = []
    for path, value in _leaves(case.raw):
        if isinstance(value, str):
            schema = schema_at(list(path), case.raw)
            words = [word for word in schema.get("enum", ()) if word != value]
            if words:
                found.append((path, words))
    if not found:
        return ""
    path, words = choose.pick(found)
    return _put(case.raw, path, choose.pick(words))


def _removed(choose: Choices, case: Case) -> str:
    """A field or an entry is left out."""
    path, value = choose.pick(list(_nodes(case.raw)))
    del _at(case.raw, path[:-1])[path[-1]]
    return f"without {'.'.join(map(str, path))} ({str(value)[:80]})"


def _lists(case: Case) -> list[tuple[Steps, list[Any]]]:
    return [(path, value) for path, value in _nodes(case.raw) if isinstance(value, list) and value]


def _twice(choose: Choices, case: Case) -> str:
    """An entry is there twice; in lists of faults they overlap."""
    lists = _lists(case)
    if not lists:
        return ""
    path, entries = choose.pick(lists)
    entries.append(deepcopy(choose.pick(entries)))
    return f"an entry of {'.'.join(map(str, path))} twice"


def _swapped(choose: Choices, case: Case) -> str:
    """Two entries change places, or a list is empty."""
    lists = _lists(case)
    if not lists:
        return ""
    path, entries = choose.pick(lists)
    if len(entries) < 2:
        entries.clear()
        return f"{'.'.join(map(str, path))} is empty"
    a, b = choose.integer(0, len(entries) - 1), choose.integer(0, len(entries) - 1)
    entries[a], entries[b] = entries[b], entries[a]
    return f"entries {a} and {b} of {'.'.join(map(str, path))} swapped"


def _reference(choose: Choices, case: Case) -> str:
    """A name or word takes the place of another."""
    texts = [(path, value) for path, value in _leaves(case.raw) if isinstance(value, str)]
    path, _ = choose.pick(texts)
    return _put(case.raw, path, choose.pick(texts)[1])


def _same(choose: Choices, case: Case) -> str:
    """A time, size or rate equals another one of its kind."""
    parse = choose.pick(_QUANTITIES[:3])[0]
    alike = []
    for path, value in _leaves(case.raw):
        try:
            if isinstance(value, str) and path != ("run", "duration"):
                parse(value)
                alike.append((path, value))
        except UnitError:
            continue
    if len(alike) < 2:
        return ""
    path, _ = choose.pick(alike)
    return _put(case.raw, path, choose.pick(alike)[1])


def _grafted(choose: Choices, case: Case) -> str:
    """A section of another valid scenario."""
    other = scenario(choose)
    name = choose.pick([name for name in other.raw if name != "name"])
    case.raw[name] = other.raw[name]
    case.files |= other.files
    return f"{name} of another scenario"


def _file(choose: Choices, case: Case) -> str:
    """Damage to a file beside the scenario: a line less, a line twice, a character changed."""
    if not case.files:
        return _edge(choose, case)
    name = choose.pick(sorted(case.files))
    lines = case.files[name].splitlines(keepends=True)
    row = choose.integer(0, max(len(lines) - 1, 0))
    kind = choose.integer(0, 2)
    if not lines:
        return ""
    if kind == 0:
        del lines[row]
    elif kind == 1:
        lines.insert(row, lines[row])
    elif lines[row]:
        column = choose.integer(0, len(lines[row]) - 1)
        lines[row] = lines[row][:column] + choose.pick("0,-9 x\n") + lines[row][column + 1 :]
    case.files[name] = "".join(lines)
    return f"{name} line {row + 1}: {('left out', 'twice', 'a character')[kind]}"

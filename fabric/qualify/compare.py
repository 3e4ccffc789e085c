"""Two results of one plan side by side: what was tested differently, and every counter that both have.

The inputs are what `fabric qualify PLAN ... --json` has written. Where the comparability set differs the values are
side by side with the difference stated, and no change is computed; another load balancing is stated, and the change is
what it makes (draft-calabria-bmwg-ai-fabric-training-bench, sections 3.2 and 8.2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabric.errors import InputErrors, Problem
from fabric.reading import read_text
from fabric.topology.select import nearest

STAGE: Final = "comparing results"
_HINT: Final = "write it by: fabric qualify PLAN CONFIGS --json -o FILE"
_STRATEGY: Final = "load_balancing"
_LIMIT: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """One counter of both results."""

    case: str
    scenario: str
    title: str
    """Of its check."""
    measure: str
    label: str
    unit: str
    a: float | None
    b: float | None
    comparable: bool

    @property
    def change(self) -> float | None:
        """Of b over a, less one; None where it says nothing."""
        if not self.comparable or self.a is None or self.b is None or not self.a:
            return None
        return self.b / self.a - 1


@dataclass(frozen=True)
class Comparison:
    """Two results."""

    plan: str
    a: str
    b: str
    differs: tuple[tuple[str, str, str], ...]
    """(parameter of the comparability set, value of a, value of b)."""
    structure: tuple[tuple[str, str, str], ...]
    """(descriptor, value of a, value of b)."""
    lines: tuple[Line, ...]
    only_a: tuple[str, ...]
    """Scenarios of a alone."""
    only_b: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """Whether the comparability set is equal, but for the load balancing."""
        return {key for key, _, _ in self.differs} <= {_STRATEGY}


def read_result(path: Path) -> dict[str, Any]:
    """A result of this verb. Raises: InputErrors."""
    try:
        data = json.loads(read_text(path, _LIMIT, stage=STAGE))
    except json.JSONDecodeError as error:
        raise InputErrors(STAGE, [Problem(f"{path}, line {error.lineno}", f"not JSON: {error.msg}", _HINT)]) from error
    if not isinstance(data, dict) or not isinstance(data.get("scenarios"), list) or "plan" not in data:
        raise InputErrors(STAGE, [Problem(str(path), "is no result of fabric qualify", _HINT)])
    return data


def compared(plan: str | None, a: Path, b: Path) -> Comparison:
    """Raises: InputErrors where a file is no result, or the plans differ."""
    first, second = read_result(a), read_result(b)
    for path, data in ((a, first), (b, second)):
        wanted = plan or first["plan"]
        if data["plan"] != wanted:
            text = f"is a result of {data['plan']}, not of {wanted}"
            raise InputErrors(STAGE, [Problem(str(path), text, nearest(str(data["plan"]), [str(wanted)]))])
    sides = {_name(it): it for it in first["scenarios"]}, {_name(it): it for it in second["scenarios"]}
    both = [name for name in sides[0] if name in sides[1]]
    differs: dict[str, tuple[str, str]] = {}
    structure: dict[str, tuple[str, str]] = {}
    lines: list[Line] = []
    try:
        for name in both:
            designs = [_design(side[name]) for side in sides]
            own = _differences({k: v for k, v in it.items() if k != "structure"} for it in designs)
            for key, pair in own.items():
                differs.setdefault(key, pair)
            structure |= _pairs(it.get("structure") or {} for it in designs)
            lines += _lines(sides[0][name], sides[1][name], comparable=own.keys() <= {_STRATEGY})
    except (KeyError, TypeError, AttributeError) as error:
        raise InputErrors(STAGE, [Problem(f"{a}, {b}", f"a result lacks {error}", _HINT)]) from error
    names = _subject(first, a), _subject(second, b)
    return Comparison(
        str(first["plan"]), *names, tuple((key, *pair) for key, pair in differs.items()),
        tuple((key, *pair) for key, pair in structure.items()), tuple(lines),
        tuple(it for it in sides[0] if it not in sides[1]), tuple(it for it in sides[1] if it not in sides[0]),
    )  # fmt: skip


def _subject(data: Mapping[str, Any], path: Path) -> str:
    return str(data.get("fabric") or data.get("switch") or path.stem)


def _name(scenario: Mapping[str, Any]) -> str:
    return f"{scenario.get('case')} {scenario.get('scenario')}"


def _design(scenario: Mapping[str, Any]) -> dict[str, Any]:
    run = scenario.get("run") or {}
    return dict(run.get("design") or {})


def _pairs(sides: Any) -> dict[str, tuple[str, str]]:  # noqa: ANN401  two mappings
    one, two = sides
    return {key: (_text(one.get(key)), _text(two.get(key))) for key in dict.fromkeys([*one, *two])}


def _differences(sides: Any) -> dict[str, tuple[str, str]]:  # noqa: ANN401  two mappings
    return {key: pair for key, pair in _pairs(sides).items() if pair[0] != pair[1]}


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _lines(a: Mapping[str, Any], b: Mapping[str, Any], *, comparable: bool) -> Sequence[Line]:
    values = [
        {(it["id"], row["measure"], row["label"]): (it["title"], row["unit"], row["value"])
         for it in side["checks"] for row in it["counters"]}
        for side in (a, b)
    ]  # fmt: skip
    found = []
    for key in values[0]:
        if key in values[1]:
            title, unit, value = values[0][key]
            found.append(Line(str(a["case"]), str(a["scenario"]), title, key[1].removesuffix("(kpi)"), key[2], unit,
                              value, values[1][key][2], comparable))  # fmt: skip
    return found

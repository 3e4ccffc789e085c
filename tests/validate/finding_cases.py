"""Changes of the small fabric, one field at a time, and how a table of them is tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fabrics import Judge, Tables, small_fabric

from fabric.validate.checks.base import Severity

Change = Callable[[dict[str, Tables]], Any]
Case = tuple[str, Severity, str, str, Change]
"""Check, severity, switch, object, change."""
E, W, I = Severity.ERROR, Severity.WARN, Severity.INFO  # noqa: E741  as in every table of checks
LOSSLESS = "pg_lossless_400000_40m_profile"


def put(device: str, table: str, key: str, **values: str | None) -> Change:
    def change(fabric: dict[str, Tables]) -> None:
        row = fabric[device].setdefault(table, {}).setdefault(key, {})
        for name, value in values.items():
            if value is None:
                row.pop(name.lstrip("_"), None)
            else:
                row[name.lstrip("_")] = value

    return change


def drop(device: str, table: str, key: str) -> Change:
    return lambda fabric: fabric[device][table].pop(key)


def one_case(cases: list[Case]) -> pytest.MarkDecorator:
    """Parametrise a test over a family's cases."""
    return pytest.mark.parametrize(
        ("id_", "severity", "device", "obj", "change"),
        cases,
        ids=[f"{case[0]}-{number}" for number, case in enumerate(cases)],
    )


def assert_found(judge: Judge, id_: str, severity: Severity, device: str, obj: str, change: Change) -> None:
    """One change of the clean fabric has this finding once, with a line."""
    fabric = small_fabric()
    change(fabric)
    found = [it for it in judge(fabric) if (it.check.id, it.device, it.object) == (id_, device, obj)]
    assert [it.severity for it in found] == [severity]
    assert found[0].text
    assert found[0].place is not None  # a code host shows nothing that has no line

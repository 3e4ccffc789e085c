"""Accepted findings: each with a reason, and a day after which it is reported again.

The file is a list of {check, device, object, reason, expires}; device and object are shell patterns, '*' if absent.
An expired suppression hides nothing and is reported; one without a reason or a date is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from fabric.configs.model import Locator, Place
from fabric.errors import InputErrors, Problem
from fabric.name_patterns import fits_pattern
from fabric.topology.select import nearest
from fabric.validate.checks.base import Finding
from fabric.validate.checks.registry import CHECKS

_KEYS: Final = ("check", "device", "object", "reason", "expires")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One accepted finding."""

    check: str
    device: str
    object: str
    reason: str
    expires: date
    place: Place

    def matches(self, finding: Finding) -> bool:
        """Whether this hides the finding."""
        return (
            self.check == finding.check.id
            and fits_pattern(finding.device, self.device)
            and fits_pattern(finding.object, self.object)
        )


def parse_suppressions(
    value: Any, lines: Locator, file: str, today: date
) -> tuple[list[Suppression], list[Suppression]]:
    """(valid, expired). Raises InputErrors with every problem."""
    rows = value.get("suppressions") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise InputErrors(
            "suppressions",
            [
                Problem(
                    file,
                    "no list of suppressions",
                    "write 'suppressions: [{check: W2, device: leaf1, reason: lab, expires: 2030-01-31}]'",
                )
            ],
        )
    problems: list[Problem] = []
    valid: list[Suppression] = []
    expired: list[Suppression] = []
    for number, row in enumerate(rows):
        place = Place(file, lines.line((*(("suppressions",) if isinstance(value, dict) else ()), str(number))))
        path = f"{place}: suppressions[{number}]"
        if not isinstance(row, dict) or not all(isinstance(item, str) for item in row.values()):
            problems.append(Problem(path, "is no mapping of words", f"keys: {', '.join(_KEYS)}"))
            continue
        before = len(problems)
        problems += [
            Problem(f"{path}.{str(key)[:40]}", "is not known", nearest(str(key), _KEYS))
            for key in row
            if key not in _KEYS
        ]
        problems += [
            Problem(f"{path}.{key}", "is missing", "give check, reason and expires")
            for key in ("check", "reason", "expires")
            if not row.get(key, "").strip()
        ]
        check = row.get("check", "")
        if check and check not in CHECKS:
            problems.append(Problem(f"{path}.check", f"'{check[:40]}' is no check", nearest(check, list(CHECKS))))
        try:
            day = date.fromisoformat(row.get("expires", "") or "2000-01-01")
        except ValueError:
            problems.append(Problem(f"{path}.expires", f"'{row['expires'][:40]}' is no day", "write 2030-01-31"))
            continue
        if len(problems) == before:
            rule = Suppression(check, row.get("device", "*"), row.get("object", "*"), row["reason"], day, place)
            (valid if day >= today else expired).append(rule)
    if problems:
        raise InputErrors("suppressions", problems)
    return valid, expired

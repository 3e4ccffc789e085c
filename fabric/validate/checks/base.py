"""What a check is, and what it finds.

A check is a pure function from the facts of a network to what it found. Around it stand the words a reader needs:
the condition it tests, what happens in the fabric, the remedy, and where the rule is from. `check(...)` turns a
function into a `Check`; each family's module lists its checks by hand, and `registry.py` lists the families.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from fabric.configs.model import Device, Place, Where

if TYPE_CHECKING:
    from fabric.validate.facts import Facts


class Severity(IntEnum):
    """How bad it is; a larger number is worse."""

    INFO = 1
    WARN = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """'error', 'warn' or 'info'."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value a verdict rests on, and where it stands."""

    label: str
    value: str
    place: Place | None = None

    def __str__(self) -> str:
        shown = f"{self.label} = {self.value}" if self.value else self.label
        return shown + (f"  ({self.place})" if self.place else "")


@dataclass(frozen=True, slots=True)
class Found:
    """What a check function yields. `text` names no port, so that equal verdicts on many ports read as one."""

    device: str
    object: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    severity: Severity | None = None
    """None takes the check's own."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict: what was found, by which check, how bad."""

    check: Check
    severity: Severity
    device: str
    object: str
    text: str
    evidence: tuple[Evidence, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two findings of two runs the same one."""
        return self.check.id, self.device, self.object

    @property
    def place(self) -> Place | None:
        """Where to look first."""
        return next((item.place for item in self.evidence if item.place is not None), None)


@dataclass(frozen=True, slots=True)
class Check:
    """One rule."""

    id: str
    severity: Severity
    title: str
    condition: str
    """What is tested, as a formula or sentence that can be false."""
    consequence: str
    remedy: str
    source: str
    function: Callable[[Facts], Iterable[Found]]

    def run(self, facts: Facts) -> Iterator[Finding]:
        """Every finding of this check."""
        for found in self.function(facts):
            yield Finding(self, found.severity or self.severity, found.device, found.object, found.text, found.evidence)


def check(id: str, severity: Severity, title: str, *, condition: str, consequence: str, remedy: str,  # noqa: A002
          source: str) -> Callable[[Callable[[Facts], Iterable[Found]]], Check]:
    """Make a check of the function below it."""

    def wrap(function: Callable[[Facts], Iterable[Found]]) -> Check:
        return Check(id, severity, title, condition, consequence, remedy, source, function)

    return wrap


def listed(priorities: Iterable[int]) -> str:
    """Priorities as configurations write them: '3,4', or 'none'."""
    return ",".join(map(str, sorted(priorities))) or "none"


def named(where: Where) -> str:
    """A construct as a finding's object: its last two names, which every language has."""
    return "|".join(where[-2:])


def shows(device: Device, where: Where, field: str, value: object, label: str = "") -> Evidence:
    """Evidence for a field of a construct, with its line."""
    return Evidence(label or "|".join((*where[-2:], field) if field else where[-2:]), str(value),
                    device.place(where, *((field,) if field else ())))


E, W, I = Severity.ERROR, Severity.WARN, Severity.INFO  # noqa: E741  the three letters of every table of checks

"""What a check is, and what it finds.

A check is a pure function from the facts of a network to its findings. It also carries the words that a reader needs:
the condition, the consequence in the fabric, the remedy, and the source of the rule. `check(...)` turns a function
into a `Check`; each family's module lists its checks by hand, and `registry.py` lists the families.

A finding names its root: the field that has to change. `Check.leads_to` names the checks whose findings are
consequences of such a root; `fabric.validate.causes` groups findings by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from fabric.configs.model import Device, Place, Site, Where
from fabric.validate.field_words import field_word, value_word
from fabric.validate.remedies import Fix

if TYPE_CHECKING:
    from fabric.validate.facts import Facts

Root = tuple[str, Where]
"""A field of a device's configuration: the device's name, or a file's, and the path in it."""


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
    """One value that a finding rests on, and where it stands."""

    label: str
    value: str
    at: Site | Place | None = None

    @property
    def place(self) -> Place | None:
        """File and line; None where the value is computed."""
        return self.at.place if isinstance(self.at, Site) else self.at

    @property
    def root(self) -> Root | None:
        """The field, for comparison with that of another finding."""
        if self.at is None:
            return None
        if isinstance(self.at, Site):
            return self.at.name, self.at.where
        return self.at.file, (str(self.at.line), self.label)

    def __str__(self) -> str:
        shown = f"{self.label} = {self.value}" if self.value else self.label
        place = self.place
        return shown + (f"  ({place})" if place else "")


@dataclass(frozen=True, slots=True)
class Found:
    """What a check function yields. `text` names no port, so that equal findings on many ports read as one."""

    device: str
    object: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    severity: Severity | None = None
    """None takes the check's own."""
    root: Root | None = None
    """The field that has to change; None: that of the first evidence."""
    rests_on: Iterable[Root] = ()
    """Fields besides those of the evidence that the finding depends on."""
    within: Iterable[Root] = ()
    """Constructs of which every field counts: the finding follows from a mistake anywhere inside one."""
    fix: Fix | None = None
    """The change that repairs it, where one is known."""
    paths: int = 0
    """Paths between edge switches that it hurts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check: place, what is wrong, how bad."""

    check: Check
    severity: Severity
    device: str
    object: str
    text: str
    evidence: tuple[Evidence, ...]
    root: Root
    rests_on: Iterable[Root] = ()
    fix: Fix | None = None
    paths: int = 0
    within: Iterable[Root] = ()
    found: tuple[Fix, ...] = ()
    """The changes that clear it, found by trying them on copies (`fix/told.py`): they count instead of `fix`."""
    unfixed: str = ""
    """Why the search found none; '' also where nothing was searched."""
    statement: Place | None = None
    """The line that the change replaces, or that stands before the one it adds; None where nothing was searched."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for findings of two runs that are the same one."""
        return self.check.id, self.device, self.object

    @property
    def place(self) -> Place | None:
        """Where to look first."""
        return self.statement or next((item.place for item in self.evidence if item.at is not None), None)


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
    leads_to: frozenset[str] = frozenset()
    """Checks whose findings are consequences of one of this check, where they depend on its root."""

    def run(self, facts: Facts) -> Iterator[Finding]:
        """Every finding of this check."""
        for found in self.function(facts):
            first = next((item.root for item in found.evidence if item.root is not None), None)
            yield Finding(
                self,
                found.severity or self.severity,
                found.device,
                found.object,
                found.text,
                found.evidence,
                found.root or first or (found.device, (found.object,)),
                found.rests_on,
                found.fix,
                found.paths,
                found.within,
            )


def check(
    id: str,
    severity: Severity,
    title: str,
    *,
    condition: str,
    consequence: str,
    remedy: str,
    source: str,
    leads_to: str = "",
) -> Callable[[Callable[[Facts], Iterable[Found]]], Check]:
    """Make a check of the function below it."""

    def wrap(function: Callable[[Facts], Iterable[Found]]) -> Check:
        return Check(id, severity, title, condition, consequence, remedy, source, function, frozenset(leads_to.split()))

    return wrap


def listed(priorities: Iterable[int]) -> str:
    """Priorities as configurations write them: '3,4', or 'none'."""
    return ",".join(map(str, sorted(priorities))) or "none"


def first(values: Sequence[int | str], shown: int = 8) -> str:
    """The first of the values, and how many more there are."""
    more = f" and {len(values) - shown} more" if len(values) > shown else ""
    return ", ".join(map(str, values[:shown])) + more


def whole_file(device: Device) -> Root:
    """The root of what follows from a file that is cut."""
    return device.name, ("configuration",)


def named(where: Where) -> str:
    """A construct as a finding's object: its last two names, which every language has."""
    return "|".join(where[-2:])


def construct(device: Device, table: str, name: str) -> str:
    """A profile or a pool as a finding's object: table and key, or its name where a language has no tables."""
    return f"{table}|{name}" if device.capabilities.tables else name


def shows(device: Device, where: Where, field: str, value: object, label: str = "") -> Evidence:
    """Evidence for a field of a construct."""
    own = field_word(device.language, field)
    return Evidence(
        label.replace(field, own) if label and field else label or "|".join((*where[-2:], *([own] if own else []))),
        value_word(device.language, value),
        Site(device.name, (*where, field) if field else where, device),
    )


E, W, I = Severity.ERROR, Severity.WARN, Severity.INFO  # noqa: E741  the three letters of every table of checks

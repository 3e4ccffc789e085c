"""What a served leaf is: its path, its type, and the metric of the catalogue that has its value.

Samples that get the same path are added, as XOFF and XON frames where a device counts PFC frames
(telemetry/export/compat/model.py does the same).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

_ELEMENT: Final = re.compile(r"/([^/\[]+)((?:\[[^\]]*\])*)")
_KEY: Final = re.compile(r"\[([^=\]]+)=([^\]]*)\]")
_FIELD: Final = re.compile(r"\{(\w+)\}")

Elem = tuple[str, tuple[tuple[str, str], ...]]
"""One element of a path: (name, ((key, value), ...))."""
Scalar = int | str


class Form(StrEnum):
    """Type of a leaf; RFC 7951 section 6 says how JSON_IETF writes it."""

    UINT64 = "uint64"
    UINT32 = "uint32"
    STRING = "string"
    """Also enumerations."""
    IDENTITY = "identityref"


@dataclass(frozen=True, slots=True)
class Source:
    """One sample of a metric, as a conversion sees it."""

    value: float
    labels: Mapping[str, str]
    port: int
    """Position of the port at its device, from 0 in the order of the fabric."""


@dataclass(frozen=True)
class Leaf:
    """One leaf of every device that has the metric."""

    path: str
    """Template with native labels in braces, such as '/interfaces/interface[name={port}]/state/oper-status'."""
    metric: str
    """Name of a metric of the catalogue."""
    form: Form = Form.UINT64
    factor: int = 1
    """A value is multiplied by this: seconds to microseconds."""
    text: Callable[[Source], str | int | None] | None = None
    """Value of a sample; None: this sample has none."""
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Label -> what the path has for each of its values, where that is not the value itself."""
    note: str = ""
    """Difference from the leaf's description in its schema."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Native labels in the path."""
        return tuple(dict.fromkeys(_FIELD.findall(self.path)))

    @cached_property
    def elements(self) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
        """The template as elements."""
        return tuple((name, tuple(_KEY.findall(keys))) for name, keys in _ELEMENT.findall(self.path))

    def at(self, labels: Mapping[str, str]) -> tuple[Elem, ...]:
        """The path of a sample."""
        labels = {**labels, **{name: names[labels[name]] for name, names in self.keys.items()}}
        return tuple(
            (name.format_map(labels), tuple((key, text.format_map(labels)) for key, text in keys))
            for name, keys in self.elements
        )

    def value(self, source: Source) -> Scalar | None:
        """The value of a sample; counters are whole numbers, although samples are floats."""
        return round(source.value * self.factor) if self.text is None else self.text(source)

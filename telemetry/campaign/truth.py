"""The truth of a case: groups, each one cause with its places and times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from telemetry.diagnosis.root import Kind

Part = Literal["fault", "near", "setting"]
"""fault, near: injected, or a setting of one switch that the twin lacks. setting: drawn with the fabric, in the twin as
well."""


@dataclass(frozen=True, slots=True)
class Group:
    """One cause."""

    kinds: tuple[Kind, ...]
    """What may be named; the first is the fault itself, the others are what monitoring may call it."""
    devices: tuple[str, ...]
    """Devices that are right; () for a setting of all."""
    start_ns: int
    end_ns: int
    ports: tuple[str, ...] = ()
    """'device:port'; () where the whole device is meant."""
    priority: int | None = None
    """Traffic class; None where the cause has none."""
    change: str = ""
    """What was done, in words."""
    part: Part = "fault"

    @property
    def kind(self) -> Kind:
        """The fault itself."""
        return self.kinds[0]

    def as_json(self) -> dict[str, Any]:
        """For the journal."""
        return asdict(self) | {"kinds": [it.value for it in self.kinds]}


def group_of(data: Mapping[str, Any]) -> Group:
    """A group from the journal."""
    lists: Final = ("devices", "ports")
    return Group(
        **{**data, "kinds": tuple(Kind(it) for it in data["kinds"]), **{name: tuple(data[name]) for name in lists}}
    )

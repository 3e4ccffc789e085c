"""What a row of the lowering table gives: a value of a scenario with its origin, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.configs.model import Device, Port, Where
from fabric.configs.network import Host
from fabric.proof.cut import Cut

ASSUMED: Final = "assumed"
CHIP: Final = "chip table"


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a scenario."""

    value: Any
    origin: str
    """'leaf1.json:12', 'chip table: spectrum3' or 'assumed: why'."""

    @property
    def assumed(self) -> bool:
        """Whether no file and no table states it."""
        return self.origin.startswith(ASSUMED)


@dataclass(frozen=True, slots=True)
class NotLowered:
    """A setting that a scenario cannot express, or not exactly."""

    why: str


Lowered = Value | NotLowered | None
"""None: the configuration has nothing of this kind, and neither has the scenario."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a row looks at."""

    cut: Cut
    dscp: int
    """RoCE's, as it comes in to the device."""
    device: Device
    port: Port | None = None
    """None for rows of a whole switch."""
    enters: bool = False
    """Whether the traffic of the cut-out enters by this port."""
    wire: Mapping[int, int] = field(default_factory=dict)
    """DSCP of the sender to that with which a packet comes in, where a switch before has rewritten it."""
    group: int | None = None
    """A group of the port whose profile is asked for; None: RoCE's."""

    @property
    def here(self) -> Port:
        """The port of a row of ports."""
        if self.port is None:
            raise ValueError("a row of switches has no port")
        return self.port

    def origin(self, where: Where, *more: str) -> str:
        """File and line of a field."""
        return str(self.device.place(where, *more))


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the lowering table."""

    item: str
    """What the configurations call it."""
    field: str
    """Dotted field of the scenario, below the switch, port or host."""
    lower: Callable[[Place], Lowered | Iterable[Lowered]]


@dataclass(frozen=True, slots=True)
class HostRow:
    """One row of the table of hosts."""

    item: str
    field: str
    lower: Callable[[Host], Lowered]


def put(tree: dict[str, Any], dotted: str, value: Any) -> None:  # noqa: ANN401  a scenario
    """Set a field of nested mappings."""
    *path, last = dotted.split(".")
    for step in path:
        tree = tree.setdefault(step, {})
    tree[last] = value


def size(count: float) -> str:
    """Bytes as a scenario has them."""
    return f"{int(count)}B"

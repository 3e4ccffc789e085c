"""What differs from port to port: buffer profiles of single priority groups (`buffer_pg` over `buffer`, and what of it
has no effect anywhere), the shapers, and the PFC watchdog.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from fabric.dataplane.state.codes import WatchdogAction
from fabric.dataplane.state.params import ShaperParams, WatchdogParams
from fabric.errors import Problem
from fabric.scenario.compile.layers import given, merge
from fabric.scenario.schema.switches import Buffer, PortSettings, PortWatchdog, Shaper
from fabric.scenario.schema.values import bitmap
from fabric.topology.quantities import exact_rate

_LOSSY: Final = frozenset({"lossy_dynamic_th"})
"""Fields of a profile that a lossy group reads; a lossless one reads the others."""


class Profiles:
    """The profiles of all groups; remembers which fields some group reads."""

    def __init__(self) -> None:
        self._given: dict[int, tuple[int, Buffer]] = {}
        """By identity: (group, own profile) of every one that was met."""
        self._read: dict[int, set[str]] = {}

    def of(self, settings: PortSettings, group: int, lossless: bool) -> Buffer:
        """The profile of a group of a port. `settings` is complete, so `buffer` is."""
        if settings.buffer is None:
            raise TypeError("a setting without a default was left out")
        own = (settings.buffer_pg or {}).get(group)
        if own is None:
            return settings.buffer
        self._given[id(own)] = group, own
        read = given(own) - _LOSSY if lossless else given(own) & _LOSSY
        self._read.setdefault(id(own), set()).update(read)
        return merge(settings.buffer, own)

    def problems(self, path: str) -> list[Problem]:
        """Fields that no group reads, each once."""
        found = {}
        for key, (group, own) in self._given.items():
            for field in sorted(given(own) - self._read[key]):
                lossless = "lossy" if field in _LOSSY else "lossless"
                found[group, field] = Problem(
                    path,
                    f"{field} of group {group} has no effect: no port with this profile has a {lossless} one",
                    "remove it, or change switches.lossless there",
                )
        return list(found.values())


class Shapers:
    """The shapers of all ports and queues; remembers which of them are below the speed of some port."""

    def __init__(self) -> None:
        self._acts: dict[tuple[str, int], bool] = {}
        """By field and rate."""

    def of(self, field: str, given_: Shaper | Literal["off"] | None, rate_bps: int) -> ShaperParams | None:
        """The shaper of one port; None where it is not below the port's speed, where it has no effect."""
        if given_ is None or given_ == "off":
            return None
        acts = given_.rate < rate_bps
        self._acts[field, given_.rate] = self._acts.get((field, given_.rate), False) or acts
        return ShaperParams(given_.rate, given_.burst) if acts else None

    def problems(self, path: str) -> list[Problem]:
        """Shapers that hold no port back."""
        return [
            Problem(
                f"{path}.{field}.rate",
                f"{exact_rate(rate)} has no effect: no port with this shaper is faster",
                "lower the rate, or remove the shaper",
            )
            for (field, rate), acts in self._acts.items()
            if not acts
        ]


def port_watchdog(own: PortWatchdog, whole: WatchdogParams) -> WatchdogParams:
    """The watchdog of a port: its own fields over those of the switch."""
    restoration = own.restoration
    return replace(
        whole,
        detection_ps=whole.detection_ps if own.detection is None else own.detection,
        restoration_ps=whole.restoration_ps
        if restoration is None
        else None
        if restoration == "never"
        else int(restoration),
        action=whole.action if own.action is None else WatchdogAction[own.action.upper()],
        priorities=whole.priorities if own.priorities is None else bitmap(own.priorities),
    )

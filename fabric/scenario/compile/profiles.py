"""What differs from port to port: buffer profiles of single priority groups (`buffer_pg` over `buffer`, and what of it
has no effect anywhere), the shapers, and the PFC watchdog.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from fabric.dataplane.state.codes import WatchdogAction
from fabric.dataplane.state.params import ShaperParams, WatchdogParams
from fabric.errors import Problem
from fabric.scenario.compile.layers import Origin, given, merge
from fabric.scenario.schema.switches import Buffer, PortSettings, PortWatchdog, Shaper
from fabric.scenario.schema.values import bitmap
from fabric.topology.quantities import exact_rate

_LOSSY: Final = frozenset({"lossy_dynamic_th"})
"""Fields of a profile that a lossy group reads; a lossless one reads the others."""


class Profiles:
    """The profiles of all groups; remembers which fields some group reads."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, int, str], bool] = {}
        """By place, group and field of everything that was met."""

    def of(self, settings: PortSettings, origin: Origin, group: int, lossless: bool) -> Buffer:
        """The profile of a group of a port. `settings` is complete, so `buffer` is."""
        if settings.buffer is None:
            raise TypeError("a setting without a default was left out")
        own = (settings.buffer_pg or {}).get(group)
        if own is None:
            return settings.buffer
        for field in sorted(given(own)):
            key = (origin.place("buffer_pg", group, field), group, field)
            self._read[key] = self._read.get(key, False) or lossless is not (field in _LOSSY)
        return merge(settings.buffer, own)

    def problems(self) -> list[Problem]:
        """Fields that no group reads, each once."""
        found = []
        for (place, group, field), read in self._read.items():
            lossless = "lossy" if field in _LOSSY else "lossless"
            text = f"{field} of group {group} has no effect: no port with this profile has a {lossless} one"
            if not read:
                found.append(Problem(place, text, "remove it, or change switches.lossless there"))
        return found


class Shapers:
    """The shapers of all ports and queues; remembers which of them are below the speed of some port."""

    def __init__(self) -> None:
        self._acts: dict[tuple[str, int], bool] = {}
        """By place and rate."""

    def of(
        self, given_: Shaper | Literal["off"] | None, rate_bps: int, origin: Origin, *field: str | int
    ) -> ShaperParams | None:
        """The shaper of one port; None where it is not below the port's speed, where it has no effect."""
        if given_ is None or given_ == "off":
            return None
        acts = given_.rate < rate_bps
        key = (origin.place(*field, "rate"), given_.rate)
        self._acts[key] = self._acts.get(key, False) or acts
        return ShaperParams(given_.rate, given_.burst) if acts else None

    def problems(self) -> list[Problem]:
        """Shapers that hold no port back."""
        return [
            Problem(
                place,
                f"{exact_rate(rate)} has no effect: no port with this shaper is faster",
                "lower the rate, or remove the shaper",
            )
            for (place, rate), acts in self._acts.items()
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

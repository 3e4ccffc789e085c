"""Whether equal-cost links shared their groups' bytes, and where they did not: collisions of the ECMP hash."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.explain.evidence import Evidence, integers
from fabric.runs import endstate
from fabric.units import NS_PER_S

COLLISION_FACTOR: Final = 1.25
"""A link collides with so many times the mean of its group's bytes; flows that are even differ by less."""

Counter = tuple[NDArray[np.int64], NDArray[Any]]
"""(times_ns, values); a value holds until the next row, and is 0 before the first."""


def members(evidence: Evidence) -> dict[int, dict[int, Counter]]:
    """Group -> PortId of each member that carried packets -> its bytes over time; groups with a choice only."""
    table = evidence.run.timeseries(["ecmp_member_bytes"])
    ports, groups = evidence.ports_of(table), integers(table["item"], -1)
    times, values = integers(table["time_ns"], 0), integers(table["value"], 0)
    order = np.lexsort((times, ports, groups))
    ports, groups, times, values = ports[order], groups[order], times[order], values[order]
    starts = np.flatnonzero(np.diff(groups, prepend=-2) | np.diff(ports, prepend=-2))
    stops = np.append(starts[1:], len(ports))[: len(starts)]  # none where no group has several members
    sizes = endstate.read(evidence.run).groups["count"]
    found: dict[int, dict[int, Counter]] = {}
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if sizes[groups[start]] > 1:
            found.setdefault(int(groups[start]), {})[int(ports[start])] = times[start:stop], values[start:stop]
    return found


class Balance:
    """Loads of equal-cost links in any interval of a run, to the next sample."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def collides(self, port: int, start_ns: int, end_ns: int) -> bool:
        """Whether the hash gave a link COLLISION_FACTOR times the mean of its groups, and an even share would have
        been below its rate. Always False where a link has no group with a choice.
        """
        stop_ns, sent, even = end_ns + self._evidence.run.sampling_ns, 0.0, 0.0
        for group in self._groups_of.get(port, ()):
            own = self._members[group]
            carried = {it: _at(counter, stop_ns) - _at(counter, start_ns) for it, counter in own.items()}
            sent += carried[port]
            even += sum(carried.values()) / int(self._sizes[group])
        rate_bps = self._evidence.fabric.links[self._evidence.fabric.ports[port].link].rate_bps
        fits = even * 8 * NS_PER_S < rate_bps * (stop_ns - start_ns)
        return fits and sent > 0 and sent >= COLLISION_FACTOR * even

    @cached_property
    def _members(self) -> dict[int, dict[int, Counter]]:
        return members(self._evidence)

    @cached_property
    def _groups_of(self) -> Mapping[int, list[int]]:
        found: dict[int, list[int]] = {}
        for group, own in self._members.items():
            for port in own:
                found.setdefault(port, []).append(group)
        return found

    @cached_property
    def _sizes(self) -> NDArray[Any]:
        return endstate.read(self._evidence.run).groups["count"]


def _at(counter: Counter, time_ns: int) -> float:
    times, values = counter
    row = int(np.searchsorted(times, time_ns, side="right")) - 1
    return float(values[row]) if row >= 0 else 0.0

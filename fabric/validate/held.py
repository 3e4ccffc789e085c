"""What several priority groups of a switch hold together when each of them asks for a pause, and after it.

A dynamic limit is alpha times what is free of the pool, so groups that are full at once hold less each than one alone:
T_i = alpha_i (P - sum of T_j), hence sum of T = P A / (1 + A) with A the sum of their alphas (Choudhury and Hahne,
IEEE/ACM Transactions on Networking, 1998). A pause acts late: each group then takes up to its headroom. In bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fabric.configs.model import BufferProfile, Device, Pool
from fabric.validate.chips import is_nvidia
from fabric.validate.facts import Facts, Line


@dataclass(frozen=True, slots=True)
class Held:
    """Of several groups."""

    groups: int
    paused_bytes: float
    """When the last one asks for a pause: guaranteed memory and limits."""
    most_bytes: float
    """With all of their headroom."""


def feeding(facts: Facts, line: Line, queue: int) -> Held | None:
    """What all groups hold that feed a queue of a port: those of every other port; None where a size is not known.

    A packet does not leave by the port that it came in by.
    """
    known = facts.notes.setdefault(_NOTE, {})
    key = line.device.name, queue
    if key not in known:
        known[key] = _Feeding.of(facts, line.device, queue)
    found: _Feeding = known[key]
    return found.but(line.device, line.port.name)


_NOTE: Final = "groups that feed queues"


@dataclass(frozen=True, slots=True)
class _Feeding:
    """The groups of a switch that feed its queues of one number: counted once, not once for each port."""

    profiles: tuple[tuple[BufferProfile, Pool | None, Counter[str], int], ...]
    """Profile, its pool, port to the number of its groups with this profile, and their sum."""
    known: dict[tuple[int, ...], Held | None]
    """Number of groups of each profile to what they hold: most ports have as many."""

    @classmethod
    def of(cls, facts: Facts, device: Device, queue: int) -> _Feeding:
        profiles = []
        for profile, groups in facts.lossless_profiles(device).values():
            by_port = Counter(it.port.name for it, group in groups if facts.feeds(it, group, queue))
            profiles.append((profile, device.pools.get(profile.pool), by_port, by_port.total()))
        return cls(tuple(profiles), {})

    def but(self, device: Device, port: str) -> Held | None:
        """What the groups of all ports but one hold."""
        counts = tuple(total - by_port[port] for _, _, by_port, total in self.profiles)
        if counts not in self.known:
            self.known[counts] = self._held(device, counts)
        return self.known[counts]

    def _held(self, device: Device, counts: tuple[int, ...]) -> Held | None:
        rows: list[tuple[BufferProfile, Pool]] = []
        for (profile, pool, _, _), count in zip(self.profiles, counts, strict=True):
            if count and pool is None:
                return None
            rows += [(profile, pool)] * count if pool is not None else []
        return held(device, rows)


def held(device: Device, rows: Iterable[tuple[BufferProfile, Pool]]) -> Held | None:
    """Of groups with these profiles and pools; None where a limit or the size of a pool is not known."""
    pools: dict[str, list[tuple[BufferProfile, Pool]]] = {}
    for profile, pool in rows:
        pools.setdefault(pool.name, []).append((profile, pool))
    count, paused, most = 0, 0.0, 0.0
    for mine in pools.values():
        pool = mine[0][1]
        limits = _limits(mine, pool)
        if limits is None:
            return None
        private = is_nvidia(device) and not pool.shared_headroom_bytes
        guaranteed = sum(max(0, it.size_bytes - it.xoff_bytes) if private else it.size_bytes for it, _ in mine)
        headroom = sum(it.xoff_bytes for it, _ in mine)
        if pool.shared_headroom_bytes:
            headroom = min(headroom, pool.shared_headroom_bytes)
        count += len(mine)
        paused += limits + guaranteed
        most += limits + guaranteed + headroom
    return Held(count, paused, most) if count else None


def _limits(mine: list[tuple[BufferProfile, Pool]], pool: Pool) -> float | None:
    """Of the pool itself: static limits first, dynamic ones share the rest."""
    if pool.size_bytes is None:
        return None
    fixed, alphas = 0.0, 0.0
    for profile, _ in mine:
        if profile.static_th_bytes is not None and profile.dynamic_th is None:
            fixed += profile.static_th_bytes or pool.size_bytes  # SAI: a static threshold of 0 is no limit
        elif profile.alpha is None:
            return None
        else:
            alphas += profile.alpha
    fixed = min(fixed, float(pool.size_bytes))
    return fixed + alphas * (pool.size_bytes - fixed) / (1 + alphas)

"""Trees of next hops: one for each destination, those of twins as a few differences from another one.

Two switches with hosts are twins if they have the same neighbours, as the leaves of a pod have. Exchanging them maps
the fabric's links on themselves, so the tree to one follows from the tree to the other: the neighbours deliver to the
other switch, and the two change places. In a fabric of 160 pods of 54 leaves, 160 of the 8,640 trees are whole, and
each of the others differs from one of them at some ten switches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from fabric.configs.network import End

_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of a link between two switches."""

    out: End
    into: End


@dataclass(frozen=True, slots=True)
class Tree:
    """Where packets to one destination go from each switch."""

    destination: str
    """A prefix, or the switch whose hosts are meant."""
    ends: frozenset[str]
    """Switches that deliver."""
    next_hops: Mapping[str, tuple[Hop, ...]]

    near: Mapping[str, tuple[str, ...]]
    """Switch to the switches its next hops lead to, each once."""
    base: Tree | None = None
    """The earlier tree that it is like."""
    own: frozenset[str] = frozenset()
    """Switches of which the next hops, or those of the next switches, are not those of `base`."""

    def reach(self, starts: Iterable[str]) -> list[str]:
        """Every switch that packets from these switches come to, the first ones included."""
        found = dict.fromkeys(starts)
        queue = deque(found)
        while queue:
            for name in self.near.get(queue.popleft(), ()):
                if name not in found:
                    found[name] = None
                    queue.append(name)
        return list(found)

    def changes(self) -> Iterable[str]:
        """Switches with next hops at which to look for what no earlier tree of the same routes has."""
        return self.next_hops if self.base is None else (name for name in self.own if name in self.next_hops)


class Differences(Mapping[str, _V]):
    """A mapping by switch that differs from another one at a few switches; in the order of all switches."""

    __slots__ = ("_absent", "_base", "_names", "_other")

    def __init__(self, base: Mapping[str, _V], other: Mapping[str, _V], absent: str, names: Iterable[str]) -> None:
        self._base, self._other, self._absent, self._names = base, other, absent, names

    def __getitem__(self, name: str) -> _V:
        if name in self._other:
            return self._other[name]
        if name == self._absent:
            raise KeyError(name)
        return self._base[name]

    def __contains__(self, name: object) -> bool:
        return name in self._other or (name != self._absent and name in self._base)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def twin(
    base: Tree,
    destination: str,
    other: Mapping[str, tuple[tuple[Hop, ...], tuple[str, ...]]],
    names: Iterable[str],
    own: frozenset[str],
) -> Tree:
    """The tree to a twin of `base`'s destination.

    Parameters
    ----------
    other    switch to its next hops, and to the switches that these lead to, where they are not those of `base`
    names    all switches
    own      as `Tree.own`
    """
    return Tree(
        destination,
        frozenset((destination,)),
        Differences(base.next_hops, {name: hops for name, (hops, _) in other.items()}, destination, names),
        Differences(base.near, {name: near for name, (_, near) in other.items()}, destination, names),
        base,
        own,
    )

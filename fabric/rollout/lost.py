"""Switches with hosts that lose every path to others: what a switch that is removed, or a port that is shut, breaks.

The checks of `fabric validate` judge the paths that there are. A rollout knows those of OLD, and says which are gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from fabric.configs.network import Network
from fabric.validate.checks.base import Check, Finding, Severity
from fabric.validate.facts import Facts

_SHOWN: Final = 3
Parts = Mapping[str, int]
"""Switch with hosts to the number of its part: switches of one part have a path to each other."""


def parts(network: Network) -> Parts:
    """The parts that the links which are up, and have a session where sessions are configured, leave connected."""
    routes = Facts(network).routes
    found: dict[str, int] = {}
    for number, name in enumerate(routes.edges):
        if name in found:
            continue
        found[name] = number
        waiting = [name]
        seen = {name}
        while waiting:
            for other in routes.near.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        found.update((other, number) for other in routes.edges if other in seen)
    return found


def lost_paths(before: Parts, network: Network) -> Iterator[Finding]:
    """One finding for each switch that is cut off from switches with hosts of a larger part, in order of OLD."""
    now = parts(network)
    groups: dict[int, list[str]] = {}
    for name in before:
        if name in now:
            groups.setdefault(now[name], []).append(name)
    ranked = sorted(groups.values(), key=len, reverse=True)
    for number, group in enumerate(ranked):
        for name in group:
            cut = [it for larger in ranked[:number] for it in larger if before[it] == before[name]]
            if cut:
                yield _finding(name, cut)


def _finding(name: str, cut: Collection[str]) -> Finding:
    its = list(cut)
    more = f" and {len(its) - _SHOWN} more" if len(its) > _SHOWN else ""
    text = f"no path to {', '.join(its[:_SHOWN])}{more}; OLD has one"
    return Finding(LOST, Severity.ERROR, name, "paths", text, (), (name, ()))


LOST: Final = Check(
    "O1",
    Severity.ERROR,
    "a switch with hosts loses every path to others",
    condition="switches with hosts that have a path to each other in OLD have one in the state, over links that are up",
    consequence="everything between their hosts is lost",
    remedy="keep one of the switches between them, or bring its replacement up first",
    source="operational practice",
    function=lambda _: (),
)
"""Of rollouts alone: it compares with OLD."""

"""Reachability summed up: each segment with its pairs of hosts, and each pair of segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.topology.select import nearest
from fabric.validate.reachability import Reachability, Verdict
from fabric.validate.segments import Host
from fabric.validate.sessions import Cause

MAX_SEGMENTS: Final = 20
"""Pairs of segments are listed up to this many segments."""


@dataclass(slots=True)
class Failure:
    """Ordered pairs of hosts that share one verdict other than 'reaches'."""

    reaches: bool | None
    cause: Cause
    pairs: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)
    """The first host of each group, with the first host that it does not reach."""
    meant: bool = True
    """False where the files keep them apart on purpose."""
    switch: str = ""
    """That of the first example's first host."""


@dataclass(slots=True)
class Row:
    """A segment, or two of them in one direction."""

    name: str
    hosts: int
    switches: tuple[str, ...]
    vrf: str
    pairs: int = 0
    reaching: int = 0
    failures: list[Failure] = field(default_factory=list)

    @property
    def unknown(self) -> int:
        """Pairs that the configurations do not decide."""
        return sum(it.pairs for it in self.failures if it.reaches is None)


@dataclass(frozen=True, slots=True)
class Table:
    """Everything about a network's reachability."""

    segments: tuple[Row, ...]

    @property
    def whole(self) -> bool:
        """Whether every host reaches every other one of its segment."""
        return all(row.pairs == row.reaching for row in self.segments)


def table_of(reach: Reachability) -> Table:
    """The table of a network."""
    segments = [_row(reach, name, sites, sites) for name, sites in _by_segment(reach).items()]
    return Table(tuple(segments))


def between_segments(reach: Reachability) -> tuple[Row, ...]:
    """Each ordered pair of segments, up to MAX_SEGMENTS of them."""
    by_segment = _by_segment(reach)
    return tuple(
        _row(reach, f"{one} → {other}", by_segment[one], by_segment[other])
        for one, other in (permutations(by_segment, 2) if len(by_segment) <= MAX_SEGMENTS else ())
    )


def meant_to_reach(reach: Reachability) -> Iterator[tuple[Row, list[Failure]]]:
    """Segments, and pairs of them in one VRF, with the failures that no one can have intended."""
    for row in (*table_of(reach).segments, *between_segments(reach)):
        failures = [it for it in row.failures if it.reaches is False and it.meant]
        if failures:
            yield row, failures


def _by_segment(reach: Reachability) -> dict[str, list[list[Host]]]:
    found: dict[str, list[list[Host]]] = {}
    for site in _sites(reach.hosts):
        found.setdefault(site[0].segment, []).append(site)
    return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))


def pairs_of(reach: Reachability, source: str, target: str) -> Iterator[tuple[Host, Host, Verdict]]:
    """The verdicts about two hosts by name, in both directions. Raises: InputErrors for a name that is no host's."""
    names = sorted({host.name for host in reach.hosts})
    problems = [
        Problem("--reach", f"'{name}' is no host at a port of an access VLAN", nearest(name, names, "hosts"))
        for name in (source, target)
        if name not in names
    ]
    if not problems and source == target:
        problems = [Problem("--reach", f"'{source}' is given twice", "name two hosts")]
    if problems:
        raise InputErrors("options", problems)
    for names_ in ((source, target), (target, source)):
        ours, theirs = ([host for host in reach.hosts if host.name == name] for name in names_)
        common = {host.segment for host in ours} & {host.segment for host in theirs}
        for one in ours:
            for other in theirs:
                if one.segment == other.segment or not common:
                    yield one, other, reach.hosts_reach(one, other)


def _sites(hosts: Sequence[Host]) -> list[list[Host]]:
    """Hosts that are attached alike: they share every verdict."""
    found: dict[tuple[str, tuple[object, ...]], list[Host]] = {}
    for host in hosts:
        at: tuple[object, ...] = tuple(group.row for group in host.groups) or (host.name,)
        found.setdefault((host.segment, at), []).append(host)
    return list(found.values())


def _row(reach: Reachability, name: str, ours: Sequence[list[Host]], theirs: Sequence[list[Host]]) -> Row:
    groups = [group for site in (*ours, *theirs) for host in site[:1] for group in host.groups]
    vrfs = dict.fromkeys(group.vrf or "default" for group in groups)
    switches = tuple(dict.fromkeys(group.device.name for group in groups))
    count = sum(map(len, ours)) + (0 if ours is theirs else sum(map(len, theirs)))
    row = Row(name, count, switches, ", ".join(vrfs))
    failures: dict[str, Failure] = {}
    for one in ours:
        for other in theirs:
            number = len(one) * (len(other) - (one is other))
            if not number:
                continue
            first = other[one is other]
            verdict = reach.hosts_reach(one[0], first)
            row.pairs += number
            if verdict.reaches:
                row.reaching += number
                continue
            cause = verdict.cause or Cause("unknown")
            at = one[0].groups[0].device.name if one[0].groups else one[0].shut[0][0].name
            new = Failure(verdict.reaches, cause, meant=verdict.meant, switch=at)
            failure = failures.setdefault(cause.text, new)
            failure.pairs += number
            failure.examples.append((one[0].name, first.name))
    row.failures = list(failures.values())
    return row

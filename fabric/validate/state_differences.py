"""Where the statements of a switch's files differ between two states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import Final

from fabric.configs.model import Device
from fabric.configs.text.port_ranges import folded_ports, interfaces_of
from fabric.validate.blocks import Path
from fabric.validate.fix import lines
from fabric.validate.statements import Statement

_ONE_PART: Final = r"(?:\d+(?:-\d+)?|Ethernet\d+|(?!Ethernet)[A-Za-z]+\d\w*(?:-\d+)?)"
_FOLDED: Final = re.compile(rf"{_ONE_PART}(?:,{_ONE_PART})*")
"""A key that may stand for several: '3-4', 'swp1-4', 'Ethernet0,Ethernet4'. SONiC has no ranges of ports."""
_IN_ORDER: Final = re.compile(r"policy-map .*|(?:ip|ipv6|mac) access-list .*")
"""Blocks whose lines act in the order in which they stand."""
_LIST: Final = re.compile(
    r"(?:(?:bgp |ip |ipv6 )?(?:as-path access-list|community-list(?: standard| expanded)?|prefix-list|access-list) \S+)"
    r"(?= (?!seq ))"
)
"""Beginnings of lines that are rows of a list without numbers, which act in their order, too."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A statement of one state in the place of one of the other; None where a state has none."""

    path: Path
    """Names of the blocks that it is in."""
    old: Statement | None
    new: Statement | None

    @property
    def either(self) -> Statement:
        """The new one, or the one that went."""
        return self.new or self.old or Statement("")


def differences(device: Device, old: Statement, new: Statement) -> Iterator[Difference]:
    """Every difference of two states of a switch. A table of CONFIG_DB comes and goes by its rows."""
    if device.capabilities.tables:
        for name in {name for name, _ in (*old.below, *new.below)} - device.beside.keys():
            for state in (old, new):
                if not any(its == name for its, _ in state.below):
                    state.add(Statement(name))
    yield from _in(old, new, ())


def _in(old: Statement, new: Statement, path: Path) -> Iterator[Difference]:
    """Differences of what stands in a block."""
    left, right = _unfolded(list(old.below.values()), list(new.below.values()))
    ours, theirs = _by_name(left), _by_name(right)
    found: list[Difference] = []
    for name in dict.fromkeys((*ours, *theirs)):
        found += _of_one_name(ours.get(name, []), theirs.get(name, []), path)
    yield from _paired(found, path)
    yield from _moved(left, right, path)


def _by_name(its: Iterable[Statement]) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for it in its:
        found.setdefault(it.name, []).append(it)
    return found


def _of_one_name(old: list[Statement], new: list[Statement], path: Path) -> Iterator[Difference]:
    """Of equal ones, what is in them; the others are in each other's place in their order."""
    ours, theirs = ({it.same: it for it in its} for its in (old, new))
    pairs = [(it, theirs[it.same]) for it in old if it.same in theirs]
    rest = zip_longest((it for it in old if it.same not in theirs), (it for it in new if it.same not in ours))
    for was, now in (*pairs, *rest):
        if was is None or now is None:
            yield Difference(path, was, now)
            continue
        if was.same != now.same and (was.line or not (was.below or now.below)):
            yield Difference(path, was, now)
        if was.below or now.below:
            yield from _in(_as_keys(was), _as_keys(now), (*path, was.name))


def _as_keys(one: Statement) -> Statement:
    """NVUE: a value, or several, as keys without settings, where the other state has a mapping."""
    if one.below or one.value is None or one.line:
        return one
    return replace(one, below={(it, ""): Statement(it, at=(*one.at, it)) for it in one.value.split(",")})


def _unfolded(old: list[Statement], new: list[Statement]) -> tuple[list[Statement], list[Statement]]:
    """Both lists; a key of several ports or numbers is written out where the other state has some of them otherwise."""
    names = {it.name for it in old}, {it.name for it in new}
    ours, theirs = (
        {it.name: _expanded(it) for it in its if it.name not in other}
        for its, other in ((old, names[1]), (new, names[0]))
    )
    both = {it for its in ours.values() for it in its} & {it for its in theirs.values() for it in its}
    if not both:
        return old, new
    return _written_out(old, ours, both), _written_out(new, theirs, both)


def _expanded(one: Statement) -> list[str]:
    """The names that a key stands for: itself, or each of a list or range."""
    if one.line:
        kind, _, rest = one.name.partition(" ")
        found = interfaces_of(rest)[0] if kind == "interface" and ("," in rest or "-" in rest) else []
        return [f"interface {it}" for it in found] or [one.name]
    return names_of(one.name)


def names_of(key: str) -> list[str]:
    """Keys of single ports and numbers that a key of CONFIG_DB or NVUE stands for."""
    parts = [list(folded_ports(it)) if _FOLDED.fullmatch(it) else [it] for it in key.split("|")]
    return ["|".join(its) for its in product(*parts)]


def _written_out(its: list[Statement], ways: Mapping[str, list[str]], both: set[str]) -> list[Statement]:
    """One statement for each name; where two keys have a port, what the later one says of it counts."""
    found: dict[tuple[str, str], Statement] = {}
    for one in its:
        names = ways.get(one.name, [])
        for name in names if both.intersection(names) else [one.name]:
            held = found.get((name, one.same))
            said = {it for it, _ in one.below}
            below = {} if held is None else {key: it for key, it in held.below.items() if key[0] not in said}
            found[name, one.same] = replace(one, name=name, below=below | one.below)
    return list(found.values())


def _paired(found: list[Difference], path: Path) -> Iterator[Difference]:
    """One line that went and one that came, and that differ in numbers alone: the one is in the other's place."""
    alike: dict[str, tuple[list[Difference], list[Difference]]] = {}
    for it in found:
        line, alone = it.either.line, it.old is None or it.new is None
        if alone and line and it.either.name == line and not (it.either.below or lines.is_header(path, line)):
            alike.setdefault(lines.place(line), ([], []))[it.old is None].append(it)
    instead: dict[int, Difference | None] = {}
    for gone, came in alike.values():
        if len(gone) == len(came) == 1:
            instead[id(gone[0])] = Difference(path, gone[0].old, came[0].new)
            instead[id(came[0])] = None
    for it in found:
        one = instead.get(id(it), it)
        if one is not None:
            yield one


def _moved(old: list[Statement], new: list[Statement], path: Path) -> Iterator[Difference]:
    """Lines that act in their order, and stand in another one."""
    both = {(it.name, it.same) for it in old} & {(it.name, it.same) for it in new}
    was, now = (_sequences(its, both, path) for its in (old, new))
    for name, its in was.items():
        if its != now[name]:
            yield Difference(path, Statement(name, ", ".join(its)), Statement(name, ", ".join(now[name])))


def _sequences(its: list[Statement], both: set[tuple[str, str]], path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for it in its:
        if not it.line or (it.name, it.same) not in both:
            continue
        if path and _IN_ORDER.fullmatch(path[-1]):
            found.setdefault("order", []).append(it.line)
        elif not path and (match := _LIST.match(it.line)):
            found.setdefault(f"{match[0]} order", []).append(it.line.removeprefix(match[0]).strip())
    return found

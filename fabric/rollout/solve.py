"""The states of a change and a safe order for it: whole switches first, their steps where whole switches do not do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from fabric.rollout.check import Checked, Checker, View
from fabric.rollout.order import Order, Progress, obvious, search, tiers
from fabric.rollout.units import HOSTS, Change, Move, State, Unit

SINGLE, COMPLEMENT, PAIR, ORDER, PREFIX = "one changed", "one left", "two changed", "on the order", "inside a switch"
_SAME_PATH: Final = 2
"""Switches at most this many links apart can be on one path next to each other, or share a neighbour."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A mixed state, and why it was validated."""

    why: str
    checked: Checked
    stands_for: int
    place: int | None = None
    """Where the safe order passes it, or an equal one, first; None where it does not."""

    @property
    def on_order(self) -> bool:
        """Whether the safe order passes it, or an equal one."""
        return self.place is not None


@dataclass
class Solution:
    """What was found between two networks."""

    change: Change
    checker: Checker
    by_steps: bool = False
    """Whether the order is one of steps, because every order of whole switches is hazardous."""
    order: Order | None = None
    whole: Order | None = None
    """The search over whole switches."""
    listed: tuple[Listed, ...] = ()
    """Every state that was validated: those of the order in its order, then the others."""
    obvious_moves: tuple[Move, ...] = ()
    obvious_hazard: tuple[Move, Checked] | None = None
    """The first hazardous state of the order in which switches are listed."""
    prefixes: tuple[Checked, ...] = ()
    """Hazardous states inside a switch, on the order of whole switches."""
    inner: list[State] = field(default_factory=list)
    """States inside a switch without a hazard, on the order of whole switches."""
    complete: bool = True
    """False where the limit of states ended the list of states."""

    @property
    def safe(self) -> bool:
        """Whether an order without a hazard was found."""
        return self.order is not None and self.order.found

    @property
    def counterexample(self) -> Checked | None:
        """The first hazardous state that was met on the way; None with a safe order."""
        if self.safe:
            return None
        for order in (self.whole, self.order):
            if order is not None and order.blocked:
                return order.blocked[0]
        return next((it.checked for it in self.listed if not it.checked.safe), None)


def states_on_the_way(change: Change) -> Iterator[tuple[str, State]]:
    """Each unit alone on NEW, each alone on OLD, and two that share a link or a path; not the 2^n others."""
    seen = {change.start, change.end}
    for reason, state in _on_the_way(change):
        if state not in seen:
            seen.add(state)
            yield reason, state


def _on_the_way(change: Change) -> Iterator[tuple[str, State]]:
    start, end = change.start, change.end
    numbers = range(len(change.units))
    for index in numbers:
        for level in range(1, change.units[index].last + 1):
            yield SINGLE, _with(start, {index: level})
    for index in numbers:
        for level in range(change.units[index].last):
            yield COMPLEMENT, _with(end, {index: level})
    near = _near(change)
    for a, b in combinations(numbers, 2):
        names = change.units[a].name, change.units[b].name
        if HOSTS in {change.units[a].kind, change.units[b].kind} or names[1] in near.get(names[0], ()):
            yield PAIR, _with(start, {a: end[a], b: end[b]})


def _with(state: State, levels: dict[int, int]) -> State:
    return tuple(levels.get(index, level) for index, level in enumerate(state))


def _near(change: Change) -> dict[str, set[str]]:
    """Switch to the switches that are one or two links away."""
    direct: dict[str, set[str]] = {}
    for network in (change.old, change.new):
        for cable in network.links:
            a, b = cable.a[0], cable.b[0]
            if all(it in change.old.devices or it in change.new.devices for it in (a, b)):
                direct.setdefault(a, set()).add(b)
                direct.setdefault(b, set()).add(a)
    return {name: near.union(*(direct[other] for other in near)) - {name} for name, near in direct.items()}


def estimate(checker: Checker) -> int:
    """States that will be validated if no hazard is met; every hazard adds at least one."""
    view = View(checker, checker.change.as_whole())
    keys = {checker.key(view.lifted(state)) for _, state in states_on_the_way(view.change)}
    _, path = obvious(view.change)
    keys |= {checker.key(view.lifted(state)) for state in path}
    return len(keys) + sum(max(0, it.last - 1) for group in _classes(checker) for it in group)


def solve(checker: Checker, *, most: int, say: Progress | None = None) -> Solution:
    """Check the states on the way and search for an order, over at most `most` validated states."""
    change, whole = checker.change, checker.change.as_whole()
    view = View(checker, whole)
    found = Solution(change, checker)
    why: dict[object, str] = {}

    def note(reason: str) -> None:
        for item in checker.checked[len(why) :]:
            why[item.state] = reason

    for reason, state in states_on_the_way(whole):
        if view.validated >= most and view.is_new(state):
            found.complete = False
            break
        view.check(state)
        note(reason)
        if say is not None:
            say("states on the way")
    tier = tiers(change.old)
    order = found.whole = search(view, most=most, tier=tier, say=say)
    note(ORDER)
    found.obvious_moves, path = obvious(whole)
    for move, state in zip(found.obvious_moves, path, strict=True):
        if view.validated >= most and view.is_new(state):
            break
        result = view.check(state)
        note("on the listed order")
        if not result.safe:
            found.obvious_hazard = move, result
            break
    if order.found:
        found.prefixes = tuple(_unsafe_prefixes(found, view, order, most, say))
        note(PREFIX)
    found.order = order
    finer = any(unit.last > coarse.last for unit, coarse in zip(change.units, whole.units, strict=True))
    if finer and (not order.found or found.prefixes):
        found.by_steps = True
        found.order = search(View(checker, change), most=most, tier=tier, say=say)
        note(ORDER)
    elif found.prefixes:
        found.order = Order(blocked=found.prefixes)
    places: dict[State, int] = {}
    if found.order.found:
        last = View(checker, change if found.by_steps else whole)
        inner = () if found.by_steps else found.inner
        for state in (*(last.check(it).state for it in found.order.states), *inner):
            places.setdefault(state, len(places))
    listed = [Listed(why[it.state], it, checker.stands_for(it), places.get(it.state)) for it in checker.checked]
    found.listed = tuple(sorted(listed, key=lambda it: (not it.on_order, it.place or 0)))
    return found


def _classes(checker: Checker) -> Sequence[Sequence[Unit]]:
    """Of each class of equal switches the first and the last: those whose inner states are validated."""
    groups: dict[str, list[Unit]] = {}
    for unit in checker.change.units:
        if unit.kind == "switch":
            groups.setdefault(checker.colour(unit.name), []).append(unit)
    return [[group[0], *group[1:][-1:]] for group in groups.values()]


def _unsafe_prefixes(found: Solution, view: View, order: Order, most: int, say: Progress | None) -> Iterator[Checked]:
    """Hazardous states inside the switch that moves first, and the one that moves last, of each class."""
    change, checker = view.checker.change, view.checker
    first_last: dict[str, list[int]] = {}
    for number, move in enumerate(order.moves):
        if move.unit.kind == "switch":
            first_last.setdefault(checker.colour(move.unit.name), []).append(number)
    places = {unit.name: index for index, unit in enumerate(change.units)}
    for number in sorted({it for numbers in first_last.values() for it in (numbers[0], numbers[-1])}):
        index = places[order.moves[number].unit.name]
        before = view.lifted(order.states[number - 1] if number else view.change.start)
        for level in range(1, change.units[index].last):
            state = _with(before, {index: level})
            if len(checker.checked) >= most and checker.is_new(state):
                found.complete = False
                return
            result = checker.check(state)
            if say is not None:
                say("states inside a switch")
            if result.safe:
                found.inner.append(result.state)
            else:
                yield result

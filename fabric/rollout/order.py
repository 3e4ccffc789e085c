"""Search for a safe order: A* over the sets of steps that are done, through states without a hazard.

The cost of an order is the ports and sessions that go down, then its steps. Both are the sums over the steps left, in
whatever order they are made, so the remaining cost is known exactly: the search goes straight to NEW unless a hazard is
in the way, and comes back only from hazards. Among equal orders the ranks of steps decide (objects before references,
watchdog before PFC, ...), then MTUs: a larger one from the core to the hosts, a smaller one from the hosts to the core.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from fabric.configs.network import Network
from fabric.rollout.check import Checked, View
from fabric.rollout.edits import number_of
from fabric.rollout.steps import Step
from fabric.rollout.units import HOSTS, Change, Move, State
from fabric.validate.facts import Facts

Progress = Callable[[str], None]
PATIENCE: Final = 200
"""States validated without a step forward after which the search ends without an answer."""
_FLAP: Final = 1_000_000
"""Cost of a flap in steps: flaps are compared first."""


@dataclass
class Order:
    """A sequence of steps, or the reason why there is none."""

    moves: tuple[Move, ...] = ()
    """(): no order was found."""
    states: tuple[State, ...] = ()
    """After each move."""
    exhausted: bool = True
    """Without an order: whether every state that can be reached safely was expanded."""
    blocked: tuple[Checked, ...] = ()
    """Hazardous states that ended a branch, in the order in which they were met."""
    reached: State | None = None
    """Without an order: the safe state with the fewest steps left."""
    expanded: int = 0

    @property
    def found(self) -> bool:
        """Whether NEW is reached through safe states."""
        return bool(self.moves)

    @property
    def flaps(self) -> int:
        """Ports and sessions that go down, over all steps."""
        return sum(len(move.step.flaps) for move in self.moves)


@dataclass(order=True)
class _Node:
    cost: int
    left: int
    """Steps left: of equal cost, what is nearest to NEW comes first."""
    preference: tuple[int, int, int]
    number: int
    done: int = field(compare=False)
    state: State = field(compare=False)
    move: Move | None = field(compare=False)
    before: _Node | None = field(compare=False)


def tiers(network: Network) -> dict[str, int]:
    """Links between each switch and the nearest switch with hosts: 0 at the edge, larger in the core."""
    facts = Facts(network)
    return facts.routes.distances(facts.routes.edges)


def search(view: View, *, most: int, tier: Mapping[str, int], say: Progress | None = None) -> Order:
    """An order of least cost, over at most `most` validated states, and PATIENCE without a step forward."""
    change = view.change
    places = {unit.name: index for index, unit in enumerate(change.units)}
    cost = {id(unit): [_cost(unit.steps[level:]) for level in range(unit.last + 1)] for unit in change.units}
    number = 0

    def node(state: State, move: Move | None, before: _Node | None) -> _Node:
        nonlocal number
        number += 1
        ahead = sum(cost[id(unit)][level] for unit, level in zip(change.units, state, strict=True))
        done = 0 if before is None or move is None else before.done + _cost((move.step,))
        left = sum(change.end) - sum(state)
        return _Node(done + ahead, left, _preference(move, tier, places), number, done, state, move, before)

    heap = [node(change.start, None, None)]
    seen: set[object] = {change.start}
    blocked: list[Checked] = []
    best: _Node = heap[0]
    expanded = 0
    at_best = view.validated
    while heap:
        at = heapq.heappop(heap)
        if at.move is not None:
            if view.is_new(at.state) and view.validated >= min(most, at_best + PATIENCE):
                return Order((), (), exhausted=False, blocked=tuple(blocked), reached=best.state, expanded=expanded)
            result = view.check(at.state)
            if not result.safe:
                blocked += [result] if result not in blocked else []
                continue
        if at.left < best.left:
            best, at_best = at, view.validated
        if at.state == change.end:
            path = list(_path(at))
            return Order(tuple(it.move for it in path if it.move), tuple(it.state for it in path), expanded=expanded)
        expanded += 1
        if say is not None:
            say(f"{sum(at.state)} of {sum(change.end)} steps ordered")
        for state, move in change.moves(at.state):
            if state not in seen:
                seen.add(state)
                heapq.heappush(heap, node(state, move, at))
    return Order((), (), exhausted=True, blocked=tuple(blocked), reached=best.state, expanded=expanded)


def obvious(change: Change) -> tuple[tuple[Move, ...], tuple[State, ...]]:
    """The order in which the switches are listed, the hosts at the end: what is done without a plan."""
    state = change.start
    moves, states = [], []
    for unit in sorted(change.units, key=lambda it: it.kind == HOSTS):
        for _ in range(unit.last):
            state, move = next((s, m) for s, m in change.moves(state) if m.unit is unit)
            moves.append(move)
            states.append(state)
    return tuple(moves), tuple(states)


def _path(node: _Node) -> Iterator[_Node]:
    found = []
    at: _Node | None = node
    while at is not None and at.before is not None:
        found.append(at)
        at = at.before
    yield from reversed(found)


def _cost(steps: Iterable[Step]) -> int:
    return sum(_FLAP * len(step.flaps) + 1 for step in steps)


def _preference(move: Move | None, tier: Mapping[str, int], places: Mapping[str, int]) -> tuple[int, int, int]:
    """Smaller is earlier: by rank, by tier, as listed."""
    if move is None:
        return 0, 0, 0
    depth = tier.get(move.unit.name, 0)
    if move.unit.kind == HOSTS:
        return move.step.rank, 0, places[move.unit.name]
    return move.step.rank, depth if _shrinks(move) else -depth, places[move.unit.name]


def _shrinks(move: Move) -> bool:
    """Whether an MTU of the step gets smaller."""
    return any(number_of(it.new) < number_of(it.old) for it in move.step.edits if it.field == "mtu")

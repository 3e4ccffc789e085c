"""Order of forward and backward passes on the stages of a pipeline, and the time of the whole by its longest path.

Sources: GPipe (arXiv 1811.06965); 1F1B and its interleaved form, Narayanan et al. (arXiv 2104.04473), section 2.2.
Without communication the bubble is (p-1)(F+B), or (p-1)(F+B)/v interleaved. With communication the formulas do not
hold; the longest path does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pass:
    """A forward or backward pass of one micro-batch through one chunk of a stage."""

    forward: bool
    micro_batch: int
    chunk: int = 0

    def __str__(self) -> str:
        return f"{'F' if self.forward else 'B'}{self.micro_batch}" + (f"c{self.chunk}" if self.chunk else "")


def gpipe(stages: int, micro_batches: int) -> list[list[Pass]]:
    """All forward passes, then all backward passes, on every stage."""
    passes = [Pass(forward, number) for forward in (True, False) for number in range(micro_batches)]
    return [list(passes) for _ in range(stages)]


def one_forward_one_backward(stages: int, micro_batches: int) -> list[list[Pass]]:
    """Stage i: min(p-i-1, m) forward passes, then one forward and one backward in turn, then the other backwards."""
    return [_alternate(min(stages - stage - 1, micro_batches), micro_batches, _plain) for stage in range(stages)]


def interleaved(stages: int, micro_batches: int, chunks: int) -> list[list[Pass]]:
    """v chunks a stage; m is a multiple of p. The k-th pass is of chunk (k mod pv) div p, counted from the other end
    in the backward direction, and micro-batch (k div pv) p + k mod p; 2(p-i-1) + (v-1)p forward passes come first.

    Raises: ValueError where m is no multiple of p.
    """
    p, v, m = stages, chunks, micro_batches
    if m % p:
        raise ValueError(f"{m} micro-batches are no multiple of {p} stages")

    def at(number: int, forward: bool) -> Pass:
        chunk = number % (p * v) // p
        return Pass(forward, number // (p * v) * p + number % p, chunk if forward else v - 1 - chunk)

    # With m = p all forward passes come first (Megatron-LM, schedules.py); the formula gives fewer on late stages.
    return [
        _alternate(m * v if m == p else min(2 * (p - stage - 1) + (v - 1) * p, m * v), m * v, at) for stage in range(p)
    ]


def _plain(number: int, forward: bool) -> Pass:
    return Pass(forward, number)


def _alternate(warm_up: int, count: int, at: Callable[[int, bool], Pass]) -> list[Pass]:
    """`warm_up` forward passes, then forward and backward in turn, then the backward passes that are left."""
    passes = [at(number, True) for number in range(warm_up)]
    for number in range(count - warm_up):
        passes += [at(warm_up + number, True), at(number, False)]
    return passes + [at(number, False) for number in range(count - warm_up, count)]


def orders(schedule: str, stages: int, micro_batches: int, chunks: int = 1) -> list[list[Pass]]:
    """(p,) passes of each stage in order; schedule is gpipe, 1f1b or interleaved."""
    if schedule == "interleaved":
        return interleaved(stages, micro_batches, chunks)
    return (gpipe if schedule == "gpipe" else one_forward_one_backward)(stages, micro_batches)


def bubble_ps(schedule: str, stages: int, forward_ps: int, backward_ps: int, chunks: int = 1) -> int:
    """Idle time of a stage without communication; F and B of a whole stage, equal on all. Rounded up."""
    share = chunks if schedule == "interleaved" else 1
    return -(-(stages - 1) * (forward_ps + backward_ps) // share)


def walk(plan: Sequence[Sequence[Pass]]) -> Iterator[tuple[int, Pass]]:
    """(stage, pass) of the whole pipeline in an order in which each comes after what it needs.

    Raises: ValueError where the orders of the stages wait for each other in a cycle.
    """
    stages = len(plan)
    last = max((each.chunk for passes in plan for each in passes), default=0) * stages + stages - 1
    done: set[tuple[bool, int, int]] = set()
    position = [0] * stages
    left = sum(map(len, plan))
    while left:
        before = left
        for stage, passes in enumerate(plan):
            while position[stage] < len(passes) and needed(passes[position[stage]], stage, stages, last) <= done:
                each = passes[position[stage]]
                done.add((each.forward, each.micro_batch, each.chunk * stages + stage))
                position[stage] += 1
                left -= 1
                yield stage, each
        if left == before:
            raise ValueError("the orders of the stages wait for each other")


def needed(each: Pass, stage: int, stages: int, last: int) -> set[tuple[bool, int, int]]:
    """(forward, micro-batch, virtual stage) of the passes whose result a pass needs."""
    virtual, number = each.chunk * stages + stage, each.micro_batch
    if each.forward:
        return {(True, number, virtual - 1)} if virtual else set()
    return {(True, number, virtual)} | ({(False, number, virtual + 1)} if virtual < last else set())


@dataclass(frozen=True, slots=True)
class Timeline:
    """Result of the longest path."""

    total_ps: int
    ends_ps: dict[tuple[int, Pass], int]
    """(stage, pass) -> its end."""
    busy_ps: tuple[int, ...]
    """(p,) computing time of each stage."""

    @property
    def idle_ps(self) -> tuple[int, ...]:
        """(p,) time in which each stage neither computes nor has finished; blocking sends included."""
        return tuple(self.total_ps - busy for busy in self.busy_ps)


def longest_path(
    plan: Sequence[Sequence[Pass]],
    duration_ps: Callable[[int, Pass], int],
    transfer_ps: int = 0,
    *,
    blocking: bool = False,
) -> Timeline:
    """When every pass ends, if nothing but the order on each stage and the boundaries makes it wait.

    Parameters
    ----------
    plan : (p,) passes of each stage
    duration_ps : (stage, pass) -> time
    transfer_ps : int    of each boundary, in each direction; free between chunks of one stage (p = 1)
    blocking : bool      the sender computes nothing during its transfer
    """
    stages = len(plan)
    last = max((each.chunk for passes in plan for each in passes), default=0) * stages + stages - 1
    ends: dict[tuple[bool, int, int], int] = {}
    found: dict[tuple[int, Pass], int] = {}
    free, busy = [0] * stages, [0] * stages
    hop = transfer_ps if stages > 1 else 0
    for stage, each in walk(plan):
        virtual = each.chunk * stages + stage
        begin = free[stage]
        for need in needed(each, stage, stages, last):
            begin = max(begin, ends[need] + (hop if need[2] != virtual else 0))
        took = duration_ps(stage, each)
        end = begin + took
        ends[each.forward, each.micro_batch, virtual] = found[stage, each] = end
        busy[stage] += took
        sends = virtual < last if each.forward else virtual > 0
        free[stage] = end + (hop if blocking and sends else 0)
    return Timeline(max(ends.values(), default=0), found, tuple(busy))

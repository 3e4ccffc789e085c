"""Mutated workloads around one switch: what the engine's counters say of a run decides which ones are mutated again.

A workload is at most 32 messages between the switch's hosts and at most two faults. Its score is lexicographic: RoCE
lost, nothing moves, storms that a watchdog found, headroom in use of what there is, depth of the deepest queue, hosts
paused that send nothing to the hot port, pauses, marks; so it grows before a packet is lost. A generation mutates the
best workloads so far. Every draw is named by seed, port and number of the run, so equal seeds give equal results. Each
loss is made smaller by leaving messages and faults out while it is still seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from fabric.proof.recipe import time_us
from fabric.proof.search.bench import Bench, Traffic
from fabric.proof.search.families import SPEEDS_MBPS
from fabric.proof.search.rungs import Rungs
from fabric.proof.search.runs import Runs
from fabric.workload.streams import stream

MOST_MESSAGES: Final = 32
MOST_FAULTS: Final = 2
FIRST: Final = 8
"""Workloads that are drawn before one is mutated."""
_ELITE: Final = 6
_SETTLE_US: Final = 150.0
_LONGEST_US: Final = 2_000.0
_LAST_START_US: Final = 200.0
_LEAST_BYTES: Final = 4_096

Message = tuple[str, str, int, float]
Score = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Genome:
    """A workload."""

    messages: tuple[Message, ...]
    faults: tuple[tuple[str, str, float, float], ...] = ()
    """(kind, host, start in us, duration in us)."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A workload with its run."""

    genome: Genome
    rungs: Rungs
    score: Score


def hunt(bench: Bench, runs: Runs, budget: int, aim: Aim | None = None) -> Iterator[Tried]:
    """Run `budget` workloads, shrinking included, and yield the best one after each run."""
    aim = aim or Aim()
    until = runs.count + budget
    elite: list[Tried] = []
    number = 0
    while runs.count < until:
        rng = stream(runs.seed, f"search.{bench.member.device}.{bench.member.port}.{number}")
        number += 1
        if number <= len(aim.first):
            genome = aim.first[number - 1]
        else:
            genome = drawn(bench, rng) if number <= max(FIRST, len(aim.first)) else mutated(bench, elite, rng)
        tried = tried_workload(bench, runs, genome, aim)
        if tried.rungs.bad and not runs.knows(bench, traffic_of(bench, genome, aim.name), tried.rungs):
            small = shrunk(bench, runs, tried, until, aim)
            runs.keep(bench, traffic_of(bench, small.genome, aim.name), small.rungs)
        elite = sorted([*elite, tried], key=lambda it: it.score, reverse=True)[:_ELITE]
        yield elite[0]


def tried_workload(bench: Bench, runs: Runs, genome: Genome, aim: Aim | None = None) -> Tried:
    """One run."""
    aim = aim or Aim()
    rungs = runs.run(bench, traffic_of(bench, genome, aim.name))
    return Tried(genome, rungs, aim.score(bench, rungs))


def score(bench: Bench, it: Rungs) -> Score:
    """What is climbed; the first entry decides."""
    used = it.headroom_bytes / max(1, it.headroom_of_bytes)
    if it.shared_of_bytes:
        used = max(used, it.shared_bytes / it.shared_of_bytes)
    filled = it.depth_bytes / max(1, bench.fill_bytes)
    counts = it.lost, it.deadlock, it.storms
    reached = it.victims, it.pause_us is not None, it.mark_us is not None
    return *map(float, counts), used, filled, *map(float, reached)


@dataclass(frozen=True, slots=True)
class Aim:
    """What a hunt begins with, and climbs."""

    name: str = "mutated"
    """Of the family."""
    first: tuple[Genome, ...] = ()
    """Workloads that are run first."""
    score: Callable[[Bench, Rungs], Score] = score


def traffic_of(bench: Bench, genome: Genome, name: str = "mutated") -> Traffic:
    """The workload for the time that its bytes need at the slowest."""
    towards: dict[str, int] = {}
    for _, dst, size, _ in genome.messages:
        towards[dst] = towards.get(dst, 0) + size
    slowest = min(bench.mbps, bench.out_mbps)
    last = max((at for *_, at in genome.messages), default=0.0)
    held = sum(lasts for _, _, _, lasts in genome.faults)
    end = min(_LONGEST_US, last + time_us(max(towards.values(), default=0), slowest) + held) + _SETTLE_US
    return Traffic(name, genome.messages, end, tuple(_fault(bench, *it) for it in genome.faults), label=name)


def _fault(bench: Bench, kind: str, host: str, at_us: float, lasts_us: float) -> dict[str, Any]:
    if kind == "pause-storm":
        return {"kind": kind, "hosts": [host], "at": f"{at_us:.3f}us", "duration": f"{lasts_us:.3f}us"}
    device, port = bench.cut.hosts[host]
    slower = max((it for it in SPEEDS_MBPS if it < bench.out_mbps), default=SPEEDS_MBPS[0])
    return {
        "kind": kind, "link": f"{device}:{port}", "at": f"{at_us:.3f}us", "until": f"{at_us + lasts_us:.3f}us",
        "rate": f"{min(slower, bench.out_mbps)}M",
    }  # fmt: skip


# Workloads ------------------------------------------------------------------------------------------------------------


def drawn(bench: Bench, rng: np.random.Generator) -> Genome:
    """Some messages between hosts of the switch."""
    return Genome(tuple(_message(bench, rng) for _ in range(int(rng.integers(2, 6)))))


def _message(bench: Bench, rng: np.random.Generator) -> Message:
    src = _one(rng, bench.senders)
    dst = _one(rng, [it for it in bench.cut.hosts if it != src])
    size = int(_LEAST_BYTES * 2 ** rng.uniform(0, 12))
    return src, dst, size, round(float(rng.uniform(1, _LAST_START_US)), 3)


def mutated(bench: Bench, elite: list[Tried], rng: np.random.Generator) -> Genome:
    """One of the best, changed by one to three operators."""
    base = elite[min(int(rng.exponential(1.5)), len(elite) - 1)]
    genome = base.genome
    for _ in range(int(rng.integers(1, 4))):
        genome = OPERATORS[int(rng.integers(len(OPERATORS)))](bench, base, genome, rng)
    return genome


Operator = Callable[[Bench, Tried, Genome, np.random.Generator], Genome]


def _add(bench: Bench, _: Tried, it: Genome, rng: np.random.Generator) -> Genome:
    more = tuple(_message(bench, rng) for _ in range(int(rng.integers(1, 5))))
    return replace(it, messages=(*it.messages, *more)[-MOST_MESSAGES:])


def _copy(bench: Bench, _: Tried, it: Genome, rng: np.random.Generator) -> Genome:
    """A message once more from another host: a wider incast."""
    src, dst, size, at = it.messages[int(rng.integers(len(it.messages)))]
    new = tuple((host, dst, size, at) for host in bench.senders if host not in {src, dst})
    return replace(it, messages=(*it.messages, *new)[-MOST_MESSAGES:])


def _drop(_b: Bench, _: Tried, it: Genome, rng: np.random.Generator) -> Genome:
    if len(it.messages) < 2:
        return it
    gone = int(rng.integers(len(it.messages)))
    return replace(it, messages=it.messages[:gone] + it.messages[gone + 1 :])


def _align(_b: Bench, _: Tried, it: Genome, rng: np.random.Generator) -> Genome:
    at = it.messages[int(rng.integers(len(it.messages)))][3]
    return replace(it, messages=tuple((*row[:3], at) for row in it.messages))


def _retarget(_b: Bench, _: Tried, it: Genome, rng: np.random.Generator) -> Genome:
    """Messages to the host that most is sent to."""
    totals: dict[str, int] = {}
    for _src, dst, size, _at in it.messages:
        totals[dst] = totals.get(dst, 0) + size
    hot = max(sorted(totals), key=lambda host: totals[host])
    moved = rng.random(len(it.messages)) < 0.5
    rows = tuple(
        (src, hot if yes and src != hot else dst, size, at)
        for (src, dst, size, at), yes in zip(it.messages, moved, strict=True)
    )
    return replace(it, messages=rows)


def _at_event(bench: Bench, base: Tried, it: Genome, rng: np.random.Generator) -> Genome:
    """A message starts at the first mark or pause of the last run, or one frame beside it."""
    times = [at for at in (base.rungs.mark_us, base.rungs.pause_us) if at is not None]
    if not times:
        return it
    frame_us = time_us(4_200, bench.mbps)
    at = max(0.5, times[int(rng.integers(len(times)))] + frame_us * int(rng.integers(-1, 2)))
    number = int(rng.integers(len(it.messages)))
    rows = [*it.messages]
    rows[number] = (*rows[number][:3], round(at, 3))
    return replace(it, messages=tuple(rows))


def _resize(bench: Bench, _: Tried, it: Genome, rng: np.random.Generator) -> Genome:
    number = int(rng.integers(len(it.messages)))
    src, dst, size, at = it.messages[number]
    size = bench.fill_bytes if rng.random() < 0.3 else int(size * 2 ** rng.uniform(-1, 2))
    rows = [*it.messages]
    rows[number] = src, dst, max(_LEAST_BYTES, min(size, 2 * bench.fill_bytes)), at
    return replace(it, messages=tuple(rows))


def _break(_b: Bench, _: Tried, it: Genome, rng: np.random.Generator) -> Genome:
    """A fault at a host that receives."""
    host = it.messages[int(rng.integers(len(it.messages)))][1]
    kind = "pause-storm" if rng.random() < 0.5 else "link-rate"
    at, lasts = float(rng.uniform(1, _LAST_START_US)), float(rng.uniform(20, 300))
    others = tuple(row for row in it.faults if row[1] != host)
    return replace(it, faults=(*others, (kind, host, round(at, 3), round(lasts, 3)))[-MOST_FAULTS:])


OPERATORS: Final[tuple[Operator, ...]] = (_add, _copy, _drop, _align, _retarget, _at_event, _resize, _break)


def _one(rng: np.random.Generator, items: Any) -> str:  # noqa: ANN401  a sequence of names
    return str(items[int(rng.integers(len(items)))])


# Shrinking ------------------------------------------------------------------------------------------------------------


def shrunk(bench: Bench, runs: Runs, tried: Tried, until: int, aim: Aim | None = None) -> Tried:
    """Without the faults and messages that the loss does not need; halves first, then one by one (delta debugging)."""
    best = tried
    for fault in range(len(best.genome.faults) - 1, -1, -1):
        kept = best.genome.faults[:fault] + best.genome.faults[fault + 1 :]
        best = _smaller(bench, runs, best, replace(best.genome, faults=kept), until, aim)
    part = max(1, len(best.genome.messages) // 2)
    while part:
        start = 0
        while start < len(best.genome.messages) and len(best.genome.messages) > part:
            rows = best.genome.messages[:start] + best.genome.messages[start + part :]
            smaller = _smaller(bench, runs, best, replace(best.genome, messages=rows), until, aim)
            start += part if smaller is best else 0
            best = smaller
        part //= 2
    return best


def _smaller(bench: Bench, runs: Runs, best: Tried, genome: Genome, until: int, aim: Aim | None) -> Tried:
    if runs.count >= until:
        return best
    tried = tried_workload(bench, runs, genome, aim)
    return tried if tried.rungs.bad else best

"""A queue of jobs for the nodes of a fabric: first in first out, or with backfill.

Decisions are made before anything runs, by the expected durations of the jobs: the time limits by which schedulers plan
(Slurm, sched/backfill; the rule is EASY backfill: Lifka, JSSPP 1995, which keeps one reservation, that of the first job
in the queue). Which nodes a job gets, and behind which jobs, is decided here; when it really begins follows from when
those really end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job in the queue."""

    name: str
    arrival_ps: int
    nodes: int
    limit_ps: int


@dataclass(frozen=True, slots=True)
class Admitted:
    """What the queue decided for a job."""

    nodes: tuple[str, ...]
    """In the order of its ranks."""
    start_ps: int
    """Expected."""
    after: tuple[str, ...]
    """Jobs that held one of its nodes last."""
    turn_ps: int
    """Earliest start that the order of the queue allows, where that and not its nodes decided; else the arrival."""


Choose = Callable[[Submitted, frozenset[str]], Sequence[str]]
"""(job, free nodes) -> its nodes, as many as it needs."""


def admit(
    jobs: Sequence[Submitted], nodes: Sequence[str], policy: Literal["fifo", "backfill"], choose: Choose
) -> dict[str, Admitted]:
    """Name -> decision. Jobs of one arrival are in the given order. Every job fits the empty fabric."""
    waiting = sorted(jobs, key=lambda job: job.arrival_ps)
    running: dict[str, tuple[int, tuple[str, ...]]] = {}  # name -> (expected end, nodes)
    last: dict[str, str] = {}  # node -> the job that held it last
    ended: dict[str, int] = {}
    found: dict[str, Admitted] = {}
    now = 0
    while waiting:
        for name in [name for name, (end, _) in running.items() if end <= now]:
            ended[name] = running.pop(name)[0]
        held = {node for _, each in running.values() for node in each}
        free = frozenset(nodes) - held
        job = _next([job for job in waiting if job.arrival_ps <= now], free, running, now, policy)
        if job is not None:
            chosen = tuple(choose(job, free))
            after = tuple(dict.fromkeys(last[node] for node in chosen if node in last))
            ready = max((ended[name] for name in after), default=0)
            turn = now if now > max(ready, job.arrival_ps) else job.arrival_ps
            found[job.name] = Admitted(chosen, now, after, turn)
            running[job.name] = now + job.limit_ps, chosen
            last.update(dict.fromkeys(chosen, job.name))
            waiting.remove(job)
            continue
        now = min([end for end, _ in running.values()] + [job.arrival_ps for job in waiting if job.arrival_ps > now])
    return found


def _next(
    queue: Sequence[Submitted],
    free: frozenset[str],
    running: dict[str, tuple[int, tuple[str, ...]]],
    now: int,
    policy: Literal["fifo", "backfill"],
) -> Submitted | None:
    """The job that starts now; None: no job does."""
    if not queue or queue[0].nodes <= len(free):
        return queue[0] if queue else None
    if policy == "fifo":
        return None
    # The first job's reservation: when enough nodes are free by the limits, and what is then left for others.
    available, reserved = len(free), now
    for end, held in sorted(running.values()):
        available += len(held)
        reserved = end
        if available >= queue[0].nodes:
            break
    spare = available - queue[0].nodes
    for job in queue[1:]:
        if job.nodes <= len(free) and (now + job.limit_ps <= reserved or job.nodes <= spare):
            return job
    return None

"""Every host to every other, at once or in rounds of permutations (the pattern of expert-parallel training)."""

from __future__ import annotations

import math

import numpy as np

from fabric.workload.batch import Batch, Surroundings, nothing, plain, starts
from fabric.workload.demand import FLOWS, Demand, SpecField, last_start, no_demand, uniform
from fabric.workload.spec import AllToAllSpec


def generate(spec: AllToAllSpec, name: str, path: str, around: Surroundings) -> Batch:
    """In round r = 1 .. n-1 host i sends to host i + r; rows are ordered by repetition, round, host.

    With `order: rounds` a host's message of round r waits until its own message of round r - 1 is complete.
    """
    hosts = around.hosts(spec.hosts, f"{path}.hosts", at_least=2)
    n = len(hosts)
    if n < 2:
        return nothing()
    rounds = np.arange(1, n)
    partner = (np.arange(n)[None, :] + rounds[:, None]) % n
    per_repeat = n * (n - 1)
    src = np.tile(np.tile(hosts, n - 1), spec.repeat)
    dst = np.tile(hosts[partner].ravel(), spec.repeat)
    start = starts(spec.start, spec.repeat, spec.interval, spec.jitter, per_repeat, around.random(name, "jitter"))
    after: list[tuple[int, int]] = []
    if spec.order == "rounds":
        later = np.arange(spec.repeat * per_repeat).reshape(spec.repeat, per_repeat)[:, n:].ravel()
        after = list(zip((later - n).tolist(), later.tolist(), strict=True))
    return plain(src, dst, spec.size, start, after)


def demand(spec: AllToAllSpec, _name: str, path: str, around: Surroundings) -> Demand:
    """n (n - 1) times repetitions."""
    hosts = around.hosts(spec.hosts, f"{path}.hosts", at_least=2)
    n = len(hosts)
    if n < 2:
        return no_demand()
    pairs = n * (n - 1)
    each = np.zeros(len(around.fabric.hosts))
    each[hosts] = (n - 1) * spec.repeat
    place = np.arange(pairs) if pairs <= FLOWS else np.linspace(0, pairs - 1, FLOWS).astype(np.int64)
    src = place % n  # the order of generate(): by round, then by host
    dst = (src + 1 + place // n) % n
    waiting = spec.repeat * n * (n - 2) if spec.order == "rounds" else 0
    return uniform(
        SpecField("repeat", spec.repeat, "count") if spec.repeat > 1 else SpecField("hosts"),
        spec.size,
        pairs * spec.repeat,
        each,
        each,
        hosts[src],
        hosts[dst],
        pairs,
        spec.start,
        last_start(spec.start, spec.repeat, spec.interval, spec.jitter),
        waiting,
    )


def ranks(messages: int) -> int:
    """Hosts that send so many messages in one repetition: n hosts send n * (n - 1)."""
    return (1 + math.isqrt(1 + 4 * messages)) // 2

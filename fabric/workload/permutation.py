"""One to one: every host sends to one other and receives from one; the pattern that exposes uneven ECMP."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.errors import Problem
from fabric.workload.batch import Batch, Surroundings, nothing, plain, starts
from fabric.workload.demand import Demand, SpecField, last_start, no_demand, thinned, uniform
from fabric.workload.spec import PermutationSpec


def derangement(n: int, random: np.random.Generator) -> NDArray[np.int64]:
    """A uniform permutation without fixed points, by rejection: 1/e of all permutations qualify, so about 3 draws."""
    while True:
        order = random.permutation(n)
        if not np.any(order == np.arange(n)):
            return order.astype(np.int64)


def generate(spec: PermutationSpec, name: str, path: str, around: Surroundings) -> Batch:
    """Host i sends to host i + shift, or to a random partner, the same in every repetition."""
    hosts = around.hosts(spec.hosts, f"{path}.hosts", at_least=2)
    n = len(hosts)
    if n < 2:
        return nothing()
    if spec.shift is None:
        partner = derangement(n, around.random(name, "partners"))
    else:
        partner = (np.arange(n) + spec.shift) % n
        if spec.shift % n == 0:
            around.problems.append(
                Problem(
                    f"{path}.shift",
                    f"with {n} hosts a shift of {spec.shift} sends every host to itself",
                    f"use 1 to {n - 1}",
                )
            )
    start = starts(spec.start, spec.repeat, spec.interval, spec.jitter, n, around.random(name, "jitter"))
    return plain(np.tile(hosts, spec.repeat), np.tile(hosts[partner], spec.repeat), spec.size, start)


def demand(spec: PermutationSpec, name: str, path: str, around: Surroundings) -> Demand:
    """Hosts times repetitions."""
    hosts = around.hosts(spec.hosts, f"{path}.hosts", at_least=2)
    n = len(hosts)
    if n < 2:
        return no_demand()
    partner = derangement(n, around.random(name, "partners")) if spec.shift is None else (np.arange(n) + spec.shift) % n
    each = np.zeros(len(around.fabric.hosts))
    each[hosts] = spec.repeat
    chosen = thinned(n)
    return uniform(
        SpecField("repeat", spec.repeat, "count") if spec.repeat > 1 else SpecField("hosts"),
        spec.size,
        n * spec.repeat,
        each,
        each,
        hosts[chosen],
        hosts[partner[chosen]],
        n,
        spec.start,
        last_start(spec.start, spec.repeat, spec.interval, spec.jitter),
    )

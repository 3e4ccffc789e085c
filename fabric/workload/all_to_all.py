"""Everyone to everyone else, at once or in rounds of permutations (the pattern of expert-parallel training)."""

from __future__ import annotations

import numpy as np

from fabric.workload.batch import Batch, Surroundings, nothing, plain, starts
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

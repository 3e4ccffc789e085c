"""Many to one: the pattern that fills one egress queue and, in lossless classes, pauses its way upstream."""

from __future__ import annotations

import numpy as np

from fabric.errors import Problem
from fabric.workload.batch import Batch, Surroundings, nothing, plain, starts
from fabric.workload.spec import IncastSpec


def generate(spec: IncastSpec, name: str, path: str, around: Surroundings) -> Batch:
    """Every sender posts one message per repetition. With fan_in the senders are drawn anew each time."""
    receiver = around.hosts([spec.receiver], f"{path}.receiver")
    if len(receiver) > 1:
        around.problems.append(Problem(f"{path}.receiver", f"'{spec.receiver}' matches {len(receiver)} hosts",
                                       "an incast has one receiver; write one incast per receiver"))
    pool = around.hosts(spec.senders or ("*",), f"{path}.senders")
    pool = pool[~np.isin(pool, receiver)]
    if len(receiver) != 1 or not len(pool):
        if len(receiver) == 1:
            around.problems.append(Problem(f"{path}.senders", "nobody is left to send but the receiver",
                                           "name other hosts"))
        return nothing()
    if spec.fan_in is None:
        senders = np.tile(pool, spec.repeat)
    elif spec.fan_in > len(pool):
        around.problems.append(Problem(f"{path}.fan_in",
                                       f"{spec.fan_in} senders are wanted, {len(pool)} other hosts exist",
                                       f"use at most {len(pool)}"))
        return nothing()
    else:
        random = around.random(name, "senders")
        senders = np.concatenate([np.sort(random.choice(pool, spec.fan_in, replace=False)) for _ in range(spec.repeat)])
    start = starts(spec.start, spec.repeat, spec.interval, spec.jitter, len(senders) // spec.repeat,
                   around.random(name, "jitter"))
    return plain(senders, np.full(len(senders), receiver[0]), spec.size, start)

"""Many to one: the pattern that fills one egress queue and, in lossless classes, pauses its way upstream."""

from __future__ import annotations

import numpy as np

from fabric.errors import Problem
from fabric.workload.batch import Batch, Surroundings, nothing, plain, starts
from fabric.workload.demand import Demand, SpecField, last_start, no_demand, thinned, uniform
from fabric.workload.spec import IncastSpec


def generate(spec: IncastSpec, name: str, path: str, around: Surroundings) -> Batch:
    """Every sender posts one message per repetition. With fan_in the senders are drawn again for each repetition."""
    receiver = around.hosts([spec.receiver], f"{path}.receiver")
    if len(receiver) > 1:
        around.problems.append(
            Problem(
                f"{path}.receiver",
                f"'{spec.receiver}' matches {len(receiver)} hosts",
                "an incast has one receiver; write one incast per receiver",
            )
        )
    pool = around.hosts(spec.senders or ("*",), f"{path}.senders")
    pool = pool[~np.isin(pool, receiver)]
    if len(receiver) != 1 or not len(pool):
        if len(receiver) == 1:
            around.problems.append(
                Problem(f"{path}.senders", "only the receiver matches, so no host is left to send", "name other hosts")
            )
        return nothing()
    if spec.fan_in is None:
        senders = np.tile(pool, spec.repeat)
    elif spec.fan_in > len(pool):
        around.problems.append(
            Problem(
                f"{path}.fan_in", f"is {spec.fan_in}, but there are {len(pool)} other hosts", f"use at most {len(pool)}"
            )
        )
        return nothing()
    else:
        random = around.random(name, "senders")
        senders = np.concatenate([np.sort(random.choice(pool, spec.fan_in, replace=False)) for _ in range(spec.repeat)])
    start = starts(
        spec.start, spec.repeat, spec.interval, spec.jitter, len(senders) // spec.repeat, around.random(name, "jitter")
    )
    return plain(senders, np.full(len(senders), receiver[0]), spec.size, start)


def demand(spec: IncastSpec, _name: str, path: str, around: Surroundings) -> Demand:
    """Senders times repetitions; with fan_in every host is expected to send equally often."""
    receiver = around.hosts([spec.receiver], f"{path}.receiver")
    pool = around.hosts(spec.senders or ("*",), f"{path}.senders")
    pool = pool[~np.isin(pool, receiver)]
    if len(receiver) != 1 or not len(pool):
        return no_demand()
    each = len(pool) if spec.fan_in is None else min(spec.fan_in, len(pool))
    messages = each * spec.repeat
    n_hosts = len(around.fabric.hosts)
    tx, rx = np.zeros(n_hosts), np.zeros(n_hosts)
    tx[pool] = messages / len(pool)
    rx[receiver[0]] = messages
    src = pool[thinned(len(pool))]
    pairs = len(pool) * (1 - (1 - each / len(pool)) ** spec.repeat)  # expected senders that are drawn at least once
    if spec.repeat > 1:
        count_field = SpecField("repeat", spec.repeat, "count")
    else:
        count_field = SpecField("senders") if spec.fan_in is None else SpecField("fan_in", spec.fan_in, "count")
    return uniform(
        count_field,
        spec.size,
        messages,
        tx,
        rx,
        src,
        np.full(len(src), receiver[0]),
        pairs,
        spec.start,
        last_start(spec.start, spec.repeat, spec.interval, spec.jitter),
    )

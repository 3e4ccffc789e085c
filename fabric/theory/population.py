"""N DCQCN reaction points on one queue with a feedback delay: the algorithm without a network, in steps of time.

A model between the fluid equations (dcqcn.py: equal flows, continuous marks and cuts) and packets. Rates, alpha,
timers, stages and CNPs are those of the algorithm, per flow and random; there are no packets, paths, acknowledgements
or pacing. It attributes differences between the packet level and the equations. Source: Zhu et al., SIGCOMM 2015,
section 3.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from fabric.theory.dcqcn import Course, Fluid, Line

_MEMORY_S = 0.002
"""Longest queueing time that is stored: 10 MB at 40 Gb/s."""


def course(
    fluid: Fluid,
    line: Line,
    flows: int,
    delay_s: float,
    *,
    waits: bool,
    mark: Literal["enqueue", "dequeue"] = "dequeue",
    duration_s: float = 0.2,
    tail_s: float = 0.1,
    step_s: float = 1e-6,
    seed: int = 1,
) -> Course:
    """Queue over the last tail_s, from fair rates and an empty queue; marks act delay_s later.

    waits : packets marked on leaving were sent a queueing time before, and the link sends C of them at any arrival
    rate: a flow's marks follow its share of the rates at that time (first in, first out, marking at dequeue). False:
    they follow the rate that it has when the mark is made, as in the equations.
    mark : when a packet is marked. enqueue (with waits): the probability is that of a queueing time before.
    """
    if mark == "enqueue" and not waits:
        raise ValueError("marks at enqueue reach the receiver a queueing time later: they need waits")
    draw = np.random.default_rng(seed)
    fair = fluid.capacity_pps / flows
    rate, target, alpha = np.full(flows, fair), np.full(flows, fair), np.full(flows, 0.1)
    time_stage, byte_stage = np.zeros(flows, np.int64), np.zeros(flows, np.int64)
    counted = np.zeros(flows)
    silent_until, alpha_at = np.zeros(flows), draw.uniform(0.0, fluid.alpha_s, flows)
    increase_at = draw.uniform(0.0, fluid.increase_s, flows)
    lag = max(round(delay_s / step_s), 1)
    past_queue = np.zeros(lag)
    depth = round(_MEMORY_S / step_s)
    past_p = np.zeros(depth)
    past_rate = np.tile(rate, (depth, 1))
    steps, tail = round(duration_s / step_s), round(tail_s / step_s)
    queue, served, marked = 0.0, 0.0, 0.0
    sizes = np.empty(tail)

    def increase(which: np.ndarray) -> None:
        stage = np.maximum(time_stage, byte_stage)
        target[which & (stage >= fluid.steps)] += fluid.additive_pps
        np.minimum(target, fluid.capacity_pps, out=target)
        rate[which] = (rate[which] + target[which]) / 2.0

    for step in range(steps):
        now, slot = step * step_s, step % lag
        wait = round(past_queue[slot] / fluid.capacity_pps / step_s) if waits else 0
        sent_at = (step - min(lag + wait, depth - 1)) % depth
        old_rate = past_rate[sent_at]
        old_p = past_p[sent_at if mark == "enqueue" else (step - lag) % depth]
        if waits and past_queue[slot] > 0.0:
            old_rate = old_rate * (fluid.capacity_pps / old_rate.sum())
        past_p[step % depth], past_queue[slot] = line.probability(queue * fluid.packet_bytes), queue
        past_rate[step % depth] = rate
        cut = (now >= silent_until) & (
            draw.random(flows) < -np.expm1(old_rate * step_s * np.log1p(-min(old_p, 0.9999)))
        )
        if cut.any():
            follows = cut & ((time_stage > 0) | (byte_stage > 0))
            target[follows] = rate[follows]
            rate[cut] = np.maximum(rate[cut] * (1.0 - alpha[cut] / 2.0), fluid.additive_pps)
            alpha[cut] += fluid.gain_ratio * (1.0 - alpha[cut])
            time_stage[cut] = byte_stage[cut] = 0
            counted[cut] = 0.0
            silent_until[cut], alpha_at[cut], increase_at[cut] = (
                now + fluid.cnp_s,
                now + fluid.alpha_s,
                now + fluid.increase_s,
            )
        due = alpha_at <= now
        alpha[due] *= 1.0 - fluid.gain_ratio
        alpha_at[due] += fluid.alpha_s
        due = increase_at <= now
        if due.any():
            time_stage[due] += 1
            increase_at[due] += fluid.increase_s
            increase(due)
        counted += rate * step_s
        full = counted >= fluid.byte_counter_pkts
        if full.any():
            counted[full] -= fluid.byte_counter_pkts
            byte_stage[full] += 1
            increase(full)
        inflow = float(rate.sum())
        passed = fluid.capacity_pps if queue > 0.0 else min(inflow, fluid.capacity_pps)
        queue = max(queue + (inflow - fluid.capacity_pps) * step_s, 0.0)
        if step >= steps - tail:
            sizes[step - steps + tail] = queue * fluid.packet_bytes
            served += passed
            marked += line.probability(queue * fluid.packet_bytes) * (inflow if mark == "enqueue" else passed)
    return Course(
        float(sizes.mean()),
        float(sizes.std()),
        float(sizes.min()),
        float(sizes.max()),
        served / (tail * fluid.capacity_pps),
        marked / served if served else 0.0,
    )

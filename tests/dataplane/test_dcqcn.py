"""One queue pair's DCQCN against a plain restatement of the paper's algorithm."""

from __future__ import annotations

from typing import Final

import numpy as np
import worlds
from hypothesis import given
from hypothesis import strategies as st
from runs import simulate
from worlds import LOSSLESS, US, World

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind

GAIN: Final = 1 / 256
STEPS: Final = 3
ADDITIVE: Final = 4 * 10**7
HYPER: Final = 4 * 10**8
LEAST: Final = 10**8
TIMER_PS: Final = 55 * US
INTERVAL_PS: Final = 4 * US
"""As worlds.parameters sets them: alpha and increase timers are equally long."""


class Paper:
    """Zhu et al., SIGCOMM 2015, algorithm 1, without a byte counter."""

    def __init__(self, line_bps: int) -> None:
        self.line = self.rate = self.target = line_bps
        self.alpha, self.stage, self.due_ps, self.cut_ps = 1.0, 0, -1, -1

    def until(self, now_ps: int) -> None:
        """No CNP came: each timer shrinks alpha and raises the rate."""
        while 0 <= self.due_ps <= now_ps:
            self.alpha *= 1 - GAIN
            self.stage += 1
            if self.stage >= STEPS:
                self.target = min(self.target + ADDITIVE if self.stage == STEPS else self.target + HYPER, self.line)
            self.rate = min((self.rate + self.target) // 2, self.line)
            self.due_ps += TIMER_PS

    def cnp(self, now_ps: int) -> bool:
        """A CNP arrives."""
        self.until(now_ps)
        if self.cut_ps >= 0 and now_ps < self.cut_ps + INTERVAL_PS:
            return False
        self.target = self.rate
        self.rate = max(int(self.rate * (1 - self.alpha / 2)), LEAST)
        self.alpha = (1 - GAIN) * self.alpha + GAIN
        self.stage, self.due_ps, self.cut_ps = 0, now_ps + TIMER_PS, now_ps
        return True


@given(seed=st.integers(0, 1000), kmin_kb=st.integers(1, 20), senders=st.integers(2, 3))
def test_every_cut_of_a_run_is_the_papers(seed: int, kmin_kb: int, senders: int) -> None:
    world = World(
        leaves=1,
        hosts=4,
        kmin_kb=kmin_kb,
        byte_counter=0,
        clamp=True,
        seed=seed,
        pool_kb=800,
        messages=tuple((sender, 3 - sender, 900_000, 0, LOSSLESS) for sender in range(senders)),
    )
    fabric = worlds.topology(world)
    simulating = simulate(Emulator(fabric, worlds.parameters(world, fabric)))
    log = simulating.drain_events()
    cuts = log[log["kind"] == EventKind.RATE_CUT]
    assert len(cuts) > 3
    for qp in range(senders):
        paper, before = Paper(world.host_gbps * 10**9), -INTERVAL_PS
        for row in cuts[cuts["qp"] == qp]:
            now_ps = int(row["time_ps"])
            assert now_ps - before >= INTERVAL_PS
            before = now_ps
            paper.until(now_ps)
            assert int(row["a"]) == paper.rate
            assert abs(int(row["c"]) - paper.alpha * 1e6) <= 1
            assert paper.cnp(now_ps)
            assert int(row["b"]) == paper.rate


def test_notifications_are_at_most_one_per_interval_and_all_are_accounted_for() -> None:
    world = World(
        leaves=1,
        hosts=4,
        kmin_kb=1,
        pool_kb=800,
        messages=tuple((sender, 3 - sender, 900_000, 0, LOSSLESS) for sender in range(3)),
    )
    fabric = worlds.topology(world)
    simulating = simulate(Emulator(fabric, worlds.parameters(world, fabric)))
    hosts = simulating.state.hosts
    assert hosts["cnp_sent"].sum() == hosts["cnp_handled"].sum() + hosts["cnp_ignored"].sum()
    assert hosts["ecn_received"].sum() > hosts["cnp_sent"].sum()
    longest_ps = int(simulating.state.messages["end_ps"].max())
    assert hosts["cnp_sent"].sum() <= 3 * (1 + longest_ps // (10 * US))
    assert hosts["cnp_handled"].sum() == np.sum(simulating.state.qps["cuts"])

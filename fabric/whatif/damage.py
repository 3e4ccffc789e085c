"""The damage of a failure, and the order of failures by it.

    damage = 1 - delivered / slowdown

delivered is the share of the baseline's messages and transfers that were still delivered; slowdown, at least 1, is the
largest of: mean step time of jobs, time until the last delivery, and 99th percentile of the completion times, each over
that of the baseline, as far as the workload has it. Damage 0: users feel nothing. 1: nothing was delivered.

Order: first failures that break (hosts cut off, or work not delivered), then those that lose packets of lossless
classes, then those that slow, then the others; within each by damage, then by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from fabric.render.document import Status
from fabric.whatif.measure import Compared, Measured

SLOWER: Final = 1.02
"""Slowdown from which a failure slows: below it the change of paths alone moves a tail as much."""


class Effect(IntEnum):
    """What users feel, worst first."""

    BREAKS = 0
    LOSES = 1
    SLOWS = 2
    NONE = 3


WORDS: Final = {
    Effect.BREAKS: "breaks",
    Effect.LOSES: "loses lossless packets",
    Effect.SLOWS: "slows",
    Effect.NONE: "no effect",
}
STATUS: Final = {
    Effect.BREAKS: Status.BAD,
    Effect.LOSES: Status.BAD,
    Effect.SLOWS: Status.WARNING,
    Effect.NONE: Status.GOOD,
}


@dataclass(frozen=True, slots=True)
class Damage:
    """The effect of one failure."""

    effect: Effect
    damage_ratio: float
    """0 to 1, as in the module docstring."""
    slowdown: float
    undelivered: int
    """Messages and transfers that the baseline delivered and this run did not."""
    undelivered_ratio: float
    lossless_pkts: int
    """More packets of lossless classes discarded for lack of buffer than in the baseline."""
    hosts_cut: int


def damage(run: Measured, found: Compared, baseline: Measured, hosts_cut: int) -> Damage:
    """The effect of one run, as defined above."""
    undelivered = max(baseline.done - run.done, 0)
    share = undelivered / max(baseline.done, 1)
    ratios = [it for it in (found.step_ratio, found.makespan_ratio, found.fct_p99_ratio) if it is not None]
    slowdown = max(1.0, *ratios) if ratios else 1.0
    lossless = max(run.lossless_pkts - baseline.lossless_pkts, 0)
    if hosts_cut or undelivered:
        effect = Effect.BREAKS
    elif lossless:
        effect = Effect.LOSES
    elif slowdown >= SLOWER:
        effect = Effect.SLOWS
    else:
        effect = Effect.NONE
    return Damage(effect, 1 - (1 - share) / slowdown, slowdown, undelivered, share, lossless, hosts_cut)


def order(it: Damage, name: str) -> tuple[int, float, str]:
    """Key for sorting, the worst first."""
    return (int(it.effect), -it.damage_ratio, name)

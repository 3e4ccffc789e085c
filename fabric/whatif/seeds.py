"""A case that was simulated with several seeds: its outcomes as one, the interval of its damage, what is told apart.

Every case has the same seeds as the run without a failure (common random numbers), and each is compared with the run of
its own seed. Ratios are means over the seeds. Counts and times are those of the worst seed: a mean would hide a failure
that cuts work off with one seed of five.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fabric.studies.statistics import Interval, difference, interval
from fabric.whatif.carry_out import Outcome
from fabric.whatif.damage import Damage
from fabric.whatif.measure import Compared, Measured

CONFIDENCE: Final = 0.95
_RATIOS: Final = ("fct_p99_ratio", "step_ratio", "makespan_ratio")


@dataclass(frozen=True, slots=True)
class Seeded:
    """One run of a case."""

    seed: int
    outcome: Outcome
    damage: Damage | None
    """None where no failure was simulated."""


def pooled(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcomes of all seeds as one."""
    first = outcomes[0]
    if len(outcomes) == 1:
        return first
    compared = [it.compared for it in outcomes if it.compared is not None]
    return replace(
        first,
        measured=_measured([it.measured for it in outcomes]),
        compared=_compared(compared) if len(compared) == len(outcomes) else None,
        packet_hops=sum(it.packet_hops for it in outcomes),
        peak_rss_bytes=max(it.peak_rss_bytes for it in outcomes),
    )


def pooled_damage(found: Sequence[Damage]) -> Damage:
    """The worst effect, means of the ratios, and the largest of the counts."""
    if len(found) == 1:
        return found[0]
    return Damage(
        min(it.effect for it in found),
        sum(it.damage_ratio for it in found) / len(found),
        sum(it.slowdown for it in found) / len(found),
        max(it.undelivered for it in found),
        max(it.undelivered_ratio for it in found),
        max(it.lossless_pkts for it in found),
        max(it.hosts_cut for it in found),
    )


def worst_seed(found: Sequence[Seeded]) -> Seeded | None:
    """The run of the largest damage; None where there is none."""
    hurt = [it for it in found if it.damage is not None]
    return min(hurt, key=_severity, default=None)


def _severity(it: Seeded) -> tuple[int, float]:
    assert it.damage is not None  # noqa: S101  of those with damage
    return int(it.damage.effect), -it.damage.damage_ratio


def spread(found: Sequence[Seeded]) -> Interval | None:
    """The interval of the mean damage; None with one seed."""
    values = [it.damage.damage_ratio for it in found if it.damage is not None]
    return interval(values, CONFIDENCE) if len(values) > 1 else None


def is_apart(first: Sequence[Seeded], second: Sequence[Seeded]) -> bool:
    """Whether the damages of two cases differ, seed by seed, by more than chance explains."""
    mine, theirs = (
        {it.seed: it.damage.damage_ratio for it in found if it.damage is not None} for found in (first, second)
    )
    found = difference(mine, theirs, CONFIDENCE, paired=True)
    return found is not None and found.low is not None and found.high is not None and not found.low <= 0 <= found.high


def _measured(every: Sequence[Measured]) -> Measured:
    return Measured(**{name: _mean([getattr(it, name) for it in every]) for name in Measured.__slots__})


def _mean(values: Sequence[int | None]) -> Any:  # noqa: ANN401  int where all have one
    known = [it for it in values if it is not None]
    return round(sum(known) / len(known)) if len(known) == len(values) else None


def _compared(every: Sequence[Compared]) -> Compared:
    found = {}
    for name in Compared.__slots__:
        values = [getattr(it, name) for it in every]
        known = [it for it in values if it is not None]
        pool: Callable[[Sequence[Any]], Any] = max
        if name in _RATIOS:
            pool = _average
            known = known if len(known) == len(values) else []
        found[name] = pool(known) if known else None
    return Compared(**found)


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values)

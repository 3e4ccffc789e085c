"""M: schedulers of lossless queues: strict priority beside weights, and weights that are too small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fabric.validate.checks.base import Check, E, Found, W, check, shows
from fabric.validate.checks.entries import pause_roots
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import set_field


@check(
    "M9",
    E,
    "strict priority for data beside weighted queues",
    condition="a lossless queue is not strict while others are weighted or lower ones are strict, and has a "
    "scheduler if any queue has",
    consequence="the data starves the others, or itself; the watchdog takes starvation for a storm",
    remedy="give data queues a weight, keep strict for CNPs",
    source="sonic-swss qosorch.cpp scheduler; pfcwd docs",
    leads_to="M11",
)
def M9(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Per lossless queue."""
    for line in facts.lossless:
        kinds = {s.kind for s in (facts.scheduler(line.device, b) for b in line.port.queues.values()) if s}
        for priority, queue, bound in facts.lossless_queues(line):
            own = facts.scheduler(line.device, bound)
            where = bound.where if bound else line.port.where
            # Where queues are strict by default, a strict data queue starves every one below it.
            lower = {
                it.kind
                for below, b in line.port.queues.items()
                if below < queue and (it := facts.scheduler(line.device, b))
            }
            others = kinds & {"DWRR", "WRR"} or lower or (line.device.capabilities.strict_by_default and queue > 0)
            if own is not None and own.kind == "STRICT" and others:
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{queue}",
                    f"lossless queue is STRICT ('{own.name}')",
                    (shows(line.device, own.where, "type", own.kind),),
                    fix=set_field(line.device, own.where, "type", "DWRR"),
                )
            elif own is None and kinds and not (bound and bound.scheduler):
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{queue}",
                    "lossless queue has no scheduler, others have",
                    (shows(line.device, where, "", ""),),
                    W,
                    rests_on=pause_roots(facts, line, priority),
                )


@check(
    "M17",
    E,
    "ordinary traffic is served before RoCE",
    condition="the queue of DSCP 0 is not strict where a lossless queue is weighted",
    consequence="any burst of ordinary traffic stops RoCE at this port: pauses spread, and the watchdog may take them "
    "for a storm",
    remedy="give the queue of ordinary traffic a weight",
    source="IEEE 802.1Q clause 8.6.8.1 (strict priority: a queue sends when none above it has a frame)",
)
def M17(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """A queue that has a strict scheduler, or a default that is strict above the lossless queue."""
    for line in facts.lossless:
        bulk = facts.queue_of(line, 0)
        bound = line.port.queues.get(-1 if bulk is None else bulk)
        own = facts.scheduler(line.device, bound)
        if bound is None or own is None or own.kind != "STRICT":
            continue
        for _, queue, data in facts.lossless_queues(line):
            weighted = facts.scheduler(line.device, data)
            if queue == bulk or weighted is None or weighted.kind == "STRICT":
                continue
            tables = line.device.capabilities.tables
            yield Found(
                line.device.name,
                f"{line.port.name}|{bulk}",
                f"queue {bulk}, which has DSCP 0, is STRICT, and lossless queue {queue} has a weight",
                (shows(line.device, bound.where, "scheduler" if tables else "", own.name),),
                fix=set_field(line.device, bound.where, "scheduler", weighted.name)
                if tables
                else set_field(line.device, own.where, "type", "DWRR"),
            )
            break


@check(
    "M11",
    W,
    "the RoCE queue has a small weight",
    condition="no weighted queue outweighs a lossless one twice; the queue's share of the weights is not far below "
    "that of most ports of the fabric",
    consequence="RoCE gets less than its share: pauses without need",
    remedy="raise the lossless queues' weight",
    source="deficit round robin: share = weight / sum",
)
def M11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Weights of one port, and shares against those of most ports of the switches with hosts, or without."""
    edge = {line.device.name for line in facts.used if facts.faces_host(line)}
    shares = {(line.end, queue): share for line in facts.lossless for queue, share in _shares(facts, line)}
    counted: dict[tuple[bool, int], Counter[int]] = {}
    for ((name, _), queue), share in shares.items():
        counted.setdefault((name in edge, queue), Counter())[share] += 1
    usual = {key: max(count, key=lambda it: (count[it], it)) for key, count in counted.items()}
    for line in facts.lossless:
        found = [s for s in (facts.scheduler(line.device, b) for b in line.port.queues.values()) if s]
        top = max((s.weight for s in found if s.kind != "STRICT"), default=0)
        for _, queue, bound in facts.lossless_queues(line):
            own = facts.scheduler(line.device, bound)
            if own is not None and own.kind != "STRICT" and own.weight * 2 < top:
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{queue}",
                    f"weight {own.weight}, another queue has {top}",
                    (shows(line.device, own.where, "weight", own.weight),),
                    within=((line.device.name, own.where),),
                    fix=set_field(line.device, own.where, "weight", top),
                )
                continue
            most = usual.get((line.device.name in edge, queue), 0)
            if own is not None and shares.get((line.end, queue), 100) * _LEAST_SHARE < most:
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{queue}",
                    f"queue {queue} has {shares[line.end, queue]} % of the weights, elsewhere {most} %",
                    (shows(line.device, own.where, "weight", own.weight),),
                    rests_on=[(line.device.name, it.where) for it in line.port.queues.values()],
                    within=((line.device.name, own.where),),
                )


_LEAST_SHARE: Final = 1.5
"""A queue with two thirds of its usual share or less is starved beside its peers."""


def _shares(facts: Facts, line: Line) -> Iterator[tuple[int, int]]:
    """Lossless queue to its percentage of the weights of a port."""
    found = [s for s in (facts.scheduler(line.device, b) for b in line.port.queues.values()) if s]
    total = sum(s.weight for s in found if s.kind != "STRICT")
    for _, queue, bound in facts.lossless_queues(line):
        own = facts.scheduler(line.device, bound)
        if own is not None and own.kind != "STRICT" and total:
            yield queue, round(100 * own.weight / total)


CHECKS: Final[tuple[Check, ...]] = (M9, M11, M17)

"""Times of inference requests at the end of a run: from the arrival of their caches, TTFT and TPOT.

What happens after a cache has arrived does not depend on the fabric (fabric/jobs/serving.py), so it is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fabric.errors import Problem
from fabric.jobs.serving import decoded
from fabric.runs.messages import distribution
from fabric.runs.transfers import TransferPlan
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.surroundings import surroundings
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS, PS_PER_S
from fabric.workload.inference import Served, served_of
from fabric.workload.spec import InferenceLoad

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ServingPlan:
    """One entry of `kind: inference`."""

    name: str
    spec: InferenceLoad
    served: Served


@dataclass(frozen=True)
class ServingTimes:
    """Its requests after a run."""

    plan: ServingPlan
    ttft_ps: Ints
    """Of each request whose cache arrived: from its arrival."""
    tpot_ps: Ints
    """Of each of those with two tokens or more."""
    good: int | None
    """Requests within both limits; None without limits."""
    span_ps: int
    """From the first arrival of a request to the last token."""

    def as_json(self) -> dict[str, Any]:
        """A row of summary.json's section `inference`; times in nanoseconds."""
        spec, requests = self.plan.spec, self.plan.served.requests
        seconds = self.span_ps / PS_PER_S
        return {
            "name": self.plan.name,
            "model": spec.model.name,
            "requests": len(requests.arrival_ps),
            "done": len(self.ttft_ps),
            "output_tokens": int(requests.output_tokens.sum()),
            "ttft_ns": _nanoseconds(self.ttft_ps),
            "tpot_ns": _nanoseconds(self.tpot_ps),
            "goodput_per_s": None if self.good is None or not seconds else self.good / seconds,
        }


def serving_plans(scenario: Scenario, fabric: Fabric) -> list[ServingPlan]:
    """The inference entries of a scenario that was compiled."""
    problems: list[Problem] = []
    around = surroundings(scenario, fabric, problems)
    found = []
    for number, spec in enumerate(scenario.workload):
        if isinstance(spec, InferenceLoad):
            name = spec.name or spec.kind
            served = served_of(spec, name, f"workload[{number}]", around)
            if served is not None:
                found.append(ServingPlan(name, spec, served))
    return found


def serving_times(plans: Sequence[ServingPlan], now: Snapshot, transfers: TransferPlan | None) -> list[ServingTimes]:
    """Of every entry, from the transfers of a snapshot."""
    if transfers is None or not plans:
        return []
    number_of = {name: number for number, name in enumerate(transfers.operations)}
    arrived = now.rtransfers["arrived_ps"].astype(np.int64)
    late = np.where(arrived < 0, np.iinfo(np.int64).max, arrived)
    last = np.zeros(len(transfers.operations), np.int64)
    np.maximum.at(last, transfers.operation, late)
    found = []
    for plan in plans:
        count = len(plan.served.requests.arrival_ps)
        ends = [int(last[number_of[f"{plan.name}/request {number} cache"]]) for number in range(count)]
        found.append(timed(plan, [None if end == np.iinfo(np.int64).max else end for end in ends]))
    return found


def timed(plan: ServingPlan, ready_ps: Sequence[int | None]) -> ServingTimes:
    """Times of the requests of an entry.

    ready_ps : (n,) when each request's cache was complete at its decode instance; None: not by the end of the run
    """
    served, spec = plan.served, plan.spec
    requests = served.requests
    ends = decoded(served.serving, requests, served.decode_of, ready_ps)
    first: list[int] = []
    each: list[int] = []
    good, last = 0, 0
    for row, (ready, end) in enumerate(zip(ready_ps, ends, strict=True)):
        if ready is None or end is None:
            continue
        tokens = int(requests.output_tokens[row])
        first.append(ready - int(requests.arrival_ps[row]))
        per_token = 0
        if tokens > 1:
            per_token = (end - ready) // (tokens - 1)
            each.append(per_token)
        last = max(last, end)
        if spec.ttft_limit is not None and spec.tpot_limit is not None:
            good += first[-1] <= spec.ttft_limit and per_token <= spec.tpot_limit
    span = last - int(requests.arrival_ps.min()) if first else 0
    limited = spec.ttft_limit is not None
    return ServingTimes(plan, np.array(first, np.int64), np.array(each, np.int64), good if limited else None, span)


def serving_metrics(times: Sequence[ServingTimes]) -> dict[str, int | float | None]:
    """Metrics that expectations may name, over all entries, in picoseconds; None without requests."""
    found: dict[str, int | float | None] = {"inference.done": sum(len(it.ttft_ps) for it in times) if times else None}
    for name in ("ttft", "tpot"):
        columns = [getattr(it, f"{name}_ps") for it in times]
        every = np.concatenate(columns) if columns else np.empty(0, np.int64)
        found |= {f"inference.{name}.{which}": value for which, value in distribution(every).items()}
    return found


def _nanoseconds(times_ps: Ints) -> Mapping[str, float | None]:
    return {which: None if value is None else value / PS_PER_NS for which, value in distribution(times_ps).items()}

"""A lowered job in the packet engine: its steps take the longest path and what packets add."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from small_jobs import job, rings

from fabric.collectives.longest_path import Link, of_transfers
from fabric.dataplane.engine.driver import Emulator
from fabric.jobs.job import Job
from fabric.jobs.lowering import LoweredJob, lower
from fabric.jobs.placement import nodes_of, place
from fabric.jobs.results import breakdown, completion_ratio, jain_index, slowdowns, step_durations_ps
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.workload.batch import Surroundings
from fabric.workload.demand import NO_FIELD, Demand, SpecField
from fabric.workload.job import place_job
from fabric.workload.job_collectives import builder
from fabric.workload.placed import PlacedTransfers
from fabric.workload.placed import of_transfers as demand_of
from fabric.workload.registry import TRANSFER_KINDS, TransferKind

US: Final = 10**6
LEAVES: Final = {
    "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G", "fabric_rate": "400G",
}  # fmt: skip


class Jobs:
    """Each entry of the workload is the next of some jobs; on the hosts from its offset on."""

    def __init__(self, *made: tuple[Job, int], steps: int = 2) -> None:
        self.made, self.steps = made, steps
        self.lowered: dict[str, LoweredJob] = {}

    def place(self, spec: Any, name: str, path: str, around: Surroundings) -> PlacedTransfers:  # noqa: ANN401
        one, offset = self.made[int(name.removeprefix("job"))]
        nodes = list(nodes_of(around.fabric, 1, "gpu").items())
        slots = place("packed", dict(nodes[offset:]), one, np.random.default_rng(0))
        placed, self.lowered[name] = place_job(one, slots, steps=self.steps)
        return placed

    def demand(self, spec: Any, name: str, path: str, around: Surroundings) -> Demand:  # noqa: ANN401
        placed = self.place(spec, name, path, around)
        return demand_of(NO_FIELD, SpecField("size", spec.size, "size"), placed, len(around.fabric.hosts))


def simulated(monkeypatch: pytest.MonkeyPatch, jobs: Jobs) -> list[np.ndarray[Any, Any]]:
    """(steps, n_ranks) end of each step of each rank, of each job."""
    monkeypatch.setitem(TRANSFER_KINDS, "permutation", TransferKind(jobs.place, jobs.demand))
    loads = [{"kind": "permutation", "name": f"job{n}", "size": "1B"} for n in range(len(jobs.made))]
    raw = {
        "name": "job", "topology": LEAVES, "workload": loads, "run": {"duration": "50ms"},
        "transport": {"qp": {"per": "pair"}},
    }  # fmt: skip
    made = compile_scenario(build_scenario(raw, Path("job.yml")))
    engine = Emulator(made.fabric, made.params, made.edits)
    while not engine.finished and engine.now_ps < 50 * 10**9:
        engine.advance(engine.now_ps + 10**9)
    rows = engine.snapshot().transfers
    found, offset = [], 0
    for lowered in jobs.lowered.values():
        found.append(rows["completed_ps"][lowered.step_ends + offset])
        offset += len(lowered.transfers)
    assert (np.concatenate([ends.ravel() for ends in found]) > 0).all()
    return found


CASES: Final[dict[str, dict[str, Any]]] = {
    "data": {"parallel__dp": 4},
    "pipeline": {"parallel__pp": 4},
    "tensor and data": {"parallel__tp": 2, "parallel__dp": 2, "memory__zero": 1},
    "experts": {"parallel__dp": 4, "parallel__ep": 4, "model__experts": 4, "model__experts_per_token": 2},
    "contexts": {"parallel__cp": 4},
    "zero 3": {"parallel__dp": 4, "memory__zero": 3},
}


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_a_simulated_step_takes_at_least_the_longest_path(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = job(**changes, model__hidden=64, model__feed_forward=256)
    (ends,) = simulated(monkeypatch, Jobs((made, 0)))
    durations = step_durations_ps(ends)
    lowered = lower(made, rings, steps=2)
    ideal = of_transfers(lowered.transfers, made.parallel.n_ranks, Link(0, 80)).end_ps  # 100G: 80 fs a byte
    slow = of_transfers(lowered.transfers, made.parallel.n_ranks, Link(20 * US, 2 * 80)).end_ps
    assert ideal < durations.sum() < slow
    # Both steps are alike up to the queues that the first one leaves.
    assert durations[0] == pytest.approx(durations[1], rel=0.05)


def test_parts_of_a_step_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    made = job(
        parallel__pp=2, parallel__dp=2, compute__optimizer="5us", compute__stragglers=[{"rank": 0, "factor": 1.5}]
    )
    (ends,) = simulated(monkeypatch, Jobs((made, 0)))
    durations = step_durations_ps(ends)
    alone = of_transfers(lower(made, rings).transfers, 4, Link(0, 0)).end_ps
    for step in breakdown(made, durations.tolist(), [alone] * 2):
        assert step.duration_ps == step.compute_ps + step.bubble_ps + step.slow_ranks_ps + step.exposed_ps
        assert step.compute_ps == 4 * 60 * US + 5 * US
        assert step.bubble_ps == 60 * US
        assert step.slow_ranks_ps > 0
        assert step.exposed_ps > 0


def test_jobs_that_share_no_link_do_not_slow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made = job(parallel__dp=4, model__hidden=64)
    alone = simulated(monkeypatch, Jobs((made, 0)))[0]
    first, second = simulated(monkeypatch, Jobs((made, 0), (made, 4)))  # a leaf each
    found = slowdowns([int(first.max()), int(second.max())], [int(alone.max())] * 2)
    assert found == pytest.approx([1.0, 1.0], rel=0.01)
    assert jain_index(found) == pytest.approx(1.0)


def test_indices_and_ratios_have_closed_forms() -> None:
    assert jain_index([1, 0, 0, 0]) == 0.25
    assert jain_index([2, 2]) == 1
    assert slowdowns([30, 10], [10, 10]) == [3, 1]
    assert completion_ratio(3 * 10**12, 10**12, 50e9, 400 * 10**9) == 1.5
    assert step_durations_ps(np.array([[3, 5], [9, 7]]), 1).tolist() == [4, 4]


def test_algorithms_of_collectives_are_chosen_by_name() -> None:
    tree = builder("double-binary-tree")("all-reduce", 4, 1000)
    ring = builder()("all-reduce", 4, 1000)
    assert tree.sent_bytes(4).sum() == ring.sent_bytes(4).sum() == 2 * 3 * 1000
    assert len(tree) != len(ring)

"""Checkpoints and dataset reads of a job: bytes of each rank, figures of the plan, and rows of the schedule."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from small_jobs import job, mapping, rings

from fabric.collectives.longest_path import Link, of_transfers
from fabric.errors import InputErrors
from fabric.jobs.job import Job, held_of_ranks
from fabric.jobs.load import load_job
from fabric.jobs.lowering import LoweredJob, Start, lower
from fabric.jobs.model import parameters
from fabric.jobs.plan import make_plan, step_ps
from fabric.jobs.presets import JOBS
from fabric.jobs.storage import read_bytes, written_bytes

SYNC: Final = {"checkpoint": {"every": 2}}
LAYOUTS: Final[dict[str, dict[str, Any]]] = {
    "one rank": {},
    "replicas": {"parallel__dp": 3},
    "stages and tensor": {"parallel__pp": 2, "parallel__tp": 2, "parallel__dp": 2},
    "contexts": {"parallel__cp": 2},
    "experts": {"parallel__dp": 4, "parallel__ep": 2, "model__experts": 4, "model__experts_per_token": 1},
}


def sent(made: LoweredJob, what: str) -> int:
    """Bytes of all operations of one kind, requests included."""
    rows = made.transfers
    mine = np.array([it.operation == what for it in made.operations])[rows.operation]
    return int(sum(rows.sizes_bytes(row).sum() for row in np.flatnonzero(mine)))


@pytest.mark.parametrize("writers", ["one-replica", "all"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_parts_together_are_the_state_of_one_replica(layout: str, writers: str) -> None:
    if writers == "all" and layout == "one rank":
        return
    made = job(**LAYOUTS[layout], storage={"checkpoint": {"every": 1, "writers": writers, "stripe": "1KB"}})
    parts = written_bytes(made, held_of_ranks(made))
    assert parts.sum() == 14 * parameters(made.model)
    replicas = made.parallel.dp * made.parallel.cp
    assert (parts > 0).sum() == made.parallel.n_ranks // (1 if writers == "all" else replicas // made.parallel.ep)
    lowered = lower(made, rings, steps=2, storage_nodes=3)
    assert sent(lowered, "write") == 2 * parts.sum()
    assert not list(lowered.transfers.problems())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_step_reads_the_bytes_of_its_tokens_once(layout: str) -> None:
    made = job(**LAYOUTS[layout], storage={"dataset": {"bytes_per_token": 6, "prefetch": 2}})
    assert read_bytes(made).sum() == 6 * made.tokens
    readers = int((read_bytes(made) > 0).sum())
    assert readers == made.parallel.dp * made.parallel.cp
    assert sent(lower(made, rings, steps=3, storage_nodes=2), "read") == 3 * (6 * made.tokens + 256 * readers)


def test_seventy_billion_parameters_each_hour_are_24_terabytes_a_day() -> None:
    loaded = load_job(dict(JOBS["llama3-70b"]), "llama3-70b")
    plan = make_plan(loaded, np.random.default_rng).storage
    assert plan is not None
    assert plan.checkpoint_bytes == 14 * 70_553_706_496
    assert plan.bytes_per_day == pytest.approx(23.7e12, rel=0.001)
    assert (plan.writers, plan.interval_s) == (256, 3600)
    assert plan.write_s == pytest.approx(plan.largest_part_bytes * 8 / 400e9)
    assert plan.stall_s == plan.write_s  # synchronous
    assert plan.step_ratio == pytest.approx(1 + plan.stall_s / 3600, rel=1e-5)


def end_ps(made: Job, steps: int, link: Link, nodes: int = 1) -> int:
    lowered = lower(made, rings, steps=steps, storage_nodes=nodes)
    path = of_transfers(lowered.transfers, lowered.n_ranks, link)
    return int(path.end_ps)


def test_a_synchronous_checkpoint_lengthens_its_step_by_the_write_and_an_asynchronous_one_by_the_copy() -> None:
    fs_per_byte = 8_000
    link = Link(0, fs_per_byte)
    plain = end_ps(job(), 4, link)
    state = 14 * parameters(job().model)
    write_ps = state * fs_per_byte // 1000
    sync = job(storage=SYNC)
    assert end_ps(sync, 4, link) - plain == pytest.approx(2 * write_ps, rel=1e-6)
    # Copied at 8 ps a byte, then written beside the next two steps; only the last write outlasts the steps.
    slow = job(storage={"checkpoint": {"every": 2, "mode": "async", "host_copy": "1T"}})
    copy_ps = state * 8
    assert write_ps < 2 * step_ps(job())
    assert end_ps(slow, 3, link) - end_ps(job(), 3, link) == pytest.approx(copy_ps, rel=1e-6)
    assert end_ps(slow, 4, link) - plain == pytest.approx(2 * copy_ps + write_ps, rel=1e-6)


def test_a_copy_waits_for_the_write_before_it() -> None:
    link = Link(0, 8_000_000)  # a write takes longer than a step
    made = job(storage={"checkpoint": {"every": 1, "mode": "async", "host_copy": "1T"}})
    write_ps = 14 * parameters(made.model) * 8_000
    assert write_ps > step_ps(job())
    assert end_ps(made, 3, link) > 3 * write_ps


def test_an_interval_becomes_whole_steps() -> None:
    made = job(storage={"checkpoint": {"interval": "1ms"}})
    step = step_ps(made)
    every = round(10**9 / step)
    assert every > 1
    names = {
        it.name for it in lower(made, rings, steps=2 * every, storage_nodes=1).operations if it.operation == "write"
    }
    assert names == {f"step {every - 1} checkpoint write", f"step {2 * every - 1} checkpoint write"}


def test_a_job_with_an_arrival_begins_then_and_together() -> None:
    link, made = Link(1_000, 0), job(parallel__dp=3)
    plain = of_transfers(lower(made, rings).transfers, 3, link).end_ps
    alone = lower(made, rings, start=Start(5_000))
    assert alone.transfers.start_ps[alone.begins].tolist() == [5_000] * 3
    assert of_transfers(alone.transfers, 3, link).end_ps == plain + 5_000
    together = lower(made, rings, start=Start(5_000, together=True))
    # A message to rank 0 and one back.
    assert of_transfers(together.transfers, 3, link).end_ps == plain + 7_000


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ({}, "no effect without checkpoint and dataset"),
        ({"checkpoint": {}}, "every and interval are both given, or neither"),
        ({"checkpoint": {"every": 2, "interval": "1s"}}, "every and interval are both given, or neither"),
        ({"checkpoint": {"every": 2, "host_copy": "1G"}}, "no effect with mode: sync"),
        ({"checkpoint": {"every": 2, "writers": "all"}}, "there is one replica"),
        ({"checkpoint": {"every": 0}}, "storage.checkpoint.every"),
        ({"dataset": {"bytes_per_tokn": 2}}, "bytes_per_token"),
    ],
)
def test_contradictions_of_storage_are_named(storage: dict[str, Any], message: str) -> None:
    with pytest.raises(InputErrors) as caught:
        load_job(mapping(storage=storage), "job.yml")
    assert message in "\n".join(f"{it.path}: {it.text}; {it.hint}" for it in caught.value.problems)

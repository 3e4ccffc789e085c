"""The queue of a scenario's jobs (`admission:`), decided for all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from fabric.errors import InputErrors, Problem
from fabric.jobs.admission import Admitted, Submitted, admit
from fabric.jobs.load import LoadedJob
from fabric.jobs.placement import Nodes, nodes_needed
from fabric.jobs.plan import make_plan
from fabric.workload.batch import Surroundings
from fabric.workload.place_nodes import able_nodes, chosen_slots
from fabric.workload.spec import JobLoad


@dataclass(frozen=True)
class _Entry:
    spec: JobLoad
    loaded: LoadedJob
    nodes: Nodes


def admitted(around: Surroundings) -> dict[str, Admitted]:
    """Name of each job -> what the queue decided. Raises: InputErrors of the jobs' files or of jobs that never fit."""
    if not around.admitted:
        around.admitted.update(_decided(around))
    return around.admitted


def _decided(around: Surroundings) -> dict[str, Admitted]:
    entries: dict[str, _Entry] = {}
    submitted = []
    problems: list[Problem] = []
    for path, name, spec in around.jobs:
        if around.read_job is None:
            continue
        try:
            loaded = around.read_job(spec.job, spec.overrides or (), around.folder)
            nodes = able_nodes(spec, loaded.job, f"{path}.hosts", around)
            count = nodes_needed(loaded.job, nodes, list(nodes))
        except InputErrors as error:
            problems += error.problems
            continue
        entries[name] = _Entry(spec, loaded, nodes)
        submitted.append(
            Submitted(name, spec.arrival, count, spec.time_limit or _expected_ps(spec, loaded, around, name))
        )
    if problems:
        raise InputErrors("placing the job", problems)
    every = list(dict.fromkeys(node for entry in entries.values() for node in entry.nodes))

    def choose(job: Submitted, free: frozenset[str]) -> list[str]:
        entry = entries[job.name]
        busy = frozenset(entry.nodes) - free
        slots = chosen_slots(entry.spec, job.name, entry.loaded.job, entry.nodes, busy, around)
        return list(dict.fromkeys(slot.node for slot in slots))

    assert around.admission is not None  # noqa: S101  the caller asks only then
    return admit(submitted, every, around.admission, choose)


def _expected_ps(spec: JobLoad, loaded: LoadedJob, around: Surroundings, name: str) -> int:
    """By the plan: its steps without contention."""
    return spec.steps * make_plan(loaded, partial(around.random, name)).step_bound_ps

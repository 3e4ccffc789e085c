"""Worker processes of this machine: what is done when one dies, and that none outlives its study."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest
from worker_jobs import die, die_once, die_without_argument, double, refuse, slow_double, span

from fabric.studies.jobs import ATTEMPTS, Job
from fabric.studies.local import LocalProcesses
from tests.waiting import until


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalProcesses]:
    with LocalProcesses(2) as found:
        yield found


def test_every_job_has_one_result(workers: LocalProcesses) -> None:
    found = list(workers.results(double, deque(Job(str(it), it) for it in range(20))))
    assert {it.key: it.value for it in found} == {str(it): 2 * it for it in range(20)}
    assert all(it.attempts == 1 for it in found)


def test_jobs_may_follow_from_results(workers: LocalProcesses) -> None:
    jobs = deque([Job("1", 1)])
    for result in workers.results(double, jobs):
        if result.value < 40:
            jobs.append(Job(str(result.value), result.value))
    assert result.value == 64


def test_what_a_function_raises_is_a_failure_and_the_others_go_on(workers: LocalProcesses) -> None:
    (found,) = workers.results(refuse, deque([Job("x", "why not")]))
    assert found.failure is not None
    assert (found.failure.kind, found.failure.text) == ("defect", "ValueError: why not")


def test_the_job_of_a_killed_worker_is_done_by_another(workers: LocalProcesses, tmp_path: Path) -> None:
    (found,) = workers.results(die_once, deque([Job("x", str(tmp_path / "died"))]))
    assert (found.value, found.attempts) == ("alive", 2)


def test_a_job_that_kills_every_worker_fails_alone(workers: LocalProcesses) -> None:
    (found,) = workers.results(die, deque([Job("x", None)]))
    assert found.failure is not None
    assert (found.failure.kind, found.attempts) == ("killed", ATTEMPTS)
    assert [it.value for it in workers.results(double, deque([Job("y", 4)]))] == [8]


def test_no_result_is_lost_when_a_worker_is_killed_from_outside(workers: LocalProcesses) -> None:
    killed = 0
    found = []
    for result in workers.results(slow_double, deque(Job(str(it), it) for it in range(16))):
        found.append(result)
        if len(found) == 3:
            killed = workers.pids[0]
            os.kill(killed, 9)
    assert sorted(it.value for it in found) == [2 * it for it in range(16)]
    assert killed not in workers.pids


def test_workers_end_with_the_study_also_in_the_middle_of_a_job() -> None:
    with LocalProcesses(1) as workers:
        (first,) = workers.results(double, deque([Job("a", 1)]))
        pid = int(first.worker.split()[1])
        jobs = workers.results(slow_double, deque(Job(str(it), it) for it in range(50)))
        next(jobs)
    until(lambda: not Path(f"/proc/{pid}").exists(), f"process {pid} has ended")


def test_the_first_job_is_alone_where_it_compiles_for_the_others() -> None:
    asked = iter([True, False])
    with LocalProcesses(2, lambda: next(asked)) as workers:
        first, *others = [it.value for it in workers.results(span, deque(Job(str(it), it) for it in range(4)))]
        assert all(begin >= first[1] for begin, _ in others)
        assert len(list(workers.results(double, deque([Job("x", 1), Job("y", 2)])))) == 2


def test_others_do_not_wait_for_a_first_job_that_kills_its_worker(tmp_path: Path) -> None:
    with LocalProcesses(2, lambda: True) as workers:
        jobs = deque([Job("dies", None), Job("a", tmp_path), Job("b", tmp_path)])
        found = {it.key: it.failure for it in workers.results(die_without_argument, jobs)}
    assert {key for key, failure in found.items() if failure is not None} == {"dies"}

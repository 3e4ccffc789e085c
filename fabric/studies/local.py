"""Jobs in processes of this machine, by the standard library: one ProcessPoolExecutor with one worker for each slot.

A pool of several workers breaks as a whole when one of them dies, and does not say which job it had. With a pool for
each worker the job is known, the others go on, and only the one worker is started again.

Each worker is a session leader, so that Ctrl-C at the terminal reaches this process alone. It ends by itself when this
process is killed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait as wait_for
from types import TracebackType
from typing import Any, Final, Self

from fabric.errors import FabricError
from fabric.studies.jobs import ATTEMPTS, Failure, Function, Job, Result, failure_of

_AHEAD: Final = 2
"""Jobs given to one worker: one under way and the next, so that it never waits for this process."""
_STARTS: Final = 3
"""Starts of one worker without a result after which the machine cannot run it."""
_FAILED_STARTS: Final = 2
"""Workers that end one after the other before they can take a job; each start loads the caller's main module again."""


@dataclass
class _Worker:
    """One process, and the jobs given to it in their order."""

    pool: ProcessPoolExecutor
    pid: Future[int]
    given: deque[tuple[Job, Future[Any]]] = field(default_factory=deque)
    fruitless: int = 0
    """Starts since the last result."""
    failed_starts: int = 0
    """Starts before this one that ended before a job, one after the other."""

    @property
    def began(self) -> bool:
        """Whether the process has come to take jobs."""
        return self.pid.done() and self.pid.exception() is None


class LocalProcesses:
    """An executor of `count` processes that are kept.

    Parameters
    ----------
    count : int
    first_alone : callable     whether the first job has to end before others begin: it compiles what all of them load
    """

    def __init__(self, count: int, first_alone: Callable[[], bool] = lambda: False) -> None:
        self._count = count
        self._workers: list[_Worker] = []
        self._first_alone = first_alone
        self._alone = False

    @property
    def slots(self) -> int:
        """Processes."""
        return self._count

    @property
    def where(self) -> str:
        """'2 processes'."""
        return "1 process" if self._count == 1 else f"{self._count} processes"

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that have started."""
        return [it.pid.result() for it in self._workers if it.began]

    def __enter__(self) -> Self:
        self._workers = [_started() for _ in range(self._count)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            _end(worker, busy=bool(worker.given))
        self._workers = []

    def results(self, function: Function, jobs: deque[Job]) -> Iterator[Result]:
        """As Executor.results."""
        attempts: dict[str, int] = {}
        self._alone = self._count > 1 and self._first_alone()
        try:
            while True:
                self._give(function, jobs)
                under_way = [it.given[0][1] for it in self._workers if it.given]
                if not under_way:
                    return
                wait(under_way, return_when=FIRST_COMPLETED)
                for place, worker in enumerate(self._workers):
                    while worker.given and worker.given[0][1].done():
                        job, future = worker.given[0]
                        self._alone = False  # also where it died: the others must not wait for a job that kills
                        if isinstance(future.exception(), BrokenProcessPool):
                            yield from self._replace(place, jobs, attempts)
                            break
                        worker.given.popleft()
                        worker.fruitless = 0
                        self._give(function, jobs)  # before the caller takes its time
                        yield _result(job, future, attempts.pop(job.key, 0) + 1)
        finally:
            for worker in self._workers:
                if worker.given:
                    _end(worker, busy=True)
            self._workers = [_started() if it.given else it for it in self._workers]

    def _give(self, function: Function, jobs: deque[Job]) -> None:
        for depth in range(1, 2 if self._alone else _AHEAD + 1):  # every worker has one job before any has two
            for worker in self._workers[:1] if self._alone else self._workers:
                if jobs and len(worker.given) < depth:
                    job = jobs.popleft()
                    try:
                        future = worker.pool.submit(call, function, job.argument)
                    except BrokenProcessPool as error:  # it died idle: results() starts another
                        future = Future()
                        future.set_exception(error)
                    worker.given.append((job, future))

    def _replace(self, place: int, jobs: deque[Job], attempts: dict[str, int]) -> Iterator[Result]:
        """Start another worker for one that died; its jobs return to the queue."""
        worker = self._workers[place]
        lost = [job for job, _ in worker.given]
        worker.given.clear()
        _end(worker, busy=True)
        failed_starts = 0 if worker.began else worker.failed_starts + 1
        if failed_starts >= _FAILED_STARTS:
            raise FabricError(
                "worker processes end while they start",
                "read their output, above; finished runs are kept, and --resume goes on",
            )
        if worker.fruitless + 1 >= _STARTS * ATTEMPTS:
            raise FabricError(
                "worker processes end before they give a result",
                "run the scenario alone with `fabric run` to see why; finished runs are kept",
            )
        self._workers[place] = _started(worker.fruitless + 1, failed_starts)
        first = lost[0]
        attempts[first.key] = attempts.get(first.key, 0) + 1
        jobs.extendleft(reversed(lost[1:]))
        if attempts[first.key] >= ATTEMPTS:
            text = f"the worker process died {ATTEMPTS} times; too little memory is the most common cause"
            yield Result(first.key, None, Failure("killed", text), attempts=attempts.pop(first.key))
        else:
            jobs.appendleft(first)


def call(function: Function, argument: Any) -> tuple[Any, Failure | None, float, str]:  # noqa: ANN401  any job
    """Carry out one job in its worker: (value, failure, wall time in s, worker)."""
    began = time.perf_counter()
    value, failure = None, None
    try:
        value = function(argument)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  rule 1: every error of a job is a result
        failure = failure_of(error)
    return value, failure, time.perf_counter() - began, f"process {os.getpid()}"


def _result(job: Job, future: Future[Any], attempts: int) -> Result:
    error = future.exception()
    if error is not None:  # neither argument nor value could be pickled
        return Result(job.key, None, failure_of(error), attempts=attempts)
    value, failure, wall_s, worker = future.result()
    return Result(job.key, value, failure, wall_s, worker, attempts)


def _started(fruitless: int = 0, failed_starts: int = 0) -> _Worker:
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin)
    return _Worker(pool, pool.submit(os.getpid), fruitless=fruitless, failed_starts=failed_starts)


def _end(worker: _Worker, *, busy: bool) -> None:
    """End a worker; one that is busy is killed. Its process is a child of this one."""
    if busy and worker.began:
        with suppress(ProcessLookupError):
            os.kill(worker.pid.result(), signal.SIGKILL)
    worker.pool.shutdown(wait=not busy, cancel_futures=True)


def _begin() -> None:
    """Of a worker, once: away from the terminal's Ctrl-C, and never longer than its parent."""
    os.setsid()
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)

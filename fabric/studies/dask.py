"""Jobs on Dask distributed: the workers of a scheduler at an address, or a cluster of processes on this machine.

Dask moves the job of a worker that dies to another one, three times (distributed.scheduler.allowed-failures). Where the
scheduler is lost, this executor ends with an error: the finished runs are kept, and --resume does the rest.

Workers need this version of the package, to the source file, and must find the files that scenarios name under the same
path. A study with `keep: runs` needs its folder there, too.
"""

from __future__ import annotations

import logging
import platform
import queue
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from fabric import __version__
from fabric.errors import FabricError
from fabric.extras import require
from fabric.studies.jobs import ATTEMPTS, Failure, Function, Job, Result, failure_of
from fabric.studies.local import call

LOCAL: Final = "local"
_AHEAD: Final = 2
"""Jobs given to the scheduler for each slot: one under way and the next."""
_LOOK_S: Final = 0.5
"""Between two looks at the connection while no result comes."""
CONNECT_S: Final = 15.0
"""Time to reach the scheduler, and a worker of it."""
LOST_S: Final = 10.0
"""Time without a connection after which the scheduler counts as lost."""


class DaskWorkers:
    """An executor on Dask.

    Parameters
    ----------
    address : str         of a scheduler, 'tcp://host:8786'; or 'local', 'local:4': processes on this machine
    count : int           processes of a local cluster where the address has no number
    first_alone : callable     of a local cluster, as of LocalProcesses
    """

    def __init__(self, address: str, count: int = 1, first_alone: Callable[[], bool] = lambda: False) -> None:
        self._address = address
        self._count = count
        self._first_alone = first_alone
        self._client: Any = None
        self.cluster: Any = None
        """distributed.LocalCluster of a local cluster."""
        self._futures: dict[str, Any] = {}
        self._token = secrets.token_hex(8)
        self._threads = 0
        self._looked = self._seen = 0.0

    @property
    def slots(self) -> int:
        """Threads of all workers."""
        return max(self._threads, 1) if self._client is not None else self._count

    @property
    def where(self) -> str:
        """'Dask at tcp://host:8786'."""
        return f"Dask at {self._client.scheduler.address}" if self._client is not None else "Dask"

    def __enter__(self) -> Self:
        distributed = require("distributed")
        for name in [it for it in logging.root.manager.loggerDict if it.partition(".")[0] == "distributed"]:
            logging.getLogger(name).setLevel(logging.CRITICAL)  # each lost connection would be a traceback
        address = self._address
        if address == LOCAL or address.startswith(f"{LOCAL}:"):
            count = int(address.partition(":")[2] or self._count)
            self.cluster = distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                # Its HTTP server starts without a dashboard, too, and without an address at port 8787 of all clusters.
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=50,
            )
            address = self.cluster.scheduler_address
        try:
            self._client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
            self._client.wait_for_workers(1, timeout=CONNECT_S)
            versions = self._client.run(installed)
        except (OSError, TimeoutError, ValueError) as error:
            self.__exit__(None, None, None)
            raise FabricError(
                f"no Dask scheduler with workers answers at {address}",
                "start one: `dask scheduler`, and `dask worker ADDRESS --nthreads 1 --nworkers auto` on each machine",
            ) from error
        except (ModuleNotFoundError, AttributeError) as error:
            self.__exit__(None, None, None)
            raise FabricError(
                f"the workers at {address} lack this package: {error}", "install it there, in the same version"
            ) from error
        self._look()
        others = sorted({told for it, told in versions.values() if it != installed()[0]})
        if others:
            self.__exit__(None, None, None)
            raise FabricError(
                f"workers at {address} have other code: {', '.join(others)}; here is {installed()[1]}",
                "install the same version of this package, of Python and of Numba there: their results would be mixed",
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for it in (self._client, self.cluster):
            if it is not None:
                with suppress(TimeoutError, OSError):  # a scheduler that is lost does not answer
                    it.close()
        self._client = self.cluster = None

    def results(self, function: Function, jobs: deque[Job]) -> Iterator[Result]:
        """As Executor.results."""
        ready: queue.Queue[tuple[Job, Any]] = queue.Queue()
        attempts: dict[str, int] = {}
        self._futures = {}
        alone = self.cluster is not None and self._first_alone()
        try:
            while True:
                if time.monotonic() - self._looked > _LOOK_S:
                    self._look()
                while jobs and len(self._futures) < (1 if alone else _AHEAD * self.slots):
                    job = jobs.popleft()
                    self._submit(function, job, ready, attempts.get(job.key, 0))
                if not self._futures:
                    return
                try:
                    job, future = ready.get(timeout=_LOOK_S)
                except queue.Empty:
                    continue
                del self._futures[job.key]
                alone = False
                found = _value(future)
                if found is not None:
                    value, failure, wall_s, worker = found
                    yield Result(job.key, value, failure, wall_s, worker, attempts.pop(job.key, 0) + 1)
                elif future.status == "error":
                    yield Result(job.key, None, _failure(future), attempts=ATTEMPTS)
                else:  # lost or cancelled with the connection
                    attempts[job.key] = attempts.get(job.key, 0) + 1
                    if attempts[job.key] >= ATTEMPTS:
                        yield Result(
                            job.key, None, Failure("killed", "the scheduler gave up the job"), attempts=ATTEMPTS
                        )
                    else:
                        jobs.appendleft(job)
                    time.sleep(_LOOK_S)
        finally:
            for future in self._futures.values():
                future.cancel()
            self._futures = {}

    def _submit(self, function: Function, job: Job, ready: queue.Queue[tuple[Job, Any]], attempt: int) -> None:
        # A key names a task for all clients of a scheduler: without the token a study would get results of another.
        key = f"{self._token}-{job.key}-{attempt}"
        code = installed()[0]
        future = self._client.submit(guarded_call, code, function, job.argument, key=key, pure=False)
        self._futures[job.key] = future
        future.add_done_callback(lambda found, job=job: ready.put((job, found)))

    def _look(self) -> None:
        """Count the workers' threads. Raises: FabricError where the scheduler or its last worker is lost for LOST_S."""
        now = time.monotonic()
        try:
            threads = sum(self._client.nthreads().values()) if self._client.status == "running" else 0
        except (OSError, TimeoutError):
            threads = 0
        if threads or not self._seen:
            self._threads, self._seen = threads, now
        self._looked = now
        if self._client.status == "closed" or now - self._seen > LOST_S:
            raise FabricError(
                f"the Dask scheduler or its last worker is lost ({self._address})",
                "start it again, and go on with --resume; finished runs are kept",
            )


def _value(future: Any) -> tuple[Any, Failure | None, float, str] | None:  # noqa: ANN401  distributed.Future
    """What call() returned; None where the job failed, or its value was lost with a worker or the scheduler."""
    if future.status != "finished":
        return None
    try:
        found: tuple[Any, Failure | None, float, str] = future.result(timeout=LOST_S)
    except (OSError, TimeoutError, CancelledError):
        return None
    return found


def guarded_call(code: str, function: Function, argument: Any) -> tuple[Any, Failure | None, float, str]:  # noqa: ANN401
    """call() in a worker that has the code of the client: one may come long after the others were asked."""
    mine, told = installed()
    if mine == code:
        return call(function, argument)
    return None, Failure("refused", f"a worker came that has other code: {told}"), 0.0, ""


def installed() -> tuple[str, str]:
    """(what must be the same at every worker, the same for people)."""
    from fabric.studies.code import code_digest  # noqa: PLC0415  loads the compiler

    digest = code_digest()
    return digest, f"version {__version__} (source {digest[:8]}), Python {platform.python_version()}"


def _failure(future: Any) -> Failure:  # noqa: ANN401  distributed.Future
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        return Failure("killed", "the worker died each time; too little memory is the most common cause")
    return failure_of(error)

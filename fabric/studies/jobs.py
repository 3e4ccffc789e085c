"""Jobs of a study and the interface of what carries them out: local processes (local.py) or Dask (dask.py).

A job is one call of a module-level function with one argument, both of which can be pickled. Jobs are independent, and
their results depend on their arguments alone, so any executor gives the same results in another order.

Rules
1. An error of a job is a result, a Failure: other jobs continue. What the function raises never crosses a process.
2. A worker that dies takes its job with it. The job is tried again, ATTEMPTS times in all, then it has failed: an
   argument that kills every worker must not end the study.
3. Workers are kept: the engine's kernels are loaded once for each of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self

from fabric.errors import FabricError, InputErrors, InvariantError

ATTEMPTS: Final = 3
"""Workers that one job may lose: one that was killed from outside, and one more by chance."""

FailureKind = Literal["input", "defect", "memory", "refused", "killed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Job:
    """One call."""

    key: str
    """Unique within a study."""
    argument: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job has no value."""

    kind: FailureKind
    """input: the scenario is wrong. defect: a broken invariant or another defect of this program. memory: there was too
    little of it. refused: the run is larger than the worker's machine, or than the user has confirmed. killed: the
    worker died."""
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """The value of a job, or its failure."""

    key: str
    value: Any
    failure: Failure | None = None
    wall_s: float = 0.0
    """Of the call, in its worker."""
    worker: str = ""
    """Where it was carried out: 'process 4711', or the address of a Dask worker."""
    attempts: int = 1


Function = Callable[[Any], Any]


class Executor(Protocol):
    """Carries out jobs. A context manager: at its end its workers have ended."""

    @property
    def slots(self) -> int:
        """Jobs that are carried out at the same time."""

    @property
    def where(self) -> str:
        """For the progress line: '2 processes'."""

    def results(self, function: Function, jobs: deque[Job]) -> Iterator[Result]:
        """Carry out jobs; results come in the order in which they are known.

        Jobs are taken from the left of the queue. The caller may append to it between two results, so that a result
        can ask for further jobs; the iterator ends when the queue is empty and no job is under way. Closing the
        iterator gives up what is under way.

        Raises: FabricError where no worker can be reached any more; results so far have been given.
        """

    def __enter__(self) -> Self:
        """Start the workers."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the workers, also those that are busy."""


class RefusedHereError(InputErrors):
    """A run that another machine, or a confirmation, would admit."""


def failure_of(error: BaseException) -> Failure:
    """What an error of a job's function means for the study."""
    if isinstance(error, InvariantError):
        return Failure("defect", error.text)
    if isinstance(error, InputErrors):
        return Failure(
            "refused" if isinstance(error, RefusedHereError) else "input",
            "; ".join(str(it).replace("\n    hint: ", " (") + ")" * bool(it.hint) for it in error.problems),
        )
    if isinstance(error, FabricError):
        return Failure("input", error.text)
    if isinstance(error, MemoryError):
        return Failure("memory", "there was not enough memory")
    if isinstance(error, KeyboardInterrupt):
        return Failure("interrupted", "the worker was asked to end")
    return Failure("defect", f"{type(error).__name__}: {error}")

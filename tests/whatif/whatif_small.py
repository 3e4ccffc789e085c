"""A small scenario to ask questions about, and an executor in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fabric.studies.jobs import Function, Job, Result
from fabric.studies.local import call
from fabric.whatif.study import Question

SMALL: dict[str, Any] = {
    "name": "small",
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 2,
        "host_rate": "100G",
        "fabric_rate": "100G",
    },
    "risk_groups": {"power-a": ["spine1", "spine2"], "duct": ["leaf1--spine1"]},
    "workload": [{"kind": "permutation", "size": "1MB", "shift": 2}],
    "transport": {"retransmit_timeout": "500us"},
    "telemetry": {"interval": "20us"},
    "run": {"duration": "10ms", "reroute_delay": "100us"},
}


class Inline:
    """Carries out jobs in this process, and counts them."""

    slots = 1
    where = "here"

    def __init__(self, at_most: int = 10**9) -> None:
        self.at_most = at_most
        self.done: list[str] = []

    def results(self, function: Function, jobs: deque[Job]) -> Iterator[Result]:
        """As Executor.results; Ctrl-C after `at_most` of them."""
        while jobs:
            if len(self.done) == self.at_most:
                raise KeyboardInterrupt
            job = jobs.popleft()
            value, failure, wall_s, worker = call(function, job.argument)
            self.done.append(job.key)
            yield Result(job.key, value, failure, wall_s, worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def question(**changes: Any) -> Question:  # noqa: ANN401  fields of a question
    """A question about SMALL."""
    return Question(Path("small.yml"), changes.pop("data", SMALL), **changes)

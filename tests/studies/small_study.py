"""Studies of runs that take a few milliseconds, and an executor without workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import yaml

from fabric.studies.columns import run_schema
from fabric.studies.dataset import claimed
from fabric.studies.jobs import Function, Job, Result
from fabric.studies.local import call
from fabric.studies.plan import examine, load_study
from fabric.studies.sweep import Ended, Sweep
from fabric.studies.sweep import about as about_study

SCENARIO: Final[dict[str, Any]] = {
    "name": "small",
    "topology": {
        "kind": "leaf-spine",
        "leaves": 1,
        "spines": 1,
        "hosts_per_leaf": 4,
        "host_rate": "100G",
        "fabric_rate": "100G",
    },
    "switches": {"ecn": {"kmin": "50KB", "kmax": "200KB", "pmax": 0.2}},
    "workload": [{"kind": "incast", "receiver": "host4", "senders": ["*"], "size": "100KB"}],
    "run": {"duration": "1ms"},
}
STUDY: Final[dict[str, Any]] = {
    "name": "small-study",
    "scenario": "small.yml",
    "parameters": {
        "kmin": {"set": "switches.ecn.kmin", "values": ["10KB", "50KB"]},
        "cut": {"set": "switches.ecn.pmax", "values": [0.1, 1.0]},
    },
    "repetitions": {"seeds": 3},
    "measures": ["fct.p99", "ecn.marked"],
    "constraints": ["drops.lossless == 0"],
}


def written(folder: Path, **changes: object) -> Path:
    """A study file beside its scenario; None removes a field."""
    (folder / "small.yml").write_text(yaml.safe_dump(SCENARIO), encoding="utf-8")
    data = {name: value for name, value in {**STUDY, **changes}.items() if value is not None}
    file = folder / "STUDY.yml"
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return file


class Inline:
    """An executor in this process: the same interface, without the time to start workers."""

    slots = 1
    where = "here"

    def __init__(self, most: int | None = None) -> None:
        self._most = most

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def results(self, function: Function, jobs: deque[Job]) -> Iterator[Result]:
        done = 0
        while jobs:
            if done == self._most:
                raise KeyboardInterrupt
            job = jobs.popleft()
            value, failure, wall_s, worker = call(function, job.argument)
            yield Result(job.key, value, failure, wall_s, worker)
            done += 1


def swept(file: Path, out: Path, *, most: int | None = None, resume: bool = False) -> Ended:
    """Carry out a study here; `most` runs until Ctrl-C."""
    plan = load_study(file)
    examined = examine(plan)
    with claimed(out, run_schema(plan), resume=resume, force=False) as folder:
        about = about_study(plan, examined)
        finished = folder.resume(about) if resume else []
        sweep = Sweep(plan, examined, folder, finished)
        if not resume:
            folder.begin(about)
        try:
            sweep.run(Inline(most))
        finally:
            folder.end("done" if sweep.todo == 0 else "interrupted")
        return sweep.ended

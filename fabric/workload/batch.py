"""The messages of a workload before queue pairs exist: columns and their dependencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fabric.errors import Problem
from fabric.jobs.load import LoadedJob
from fabric.topology.model import Fabric, Node
from fabric.topology.select import match_hosts
from fabric.workload.spec import JobLoad
from fabric.workload.streams import stream

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Messages of one workload; columns of equal length."""

    src: Ints
    dst: Ints
    """NodeIds of hosts."""
    size_bytes: Ints
    start_ps: Ints
    priority: Ints
    """Traffic class; -1: the workload's, or the transport's."""
    delay_ps: Ints
    after: Sequence[tuple[int, int]] = ()
    """(earlier, later), rows of this batch."""
    labels: Sequence[str] = ()
    """The user's ids; empty: numbered."""
    lines: Sequence[str] = ()
    """Place of each message in the user's input; empty: the workload as a whole."""

    def __len__(self) -> int:
        return len(self.src)


class ReadJob(Protocol):
    """fabric/scenario/job_files.read_job."""

    def __call__(self, file: str, sets: Sequence[str], folder: Path) -> LoadedJob:
        """Raises: InputErrors."""


@dataclass(frozen=True)
class Surroundings:
    """Input of a generator beside its spec."""

    fabric: Fabric
    seed: int
    folder: Path
    """Paths in the spec are relative to this folder."""
    problems: list[Problem] = field(default_factory=list)
    read_job: ReadJob | None = None
    """Reads job files; None where there are none."""
    taken: dict[str, frozenset[str]] = field(default_factory=dict)
    """Path of an entry -> names of the nodes that its job holds; other jobs get other nodes."""
    jobs: Sequence[tuple[str, str, JobLoad]] = ()
    """(path, name, entry) of every job of the workload: they share GPUs and storage."""
    admission: Literal["fifo", "backfill"] | None = None
    """Jobs wait in a queue for GPUs; None: each needs free ones at its arrival."""
    admitted: dict[str, Any] = field(default_factory=dict)
    """Name of a job -> what fabric/workload/admission.py decided for it; filled at the first job."""

    def random(self, workload: str, use: str) -> np.random.Generator:
        """The stream of one use of one workload."""
        return stream(self.seed, f"workload.{workload}.{use}")

    def hosts(self, patterns: Sequence[str], path: str, at_least: int = 1) -> Ints:
        """NodeIds of the named hosts, ascending; too few are a problem."""
        if tuple(patterns) == ("*",):
            found: Sequence[Node] = self.fabric.hosts
        else:
            before = len(self.problems)
            found = match_hosts(self.fabric, patterns, path, self.problems)
            if len(self.problems) > before:
                return np.empty(0, np.int64)
        if len(found) < at_least:
            self.problems.append(
                Problem(
                    path,
                    f"{len(found)} host(s) match, and this workload needs {at_least}",
                    "name more hosts, or use '*'",
                )
            )
        return np.array([host.id for host in found], np.int64)

    @cached_property
    def rate_bps(self) -> Ints:
        """(n_hosts,) sum of each host's port rates to the network; of a host without network, of its scale-up link."""
        return np.array(
            [
                sum(
                    self.fabric.links[self.fabric.ports[port].link].rate_bps
                    for port in self.fabric.network_ports(host.id) or host.ports
                )
                for host in self.fabric.hosts
            ],
            np.int64,
        )

    @cached_property
    def leaf(self) -> Ints:
        """(n_hosts,) first switch of each host."""
        return np.array([self.fabric.peer_of(host.first_port).id for host in self.fabric.hosts], np.int64)


Generate = Callable[..., Batch]
"""(spec, name, path, surroundings) -> Batch; problems go to surroundings.problems."""


def plain(src: Ints, dst: Ints, size_bytes: Ints | int, start_ps: Ints, after: Sequence[tuple[int, int]] = ()) -> Batch:
    """A batch without priorities, delays or ids."""
    n = len(src)
    sizes = np.full(n, size_bytes, np.int64) if isinstance(size_bytes, int) else size_bytes
    return Batch(src, dst, sizes, start_ps, np.full(n, -1, np.int64), np.zeros(n, np.int64), after)


def nothing() -> Batch:
    """An empty batch, for a workload with problems."""
    empty = np.empty(0, np.int64)
    return plain(empty, empty, empty, empty)


def starts(
    start_ps: int, repeat: int, interval_ps: int | None, jitter_ps: int, n: int, random: np.random.Generator
) -> Ints:
    """(repeat * n,) posting times, repetition by repetition."""
    base = np.repeat(start_ps + np.arange(repeat, dtype=np.int64) * (interval_ps or 0), n)
    return base + random.integers(0, jitter_ps, len(base)) if jitter_ps else base

"""Times of a collective operation in a run, in the terms of nccl-tests, and the closed form for the same fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.acknowledgements import with_acknowledgements
from fabric.collectives.closed_forms import ClosedForm, closed_form
from fabric.collectives.longest_path import longest_path
from fabric.collectives.registry import build
from fabric.collectives.schedule import Request, Schedule
from fabric.errors import InputErrors, Problem
from fabric.runs.collective_links import RunLinks, links_of
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS, PS_PER_S
from fabric.workload.batch import Surroundings
from fabric.workload.collective import on_hosts, placed
from fabric.workload.placed import PlacedTransfers
from fabric.workload.spec import CollectiveSpec

Ints = NDArray[np.int64]
LONGEST_PATH_MESSAGES: Final = 100_000
"""Largest schedule whose longest path is computed: some seconds."""


@dataclass(frozen=True)
class Prepared:
    """One collective on one fabric, before it is simulated."""

    spec: CollectiveSpec
    algorithm: str
    """That is simulated."""
    reason: str
    """Why a model chose it; empty where the spec names it."""
    request: Request
    placed: PlacedTransfers
    """All operations; row = transfer of the run."""
    cost: RunLinks
    form: ClosedForm | None
    line_bps: int
    """Line rate of the slowest NIC of a rank, its ports together."""


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    size_bytes: int
    count: int
    """Elements as nccl-tests counts them: of one rank's block where ranks have blocks."""
    time_ps: float
    """Mean over the counted operations, to the last arrival at any rank."""
    mean_time_ps: float
    """The same, averaged over ranks as nccl-tests does by default."""
    form: ClosedForm | None
    bus_factor_ratio: float
    line_bps: int

    @property
    def algorithm_bytes_per_s(self) -> float:
        """Size over time."""
        return self.size_bytes * PS_PER_S / self.time_ps

    @property
    def bus_bytes_per_s(self) -> float:
        """Algorithm bandwidth times the operation's factor: comparable with the line rate for any number of ranks."""
        return self.algorithm_bytes_per_s * self.bus_factor_ratio

    @property
    def line_share_ratio(self) -> float:
        """Bus bandwidth over the line rate of a NIC."""
        return self.bus_bytes_per_s * 8 / self.line_bps

    @property
    def deviation_ratio(self) -> float | None:
        """Measured time over that of the closed form, less one; None without a form."""
        return None if self.form is None or not self.form.time_ps else self.time_ps / self.form.time_ps - 1


@dataclass(frozen=True)
class Fit:
    """time = alpha + size / bandwidth, by least squares of relative errors."""

    alpha_ps: float
    bytes_per_s: float


def prepare_collective(scenario: Scenario, compiled: CompiledScenario) -> Prepared:
    """The only entry of the scenario's workload, which is a collective, with the times that its fabric allows.

    Raises: InputErrors where the workload is another one.
    """
    spec = scenario.workload[0]
    if not isinstance(spec, CollectiveSpec) or len(scenario.workload) != 1:
        raise InputErrors(
            "reading the workload", [Problem("workload", "is not one collective", "give one entry of kind: collective")]
        )
    around = Surroundings(compiled.fabric, compiled.seed, Path())
    found = placed(spec, spec.name or spec.kind, "workload[0]", around)
    if found is None:
        raise InputErrors("placing the ranks", around.problems)
    hosts, request = found.hosts, found.request
    schedule = build(found.algorithm, request)
    cost = links_of(compiled, len(schedule.transfers), _back_to_back(found.algorithm, request))
    form = expected(found.algorithm, request, schedule, cost)
    placed_rows, line_bps = on_hosts(spec, hosts, schedule), int(nic_bps(compiled.fabric, hosts).min())
    return Prepared(spec, found.algorithm, found.reason, request, placed_rows, cost, form, line_bps)


def _back_to_back(algorithm: str, request: Request) -> int:
    """Messages that a rank sends without waiting for one of another rank, to one rank after another or to one."""
    ranks = 1
    if algorithm == "direct" and request.operation != "send-recv":
        ranks = request.n_ranks - 1
    elif algorithm == "pxn":
        ranks = max(request.n_ranks // request.node_size - 1, 1)
    return request.channels * request.pieces * ranks


def expected(algorithm: str, request: Request, schedule: Schedule, cost: RunLinks) -> ClosedForm | None:
    """The closed form, or the longest path through the schedule where that is only an estimate or unknown."""
    near = cost.near if cost.far is not None else None
    form = closed_form(algorithm, request, cost.main, near)
    exact = form is not None and form.exact and cost.alike(request.node_size, schedule.transfers)
    if (
        request.what.has_root and request.n_ranks > 2
    ):  # few ports send and receive at once, which the mean takes for all
        exact = False
    if "ring" in algorithm and request.channels > 1 and cost.several_queues():  # forms of channels that take turns
        exact = False
    if not exact and schedule.transfers.n_messages <= LONGEST_PATH_MESSAGES:
        links = with_acknowledgements(schedule.transfers, request.n_ranks, cost.links, cost.ack_share)
        return ClosedForm(longest_path(schedule, links).end_ps, "longest path through the schedule", exact=True)
    return form


def nic_bps(fabric: Fabric, hosts: Ints) -> Ints:
    """(n,) line rate of each host's NIC, its ports to the network together; of its scale-up link where it has none."""
    rate = [fabric.links[port.link].rate_bps for port in fabric.ports]
    ports = (fabric.network_ports(int(host)) or fabric.nodes[int(host)].ports for host in hosts)
    return np.array([sum(rate[port] for port in its) for its in ports], np.int64)


def measured(prepared: Prepared, run: RunDir) -> Measured:
    """Times of a finished run.

    Raises: InputErrors where transfers are not done: the run ended before them.
    """
    table = run.transfers(["arrived_ns", "end_ns", "state"])
    arrived = _ps(table["arrived_ns"].to_numpy(zero_copy_only=False))
    ended = _ps(table["end_ns"].to_numpy(zero_copy_only=False))
    waiting = len(table) - table["state"].to_pylist().count("done")
    if waiting:
        raise InputErrors(
            "measuring the collective",
            [Problem("run.duration", f"{waiting} transfers did not end", "look at the run: --out DIR")],
        )
    spec, request, rows = prepared.spec, prepared.request, prepared.placed.rows
    ends = np.full((spec.warm_up + spec.repeat, request.n_ranks), -1, np.int64)
    np.maximum.at(ends, (rows.operation, rows.dst), np.where(rows.src == rows.dst, ended, arrived))
    last_arrival = int(ends[-1].max())
    sent = np.full_like(ends, -1)
    np.maximum.at(sent, (rows.operation, rows.src), ended)
    ends = np.where(ends < 0, sent, ends)  # where nothing arrives, the acknowledgement ends the operation
    ends = np.maximum.accumulate(np.maximum(ends, spec.start), axis=0)  # without either, its beginning
    begin = ends[spec.warm_up - 1] if spec.warm_up else np.full(request.n_ranks, spec.start, np.int64)
    by_rank = (ends[-1] - begin) / spec.repeat
    slowest = (last_arrival - float(begin.max())) / spec.repeat
    count = request.n_elements // (request.n_ranks if request.what.per_rank_count else 1)
    return Measured(
        request.size_bytes, count, slowest, float(by_rank.mean()), prepared.form,
        request.what.bus_factor_ratio(request.n_ranks), prepared.line_bps,
    )  # fmt: skip


def fitted(rows: Sequence[Measured]) -> Fit | None:
    """Latency and bandwidth of a table; None with fewer than two sizes or without a positive slope."""
    if len({row.size_bytes for row in rows}) < 2:
        return None
    size = np.array([row.size_bytes for row in rows], float)
    time = np.array([row.time_ps for row in rows])
    columns = np.stack([np.ones(len(rows)), size], axis=1) / time[:, None]
    (alpha, slope), *_ = np.linalg.lstsq(columns, np.ones(len(rows)), rcond=None)
    return Fit(float(alpha), PS_PER_S / float(slope)) if slope > 0 else None


def _ps(values: NDArray[np.float64]) -> Ints:
    return np.where(np.isnan(values.astype(float)), -1, np.nan_to_num(values.astype(float)) * PS_PER_NS).astype(
        np.int64
    )

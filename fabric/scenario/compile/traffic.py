"""The `workload:` section -> messages and queue pairs of the engine, checked against the fabric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.params import Messages, QueuePairs, Transfers, VxlanParams
from fabric.errors import Problem
from fabric.scenario.compile.transfers import joined, problems_of
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.surroundings import surroundings
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
from fabric.workload.arp import Request
from fabric.workload.batch import Batch, nothing
from fabric.workload.datagrams import Stream
from fabric.workload.placed import PlacedTransfers
from fabric.workload.qps import QpRules, assign, find_cycle
from fabric.workload.registry import MESSAGE_KINDS, REQUEST_KINDS, STREAM_KINDS, TRANSFER_KINDS
from fabric.workload.spec import RequestLoad, StreamLoad

_MAX_PROBLEMS: Final = 20
Ints = NDArray[np.int64]


class Traffic:
    """All workloads of a scenario, generated and joined in the order of the file."""

    def __init__(self, scenario: Scenario, fabric: Fabric, problems: list[Problem]) -> None:
        self.path = f"{scenario.file.name}: "
        self.fabric = fabric
        self.problems = problems
        around = surroundings(scenario, fabric, problems)
        self.names: list[str] = []
        self.batches: list[Batch] = []
        self._paths: list[str] = []
        self.transfers: list[tuple[str, str, PlacedTransfers]] = []
        """(path, name, transfers) of each entry."""
        self._requests: list[tuple[str, Callable[[Ints], list[Request]]]] = []
        """(path, segment_of -> requests) of each entry."""
        self.streams: list[Stream] = []
        """Datagrams of all entries, sorted by the sending host."""
        for number, spec in enumerate(scenario.workload):
            path = f"{self.path}workload[{number}]"
            if isinstance(spec, RequestLoad):
                make = REQUEST_KINDS[spec.kind].requests
                self._requests.append((path, partial(make, spec, spec.name or spec.kind, path, around)))
                continue
            if isinstance(spec, StreamLoad):
                self.streams += STREAM_KINDS[spec.kind].streams(spec, spec.name or spec.kind, path, around)
                continue
            if spec.kind in TRANSFER_KINDS:
                name = spec.name or spec.kind
                placed = TRANSFER_KINDS[spec.kind].place(spec, name, path, around)
                if spec.priority is not None and placed.priority < 0:
                    placed = replace(placed, priority=spec.priority)
                self.transfers.append((path, name, placed))
                problems += problems_of(placed, name, path, fabric, scenario.run.duration)
                continue
            self.names.append(spec.name or spec.kind)
            batch = MESSAGE_KINDS[spec.kind].generate(spec, self.names[-1], path, around)
            if spec.priority is not None:
                batch = _with_priority(batch, spec.priority)
            self.batches.append(batch)
            self._paths.append(path)
            self._check(batch, path, scenario.run.duration)
        self.streams.sort(key=lambda it: it.src)  # stable: entries of one host keep the order of the file
        if scenario.telemetry.transfer_messages is not None and not self.transfers:
            text = "has no effect: no entry of workload is a table of transfers"
            problems.append(Problem(f"{self.path}telemetry.transfer_messages", text, "remove it"))
        if not self.batches:
            self.names, self.batches, self._paths = ["nothing"], [nothing()], [f"{self.path}workload"]

    def requests(self, overlay: VxlanParams | None) -> tuple[Request, ...]:
        """ARP requests of all entries; they need an overlay, and hosts with one port.

        Where the leaves of a tenant route, targets may be in another subnet; the host then requests its gateway.
        """
        if not self._requests:
            return ()
        path = self._requests[0][0]
        if overlay is None:
            self.problems.append(
                Problem(f"{path}.kind", "ARP is broadcast within a VNI, and there is no overlay", "add 'vxlan: {}'")
            )
            return ()
        if any(host.n_ports > 1 for host in self.fabric.hosts):
            self.problems.append(
                Problem(
                    f"{path}.kind",
                    "broadcasts to hosts with several ports are not modelled: no leaf is their designated forwarder",
                    "use a topology with one port a host",
                )
            )
            return ()
        segment_of = np.zeros(len(self.fabric.hosts), np.int64)
        for column, segment in enumerate(overlay.segments):
            segment_of[list(segment.hosts)] = column
        for number, tenant in enumerate(overlay.tenants, len(overlay.segments)):
            segment_of[[host for place in tenant.segments for host in overlay.segments[place].hosts]] = number
            segment_of[list(tenant.routed)] = number
        return tuple(request for _, make in self._requests for request in make(segment_of))

    def _check(self, batch: Batch, path: str, duration_ps: int) -> None:
        """Report self-addressed, empty and late messages, and dependencies that the sender cannot observe."""
        self._each(
            batch,
            path,
            batch.src == batch.dst,
            lambda row: (f"'{self._name_of(batch.src[row])}' sends to itself", "name two different hosts"),
        )
        self._each(batch, path, batch.size_bytes <= 0, lambda _: ("has 0 bytes", "give at least 1 byte"))
        self._each(
            batch,
            path,
            batch.start_ps >= duration_ps,
            lambda row: (
                f"a message starts at {batch.start_ps[row] / 1e6:g} us, after the end of the run (run.duration)",
                "start it earlier or run longer",
            ),
        )
        if not len(batch.after):
            return
        earlier, later = np.array(batch.after, np.int64).T
        unseen = (batch.src[later] != batch.src[earlier]) & (batch.src[later] != batch.dst[earlier])
        for first, then in zip(earlier[unseen][:_MAX_PROBLEMS], later[unseen], strict=False):
            ends = f"'{self._name_of(batch.src[first])}' to '{self._name_of(batch.dst[first])}'"
            self.problems.append(
                Problem(
                    self._where(batch, path, int(then)),
                    f"waits for a message from {ends}, which '{self._name_of(batch.src[then])}' cannot observe",
                    "a dependency must be sent by, or arrive at, the waiting message's source",
                )
            )
        # Dependencies on earlier rows only cannot form a cycle.
        cycle = find_cycle(len(batch), batch.after) if np.any(earlier >= later) else []
        if cycle:
            ids = " -> ".join((batch.labels[row] if batch.labels else "") or f"#{row}" for row in [*cycle, cycle[0]])
            self.problems.append(
                Problem(
                    self._where(batch, path, cycle[0]),
                    f"messages wait for each other: {ids}",
                    "remove one of these dependencies",
                )
            )

    def _each(self, batch: Batch, path: str, wrong: NDArray[np.bool_], say: Callable[[int], tuple[str, str]]) -> None:
        for row in np.flatnonzero(wrong)[:_MAX_PROBLEMS].tolist():
            text, hint = say(row)
            problem = Problem(self._where(batch, path, row), text, hint)
            if problem not in self.problems:
                self.problems.append(problem)

    @staticmethod
    def _where(batch: Batch, path: str, row: int) -> str:
        return batch.lines[row] if batch.lines else path

    def _name_of(self, node: np.int64) -> str:
        return self.fabric.nodes[int(node)].name

    def join(
        self,
        dscp_of: Mapping[int, int],
        default_priority: int,
        rules: QpRules,
        seed: int,
        laws: Callable[[Ints, str], Ints] | None = None,
    ) -> tuple[Messages, Transfers, QueuePairs]:
        """Columns for the engine; -1 priorities become the transport's. All messages of a transfer have its queue pair:
        in transport.qp a transfer counts as one message. laws: (sending hosts, name of their entry) -> the congestion
        control of each; None: all alike.
        """
        sent = [placed.rows.src != placed.rows.dst for _, _, placed in self.transfers]

        def column(field: str) -> Ints:
            return np.concatenate([getattr(batch, field) for batch in self.batches]).astype(np.int64)

        def with_transfers(single: Ints, end: str) -> Ints:
            return np.concatenate(
                [single, *(getattr(it, end)[here] for (_, _, it), here in zip(self.transfers, sent, strict=True))]
            ).astype(np.int64)

        src, dst = column("src"), column("dst")
        n_single = len(src)
        priority = np.concatenate(
            [
                column("priority"),
                *(np.full(here.sum(), it.priority) for (_, _, it), here in zip(self.transfers, sent, strict=True)),
            ]
        ).astype(np.int64)
        priority[priority < 0] = default_priority
        table = np.array([dscp_of.get(priority, 0) for priority in range(8)], np.int64)
        dscp = table[priority]
        law = None
        if laws is not None:
            of_batches = [laws(it.src, name) for name, it in zip(self.names, self.batches, strict=True)]
            ends = zip(self.transfers, sent, strict=True)
            law = np.concatenate([*of_batches, *(laws(it.src[here], name) for (_, name, it), here in ends)])
        sources, targets = with_transfers(src, "src"), with_transfers(dst, "dst")
        qp, queue_pairs = assign(self.fabric, seed, sources, targets, dscp, rules, law)
        qp_of_transfer = np.full(sum(map(len, sent)), -1, np.int64)
        if sent:
            qp_of_transfer[np.concatenate(sent)] = qp[n_single:]
        transfers = joined([(name, it) for _, name, it in self.transfers], qp_of_transfer)
        after: list[tuple[int, int]] = []
        labels: list[str] = []
        base = 0
        for name, batch in zip(self.names, self.batches, strict=True):
            after += [(earlier + base, later + base) for earlier, later in batch.after]
            given = batch.labels or [""] * len(batch)
            labels += [label or f"{name}/{number}" for number, label in enumerate(given)]
            base += len(batch)
        messages = Messages(
            src=src,
            dst=dst,
            size_bytes=column("size_bytes"),
            start_ps=column("start_ps"),
            dscp=dscp[:n_single],
            qp=qp[:n_single],
            delay_ps=column("delay_ps"),
            after=after,
            label=labels,
        )
        return messages, transfers, queue_pairs

    def place(self, row: int) -> str:
        """The place of a message or transfer in the file; `row` of join()'s columns, transfers behind the messages."""
        for path, batch in zip(self._paths, self.batches, strict=True):
            if row < len(batch):
                return self._where(batch, path, row)
            row -= len(batch)
        for path, _, placed in self.transfers:
            if row < len(placed):
                return path
            row -= len(placed)
        return f"{self.path}workload"

    def crosses_leaves(self) -> bool:
        """Whether any message or broadcast may have to leave the switch that it enters."""
        if self._requests:
            return True
        if any(
            self.fabric.peer_of(it.port).id != self.fabric.peer_of(self.fabric.nodes[it.dst].first_port).id
            for it in self.streams
        ):
            return True
        leaf = np.array([self.fabric.peer_of(host.first_port).id for host in self.fabric.hosts], np.int64)
        ends = [(batch.src, batch.dst) for batch in self.batches]
        ends += [(placed.src, placed.dst) for _, _, placed in self.transfers]
        return any(bool(np.any(leaf[src] != leaf[dst])) for src, dst in ends)

    def priorities(self) -> set[int]:
        """Priorities of the messages; -1: that of the transport."""
        single = {int(priority) for batch in self.batches for priority in np.unique(batch.priority)}
        return single | {placed.priority for _, _, placed in self.transfers}


def _with_priority(batch: Batch, priority: int) -> Batch:
    return Batch(
        batch.src,
        batch.dst,
        batch.size_bytes,
        batch.start_ps,
        np.where(batch.priority < 0, priority, batch.priority),
        batch.delay_ps,
        batch.after,
        batch.labels,
        batch.lines,
    )


def check_reachable(fabric: Fabric, routes: EcmpTable, queue_pairs: QueuePairs, path: str) -> list[Problem]:
    """Report queue pairs without a path from their port to their destination."""
    class_ = routes.class_of_host[queue_pairs.dst]
    leaf = np.array([fabric.peer_of(port).id for port in range(len(fabric.ports))], np.int64)[queue_pairs.port]
    lost = np.flatnonzero(routes.distance[leaf, class_] < 0)
    pairs = dict.fromkeys((int(queue_pairs.src[row]), int(queue_pairs.dst[row])) for row in lost.tolist())
    return [
        Problem(
            f"{path}workload",
            f"'{fabric.nodes[dst].name}' cannot be reached from '{fabric.nodes[src].name}' "
            "by the port its queue pair uses",
            "add cables, or keep such messages inside one part of the fabric",
        )
        for src, dst in list(pairs)[:_MAX_PROBLEMS]
    ]


def dscp_by_priority(table: Sequence[int], transport_dscp: int) -> dict[int, int]:
    """Priority -> a DSCP that maps to it: the transport's where it does, else the lowest."""
    found: dict[int, int] = {}
    for dscp in [transport_dscp, *range(64)]:
        found.setdefault(table[dscp], dscp)
    return found

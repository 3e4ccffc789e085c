"""Collective operations: the spec of a user -> a schedule (fabric/collectives) -> transfers between hosts.

Operations that repeat follow one another: a rank begins the next one when everything of the last one has arrived at it
and was added, or, where nothing arrives at it, when its messages were acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.nccl.auto import GPUS_PER_NODE, Chosen
from fabric.collectives.operations import OPERATIONS, printed_elements
from fabric.collectives.registry import ALGORITHMS, AUTO, CHOOSERS, build, problems
from fabric.collectives.schedule import Request, Schedule, part
from fabric.collectives.striping import striped
from fabric.collectives.transfers import NEED_COLUMNS, TRANSFER_COLUMNS, Event, OperationGroup, ScheduleEntry, Transfers
from fabric.errors import InputErrors, Problem
from fabric.workload.batch import Ints, Surroundings
from fabric.workload.demand import Demand, SpecField, no_demand
from fabric.workload.placed import PlacedTransfers, no_transfers, of_transfers
from fabric.workload.spec import CollectiveSpec
from fabric.workload.uneven import matrix_of

FS_BITS_PER_BYTE_S = 8 * 10**15
"""Of a byte at 1 bit/s, in femtoseconds."""


def place(spec: CollectiveSpec, name: str, path: str, around: Surroundings) -> PlacedTransfers:
    """Transfers of all operations, which are named 'all-reduce 0', 'all-reduce 1' and so on."""
    found = placed(spec, name, path, around)
    if found is None:
        return no_transfers()
    return on_hosts(spec, found.hosts, build(found.algorithm, found.request))


def on_hosts(spec: CollectiveSpec, hosts: Ints, schedule: Schedule) -> PlacedTransfers:
    """The schedule as often as the spec says, on the hosts of its ranks."""
    times = spec.warm_up + spec.repeat
    names = [f"{spec.operation} {number}" for number in range(times)]
    request = schedule.request
    group = OperationGroup(spec.operation, schedule.algorithm, "", 0, request.size_bytes, request.n_ranks)
    entry = ScheduleEntry(spec.kind, spec.kind)
    rows = striped(repeated(schedule, times, spec.start), spec.queue_pairs)
    return PlacedTransfers(rows, hosts, names, [group] * times, entry)


def demand(spec: CollectiveSpec, name: str, path: str, around: Surroundings) -> Demand:
    """That of the transfers, which are made for it."""
    made = place(spec, name, path, around)
    if not len(made):
        return no_demand()
    times = spec.warm_up + spec.repeat
    count_field = SpecField("repeat", times, "count") if times > 1 else SpecField("hosts")
    return of_transfers(count_field, SpecField("size", spec.size, "size"), made, len(around.fabric.hosts))


@dataclass(frozen=True)
class Ranks:
    """The ranks of an entry and what they carry out."""

    hosts: Ints
    """(n,) NodeId of each rank."""
    algorithm: str
    request: Request
    reason: str
    """Why a model chose the algorithm; empty where the spec names it."""


def placed(spec: CollectiveSpec, name: str, path: str, around: Surroundings) -> Ranks | None:
    """Where the ranks are and what is asked of them; None where there are problems, which are reported."""
    before = len(around.problems)
    hosts = around.hosts(spec.hosts, f"{path}.hosts", at_least=2)
    if len(around.problems) > before:
        return None
    if spec.placement == "random":
        hosts = around.random(name, "placement").permutation(hosts)
    elif spec.placement == "across-leaves":
        leaf = around.leaf[hosts]
        turn = np.array([int((leaf[:place] == leaf[place]).sum()) for place in range(len(hosts))])
        hosts = hosts[np.lexsort((leaf, turn))]
    if spec.ranks is not None:
        if spec.ranks > len(hosts):
            around.problems.append(
                Problem(f"{path}.ranks", f"{spec.ranks} ranks need more than {len(hosts)} host(s)", "name more hosts")
            )
            return None
        hosts = hosts[: spec.ranks]
    request = request_of(spec, len(hosts))
    if request.operation == "all-to-all-v":
        matrix = matrix_of(spec, len(hosts), name, path, around)
        if matrix is None:
            return None
        # Cells are rounded down to whole elements, so the largest send buffer may have fewer than were asked for.
        request = replace(request, matrix=matrix, n_elements=int(matrix.sum(axis=1).max()))
    if request.n_elements == 0:
        least = 16 * len(hosts) if request.what.per_rank_count else spec.element
        around.problems.append(
            Problem(f"{path}.size", f"{spec.size} B are no element for {len(hosts)} ranks", f"give {least}B or more")
        )
        return None
    chosen = _chosen(spec, request, path, around)
    if chosen is None:
        return None
    found = problems(chosen.algorithm, chosen.request)
    if spec.chunk is not None and not ALGORITHMS[chosen.algorithm].pieces:
        found.append((f"{chosen.algorithm} does not cut its messages into pieces", "remove chunk"))
    around.problems.extend(Problem(path, text, remedy) for text, remedy in found)
    return None if found else Ranks(hosts, chosen.algorithm, chosen.request, chosen.reason)


def _chosen(spec: CollectiveSpec, request: Request, path: str, around: Surroundings) -> Chosen | None:
    """What the spec names, or a model chooses."""
    if spec.algorithm not in CHOOSERS:
        return Chosen(spec.algorithm, request, "")
    try:
        return CHOOSERS[spec.algorithm](request, spec.generation)
    except InputErrors as error:
        around.problems.extend(Problem(f"{path}.{it.path}", it.text, it.hint) for it in error.problems)
        return None


def request_of(spec: CollectiveSpec, n_ranks: int) -> Request:
    """What the spec asks of the schedules."""
    elements = printed_elements(OPERATIONS[spec.operation], spec.size, n_ranks, spec.element)
    request = Request(
        spec.operation,
        n_ranks,
        elements,
        spec.element,
        root=spec.root,
        channels=spec.channels,
        lockstep=spec.lockstep,
        node_size=spec.ranks_per_node or (GPUS_PER_NODE if spec.algorithm == AUTO else 1),
        send_latency_ps=spec.send_latency,
        reduction_fs_per_byte=0 if spec.reduction_rate is None else FS_BITS_PER_BYTE_S // spec.reduction_rate,
    )
    return request if spec.algorithm in CHOOSERS else cut_to(spec.algorithm, request, spec.chunk)


def cut_to(algorithm: str, request: Request, chunk_bytes: int | None) -> Request:
    """The request with messages of at most `chunk_bytes`, where the algorithm cuts its messages."""
    if chunk_bytes is None or not ALGORITHMS[algorithm].pieces:
        return request
    return replace(request, pieces=max(-(-largest_message_bytes(algorithm, request) // max(chunk_bytes, 1)), 1))


def largest_message_bytes(algorithm: str, request: Request) -> int:
    """Largest message without pieces, of the algorithms that have them."""
    parts = [request.channels] if "ring" in algorithm else []
    if "ring" in algorithm and request.operation not in {"broadcast", "reduce"}:
        parts.insert(0, request.n_ranks)
    elif algorithm == "double-binary-tree":
        parts = [2]
    elif algorithm == "hierarchical":
        parts = [request.node_size]
    elements = request.n_elements
    for count in parts:
        elements = part(elements, count, 0)
    return elements * request.element_bytes


def repeated(schedule: Schedule, times: int, start_ps: int) -> Transfers:
    """The schedule `times` times, one after another at each rank; the operations are numbered from 0.

    Between two operations each rank has a computation without duration: it needs all of the earlier operation at this
    rank, and the later one needs it.
    """
    one, n = schedule.transfers, schedule.request.n_ranks
    first = _begins(one)
    rows: dict[str, list[Ints]] = {column: [] for column in TRANSFER_COLUMNS}
    needs: dict[str, list[Ints]] = {column: [] for column in NEED_COLUMNS}
    earlier, place_of, event = _ends(one, n)
    ends, base = 0, 0
    for number in range(times):
        for column in TRANSFER_COLUMNS:
            rows[column].append(getattr(one, column))
        rows["operation"][-1] = np.full(len(one), number)
        if not number and start_ps:
            rows["start_ps"][-1] = np.where(first, start_ps, one.start_ps)
        for column in NEED_COLUMNS:
            shift = base if column in {"earlier", "later"} else 0
            needs[column].append(getattr(one, column) + shift)
        if number:
            _add(needs, ends + one.src, base + np.arange(len(one)), 1, Event.COMPLETED)
        if number + 1 < times:
            ends = base + len(one)
            for column in TRANSFER_COLUMNS:
                rows[column].append(np.full(n, int(column in {"count", "modulus"})))
            rows["src"][-1] = rows["dst"][-1] = np.arange(n)
            rows["operation"][-1] = np.full(n, number)
            _add(needs, base + earlier, ends + place_of, one.count[earlier], event)
            base = ends + n
    joined = [np.concatenate(found).astype(np.int64) for found in (*rows.values(), *needs.values())]
    return Transfers(*joined)


def _add(needs: dict[str, list[Ints]], earlier: Ints, later: Ints, lead: Ints | int, event: Ints | int) -> None:
    for column, values in zip(NEED_COLUMNS, (earlier, later, lead, 0, event), strict=True):
        needs[column].append(np.broadcast_to(values, earlier.shape))


def _begins(one: Transfers) -> NDArray[np.bool_]:
    """(n,) whether a transfer's first message waits for no arrival and no completion."""
    waits = (np.minimum(one.lead, one.count[one.earlier]) > 0) & (one.event != Event.POSTED)
    found = np.ones(len(one), np.bool_)
    found[one.later[waits]] = False
    return found


def _ends(one: Transfers, n_ranks: int) -> tuple[Ints, Ints, Ints]:
    """(row, rank, Event) of all that ends the operation at each rank: arrivals and computations, or without both the
    acknowledgements of what it sends.
    """
    some = np.zeros(n_ranks, np.bool_)
    some[one.dst] = True
    row = np.arange(len(one))
    alone = row[~some[one.src]]
    event = np.where(one.src == one.dst, int(Event.COMPLETED), int(Event.ARRIVED))
    return (
        np.concatenate([row, alone]),
        np.concatenate([one.dst, one.src[alone]]),
        np.concatenate([event, np.full(len(alone), int(Event.COMPLETED))]),
    )

"""Random schedules of transfers on small worlds, and the same messages given one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from worlds import DSCP, LOSSLESS, World, edits, parameters, topology

from fabric.collectives.transfers import Event, TransferList, Transfers, expand
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.dataplane.state.params import EngineParams, Messages, QueuePairs
from fabric.dataplane.state.params import Transfers as Placed
from fabric.dataplane.state.schedule import unfinished
from fabric.topology.model import Fabric

Ints = NDArray[np.int64]
WINDOWS: Final[dict[str, Any]] = {}
INSERTION: Final = {"order": "insertion", "scheduler": "sequential"}


@dataclass(frozen=True)
class Drawn:
    """A schedule in plain numbers: (src, distance, count, small, unit, longer, first, stride, modulus, start in ns,
    delay in ps, delay in fs per byte) and (earlier, later, lead, per, event).
    """

    rows: tuple[tuple[int, ...], ...]
    needs: tuple[tuple[int, int, int, int, int], ...] = ()


def schedule(drawn: Drawn, n_hosts: int, *, computing: bool = False) -> Transfers:
    """The transfers of a drawing. Needs that are unknown where the later one is posted, and needs that would close a
    cycle, are left out; so are POSTED needs unless `computing`.
    """
    made = TransferList()
    for src, distance, count, small, unit, longer, first, stride, modulus, start_ns, *delays in drawn.rows:
        src_ = src % n_hosts
        local = computing and distance == 0
        dst = src_ if local else (src_ + 1 + (distance - 1) % (n_hosts - 1)) % n_hosts
        sizes = {} if local else {"small_bytes": small, "unit_bytes": unit, "n_longer": longer % (modulus + 1)}
        made.add(src_, dst, count, **sizes, first=first, stride=stride, modulus=modulus, start_ps=start_ns * 1000,
                 delay_ps=delays[0], delay_fs_per_byte=delays[1])  # fmt: skip
    for earlier, later, lead, per, event in drawn.needs:
        old, new = made.rows[earlier % len(made.rows)], made.rows[later % len(made.rows)]
        what = Event(event)
        unknown = what is Event.ARRIVED and old[1] != new[0]
        if old[0] == old[1] or unknown or (what is Event.POSTED and not computing):
            what = Event.COMPLETED
        if (old[1] if what is Event.ARRIVED else old[0]) != new[0]:
            continue
        made.need(earlier % len(made.rows), later % len(made.rows), lead=lead, per=per, event=what)
        if len(unfinished(made.build())):
            made.needs.pop()
    return made.build()


ROW: Final = st.tuples(
    st.integers(0, 11),
    st.integers(0, 11),
    st.integers(1, 7),
    st.sampled_from([0, 1, 500, 1024, 20_000, 60_000]),
    st.sampled_from([1, 1024, 5_000]),
    st.integers(0, 5),
    st.integers(0, 5),
    st.integers(-3, 3),
    st.integers(1, 5),
    st.sampled_from([0, 0, 100, 5000]),
    st.sampled_from([0, 1, 1000, 300_000]),
    st.sampled_from([0, 20, 10_001]),
)
NEED: Final = st.tuples(
    st.integers(0, 15), st.integers(0, 15), st.integers(-3, 4), st.integers(0, 2), st.integers(0, 2)
)


@st.composite
def drawings(draw: st.DrawFn) -> Drawn:
    """Up to twelve transfers with up to thirty needs."""
    rows = draw(st.lists(ROW, min_size=1, max_size=12))
    return Drawn(tuple(rows), tuple(draw(st.lists(NEED, max_size=30))))


def without_delays(rows: Transfers) -> Transfers:
    """The same without delays, which a list of single messages counts otherwise."""
    return replace(rows, delay_ps=rows.delay_ps * 0, delay_fs_per_byte=rows.delay_fs_per_byte * 0)


def ring(n_hosts: int, chunk_bytes: int, rounds: int = 2) -> Transfers:
    """A ring: each host sends to the next; its message k needs k messages of the one before."""
    made = TransferList()
    for host in range(n_hosts):
        made.add(host, (host + 1) % n_hosts, rounds * (n_hosts - 1), small_bytes=chunk_bytes)
    for host in range(n_hosts):
        made.need(host, (host + 1) % n_hosts, lead=0, per=1)
    return made.build()


def pairs_of(fabric: Fabric, ends: list[tuple[int, int]]) -> tuple[QueuePairs, dict[tuple[int, int], int]]:
    """One queue pair for each (source, destination)."""
    number = {pair: row for row, pair in enumerate(dict.fromkeys(ends))}
    src, dst = (np.array([pair[end] for pair in number], np.int64) for end in (0, 1))
    n = len(number)
    ports = np.array([fabric.hosts[host].first_port for host in src.tolist()], np.int64)
    dscp = np.full(n, DSCP[LOSSLESS])
    return QueuePairs(src, dst, dscp, np.arange(n) + 50_000, np.full(n, 4791), ports), number


def _ends(rows: Transfers) -> list[tuple[int, int]]:
    return list(zip(rows.src.tolist(), rows.dst.tolist(), strict=True))


def as_transfers(world: World, rows: Transfers, fabric: Fabric) -> EngineParams:
    """Parameters of a world whose only messages are transfers; ranks are hosts."""
    pairs, number = pairs_of(fabric, [ends for ends in _ends(rows) if ends[0] != ends[1]])
    qp = np.array([number.get(ends, -1) for ends in _ends(rows)], np.int64)
    none = np.empty(0, np.int64)
    empty = Messages(none, none, none, none, none, none, none)
    return replace(parameters(world, fabric), messages=empty, queue_pairs=pairs, transfers=Placed(rows, qp))


def as_messages(world: World, rows: Transfers, fabric: Fabric) -> tuple[EngineParams, Ints]:
    """The same messages one by one, and the (transfer, index) of each. Empty ones are left out. Where messages may
    arrive out of order (selective repeat) a need of n messages is one of each of them.
    """
    every = expand(rows)
    full = np.flatnonzero(every.size_bytes > 0)
    new = np.full(len(every.size_bytes) + 1, -1)
    new[full] = np.arange(len(full))
    after: set[tuple[int, int]] = set()
    for earlier, later, _ in every.after:
        if new[later] < 0:
            continue
        before = earlier
        while before >= 0 and every.transfer[before] == every.transfer[earlier]:
            if new[before] >= 0:
                after.add((int(new[before]), int(new[later])))
                if world.recovery != 1:
                    break
            before -= 1
    transfer = every.transfer[full]
    src, dst = rows.src[transfer], rows.dst[transfer]
    pairs, number = pairs_of(fabric, [ends for ends in _ends(rows) if ends[0] != ends[1]])
    qp = np.array([number[ends] for ends in zip(src.tolist(), dst.tolist(), strict=True)], np.int64)
    messages = Messages(
        src, dst, every.size_bytes[full], rows.start_ps[transfer], np.full(len(full), DSCP[LOSSLESS]), qp,
        np.zeros(len(full), np.int64), sorted(after),
    )  # fmt: skip
    params = replace(parameters(world, fabric), messages=messages, queue_pairs=pairs)
    return params, np.stack([transfer, every.index[full]], axis=1)


def engine_of(world: World, params: EngineParams, **options: Any) -> Emulator:  # noqa: ANN401  as Emulator takes them
    """An emulator of the world's fabric, faults included."""
    fabric = topology(world)
    return Emulator(fabric, params, edits(world, fabric), record=TraceBit(31), **options)


Order = Literal["source", "insertion"]

"""The traffic of a workload, computed from its spec before any message is made.

Counts are exact wherever the spec decides them. Where a generator draws at random they are expectations, unless the
draws are few enough to be made here; `Demand.exact` says which. Memory does not grow with the number of messages: a
demand is a few arrays by host, a list of sizes and a sample of at most FLOWS pairs of hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fabric.workload.batch import Batch, Ints

Floats = NDArray[np.float64]

FLOWS: Final = 4096
"""Largest sample of host pairs. Path lengths and the load of leaves are computed from the sample."""
DRAWN: Final = 200_000
"""Largest number of random messages that is really drawn. Above it the mean of the draws hardly differs from the
expectation, even for a heavy-tailed distribution such as websearch."""


@dataclass(frozen=True, slots=True)
class SpecField:
    """A field of an entry of `workload:`, and its value where the traffic is proportional to it."""

    name: str
    value: float = 0.0
    """In the field's base unit; 0 where the traffic is not proportional to the field."""
    kind: Literal["count", "time", "size", ""] = ""
    """Of the value; '' where there is none."""


NO_FIELD: Final = SpecField("")


@dataclass(frozen=True)
class Demand:
    """The traffic of one entry of `workload:`."""

    count_field: SpecField
    """The field that decides the number of messages, such as 'repeat'; NO_FIELD where there is none."""
    size_field: SpecField
    """The field that decides how large the messages are, such as 'size'."""
    size_bytes: Floats
    """Sizes of messages that occur, or a grid of quantiles."""
    count: Floats
    """Number of messages of each size."""
    tx_bytes: Floats
    """(n_hosts,) payload that each host sends."""
    rx_bytes: Floats
    """(n_hosts,) payload that each host receives."""
    src: Ints
    dst: Ints
    """NodeIds: a sample of the pairs, of equal weight."""
    pairs: float
    """Distinct (source, destination) pairs: the number of queue pairs where messages share them."""
    first_ps: int
    last_ps: int
    """First and last posting; a message that waits for others counts at its earliest start."""
    dependencies: float = 0.0
    exact: bool = True
    """False: an expectation."""
    transfers: float = 0.0
    """Rows of a table of transfers; 0: every message is a separate row."""
    computations: float = 0.0
    """Of these, without a queue pair."""
    needs: float = 0.0
    """Needs between transfers."""

    @property
    def message_rows(self) -> float:
        """Messages that have a separate row during the whole run."""
        return 0.0 if self.transfers else self.messages

    @property
    def messages(self) -> float:
        """Number of all messages."""
        return float(self.count.sum())

    @property
    def bytes(self) -> float:
        """Payload of all messages."""
        return float((self.size_bytes * self.count).sum())

    def packets(self, payload_bytes: int) -> float:
        """Data packets, without retransmissions."""
        return float((np.maximum(np.ceil(self.size_bytes / payload_bytes), 1) * self.count).sum())

    def acks(self, payload_bytes: int, every: int) -> float:
        """ACKs: one for every `every` packets of a message, and one at its end."""
        packets = np.maximum(np.ceil(self.size_bytes / payload_bytes), 1)
        return float((np.ceil(packets / every) * self.count).sum())

    def largest_bytes(self) -> float:
        """The largest message."""
        return float(self.size_bytes.max(initial=0))


def uniform(
    count_field: SpecField,
    size_bytes: int,
    messages: float,
    tx: Floats,
    rx: Floats,
    src: Ints,
    dst: Ints,
    pairs: float,
    first_ps: int,
    last_ps: int,
    dependencies: float = 0.0,
    *,
    exact: bool = True,
) -> Demand:
    """Messages of one size, the field `size`; `tx` and `rx` are numbers of messages by host."""
    return Demand(
        count_field,
        SpecField("size", size_bytes, "size"),
        np.array([size_bytes], float),
        np.array([messages], float),
        tx * size_bytes,
        rx * size_bytes,
        src,
        dst,
        pairs,
        first_ps,
        last_ps,
        dependencies,
        exact,
    )


def of_batch(count_field: SpecField, size_field: SpecField, batch: Batch, n_hosts: int) -> Demand:
    """The demand of messages that have been made."""
    return of_columns(
        count_field,
        size_field,
        batch.src,
        batch.dst,
        batch.size_bytes,
        int(batch.start_ps.min(initial=0)),
        int(batch.start_ps.max(initial=0)),
        len(batch.after),
        n_hosts,
    )


def of_columns(
    count_field: SpecField,
    size_field: SpecField,
    src: Ints,
    dst: Ints,
    size_bytes: Ints,
    first_ps: int,
    last_ps: int,
    dependencies: int,
    n_hosts: int,
) -> Demand:
    """The demand of messages given as columns."""
    sizes, count = np.unique(size_bytes, return_counts=True)
    chosen = thinned(len(src))
    tx, rx = (np.bincount(ends, size_bytes, n_hosts).astype(np.float64) for ends in (src, dst))
    return Demand(
        count_field,
        size_field,
        sizes.astype(float),
        count.astype(float),
        tx,
        rx,
        src[chosen],
        dst[chosen],
        float(len(np.unique(src * n_hosts + dst))),
        first_ps,
        last_ps,
        float(dependencies),
    )


def thinned(count: int) -> Ints:
    """At most FLOWS row numbers below `count`, evenly spaced."""
    return np.arange(count) if count <= FLOWS else np.linspace(0, count - 1, FLOWS).astype(np.int64)


def last_start(start_ps: int, repeat: int, interval_ps: int | None, jitter_ps: int) -> int:
    """Latest posting of the last repetition."""
    return start_ps + (repeat - 1) * (interval_ps or 0) + jitter_ps


def no_demand() -> Demand:
    """No traffic: the spec matches no hosts, which generate() reports."""
    none = np.empty(0, np.int64)
    return Demand(NO_FIELD, NO_FIELD, np.empty(0), np.empty(0), np.zeros(0), np.zeros(0), none, none, 0.0, 0, 0)


def total(demands: Sequence[Demand], n_hosts: int, column: str) -> Floats:
    """(n_hosts,) sum of `tx_bytes` or `rx_bytes` over entries."""
    found = np.zeros(n_hosts)
    for demand in demands:
        values = getattr(demand, column)
        found[: len(values)] += values
    return found

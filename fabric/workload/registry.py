"""Kinds of workload by name: the generator of a kind, its demand, and what else other packages need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fabric.workload import (
    all_to_all,
    arp,
    collective,
    datagrams,
    incast,
    inference,
    job,
    messages,
    permutation,
    poisson,
    trace,
)
from fabric.workload.batch import Generate
from fabric.workload.demand import Demand
from fabric.workload.placed import Place


@dataclass(frozen=True, slots=True)
class MessageKind:
    """A kind whose entries are messages of queue pairs."""

    generate: Generate
    demand: Callable[..., Demand]
    """(spec, name, path, surroundings) -> Demand of what generate() makes; problems go to surroundings.problems."""
    ranks: Callable[[int], int] | None = None
    """Messages of one repetition -> members of the collective; None: the kind is not a collective."""


@dataclass(frozen=True, slots=True)
class TransferKind:
    """A kind whose entries are tables of transfers (docs/decisions/0055): collectives, jobs, traces."""

    place: Place
    demand: Callable[..., Demand]
    """(spec, name, path, surroundings) -> Demand of what place() makes (placed.of_transfers); problems as above."""


@dataclass(frozen=True, slots=True)
class RequestKind:
    """A kind whose entries are requests, broadcast within a segment."""

    requests: Callable[..., list[arp.Request]]
    """(spec, name, path, surroundings, segment_of) -> requests; problems go to surroundings.problems."""
    demand: Callable[..., arp.RequestDemand]
    """(spec, path, surroundings) -> RequestDemand of what requests() makes; problems as above."""


@dataclass(frozen=True, slots=True)
class StreamKind:
    """A kind whose entries are streams of datagrams without a transport."""

    streams: Callable[..., list[datagrams.Stream]]
    """(spec, name, path, surroundings) -> streams; problems go to surroundings.problems."""
    demand: Callable[..., datagrams.StreamDemand]
    """(spec, path, surroundings) -> StreamDemand of what streams() makes; problems as above."""


MESSAGE_KINDS: Final[Mapping[str, MessageKind]] = {
    "incast": MessageKind(incast.generate, incast.demand),
    "permutation": MessageKind(permutation.generate, permutation.demand),
    "all-to-all": MessageKind(all_to_all.generate, all_to_all.demand, all_to_all.ranks),
    "poisson": MessageKind(poisson.generate, poisson.demand),
    "messages": MessageKind(messages.generate, messages.demand),
}
TRANSFER_KINDS: Final[dict[str, TransferKind]] = {
    "collective": TransferKind(collective.place, collective.demand),
    "job": TransferKind(job.place, job.demand),
    "inference": TransferKind(inference.place, inference.demand),
    "trace": TransferKind(trace.place, trace.demand),
}
REQUEST_KINDS: Final[Mapping[str, RequestKind]] = {"arp": RequestKind(arp.requests, arp.demand)}
STREAM_KINDS: Final[Mapping[str, StreamKind]] = {"datagrams": StreamKind(datagrams.streams, datagrams.demand)}
"""Together with MESSAGE_KINDS, TRANSFER_KINDS and REQUEST_KINDS every kind of the union WorkloadSpec in spec.py."""

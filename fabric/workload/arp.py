"""ARP requests at a fixed rate per host: for random hosts of its segment, or for addresses that no host has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.errors import Problem
from fabric.workload.batch import Ints, Surroundings
from fabric.workload.spec import ArpSpec

MAX_REQUESTS: Final = 4_000_000

Request = tuple[int, int, int | None]
"""(time in ps, NodeId of the requesting host, NodeId of the target; None: an address that no host has)."""


@dataclass(frozen=True, slots=True)
class RequestDemand:
    """The requests of one entry of `workload:`."""

    requests: int
    unanswered: bool
    """Every request is for an address that no host has, so leaves flood it whether or not they suppress ARP."""
    last_ps: int
    """No request at or after this."""


def requests(spec: ArpSpec, name: str, path: str, around: Surroundings, segment_of: Ints) -> list[Request]:
    """All requests of one entry; problems go to around.problems.

    Parameters
    ----------
    segment_of : (n_hosts,)    segment number; hosts with the same number share a VNI
    """
    askers = around.hosts(spec.hosts, f"{path}.hosts")
    count = _per_host(spec)
    if len(askers) * count > MAX_REQUESTS:
        around.problems.append(
            Problem(
                f"{path}.interval",
                f"{len(askers) * count:,} requests are more than {MAX_REQUESTS:,}",
                "raise interval, lower stop, or name fewer hosts",
            )
        )
        return []
    random = around.random(name, "arp")
    phase = random.integers(0, spec.interval, len(askers))
    wanted = None if spec.targets == "nobody" else around.hosts(spec.targets, f"{path}.targets")
    found: list[Request] = []
    for host, first in zip(askers.tolist(), phase.tolist(), strict=True):
        times = (spec.start + first + np.arange(count) * spec.interval).tolist()
        if wanted is None:
            found += [(time, host, None) for time in times]
            continue
        others = wanted[(wanted != host) & (segment_of[wanted] == segment_of[host])]
        if not len(others):
            around.problems.append(
                Problem(
                    f"{path}.targets",
                    f"'{around.fabric.nodes[host].name}' shares its segment with none of the targets",
                    "name other targets, or leave this host out of hosts",
                )
            )
            return []
        found += [
            (time, host, target) for time, target in zip(times, random.choice(others, count).tolist(), strict=True)
        ]
    return found


def demand(spec: ArpSpec, path: str, around: Surroundings) -> RequestDemand:
    """Hosts times intervals."""
    hosts = around.hosts(spec.hosts, f"{path}.hosts")
    return RequestDemand(len(hosts) * _per_host(spec), spec.targets == "nobody", spec.stop)


def _per_host(spec: ArpSpec) -> int:
    return (spec.stop - spec.start) // spec.interval

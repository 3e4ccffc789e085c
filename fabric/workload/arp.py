"""ARP requests at a fixed rate per host, for hosts of its segment drawn at random or for addresses that nobody has."""

from __future__ import annotations

from typing import Final

import numpy as np

from fabric.errors import Problem
from fabric.workload.batch import Ints, Surroundings
from fabric.workload.spec import ArpSpec

MAX_REQUESTS: Final = 4_000_000

Ask = tuple[int, int, int | None]
"""(time in ps, NodeId of the asking host, NodeId of the target; None: nobody)."""


def requests(spec: ArpSpec, name: str, path: str, around: Surroundings, segment_of: Ints) -> list[Ask]:
    """All requests of one entry; problems go to around.problems.

    Parameters
    ----------
    segment_of : (n_hosts,)    which hosts share a VNI
    """
    askers = around.hosts(spec.hosts, f"{path}.hosts")
    count = (spec.stop - spec.start) // spec.interval
    if len(askers) * count > MAX_REQUESTS:
        around.problems.append(Problem(f"{path}.interval", f"{len(askers) * count:,} requests are more than "
                                       f"{MAX_REQUESTS:,}", "raise interval, lower stop, or name fewer hosts"))
        return []
    random = around.random(name, "arp")
    phase = random.integers(0, spec.interval, len(askers))
    wanted = None if spec.targets == "nobody" else around.hosts(spec.targets, f"{path}.targets")
    asks: list[Ask] = []
    for host, first in zip(askers.tolist(), phase.tolist(), strict=True):
        times = (spec.start + first + np.arange(count) * spec.interval).tolist()
        if wanted is None:
            asks += [(time, host, None) for time in times]
            continue
        others = wanted[(wanted != host) & (segment_of[wanted] == segment_of[host])]
        if not len(others):
            around.problems.append(Problem(f"{path}.targets", f"'{around.fabric.nodes[host].name}' shares its segment "
                                           "with none of them", "name other targets, or leave this host out of hosts"))
            return []
        asks += [(time, host, target) for time, target in zip(times, random.choice(others, count).tolist(),
                                                               strict=True)]
    return asks

"""A broken NIC that sends XOFF without end (Guo et al., SIGCOMM 2016, section 4.3)."""

from __future__ import annotations

from typing import Final

from fabric.dataplane.engine.edits import PauseStorm
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.spec import PauseStormSpec
from fabric.topology.select import match_hosts
from fabric.units import PS_PER_S

QUANTUM_BITS: Final = 512
"""IEEE 802.3 annex 31B."""


def pause_storm(spec: PauseStormSpec, path: str, context: FaultContext) -> Injected:
    """XOFF frames at the given rate; with a `duty` below 1 each frame's pause expires before the next frame."""
    fabric = context.fabric
    hosts = match_hosts(fabric, spec.hosts, f"{path}.hosts", context.problems)
    edits = []
    for host in hosts:
        control = context.params.ports[fabric.ports[host.first_port].peer].flow_control
        honoured = control.obeyed
        classes = honoured if spec.priorities is None else sum(1 << priority for priority in set(spec.priorities))
        if not classes & honoured:
            context.problems.append(
                Problem(
                    f"{path}.priorities",
                    f"{fabric.peer_of(host.first_port).name} honours PAUSE for none "
                    f"of these priorities from '{host.name}'",
                    "name a priority that has PFC there",
                )
            )
        pause_ps = spec.quanta * QUANTUM_BITS * PS_PER_S // fabric.links[fabric.ports[host.first_port].link].rate_bps
        if spec.duty is not None and spec.duty < 1:
            gap = round(pause_ps / spec.duty)
        elif spec.frames_per_second is not None:
            gap = PS_PER_S // spec.frames_per_second
        else:
            gap = 0
        edits.append(PauseStorm(spec.at, host.id, classes, spec.duration, gap, spec.quanta))
    return Injected(
        edits,
        {
            "hosts": [host.name for host in hosts],
            "priorities": None if spec.priorities is None else sorted(set(spec.priorities)),
        },
        spec.at,
        spec.at + spec.duration,
        [
            "pause frames received from the host without end",
            "its leaf port is paused; pause spreads to every sender towards it, and on",
            "the PFC watchdog, where on, finds the leaf port and nothing else",
        ],
    )

"""A host that consumes more slowly than its link delivers, so that its NIC pauses the fabric (SIGCOMM 2016, section
4.4).
"""

from __future__ import annotations

from fabric.engine.edits import Edit, HostDrain
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.spec import SlowReceiverSpec
from fabric.topology.select import match_hosts
from fabric.units import format_rate_bps


def slow_receiver(spec: SlowReceiverSpec, path: str, context: FaultContext) -> Injected:
    """The host's drain rate falls at `at` and is as before at `until`."""
    fabric = context.fabric
    hosts = match_hosts(fabric, spec.hosts, f"{path}.hosts", context.problems)
    edits: list[Edit] = []
    for host in hosts:
        line = sum(fabric.links[fabric.ports[port].link].rate_bps for port in host.ports)
        if spec.drain >= line:
            context.problems.append(Problem(f"{path}.drain",
                                            f"{format_rate_bps(spec.drain)} is not slow for '{host.name}', whose "
                                            f"NIC receives {format_rate_bps(line)}", "give a lower rate"))
        edits.append(HostDrain(spec.at, host.id, spec.drain))
        if spec.until is not None:
            edits.append(HostDrain(spec.until, host.id, context.params.hosts[host.id].drain_bps, ends=True))
    return Injected(edits, {"hosts": [host.name for host in hosts], "drain_bps": spec.drain}, spec.at, spec.until,
                    ["the NIC's receive buffer fills",
                     "pause frames from the host, XOFF and XON in turn; without PFC drops with reason rx_buffer",
                     "its leaf's queue grows although nothing else congests"])

"""A host that consumes more slowly than its link delivers, so that its NIC pauses the fabric (SIGCOMM 2016, section
4.4).
"""

from __future__ import annotations

from fabric.dataplane.engine.edits import Edit, HostDrain
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.spec import SlowReceiverSpec
from fabric.topology.select import match_hosts
from fabric.units import format_rate_bps


def slow_receiver(spec: SlowReceiverSpec, path: str, context: FaultContext) -> Injected:
    """The lower drain rate at `at`, the old one at `until`."""
    fabric = context.fabric
    hosts = match_hosts(fabric, spec.hosts, f"{path}.hosts", context.problems)
    edits: list[Edit] = []
    for host in hosts:
        line = sum(fabric.links[fabric.ports[port].link].rate_bps for port in fabric.network_ports(host.id))
        if spec.drain >= line:
            context.problems.append(
                Problem(
                    f"{path}.drain",
                    f"{format_rate_bps(spec.drain)} is not slow for '{host.name}', whose "
                    f"NIC receives {format_rate_bps(line)}",
                    "give a lower rate",
                )
            )
        mine = context.params.hosts[host.id]
        if not mine.drain_bps and not 0 < mine.rx_xon_bytes < mine.rx_xoff_bytes < mine.rx_buffer_bytes:
            context.problems.append(
                Problem(
                    f"{path}.hosts",
                    f"{host.name}: 0 < rx_xon < rx_xoff < rx_buffer does not hold for {mine.rx_xon_bytes} "
                    f"B, {mine.rx_xoff_bytes} B, {mine.rx_buffer_bytes} B",
                    "enlarge hosts.rx_buffer, or set hosts.rx_xoff and hosts.rx_xon in this order",
                )
            )
        edits.append(HostDrain(spec.at, host.id, spec.drain))
        if spec.until is not None:
            edits.append(HostDrain(spec.until, host.id, context.params.hosts[host.id].drain_bps, ends=True))
    return Injected(
        edits,
        {"hosts": [host.name for host in hosts], "drain_bps": spec.drain},
        spec.at,
        spec.until,
        [
            "the NIC's receive buffer fills",
            "pause frames from the host, XOFF and XON in turn; without PFC drops with reason rx_buffer",
            "its leaf's queue grows although nothing else congests",
        ],
    )

"""Damage to frames on a cable: bit errors, and every n-th frame lost."""

from __future__ import annotations

from fabric.dataplane.engine.edits import DropEvery, Edit, LinkErrors
from fabric.faults.base import FaultContext, Injected
from fabric.faults.spec import BitErrorsSpec, DropEverySpec
from fabric.topology.select import match_ports


def bit_errors(spec: BitErrorsSpec, path: str, context: FaultContext) -> Injected:
    """Both directions; at the end the original ratio of the ports."""
    links = context.links(spec.link, f"{path}.link")
    edits: list[Edit] = [LinkErrors(spec.at, link.id, spec.ratio) for link in links]
    if spec.until is not None:
        edits += [
            LinkErrors(spec.until, link.id, context.params.ports[link.a].bit_error_ratio, ends=True) for link in links
        ]
    return Injected(
        edits,
        {"links": context.link_names(links), "bit_error_ratio": spec.ratio},
        spec.at,
        spec.until,
        ["FCS errors and drops (reason fcs) at the receiving ports", "NAKs and retransmissions of flows that cross it"],
    )


def drop_every(spec: DropEverySpec, path: str, context: FaultContext) -> Injected:
    """The n-th, 2n-th, ... data frame arriving at each port."""
    ports = match_ports(context.fabric, spec.port, f"{path}.port", context.problems)
    edits: list[Edit] = [DropEvery(spec.at, port.id, spec.every) for port in ports]
    if spec.until is not None:
        edits += [DropEvery(spec.until, port.id, 0, ends=True) for port in ports]
    return Injected(
        edits,
        {"ports": [context.fabric.port_name(port.id) for port in ports], "every": spec.every},
        spec.at,
        spec.until,
        ["drops with reason injected", "NAKs and retransmissions"],
    )

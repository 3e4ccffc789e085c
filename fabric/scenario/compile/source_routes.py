"""Rules of source routes that need the fabric: every switch takes part, and a route's segments fit one address; and the
NIC ports that queue pairs begin with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fabric.dataplane.state.fill_routes import first_ports, reached, uses_several
from fabric.dataplane.state.params import QueuePairs
from fabric.errors import Problem
from fabric.scenario.compile.layers import Settings
from fabric.scenario.compile.lower import dscp_table
from fabric.scenario.compile.recovery import SOURCE_ROUTED
from fabric.scenario.compile.scale_up import has_scale_up
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
from fabric.topology.source_routes import switches_from_ports
from fabric.wire.usid import MOST_HOSTS, MOST_PORTS, MOST_SEGMENTS


def mixed(fabric: Fabric, settings: Settings, path: str) -> Iterator[Problem]:
    """Where some switches follow source routes: scale-up links, and switches that follow none."""
    place, remedy = f"{path}switches.load_balancing", "use another load_balancing"
    if has_scale_up(fabric):
        text = "source-routed is not modelled beside scale-up links, whose packets have no IP header"
        yield Problem(place, text, f"{remedy}, or a topology without scale_up")
        return
    others = [node for node in fabric.switches if settings.switches[node.id].load_balancing != SOURCE_ROUTED]
    if others:
        origin, other = settings.switch_origins[others[0].id], settings.switches[others[0].id].load_balancing
        yield Problem(
            origin.place("load_balancing"),
            f"{others[0].name} has {other}, and other switches are source-routed: a source route names the port of "
            "every switch on its way",
            "give all switches source-routed, or none",
        )
        return
    yield from _other_classes(fabric, settings)


def _other_classes(fabric: Fabric, settings: Settings) -> Iterator[Problem]:
    """Hosts whose ports lead to switches that give a DSCP another class: a queue pair waits in one class."""
    for host in fabric.hosts:
        peers = [fabric.ports[port].peer for port in host.ports]
        tables = [dscp_table(settings.switch_ports[peer]) for peer in peers]
        other = next((peer for peer, table in zip(peers, tables, strict=True) if table != tables[0]), None)
        if other is not None:
            yield Problem(
                settings.port_origins[other].place("dscp_to_tc"),
                f"{fabric.port_name(other)} has other classes than {fabric.port_name(peers[0])}, and packets of one "
                f"queue pair of {host.name} leave by both: it waits in one class",
                "give both one dscp_to_tc, or use another load_balancing",
            )
            return


def begun(fabric: Fabric, seed: int, routes: EcmpTable, pairs: QueuePairs) -> QueuePairs:
    """Queue pairs with the port of their first packet; as they are where each has one port, or none that reaches."""
    reach = reached(fabric, routes, pairs)
    if not uses_several(reach):
        return pairs
    port = first_ports(fabric, seed, pairs, reach)[: len(pairs.src)]
    return replace(pairs, port=np.where(port < 0, pairs.port, port))


def unnamed(fabric: Fabric, routes: EcmpTable, pairs: QueuePairs, path: str) -> Iterator[Problem]:
    """Routes with more segments than one address holds, and ports or hosts without a segment."""
    place, remedy = f"{path}switches.load_balancing", "use another load_balancing"
    switches = switches_from_ports(fabric, routes, pairs.src, pairs.dst).max(axis=1)
    if len(switches) and (most := int(switches.max())) + 1 > MOST_SEGMENTS:
        pair = int(switches.argmax())
        ends = f"{fabric.nodes[int(pairs.src[pair])].name} to {fabric.nodes[int(pairs.dst[pair])].name}"
        text = f"source-routed: the route from {ends} passes {most} switches; one address holds {MOST_SEGMENTS - 1}"
        yield Problem(place, f"{text} and the NIC, and a segment routing header is not modelled", remedy)
    widest = max(fabric.switches, key=lambda node: node.n_ports)
    if widest.n_ports > MOST_PORTS or len(fabric.hosts) > MOST_HOSTS:
        text = f"source-routed: segments of 16 bits name {MOST_HOSTS:,} hosts and {MOST_PORTS:,} ports of a switch"
        yield Problem(place, f"{text}; this fabric has {len(fabric.hosts):,} and {widest.n_ports:,}", remedy)

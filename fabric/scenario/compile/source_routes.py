"""Rules of source routes that need the fabric: every switch takes part, and a route's segments fit one address."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.dataplane.state.params import QueuePairs
from fabric.errors import Problem
from fabric.scenario.compile.layers import Settings
from fabric.scenario.compile.recovery import SOURCE_ROUTED
from fabric.scenario.compile.scale_up import has_scale_up
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
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


def unnamed(fabric: Fabric, routes: EcmpTable, pairs: QueuePairs, path: str) -> Iterator[Problem]:
    """Routes with more segments than one address holds, and ports or hosts without a segment."""
    place, remedy = f"{path}switches.load_balancing", "use another load_balancing"
    switches = routes.distance[pairs.src, routes.class_of_host[pairs.dst]] + 1
    if len(switches) and (most := int(switches.max())) + 1 > MOST_SEGMENTS:
        pair = int(switches.argmax())
        ends = f"{fabric.nodes[int(pairs.src[pair])].name} to {fabric.nodes[int(pairs.dst[pair])].name}"
        text = f"source-routed: the route from {ends} passes {most} switches; one address holds {MOST_SEGMENTS - 1}"
        yield Problem(place, f"{text} and the NIC, and a segment routing header is not modelled", remedy)
    widest = max(fabric.switches, key=lambda node: node.n_ports)
    if widest.n_ports > MOST_PORTS or len(fabric.hosts) > MOST_HOSTS:
        text = f"source-routed: segments of 16 bits name {MOST_HOSTS:,} hosts and {MOST_PORTS:,} ports of a switch"
        yield Problem(place, f"{text}; this fabric has {len(fabric.hosts):,} and {widest.n_ports:,}", remedy)

"""Other names for the devices of a drill, so that an answer cannot be remembered from an earlier one.

Switches of one role with equally many hosts exchange their names; hosts take the names of the hosts of the switch whose
name theirs took, in another order. The cables stay as they are, so a drill's topology is that of its scenario. Lists
are in order of the shown names: that of the scenario would tell which host is its first one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from random import Random

from fabric.ids import LinkId, NodeId, PortId
from fabric.topology.model import Fabric, Node


class Aliases:
    """Real name -> shown name, and back."""

    def __init__(self, shown: Mapping[str, str]) -> None:
        self.shown = dict(shown)
        self.real = {alias: name for name, alias in self.shown.items()}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        names = sorted(self.shown, key=len, reverse=True)
        return re.compile(r"(?<![\w.-])(" + "|".join(map(re.escape, names)) + r")(?![\w.])")

    def text(self, text: str) -> str:
        """A text with every device under its shown name."""
        return self._pattern.sub(lambda found: self.shown[found.group()], text) if self.shown else text

    def fabric(self, fabric: Fabric, name: str) -> Fabric:
        """The fabric with shown names, devices and cables in their order."""
        nodes = (replace(node, name=self.shown[node.name], group=self.text(node.group)) for node in fabric.nodes)
        return _in_order(replace(fabric, name=name, nodes=tuple(nodes)))


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """'leaf2' before 'leaf10', 'p1-leaf9' before 'p2-leaf1'."""
    return tuple((word, int(number or -1)) for word, number in re.findall(r"([^0-9]*)([0-9]*)", name))


def _in_order(fabric: Fabric) -> Fabric:
    """The same fabric with hosts, then switches, by name, and cables by the names of their ends."""
    old = sorted(fabric.nodes, key=lambda it: (not it.is_host, natural(it.name)))
    port_of = {port: row for row, port in enumerate(port for node in old for port in node.ports)}
    ends = {it.id: sorted((PortId(port_of[it.a]), PortId(port_of[it.b]))) for it in fabric.links}
    links = sorted(fabric.links, key=lambda it: ends[it.id])
    link_of = {it.id: LinkId(row) for row, it in enumerate(links)}
    nodes, first = [], 0
    for row, node in enumerate(old):
        nodes.append(replace(node, id=NodeId(row), first_port=PortId(first)))
        first += node.n_ports
    node_of = {node.id: NodeId(row) for row, node in enumerate(old)}
    ports = (
        replace(
            it, id=PortId(port_of[it.id]), node=node_of[it.node], link=link_of[it.link], peer=PortId(port_of[it.peer])
        )
        for it in fabric.ports
    )
    return replace(
        fabric,
        nodes=tuple(nodes),
        ports=tuple(sorted(ports, key=lambda it: it.id)),
        links=tuple(replace(it, id=LinkId(row), a=ends[it.id][0], b=ends[it.id][1]) for row, it in enumerate(links)),
    )


def _exchanged(names: Sequence[str], random: Random) -> list[str]:
    """A random order in which no name is at its own place (Sattolo's algorithm); a single name stays."""
    found = list(names)
    for last in range(len(found) - 1, 0, -1):
        other = random.randrange(last)
        found[last], found[other] = found[other], found[last]
    return found


def drawn(fabric: Fabric, seed: int) -> Aliases:
    """Names of a drill; the same for the same seed. No device keeps its own where another has its role."""
    random = Random(f"{seed}/names")
    behind: dict[str, list[str]] = {node.name: [] for node in fabric.switches}
    for host in fabric.hosts:
        first = next((fabric.peer_of(port) for port in fabric.network_ports(host.id)), None)
        if first is not None:
            behind[first.name].append(host.name)
    shown: dict[str, str] = {}
    alike: dict[tuple[str, int], list[Node]] = {}
    for switch in fabric.switches:
        alike.setdefault((switch.role.value, len(behind[switch.name])), []).append(switch)
    for switches in alike.values():
        names = [it.name for it in switches]
        for name, alias in zip(names, _exchanged(names, random), strict=True):
            shown[name] = alias
            shown |= zip(behind[name], _exchanged(behind[alias], random), strict=True)
    return Aliases({node.name: shown.get(node.name, node.name) for node in fabric.nodes})

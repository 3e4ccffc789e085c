"""Shared-risk groups: names of switches and cables that fail together -> their ids (RFC 4202 section 2.3, SRLG)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.errors import Problem
from fabric.topology.model import Fabric, Role
from fabric.topology.select import match_links, match_nodes


@dataclass(frozen=True, slots=True)
class RiskGroup:
    """Members of one group."""

    name: str
    switches: tuple[int, ...]
    """NodeIds."""
    links: tuple[int, ...]
    """LinkIds, without those that end at one of the switches."""


def risk_groups(
    fabric: Fabric, declared: Mapping[str, Sequence[str]], path: str, problems: list[Problem]
) -> list[RiskGroup]:
    """The groups that have members, as declared; names that fit nothing are problems at `path`."""
    found = []
    for group, names in declared.items():
        switches: set[int] = set()
        links: set[int] = set()
        for number, name in enumerate(names):
            at = f"{path}.{group}[{number}]"
            if "--" in name or ":" in name:
                links.update(link.id for link in match_links(fabric, name, at, problems))
            else:
                allowed = [node for node in fabric.switches if node.role is not Role.SCALE_UP]
                switches.update(node.id for node in match_nodes(fabric, [name], allowed, at, "switch", problems))
        own = {fabric.ports[port].link for node in switches for port in fabric.nodes[node].ports}
        if switches or links:
            found.append(RiskGroup(group, tuple(sorted(switches)), tuple(sorted(links - own))))
    return found

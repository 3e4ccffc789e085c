"""Common part of the builders: cables of a spec, and overrides of single cables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fabric.errors import InputErrors, Problem
from fabric.name_patterns import fits_pattern
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.topology.spec import TIER_OF_ROLE, Clos3Spec, DualTorSpec, LeafSpineSpec, LinkOverride, RailSpec
from fabric.topology.storage import storage_parts

Built = LeafSpineSpec | Clos3Spec | RailSpec | DualTorSpec
"""The specs with host_* and fabric_* fields."""


def node(name: str, role: Role, group: str = "", network: str = "") -> NodeSpec:
    """A node at the tier its role implies."""
    return NodeSpec(name, role, TIER_OF_ROLE[role], group, network)


def host_cables(spec: Built, host: str, index: int, switches: Iterable[str]) -> list[LinkSpec]:
    """One cable from `host`, the index-th under its leaf, to each of `switches`, in order."""
    length_mm, delay_ps = spec.host_length_and_delay
    return [
        LinkSpec(host, switch, spec.rate_of_host(index), delay_ps, length_mm, breakout=spec.host_breakout)
        for switch in switches
    ]


def fabric_cables(spec: Built, lower: Sequence[str], upper: Sequence[str]) -> list[LinkSpec]:
    """links_per_pair cables between each of `lower` and each of `upper`."""
    length_mm, delay_ps = spec.fabric_length_and_delay
    return [
        LinkSpec(a, b, spec.fabric_rate, delay_ps, length_mm, breakout=spec.fabric_breakout)
        for a in lower
        for b in upper
        for _ in range(spec.links_per_pair)
    ]


def finish(spec: Built, nodes: Sequence[NodeSpec], links: Sequence[LinkSpec]) -> Fabric:
    """Apply the overrides and assemble. Raises InputErrors, also for an override that matches no cable."""
    links = list(links)
    problems = []
    for index, override in enumerate(spec.link_overrides):
        hits = [row for row, link in enumerate(links) if _matches(override, link)]
        if not hits:
            problems.append(
                Problem(
                    f"topology.link_overrides[{index}]",
                    f"no cable joins {override.a!r} and {override.b!r}",
                    f"names look like {links[0].a!r} and {links[-1].b!r}; '*' matches any",
                )
            )
        for row in hits:
            links[row] = _overridden(override, links[row])
    if problems:
        raise InputErrors("topology", problems)
    return assemble(spec.name or spec.kind, nodes, links)


def add_storage(
    spec: LeafSpineSpec | RailSpec, nodes: list[NodeSpec], links: list[LinkSpec], spines: Sequence[str]
) -> None:
    """Append the storage nodes of a spec, and their network."""
    if spec.storage is None:
        return
    parts = storage_parts(
        spec.storage,
        [each.name for each in nodes if each.role is Role.HOST],
        spines,
        fabric_rate_bps=spec.fabric_rate,
        links_per_pair=spec.links_per_pair,
        host_cable=spec.host_length_and_delay,
        fabric_cable=spec.fabric_length_and_delay,
    )
    nodes += [*parts.hosts, *parts.switches]
    links += parts.links


def _matches(override: LinkOverride, link: LinkSpec) -> bool:
    return (fits_pattern(link.a, override.a) and fits_pattern(link.b, override.b)) or (
        fits_pattern(link.a, override.b) and fits_pattern(link.b, override.a)
    )


def _overridden(override: LinkOverride, link: LinkSpec) -> LinkSpec:
    length_mm, delay_ps = override.length_and_delay(link.length_mm, link.delay_ps)
    return replace(link, rate_bps=override.rate or link.rate_bps, length_mm=length_mm, delay_ps=delay_ps)

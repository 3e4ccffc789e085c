"""Parts of a fabric that can fail: cables, optics, switches, pods, declared shared-risk groups.

An element is one failure. Cables are cut and switches lose power, so their neighbours lose carrier. An optic degrades:
its cables keep carrier and deliver frames with bit errors, which routing does not notice. Links and switches inside
servers (scale-up) are no elements: they belong to the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from fabric.errors import Problem
from fabric.name_patterns import fits_pattern
from fabric.topology.model import Fabric, Link, Role
from fabric.topology.quantities import exact_time
from fabric.topology.risk_groups import RiskGroup
from fabric.topology.select import nearest

OPTIC_ERRORS: Final = 1e-6
"""Bit error ratio behind FEC of a degraded optic: 0.8 % of frames of 1,000 bytes. Assumed."""


class ElementKind(StrEnum):
    """The kind of a failure."""

    LINK = "link"
    OPTIC = "optic"
    LEAF = "leaf"
    SPINE = "spine"
    SUPER_SPINE = "super-spine"
    SWITCH = "switch"
    POD = "pod"
    """All switches of a pod or rack."""
    PLANE = "plane"
    """All super-spines of a plane."""
    GROUP = "risk-group"


_OF_ROLE: Final = {
    Role.LEAF: ElementKind.LEAF,
    Role.SPINE: ElementKind.SPINE,
    Role.SUPER_SPINE: ElementKind.SUPER_SPINE,
    Role.SWITCH: ElementKind.SWITCH,
}


@dataclass(frozen=True, slots=True)
class Element:
    """One thing that can fail."""

    kind: ElementKind
    name: str
    """'leaf1', 'leaf1--spine2#0', 'leaf1:Ethernet8' for the optic of a cage, 'power-a'."""
    switches: tuple[int, ...] = ()
    """NodeIds that stop."""
    links: tuple[int, ...] = ()
    """LinkIds that are cut, or have errors for an optic; without those of `switches`."""

    @property
    def key(self) -> str:
        """'link leaf1--spine1': unique in a fabric."""
        return f"{self.kind} {self.name}"

    def ports_down(self, fabric: Fabric) -> frozenset[int]:
        """PortIds without a working cable after the failure; a degraded optic counts as failed."""
        return frozenset(
            [*(fabric.links[link].a for link in self.links)]
            + [port for switch in self.switches for port in fabric.nodes[switch].ports]
        )

    def faults(self, fabric: Fabric, at_ps: int, optic_errors: float = OPTIC_ERRORS) -> list[dict[str, Any]]:
        """Entries of a scenario's `faults:` that are this failure, from `at_ps` to the end of the run."""
        at = exact_time(at_ps)
        found: list[dict[str, Any]] = [
            {"kind": "switch-crash", "switch": fabric.nodes[switch].name, "at": at} for switch in self.switches
        ]
        for link in self.links:
            cable = {"link": link_name(fabric, fabric.links[link]), "at": at}
            found.append(
                {"kind": "bit-errors", **cable, "ratio": optic_errors}
                if self.kind is ElementKind.OPTIC
                else {"kind": "link-down", **cable}
            )
        return found


def link_name(fabric: Fabric, link: Link) -> str:
    """'leaf1--spine1', with '#1' where the pair has several cables; the form that faults take."""
    a, b = fabric.node_of(link.a), fabric.node_of(link.b)
    parallel = [port.link for port, peer in fabric.neighbours(a.id) if peer.id == b.id]
    return f"{a.name}--{b.name}" + (f"#{parallel.index(link.id)}" if len(parallel) > 1 else "")


def elements(fabric: Fabric, groups: Sequence[RiskGroup] = ()) -> list[Element]:
    """Every single failure of a fabric, and of its declared shared-risk groups."""
    cables = [link for link in fabric.links if not fabric.is_scale_up(link.a)]
    found = [Element(ElementKind.LINK, link_name(fabric, link), (), (link.id,)) for link in cables]
    found += _optics(fabric, cables)
    switches = [node for node in fabric.switches if node.role in _OF_ROLE]
    found += [Element(_OF_ROLE[node.role], node.name, (node.id,)) for node in switches]
    pods: dict[str, list[int]] = {}
    for node in switches:
        pods.setdefault(node.group, []).append(node.id)
    found += [
        Element(_pod_kind(fabric, members), pod, tuple(members))
        for pod, members in pods.items()
        if pod and 1 < len(members) < len(switches)
    ]
    return found + [Element(ElementKind.GROUP, it.name, it.switches, it.links) for it in groups]


def _pod_kind(fabric: Fabric, members: Sequence[int]) -> ElementKind:
    above = all(fabric.nodes[node].role is Role.SUPER_SPINE for node in members)
    return ElementKind.PLANE if above else ElementKind.POD


def chosen(every: Sequence[Element], kinds: Iterable[str], only: Sequence[str]) -> list[Element]:
    """Elements of these kinds whose name fits any pattern of `only`; all where it is empty."""
    wanted = set(kinds)
    return [
        it
        for it in every
        if it.kind in wanted and (not only or any(fits_pattern(it.name, pattern) for pattern in only))
    ]


def pairs(every: Sequence[Element], texts: Sequence[str], problems: list[Problem]) -> list[tuple[Element, Element]]:
    """Double failures: each text is 'A,B', names or patterns of two elements; each pair once, in order."""
    found: dict[frozenset[str], tuple[Element, Element]] = {}
    for text in texts:
        parts = text.split(",")
        if len(parts) != 2:
            problems.append(Problem("--double", f"'{text}' does not name two elements", "such as spine1,spine2"))
            continue
        sides = []
        for part in parts:
            # An optic has the name of its cable or port, so a bare name means what is cut, not what degrades.
            side = [it for it in every if fits_pattern(it.name, part.strip()) and it.kind is not ElementKind.OPTIC]
            if not side:
                names = [it.name for it in every if it.kind is not ElementKind.OPTIC]
                problems.append(
                    Problem("--double", f"nothing that can fail is called '{part.strip()}'", nearest(part, names))
                )
            sides.append(side)
        for a in sides[0]:
            for b in sides[1]:
                if a.key != b.key:
                    found.setdefault(frozenset((a.key, b.key)), (a, b))
    return list(found.values())


def _optics(fabric: Fabric, cables: Sequence[Link]) -> list[Element]:
    """One element for each module: the cables of one cage; a module at either end of one cable is the same case."""
    found: dict[tuple[int, ...], Element] = {}
    for link in cables:
        ends = {port: _cage(fabric, port) for port in (link.a, link.b)}
        for port, cage in ends.items():
            node = fabric.node_of(port)
            mates = tuple(fabric.ports[it].link for it in node.ports if cage and _cage(fabric, it) == cage)
            if len(mates) > 1:
                found.setdefault(mates, Element(ElementKind.OPTIC, f"{node.name}:{cage}", (), mates))
        if not any(ends.values()):
            found[link.id,] = Element(ElementKind.OPTIC, link_name(fabric, link), (), (link.id,))
    return list(found.values())


def _cage(fabric: Fabric, port: int) -> str:
    """'Ethernet8' of a breakout port 'Ethernet8/2'; '' of a port with a cage for itself."""
    cage, slash, _ = fabric.ports[port].name.partition("/")
    return cage if slash else ""

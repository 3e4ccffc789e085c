"""Nodes and edges of a file become NodeSpecs and LinkSpecs; every problem is reported.

A node's role comes from its `role`; where no node of the file has one, nodes with a single neighbour are hosts and
all others switches. A link's rate is `rate_bps` (a number) or `rate` (text, '100G'); its length `length_mm` or
`cable`, its delay `delay_ps` or `delay`; absent values come from the defaults. Other attributes are ignored: files
of other tools carry coordinates and colours.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.errors import InputErrors, Problem, UnitError
from fabric.topology.model import LinkSpec, NodeSpec, Role
from fabric.topology.spec import PS_PER_MM, TIER_OF_ROLE
from fabric.units import parse_length_mm, parse_rate_bps, parse_time_ps
from fabric.visible import hidden, spelled

log = logging.getLogger(__name__)

MAX_LABEL: Final = 63
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One node of a file."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    """One edge of a file; `where` is its place."""

    where: str
    a: str
    b: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values of links that a file leaves out."""

    rate_bps: int | None = None
    length_mm: int | None = None
    delay_ps: int | None = None


@dataclass
class _Problems:
    path: str
    found: list[Problem] = field(default_factory=list)

    def add(self, where: str, text: str, hint: str = "") -> None:
        self.found.append(Problem(f"{self.path}: {where}", text, hint))

    def label(self, where: str, name: str, attributes: Mapping[str, Any]) -> str:
        """A text for tables and drawings; '' where there is none."""
        text = str(attributes.get(name) or "")
        character = hidden(text)
        if character:
            self.add(where, f"{name} holds the hidden character {spelled(character)}", "remove it")
        elif len(text) > MAX_LABEL:
            self.add(where, f"{name} has {len(text):,} characters", f"at most {MAX_LABEL} are read")
        return text


def specs_of(
    path: str, nodes: Sequence[NodeRecord], edges: Sequence[EdgeRecord], defaults: Defaults
) -> tuple[list[NodeSpec], list[LinkSpec]]:
    """Read roles, rates and lengths.

    Returns: nodes and links in the file's order. Raises: InputErrors with every problem of the file.
    """
    problems = _Problems(path)
    roles = _roles(nodes, edges, problems)
    specs = []
    for node in nodes:
        if not NAME.fullmatch(node.name):
            problems.add(
                f"node {node.name!r}",
                "is not a name",
                "use letters, digits, '.', '_' and '-', starting with a letter or digit, at most 63",
            )
        role = roles.get(node.name, Role.SWITCH)
        group = problems.label(f"node {node.name}", "group", node.attributes)
        network = "" if role is Role.HOST else problems.label(f"node {node.name}", "network", node.attributes)
        specs.append(NodeSpec(node.name, role, TIER_OF_ROLE[role], group, network))
    links = [_link(edge, defaults, problems) for edge in edges]
    if problems.found:
        raise InputErrors("topology file", problems.found)
    return specs, links


def _roles(nodes: Sequence[NodeRecord], edges: Sequence[EdgeRecord], problems: _Problems) -> dict[str, Role]:
    valid = ", ".join(Role)
    if not any("role" in node.attributes for node in nodes):
        neighbours = defaultdict(set)
        for edge in edges:
            neighbours[edge.a].add(edge.b)
            neighbours[edge.b].add(edge.a)
        log.info("no node has a role: nodes with one neighbour are hosts", extra={"file": problems.path})
        return {node.name: Role.HOST if len(neighbours[node.name]) == 1 else Role.SWITCH for node in nodes}
    roles = {}
    for node in nodes:
        role = node.attributes.get("role")
        if role is None:
            problems.add(f"node {node.name}", "has no role, while other nodes have one", f"give it one of {valid}")
        elif role not in list(Role):
            problems.add(f"node {node.name}", f"role {role!r} is unknown", f"use one of {valid}")
        else:
            roles[node.name] = Role(role)
    return roles


def _link(edge: EdgeRecord, defaults: Defaults, problems: _Problems) -> LinkSpec:
    where = f"{edge.where} {edge.a} - {edge.b}"

    def quantity(plain: str, text: str, parse: Callable[[object], int]) -> int | None:
        """The number of attribute `plain` or the text of attribute `text`; None where there is neither."""
        if plain in edge.attributes and text in edge.attributes:
            problems.add(where, f"{plain} and {text} are both given", "keep one of them")
        if plain in edge.attributes:
            value = edge.attributes[plain]
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
                problems.add(where, f"{plain} is {value!r}", "give a whole number, 0 or more")
                return 0
            return value
        if text in edge.attributes:
            try:
                return parse(edge.attributes[text])
            except UnitError as error:
                problems.add(where, f"{text}: {error.text}", error.hint)
                return 0
        return None

    rate_bps = quantity("rate_bps", "rate", parse_rate_bps)
    length_mm = quantity("length_mm", "cable", parse_length_mm)
    delay_ps = quantity("delay_ps", "delay", parse_time_ps)
    if rate_bps is None:
        rate_bps = defaults.rate_bps
        if rate_bps is None:
            problems.add(where, "has no rate", "give rate ('100G') or rate_bps there, or default_rate in the topology")
    if length_mm is None and delay_ps is None:
        length_mm, delay_ps = defaults.length_mm, defaults.delay_ps
        if length_mm is None and delay_ps is None:
            problems.add(
                where,
                "has neither cable nor delay",
                "give cable ('3m') or delay ('15ns') there, or default_cable in the topology",
            )
    if delay_ps is None:
        delay_ps = (length_mm or 0) * PS_PER_MM
    return LinkSpec(
        edge.a,
        edge.b,
        rate_bps or 0,
        delay_ps,
        length_mm or 0,
        problems.label(where, "a_port", edge.attributes),
        problems.label(where, "b_port", edge.attributes),
    )

"""The result of every fault: dated edits for the engine, and a record of ground truth for detectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fabric.controlplane.network.events import ControlEvent
from fabric.controlplane.network.plan import ControlPlan
from fabric.dataplane.engine.edits import Edit
from fabric.dataplane.state.params import EngineParams
from fabric.errors import Problem
from fabric.topology.model import Fabric, Link
from fabric.topology.select import match_links
from fabric.units import PS_PER_NS


@dataclass(frozen=True)
class FaultContext:
    """Input of an injector beside its spec."""

    fabric: Fabric
    params: EngineParams
    duration_ps: int
    path: str
    """'scenario.yml: ', before the dotted path of each fault."""
    problems: list[Problem]
    plan: ControlPlan | None = None
    """The BGP speakers; None with shortest-path routing."""
    seed: int = 1
    """Seed of the scenario's random streams."""

    def cable_of(self, link: int) -> int | None:
        """Row in the plan of a cable between switches; None for a host's cable, or without BGP."""
        return None if self.plan is None else self.plan.cable_of_link.get(link)

    def links(self, text: str, path: str) -> list[Link]:
        """The named cables; a problem where there are none."""
        return match_links(self.fabric, text, path, self.problems)

    def link_names(self, links: Sequence[Link]) -> list[str]:
        """'leaf1:Ethernet0--spine1:Ethernet8' of each."""
        return [f"{self.fabric.port_name(link.a)}--{self.fabric.port_name(link.b)}" for link in links]

    def lossless(self, node: int) -> int:
        """Bitmap of the classes for which a host's or switch's first port honours PAUSE."""
        return self.params.ports[self.fabric.nodes[node].first_port].flow_control.classes


@dataclass(frozen=True)
class Injected:
    """A fault as edits and truth."""

    edits: Sequence[Edit]
    objects: Mapping[str, Any]
    """Names of the broken links, hosts or ports."""
    start_ps: int
    end_ps: int | None
    """None: it lasts until the end of the run."""
    expect: Sequence[str]
    """Symptoms that an observer should see."""
    control: Sequence[ControlEvent] = ()
    """Events of routers, without changes of link state, which routers notice from the edits."""

    def record(self, name: str, kind: str, duration_ps: int) -> dict[str, Any]:
        """One line of truth.jsonl."""
        end = duration_ps if self.end_ps is None else min(self.end_ps, duration_ps)
        return {
            "name": name,
            "kind": kind,
            "objects": dict(self.objects),
            "start_ns": self.start_ps // PS_PER_NS,
            "end_ns": end // PS_PER_NS,
            "repaired": self.end_ps is not None and self.end_ps <= duration_ps,
            "expect": list(self.expect),
        }


def held_by(fault: str, injected: Injected) -> list[Edit]:
    """Its edits with the key of the fault, so that each of several overlapping faults is released separately."""
    return [replace(edit, fault=fault) for edit in injected.edits]


Inject = Callable[[Any, str, FaultContext], Injected]
"""(spec, path, context) -> Injected; problems go to context.problems."""

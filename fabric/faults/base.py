"""What every fault makes: dated edits for the engine, and a record of the truth for those who must find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fabric.control.events import ControlEvent
from fabric.control.plan import ControlPlan
from fabric.engine.edits import Edit
from fabric.errors import Problem
from fabric.state.params import EngineParams
from fabric.topology.model import Fabric, Link
from fabric.topology.select import match_links
from fabric.units import PS_PER_NS


@dataclass(frozen=True)
class FaultContext:
    """What a fault may look at."""

    fabric: Fabric
    params: EngineParams
    duration_ps: int
    path: str
    """'scenario.yml: ', before the dotted path of each fault."""
    problems: list[Problem]
    plan: ControlPlan | None = None
    """Who speaks BGP; None with shortest-path routing."""
    seed: int = 1
    """Of the scenario's random streams."""

    def cable_of(self, link: int) -> int | None:
        """Row in the plan of a cable between switches; None for a host's, or where nobody speaks BGP."""
        return None if self.plan is None else self.plan.cable_of_link.get(link)

    def links(self, text: str, path: str) -> list[Link]:
        """The named cables; a problem where there are none."""
        return match_links(self.fabric, text, path, self.problems)

    def link_names(self, links: Sequence[Link]) -> list[str]:
        """'leaf1:Ethernet0--spine1:Ethernet8' of each."""
        return [f"{self.fabric.port_name(link.a)}--{self.fabric.port_name(link.b)}" for link in links]

    def lossless(self, node: int) -> int:
        """Bitmap of the classes for which a host's or switch's first port honours PAUSE."""
        return self.params.ports[self.fabric.nodes[node].first_port].pfc_classes


@dataclass(frozen=True)
class Injected:
    """One fault, ready."""

    edits: Sequence[Edit]
    objects: Mapping[str, Any]
    """What is broken: names of links, hosts, ports."""
    start_ps: int
    end_ps: int | None
    """None: it lasts until the end of the run."""
    expect: Sequence[str]
    """What an observer should see."""
    control: Sequence[ControlEvent] = ()
    """What routers notice beside changes of link state, which they notice by themselves."""

    def record(self, name: str, kind: str, duration_ps: int) -> dict[str, Any]:
        """One line of truth.jsonl."""
        end = duration_ps if self.end_ps is None else min(self.end_ps, duration_ps)
        return {"name": name, "kind": kind, "objects": dict(self.objects), "start_ns": self.start_ps // PS_PER_NS,
                "end_ns": end // PS_PER_NS, "repaired": self.end_ps is not None and self.end_ps <= duration_ps,
                "expect": list(self.expect)}


def held_by(fault: str, injected: Injected) -> list[Edit]:
    """Its edits with the fault's key, so that what several faults hold is released by each on its own."""
    return [replace(edit, fault=fault) for edit in injected.edits]


Inject = Callable[[Any, str, FaultContext], Injected]
"""(spec, path, context) -> Injected; problems go to context.problems."""

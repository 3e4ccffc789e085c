"""Dated events of the control plane, counted from `faults:` and the fabric: no event is made.

A host's route that changes goes over every BGP session once. A cable or switch that is lost or comes back changes all
routes of its sessions. The control plane is simulated up to run.duration, because it does not know when the messages
end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabric.faults.control_spec import NEEDS_BGP, EndpointChurnSpec, HostLeaveSpec, MacMoveSpec
from fabric.faults.spec import FaultSpec, LinkDownSpec, LinkFlapSpec
from fabric.faults.spec_base import Lasting
from fabric.scenario.estimate.figures import Share
from fabric.scenario.estimate.traffic import Traffic
from fabric.topology.select import match_hosts, match_links
from fabric.units import PS_PER_S

_OF_SWITCHES = NEEDS_BGP | {"switch-crash", "link-silent"}
"""Kinds of faults that change the routes of a whole switch, beside those of endpoints and cables."""


@dataclass(frozen=True, slots=True)
class ControlEvents:
    """The events of one entry of `faults:`."""

    field: str
    """Dotted path of the field that decides their number."""
    value: float
    """Of that field; 0 where it is no quantity."""
    made: float
    """All events of the fault, which are in memory before the run."""
    in_run: float
    """Of them, those until run.duration."""
    updates: float
    """Changed routes, each counted on every session that carries it."""

    def share(self, amount: float) -> Share:
        """An amount that grows with these events."""
        return Share(self.field, amount, self.value, kind="count" if self.value else "")


def control_events(traffic: Traffic, sessions: float, origins: float) -> tuple[ControlEvents, ...]:
    """Events of all faults that routers notice; none with shortest-path routing.

    Parameters
    ----------
    sessions : number of BGP sessions
    origins : number of routes that a switch learns from all others
    """
    if traffic.scenario.routing != "bgp":
        return ()
    faults = enumerate(traffic.scenario.faults)
    return tuple(it for n, spec in faults for it in _of_fault(traffic, spec, f"faults[{n}]", sessions, origins))


def _of_fault(traffic: Traffic, spec: FaultSpec, path: str, sessions: float, origins: float) -> Iterator[ControlEvents]:
    end_ps = traffic.duration_ps
    if isinstance(spec, EndpointChurnSpec):
        each = spec.per_minute / 60 / PS_PER_S
        made, in_run = each * (spec.until - spec.at), each * max(min(spec.until, end_ps) - spec.at, 0)
        yield ControlEvents(f"{path}.per_minute", spec.per_minute, made, in_run, in_run * sessions)
    elif isinstance(spec, MacMoveSpec):
        turns = max(spec.arps, 1)
        before = sum(spec.at + turn * spec.arp_interval < end_ps for turn in range(turns))
        # Only the first frame moves the host, and a binding is announced once.
        yield ControlEvents(f"{path}.arps", spec.arps, turns, before, 2 * sessions * min(before, 2))
    elif isinstance(spec, HostLeaveSpec):
        hosts = len(match_hosts(traffic.fabric, spec.hosts, "", []))
        made = hosts * len(_moments(spec))
        in_run = hosts * sum(at < end_ps for at in _moments(spec))
        yield ControlEvents(f"{path}.hosts", 0.0, made, in_run, in_run * sessions)
    elif isinstance(spec, LinkFlapSpec):
        period = spec.down + spec.up
        turns = min(spec.count, max(-(-(min(spec.until or end_ps, end_ps) - spec.at) // period), 0))
        yield _of_cables(
            traffic, spec.link, f"{path}.count", spec.count, (2 * spec.count, 2 * turns), sessions, origins
        )
    elif isinstance(spec, LinkDownSpec):
        times = len(_moments(spec)), sum(at < end_ps for at in _moments(spec))
        yield _of_cables(traffic, spec.link, f"{path}.link", 0.0, times, sessions, origins)
    elif spec.kind in _OF_SWITCHES:
        moments = _moments(spec) if isinstance(spec, Lasting) else (spec.at,)
        in_run = sum(at < end_ps for at in moments)
        of_switch = 2 * sessions / max(len(traffic.fabric.switches), 1)
        yield ControlEvents(path, 0.0, len(moments), in_run, in_run * of_switch * origins)


def _of_cables(
    traffic: Traffic, link: str, path: str, value: float, times: tuple[float, float], sessions: float, origins: float
) -> ControlEvents:
    """Events of cables that go down and up. times: (in all, until run.duration) of each cable."""
    fabric = traffic.fabric
    links = match_links(fabric, link, "", [])
    hosts = sum(fabric.node_of(end).is_host for it in links for end in (it.a, it.b))
    made, in_run = times
    changed = (len(links) - hosts) * origins + hosts * sessions
    return ControlEvents(path, value, made * len(links), in_run * len(links), in_run * changed)


def _moments(spec: Lasting) -> tuple[int, ...]:
    """When a fault begins and, where it does, ends."""
    return (spec.at,) if spec.until is None else (spec.at, spec.until)

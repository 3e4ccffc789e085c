"""Memory, disk space and time of a run, part by part: each part is a count times its measured cost (costs.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fabric.scenario.compile.lower import needed, whole_number
from fabric.scenario.compile.recovery import OUT_OF_ORDER, recovery_of
from fabric.scenario.estimate.control_events import ControlEvents, control_events
from fabric.scenario.estimate.costs import CHECKPOINT_S, COMPILE, DISK, HELD_ROWS, MEMORY, TIME, hop_s
from fabric.scenario.estimate.figures import OF_PROCESS, Figure
from fabric.scenario.estimate.traffic import Traffic
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.spec import Shape

Parts = dict[str, tuple[float, ...]]
"""Part (process, topology, control, control events, messages, hops, samples, rows, events) -> (least, likely, most)."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Size of the control plane; zeros with shortest-path routing."""

    sessions: float
    """BGP sessions."""
    routes: float
    """Routes that all speakers hold."""
    events: tuple[ControlEvents, ...] = ()
    """Of `faults:`, before and while the run lasts."""

    @property
    def updates(self) -> float:
        """Routes that events change, counted on every session."""
        return sum(it.updates for it in self.events)


def fabric_memory(scenario: Scenario, shape: Shape) -> float:
    """Bytes of memory that a fabric takes while it is simulated, without traffic."""
    tables = (
        1
        + (scenario.vxlan is not None)
        + (0 if scenario.vxlan is None else any(it.l3_vni is not None for it in scenario.vxlan.tenants))
    )
    return (
        MEMORY.process
        + MEMORY.port * 2 * shape.cables
        + MEMORY.route * tables * shape.switches * shape.hosts
        + MEMORY.path * (shape.hosts + shape.switches) * shape.classes
        + 8.0 * shape.switches**2
    )


def fabric_compiled(shape: Shape) -> float:
    """Bytes of memory that compiling a fabric takes: names, settings, shortest paths."""
    return (
        COMPILE.process
        + COMPILE.port * 2 * shape.cables
        + MEMORY.path * (shape.hosts + shape.switches) * shape.classes
        + 8.0 * shape.switches**2
    )


def control_plane(traffic: Traffic) -> ControlPlane:
    """BGP sessions and held routes of a scenario."""
    scenario, fabric, shape = traffic.scenario, traffic.fabric, traffic.shape
    if scenario.routing != "bgp":
        return ControlPlane(0.0, 0.0)
    switches = {node.id for node in fabric.switches}
    sessions = sum(
        fabric.ports[link.a].node in switches and fabric.ports[link.b].node in switches for link in fabric.links
    )
    origins = shape.switches + shape.hosts * (2 if scenario.vxlan is not None else 0) + shape.classes
    events = control_events(traffic, float(sessions), float(origins))
    return ControlPlane(float(sessions), float(sessions * origins), events)


def memory(traffic: Traffic, figures: Mapping[str, Figure], control: ControlPlane) -> Parts:
    """Bytes of memory while the run is simulated."""
    fabric = fabric_memory(traffic.scenario, traffic.shape)
    rows, events = figures["series rows"], figures["event rows"]
    return {
        "process": (MEMORY.process,) * 3,
        "topology": (fabric - MEMORY.process,) * 3,
        "control": (control.routes * MEMORY.held_route + control.sessions * MEMORY.session,) * 3,
        "control events": _events_memory(control),
        "messages": (
            traffic.message_rows * MEMORY.message
            + traffic.transfers * MEMORY.transfer
            + traffic.needs * MEMORY.need
            + traffic.queue_pairs * MEMORY.queue_pair
            + traffic.dependencies * MEMORY.dependency
            + _receive_bitmaps(traffic)
            + MEMORY.datagram_port * traffic.ports * bool(traffic.streams),
        )
        * 3,
        "rows": tuple(MEMORY.row * min(it, HELD_ROWS) for it in (rows.least, rows.likely, rows.most)),
        "events": tuple(MEMORY.event * min(it, HELD_ROWS) for it in (events.least, events.likely, events.most)),
    }


def compiled(traffic: Traffic, control: Parts) -> Parts:
    """Bytes of memory before the first event; `control`: the parts of memory()."""
    messages = COMPILE.message * traffic.message_rows + MEMORY.dependency * traffic.dependencies
    messages += COMPILE.transfer * traffic.transfers + COMPILE.need * traffic.needs
    return {
        "process": (COMPILE.process,) * 3,
        "topology": (fabric_compiled(traffic.shape) - COMPILE.process,) * 3,
        "control": control["control"],
        "control events": control["control events"],
        "messages": (messages,) * 3,
    }


def _events_memory(control: ControlPlane) -> tuple[float, ...]:
    """At least the events; likely the changes of routes that are recorded as well."""
    least = MEMORY.control_event * sum(it.made for it in control.events)
    likely = least + MEMORY.update * control.updates
    return least, likely, 2 * likely


def _receive_bitmaps(traffic: Traffic) -> float:
    """Bytes of the bitmaps of selective repeat and of out-of-order placement (dataplane/state/build.py)."""
    if traffic.scenario.model == "hpcc-ns3":
        return 0.0
    recovery, pairs = recovery_of(traffic.scenario), traffic.queue_pairs
    sent = traffic.packets / max(pairs, 1)
    if recovery == "selective" and traffic.transport.window not in {None, "auto", "off"}:
        return 2 * pairs * min(sent, whole_number(traffic.transport.window) / traffic.payload_bytes)
    if recovery == OUT_OF_ORDER:
        return 13 * pairs * min(sent, needed(traffic.transport.receive_bitmap))
    return 0.0


def disk(traffic: Traffic, figures: Mapping[str, Figure]) -> Parts:
    """Bytes of the results."""
    rows, events = figures["series rows"], figures["event rows"]
    return {
        "process": (DISK.run,) * 3,
        "topology": (DISK.port * traffic.ports,) * 3,
        "messages": (
            DISK.message * (traffic.message_rows + traffic.recorded_messages)
            + DISK.transfer * traffic.transfers
            + DISK.queue_pair * traffic.queue_pairs,
        )
        * 3,
        "rows": tuple(DISK.row * it for it in (rows.least, rows.likely, rows.most)),
        "events": tuple(DISK.event * it for it in (events.least, events.likely, events.most)),
    }


def disk_while_running(traffic: Traffic, figures: Mapping[str, Figure], results: Parts, time_s: float) -> Parts:
    """Bytes on disk while the run lasts: results, parts of the series, and checkpoints.

    Parameters
    ----------
    results : the parts of disk()
    time_s : likely time of the run, which decides whether checkpoints are written
    """
    rows, events = figures["series rows"], figures["event rows"]
    saved = 2.0 * (time_s > CHECKPOINT_S)  # the next is written before the last is removed
    return {
        **results,
        "topology": tuple(it + saved * DISK.checkpoint_port * traffic.ports for it in results["topology"]),
        "messages": tuple(it + saved * DISK.checkpoint_pair * traffic.queue_pairs for it in results["messages"]),
        "rows": tuple(
            it + DISK.part_row * count
            for it, count in zip(results["rows"], (rows.least, rows.likely, rows.most), strict=True)
        ),
        "events": tuple(
            it + DISK.part_event * count
            for it, count in zip(results["events"], (events.least, events.likely, events.most), strict=True)
        ),
    }


def time(traffic: Traffic, figures: Mapping[str, Figure], control: ControlPlane) -> Parts:
    """CPU seconds on one thread."""
    each = TIME.sample + TIME.sample_port * traffic.ports + TIME.sample_pair * traffic.queue_pairs

    def three(unit: float, figure: Figure) -> tuple[float, ...]:
        return unit * figure.least, unit * figure.likely, unit * figure.most

    return {
        OF_PROCESS: (TIME.start,) * 3,
        "topology": (TIME.port * traffic.ports,) * 3,
        "control": (control.routes * TIME.held_route + control.sessions * TIME.session,) * 3,
        "control events": (control.updates * TIME.update,) * 3,
        "messages": (
            TIME.message * traffic.message_rows
            + TIME.dependency * traffic.dependencies
            + TIME.transfer * traffic.transfers
            + TIME.need * traffic.needs,
        )
        * 3,
        "hops": three(hop_s(traffic.ports), figures["packet-hops"]),
        "samples": three(each, figures["samples"]),
        "rows": three(TIME.row, figures["series rows"]),
        "events": three(TIME.event, figures["event rows"]),
    }

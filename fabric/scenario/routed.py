"""What `routing: bgp` adds to a run: the control plane is played first, and its forwarding becomes dated edits.

decisions/0009 says why it is played before the data plane. Links that faults take down are told to the routers; the
static routes of `route` faults lie over what BGP finds (engine/static_routes.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from fabric.control import events as e
from fabric.control.config import ControlConfig
from fabric.control.forwarding import Ports
from fabric.control.plan import ControlPlan
from fabric.control.rows import RowChange, Rows, flood_rows, known_rows, unknown_rows
from fabric.control.run import ControlRun, ControlScript
from fabric.engine.edits import (
    ArpKnown,
    CarrierNoticed,
    Edit,
    FibRoute,
    FloodList,
    LinkState,
    StaticRoute,
    UnknownMac,
)
from fabric.engine.holds import in_force
from fabric.faults.registry import Faults
from fabric.ids import NodeId, PortId
from fabric.state.params import EngineParams, SegmentParams
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
from fabric.units import PS_PER_NS

_Row = tuple[int, int]
"""(row of a switch, row of a host)."""
_BOOTS_FIRST: Final = {e.RouterCrash: 0, e.RouterBoot: 0}


def control_script(plan: ControlPlan, config: ControlConfig, faults: Faults, fabric: Fabric,
                   params: EngineParams) -> ControlScript:
    """What there is to play: converge, then live through the scenario's faults, and hear silent hosts."""
    cables = list(_link_events(plan, fabric, in_force(faults.edits, fabric, params)))
    events = [*(_after_cuts(event, cables) for event in faults.control), *cables, *_first_answers(plan, params)]
    events.sort(key=lambda event: (event.time_ns, _BOOTS_FIRST.get(type(event), 1)))
    return ControlScript(plan, config, tuple(events), params.seed)


def _after_cuts(event: e.ControlEvent, cables: Sequence[e.ControlEvent]) -> e.ControlEvent:
    """A switch that starts finds cables that another fault has cut."""
    if not isinstance(event, e.RouterBoot):
        return event
    lit = {it.cable: isinstance(it, e.CableUp) for it in cables
           if isinstance(it, e.CableUp | e.CableDown) and it.time_ns <= event.time_ns}
    return replace(event, dark=frozenset(cable for cable, up in lit.items() if not up))


def _first_answers(plan: ControlPlan, params: EngineParams) -> Iterator[e.ControlEvent]:
    """Silent hosts are heard when the first message to or from them begins, or the first ARP request: with a frame that
    is no gratuitous ARP, from which FRR on Linux learns a MAC address and no IP address.
    """
    silent = {it.node: it for it in plan.endpoints if it.silent}
    if not silent:
        return
    spoken: dict[int, int] = {}
    asks = () if params.vxlan is None else params.vxlan.asks
    talk = [(time_ps, host) for time_ps, *hosts in asks for host in hosts if host in silent]
    messages = params.messages
    talk += [(start_ps, host) for start_ps, *hosts in zip(messages.start_ps.tolist(), messages.src.tolist(),
                                                          messages.dst.tolist(), strict=True)
             for host in hosts if host in silent]
    for time_ps, host in talk:
        spoken[host] = min(time_ps, spoken.get(host, time_ps))
    for host, time_ps in sorted(spoken.items(), key=lambda it: (it[1], it[0])):
        it = silent[host]
        row, port, data_port = it.attachments[0]
        yield e.HostSeen(time_ps // PS_PER_NS, it.mac, it.ip, it.vni, row, port, arp=False, data_port=data_port)


def _link_events(plan: ControlPlan, fabric: Fabric, edits: Sequence[Edit]) -> Iterator[e.ControlEvent]:
    row_of = {router.node: router.row for router in plan.routers}
    for edit in edits:
        if not isinstance(edit, LinkState):
            continue
        time_ns = edit.time_ps // PS_PER_NS
        cable = plan.cable_of_link.get(edit.link)
        if cable is not None:
            yield e.CableUp(time_ns, cable) if edit.up else e.CableDown(time_ns, cable)
            continue
        link = fabric.links[edit.link]
        for port in (link.a, link.b):
            router = row_of.get(fabric.ports[port].node)
            if router is not None:
                yield (e.HostPortUp if edit.up else e.HostPortDown)(time_ns, router, port)


def routed_edits(run: ControlRun, built: EcmpTable, edits: Sequence[Edit], overlay: Iterable[Edit] = (),
                 noticed: Iterable[Edit] = ()) -> tuple[Edit, ...]:
    """`edits` of the faults, with every route of the control plane at its date.

    Parameters
    ----------
    built : EcmpTable    what the engine starts with: only rows that differ from it are written at time 0
    overlay              overlay_edits, where there is one
    noticed              carrier_noticed
    """
    local: dict[_Row, Ports] = {key: tuple(map(int, ports)) for key, ports in built.delivery.items()}
    rows = Rows(run, local)
    first: dict[_Row, Ports] = rows.at_start()
    start = [RowChange(0, switch, host, ports) for (switch, host), ports in first.items()
             if ports != tuple(int(port) for port in built.ports_to(switch, host))]
    dated = [*start, *rows.changes()]
    found: list[Edit] = [*edits, *overlay, *map(_edit, dated), *noticed]
    found.sort(key=lambda edit: edit.time_ps)       # stable: at one moment links change before routes do
    return tuple(found)


def overlay_edits(run: ControlRun, fabric: Fabric, segments: Sequence[SegmentParams]) -> Iterator[Edit]:
    """Flood lists, and what leaves can answer ARP for, where the control plane parts from what the engine begins with.

    The engine begins with everything known, and with flood lists of all leaves that have hosts of the segment; a bond's
    second leaf has none of its own and is no member there.
    """
    column_of = {segment.vni: column for column, segment in enumerate(segments)}
    members = {segment.vni: {fabric.peer_of(fabric.nodes[host].first_port).id for host in segment.hosts}
               for segment in segments}
    for flood in flood_rows(run):
        mine = members[flood.vni]
        vteps = tuple(NodeId(vtep) for vtep in flood.vteps if vtep in mine)
        if flood.switch in mine and (flood.time_ns or set(vteps) != mine - {NodeId(flood.switch)}):
            yield FloodList(flood.time_ns * PS_PER_NS, NodeId(flood.switch), column_of[flood.vni], vteps)
    for row in unknown_rows(run):
        if row.time_ns or not row.known:
            yield UnknownMac(row.time_ns * PS_PER_NS, NodeId(row.switch), NodeId(row.host), unknown=not row.known)
    at_start = set()
    for row in known_rows(run):
        if row.time_ns == 0 and row.known:
            at_start.add((row.switch, row.host))
        else:
            yield ArpKnown(row.time_ns * PS_PER_NS, NodeId(row.switch), NodeId(row.host), row.known)
    for segment in segments:
        for leaf in sorted(members[segment.vni]):
            yield from (ArpKnown(0, leaf, NodeId(host), known=False) for host in segment.hosts
                        if (leaf, host) not in at_start)


def _edit(change: RowChange) -> FibRoute:
    return FibRoute(change.time_ns * PS_PER_NS, NodeId(change.switch), NodeId(change.host),
                    tuple(PortId(port) for port in change.ports))


def carrier_noticed(edits: Sequence[Edit], fabric: Fabric, params: EngineParams,
                    prune_delay_ps: int) -> Iterator[CarrierNoticed]:
    """When switches take the ports of static routes out of use, and back in: as they do with BGP's (set_light)."""
    ports = {port for edit in edits if isinstance(edit, StaticRoute) for port in edit.ports}
    up: dict[PortId, list[tuple[int, bool]]] = defaultdict(list)
    for edit in in_force(edits, fabric, params) if ports else ():
        if isinstance(edit, LinkState):
            for port in {fabric.links[edit.link].a, fabric.links[edit.link].b} & ports:
                up[port].append((edit.time_ps, edit.up))
    for port, states in sorted(up.items()):
        moments = sorted({time_ps + (0 if lit else prune_delay_ps) for time_ps, lit in states})
        for moment in moments:
            lit = [state for time_ps, state in states if time_ps <= moment][-1]
            yield CarrierNoticed(moment, port, lit)

"""`routing: bgp`: the control plane is simulated first, and its forwarding becomes dated edits of the run.

decisions/0009 has the reasons for this order. Routers get the events of links that faults take down; the static routes
of `route` faults take precedence over those of BGP (dataplane/engine/static_routes.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig
from fabric.controlplane.network.forwarding import Ports
from fabric.controlplane.network.plan import ControlPlan
from fabric.controlplane.network.rows import RowChange, Rows, flood_rows, known_rows, unknown_rows
from fabric.controlplane.network.run import ControlRun, ControlScript
from fabric.dataplane.engine.edits import (
    ArpKnown,
    CarrierNoticed,
    Edit,
    FibRoute,
    FloodList,
    LinkState,
    StaticRoute,
    UnknownMac,
)
from fabric.dataplane.engine.holds import in_force
from fabric.dataplane.state.params import EngineParams, SegmentParams
from fabric.faults.registry import Faults
from fabric.ids import NodeId, PortId
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
from fabric.units import PS_PER_NS

_Row = tuple[int, int]
"""(row of a switch, row of a host)."""
_BOOTS_FIRST: Final = {e.RouterCrash: 0, e.RouterBoot: 0}


def control_script(
    plan: ControlPlan, config: ControlConfig, faults: Faults, fabric: Fabric, params: EngineParams
) -> ControlScript:
    """The input of the control plane: its plan, the events of the scenario's faults, and the first frames of silent
    hosts.
    """
    cables = list(_link_events(plan, fabric, in_force(faults.edits, fabric, params)))
    events = [*(_after_cuts(event, cables) for event in faults.control), *cables, *_first_answers(plan, params)]
    events.sort(key=lambda event: (event.time_ns, _BOOTS_FIRST.get(type(event), 1)))
    return ControlScript(plan, config, tuple(events), params.seed)


def _after_cuts(event: e.ControlEvent, cables: Sequence[e.ControlEvent]) -> e.ControlEvent:
    """Add the cables that another fault has cut to the start of a switch."""
    if not isinstance(event, e.RouterBoot):
        return event
    carrier = {
        it.cable: isinstance(it, e.CableUp)
        for it in cables
        if isinstance(it, e.CableUp | e.CableDown) and it.time_ns <= event.time_ns
    }
    return replace(event, down_cables=frozenset(cable for cable, up in carrier.items() if not up))


def _first_answers(plan: ControlPlan, params: EngineParams) -> Iterator[e.ControlEvent]:
    """Leaves learn a silent host at the first message or ARP request to or from it. Its frame is not a gratuitous ARP,
    so FRR on Linux learns a MAC address from it and no IP address.
    """
    silent = {it.node: it for it in plan.endpoints if it.silent}
    if not silent:
        return
    spoken: dict[int, int] = {}
    asks = () if params.vxlan is None else params.vxlan.asks
    talk = [(time_ps, host) for time_ps, *hosts in asks for host in hosts if host in silent]
    for table in (params.messages, params.transfers.rows):
        starts = zip(table.start_ps.tolist(), table.src.tolist(), table.dst.tolist(), strict=True)
        talk += [(start_ps, host) for start_ps, *hosts in starts for host in hosts if host in silent]
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


def routed_edits(
    run: ControlRun, built: EcmpTable, edits: Sequence[Edit], overlay: Iterable[Edit] = (), noticed: Iterable[Edit] = ()
) -> tuple[Edit, ...]:
    """`edits` of the faults, and every route of the control plane at its date.

    Parameters
    ----------
    built : EcmpTable    the routes with which the engine starts: only rows that differ are written at time 0
    overlay              overlay_edits, where there is one
    noticed              carrier_noticed
    """
    local: dict[_Row, Ports] = {key: tuple(map(int, ports)) for key, ports in built.delivery.items()}
    rows = Rows(run, local)
    first: dict[_Row, Ports] = rows.at_start()
    start = [
        RowChange(0, switch, host, ports)
        for (switch, host), ports in first.items()
        if ports != tuple(int(port) for port in built.ports_to(switch, host))
    ]
    dated = [*start, *rows.changes()]
    found: list[Edit] = [*edits, *overlay, *map(_edit, dated), *noticed]
    found.sort(key=lambda edit: edit.time_ps)  # stable: links change before routes of the same time
    return tuple(found)


def overlay_edits(run: ControlRun, fabric: Fabric, segments: Sequence[SegmentParams]) -> Iterator[Edit]:
    """Changes of flood lists and of the hosts that leaves answer ARP for, against the state in which the engine starts.

    The engine starts with all hosts known, and with flood lists of all leaves that have hosts of the segment; the
    second leaf of a bond has no host there and is not a member.
    """
    column_of = {segment.vni: column for column, segment in enumerate(segments)}
    members = {
        segment.vni: {fabric.peer_of(fabric.nodes[host].first_port).id for host in segment.hosts}
        for segment in segments
    }
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
            yield from (
                ArpKnown(0, leaf, NodeId(host), known=False) for host in segment.hosts if (leaf, host) not in at_start
            )


def _edit(change: RowChange) -> FibRoute:
    return FibRoute(
        change.time_ns * PS_PER_NS,
        NodeId(change.switch),
        NodeId(change.host),
        tuple(PortId(port) for port in change.ports),
    )


def carrier_noticed(
    edits: Sequence[Edit], fabric: Fabric, params: EngineParams, prune_delay_ps: int
) -> Iterator[CarrierNoticed]:
    """The times at which switches remove the ports of static routes from use and restore them, as for BGP
    (set_light).
    """
    ports = {port for edit in edits if isinstance(edit, StaticRoute) for port in edit.ports}
    changes: dict[PortId, list[tuple[int, bool]]] = defaultdict(list)
    for edit in in_force(edits, fabric, params) if ports else ():
        if isinstance(edit, LinkState):
            for port in {fabric.links[edit.link].a, fabric.links[edit.link].b} & ports:
                changes[port].append((edit.time_ps, edit.up))
    for port, states in sorted(changes.items()):
        moments = sorted({time_ps + (0 if up else prune_delay_ps) for time_ps, up in states})
        for moment in moments:
            up = [state for time_ps, state in states if time_ps <= moment][-1]
            yield CarrierNoticed(moment, port, up)

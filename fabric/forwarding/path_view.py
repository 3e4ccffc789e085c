"""`fabric path SRC DST`: all equal-cost paths, the path of a flow, and the hash of every switch that chose it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.dataplane.engine.follow import End
from fabric.dataplane.state.codes import LoadBalance
from fabric.dataplane.state.schedule import pair_bytes
from fabric.forwarding.flowpath import (
    ENTROPY_PORTS,
    Choice,
    Decision,
    FlowPath,
    LinkRates,
    Path,
    all_paths,
    flow_path,
    many_flows,
    one_flow,
)
from fabric.forwarding.polarisation import Dependence, dependences, relation, remedy
from fabric.forwarding.tables import Forwarding
from fabric.forwarding.walk import walk
from fabric.render.document import Column, Document, Prose, Section, Status, Table, Unit, Value
from fabric.topology.addressing import ipv4_text
from fabric.topology.model import Fabric, Node
from fabric.units import PS_PER_NS, format_rate_bps, format_time_ps

_BY_QUEUES: Final = frozenset({LoadBalance.ADAPTIVE, LoadBalance.FLOWLET})
_RULES: Final = {
    LoadBalance.SPRAY: "each packet to the next port in turn",
    LoadBalance.ADAPTIVE: "each packet to the port whose queues drain first",
    LoadBalance.FLOWLET: "a flow, after each gap, to the port whose queues drain first",
}
_SHOWN: Final = 8
_ENDS: Final = {End.ARRIVED: "", End.NO_ROUTE: "no route", End.LOOP: "loop", End.SPREAD: "spread over the members"}


@dataclass(frozen=True, slots=True)
class FlowQuery:
    """The flow in question."""

    src: Node
    dst: Node
    src_port: int
    dst_port: int
    nic: int
    """PortId at the source."""
    note: str
    """Where the ports come from, in a sentence."""
    qp: int = 0
    """Number of its queue pair, from 0: where a switch hashes the destination QP."""
    queue_pairs: tuple[int, ...] = ()
    """Those of the scenario between the two hosts: rows of EngineParams.queue_pairs."""


def explain_path(
    at: Forwarding,
    rates: LinkRates,
    query: FlowQuery,
    title: str,
    *,
    ports: bool = False,
    notes: tuple[Prose, ...] = (),
) -> Document:
    """The whole document. It is exact: nothing is random and no packet is simulated.

    ports: name every egress port in the table of paths, not only the devices. notes: paragraphs to add.
    """
    paths, whole = all_paths(at, rates, query.src, query.dst)
    taken = flow_path(
        at, rates, one_flow(at, query.src, query.dst, query.src_port, query.dst_port, query.nic, query.qp)
    )
    flows = many_flows(at, query.src, query.dst, ENTROPY_PORTS, query.dst_port, query.nic)
    steps = walk(at.tables, flows)
    shares = Counter(tuple(port for port in row if port >= 0) for row in steps.egress.tolist())
    stuck = [it for it in dependences(at, flows, steps) if it.polarised]
    status, verdict = _verdict(at, query.dst.id, paths, taken, whole=whole)
    words = _polarised(at, stuck, taken)
    if words and status is Status.GOOD:
        status = Status.WARNING
    return Document(
        f"{query.src.name} → {query.dst.name}",
        title,
        status,
        verdict,
        (*notes, Prose(_flow_text(at, query, taken)), *words, *_spreading(at, query.dst.id, taken.path)),
        (
            Section("paths", "Paths", (_path_table(at, paths, taken, shares, ports=ports),)),
            Section("choice", "How the path was chosen", (_choice_table(at, taken),)),
            *(
                [
                    Section(
                        "queue_pairs",
                        "The scenario's queue pairs between the two",
                        (_pair_table(at, query, paths, ports=ports),),
                    )
                ]
                if len(query.queue_pairs) > 1
                else []
            ),
        ),
    )


def _spreading(at: Forwarding, dst: int, path: Path) -> tuple[Prose, ...]:
    """How the switch that spreads packets chooses, and about which queues behind its neighbours it receives notices."""
    if path.end is not End.SPREAD:
        return ()
    last, switches = at.fabric.peer_of(path.ports[-1]), at.params.switches
    rule = switches[last.id].load_balance
    text = f"{last.name} sends {_RULES[rule]}."
    announced = []
    for port in at.next_ports(last.id, dst) if rule in _BY_QUEUES else ():
        peer = at.fabric.peer_of(port)
        if not peer.is_host and switches[peer.id].notice_bytes:
            behind = [it for it in at.next_ports(peer.id, dst) if not at.fabric.peer_of(it).is_host]
            announced += [f"{at.fabric.port_name(it)} ({switches[peer.id].notice_bytes:,} bytes)" for it in behind]
    if announced:
        shown = ", ".join(announced[:_SHOWN])
        if len(announced) > _SHOWN:
            shown += f" and {len(announced) - _SHOWN} more"
        text += f" It receives notices when so many bytes wait behind its neighbours: {shown}."
    return (Prose(text),)


def no_path_between_tenants(query: FlowQuery, src_tenant: str, dst_tenant: str, title: str) -> Document:
    """The document for hosts of two tenants, which must have no path."""
    return Document(
        f"{query.src.name} → {query.dst.name}",
        title,
        Status.NEUTRAL,
        f"No path: {query.src.name} is in {src_tenant}, {query.dst.name} in {dst_tenant}.",
        (Prose("No leaf takes the routes of another tenant; `fabric evpn check-isolation` proves it."),),
        (),
    )


def path_text(fabric: Fabric, ports: tuple[int, ...]) -> str:
    """'host1:eth0 → leaf1:Ethernet16 → ... → host9'."""
    names = [fabric.port_name(port) for port in ports]
    return " → ".join([*names, fabric.peer_of(ports[-1]).name])


def devices_text(fabric: Fabric, ports: tuple[int, ...]) -> str:
    """'host1 → leaf1 → spine2 → ... → host9', with the port where several cables lead to the same device."""
    names = []
    for port in ports:
        node, peer = fabric.node_of(port), fabric.peer_of(port)
        parallel = sum(other.id == peer.id for _, other in fabric.neighbours(node.id)) > 1
        names.append(fabric.port_name(port) if parallel else node.name)
    return " → ".join([*names, fabric.peer_of(ports[-1]).name])


def _flow_text(at: Forwarding, query: FlowQuery, taken: FlowPath) -> str:
    ip = at.tables.host_ip
    text = (
        f"UDP {ipv4_text(int(ip[query.src.id]))}:{query.src_port} → "
        f"{ipv4_text(int(ip[query.dst.id]))}:{query.dst_port} by {at.fabric.port_name(query.nic)}; {query.note}"
    )
    if taken.entropy_port is not None:
        text += (
            f"; between VTEPs in VXLAN with UDP source port {taken.entropy_port}, "
            "a hash of the inner header (RFC 7348 section 5)"
        )
    return text


def _verdict(at: Forwarding, dst: int, paths: list[Path], taken: FlowPath, *, whole: bool) -> tuple[Status, str]:
    path, fabric = taken.path, at.fabric
    where = path_text(fabric, path.ports)
    count = f"{len(paths)}" if whole else f"at least {len(paths)}"
    if path.dead is not None:
        return Status.BAD, (
            f"Lost at {fabric.port_name(path.dead)}: its {at.loss(path.dead)} and the route still "
            f"leads there ({where})."
        )
    match path.end:
        case End.NO_ROUTE:
            end = fabric.peer_of(path.ports[-1])
            if (end.id, dst) in at.unknown:
                return Status.NEUTRAL, (
                    f"Flooded at {end.name}, which does not know the MAC of {fabric.nodes[dst].name}: a copy to every "
                    f"port and every VTEP of the VNI, until the host answers ({where})."
                )
            return Status.BAD, f"Lost at {end.name}: it has no route ({where})."
        case End.LOOP:
            return Status.BAD, f"Never arrives: the packet loops until its TTL expires ({where})."
        case End.SPREAD:
            last = fabric.peer_of(path.ports[-1]).name
            return Status.NEUTRAL, f"No one path: {last} spreads packets over its members; {count} paths in all."
    place = next((str(number) for number, it in enumerate(paths, 1) if it.ports == path.ports), "?")
    return Status.GOOD, (
        f"Takes path {place} of {count}: {where}; {path.hops} hops, {format_rate_bps(path.rate_bps)}, "
        f"{format_time_ps(path.delay_ps)} of propagation."
    )


def _path_table(
    at: Forwarding, paths: list[Path], taken: FlowPath, shares: Counter[tuple[int, ...]], *, ports: bool
) -> Table:
    fabric = at.fabric
    columns = (
        Column("number", "#", Unit.COUNT),
        Column("taken", "Taken"),
        Column("path", "Path"),
        Column("hops", "Hops", Unit.COUNT),
        Column("rate_bps", "Rate", Unit.BPS),
        Column("delay_ns", "Propagation", Unit.NS),
        Column("source_ports", "Source ports", Unit.COUNT),
        Column("state", "State"),
    )
    rows: list[tuple[Value, ...]] = []
    statuses = []
    spread = taken.path.end is End.SPREAD
    numbered = enumerate(paths, 1)
    for number, path in sorted(numbered, key=lambda it: (it[1].ports != taken.path.ports, -shares[it[1].ports])):
        mine = path.ports == taken.path.ports
        where = path_text(fabric, path.ports) if ports else devices_text(fabric, path.ports)
        state = _ENDS[path.end] if path.dead is None else f"{fabric.port_name(path.dead)}: {at.loss(path.dead)}"
        share = None if spread else shares[path.ports]
        rows.append((number, mine, where, path.hops, path.rate_bps, path.delay_ps / PS_PER_NS, share, state or "up"))
        statuses.append(Status.BAD if state else Status.GOOD if mine else Status.NEUTRAL)
    used = sum(shares[path.ports] > 0 for path in paths)
    return Table(
        "paths",
        "",
        columns,
        tuple(rows),
        "Packets of one flow take all of them."
        if spread
        else f"Source ports: of the {len(ENTROPY_PORTS):,} that RoCEv2 uses, the number that takes this path by "
        f"the same NIC port; they reach {used} of the {len(paths)} paths.",
        tuple(statuses),
    )


def _pair_table(at: Forwarding, query: FlowQuery, paths: list[Path], *, ports: bool) -> Table:
    """Path and bytes of every queue pair."""
    rows = np.array(query.queue_pairs, np.int64)
    pairs, size_bytes = at.params.queue_pairs, pair_bytes(at.params)
    number = {path.ports: place for place, path in enumerate(paths, 1)}
    steps = walk(
        at.tables,
        at.flows(
            pairs.src[rows], pairs.dst[rows], pairs.src_udp_port[rows], pairs.dst_udp_port[rows], pairs.port[rows], rows
        ),
    )
    found: list[tuple[Value, ...]] = []
    for row, egress in zip(rows.tolist(), steps.egress.tolist(), strict=True):
        taken = tuple(port for port in egress if port >= 0)
        found.append(
            (
                str(row),
                str(int(pairs.src_udp_port[row])),
                number.get(taken),
                (path_text if ports else devices_text)(at.fabric, taken),
                int(size_bytes[row]),
            )
        )
    used = len({row[2] for row in found})
    return Table(
        "queue_pairs",
        "",
        (
            Column("qp", "Queue pair"),
            Column("src_port", "Source port"),
            Column("path_number", "Path #", Unit.COUNT),
            Column("path", "Path"),
            Column("bytes", "Bytes", Unit.BYTES),
        ),
        tuple(found),
        f"{len(found)} queue pairs on {used} of {len(paths)} paths.",
    )


def _choice_table(at: Forwarding, taken: FlowPath) -> Table:
    columns = (
        Column("switch", "Switch"),
        Column("header", "Header"),
        Column("hashed", "Fields hashed"),
        Column("algorithm", "Hash"),
        Column("seed", "Seed", Unit.TEXT),
        Column("hash", "Value"),
        Column("members", "Members", Unit.COUNT),
        Column("member", "Member", Unit.COUNT),
        Column("egress", "Leaves by"),
    )
    # A leaf chooses a VTEP first, then the next hop towards it.
    ordered = [
        *(((it.hop, 0), _vtep_choice(at, it)) for it in taken.choices),
        *(((hop, 1), _choice(at.fabric, it)) for hop, it in enumerate(taken.decisions)),
    ]
    return Table(
        "decisions",
        "",
        columns,
        tuple(row for _, row in sorted(ordered, key=lambda pair: pair[0])),
        "The member is the hash modulo the number of members, counted from 0; with one member nothing is hashed. "
        "With load_balancing: weighted its remainder by the sum of the links' Gb/s falls on a member's share.",
    )


def _vtep_choice(at: Forwarding, it: Choice) -> tuple[Value, ...]:
    chosen = it.vteps[it.index]
    address = ipv4_text(int(at.tables.switch_ip[chosen - at.tables.n_hosts]))
    return (
        at.fabric.nodes[it.switch].name,
        "inner",
        it.header.text(),
        "crc32",
        "0",
        f"0x{it.hashed:08x}",
        len(it.vteps),
        it.index,
        f"VTEP {address} ({at.fabric.nodes[chosen].name})",
    )


def _choice(fabric: Fabric, it: Decision) -> tuple[Value, ...]:
    egress = fabric.port_name(it.members[it.index]) if it.members else "-"
    name = fabric.nodes[it.switch].name
    if it.hashed is None:
        return name, "-", "-", "-", "-", "-", len(it.members), 0, egress
    return (
        name,
        "outer (VXLAN)" if it.header.outer else "inner",
        it.header.text(it.fields, it.qp),
        it.algorithm.name.lower(),
        str(it.seed),
        f"0x{it.hashed:08x}",
        len(it.members),
        it.index,
        egress,
    )


def _polarised(at: Forwarding, stuck: list[Dependence], taken: FlowPath) -> tuple[Prose, ...]:
    """Polarised pairs of switches on the path, in words."""
    chosen = {it.switch: it for it in taken.decisions if it.hashed is not None}
    found = []
    for it in stuck:
        first, second = chosen.get(it.first), chosen.get(it.second)
        if first is None or second is None or first.index != it.first_index:
            continue
        found.append(Prose(polarised_text(at, it), Status.WARNING))
    return tuple(found)


def polarised_text(at: Forwarding, it: Dependence) -> str:
    """Cause, effect and remedy of one polarised pair of switches, in words."""
    first, second = at.fabric.nodes[it.first].name, at.fabric.nodes[it.second].name
    return (
        f"Polarised: {second} has {len(it.flows)} members; the flows that {first} sends it by member "
        f"{it.first_index} of {len(it.first_members)} reach {it.reached} of them for any source port; "
        f"{relation(at, it.first, it.second)}. Remedy: {remedy(at, it.first, it.second)}."
    )

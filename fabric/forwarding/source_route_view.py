"""`fabric path SRC DST` where NICs choose paths: every source route with its segments, and who uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fabric.dataplane.engine.follow import End
from fabric.dataplane.state.codes import RouteChoice
from fabric.dataplane.state.fill_routes import first_turns
from fabric.forwarding.flowpath import LinkRates, Path, make_path
from fabric.forwarding.path_view import FlowQuery, devices_text, path_text
from fabric.forwarding.tables import Forwarding
from fabric.render.document import Column, Document, Prose, Section, Status, Table, Unit, Value
from fabric.topology.model import Fabric
from fabric.topology.paths import equal_cost_ports
from fabric.topology.source_routes import SourceRoutes
from fabric.units import PS_PER_NS, format_time_ps
from fabric.wire.usid import destination


def explain_source_routes(
    at: Forwarding, rates: LinkRates, query: FlowQuery, withdrawn: frozenset[int], title: str, *, ports: bool = False
) -> Document:
    """The whole document; nothing is simulated.

    withdrawn: ports whose routes NICs have withdrawn. ports: name every egress port, not only the devices.
    """
    fabric, routes = at.fabric, at.params.source_routes
    assert routes is not None  # noqa: S101  the caller asks for source routes
    found = SourceRoutes(fabric, equal_cost_ports(fabric)).between(fabric.peer_of(query.nic).id, query.dst.id)
    paths = [make_path(at, rates, (query.nic, *row), End.ARRIVED) for row in found.tolist()]
    gone = [not withdrawn.isdisjoint(path.ports[1:]) for path in paths]
    users = _users(at, query, gone) if routes.choice is RouteChoice.QUEUE_PAIR else None
    status, verdict = _verdict(fabric, paths, gone, users)
    return Document(
        f"{query.src.name} → {query.dst.name}",
        title,
        status,
        verdict,
        (
            Prose(
                f"{query.src.name} writes the whole path on each packet that leaves by {fabric.port_name(query.nic)}: "
                "an outer IPv6 header of 40 bytes, whose destination is the list of 16-bit segments (RFC 9800). Each "
                "switch takes the first one off and sends by the port that it names, without a hash. "
                f"{format_time_ps(routes.withdrawal_ps)} after a cable has lost its carrier, NICs withdraw the routes "
                "over it."
            ),
        ),
        (Section("routes", "Source routes", (_table(at, query, paths, gone, users, ports=ports),)),),
    )


def _users(at: Forwarding, query: FlowQuery, gone: Sequence[bool]) -> Counter[int]:
    """Queue pairs of the scenario by the route that they keep (source_route.route_of)."""
    turns, used = first_turns(at.fabric, at.params), Counter[int]()
    live = [number for number, lost in enumerate(gone) if not lost]
    for pair in query.queue_pairs:
        if int(at.params.queue_pairs.port[pair]) == query.nic:
            own = int(turns[pair]) % len(gone)
            used[live[int(turns[pair]) % len(live)] if gone[own] and live else own] += 1
    return used


def _verdict(
    fabric: Fabric, paths: Sequence[Path], gone: Sequence[bool], users: Counter[int] | None
) -> tuple[Status, str]:
    chosen = [number for number, lost in enumerate(gone) if not lost] or list(range(len(paths)))
    rule = "each packet takes the next" if users is None else "each queue pair keeps one"
    text = f"{len(paths)} routes: {rule} of {len(chosen)}"
    if any(gone):
        text += f"; {sum(gone)} withdrawn" + (", all of them, so that the NIC goes on to use them" if all(gone) else "")
    dead = [number for number in chosen if paths[number].dead is not None]
    if not dead:
        return Status.WARNING if any(gone) else Status.GOOD, f"{text}."
    port = paths[dead[0]].dead or 0
    if users is None:
        share = f"{len(dead)} of {len(chosen)} packets {'is' if len(dead) == 1 else 'are'} lost"
    else:
        share = f"all packets of {sum(users[number] for number in dead)} queue pairs are lost"
    return Status.BAD, f"{text}; {share}, as at {fabric.port_name(port)}."


def _table(
    at: Forwarding,
    query: FlowQuery,
    paths: Sequence[Path],
    gone: Sequence[bool],
    users: Counter[int] | None,
    *,
    ports: bool,
) -> Table:
    fabric = at.fabric
    rows: list[tuple[Value, ...]] = []
    statuses = []
    for number, path in enumerate(paths):
        segments = destination([fabric.ports[port].index for port in path.ports[1:]], query.dst.id)
        lost = "" if path.dead is None else f"{fabric.port_name(path.dead)}: {at.loss(path.dead)}"
        state = "; ".join(filter(None, ["withdrawn" if gone[number] else "", lost])) or "up"
        shown = (path_text if ports else devices_text)(fabric, path.ports)
        used = [] if users is None else [users[number]]
        rows.append((number + 1, segments, shown, path.hops, path.rate_bps, path.delay_ps / PS_PER_NS, *used, state))
        statuses.append(Status.BAD if lost and not gone[number] else Status.WARNING if state != "up" else Status.GOOD)
    return Table(
        "routes",
        "",
        (
            Column("number", "#", Unit.COUNT),
            Column("destination", "Outer destination"),
            Column("path", "Path"),
            Column("hops", "Hops", Unit.COUNT),
            Column("rate_bps", "Rate", Unit.BPS),
            Column("delay_ns", "Propagation", Unit.NS),
            *([] if users is None else [Column("queue_pairs", "Queue pairs", Unit.COUNT)]),
            Column("state", "State"),
        ),
        tuple(rows),
        "In the order of turns. Outer destination: as it leaves the NIC; segments from e000 on are ports of switches, "
        "the last one is the receiving NIC.",
        tuple(statuses),
    )

"""`fabric path SRC DST` where NICs choose paths: every source route with its segments, and who uses it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from fabric.dataplane.engine.follow import End
from fabric.dataplane.state.codes import RouteChoice
from fabric.dataplane.state.fill_routes import first_turns
from fabric.forwarding.flowpath import LinkRates, Path, make_path
from fabric.forwarding.path_view import FlowQuery, devices_text, path_text
from fabric.forwarding.tables import Forwarding
from fabric.render.document import Column, Document, Prose, Section, Status, Table, Unit, Value
from fabric.topology.model import Fabric, Node
from fabric.topology.paths import equal_cost_ports
from fabric.topology.source_routes import SourceRoutes, switches_from_ports
from fabric.units import PS_PER_NS, format_time_ps
from fabric.wire.usid import destination


@dataclass(frozen=True)
class _Routes:
    """All routes of a pair, in the order of turns."""

    paths: tuple[Path, ...]
    gone: tuple[bool, ...]
    """Withdrawn by the NIC."""
    nics: tuple[int, ...]
    """NIC ports in turn."""

    def idle(self, number: int) -> bool:
        """Whether the NIC sees itself that a route is dead: its own cable is, and it has another port."""
        return len(self.nics) > 1 and self.paths[number].dead == self.paths[number].ports[0]

    def of_port(self, nic: int) -> list[int]:
        """Numbers of the routes from a NIC port."""
        return [number for number, path in enumerate(self.paths) if path.ports[0] == nic]

    def only(self, nics: tuple[int, ...]) -> _Routes:
        """The routes from some of the ports."""
        kept = [number for number, path in enumerate(self.paths) if path.ports[0] in nics]
        return _Routes(tuple(self.paths[it] for it in kept), tuple(self.gone[it] for it in kept), nics)

    @property
    def chosen(self) -> list[int]:
        """Numbers of those that the NIC uses."""
        live = [number for number, lost in enumerate(self.gone) if not lost] or list(range(len(self.paths)))
        return [number for number in live if not self.idle(number)] or live


def reached_ports(fabric: Fabric, src: Node, dst: Node) -> tuple[int, ...]:
    """Ports of a NIC from which source routes lead to a host."""
    switches = switches_from_ports(fabric, equal_cost_ports(fabric), np.array([src.id]), np.array([dst.id]))
    return tuple(src.first_port + index for index in np.flatnonzero(switches[0]).tolist())


def explain_source_routes(
    at: Forwarding,
    rates: LinkRates,
    query: FlowQuery,
    nics: tuple[int, ...],
    withdrawn: frozenset[int],
    title: str,
    *,
    ports: bool = False,
) -> Document:
    """The whole document; nothing is simulated.

    nics: ports of the NIC, in turn. withdrawn: ports whose routes NICs have withdrawn. ports: name every egress port,
    not only the devices.
    """
    fabric, settings = at.fabric, at.params.source_routes
    assert settings is not None  # noqa: S101  the caller asks for source routes
    whole = _all_routes(at, rates, query, withdrawn)
    routes = whole.only(nics)
    users = _users(at, query, whole) if settings.choice is RouteChoice.QUEUE_PAIR else None
    status, verdict = _verdict(fabric, routes, users)
    by = " and ".join(fabric.port_name(nic) for nic in nics) if len(nics) < 3 else f"{len(nics)} ports in turn"
    turns = ", in turn" if len(nics) == 2 and users is None else ""
    own = "; it uses no port of its own without carrier" if len(nics) > 1 else ""
    return Document(
        f"{query.src.name} → {query.dst.name}",
        title,
        status,
        verdict,
        (
            Prose(
                f"{query.src.name} writes the whole path on each packet that leaves by {by}{turns}: "
                "an outer IPv6 header of 40 bytes, whose destination is the list of 16-bit segments (RFC 9800). Each "
                "switch takes the first one off and sends by the port that it names, without a hash. "
                f"{format_time_ps(settings.withdrawal_ps)} after a cable has lost its carrier, NICs withdraw the "
                f"routes over it{own}."
            ),
        ),
        (Section("routes", "Source routes", (_table(at, query, routes, users, ports=ports),)),),
    )


def _all_routes(at: Forwarding, rates: LinkRates, query: FlowQuery, withdrawn: frozenset[int]) -> _Routes:
    fabric, nics = at.fabric, reached_ports(at.fabric, query.src, query.dst)
    ways = SourceRoutes(fabric, equal_cost_ports(fabric))
    found = [[(nic, *row) for row in ways.between(fabric.peer_of(nic).id, query.dst.id).tolist()] for nic in nics]
    paths = tuple(
        make_path(at, rates, row, End.ARRIVED) for turn in zip_longest(*found) for row in turn if row is not None
    )
    # A NIC with one port goes on to use it.
    seen = slice(0 if len(nics) > 1 else 1, None)
    return _Routes(paths, tuple(not withdrawn.isdisjoint(path.ports[seen]) for path in paths), nics)


def _users(at: Forwarding, query: FlowQuery, routes: _Routes) -> Counter[Path]:
    """Queue pairs of the scenario by the route that they keep (host/nic_ports, source_route.route_of)."""
    turns, used = first_turns(at.fabric, at.params.seed, at.params.queue_pairs), Counter[Path]()
    every = routes.nics
    for pair in query.queue_pairs:
        begun = every.index(int(at.params.queue_pairs.port[pair]))
        in_turn = [*every[begun:], *every[:begun]]
        # The port that it keeps is the first one in turn with a route that is not withdrawn.
        nic = next((nic for nic in in_turn if not all(routes.gone[it] for it in routes.of_port(nic))), in_turn[0])
        its = routes.of_port(nic)
        if its:
            live = [number for number in its if not routes.gone[number]] or its
            turn = int(turns[pair]) // len(every)
            own = its[turn % len(its)]
            used[routes.paths[live[turn % len(live)] if routes.gone[own] else own]] += 1
    return used


def _verdict(fabric: Fabric, routes: _Routes, users: Counter[Path] | None) -> tuple[Status, str]:
    paths, gone, chosen = routes.paths, routes.gone, routes.chosen
    rule = "each packet takes the next" if users is None else "each queue pair keeps one"
    over = f" over {len(routes.nics)} NIC ports" if len(routes.nics) > 1 else ""
    text = f"{len(paths)} routes{over}: {rule} of {len(chosen)}"
    if any(gone):
        text += f"; {sum(gone)} withdrawn" + (", all of them, so that the NIC goes on to use them" if all(gone) else "")
    dead = [number for number in chosen if paths[number].dead is not None and not routes.idle(number)]
    if not dead:
        return Status.WARNING if len(chosen) < len(paths) or any(gone) else Status.GOOD, f"{text}."
    port = paths[dead[0]].dead or 0
    if users is None:
        share = f"{len(dead)} of {len(chosen)} packets {'is' if len(dead) == 1 else 'are'} lost"
    else:
        share = f"all packets of {sum(users[paths[number]] for number in dead)} queue pairs are lost"
    return Status.BAD, f"{text}; {share}, as at {fabric.port_name(port)}."


def _table(at: Forwarding, query: FlowQuery, routes: _Routes, users: Counter[Path] | None, *, ports: bool) -> Table:
    fabric, gone = at.fabric, routes.gone
    rows: list[tuple[Value, ...]] = []
    statuses = []
    for number, path in enumerate(routes.paths):
        segments = destination([fabric.ports[port].index for port in path.ports[1:]], query.dst.id)
        lost = "" if path.dead is None else f"{fabric.port_name(path.dead)}: {at.loss(path.dead)}"
        idle = "not used" if routes.idle(number) else ""
        state = "; ".join(filter(None, ["withdrawn" if gone[number] else idle, lost])) or "up"
        shown = (path_text if ports else devices_text)(fabric, path.ports)
        used = [] if users is None else [users[path]]
        rows.append((number + 1, segments, shown, path.hops, path.rate_bps, path.delay_ps / PS_PER_NS, *used, state))
        statuses.append(
            Status.BAD if lost and not gone[number] and not idle else Status.WARNING if state != "up" else Status.GOOD
        )
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

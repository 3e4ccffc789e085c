"""P: routes that a BGP session is meant to carry and does not, by a policy, or by a limit that closes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network
from typing import Final

from fabric.configs.model import Where
from fabric.configs.policy import Clause, Policies
from fabric.configs.text.spelling import prefix_of
from fabric.units import listed
from fabric.validate.checks.base import Check, E, Found, W, check, named, shows
from fabric.validate.checks.identity import vtep_address
from fabric.validate.checks.peers import same_policies
from fabric.validate.commands import quoted
from fabric.validate.facts import Facts
from fabric.validate.frr_fixes import in_frr
from fabric.validate.peer_groups import group_of
from fabric.validate.reachability import Reachability, reachability_of
from fabric.validate.remedies import Fix
from fabric.validate.routing_fixes import set_session
from fabric.validate.sessions import Cause, place
from fabric.validate.withheld import too_many, withheld

_SHOWN: Final = 4
_ROOM: Final = 4
"""A limit that is proposed has this many times the prefixes of today."""


def computed(facts: Facts) -> Reachability | None:
    """The control plane, where several switches have sessions and the files decide it."""
    if sum(bool(device.sessions) for device in facts.devices) < 2:
        return None
    reach = reachability_of(facts)
    return None if isinstance(reach, Cause) or reach.network is None else reach


@check(
    "P17",
    E,
    "a limit of prefixes below what the neighbour announces",
    condition="a neighbour announces no more IPv4 prefixes than maximum-routes, maximum-prefix or prefix-limits allows",
    consequence="the switch closes the session as soon as all routes are there, and keeps it closed: its link carries "
    "no routes",
    remedy="raise the limit well above the number of switches, or let it warn only",
    source="RFC 4486 section 3 (Cease: maximum number of prefixes reached); vendors' BGP guides",
    leads_to="P22",
)
def P17(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Prefixes that the speakers exchange on these configurations; there may be more."""
    reach = computed(facts)
    for end, other, count in too_many(reach) if reach is not None else ():
        if end.session is None:
            continue
        limit, more = end.session.max_prefixes, str(max(100, _ROOM * count))
        lines = {
            "eos": f"maximum-routes {more}",
            "nxos": f"address-family ipv4 unicast; maximum-prefix {more}",
            "frr": f"address-family ipv4 unicast; maximum-prefix {more}",
            "nvue": f"address-family ipv4-unicast prefix-limits inbound maximum {more}",
        }
        row = limit.where[:-1]
        sonic = Fix(
            end.device.name,
            "|".join(limit.where),
            more,
            f"sonic-db-cli CONFIG_DB HSET {quoted('|'.join(row))} max_prefix_limit {more}",
        )
        yield Found(
            end.device.name,
            named(end.session.where),
            f"{other.device.name} announces {count} prefixes, and the session is closed above {limit.value}",
            (shows(end.device, limit.where, "", limit.value),),
            fix=sonic
            if end.device.capabilities.tables and not in_frr(end.device, limit.where)
            else set_session(end.device, end.session, "prefix limit", more, lines, group_of(end.session, limit.where)),
        )


@check(
    "P18",
    W,
    "a policy drops routes at one of several equal sessions, or makes them unequal",
    condition="where a switch has the route to a VTEP by one session, no policy drops one that is as short at another, "
    "lengthens its AS_PATH, or gives it another local preference; a switch keeps the route to its own VTEP from no "
    "neighbour alone",
    consequence="traffic to these VTEPs takes fewer links than planned, and none when the session that is left fails",
    remedy="correct the prefix list or route map that is named, or remove it from the session",
    source="RFC 4271 section 9.1, 9.2 (import and export policies); RFC 7938 section 6.1 (multipath over all uplinks)",
)
def P18(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once for each session and direction; where no session brings the route, V11 says it."""
    reach = computed(facts)
    for it in withheld(reach) if reach is not None else ():
        if it.by.session is None:
            continue
        device, policies = it.by.device, it.by.device.identity.policies
        maps = {use.name: policies.route_maps.get(use.name, []) for use in it.uses if use.kind == "route-map"}
        clauses = [clause for its in maps.values() for clause in its]
        lists = list(dict.fromkeys(name for clause in clauses for name in clause.prefix_lists))
        which = ", ".join(f"{use.kind} {use.name}" for use in it.uses)
        which += f" (prefix-list {', '.join(lists)})" if lists else ""
        what = "EVPN routes" if it.family == "evpn" else "the routes to the VTEPs"
        way = f"{'from' if it.inbound else 'towards'} {it.other.device.name}"
        rows = _rows_of_lists(facts, it.switches, policies, clauses)
        yield Found(
            device.name,
            named(it.by.session.where),
            f"{which} {it.effect} {what} of {listed(it.switches, _SHOWN)} {way}, other sessions have them"
            + (" as they are" if it.effect != "drops" else ""),
            tuple(
                place(device, at) for at in (*rows, *(use.where for use in it.uses), *(one.where for one in clauses))
            ),
            rests_on=[(device.name, where) for where in same_policies(device, it.by.session)],
        )


def _rows_of_lists(facts: Facts, switches: Iterable[str], policies: Policies, clauses: list[Clause]) -> list[Where]:
    """Lines of prefix lists by which clauses drop the VTEP addresses of switches, each once."""
    found: list[Where] = []
    for name in switches:
        device = facts.network.devices.get(name)
        network = prefix_of(vtep_address(device)) if device is not None else None
        found += policies.lines_for(clauses, network) if isinstance(network, IPv4Network) else []
    return list(dict.fromkeys(found))


CHECKS: Final[tuple[Check, ...]] = (P17, P18)

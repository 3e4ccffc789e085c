"""`fabric path SCENARIO`: the faults in all routes of a fabric, and how evenly its hashes can spread traffic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from fabric.forwarding.ecmp_load import GroupLoad
from fabric.forwarding.flowpath import ENTROPY_PORTS
from fabric.forwarding.path_view import polarised_text
from fabric.forwarding.polarisation import Dependence, Survey
from fabric.forwarding.route_faults import BadPath, RouteFindings
from fabric.forwarding.tables import Forwarding
from fabric.render.document import Column, Document, Fact, Facts, Prose, Section, Status, Table, Unit, Value
from fabric.theory.collisions import chance_of_max, expected_delivered, expected_max_over_mean
from fabric.topology.levels import level_name, levels

UNLIKELY: Final = 1e-4
"""A group that a uniform hash would leave as uneven with a smaller chance than this, over all groups, is reported."""

QUEUE_PAIRS: Final = (1, 2, 4, 8, 16, 32)
"""Per pair of hosts, in the prediction."""


def explain_routes(
    at: Forwarding, title: str, subtitle: str, faults: RouteFindings, found: Survey, loads: Sequence[GroupLoad]
) -> Document:
    """Findings first, then how evenly the scenario's own flows are spread."""
    bad = [it for it in found.found if it.polarised]
    uneven = _unlikely(loads)
    reasons = (
        *_bad_paths(at, faults),
        *_flooded(at),
        *_buffer_cycles(at, faults),
        *_polarised(at, bad),
        *_uneven(at, uneven),
    )
    count = sum(it.status is not Status.NEUTRAL for it in reasons)
    status = Status.BAD if any(it.status is Status.BAD for it in reasons) else Status.WARNING if count else Status.GOOD
    verdict = (
        f"{count} finding{'' if count == 1 else 's'}."
        if count
        else "No route is lost, loops or has a valley; no cyclic buffer dependency; no hash is polarised."
    )
    return Document(
        title,
        subtitle,
        status,
        verdict,
        reasons,
        (
            Section("routes", "Routes", (_counts(at, faults, found), _path_table(at, faults))),
            Section(
                "polarisation",
                "Successive choices",
                (_tier_table(at, found),)
                if found.found
                else (Prose("No flow passes two choices, so no hash can be polarised."),),
            ),
            Section("load", "The scenario's own flows", (_load_table(at, loads),)),
            Section("prediction", "The effect of more queue pairs", (_prediction(at),)),
        ),
    )


_KINDS: Final = (
    ("no_route", "black hole", "have no route"),
    ("dead_link", "dead next hop", "are sent to a dead next hop"),
    ("loops", "loop", "circulate until their TTL expires"),
    ("valleys", "valley", "go down and up again"),
)


def _paths(at: Forwarding, faults: RouteFindings, kind: str) -> Sequence[BadPath]:
    """Paths of one kind. Packets that a leaf floods need no route."""
    lost = [path for path in faults.no_route if (path.switches[-1], path.host) not in at.unknown]
    return {"no_route": lost, "dead_link": faults.dead_link, "loops": faults.loops, "valleys": faults.valleys}[kind]


def _names(at: Forwarding, switches: Sequence[int]) -> str:
    return " → ".join(at.fabric.nodes[switch].name for switch in switches)


def _bad_paths(at: Forwarding, faults: RouteFindings) -> list[Prose]:
    """A sentence for each kind, with an example."""
    found = []
    for kind, name, what in _KINDS:
        paths = _paths(at, faults, kind)
        if paths:
            hosts = {path.host: path.n_hosts for path in paths}
            text = (
                f"{name.capitalize()}: packets for {at.fabric.nodes[paths[0].host].name} {what}: "
                f"{_names(at, paths[0].switches)}"
            )
            if sum(hosts.values()) > 1:
                text += f"; {sum(hosts.values())} hosts are affected"
            found.append(Prose(f"{text}.", Status.WARNING if kind == "valleys" else Status.BAD))
    return found


def _flooded(at: Forwarding) -> list[Prose]:
    """Silent hosts whose MAC some leaf does not know."""
    hosts = sorted({host for _, host in at.unknown})
    if not hosts:
        return []
    more = f" and {len(hosts) - 1} more" if len(hosts) > 1 else ""
    return [
        Prose(
            f"Flooded: {at.fabric.nodes[hosts[0]].name}{more} is silent, and not every leaf knows its MAC: "
            "its packets are flooded to every port and every VTEP of its VNI."
        )
    ]


def _buffer_cycles(at: Forwarding, faults: RouteFindings) -> list[Prose]:
    found = []
    for cycle in faults.buffer_cycles:
        ports = " → ".join(at.fabric.port_name(port) for port in (*cycle, cycle[0]))
        found.append(
            Prose(
                f"Cyclic buffer dependency: lossless traffic at {ports} can deadlock, each port waiting for "
                "buffer at the next (Hu et al., HotNets 2016). Remedy: valley-free routes.",
                Status.BAD,
            )
        )
    return found


def _by_tier(at: Forwarding, found: Sequence[Dependence]) -> dict[tuple[int, int], list[Dependence]]:
    level = levels(at.fabric)
    by_tier = defaultdict(list)
    for it in found:
        by_tier[int(level[it.first]), int(level[it.second])].append(it)
    return dict(sorted(by_tier.items()))


def _polarised(at: Forwarding, bad: Sequence[Dependence]) -> list[Prose]:
    """One sentence per pair of tiers: its worst pair of switches."""
    found = []
    for its in _by_tier(at, bad).values():
        worst = min(its, key=lambda it: (it.reached / len(it.flows), it.first, it.second))
        pairs = {(it.first, it.second) for it in its}
        found.append(
            Prose(
                polarised_text(at, worst) + (f" {len(pairs)} pairs of switches are alike." if len(pairs) > 1 else ""),
                Status.WARNING,
            )
        )
    return found


def _unlikely(loads: Sequence[GroupLoad]) -> list[GroupLoad]:
    return [
        load
        for load in loads
        if load.n_flows and chance_of_max(load.n_flows, len(load.flows), max(load.flows)) * len(loads) < UNLIKELY
    ]


def _uneven(at: Forwarding, uneven: Sequence[GroupLoad]) -> list[Prose]:
    if not uneven:
        return []
    worst = max(uneven, key=lambda load: load.flows_max_over_mean)
    most = max(worst.flows)
    text = (
        f"Uneven: {at.fabric.nodes[worst.switch].name} puts {most} of its {worst.n_flows} flows on one of "
        f"{len(worst.flows)} members; a uniform hash does so with a chance of "
        f"{chance_of_max(worst.n_flows, len(worst.flows), most):.1g}."
    )
    more = f" {len(uneven)} groups are as uneven." if len(uneven) > 1 else ""
    return [Prose(text + more, Status.WARNING)]


def _counts(at: Forwarding, faults: RouteFindings, found: Survey) -> Facts:
    classes = at.classes()
    facts = [
        Fact("hosts", "hosts", len(at.fabric.hosts), Unit.COUNT),
        Fact("classes", "classes of equal routes", len(classes), Unit.COUNT),
    ]
    facts += [
        Fact(
            kind,
            name + "s",
            len(_paths(at, faults, kind)),
            Unit.COUNT,
            Status.BAD if _paths(at, faults, kind) else Status.GOOD,
        )
        for kind, name, _ in _KINDS
    ]
    facts.append(
        Fact(
            "buffer_cycles",
            "cyclic buffer dependencies",
            len(faults.buffer_cycles),
            Unit.COUNT,
            Status.BAD if faults.buffer_cycles else Status.GOOD,
        )
    )
    facts.append(
        Fact(
            "polarised_pairs",
            "polarised pairs of switches",
            len({(it.first, it.second) for it in found.found if it.polarised}),
            Unit.COUNT,
        )
    )
    return Facts(tuple(facts))


def _path_table(at: Forwarding, faults: RouteFindings) -> Table:
    rows: list[tuple[Value, ...]] = [
        (name, at.fabric.nodes[path.host].name, path.n_hosts, _names(at, path.switches))
        for kind, name, _ in _KINDS
        for path in _paths(at, faults, kind)
    ]
    rows += [
        ("buffer cycle", "-", 0, " → ".join(at.fabric.port_name(port) for port in (*cycle, cycle[0])))
        for cycle in faults.buffer_cycles
    ]
    return Table(
        "ways",
        "",
        (
            Column("kind", "Fault"),
            Column("host", "Destination"),
            Column("hosts", "Hosts", Unit.COUNT),
            Column("way", "Path"),
        ),
        tuple(rows),
    )


def _tier_table(at: Forwarding, found: Survey) -> Table:
    columns = (
        Column("first", "First choice"),
        Column("second", "Next choice"),
        Column("pairs", "Pairs", Unit.COUNT),
        Column("members", "Members", Unit.COUNT),
        Column("least_reached", "Reached at least", Unit.COUNT),
        Column("polarised", "Polarised pairs", Unit.COUNT),
        Column("largest_share_ratio", "Largest share", Unit.RATIO),
    )
    rows: list[tuple[Value, ...]] = []
    statuses = []
    for (first, second), its in _by_tier(at, found.found).items():
        for size in sorted({len(it.flows) for it in its}):
            alike = [it for it in its if len(it.flows) == size]
            bad = {(it.first, it.second) for it in alike if it.polarised}
            rows.append(
                (
                    level_name(at.fabric, first),
                    level_name(at.fabric, second),
                    len({(it.first, it.second) for it in alike}),
                    size,
                    min(it.reached for it in alike),
                    len(bad),
                    max(max(it.flows) / sum(it.flows) for it in alike),
                )
            )
            statuses.append(Status.WARNING if bad else Status.GOOD)
    return Table(
        "tiers",
        "",
        columns,
        tuple(rows),
        f"Exact: {found.n_flows:,} flows, {found.ports_per_pair:,} of {len(ENTROPY_PORTS):,} source ports "
        "between each pair of hosts, sorted by the member that the first switch chose.",
        tuple(statuses),
    )


def _prediction(at: Forwarding) -> Table:
    """Row V16 of docs/fidelity.md, for the group sizes of this fabric."""
    sizes = sorted({int(count) for count in at.tables.group_count if count > 1})
    columns = (
        Column("members", "Members", Unit.COUNT),
        Column("queue_pairs", "Queue pairs", Unit.COUNT),
        Column("max_over_mean_ratio", "Max/mean", Unit.TIMES),
        Column("delivered_ratio", "Fits", Unit.RATIO),
    )
    rows = tuple(
        (size, pairs, expected_max_over_mean(size * pairs, size), expected_delivered(size, pairs))
        for size in sizes
        for pairs in QUEUE_PAIRS
    )
    return Table(
        "queue_pairs",
        "",
        columns,
        rows,
        "Uniform hash; as many pairs of hosts at line rate as members, each over this many queue pairs: the load of "
        "the fullest member over the mean, and the share of the load that fits on members of that rate.",
    )


def _load_table(at: Forwarding, loads: Sequence[GroupLoad]) -> Table:
    columns = (
        Column("switch", "Switch"),
        Column("towards", "Towards"),
        Column("members", "Members", Unit.COUNT),
        Column("flows", "Flows", Unit.COUNT),
        Column("fullest_flows", "Fullest", Unit.COUNT),
        Column("flows_max_over_mean_ratio", "Max/mean", Unit.TIMES),
        Column("expected_max_over_mean_ratio", "Uniform hash", Unit.TIMES),
        Column("chance_ratio", "Chance", Unit.RATIO),
        Column("bytes_max_over_mean_ratio", "By bytes", Unit.TIMES),
    )
    rows: list[tuple[Value, ...]] = []
    for load in sorted(loads, key=lambda it: (-it.flows_max_over_mean, it.switch)):
        n, m, most = load.n_flows, len(load.flows), max(load.flows)
        peers = dict.fromkeys(at.fabric.peer_of(port).name for port in load.members)
        towards = ", ".join(list(peers)[:3]) + (f", ... ({len(peers)})" if len(peers) > 3 else "")
        rows.append(
            (
                at.fabric.nodes[load.switch].name,
                towards,
                m,
                n,
                most,
                load.flows_max_over_mean,
                expected_max_over_mean(n, m),
                chance_of_max(n, m, most),
                load.bytes_max_over_mean,
            )
        )
    return Table(
        "groups",
        "",
        columns,
        tuple(rows),
        "Queue pairs of the scenario by the member that each switch's hash chooses. Uniform hash: the mean for the "
        "same flows and members; chance: the probability of a member at least as full.",
    )

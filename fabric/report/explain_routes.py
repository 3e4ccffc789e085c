"""`fabric path SCENARIO`: what is wrong with all routes of a fabric, and how evenly its hashes can spread traffic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from fabric.report.ecmp_load import GroupLoad
from fabric.report.explain_path import polarised_text
from fabric.report.flowpath import ENTROPY_PORTS
from fabric.report.forwarding import Forwarding
from fabric.report.model import Column, Document, Fact, Facts, Prose, Section, Status, Table, Unit, Value
from fabric.report.polarisation import Dependence, Survey
from fabric.topology.levels import level_name, levels

UNLIKELY: Final = 1e-4
"""A group that a uniform hash would leave as uneven with a smaller chance than this, over all groups, is reported."""

Expected = Callable[[int, int], float]
"""(flows, members) -> mean of the fullest member over the mean, for a uniform hash."""
Chance = Callable[[int, int, int], float]
"""(flows, members, most) -> probability that the fullest member has that many or more, for a uniform hash."""
Delivered = Callable[[int, int], float]
"""(members, queue pairs) -> share of the load of as many line-rate pairs of hosts as members that fits."""

QUEUE_PAIRS: Final = (1, 2, 4, 8, 16, 32)
"""Per pair of hosts, in the prediction."""


class Theory(NamedTuple):
    """What a uniform hash does (validate/theory/collisions.py)."""

    expected: Expected
    chance: Chance
    delivered: Delivered


class Way(Protocol):
    """A way on which packets go wrong."""

    @property
    def host(self) -> int:
        """A host that the packets are for."""

    @property
    def n_hosts(self) -> int:
        """Hosts alike."""

    @property
    def switches(self) -> Sequence[int]:
        """The way."""


class Walked(Protocol):
    """What walking every route has found."""

    @property
    def no_route(self) -> Sequence[Way]:
        """Ends without a route."""

    @property
    def dead_link(self) -> Sequence[Way]:
        """Ends at a cable that is down."""

    @property
    def loops(self) -> Sequence[Way]:
        """Goes round."""

    @property
    def valleys(self) -> Sequence[Way]:
        """Goes down, then up."""

    @property
    def buffer_cycles(self) -> Sequence[Sequence[int]]:
        """Ingress ports that wait for each other."""


def explain_routes(at: Forwarding, title: str, subtitle: str, walked: Walked, found: Survey,
                   loads: Sequence[GroupLoad], theory: Theory) -> Document:
    """Findings first, then how evenly the scenario's own flows fall."""
    bad = [it for it in found.found if it.polarised]
    uneven = _unlikely(loads, theory.chance)
    reasons = (*_wrong_ways(at, walked), *_flooded(at), *_circles(at, walked), *_polarised(at, bad),
               *_uneven(at, uneven, theory.chance))
    faults = sum(it.status is not Status.NEUTRAL for it in reasons)
    status = Status.BAD if any(it.status is Status.BAD for it in reasons) else Status.WARNING if faults else Status.GOOD
    verdict = (f"{faults} finding{'' if faults == 1 else 's'}." if faults else
               "Every route arrives, none has a valley, no buffers wait in a circle, and no hash undoes another.")
    return Document(title, subtitle, status, verdict, reasons, (
        Section("routes", "Routes", (_counts(at, walked, found), _way_table(at, walked))),
        Section("polarisation", "Successive choices", (_tier_table(at, found),) if found.found else (
            Prose("No flow meets two choices: nothing can polarise."),)),
        Section("load", "The scenario's own flows", (_load_table(at, loads, theory),)),
        Section("prediction", "What more queue pairs would do", (_prediction(at, theory),))))


_KINDS: Final = (
    ("no_route", "black hole", "has no route"),
    ("dead_link", "dead next hop", "is sent where nothing arrives"),
    ("loops", "loop", "goes round until its time to live ends"),
    ("valleys", "valley", "goes down and up again"),
)


def _ways(at: Forwarding, walked: Walked, kind: str) -> Sequence[Way]:
    """Ways of one kind. What a leaf floods needs no route."""
    lost = [way for way in walked.no_route if (way.switches[-1], way.host) not in at.unknown]
    return {"no_route": lost, "dead_link": walked.dead_link, "loops": walked.loops,
            "valleys": walked.valleys}[kind]


def _names(at: Forwarding, switches: Sequence[int]) -> str:
    return " → ".join(at.fabric.nodes[switch].name for switch in switches)


def _wrong_ways(at: Forwarding, walked: Walked) -> list[Prose]:
    """A sentence for each kind, with an example."""
    found = []
    for kind, name, what in _KINDS:
        ways = _ways(at, walked, kind)
        if ways:
            hosts = {way.host: way.n_hosts for way in ways}
            text = (f"{name.capitalize()}: what is for {at.fabric.nodes[ways[0].host].name} {what}: "
                    f"{_names(at, ways[0].switches)}")
            if sum(hosts.values()) > 1:
                text += f"; {sum(hosts.values())} hosts are concerned"
            found.append(Prose(f"{text}.", Status.WARNING if kind == "valleys" else Status.BAD))
    return found


def _flooded(at: Forwarding) -> list[Prose]:
    """Silent hosts that leaves do not know."""
    hosts = sorted({host for _, host in at.unknown})
    if not hosts:
        return []
    more = f" and {len(hosts) - 1} more" if len(hosts) > 1 else ""
    return [Prose(f"Flooded: {at.fabric.nodes[hosts[0]].name}{more} is silent, and not every leaf knows its MAC: what "
                  "is for it goes to every port and every VTEP of its VNI.")]


def _circles(at: Forwarding, walked: Walked) -> list[Prose]:
    found = []
    for cycle in walked.buffer_cycles:
        ports = " → ".join(at.fabric.port_name(port) for port in (*cycle, cycle[0]))
        found.append(Prose(f"Cyclic buffer dependency: lossless traffic at {ports} can deadlock, each port waiting for "
                           "room at the next (Hu et al., HotNets 2016). Remedy: valley-free routes.", Status.BAD))
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
        found.append(Prose(polarised_text(at, worst) + (f" {len(pairs)} pairs of switches are alike." if len(pairs) > 1
                                                        else ""), Status.WARNING))
    return found


def _unlikely(loads: Sequence[GroupLoad], chance: Chance) -> list[GroupLoad]:
    return [load for load in loads if load.n_flows
            and chance(load.n_flows, len(load.flows), max(load.flows)) * len(loads) < UNLIKELY]


def _uneven(at: Forwarding, uneven: Sequence[GroupLoad], chance: Chance) -> list[Prose]:
    if not uneven:
        return []
    worst = max(uneven, key=lambda load: load.flows_max_over_mean)
    most = max(worst.flows)
    text = (f"Uneven: {at.fabric.nodes[worst.switch].name} puts {most} of its {worst.n_flows} flows on one of "
            f"{len(worst.flows)} members; a uniform hash does so with a chance of "
            f"{chance(worst.n_flows, len(worst.flows), most):.1g}.")
    more = f" {len(uneven)} groups are as unlikely." if len(uneven) > 1 else ""
    return [Prose(text + more, Status.WARNING)]


def _counts(at: Forwarding, walked: Walked, found: Survey) -> Facts:
    classes = at.classes()
    facts = [Fact("hosts", "hosts", len(at.fabric.hosts), Unit.COUNT),
             Fact("classes", "with routes of their own", len(classes), Unit.COUNT)]
    facts += [Fact(kind, name + "s", len(_ways(at, walked, kind)), Unit.COUNT,
                   Status.BAD if _ways(at, walked, kind) else Status.GOOD) for kind, name, _ in _KINDS]
    facts.append(Fact("buffer_cycles", "cyclic buffer dependencies", len(walked.buffer_cycles), Unit.COUNT,
                      Status.BAD if walked.buffer_cycles else Status.GOOD))
    facts.append(Fact("polarised_pairs", "polarised pairs of switches",
                      len({(it.first, it.second) for it in found.found if it.polarised}), Unit.COUNT))
    return Facts(tuple(facts))


def _way_table(at: Forwarding, walked: Walked) -> Table:
    rows: list[tuple[Value, ...]] = [
        (name, at.fabric.nodes[way.host].name, way.n_hosts, _names(at, way.switches))
        for kind, name, _ in _KINDS for way in _ways(at, walked, kind)]
    rows += [("buffer cycle", "-", 0, " → ".join(at.fabric.port_name(port) for port in (*cycle, cycle[0])))
             for cycle in walked.buffer_cycles]
    return Table("ways", "", (Column("kind", "What"), Column("host", "For"), Column("hosts", "Hosts", Unit.COUNT),
                              Column("way", "Way")), tuple(rows))


def _tier_table(at: Forwarding, found: Survey) -> Table:
    columns = (Column("first", "First choice"), Column("second", "Next choice"), Column("pairs", "Pairs", Unit.COUNT),
               Column("members", "Members", Unit.COUNT), Column("least_reached", "Reached at least", Unit.COUNT),
               Column("polarised", "Polarised pairs", Unit.COUNT),
               Column("largest_share_ratio", "Largest share", Unit.RATIO))
    rows: list[tuple[Value, ...]] = []
    statuses = []
    for (first, second), its in _by_tier(at, found.found).items():
        for size in sorted({len(it.flows) for it in its}):
            alike = [it for it in its if len(it.flows) == size]
            bad = {(it.first, it.second) for it in alike if it.polarised}
            rows.append((level_name(at.fabric, first), level_name(at.fabric, second),
                         len({(it.first, it.second) for it in alike}), size, min(it.reached for it in alike), len(bad),
                         max(max(it.flows) / sum(it.flows) for it in alike)))
            statuses.append(Status.WARNING if bad else Status.GOOD)
    return Table("tiers", "", columns, tuple(rows),
                 f"Exact: {found.n_flows:,} flows, {found.ports_per_pair:,} of {len(ENTROPY_PORTS):,} source ports "
                 "between each pair of hosts, sorted by the member that the first switch chose.", tuple(statuses))


def _prediction(at: Forwarding, theory: Theory) -> Table:
    """V16 of docs/fidelity.md, for the group sizes of this fabric."""
    sizes = sorted({int(count) for count in at.tables.group_count if count > 1})
    columns = (Column("members", "Members", Unit.COUNT), Column("queue_pairs", "Queue pairs", Unit.COUNT),
               Column("max_over_mean_ratio", "Max/mean", Unit.TIMES), Column("delivered_ratio", "Fits", Unit.RATIO))
    rows = tuple((size, pairs, theory.expected(size * pairs, size), theory.delivered(size, pairs))
                 for size in sizes for pairs in QUEUE_PAIRS)
    return Table("queue_pairs", "", columns, rows,
                 "A uniform hash, as many pairs of hosts at line rate as members, each over so many queue pairs: the "
                 "fullest member over the mean, and the share of the load that fits on members of that rate.")


def _load_table(at: Forwarding, loads: Sequence[GroupLoad], theory: Theory) -> Table:
    columns = (Column("switch", "Switch"), Column("towards", "Towards"), Column("members", "Members", Unit.COUNT),
               Column("flows", "Flows", Unit.COUNT), Column("fullest_flows", "Fullest", Unit.COUNT),
               Column("flows_max_over_mean_ratio", "Max/mean", Unit.TIMES),
               Column("expected_max_over_mean_ratio", "Uniform hash", Unit.TIMES),
               Column("chance_ratio", "Chance", Unit.RATIO),
               Column("bytes_max_over_mean_ratio", "By bytes", Unit.TIMES))
    rows: list[tuple[Value, ...]] = []
    for load in sorted(loads, key=lambda it: (-it.flows_max_over_mean, it.switch)):
        n, m, most = load.n_flows, len(load.flows), max(load.flows)
        peers = dict.fromkeys(at.fabric.peer_of(port).name for port in load.members)
        towards = ", ".join(list(peers)[:3]) + (f", ... ({len(peers)})" if len(peers) > 3 else "")
        rows.append((at.fabric.nodes[load.switch].name, towards, m, n, most, load.flows_max_over_mean,
                     theory.expected(n, m), theory.chance(n, m, most), load.bytes_max_over_mean))
    return Table("groups", "", columns, tuple(rows),
                 "Queue pairs of the scenario by the member that each switch's hash gives them. Uniform hash: what as "
                 "many flows on as many members come to on average; chance: of a member at least as full.")

"""Pause trees in words and as blocks of a Document: sentences, labelled trees, a table, the map with its replay."""

from __future__ import annotations

from typing import Final

from fabric.explain.evidence import Evidence
from fabric.explain.marking import remedy_of_congestion
from fabric.explain.pause_tree import Blast, Cause, Episode, Origin
from fabric.render.document import Branch, Column, Fact, Map, MapLink, MapNode, Status, Still, Table, Tree, Unit
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS, count, counted, format_time_ps

MAX_TREES: Final = 5
"""Trees drawn in full; the table lists all."""
RINGED_RATIO: Final = 0.2
"""Origins of trees with at least this share of the largest tree's paused time are ringed in drawings."""
MAX_STILLS: Final = 6000
"""Intervals in a replay; short gaps are closed until no more than this remain."""

REMEDY: Final = {
    Cause.BROKEN_NIC: "shut the port or drain the host; a PFC watchdog on the switch contains it meanwhile",
    Cause.SLOW_RECEIVER: "look at the host (PCIe, memory, MTT misses); it takes less than its line rate",
}
"""For an operator, where a host is the origin."""


def remedy(evidence: Evidence, episode: Episode) -> str:
    """The remedy for an operator."""
    cause = episode.origin.cause
    return remedy_of_congestion(evidence, episode) if cause is Cause.CONGESTION else REMEDY[cause]


def origin_text(fabric: Fabric, origin: Origin) -> str:
    """'broken NIC host3:eth0 (class 3)', 'congested port leaf1:Ethernet0 towards host4 (class 3)'."""
    name = fabric.port_name(origin.port)
    if origin.cause is Cause.CONGESTION:
        return f"{origin.cause.value} {name} towards {fabric.peer_of(origin.port).name} (class {origin.prio})"
    return f"{origin.cause.value} {name} (class {origin.prio})"


def sentence(fabric: Fabric, episode: Episode, blast: Blast) -> str:
    """One episode in a sentence: origin, depth, and the devices that it stopped."""
    hosts, switches = len(blast.hosts), len(blast.switches)
    devices = counted((hosts, "host"), (switches, "switch", "switches")) or "no device"
    stopped = f"{devices} {'were' if hosts + switches > 1 else 'was'} paused"
    victims = f", {blast.victims:,} of them bound elsewhere" if blast.victims else ""
    return (
        f"{origin_text(fabric, episode.origin)} started at {format_time_ps(episode.first_ps)} and reached "
        f"{count(episode.depth, 'cable')} deep: {stopped} for "
        f"{format_time_ps(episode.paused_ps)} of port time; {count(blast.messages, 'message')} waited{victims}"
    )


def episode_tree(evidence: Evidence, episode: Episode, blast: Blast, number: int) -> Tree:
    """An episode as a labelled tree: each node is one port that pauses its peer."""
    fabric = evidence.fabric

    def grow(row: int) -> Branch:
        node = episode.nodes[row]
        victim = fabric.peer_of(node.port)
        facts = [Fact("first_ns", "at", node.first_ps // PS_PER_NS, Unit.NS)]
        if node.parent >= 0:
            facts.append(Fact("hop_ns", "after", node.hop_ps // PS_PER_NS, Unit.NS))
        facts += [
            Fact("pauses", "pauses", node.pauses, Unit.COUNT),
            Fact("paused_ns", "paused for", node.paused_ps // PS_PER_NS, Unit.NS),
        ]
        if node.headroom_bytes:
            facts.append(Fact("headroom_bytes", "headroom used", node.headroom_bytes, Unit.BYTES))
        status = Status.WARNING if victim.is_host else Status.NEUTRAL
        return Branch(
            f"{fabric.port_name(node.port)} paused {fabric.port_name(fabric.ports[node.port].peer)}",
            tuple(facts),
            tuple(grow(child) for child in episode.children(row)),
            status,
        )

    facts = (
        Fact("first_ns", "from", episode.first_ps // PS_PER_NS, Unit.NS),
        Fact("last_ns", "to", episode.last_ps // PS_PER_NS, Unit.NS),
        Fact("hosts", "hosts stopped", len(blast.hosts), Unit.COUNT),
        Fact("messages", "messages waited", blast.messages, Unit.COUNT),
        Fact("victims", "of them victims", blast.victims, Unit.COUNT),
    )
    root = Branch(
        origin_text(fabric, episode.origin), facts, tuple(grow(row) for row in episode.children(-1)), Status.BAD
    )
    return Tree("trees", f"Pause tree {number}", root, f"Remedy: {remedy(evidence, episode)}.")


def episode_table(evidence: Evidence) -> Table:
    """All episodes, most paused time first."""
    fabric = evidence.fabric
    rows = []
    for episode in evidence.episodes:
        blast = evidence.blast(episode)
        rows.append(
            (
                fabric.port_name(episode.origin.port),
                episode.origin.prio,
                episode.origin.cause.value,
                episode.first_ps // PS_PER_NS,
                (episode.last_ps - episode.first_ps) // PS_PER_NS,
                episode.depth,
                sum(node.pauses for node in episode.nodes),
                episode.paused_ps // PS_PER_NS,
                len(blast.hosts),
                blast.messages,
                blast.victims,
            )
        )
    columns = (
        Column("origin", "Origin"),
        Column("class", "Class", Unit.COUNT),
        Column("cause", "Cause"),
        Column("first_ns", "From", Unit.NS),
        Column("lasted_ns", "Lasted", Unit.NS),
        Column("depth", "Cables deep", Unit.COUNT),
        Column("pauses", "Pauses", Unit.COUNT),
        Column("paused_ns", "Port time paused", Unit.NS),
        Column("hosts", "Hosts", Unit.COUNT),
        Column("messages", "Messages", Unit.COUNT),
        Column("victims", "Victims", Unit.COUNT),
    )
    return Table(
        "episodes",
        "Every pause tree",
        columns,
        tuple(rows),
        "A tree joins pauses of one origin until nothing of it was paused for 100us. Victims are messages "
        "that waited although they never pass the origin.",
    )


def pause_map(evidence: Evidence) -> Map:
    """The fabric with every interval of every pause tree, for its replay."""
    fabric = evidence.fabric
    received = evidence.counter("pfc_rx_paused_ns")
    end_ns = max(evidence.end_ns, 1)
    by_port: dict[int, float] = {}
    for (port, _), value in received.items():
        by_port[port] = max(by_port.get(port, 0.0), value / end_ns)
    largest = evidence.episodes[0].paused_ps if evidence.episodes else 0
    origins = {
        int(fabric.node_of(episode.origin.port).id)
        for episode in evidence.episodes[:MAX_TREES]
        if episode.paused_ps >= RINGED_RATIO * largest
    }
    nodes = []
    for node in fabric.nodes:
        stood = max((by_port.get(port, 0.0) for port in node.ports), default=0.0)
        status = Status.BAD if node.id in origins else Status.WARNING if node.is_host and stood else Status.NEUTRAL
        nodes.append(MapNode(node.name, node.role.value, max(node.tier, 1) if not node.is_host else 0, status))
    links = tuple(
        MapLink(
            fabric.ports[link.a].node,
            fabric.ports[link.b].node,
            link.rate_bps,
            by_port.get(link.a, 0.0),
            by_port.get(link.b, 0.0),
        )
        for link in fabric.links
    )
    stills = _stills(evidence)
    start = min((still.start_ns for still in stills), default=0)
    stop = max((still.end_ns for still in stills), default=1)
    margin = max((stop - start) // 100, 1)
    return Map(
        "replay",
        "Replay of the pauses",
        tuple(nodes),
        links,
        stills,
        tuple(sorted(origins)),
        max(start - margin, 0),
        stop + margin,
        "Time runs slower with more events: half of the slider follows the clock, half the number of events.",
    )


def _stills(evidence: Evidence) -> tuple[Still, ...]:
    """Every interval of every tree; gaps too short to be visible are closed."""
    fabric = evidence.fabric
    held: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for tree, episode in enumerate(evidence.episodes):
        for node in episode.nodes:
            held.setdefault((int(node.port), tree), []).extend(node.held)
    count = sum(len(spans) for spans in held.values())
    gap_ps = 0
    while True:
        joined = {key: _close(sorted(spans), gap_ps) for key, spans in held.items()}
        total = sum(len(spans) for spans in joined.values())
        if total <= MAX_STILLS or total == len(joined):
            break
        gap_ps = gap_ps * 2 or max(evidence.end_ps // max(count, 1), 1)
    found = [
        Still(
            fabric.ports[port].link,
            fabric.links[fabric.ports[port].link].a == port,
            start // PS_PER_NS,
            max(stop // PS_PER_NS, start // PS_PER_NS + 1),
            tree,
        )
        for (port, tree), spans in joined.items()
        for start, stop in spans
    ]
    return tuple(sorted(found, key=lambda still: (still.start_ns, still.link)))


def _close(spans: list[tuple[int, int]], gap_ps: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and start - joined[-1][1] <= gap_ps:
            joined[-1] = (joined[-1][0], max(joined[-1][1], stop))
        else:
            joined.append((start, stop))
    return joined

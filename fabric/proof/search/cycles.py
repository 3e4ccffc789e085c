"""Cyclic buffer dependencies of the configurations' routes, also after each single link has failed, and their traffic.

A port waits for the next one where packets that came in by the first go on over the second; a cycle of such waits among
ports that pause RoCE can stop for ever (Hu et al., HotNets 2016; Guo et al., SIGCOMM 2016, section 4.2). For each wait
of a cycle a flow is taken from the routes that goes over both ports. Receivers are held paused until every buffer of
the cycle is full, then let go: what still waits afterwards is a deadlock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fabric.configs.model import Place
from fabric.configs.network import End
from fabric.proof.cut import Cut, Cutter
from fabric.proof.files import scenario_text
from fabric.proof.lowering.lower import Lowering, lower
from fabric.proof.outcome import Loss, simulate
from fabric.proof.recipe import slowest_mbps, threshold_bytes, time_us
from fabric.proof.recipes.chain import sentence
from fabric.proof.search.bench import EXPECTED
from fabric.proof.search.runs import Hit, Runs
from fabric.topology.cycles import cycles
from fabric.units import count
from fabric.validate.facts import Facts
from fabric.validate.paths import Routes
from fabric.validate.trees import Hop, Tree

Step = tuple[End, End]
"""(port that packets leave by, port that they enter)."""
_STORM_US: Final = 10.0
_SETTLE_US: Final = 500.0
_TIMES_A_GROUP: Final = 4
"""Bytes of a flow, of what one group takes."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cyclic buffer dependency, and what its traffic did."""

    ports: tuple[End, ...]
    """Ingress ports, each waiting for the next."""
    failed: Step | None
    """The link without which it appears; None: it is there without a failure."""
    others: int = 0
    """Further links of which the failure leaves the same cycle."""
    outcome: str = ""
    """What the traffic did."""

    @property
    def text(self) -> str:
        """'leaf1:Ethernet0 → spine1:Ethernet8 → ..., after a:b--c:d has failed'."""
        shown = " → ".join(":".join(end) for end in (*self.ports, self.ports[0]))
        if self.failed is None:
            return shown
        others = "one other link" if self.others == 1 else f"one of {self.others} other links"
        more = f", or {others}," if self.others else ""
        return f"{shown}, after {':'.join(self.failed[0])}--{':'.join(self.failed[1])}{more} has failed"


@dataclass(frozen=True, slots=True)
class Waits:
    """Every cycle that was found."""

    cycles: tuple[Cycle, ...]
    links: int
    """Links between switches, each of which was taken away once."""

    @property
    def summary(self) -> str:
        """One line."""
        cases = f"with all links, and without each of {count(self.links, 'link')}"
        if not self.cycles:
            return f"cyclic buffer dependencies of lossless ports: none, {cases}"
        return f"cyclic buffer dependencies of lossless ports: {len(self.cycles)}, {cases}"


def waits(facts: Facts, dscp: int) -> Waits:
    """The cycles of all links, then those of each single failure that are not among them."""
    hops = [hop for its in facts.routes.hops.values() for hop in its]
    links = sorted({min((hop.out, hop.into), (hop.into, hop.out)) for hop in hops})
    found: dict[tuple[End, ...], Cycle] = {it: Cycle(it, None) for it in _cycles(facts, facts.routes, dscp)}
    usual = set(found)
    for a, b in links:
        if not _alone(facts.routes, a, b):
            continue  # another link between the two carries the same packets
        if not facts.routes.gains(a, b):
            continue  # packets take fewer hops than before, and wait for no other port
        for cycle in _cycles(facts, facts.routes.without(frozenset((a, b))), dscp):
            if cycle not in usual:
                known = found.get(cycle)
                found[cycle] = Cycle(cycle, (a, b)) if known is None else replace(known, others=known.others + 1)
    return Waits(tuple(found.values()), len(links))


def _alone(routes: Routes, a: End, b: End) -> bool:
    return sum(hop.into[0] == b[0] for hop in routes.hops.get(a[0], ())) == 1


def _cycles(facts: Facts, routes: Routes, dscp: int) -> list[tuple[End, ...]]:
    """Of ports that pause RoCE."""
    graph = routes.buffer_graph()
    lossy = [it for it in graph if (line := facts.line(it)) is None or facts.lossless_class(line, dscp)[1] is None]
    graph.remove_nodes_from(lossy)
    return [tuple(it) for it in cycles(graph)]


# Traffic --------------------------------------------------------------------------------------------------------------


def flows(routes: Routes, cycle: Cycle) -> list[tuple[Step, ...]]:
    """For each wait of a cycle the shortest path of the routes over both of its ports."""
    found = []
    for number, port in enumerate(cycle.ports):
        after = cycle.ports[(number + 1) % len(cycle.ports)]
        paths = (path for tree in routes.trees for path in _over(routes, tree, port, after))
        best = min(paths, key=lambda it: (len(it), it), default=None)
        if best is not None:
            found.append(best)
    return list(dict.fromkeys(found))


def _over(routes: Routes, tree: Tree, port: End, after: End) -> Iterator[tuple[Step, ...]]:
    """Paths of a tree that enter by `port`, then by `after`."""
    onward = next((hop for hop in tree.next_hops.get(port[0], ()) if hop.into == after), None)
    if onward is None:
        return
    before = _before(routes, tree)
    for at in before:
        first = next((hop for hop in tree.next_hops.get(at, ()) if hop.into == port), None)
        if first is None:
            continue
        way = [first, onward]
        while (hop := before[way[0].out[0]]) is not None:
            way.insert(0, hop)
        seen = {hop.out[0] for hop in way}
        while way[-1].into[0] not in tree.ends and way[-1].into[0] not in seen:
            seen.add(way[-1].into[0])
            more = tree.next_hops.get(way[-1].into[0], ())
            if not more:
                break
            way.append(more[0])
        if way[-1].into[0] in tree.ends:
            yield tuple((hop.out, hop.into) for hop in way)


def _before(routes: Routes, tree: Tree) -> dict[str, Hop | None]:
    """Each switch that packets come to, with the hop by which they do; None for a switch with hosts."""
    found: dict[str, Hop | None] = dict.fromkeys(routes.edges)
    queue = list(found)
    for name in queue:
        for hop in tree.next_hops.get(name, ()):
            if hop.into[0] not in found:
                found[hop.into[0]] = hop
                queue.append(hop.into[0])
    return found


@dataclass(frozen=True, slots=True)
class _Filled:
    """A cycle's cut-out with its traffic."""

    cut: Cut
    lowering: Lowering
    pairs: Sequence[tuple[str, str]]
    room_bytes: int

    def scenario(self, name: str, seed: int, *, steady: bool) -> dict[str, Any]:
        """All flows at once; the receivers are paused until every buffer is full.

        Parameters
        ----------
        steady    senders keep their rate
        """
        size, rate = _TIMES_A_GROUP * self.room_bytes, slowest_mbps(self.cut)
        storm_us = time_us(size * len(self.pairs), rate) + _SETTLE_US
        duration_us = storm_us + 2 * time_us(size * len(self.pairs), rate) + _SETTLE_US
        raw: dict[str, Any] = {"name": name, "description": "", **self.lowering.sections}
        if steady:
            raw["transport"] = {**raw["transport"], "cc": "none"}
        raw["workload"] = [
            {
                "kind": "messages",
                "name": "roce",
                "messages": [{"src": a, "dst": b, "size": f"{size}B", "start": "1us"} for a, b in self.pairs],
            }
        ]
        held = list(dict.fromkeys(b for _, b in self.pairs))
        raw["faults"] = [
            {"kind": "pause-storm", "hosts": held, "at": f"{_STORM_US}us", "duration": f"{round(storm_us)}us"}
        ]
        raw["run"] = {"duration": f"{round(duration_us * 1000)}ns", "seed": seed, "stop": "duration"}
        raw["telemetry"] = {"interval": f"{max(10_000, round(duration_us * 10))}ns"}
        raw["expectations"] = list(EXPECTED)
        return raw


def fill(facts: Facts, cutter: Cutter, cycle: Cycle, dscp: int, runs: Runs) -> Cycle:
    """Put the traffic of a cycle on its cut-out; a standstill is kept among the losses, and so are frames that are lost
    while it fills. Raises: NoCutError.
    """
    routes = facts.routes if cycle.failed is None else facts.routes.without(frozenset(cycle.failed))
    paths = flows(routes, cycle)
    cut, pairs = cutter.woven(paths)
    device, port = cycle.ports[0]
    room = int(threshold_bytes(cut.network.devices[device], cut.network.devices[device].ports[port], 3))
    filled = _Filled(cut, lower(cut, dscp), pairs, room)
    more = "" if cycle.failed is None else "-".join(("without", *cycle.failed[0]))
    hit = Hit("cycle", device, "deadlock", port, "", "", "", place=_place(facts, cycle.ports[0]), more=more)
    for steady in (False, True):
        raw = filled.scenario(hit.name, runs.seed, steady=steady)
        runs.count += 1
        run = simulate(raw, "search.yml")
        condition = "only if senders do not cut their rate" if steady else ""
        if run.cycle:
            stuck = " → ".join(run.fabric.port_name(it) for it, _ in run.cycle)
            undone = run.count("messages.total") - run.count("messages.done")
            text = (
                f"{stuck} wait for each other, and nothing moves; {count(len(pairs), 'message')} of "
                f"{_TIMES_A_GROUP * room:,} B, {undone} of them never completed"
            )
            if cycle.failed is not None:
                text += f"; after {':'.join(cycle.failed[0])}--{':'.join(cycle.failed[1])} has failed"
            heads = [f"Search, cycle: {text}", f"As configured: {cycle.text}", *_notes(cycle)]
            scenario = scenario_text(raw, heads, filled.lowering.origins)
            runs.hits["cycle", cycle.text, "deadlock"] = replace(hit, text=text, condition=condition, scenario=scenario)
            return replace(cycle, outcome=f"deadlock ({condition})" if condition else "deadlock")
        if run.count("drops.lossless"):
            lost = _lost(facts, cycle, run.losses()[0], condition)
            heads = [f"Search, cycle: {lost.text}", f"As configured: {cycle.text}", *_notes(cycle)]
            scenario = scenario_text({**raw, "name": lost.name}, heads, filled.lowering.origins)
            runs.hits["cycle", cycle.text, lost.reason] = replace(lost, scenario=scenario)
            outcome = f"{count(run.count('drops.lossless'), 'frame')} lost before it closes"
            return replace(cycle, outcome=f"{outcome} ({condition})" if condition else outcome)
    return replace(cycle, outcome="the traffic that fills it drains again")


def _lost(facts: Facts, cycle: Cycle, loss: Loss, condition: str) -> Hit:
    """Frames that are lost while a cycle fills, by where most of them are; without its scenario."""
    port = loss.port.partition(":")[2]
    first = ("at", *cycle.ports[0]) if cycle.failed is None else ("without", *cycle.failed[0])
    return Hit(
        "cycle",
        loss.switch,
        loss.reason,
        port,
        f"{sentence(loss)}, while the cycle {cycle.text} fills",
        condition,
        "",
        place=_place(facts, (loss.switch, port)),
        more="-".join(first),
    )


def _notes(cycle: Cycle) -> Iterator[str]:
    yield "The run ends before the detection time of a usual watchdog."
    yield "Each flow takes one of the equal paths of its route, as a hash may choose."
    if cycle.failed is not None:
        yield "Routes are those after the failure, when BGP has converged; the failed link is left out."


def _place(facts: Facts, end: End) -> Place | None:
    line = facts.line(end)
    return None if line is None else line.device.place(line.port.where)

"""Mutated workloads of a small whole fabric: two leaves and two spines, with hosts at both leaves.

A storm or an incast at one host pauses what is behind it, tier by tier. What is climbed is how far that spreads: hosts
that are paused although they send nothing to that host, then links between switches that are paused although nothing to
it goes over them. Both lose nothing by themselves, so a spread sets no exit code; a loss or a deadlock does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from fabric.proof.cut import Cutter
from fabric.proof.files import scenario_text
from fabric.proof.outcome import simulate
from fabric.proof.recipe import time_us
from fabric.proof.search.adversary import Aim, Genome, Message, Score, Tried, traffic_of
from fabric.proof.search.bench import Bench
from fabric.proof.search.classes import Member
from fabric.proof.search.rungs import Rungs
from fabric.proof.search.runs import Hit, Runs, hot_pairs
from fabric.units import count

MOST_HOSTS: Final = 4
"""Of a leaf."""
_STORM_US: Final = 5.0
_TIERS: Final = 3
"""Switches on a path, each of which takes a group's bytes before the one before it waits."""


@dataclass(frozen=True, slots=True)
class Pod:
    """Two leaves, two spines, and what begins a hunt."""

    bench: Bench
    near: tuple[str, ...]
    """Hosts of the leaf without the hot host."""
    far: tuple[str, ...]
    """Hosts of the leaf with the hot host, which is left out."""

    @property
    def hot(self) -> str:
        """The host that is sent to by an incast, and that holds its link paused in a storm."""
        return self.bench.cut.receiver

    @property
    def name(self) -> str:
        """'leaf1, leaf2, spine1, spine2'."""
        return ", ".join(sorted(self.bench.cut.network.devices))

    def first(self) -> tuple[Genome, ...]:
        """Storm and incast, over the spines, from the hot host's leaf, and from both; two hosts send to each other."""
        size = _TIERS * self.bench.fill_bytes
        storm = (("pause-storm", self.hot, _STORM_US, round(1.2 * time_us(size, self.bench.mbps), 3)),)
        beside = (*_pairs(self.near[:1], self.far, size), *_pairs(self.far, self.near[:1], size))
        found = []
        for senders in (self.near[1:], self.far, (*self.near[1:], *self.far)):
            rows = tuple((host, self.hot, size, 1.0) for host in senders)
            found += [Genome((*rows, *beside), faults) for faults in (storm, ()) if rows]
        return tuple(found)

    def aim(self) -> Aim:
        """For `hunt`."""
        return Aim("pod", self.first(), score)


def _pairs(sources: tuple[str, ...], to: tuple[str, ...], size: int) -> tuple[Message, ...]:
    return tuple((src, dst, size, 1.0) for src, dst in zip(sources, to, strict=False))


def score(bench: Bench, it: Rungs) -> Score:
    """What is climbed; the first entry decides."""
    used = it.headroom_bytes / max(1, it.headroom_of_bytes)
    filled = it.depth_bytes / max(1, bench.fill_bytes)
    counts = it.deadlock, it.victims, it.idle_links, it.links, it.lost, it.storms
    return *map(float, counts), used, filled, float(it.pause_us is not None), float(it.mark_us is not None)


def pod_at(cutter: Cutter, member: Member, dscp: int) -> Pod:
    """Two paths from the hosts of a class's switch to those of another one. Raises: NoCutError."""
    cut = cutter.diamond(member.device, member.port, MOST_HOSTS)
    near = cut.senders
    bench = Bench(member, cut, dscp, near[0], (*near[1:], *cut.bulk))
    return Pod(bench, near, cut.bulk)


def spread(pod: Pod, runs: Runs, best: Tried) -> Hit | None:
    """The workload whose pauses spread furthest, as a scenario; None where no pause goes beyond its cause.

    Hosts that are paused without the hot ports' messages and faults, too, are not counted: other links cannot keep up
    there. `fabric run` exits with 1 where hosts are counted: more are paused than those that send to hot ports.
    """
    traffic = traffic_of(pod.bench, best.genome, "pod")
    hot = hot_pairs(pod.bench, traffic)
    rest = replace(traffic, faults=(), messages=tuple(it for it in traffic.messages if it[:2] not in hot))
    alone = runs.run(pod.bench, rest) if rest.messages else None
    held = [it for it in best.rungs.held if alone is None or it not in alone.held]
    links = best.rungs.idle_links if alone is None or not alone.links else 0
    if not (held or links):
        return None
    cut = pod.bench.cut
    sources = {src for src, _ in hot}
    ports = sorted({":".join(cut.hosts[dst]) for _, dst in hot})
    parts = [f"paused although they send nothing there: {', '.join(held)}"] if held else []
    parts += [f"{links} of {best.rungs.links} paused directions of links carry nothing there"] if links else []
    text = f"{', '.join(ports)} cannot keep up with {count(len(sources), 'host')}; {'; '.join(parts)}"
    device, port = cut.hosts[pod.hot]
    at = cut.network.devices[device]
    hit = Hit("pod", device, "spread", port, text, "", "", loses=False, place=at.place(at.ports[port].where))
    raw = pod.bench.scenario(traffic, hit.name, seed=runs.seed)
    if held:
        paused = simulate(raw, "search.yml").count("pfc.paused_hosts")
        raw["expectations"] = [*raw["expectations"], f"pfc.paused_hosts <= {max(0, paused - len(held))}"]
    heads = [f"Search, pod: {text}", f"As configured: {pod.name}"]
    return replace(hit, scenario=scenario_text(raw, heads, pod.bench.lowering.origins))

"""`fabric validate --prove` without a finding: ladders and margins of every class of ports, then mutated workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from fabric.configs.model import Place
from fabric.configs.network import Network
from fabric.errors import FabricError, InputErrors
from fabric.proof.cut import Cutter, NoCutError
from fabric.proof.recipe import DEFAULT_DSCP
from fabric.proof.search.adversary import Score, hunt
from fabric.proof.search.bench import Bench, bench_at, failover_at
from fabric.proof.search.classes import MOST_SENDERS, Member, members
from fabric.proof.search.cycles import Waits, fill, waits
from fabric.proof.search.families import FAMILIES, failover, tries
from fabric.proof.search.margins import OF_SEVERAL, QUANTITIES, Margin
from fabric.proof.search.pod import pod_at, spread
from fabric.proof.search.rungs import Rungs
from fabric.proof.search.runs import Hit, Runs
from fabric.validate.facts import Facts

DEFAULT_RUNS: Final = 200
"""Mutated workloads of a whole search."""
_LEAST_FOR_ONE: Final = 20
"""Mutated workloads for one switch, where the budget allows it."""
_SHARE_OF_A_POD: Final = 4
"""Part of the mutated workloads, as many more, that two leaves and two spines get."""
_MOST_CYCLES: Final = 8
"""Cyclic buffer dependencies that are simulated; the others are listed."""
_RUNS_OF_A_STEP: Final = 10
"""A guess, for the time that is left."""
Tell = Callable[[int, int, str], None]
"""(work done, work in all, what comes next)."""


@dataclass(frozen=True, slots=True)
class Row:
    """The worst traffic of one family."""

    family: str
    label: str
    tried: int
    rungs: Rungs


@dataclass
class ClassFound:
    """What a search found of one class of ports."""

    member: Member
    rows: list[Row] = field(default_factory=list)
    margins: list[Margin] = field(default_factory=list)
    omitted: list[str] = field(default_factory=list)
    """Families that were not tried, and why."""
    place: Place | None = None
    """Of the port that is simulated."""

    @property
    def senders(self) -> int:
        """Of the widest incast."""
        return min(self.member.kind.ports - 1, MOST_SENDERS)


@dataclass
class Hunted:
    """Mutated workloads of one switch or pod, so far."""

    device: str
    """Or all of a pod."""
    runs: int
    score: Score
    rungs: Rungs
    """Of the best one."""


@dataclass
class Found:
    """Everything that a search found so far."""

    seed: int
    budget: int
    classes: list[ClassFound] = field(default_factory=list)
    hunted: list[Hunted] = field(default_factory=list)
    pod: Hunted | None = None
    """Of two leaves and two spines."""
    hits: list[Hit] = field(default_factory=list)
    omitted: list[str] = field(default_factory=list)
    waits: Waits | None = None
    """Cyclic buffer dependencies; None: not searched for."""
    assumed: tuple[str, ...] = ()
    runs: int = 0
    complete: bool = False
    """False where Ctrl-C ended the search."""

    @property
    def certain(self) -> list[Hit]:
        """Losses with every response of the peers."""
        return [it for it in self.losses if not it.condition]

    @property
    def losses(self) -> list[Hit]:
        """Losses and deadlocks: without the pauses that spread."""
        return [it for it in self.hits if it.loses]


Step = tuple[str, int, Callable[[], None]]
"""(what it does, its runs, itself)."""


class Search:
    """The steps of one search, in their order."""

    def __init__(self, network: Network, seed: int, budget: int) -> None:
        self.facts = Facts(network)
        self.cutter = Cutter(self.facts)
        known = self.facts.roce_dscps or network.roce_dscps
        self.dscp = known[0] if known else DEFAULT_DSCP
        self.runs = Runs(seed)
        self.found = Found(seed, budget)
        rows, self.found.omitted = members(self.facts, self.cutter, self.dscp)
        devices = network.devices
        self.found.classes = [
            ClassFound(it, place=devices[it.device].place(devices[it.device].ports[it.port].where)) for it in rows
        ]
        self._benches: dict[str, Bench] = {}

    def carry_out(self, tell: Tell) -> Found:
        """Every step; Ctrl-C ends it with what was found."""
        steps = list(self._steps())
        total, done = sum(work for _, work, _ in steps), 0
        try:
            for text, work, step in steps:
                tell(done, total, text)
                self._guarded(text, step)
                done += work
            self.found.complete = True
        except KeyboardInterrupt:
            self.found.complete = False
        self.found.runs, self.found.hits = self.runs.count, list(self.runs.hits.values())
        return self.found

    def _guarded(self, text: str, step: Callable[[], None]) -> None:
        """What no scenario can be made of is left out, and said."""
        try:
            step()
        except InputErrors as error:
            one = error.problems[0]
            self.found.omitted.append(f"{text}: no scenario can be made of it: {one.path}: {one.text}")
        except FabricError as error:
            if error.exit_code != InputErrors.exit_code:
                raise
            self.found.omitted.append(f"{text}: {error.text}")

    def _cycles(self) -> None:
        """The cycles of waits, and the traffic of the first ones."""
        self.found.waits = found = waits(self.facts, self.dscp)
        for number, cycle in enumerate(found.cycles[:_MOST_CYCLES]):
            told = [*self.found.waits.cycles]
            try:
                told[number] = fill(self.facts, self.cutter, cycle, self.dscp, self.runs)
            except FabricError as error:
                if error.exit_code != InputErrors.exit_code and not isinstance(error, NoCutError):
                    raise
                told[number] = replace(cycle, outcome=f"not simulated: {error.text}")
            self.found.waits = replace(found, cycles=tuple(told))

    def _steps(self) -> Iterator[Step]:
        if self.found.classes:
            yield "cyclic buffer dependencies", _RUNS_OF_A_STEP, self._cycles
        for it in self.found.classes:
            where = f"{it.member.device} {it.member.port}"
            for family in FAMILIES:
                yield f"{family} at {where}", _RUNS_OF_A_STEP, partial(self._family, it, family)
            for name in QUANTITIES:
                if it.member.kind.ports > 2 or name not in OF_SEVERAL:
                    yield f"margin of the {name} at {where}", _RUNS_OF_A_STEP, partial(self._margin, it, name)
        if not self.found.budget:
            return
        if any(it.member.kind.peer == "switch" for it in self.found.classes):
            share = max(_LEAST_FOR_ONE, self.found.budget // _SHARE_OF_A_POD)
            yield "mutated workloads of two leaves and two spines", share, partial(self._pod, share)
        devices = list(dict.fromkeys(it.member.device for it in self.found.classes if it.member.kind.ports > 2))
        if not devices:
            return
        share = max(min(_LEAST_FOR_ONE, self.found.budget), self.found.budget // len(devices))
        for device in devices[: max(1, self.found.budget // share)]:
            yield f"mutated workloads at {device}", share, partial(self._hunt, device, share)

    def _bench(self, member: Member) -> Bench:
        name = f"{member.device}:{member.port}"
        if name not in self._benches:
            self._benches[name] = bench_at(self.cutter, member, self.dscp)
            assumed = (*self.found.assumed, *self._benches[name].lowering.assumed)
            self.found.assumed = tuple(dict.fromkeys(assumed))
        return self._benches[name]

    def _family(self, it: ClassFound, family: str) -> None:
        if family == "failover":
            if it.member.kind.peer == "host":
                it.omitted.append("failover: it is a link to a host")
                return
            try:
                bench = failover_at(self.cutter, it.member, self.dscp)
            except NoCutError as error:
                it.omitted.append(f"failover: {error.text}")
                return
            found = [(traffic := failover(bench), self.runs.run(bench, traffic))]
        else:
            bench = self._bench(it.member)
            found = [(traffic, self.runs.run(bench, traffic)) for traffic in tries(bench, family)]
        if not found:
            it.omitted.append(f"{family}: the switch has no other port for it")
            return
        self.runs.keep_one(bench, [pair for pair in found if pair[1].bad])
        traffic, rungs = max(found, key=lambda pair: _hardness(pair[1]))
        it.rows.append(Row(family, traffic.label, len(found), rungs))

    def _margin(self, it: ClassFound, name: str) -> None:
        it.margins.append(QUANTITIES[name](self._bench(it.member), self.runs))

    def _pod(self, budget: int) -> None:
        """The first class of ports between switches that has a second path to a switch with hosts."""
        reasons = []
        for it in self.found.classes:
            if it.member.kind.peer == "switch":
                try:
                    pod = pod_at(self.cutter, it.member, self.dscp)
                except NoCutError as error:
                    reasons.append(error.text)
                    continue
                before = self.runs.count
                best = None
                for best in hunt(pod.bench, self.runs, budget, pod.aim()):
                    self.found.pod = Hunted(pod.name, self.runs.count - before, best.score, best.rungs)
                if best is not None and (hit := spread(pod, self.runs, best)) is not None:
                    self.runs.hits[hit.family, hit.device, hit.reason] = hit
                return
        self.found.omitted.append(f"two leaves and two spines: {reasons[0]}")

    def _hunt(self, device: str, budget: int) -> None:
        member = next(it.member for it in self.found.classes if it.member.device == device)
        before = self.runs.count
        row: Hunted | None = None
        for best in hunt(self._bench(member), self.runs, budget):
            if row is not None:
                self.found.hunted.remove(row)
            row = Hunted(device, self.runs.count - before, best.score, best.rungs)
            self.found.hunted.append(row)


def _hardness(it: Rungs) -> tuple[float, ...]:
    return it.lost, it.headroom_bytes / max(1, it.headroom_of_bytes), it.depth_bytes

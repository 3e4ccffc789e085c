"""The file of a case of a plan for whole fabrics: hosts, traffic and checks, as one strict model."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from fabric.qualify.expression import Measured
from fabric.qualify.names import MEASURES
from fabric.qualify.schema import CheckSpec, Texts
from fabric.topology.quantities import SizeBytes, TimePs
from fabric.topology.select import nearest
from fabric.topology.spec import Line, Name, Strict

Operation = Literal["all-reduce", "all-gather", "all-to-all", "reduce-scatter"]
Part = Literal["odd", "even", "first half", "second half"]
LeafNumber = Annotated[int, Field(ge=1)]
PATTERNS: Final = ("across", "in turn", "partners", "collective")
_MESSAGE: Final = frozenset({"across", "in turn", "partners"})


class LoadSpec(Strict):
    """Traffic of one kind."""

    pattern: Literal["across", "in turn", "partners", "collective"] = Field(
        description="across: every host to hosts of other leaves; in turn: every host receives in a slot of its own; "
        "partners: host i to the host half of the fabric further; collective: all hosts are ranks."
    )
    traffic: Literal["roce", "beside"] = Field("roce", description="beside: datagrams with DSCP 0.")
    message: Annotated[SizeBytes, Field(gt=0)] | None = Field(
        None, description="Bytes of a message of RoCE; of a collective its size for each rank."
    )
    share: float | None = Field(None, gt=0, le=1, description="Of a sender's rate, for datagrams.")
    frame: Annotated[SizeBytes, Field(ge=64)] = Field(1024, description="Of datagrams, Ethernet header to FCS.")
    fan: int | None = Field(None, ge=1, description="At most so many receivers (across) or senders (in turn) a host.")
    receivers: int | None = Field(None, ge=1, description="In turn: only the first so many hosts receive.")
    at: TimePs = Field(0, ge=0, description="Begins so much later; as lasts of the run.")
    skip: int = Field(0, ge=0, description="In turn: the first so many senders are left out.")
    each: bool = Field(False, description="Datagrams: every sender sends share of its rate; else all of them together.")
    near: bool = Field(False, description="In turn: senders of the receiver's own leaf first, not of other leaves.")
    once: bool = Field(False, description="One message to each receiver, not as many as the time holds.")
    operation: Operation | None = Field(None, description="Of a collective.")
    algorithm: str | None = Field(None, min_length=1, description="Of a collective, as docs/collectives.md has it.")
    part: Part | None = Field(None, description="Of a collective: the hosts that are its ranks; all where absent.")

    leaves: Annotated[tuple[LeafNumber, LeafNumber], Field(strict=False)] | None = Field(
        None, description="Of a collective: only hosts of the first to the last of these leaves, counted from 1."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        problems = []
        datagrams = self.share is not None
        if self.traffic == "beside" and not datagrams:
            problems.append("traffic: beside is of datagrams; give share")
        if datagrams == (self.message is not None):
            problems.append("message and share are both given, or neither; give one of them")
        if self.pattern == "collective" and (self.operation is None or self.algorithm is None or datagrams):
            problems.append("pattern: collective needs operation, algorithm and message; give them")
        if self.pattern != "collective" and (self.operation is not None or self.algorithm is not None):
            problems.append("operation and algorithm are of pattern: collective; leave them out")
        if self.pattern != "collective" and self.part is not None:
            problems.append("part is of pattern: collective; leave it out")
        if self.pattern != "collective" and self.leaves is not None:
            problems.append("leaves is of pattern: collective; leave it out")
        if self.leaves is not None and self.leaves[0] > self.leaves[1]:
            problems.append(f"leaves {list(self.leaves)} ends before it begins; write the first and the last")
        if self.fan is not None and self.pattern not in {"across", "in turn"}:
            problems.append(f"fan has no effect with pattern: {self.pattern}; leave it out")
        if self.receivers is not None and self.pattern != "in turn":
            problems.append(f"receivers has no effect with pattern: {self.pattern}; leave it out")
        if self.skip and self.pattern != "in turn":
            problems.append(f"skip has no effect with pattern: {self.pattern}; leave it out")
        if self.each and not datagrams:
            problems.append("each is of datagrams; leave it out, or give share")
        if self.near and self.pattern != "in turn":
            problems.append(f"near has no effect with pattern: {self.pattern}; leave it out")
        if problems:
            raise ValueError("\n".join(problems))
        return self


class PausedSpec(Strict):
    """Hosts that send PAUSE of RoCE's class without a gap."""

    hosts: Literal["all", "odd", "even"] = Field(description="Counted from 1.")
    at: TimePs = Field(ge=0, description="The first frame.")
    lasts: TimePs = Field(gt=0, description="Until the last one.")


class CutSpec(Strict):
    """A cable between switches that goes down and stays down: the first one of the first leaf."""

    at: TimePs = Field(gt=0, description="As lasts.")


class RunSpec(Strict):
    """One run of a case."""

    name: Name = Field(description="Unique.")
    title: Line = Field(description="What differs.")
    loads: Annotated[tuple[LoadSpec, ...], Field(strict=False, min_length=1)] = Field(description="Traffic.")
    lasts: TimePs = Field(
        gt=0, description="Of the traffic; in turn: of the slot of one host. At 400G; at other rates in proportion."
    )
    fixed: bool = Field(False, description="Durations are the same at any rate: those of the watchdog.")
    ends: Literal["stopped", "drained", "still"] = Field(
        "stopped", description="stopped: after its time; drained: when all is delivered; still: when nothing moves."
    )
    window: Annotated[tuple[float, float], Field(strict=False)] = Field(
        (0.3, 0.9), description="Part of the time, or of each slot, in which rates are measured."
    )
    paused: PausedSpec | None = Field(None, description="Hosts that send PAUSE.")
    cut: CutSpec | None = Field(None, description="A cable that goes down.")
    queue_pairs: int = Field(1, ge=1, le=256, description="Of each pair of hosts.")
    ranks: Literal["every scale", "all"] = Field(
        "all", description="every scale: a run with 2, 4, 8 ... ranks, up to all hosts."
    )
    hosts: int = Field(2, ge=2, description="Fewest with which the run says something; it is left out with fewer.")
    leaves: int = Field(1, ge=1, description="Fewest switches with hosts; the run is left out with fewer.")
    hosts_most: int | None = Field(None, ge=2, description="At most so many hosts take part, of each leaf in turn.")
    watchdog: Literal["as configured", "off"] = Field("off", description="PFC watchdog of the switches.")
    long: bool = Field(False, description="Takes long: left out, and named as such, unless --case names the run.")

    @model_validator(mode="after")
    def _window(self) -> Self:
        problems = []
        if not 0 <= self.window[0] < self.window[1] <= 1:
            problems.append("window is not two parts of the time in their order; write [0.3, 0.9]")
        if any(it.leaves is not None and it.leaves[1] > self.leaves for it in self.loads):
            problems.append(f"a load is at leaves that a fabric of {self.leaves} has not; set leaves of the run higher")
        if self.ranks == "every scale" and any(it.pattern != "collective" for it in self.loads):
            problems.append("ranks: every scale is for one collective; leave it out")
        if problems:
            raise ValueError("\n".join(problems))
        return self


class FabricCaseSpec(Strict):
    """A case for a whole fabric."""

    case: Name = Field(description="Unique; the name of the file.")
    scope: Literal["fabric"] = Field(description="Tells it from a case for one switch.")
    title: Line = Field(description="What it is about.")
    source: Line = Field(description="Where it is from.")
    hosts: int = Field(2, ge=2, description="Fewest with which it says something.")
    leaves: int = Field(1, ge=1, description="Fewest switches with hosts.")
    runs: Annotated[tuple[RunSpec, ...], Field(strict=False, min_length=1)] = Field(description="Runs.")
    checks: Annotated[tuple[CheckSpec, ...], Field(strict=False, min_length=1)] = Field(description="Checks.")
    not_emulated: Texts = Field((), description="What is not done here, or not so.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = []
        names = [it.name for it in self.runs]
        for field, found in (("runs", names), ("checks", [it.id for it in self.checks])):
            if len(set(found)) < len(found):
                problems.append(f"{field} has a name twice; name each once")
        for check in self.checks:
            problems += [f"check {check.id} names run '{it}', which is not there; {nearest(it, names)}"
                         for it in check.scenarios if it not in names]  # fmt: skip
            sides = [side for demand in (*check.demands, *check.shown) for side in (demand.left, demand.right)]
            problems += [f"check {check.id}: {it} is a measure of one switch; name one of a whole fabric"
                         for it in sides if isinstance(it, Measured) and it.name not in FABRIC_MEASURES]  # fmt: skip
        if problems:
            raise ValueError("\n".join(problems))
        return self


FABRIC_MEASURES: Final = frozenset(name for name, it in MEASURES.items() if it.of_fabric)

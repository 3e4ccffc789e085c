"""The file of a case of a test plan: set-up, traffic and checks, as one strict model."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fabric.qualify.expression import Demand, Measured, parse
from fabric.qualify.names import MEASURES
from fabric.topology.quantities import SizeBytes, TimePs
from fabric.topology.select import nearest
from fabric.topology.spec import Line, Name, Strict

Kind = Literal["lossless", "lossy"]
Priority = Annotated[int, Field(ge=0, le=7)]
Priorities = Annotated[tuple[Priority, ...], Field(strict=False, min_length=1)]
Texts = Annotated[tuple[Line, ...], Field(strict=False)]
SIZES: Final = (256, 512, 1024, 2048, 4096)


def _known(text: str) -> str:
    """A demand whose measures exist. Raises: ValueError."""
    demand = parse(text)
    for side in (demand.left, demand.right):
        if isinstance(side, Measured):
            if side.name not in MEASURES:
                raise ValueError(f"no measure is called '{side.name}'; {nearest(side.name, list(MEASURES))}")
            if side.of not in MEASURES[side.name].of:
                raise ValueError(f"{side.name} is of {', '.join(MEASURES[side.name].of)}, not of '{side.of}'; use one")
    return text


DemandText = Annotated[str, AfterValidator(_known)]


class PortsSpec(Strict):
    """Ports of the switch under test."""

    least: int = Field(ge=2, le=512, description="Fewest with which the case says something.")
    default: int = Field(ge=2, le=512, description="Ports where --ports is not given, or as many as the switch has.")
    most: int | None = Field(None, ge=2, le=512, description="No more than these are of use; as many as there are.")
    even: bool = Field(False, description="An even number of them.")


class AnswersSpec(Strict):
    """Frames that answer: their DSCP, and the queue of the switch in which the plan expects them."""

    dscp: int = Field(ge=0, le=63, description="DSCP.")
    queue: Priority = Field(description="Queue whose counter the plan reads.")


class TimesSpec(Strict):
    """Duration in the plan and here."""

    plan: TimePs = Field(gt=0, description="Duration of the traffic in the plan.")
    simulated: TimePs = Field(
        gt=0, description="Duration of the traffic here at 400G; at other rates longer or shorter in proportion."
    )
    warm_up: TimePs = Field(gt=0, description="The measured window begins then; as simulated, at 400G.")
    agree: float = Field(
        0.05, gt=0, lt=1, description="Two halves of the window must agree within this share of the port's rate."
    )

    @model_validator(mode="after")
    def _window(self) -> Self:
        if self.warm_up * 2 > self.simulated:
            raise ValueError("warm_up is more than half of simulated; shorten it, so that a window is left")
        return self


class TrafficSpec(Strict):
    """Queue pairs of one kind."""

    kind: Kind = Field(description="What the plan holds these classes for.")
    priorities: Priorities = Field(description="Priorities, which are queues of the same number in the plan.")
    message: Annotated[SizeBytes, Field(gt=0)] = Field(description="Bytes of a message.")
    pairs: Literal["all", "odd", "even"] = Field("all", description="Pairs of ports that carry it, counted from 1.")
    each: Literal["all", "in turn"] = Field(
        "all", description="all: every sender has a queue pair of each priority; in turn: a pair has one of them."
    )
    without: Literal["run", "skip"] = Field(
        "run", description="Where the configuration lacks one of them: run with the others, or skip the scenario."
    )


class ScenarioSpec(Strict):
    """One run of a case."""

    name: Name = Field(description="As the plan calls it.")
    title: Line = Field(description="What differs.")
    traffic: Annotated[tuple[TrafficSpec, ...], Field(strict=False, min_length=1)] = Field(description="Queue pairs.")
    dcqcn: Literal["on", "off"] = Field("off", description="DCQCN of the tester's queue pairs.")
    marking: Literal["as configured", "off on the used queues"] = Field(
        "as configured", description="WRED profiles of the switch."
    )


class CheckSpec(Strict):
    """One check."""

    id: Name = Field(description="Its number in the plan.")
    title: Line = Field(description="What is demanded, in words.")
    holds: Annotated[tuple[DemandText, ...], Field(strict=False)] = Field((), description="It is green where all hold.")
    reports: Annotated[tuple[DemandText, ...], Field(strict=False)] = Field(
        (), description="Measures that are shown and never fail, as demands."
    )
    scenarios: Annotated[tuple[Name, ...], Field(strict=False)] = Field(
        (), description="Only in these; all where empty."
    )
    source: Line = Field(description="Where the plan has it.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.holds and not self.reports:
            raise ValueError("demands nothing; give holds, or reports for what is only shown")
        return self

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What it demands."""
        return tuple(map(parse, self.holds))

    @property
    def shown(self) -> tuple[Demand, ...]:
        """What it shows."""
        return tuple(map(parse, self.reports))


class CaseSpec(Strict):
    """A case of a plan."""

    case: Name = Field(description="As the plan calls it; the name of the file.")
    title: Line = Field(description="What it is about.")
    source: Line = Field(description="Where the plan is.")
    pattern: Literal["pairs", "incast"] = Field(
        description="pairs: the first port with the second, and so on, both ways; incast: all others to the last one."
    )
    ports: PortsSpec = Field(description="Ports of the switch under test.")
    lossless: Priorities = Field(description="Priorities that the plan holds for lossless; all others are lossy.")
    ack: AnswersSpec = Field(description="ACKs and NAKs.")
    cnp: AnswersSpec = Field(description="CNPs.")
    mtu: Annotated[SizeBytes, Field(description="RDMA path MTU: 256B, 512B, 1024B, 2048B or 4096B.")]
    times: TimesSpec = Field(description="Durations.")
    ends: Literal["drained", "stopped"] = Field(
        description="drained: the senders stop, and counters are read when everything is delivered; stopped: read "
        "under load."
    )
    scenarios: Annotated[tuple[ScenarioSpec, ...], Field(strict=False, min_length=1)] = Field(description="Runs.")
    checks: Annotated[tuple[CheckSpec, ...], Field(strict=False, min_length=1)] = Field(description="Checks.")
    not_emulated: Texts = Field((), description="Parts of the plan's text that are not done here, or not so.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = []
        names = [it.name for it in self.scenarios]
        for field, found in (("scenarios", names), ("checks", [it.id for it in self.checks])):
            if len(set(found)) < len(found):
                problems.append(f"{field} has a name twice; name each once")
        for check in self.checks:
            problems += [f"check {check.id} names scenario '{it}', which is not there; {nearest(it, names)}"
                         for it in check.scenarios if it not in names]  # fmt: skip
        if self.mtu not in SIZES:
            problems.append(f"mtu is none of {', '.join(map(str, SIZES))} B; use one of them")
        for scenario in self.scenarios:
            for traffic in scenario.traffic:
                if (traffic.kind == "lossless") != set(traffic.priorities).issubset(self.lossless):
                    problems.append(f"{scenario.name}: {traffic.kind} traffic of other priorities than lossless says")
                if traffic.pairs != "all" and self.pattern != "pairs":
                    problems.append(f"{scenario.name}: pairs: {traffic.pairs} is for pattern: pairs; leave it out")
        if problems:
            raise ValueError("\n".join(problems))
        return self

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

    fixed: bool = Field(False, description="No duration changes with the rate of the ports: those of the watchdog.")

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


class StreamSpec(Strict):
    """Datagrams of the tester at a constant rate, which only a pause slows down."""

    priorities: Priorities = Field(description="Those to which no DSCP leads are left out, unless they are lossless.")
    share: float = Field(gt=0, le=1, description="Of the port's rate, for each priority.")
    frame: Annotated[SizeBytes, Field(ge=64)] = Field(description="From Ethernet header to FCS.")
    ect: bool = Field(False, description="ECN-capable.")
    senders: int | None = Field(None, ge=1, description="Only the first so many.")
    fill: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="No stream, but one burst, which fills the queue to this part of its marking curve.",
    )
    stops: TimePs | None = Field(
        None, gt=0, description="Sent until then; as times.simulated. To the end where absent."
    )

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.fill is not None and self.stops is not None:
            raise ValueError("fill and stops are both given; leave out stops, a burst ends by itself")
        return self


class StormSpec(Strict):
    """PAUSE frames of the tester."""

    priorities: Priorities = Field(description="Priorities that they pause.")
    by: Literal["receivers", "all"] = Field("receivers", description="Ports of the tester that send them.")
    at: TimePs = Field(0, ge=0, description="The first frame; as times.simulated.")
    lasts: TimePs = Field(gt=0, description="As times.simulated.")
    quanta: int = Field(65_535, ge=1, le=65_535, description="Timer value.")
    rate: float | None = Field(
        None,
        gt=0,
        description="Frames per second, as a part of those that pause without a gap where each has 65,535 quanta; "
        "without a gap, and refreshed at half of the pause, where absent.",
    )
    duty: float | None = Field(
        None, gt=0, lt=1, description="Instead of rate: frames so far apart that the share of time in pause is this."
    )

    @model_validator(mode="after")
    def _one_pace(self) -> Self:
        if self.rate is not None and self.duty is not None:
            raise ValueError("rate and duty are both given; give one of them, or none for a pause without a gap")
        return self


class FlapSpec(Strict):
    """The cable of the first receiver goes down, and up again."""

    at: TimePs = Field(ge=0, description="As times.simulated.")
    lasts: TimePs = Field(gt=0, description="As times.simulated.")


class ScenarioSpec(Strict):
    """One run of a case."""

    name: Name = Field(description="As the plan calls it.")
    title: Line = Field(description="What differs.")
    traffic: Annotated[tuple[TrafficSpec, ...], Field(strict=False)] = Field((), description="Queue pairs.")
    streams: Annotated[tuple[StreamSpec, ...], Field(strict=False)] = Field((), description="Datagrams.")
    storms: Annotated[tuple[StormSpec, ...], Field(strict=False)] = Field((), description="PAUSE frames.")
    flap: FlapSpec | None = Field(None, description="A cable that goes down.")
    watchdog: Literal["as configured", "off"] = Field("as configured", description="PFC watchdog of the switch.")
    dcqcn: Literal["on", "off"] = Field("off", description="DCQCN of the tester's queue pairs.")
    marking: Literal["as configured", "off on the used queues"] = Field(
        "as configured", description="WRED profiles of the switch."
    )

    @property
    def stormed(self) -> frozenset[int]:
        """Priorities that the tester pauses."""
        return frozenset(it for storm in self.storms for it in storm.priorities)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.traffic and not self.streams:
            raise ValueError("sends nothing; give traffic or streams")
        return self


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
    if_any: bool = Field(False, description="Left out, and named, where nothing is there that it could be about.")
    source: Line = Field(description="Where the plan has it.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.holds and not self.reports:
            raise ValueError("demands nothing; give holds, or reports for what is only shown")
        return self

    def is_of(self, scenario: str) -> bool:
        """Whether it is made in a scenario (or run) of the case."""
        return not self.scenarios or scenario in self.scenarios

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What it demands."""
        return tuple(map(parse, self.holds))

    @property
    def shown(self) -> tuple[Demand, ...]:
        """What it shows."""
        return tuple(map(parse, self.reports))


class LeftOutSpec(Strict):
    """A case of a plan that cannot be emulated: it is named in every list and report, and never green."""

    case: Name = Field(description="As the plan calls it; the name of the file.")
    title: Line = Field(description="What it is about.")
    source: Line = Field(description="Where the plan is.")
    left_out: Line = Field(description="Why it cannot be emulated.")


class CaseSpec(Strict):
    """A case of a plan."""

    case: Name = Field(description="As the plan calls it; the name of the file.")
    title: Line = Field(description="What it is about.")
    source: Line = Field(description="Where the plan is.")
    pattern: Literal["pairs", "one way", "incast"] = Field(
        description="pairs: the first port with the second, and so on, both ways; one way: the first to the second; "
        "incast: all others to the last one."
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
                if traffic.pairs != "all" and self.pattern == "incast":
                    problems.append(f"{scenario.name}: pairs: {traffic.pairs} is for pattern: pairs; leave it out")
        if problems:
            raise ValueError("\n".join(problems))
        return self

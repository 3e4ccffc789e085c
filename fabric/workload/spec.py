"""What a user may ask of traffic: one strict model per entry of a scenario's `workload:` list."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fabric.topology.quantities import SizeBytes, TimePs
from fabric.topology.spec import Name, Strict

HostPatterns = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)]
MessageSize = Annotated[SizeBytes, Field(gt=0, le=2**40)]
ALL: tuple[str, ...] = ("*",)


class WorkloadBase(Strict):
    """What every workload has."""

    name: Name | None = Field(None, description="Unique; the kind where absent. Names the random streams and the "
                                                "messages.")
    priority: int | None = Field(None, ge=0, le=7, description="Traffic class; that of transport.dscp where absent.")


class _Starting(WorkloadBase):
    """Workloads that begin at a moment and may repeat."""

    start: TimePs = Field(0, description="First posting.")
    repeat: int = Field(1, ge=1, le=100_000, description="How many times in all.")
    interval: TimePs | None = Field(None, gt=0, description="Time between repetitions.")
    jitter: TimePs = Field(0, description="Each message starts later by a uniform draw from [0, jitter).")

    @model_validator(mode="after")
    def _interval_with_repeat(self) -> Self:
        if (self.repeat > 1) != (self.interval is not None):
            raise ValueError("interval has no effect with repeat: 1; give repeat too" if self.interval is not None
                             else f"repeat: {self.repeat} needs interval, such as '1ms'")
        return self


class IncastSpec(_Starting):
    """Many senders, one receiver."""

    kind: Literal["incast"]
    receiver: str = Field(min_length=1, description="Receiving host's name.")
    senders: HostPatterns | None = Field(None, description="Sending hosts, names or patterns; the receiver is left "
                                                           "out.")
    fan_in: int | None = Field(None, ge=1, description="Instead of senders: so many hosts drawn at random, anew each "
                                                       "time.")
    size: MessageSize = Field(description="Bytes of each message.")

    @model_validator(mode="after")
    def _who_sends(self) -> Self:
        if (self.senders is None) == (self.fan_in is None):
            raise ValueError("give exactly one of senders (['host*']) and fan_in (16)")
        return self


class PermutationSpec(_Starting):
    """Every host sends to one other host and receives from one."""

    kind: Literal["permutation"]
    hosts: HostPatterns = Field(ALL, description="Hosts that take part.")
    size: MessageSize = Field(description="Bytes of each message.")
    shift: int | None = Field(None, ge=1, description="Host i sends to host i + shift; a random derangement where "
                                                      "absent.")


class AllToAllSpec(_Starting):
    """Every host sends to every other."""

    kind: Literal["all-to-all"]
    hosts: HostPatterns = Field(ALL, description="Hosts that take part.")
    size: MessageSize = Field(description="Bytes from each host to each other host.")
    order: Literal["together", "rounds"] = Field(
        "together", description="together: all at once; rounds: host i sends to i + r once its message of round r - 1 "
                                "is done.")


class PoissonSpec(WorkloadBase):
    """Independent messages at Poisson arrivals, sizes from a distribution."""

    kind: Literal["poisson"]
    hosts: HostPatterns = Field(ALL, description="Hosts that send and receive.")
    sizes: Literal["websearch", "fb-hadoop", "file", "fixed"] = Field(description="Message size distribution.")
    cdf: str | None = Field(None, min_length=1, description="With sizes: file: lines of '<bytes> <percent>', "
                                                            "ascending.")
    size: MessageSize | None = Field(None, description="With sizes: fixed.")
    load: float = Field(gt=0, le=1, description="Payload offered by each host, as a share of its NIC rate.")
    start: TimePs = Field(0, description="Beginning of the arrivals.")
    stop: TimePs = Field(description="End of the arrivals.")
    destinations: Literal["any", "other-leaf"] = Field("any",
                                                       description="Uniform among the hosts, or those of other leaves.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = []
        for field, kind in (("cdf", "file"), ("size", "fixed")):
            given = getattr(self, field) is not None
            if given and self.sizes != kind:
                problems.append(f"{field} has no effect with sizes: {self.sizes}; use sizes: {kind}, or remove {field}")
            if not given and self.sizes == kind:
                problems.append(f"sizes: {kind} needs {field}")
        if self.stop <= self.start:
            problems.append("stop is not after start, so nothing would arrive")
        if problems:
            raise ValueError("\n".join(problems))
        return self


class MessageSpec(Strict):
    """One message, written out."""

    id: Annotated[str, Field(min_length=1, max_length=63)] | None = Field(None,
                                                                          description="For `after`, and in tables.")
    src: str = Field(min_length=1, description="Sending host.")
    dst: str = Field(min_length=1, description="Receiving host.")
    size: SizeBytes = Field(description="Bytes.")
    start: TimePs = Field(0, description="Earliest posting.")
    priority: int | None = Field(None, ge=0, le=7, description="Traffic class.")
    after: HostPatterns | None = Field(None, description="Ids of messages that must have arrived at, or been "
                                                         "completed by, "
                                                         "this message's sender.")
    delay: TimePs = Field(0, description="Compute time between the last of `after` and the posting.")

    @model_validator(mode="after")
    def _delay_after_something(self) -> Self:
        if self.delay and self.after is None:
            raise ValueError("delay has no effect without after; use start instead")
        return self


class MessagesSpec(WorkloadBase):
    """Messages one by one: a list here, or a CSV file `id,src,dst,size_bytes,start_ns,priority,after`."""

    kind: Literal["messages"]
    messages: Annotated[tuple[MessageSpec, ...], Field(strict=False)] = Field((), description="The messages.")
    file: str | None = Field(None, min_length=1, description="CSV file, relative to the scenario.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if bool(self.messages) == (self.file is not None):
            raise ValueError("give exactly one of messages and file")
        return self


class ArpSpec(Strict):
    """Hosts that broadcast ARP requests; load on a segment, and what suppression takes off it."""

    kind: Literal["arp"]
    name: Name | None = Field(None, description="Unique; the kind where absent. Names the random streams.")
    hosts: HostPatterns = Field(ALL, description="Hosts that ask.")
    targets: Literal["nobody"] | HostPatterns = Field(
        ALL, description="Hosts asked for, one at random each time; nobody: addresses that no host has (a scan).")
    interval: TimePs = Field(gt=0, description="Time between two requests of a host; each host begins at a random "
                                               "moment of the first.")
    start: TimePs = Field(0, description="Beginning of the first interval.")
    stop: TimePs = Field(description="No request at or after this.")

    @model_validator(mode="after")
    def _some_time(self) -> Self:
        if self.stop < self.start + self.interval:
            raise ValueError("stop leaves no whole interval after start; raise stop or lower interval")
        return self


WorkloadSpec = Annotated[IncastSpec | PermutationSpec | AllToAllSpec | PoissonSpec | MessagesSpec | ArpSpec,
                         Field(discriminator="kind")]
"""One entry of `workload:`."""

"""Traffic as a user writes it: one strict model per kind of entry of a scenario's `workload:` list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from fabric.jobs.spec import ModelSpec, model_fields
from fabric.topology.quantities import RateBps, SizeBytes, TimePs
from fabric.topology.spec import FileName, Line, Name, Strict

HostPatterns = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)]
MessageSize = Annotated[SizeBytes, Field(gt=0, le=2**40)]
ALL: tuple[str, ...] = ("*",)


class _Entry(Strict):
    """Any entry of `workload:`."""

    def starts(self) -> Iterator[tuple[str, int]]:
        """(field, time in ps) of every start that the entry gives."""
        yield from ()

    def stops(self) -> Iterator[tuple[str, int]]:
        """(field, time in ps) of every end that the entry gives."""
        yield from ()


class MessageLoad(_Entry):
    """Fields of every workload of messages."""

    name: Name | None = Field(
        None, description="Unique; the kind where absent. Names the random streams and the messages."
    )
    priority: int | None = Field(None, ge=0, le=7, description="Traffic class; that of transport.dscp where absent.")


class _Starting(MessageLoad):
    """Workloads with a first posting and repetitions."""

    start: TimePs = Field(0, description="First posting.")
    repeat: int = Field(1, ge=1, le=100_000, description="Number of repetitions, the first included.")
    interval: TimePs | None = Field(None, gt=0, description="Time between repetitions.")
    jitter: TimePs = Field(0, description="Each message starts later by a uniform draw from [0, jitter).")

    @model_validator(mode="after")
    def _interval_with_repeat(self) -> Self:
        if (self.repeat > 1) != (self.interval is not None):
            raise ValueError(
                "interval has no effect with repeat: 1; give repeat too"
                if self.interval is not None
                else f"repeat: {self.repeat} needs interval; give it, such as interval: 1ms"
            )
        return self

    def starts(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "start", self.start


class IncastSpec(_Starting):
    """Many senders, one receiver."""

    kind: Literal["incast"]
    receiver: str = Field(min_length=1, description="Receiving host's name.")
    senders: HostPatterns | None = Field(
        None, description="Sending hosts, names or patterns; the receiver is left out."
    )
    fan_in: int | None = Field(
        None, ge=1, description="Instead of senders: this many hosts, drawn at random again for each repetition."
    )
    size: MessageSize = Field(description="Bytes of each message.")

    @model_validator(mode="after")
    def _one_set_of_senders(self) -> Self:
        if (self.senders is None) == (self.fan_in is None):
            raise ValueError(
                "senders and fan_in are both given, or neither; give one of them: senders: [host*], or fan_in: 16"
            )
        return self


class PermutationSpec(_Starting):
    """Every host sends to one other host and receives from one."""

    kind: Literal["permutation"]
    hosts: HostPatterns = Field(ALL, description="Hosts that take part.")
    size: MessageSize = Field(description="Bytes of each message.")
    shift: int | None = Field(
        None, ge=1, description="Host i sends to host i + shift; a random derangement where absent."
    )


class AllToAllSpec(_Starting):
    """Every host sends to every other."""

    kind: Literal["all-to-all"]
    hosts: HostPatterns = Field(ALL, description="Hosts that take part.")
    size: MessageSize = Field(description="Bytes from each host to each other host.")
    order: Literal["together", "rounds"] = Field(
        "together",
        description="together: all at once; rounds: host i sends to i + r once its message of round r - 1 is done.",
    )


Operation = Literal[
    "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "scatter", "gather", "all-to-all",
    "all-to-all-v", "send-recv",
]  # fmt: skip
Algorithm = Literal[
    "ring", "bidirectional-ring", "multi-ring", "binary-tree", "double-binary-tree", "halving-doubling",
    "halving-doubling-halves", "recursive-doubling", "bruck", "pat", "pairwise", "pairwise-xor", "direct",
    "hierarchical", "pxn", "auto",
]  # fmt: skip


class CollectiveSpec(MessageLoad):
    """A collective operation by one algorithm; every host is a rank."""

    kind: Literal["collective"]
    operation: Operation = Field(description="What the ranks end with (docs/collectives.md).")
    algorithm: Algorithm = Field(
        description="Who sends what to whom; auto: what NCCL's model chooses, with its channels and pieces."
    )
    generation: Literal["volta", "ampere", "hopper", "blackwell"] | None = Field(
        None, description="With algorithm: auto: GPUs that NCCL's model describes; hopper where absent."
    )
    hosts: HostPatterns = Field(ALL, description="Hosts that are ranks.")
    ranks: int | None = Field(None, ge=2, le=65_536, description="Only the first so many, in the order of placement.")
    placement: Literal["in-order", "across-leaves", "random"] = Field(
        "in-order",
        description="Order of ranks: in-order: as hosts are numbered; across-leaves: one of each leaf in turn; "
        "random: drawn by the seed.",
    )
    size: MessageSize = Field(
        description="Bytes, as nccl-tests means them; rounded down to whole elements, and to 16 B a rank where each "
        "has a block."
    )
    matrix: str | None = Field(
        None,
        min_length=1,
        description="With all-to-all-v: CSV file of what each rank (line) has for each (column), or one line for all "
        "ranks; scaled so that the largest line adds up to size.",
    )
    skew: Literal["zipf", "dirichlet"] | None = Field(
        None, description="Instead of matrix: what ranks get, drawn by the seed as tokens choose experts."
    )
    exponent: float | None = Field(
        None, gt=0, le=1000, description="With skew: Zipf's exponent, or the concentration of Dirichlet."
    )
    element: Literal[1, 2, 4, 8] = Field(4, description="Bytes of an element.")
    root: int = Field(0, ge=0, lt=65_536, description="Rank of the root, for operations with one.")
    channels: int = Field(1, ge=1, le=64, description="Rings side by side, each with its part.")
    lockstep: bool = Field(
        False, description="Rings: a rank begins a step when it has the messages of all channels, not of one."
    )
    chunk: MessageSize | None = Field(None, description="Largest message; larger ones are cut into equal pieces.")
    queue_pairs: int = Field(
        1,
        ge=1,
        le=16,
        description="Queue pairs over which each message is divided in equal parts (NCCL_IB_QPS_PER_CONNECTION with "
        "NCCL_IB_SPLIT_DATA_ON_QPS).",
    )
    ranks_per_node: int | None = Field(
        None, ge=1, le=4096, description="Consecutive ranks that are one node; 1 where absent, 8 with algorithm: auto."
    )
    send_latency: TimePs = Field(0, description="Time of a rank before each message that it sends.")
    reduction_rate: RateBps | None = Field(None, description="Rate at which a rank adds; infinite where absent.")
    start: TimePs = Field(0, description="First posting.")
    repeat: int = Field(
        1, ge=1, le=10_000, description="Operations one after another: a rank begins when its own last one has ended."
    )
    warm_up: int = Field(0, ge=0, le=10_000, description="Operations before them that no result counts.")

    @model_validator(mode="after")
    def _options_of_the_choice(self) -> Self:
        chooses, problems = self.algorithm == "auto", []
        if chooses and self.channels > 1:
            problems.append("channels has no effect with algorithm: auto, which chooses them; remove it")
        if chooses and self.chunk is not None:
            problems.append("chunk has no effect with algorithm: auto, which chooses the pieces; remove it")
        if chooses and self.lockstep:
            problems.append("lockstep has no effect with algorithm: auto; remove it")
        if not chooses and self.generation is not None:
            problems.append("generation has no effect without algorithm: auto; remove it")
        uneven = self.operation == "all-to-all-v"
        problems += [
            f"{field} has no effect with {self.operation}; use all-to-all-v, or remove it"
            for field in ("matrix", "skew")
            if getattr(self, field) is not None and not uneven
        ]
        if uneven and (self.matrix is None) == (self.skew is None):
            problems.append("all-to-all-v needs matrix or skew, one of the two; give it")
        if (self.skew is None) != (self.exponent is None):
            problems.append("skew and exponent belong together; give both or neither")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def starts(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "start", self.start


class PoissonSpec(MessageLoad):
    """Independent messages at Poisson arrivals, sizes from a distribution."""

    kind: Literal["poisson"]
    hosts: HostPatterns = Field(ALL, description="Hosts that send and receive.")
    sizes: Literal["websearch", "fb-hadoop", "file", "fixed"] = Field(description="Message size distribution.")
    cdf: FileName | None = Field(None, description="With sizes: file: lines of '<bytes> <percent>', ascending.")
    size: MessageSize | None = Field(None, description="With sizes: fixed.")
    load: float = Field(gt=0, le=1, description="Payload offered by each host, as a share of its NIC rate.")
    start: TimePs = Field(0, description="Beginning of the arrivals.")
    stop: TimePs = Field(description="End of the arrivals.")
    destinations: Literal["any", "other-leaf"] = Field(
        "any", description="Uniform among the hosts, or those of other leaves."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = []
        for field, kind in (("cdf", "file"), ("size", "fixed")):
            given = getattr(self, field) is not None
            if given and self.sizes != kind:
                problems.append(f"{field} has no effect with sizes: {self.sizes}; use sizes: {kind}, or remove {field}")
            if not given and self.sizes == kind:
                problems.append(f"sizes: {kind} needs {field}; give it, or use other sizes")
        if self.stop <= self.start:
            problems.append("stop is not after start, so nothing would arrive; raise stop, or lower start")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def starts(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "start", self.start

    def stops(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "stop", self.stop


class MessageSpec(Strict):
    """One message, written out."""

    id: Annotated[Line, Field(min_length=1, max_length=63)] | None = Field(
        None, description="For `after`, and in tables."
    )
    src: str = Field(min_length=1, description="Sending host.")
    dst: str = Field(min_length=1, description="Receiving host.")
    size: SizeBytes = Field(description="Bytes.")
    start: TimePs = Field(0, description="Earliest posting.")
    priority: int | None = Field(None, ge=0, le=7, description="Traffic class.")
    after: HostPatterns | None = Field(
        None, description="Ids of messages that must have arrived at, or been completed by, this message's sender."
    )
    delay: TimePs = Field(0, description="Compute time between the last of `after` and the posting.")

    @model_validator(mode="after")
    def _delay_after_something(self) -> Self:
        if self.delay and self.after is None:
            raise ValueError("delay has no effect without after; use start instead")
        return self


class MessagesSpec(MessageLoad):
    """Messages one by one: a list here, or a CSV file `id,src,dst,size_bytes,start_ns,priority,after`."""

    kind: Literal["messages"]
    messages: Annotated[tuple[MessageSpec, ...], Field(strict=False)] = Field((), description="The messages.")
    file: FileName | None = Field(None, description="CSV file, relative to the scenario.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if bool(self.messages) == (self.file is not None):
            raise ValueError("messages and file are both given, or neither; give one of them")
        return self

    def starts(self) -> Iterator[tuple[str, int]]:
        """As for every entry; times in a file are checked as it is read."""
        for number, message in enumerate(self.messages):
            yield f"messages[{number}].start", message.start


TraceOperation = Literal[
    "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "scatter", "gather"
]
"""Collective operations of traces (fabric/traces/graph.py)."""


class TraceSpec(MessageLoad):
    """Operations of a trace of another tool: Chakra, GOAL or SimAI (docs/traces.md)."""

    kind: Literal["trace"]
    file: FileName = Field(description="File, or prefix of Chakra files, relative to the scenario: job for job.0.et.")
    hosts: HostPatterns = Field(ALL, description="Hosts of ranks 0, 1 and so on; as many as ranks, or more.")
    repeat: int = Field(
        1, ge=1, le=10_000, description="Times that the trace is run, each a step; a rank goes on when it is done."
    )
    send_done: Literal["acknowledged", "posted"] = Field(
        "acknowledged", description="When what waits for a send goes on: acknowledged; or posted to the queue pair."
    )
    algorithms: dict[TraceOperation, Algorithm] | None = Field(
        None,
        description="Algorithm of each collective operation; where absent ring, for all-to-all, scatter and gather "
        "direct: these exist for any group and send no more than must move.",
    )
    ranks_per_node: int | None = Field(
        None,
        ge=1,
        le=4096,
        description="Consecutive ranks that are one node, whose ranks follow each other in schedules; where absent "
        "the ranks of one scale-up domain.",
    )
    generation: Literal["volta", "ampere", "hopper", "blackwell"] | None = Field(
        None, description="With algorithm auto: GPUs that NCCL's model describes; hopper where absent."
    )

    @model_validator(mode="after")
    def _options_of_the_choice(self) -> Self:
        if self.generation is not None and "auto" not in (self.algorithms or {}).values():
            raise ValueError("generation has no effect without an algorithm auto; remove it")
        return self


class JobLoad(MessageLoad):
    """Steps of a training job (docs/jobs.md); each such entry is a job on GPUs that no other entry has."""

    kind: Literal["job"]
    job: FileName = Field(description="Job file, relative to the scenario, or a name of `fabric job list`.")
    steps: int = Field(1, ge=1, le=1000, description="A rank begins a step when it has finished the one before.")
    placement: Literal["packed", "spread", "random", "rail-aligned", "file", "slurm"] = Field(
        "packed",
        description="Choice of nodes among those that no earlier entry holds: few leaves; leaves in turn; drawn by "
        "the seed; as packed, on rails; placement_file: rank,node,gpu; as Slurm does by placement_file: topology.conf.",
    )
    placement_file: str | None = Field(
        None, min_length=1, description="With placement: file or slurm: the file, relative to the scenario."
    )
    distribution: Literal["block", "cyclic"] | None = Field(
        None, description="With placement: slurm: ranks node by node (block, where absent), or one to each in turn."
    )
    hosts: HostPatterns = Field(ALL, description="Hosts, each a GPU with its NIC, of the nodes that may be chosen.")
    storage: HostPatterns | None = Field(
        None, description="Hosts that are storage nodes of the job; those of topology.storage where absent."
    )
    overrides: HostPatterns | None = Field(
        None, description="Fields of the job that differ, such as parallel.tp=4 or batch.micro_batches=8."
    )
    arrival: TimePs = Field(0, description="When the job is submitted; nothing of it is earlier.")
    time_limit: TimePs | None = Field(
        None, gt=0, description="With admission: how long the queue expects it to run; by its plan where absent."
    )

    @model_validator(mode="after")
    def _options_of_the_placement(self) -> Self:
        problems = []
        reads = self.placement in {"file", "slurm"}
        if reads and self.placement_file is None:
            problems.append(f"placement: {self.placement} needs placement_file; give it, or use another placement")
        if not reads and self.placement_file is not None:
            problems.append(f"placement_file has no effect with placement: {self.placement}; remove it")
        if self.placement != "slurm" and self.distribution is not None:
            problems.append(f"distribution has no effect with placement: {self.placement}; remove it")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def starts(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "arrival", self.arrival


class InferenceLoad(MessageLoad):
    """Requests to a model whose prefill and decoding are on different GPUs (docs/jobs.md)."""

    kind: Literal["inference"]
    model: Annotated[ModelSpec, BeforeValidator(model_fields)] = Field(
        description="Name of a model of `fabric job list`, or its shape as in a job file."
    )
    gpu: Literal["a100-sxm", "h100-sxm"] = Field("h100-sxm", description="Kind of GPU: peak and rate of its memory.")
    gpus: int = Field(1, ge=1, le=1024, description="GPUs of an instance, tensor-parallel; each is a host.")
    prefill_hosts: HostPatterns = Field(description="Hosts of prefill instances: as many as gpus form one.")
    decode_hosts: HostPatterns = Field(description="Hosts of decode instances, which take requests in turn.")
    batch: int = Field(
        32, ge=1, le=4096, description="Most sequences that a decode instance has at a time (continuous batching)."
    )
    rate: float | None = Field(None, gt=0, le=10**9, description="Requests a second: Poisson arrivals.")
    count: int | None = Field(None, ge=1, le=100_000, description="With rate: number of requests.")
    prompt: int | None = Field(None, ge=1, le=2**22, description="With rate: mean tokens of a prompt.")
    output: int | None = Field(None, ge=1, le=2**22, description="With rate: mean tokens of an answer.")
    length_variation: float = Field(
        0, ge=0, le=10, description="With rate: coefficient of variation of both lengths, log-normal; 0: all equal."
    )
    requests_file: str | None = Field(
        None, min_length=1, description="Instead of rate: CSV file arrival_us,prompt_tokens,output_tokens."
    )
    transfer: Literal["layers", "whole"] = Field(
        "layers", description="The cache is sent layer by layer while prefill runs, or as a whole after it."
    )
    utilisation: float = Field(0.5, gt=0, le=1, description="Share of the peak that prefill reaches.")
    memory_share: float = Field(0.8, gt=0, le=1, description="Share of the memory's rate that decoding reaches.")
    cache_bytes: Literal[1, 2, 4] = Field(2, description="Bytes of an element of the cache, and of a weight.")
    all_reduce: TimePs | None = Field(
        None,
        description="With several gpus: time of each of the two all-reduces a layer and token between them; 10us where "
        "absent (assumed).",
    )
    ttft_limit: TimePs | None = Field(None, gt=0, description="For goodput: longest time to the first token.")
    tpot_limit: TimePs | None = Field(None, gt=0, description="For goodput: longest time per output token.")
    start: TimePs = Field(0, description="Beginning of the arrivals.")

    @model_validator(mode="after")
    def _one_source_of_requests(self) -> Self:
        problems = []
        fields = ("rate", "count", "prompt", "output")
        given = [field for field in fields if getattr(self, field) is not None]
        if self.requests_file is not None:
            more = [*given, *(["length_variation"] if self.length_variation else [])]
            problems += [f"{field} has no effect with requests_file; remove it" for field in more]
        else:
            problems += [f"{field} is missing without requests_file; give it" for field in fields if field not in given]
        if (self.ttft_limit is None) != (self.tpot_limit is None):
            problems.append("ttft_limit and tpot_limit say together which requests are good; give both, or neither")
        if self.gpus == 1 and self.all_reduce is not None:
            problems.append("all_reduce has no effect with gpus: 1; remove it")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def starts(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "start", self.start


class RequestLoad(_Entry):
    """A workload of broadcast requests, which no queue pair carries."""


class ArpSpec(RequestLoad):
    """Hosts that broadcast ARP requests: the load on a segment, and the part of it that suppression removes."""

    kind: Literal["arp"]
    name: Name | None = Field(None, description="Unique; the kind where absent. Names the random streams.")
    hosts: HostPatterns = Field(ALL, description="Hosts that send requests.")
    targets: Literal["nobody"] | HostPatterns = Field(
        ALL,
        description="Hosts that are requested, a random one each time; nobody: addresses that no host has (a scan).",
    )
    interval: TimePs = Field(
        gt=0, description="Time between two requests of a host; the first is at a random moment of the first interval."
    )
    start: TimePs = Field(0, description="Beginning of the first interval.")
    stop: TimePs = Field(description="No request at or after this.")

    @model_validator(mode="after")
    def _some_time(self) -> Self:
        if self.stop < self.start + self.interval:
            raise ValueError("stop leaves no whole interval after start; raise stop or lower interval")
        return self

    def starts(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "start", self.start

    def stops(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "stop", self.stop


class StreamLoad(_Entry):
    """A workload of datagrams, which no queue pair carries: not acknowledged, not sent again, not slowed down."""


class DatagramsSpec(StreamLoad):
    """UDP datagrams at a constant rate, whatever happens to them: no transport, no ACK, no congestion control."""

    kind: Literal["datagrams"]
    name: Name | None = Field(None, description="Unique; the kind where absent. Names the random streams.")
    senders: HostPatterns = Field(description="Hosts that send.")
    receivers: HostPatterns = Field(
        description="Hosts that receive: the first sender sends to the first receiver, the second to the second; "
        "where there are fewer receivers they are taken again."
    )
    rate: RateBps | None = Field(
        None, gt=0, description="Rate of each sender, preamble and gap included, so a port's rate fills the port."
    )
    load: float | None = Field(
        None, gt=0, le=1, description="Instead of rate: share of the rate of the NIC port that the sender uses."
    )
    frame: SizeBytes = Field(ge=64, description="Each frame from Ethernet header to FCS; at most hosts.mtu + 18 B.")
    dscp: int = Field(0, ge=0, le=63, description="DSCP.")
    ect: bool = Field(False, description="ECN-capable: marked where switches mark, and not discarded by WRED.")
    start: TimePs = Field(0, description="First datagram.")
    jitter: TimePs = Field(0, description="Each sender starts later by a uniform draw from [0, jitter).")
    count: int | None = Field(None, ge=1, le=10**9, description="Datagrams of each sender.")
    stop: TimePs | None = Field(None, description="Instead of count: no datagram at or after this.")

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        problems = []
        if (self.rate is None) == (self.load is None):
            problems.append("rate and load are both given, or neither; give one of them")
        if (self.count is None) == (self.stop is None):
            problems.append("count and stop are both given, or neither; give one of them")
        if self.stop is not None and self.stop < self.start + self.jitter:
            problems.append("stop is before the last start, start + jitter; raise stop")
        if self.stop is not None and self.stop == self.start:
            problems.append("stop is not after start, so no datagram would be sent; raise stop")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def starts(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        yield "start", self.start

    def stops(self) -> Iterator[tuple[str, int]]:
        """As for every entry."""
        if self.stop is not None:
            yield "stop", self.stop


WorkloadSpec = Annotated[
    IncastSpec
    | PermutationSpec
    | AllToAllSpec
    | CollectiveSpec
    | PoissonSpec
    | MessagesSpec
    | TraceSpec
    | JobLoad
    | InferenceLoad
    | ArpSpec
    | DatagramsSpec,
    Field(discriminator="kind"),
]
"""One entry of `workload:`."""

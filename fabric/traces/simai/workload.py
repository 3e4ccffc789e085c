"""SimAI's workload file (the text format of ASTRA-sim 1) -> the neutral form.

Line 1: the policy and `key: value` pairs; line 2: the number of layers; then a line for each layer with 12 columns:

    name, dependency, forward: compute type bytes, input gradient: compute type bytes,
    weight gradient: compute type bytes, update

HYBRID_CUSTOMIZED has a 13th column. Computations are in ns. The file describes one rank; all ranks do the same.

One repetition (of `ga`, the micro-batches, one after the other): forward of all layers, then backward in reverse: input
gradient, then weight gradient, then update. Forward and input-gradient operations block; those of the weight gradient
overlap what follows, and the update waits for them. With several pipeline stages (pp) each stage carries out the
layers of the file; pp_comm bytes go from stage to stage before the first layer and, backward, before the last one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB, read_text
from fabric.traces.graph import MAX_BYTES, MAX_DURATION_PS, MAX_OPERATIONS, MAX_RANKS, Collector, Kind, Op, Trace
from fabric.units import PS_PER_NS

STAGE: Final = "SimAI workload"
MAX_WORKLOAD_BYTES: Final = 64 * MIB
POLICIES: Final = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER", "DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA",
    "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED", "HYBRID_CUSTOMIZED", "MICRO", "DISTRIBUTED_INFERENCE",
)  # fmt: skip
SUPPORTED: Final = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER")
"""The policies under which the kind of a collective operation names its group."""
_KEYS: Final = {
    "model_parallel_npu_group": "tp", "tp": "tp", "ep": "ep", "pp": "pp", "vpp": "vpp", "ga": "ga",
    "all_gpus": "all_gpus", "pp_comm": "pp_comm",
}  # fmt: skip
_LISTS: Final = ("checkpoints", "checkpoint_initiates")
_OPERATION: Final = {
    "ALLREDUCE": ("all-reduce",),
    "ALLGATHER": ("all-gather",),
    "REDUCESCATTER": ("reduce-scatter",),
    "ALLTOALL": ("all-to-all",),
    "ALLREDUCEALLTOALL": ("all-reduce", "all-to-all"),
    "NONE": (),
}
_COLUMNS: Final = 12
_DIGITS: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


class Call(NamedTuple):
    """A computation and the collective operation after it."""

    duration_ps: int
    operations: tuple[str, ...]
    group: str
    """'tp', 'dp', 'ep' or 'dp_ep'."""
    size_bytes: int


class Layer(NamedTuple):
    """One layer."""

    name: str
    forward: Call
    input_gradient: Call
    weight_gradient: Call
    update_ps: int
    line: int


@dataclass
class Workload:
    """A workload file."""

    policy: str
    tp: int = 1
    ep: int = 1
    pp: int = 1
    vpp: int = 1
    ga: int = 1
    all_gpus: int = 0
    pp_comm: int = 0
    layers: list[Layer] = field(default_factory=list)

    @property
    def dp(self) -> int:
        """Data-parallel replicas."""
        return self.all_gpus // (self.tp * self.pp)


def read_workload(path: Path) -> Workload:
    """A workload file. Raises: InputErrors with all problems, each with its line."""
    lines = [
        (number, line)
        for number, line in enumerate(
            read_text(path, MAX_WORKLOAD_BYTES, stage=STAGE).splitlines(), 1
        )
        if line.strip()
    ]  # fmt: skip
    found = Collector(STAGE, str(path))
    if len(lines) < 2:
        raise InputErrors(
            STAGE, [Problem(str(path), "has fewer than two lines", "write a policy, and a number of layers")]
        )
    workload = _head(lines[0][1], found, f"{path}:{lines[0][0]}")
    found.check()
    number, text = lines[1]
    n_layers = int(text) if _DIGITS.fullmatch(text.strip()) else -1
    if n_layers != len(lines) - 2:
        found.add(f"{path}:{number}", f"the number of layers is {text.strip()[:20]!r}; {len(lines) - 2} lines follow",
                  "write the number of the lines that follow")  # fmt: skip
    for number, line in lines[2:]:
        layer = _layer(line, found, f"{path}:{number}", number)
        if layer is not None:
            workload.layers.append(layer)
    found.check()
    return workload


def _head(line: str, found: Collector, place: str) -> Workload:
    words = line.replace(":", " : ").split()
    if words[0] not in POLICIES:
        found.add(place, f"unknown policy {words[0][:40]!r}", f"one of {', '.join(POLICIES)}")
    elif words[0] not in SUPPORTED:
        found.add(place, f"policy {words[0]} is not supported", f"supported: {', '.join(SUPPORTED)}")
    workload = Workload(words[0])
    given: dict[str, int] = {}
    words = [word for word in words[1:] if word != ":"]  # pp_comm is written with and without a colon
    while words:
        key = words.pop(0)
        lower = key.lower()
        if lower not in _KEYS and lower not in _LISTS:
            found.add(place, f"unknown key {key[:40]!r}", f"known: {', '.join([*_KEYS, *_LISTS])}")
            break
        if not words or not _DIGITS.fullmatch(words[0]):
            found.add(place, f"{key} has no number", f"write {key}: NUMBER")
            break
        value = int(words.pop(0))
        if lower in _LISTS:  # a count, and that many layers
            del words[:value]
        elif _KEYS[lower] in given:
            found.add(place, f"{key} is given twice", "keep one")
        else:
            given[_KEYS[lower]] = value
    for key, value in given.items():
        if value < 1 and key != "pp_comm":
            found.add(place, f"{key} is {value}", "write a number from 1")
        setattr(workload, key, value)
    if not found.n:
        _check_head(workload, found, place)
    return workload


def _check_head(workload: Workload, found: Collector, place: str) -> None:
    if not 1 <= workload.all_gpus <= MAX_RANKS:
        found.add(place, f"all_gpus is {workload.all_gpus}", f"write 1 to {MAX_RANKS:,}")
    elif workload.all_gpus % (workload.tp * workload.pp):
        found.add(place, f"all_gpus {workload.all_gpus} is no multiple of TP {workload.tp} x PP {workload.pp}",
                  "all_gpus = TP x DP x PP")  # fmt: skip
    elif workload.dp % workload.ep:
        found.add(place, f"EP {workload.ep} does not divide DP {workload.dp}", "DP = EP x replicas of the experts")
    if (workload.pp > 1) != (workload.pp_comm > 0) or workload.pp_comm > MAX_BYTES:
        found.add(place, f"pp is {workload.pp} and pp_comm {workload.pp_comm}",
                  "pp_comm is above 0 exactly where pp is above 1")  # fmt: skip


def _layer(line: str, found: Collector, place: str, number: int) -> Layer | None:
    words = line.split()
    if len(words) != _COLUMNS:
        found.add(place, f"has {len(words)} columns", f"a layer has {_COLUMNS}: name, dependency, three times compute, "
                  "type and bytes, update")  # fmt: skip
        return None
    numbers = {}
    for column, word in enumerate(words):
        if column in {2, 4, 5, 7, 8, 10, 11}:
            numbers[column] = int(word) if _DIGITS.fullmatch(word) else -1
            most = MAX_BYTES if column in {4, 7, 10} else MAX_DURATION_PS // PS_PER_NS
            if not 0 <= numbers[column] <= most:
                found.add(place, f"column {column + 1} is {word[:30]!r}", f"write a whole number from 0 to {most:,}")
                return None
    calls = []
    for column, default in ((2, "tp"), (5, "tp"), (8, "dp")):
        kind, _, suffix = words[column + 1].partition("_")
        group = {"": default, "EP": "ep", "DP_EP": "dp_ep"}.get(suffix)
        if kind not in _OPERATION or group is None:
            found.add(place, f"column {column + 2} is {words[column + 1][:30]!r}",
                      f"one of {', '.join(_OPERATION)}, with _EP or _DP_EP after it or not")  # fmt: skip
            return None
        size = numbers[column + 2]
        calls.append(Call(numbers[column] * PS_PER_NS, _OPERATION[kind] if size else (), group, size))
    return Layer(words[0], calls[0], calls[1], calls[2], numbers[11] * PS_PER_NS, number)


def group_ranks(workload: Workload, rank: int) -> dict[str, tuple[int, ...]]:
    """Group kind -> the ranks of this rank's group. Rank = tp + TP x (dp + DP x pp)."""
    tp, dp = rank % workload.tp, rank // workload.tp % workload.dp
    stage = rank // (workload.tp * workload.dp)

    def at(a_tp: int, a_dp: int) -> int:
        return a_tp + workload.tp * (a_dp + workload.dp * stage)

    experts = dp // workload.ep * workload.ep
    return {
        "tp": tuple(at(other, dp) for other in range(workload.tp)),
        "dp": tuple(at(tp, other) for other in range(workload.dp)),
        "ep": tuple(at(tp, experts + other) for other in range(workload.ep)),
        "dp_ep": tuple(at(tp, dp % workload.ep + workload.ep * it) for it in range(workload.dp // workload.ep)),
    }


def trace_of(workload: Workload, path: Path) -> Trace:
    """The neutral form for all ranks. Raises: InputErrors where it would be too large."""
    per_rank = workload.ga * (8 * len(workload.layers) + 4)
    if per_rank * workload.all_gpus > MAX_OPERATIONS:
        text = f"{workload.all_gpus:,} ranks with up to {per_rank:,} operations each are more than {MAX_OPERATIONS:,}"
        raise InputErrors(STAGE, [Problem(str(path), text, "use fewer layers, micro-batches or ranks")])
    trace = Trace([], "simai", [str(path)], "line")
    for rank in range(workload.all_gpus):
        names = {}
        for kind, ranks in group_ranks(workload, rank).items():
            if len(ranks) > 1:
                names[kind] = f"{kind}.{min(ranks)}"
                trace.groups.setdefault(names[kind], ranks)
        trace.ranks.append(_Rank(workload, rank, names).operations())
    if workload.vpp > 1:
        trace.notes.append(f"vpp {workload.vpp} has no effect: stages are not interleaved")
    if workload.pp > 1 and workload.ga > 1:
        trace.notes.append("micro-batches follow each other; a pipeline schedule that overlaps them is not in the file")
    return trace


class _Rank:
    """Operations of one rank."""

    def __init__(self, workload: Workload, rank: int, names: dict[str, str]) -> None:
        self.workload = workload
        self.rank = rank
        self.names = names
        self.ops: list[Op] = []
        self.last: tuple[int, ...] = ()
        """What the next blocking operation waits for."""

    def _add(self, kind: Kind, after: tuple[int, ...], **fields: object) -> int:
        self.ops.append(Op(kind, after, **fields))  # type: ignore[arg-type]
        return len(self.ops) - 1

    def _call(self, call: Call, layer: Layer, part: str) -> tuple[int, ...]:
        """Computation and collective operations; returns what their end is."""
        last = self.last
        name = f"{layer.name} {part}"
        if call.duration_ps:
            last = (self._add(Kind.COMPUTE, last, duration_ps=call.duration_ps, name=name, number=layer.line),)
            self.last = last
        if call.group in self.names:
            for operation in call.operations:
                last = (self._add(Kind.COLLECTIVE, last, operation=operation, size_bytes=call.size_bytes, name=name,
                                  group=self.names[call.group], number=layer.line),)  # fmt: skip
        return last

    def _hop(self, *, receive: bool, forward: bool, batch: int) -> None:
        """Messages between stages: activations forward, gradients back."""
        stride = self.workload.tp * self.workload.dp
        peer = self.rank + stride * (1 if forward != receive else -1)
        if not 0 <= peer < self.workload.all_gpus or not self.workload.pp_comm:
            return
        tag = 2 * batch + (not forward)
        fields = {"peer": peer, "size_bytes": self.workload.pp_comm, "tag": tag}
        if receive:
            self.last = (self._add(Kind.RECV, self.last, name="pp_comm", **fields),)
        else:  # the sender goes on
            self._add(Kind.SEND, self.last, name="pp_comm", **fields)

    def operations(self) -> list[Op]:
        """All repetitions."""
        for batch in range(self.workload.ga):
            self._hop(receive=True, forward=True, batch=batch)
            for layer in self.workload.layers:
                self.last = self._call(layer.forward, layer, "forward")
            self._hop(receive=False, forward=True, batch=batch)
            self._hop(receive=True, forward=False, batch=batch)
            updates: list[int] = []
            for layer in reversed(self.workload.layers):
                self.last = self._call(layer.input_gradient, layer, "input gradient")
                end = self._call(layer.weight_gradient, layer, "weight gradient")
                if layer.update_ps:
                    updates.append(self._add(Kind.COMPUTE, end, duration_ps=layer.update_ps, number=layer.line,
                                             name=f"{layer.name} update"))  # fmt: skip
                elif end != self.last:
                    updates += end
            self._hop(receive=False, forward=False, batch=batch)
            self.last = tuple(dict.fromkeys((*self.last, *updates)))
        return self.ops

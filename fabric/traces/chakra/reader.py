"""Chakra execution traces -> the neutral form.

One file a rank, PREFIX.0.et, PREFIX.1.et and so on. Rules that are easy to miss:

- proto3 leaves out zeros: the node with id 0 has no id, the type INVALID is no type at all.
- Ids mean nothing in another rank's file, so nodes are ordered by id within a rank and matched by group and order.
- A dependency may name a node that comes later in the file.
- An all-gather's comm_size is the share of one rank; those of all other operations are whole buffers. Trace sizes are
  as nccl-tests prints them, so the former is multiplied by the number of ranks.
- start_time_micros places a node on the time line of the recording and has no effect on a replay.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from google.protobuf.message import DecodeError

from fabric.errors import InputErrors, Problem
from fabric.traces.chakra.groups import ALL_NAMES, groups_of_metadata, read_groups
from fabric.traces.chakra.messages import CollectiveType, NodeType, attributes, messages
from fabric.traces.chakra.stream import STAGE, frames, refuse
from fabric.traces.graph import (
    ALL_RANKS,
    MAX_BYTES,
    MAX_DEPENDENCIES,
    MAX_DURATION_PS,
    MAX_OPERATIONS,
    ROOTED,
    Collector,
    Kind,
    Op,
    Trace,
)
from fabric.units import PS_PER_US

OPERATION: Final = {
    CollectiveType.ALL_REDUCE: "all-reduce",
    CollectiveType.REDUCE: "reduce",
    CollectiveType.ALL_GATHER: "all-gather",
    CollectiveType.GATHER: "gather",
    CollectiveType.SCATTER: "scatter",
    CollectiveType.BROADCAST: "broadcast",
    CollectiveType.ALL_TO_ALL: "all-to-all",
    CollectiveType.REDUCE_SCATTER: "reduce-scatter",
    CollectiveType.REDUCE_SCATTER_BLOCK: "reduce-scatter",
    # A barrier of PyTorch's NCCL backend is an all-reduce of one float.
    CollectiveType.BARRIER: "all-reduce",
}
BARRIER_BYTES: Final = 4
EXACT: Final = "duration_ps"
"""Attribute of our own writer, since duration_micros is in whole microseconds."""
STREAM: Final = "stream"
"""Attribute of our own writer: computations of one stream do not overlap."""
CPU, GPU, MEMORY = 0, 1, 2
"""Streams: the feeder of ASTRA-sim carries out one CPU operation and one computation of a rank at a time."""
_STREAM: Final = {NodeType.COMP: GPU, NodeType.MEM_LOAD: MEMORY, NodeType.MEM_STORE: MEMORY}
_NUMBERED: Final = re.compile(r"\.([0-9]{1,7})\.et(?:\.gz)?")
_REPEATED: Final = 8


def files_of(prefix: Path) -> list[Path]:
    """PREFIX.0.et .. PREFIX.N-1.et, by rank. Raises: InputErrors where a rank is missing, or all are."""
    parent, name = prefix.parent, prefix.name
    numbered: dict[int, Path] = {}
    try:
        there = sorted(parent.iterdir()) if name else []
    except OSError as error:
        raise InputErrors(
            STAGE, [Problem(str(parent), f"cannot be read: {error.strerror}", "check the name")]
        ) from error
    for path in there:
        match = _NUMBERED.fullmatch(path.name[len(name) :]) if path.name.startswith(name) else None
        if match is None:
            continue
        rank = int(match[1])
        if rank in numbered:
            text = f"{numbered[rank].name} and {path.name} are both of rank {rank}"
            raise InputErrors(STAGE, [Problem(str(prefix), text, "keep one file for each rank")])
        numbered[rank] = path
    if not numbered:
        text = f"there is no such file, and no {name}.0.et"
        raise InputErrors(STAGE, [Problem(str(prefix), text, "name a file; for Chakra, the part before .0.et")])
    missing = [rank for rank in range(max(numbered) + 1) if rank not in numbered]
    if missing:
        some = ", ".join(f"{name}.{rank}.et" for rank in missing[:_REPEATED])
        text = f"{len(missing)} of {max(numbered) + 1} files are missing: {some}"
        raise InputErrors(STAGE, [Problem(str(prefix), text, "copy the files of all ranks")])
    return [numbered[rank] for rank in range(len(numbered))]


def groups_file(prefix: Path) -> Path:
    """PREFIX.groups.json, which is read where no other file of groups is named."""
    return prefix.with_name(f"{prefix.name}.groups.json")


def read_chakra(prefix: Path, groups: Path | None = None, *, control_dependencies: bool = False) -> Trace:
    """The trace of all ranks.

    Parameters
    ----------
    prefix : Path                  part of the names before '.0.et'
    groups : Path | None           JSON file of groups; None: PREFIX.groups.json, where it is there
    control_dependencies : bool    follow ctrl_deps as well; ASTRA-sim's feeder does not

    Raises: InputErrors with the problems of all files.
    """
    files = files_of(prefix)
    n = len(files)
    if groups is None and groups_file(prefix).is_file():
        groups = groups_file(prefix)
    trace = Trace([], "chakra", [str(path) for path in files], "node")
    if groups is not None:
        trace.groups.update(read_groups(groups, n))
    found = Collector(STAGE, str(prefix))
    reader = _Reader(trace, found, n, control_dependencies=control_dependencies)
    for rank, path in enumerate(files):
        reader.read(rank, path)
    found.check()
    reader.finish()
    return trace


class _Reader:
    def __init__(self, trace: Trace, found: Collector, n_ranks: int, *, control_dependencies: bool) -> None:
        self.trace = trace
        self.found = found
        self.n_ranks = n_ranks
        self.control = control_dependencies
        self.n_nodes = 0
        self.n_control = 0
        self.n_dependencies = 0
        self.n_roofline = 0
        self.versions: set[str] = set()

    def read(self, rank: int, path: Path) -> None:
        """The nodes of one rank."""
        nodes: dict[int, tuple[Op, list[int]]] = {}
        first = True
        for offset, data in frames(path):
            message = messages().metadata() if first else messages().node()
            try:
                message.ParseFromString(data)
            except (DecodeError, ValueError) as error:  # ValueError: text that is not UTF-8
                what = "the header" if first else "a node"
                raise refuse(path, offset, f"{what} cannot be decoded: {error}", "copy the file again") from error
            if first:
                self.versions.add(message.version)
                first = False
                continue
            self.n_nodes += 1
            if self.n_nodes > MAX_OPERATIONS:
                raise refuse(path, offset, f"more than {MAX_OPERATIONS:,} nodes in all files", "cut the trace")
            place = f"{path}: node {message.id}"
            if message.id in nodes:
                self.found.add(place, "the id is given twice", "give each node of a file its own id")
                continue
            op = self._op(message, rank, place)
            self.n_control += len(message.ctrl_deps)
            self.n_dependencies += len(message.data_deps) + len(message.ctrl_deps)
            if self.n_dependencies > MAX_DEPENDENCIES:
                raise refuse(path, offset, f"more than {MAX_DEPENDENCIES:,} dependencies in all files", "cut the trace")
            deps = set(message.data_deps)
            if self.control:
                deps |= set(message.ctrl_deps)
            if op is not None:
                nodes[message.id] = op, sorted(deps)
        if first:
            self.found.add(str(path), "is empty", "copy the file again")
        self.trace.ranks.append(self._ordered(nodes, path))

    def _ordered(self, nodes: dict[int, tuple[Op, list[int]]], path: Path) -> list[Op]:
        """Nodes by id; dependencies become indices."""
        ids = sorted(nodes)
        index_of = {node: index for index, node in enumerate(ids)}
        ops = []
        for node in ids:
            op, deps = nodes[node]
            absent = [it for it in deps if it not in index_of]
            if absent:
                some = ", ".join(map(str, absent[:4]))
                self.found.add(f"{path}: node {node}", f"depends on nodes that are not in the file: {some}",
                               "cut traces where nothing is waited for, or copy the whole file")  # fmt: skip
            after = tuple(index_of[it] for it in deps if it in index_of)
            ops.append(replace(op, after=after, number=node))
        return ops

    def _op(self, node: Any, rank: int, place: str) -> Op | None:  # noqa: ANN401  a protobuf message
        try:
            kind = NodeType(node.type)
        except ValueError:
            known = ", ".join(f"{it.value} {it.name}" for it in NodeType)
            self.found.add(place, f"unknown type {node.type}", f"known types: {known}")
            return None
        values = attributes(node)
        if kind in {NodeType.INVALID, NodeType.METADATA}:
            self._metadata(node, place)
            return Op(Kind.COMPUTE, name=node.name)
        if kind is NodeType.COMM_COLL:
            return self._collective(node, values, place)
        if kind in {NodeType.COMM_SEND, NodeType.COMM_RECV}:
            return self._message(node, kind, values, rank, place)
        duration_ps = self._integer(values, EXACT, place, node.duration_micros * PS_PER_US)
        if duration_ps is None or not 0 <= duration_ps <= MAX_DURATION_PS:
            self.found.add(place, f"lasts {node.duration_micros:,} us", "durations are at most about 13 days")
            return None
        self.n_roofline += not duration_ps and bool(values.get("num_ops"))
        stream = CPU if values.get("is_cpu_op") and kind is NodeType.COMP else _STREAM[kind]
        stream = self._integer(values, STREAM, place, stream) or 0
        return Op(Kind.COMPUTE, duration_ps=duration_ps, stream=stream, name=node.name)

    def _metadata(self, node: Any, place: str) -> None:  # noqa: ANN401  a protobuf message
        if not node.inputs.values or "pg_name" not in node.inputs.values:
            return
        try:
            groups = groups_of_metadata(node.inputs.values, self.n_ranks)
        except ValueError as error:
            self.found.add(place, str(error), "copy the files of all ranks")
            return
        for name, ranks in (groups or {}).items():
            if self.trace.groups.setdefault(name, ranks) != ranks:
                self.found.add(place, f"group {name!r} has other ranks than in another node or in the file of groups",
                               "give each group its own name")  # fmt: skip

    def _integer(self, values: dict[str, Any], name: str, place: str, default: int | None = None) -> int | None:
        value = values.get(name, default)
        if value is None:
            self.found.add(place, f"has no attribute {name}", f"write {name} as an integer")
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.found.add(place, f"its {name} is {str(value)[:40]!r}", f"write {name} as an integer")
            return None
        return value

    def _size(self, values: dict[str, Any], place: str) -> int | None:
        size = self._integer(values, "comm_size", place)
        if size is not None and not 0 <= size <= MAX_BYTES:
            self.found.add(place, f"its comm_size is {size:,} B", f"write 0 to {MAX_BYTES:,}")
            return None
        return size

    def _message(self, node: Any, kind: NodeType, values: dict[str, Any], rank: int, place: str) -> Op | None:  # noqa: ANN401
        sends = kind is NodeType.COMM_SEND
        size = self._size(values, place)
        source = self._integer(values, "comm_src", place, rank if sends else None)
        destination = self._integer(values, "comm_dst", place, None if sends else rank)
        tag = self._integer(values, "comm_tag", place, 0)
        if size is None or source is None or destination is None or tag is None:
            return None
        if (source if sends else destination) != rank:
            self.found.add(place, f"{'sends from' if sends else 'receives at'} rank {source if sends else destination} "
                           f"in the file of rank {rank}", "move the node to its own rank's file")  # fmt: skip
            return None
        if tag < 0:
            self.found.add(place, f"its comm_tag is {tag}", "write a tag from 0")
            return None
        peer = destination if sends else source
        if not 0 <= peer < self.n_ranks:
            self.found.add(place, f"its peer is rank {peer}; there are ranks 0 to {self.n_ranks - 1}",
                           "copy the files of all ranks")  # fmt: skip
            return None
        return Op(Kind.SEND if sends else Kind.RECV, size_bytes=size, peer=peer, tag=tag, name=node.name)

    def _collective(self, node: Any, values: dict[str, Any], place: str) -> Op | None:  # noqa: ANN401
        number = self._integer(values, "comm_type", place)
        if number is None:
            return None
        try:
            kind = CollectiveType(number)
        except ValueError:
            known = ", ".join(f"{it.value} {it.name}" for it in CollectiveType)
            self.found.add(place, f"unknown comm_type {number}", f"known: {known}")
            return None
        size = BARRIER_BYTES if kind is CollectiveType.BARRIER else self._size(values, place)
        group = str(values.get("pg_name", ""))
        operation = OPERATION[kind]
        root = self._integer(values, "root_rank", place, 0) if operation in ROOTED else 0
        if size is None or root is None:
            return None
        return Op(Kind.COLLECTIVE, size_bytes=size, operation=operation, group=group, root=root, name=node.name)

    def finish(self) -> None:
        """Names of groups, which metadata may give after their use; whole buffers of all-gathers; notes."""
        groups = self.trace.groups
        for ops in self.trace.ranks:
            for index, op in enumerate(ops):
                if op.kind is not Kind.COLLECTIVE:
                    continue
                group = ALL_RANKS if op.group in ALL_NAMES and op.group not in groups else op.group
                size = op.size_bytes
                if op.operation == "all-gather":
                    size *= len(self.trace.members(group)) if group == ALL_RANKS or group in groups else 1
                ops[index] = replace(op, group=group, size_bytes=size)
        notes = self.trace.notes
        if self.n_control and not self.control:
            notes.append(f"{self.n_control:,} control dependencies are not followed, as in ASTRA-sim's feeder")
        if self.n_roofline:
            notes.append(f"{self.n_roofline:,} computations have num_ops and no duration: they take no time")
        notes.append(f"schema versions: {', '.join(sorted(it or 'none' for it in self.versions))}")

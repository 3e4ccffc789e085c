"""The neutral form -> Chakra execution traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fabric.errors import InputErrors, Problem
from fabric.traces.chakra.messages import CollectiveType, NodeType, messages
from fabric.traces.chakra.reader import CPU, EXACT, OPERATION, STREAM, groups_file
from fabric.traces.chakra.stream import STAGE, framed
from fabric.traces.graph import ALL_RANKS, ROOTED, Kind, Op, Trace
from fabric.units import PS_PER_US

VERSION: Final = "0.0.4"
_TYPE: Final = {name: kind for kind, name in reversed(OPERATION.items()) if kind is not CollectiveType.BARRIER}


def write_chakra(trace: Trace, prefix: Path) -> list[Path]:
    """PREFIX.0.et and so on, and PREFIX.groups.json where there are groups.

    Returns: the files. Raises: InputErrors where the format cannot hold an operation, before anything is written.
    """
    problems = list(_unwritable(trace))
    if problems:
        raise InputErrors(STAGE, problems[:20])
    paths = [prefix.with_name(f"{prefix.name}.{rank}.et") for rank in range(trace.n_ranks)]
    for rank, path in enumerate(paths):
        with path.open("wb") as file:
            header = messages().metadata(version=VERSION)
            file.write(framed(header.SerializeToString(deterministic=True)))
            for index in range(len(trace.ranks[rank])):
                file.write(framed(_node(trace, rank, index).SerializeToString(deterministic=True)))
    if trace.groups:
        paths.append(groups_file(prefix))
        paths[-1].write_text(json.dumps({name: list(ranks) for name, ranks in trace.groups.items()}, indent=1) + "\n")
    return paths


def _unwritable(trace: Trace) -> Iterator[Problem]:
    for rank, ops in enumerate(trace.ranks):
        for index, op in enumerate(ops):
            if op.kind is Kind.COLLECTIVE and op.operation == "all-gather":
                n = len(trace.members(op.group))
                if op.size_bytes % n:
                    yield Problem(trace.place(rank, index), f"an all-gather of {op.size_bytes:,} B has no equal shares "
                                  f"of {n} ranks", "Chakra holds the share: use a size that divides")  # fmt: skip
            elif op.kind in {Kind.SEND, Kind.RECV} and not (op.peer >= 0 and 0 <= op.tag < 2**31):
                yield Problem(trace.place(rank, index), "a message from any source, or with a tag above 2^31 - 1",
                              "name the source, and use smaller tags")  # fmt: skip


def _begin(ops: list[Op], index: int) -> set[int]:
    """Operations after whose end this one starts: Chakra knows no other dependency."""
    after: set[int] = set()
    seen: set[int] = set()
    stack = [index]
    while stack:
        here = stack.pop()
        if here in seen:
            continue
        seen.add(here)
        after.update(ops[here].after)
        stack += ops[here].after_start
    return after


def _node(trace: Trace, rank: int, index: int) -> Any:  # noqa: ANN401  a protobuf message
    ops = trace.ranks[rank]
    op = ops[index]
    node = messages().node(id=index, name=op.name or op.operation or op.kind.name.lower())
    node.data_deps.extend(sorted(_begin(ops, index)))

    def put(name: str, kind: str, value: object) -> None:
        setattr(node.attr.add(name=name), f"{kind}_val", value)

    put("is_cpu_op", "bool", op.kind is Kind.COMPUTE and op.stream == CPU and op.duration_ps > 0)
    if op.kind is Kind.COMPUTE:
        node.type = NodeType.METADATA if not op.duration_ps else NodeType.COMP
        node.duration_micros = (op.duration_ps + PS_PER_US // 2) // PS_PER_US
        if op.duration_ps % PS_PER_US:
            put(EXACT, "uint64", op.duration_ps)
        if op.duration_ps and op.stream != CPU:
            put(STREAM, "int32", op.stream)
    elif op.kind is Kind.COLLECTIVE:
        node.type = NodeType.COMM_COLL
        n = len(trace.members(op.group))
        put("comm_type", "int64", int(_TYPE[op.operation]))
        put("comm_size", "int64", op.size_bytes // n if op.operation == "all-gather" else op.size_bytes)
        if op.group != ALL_RANKS:
            put("pg_name", "string", op.group)
        if op.operation in ROOTED:
            put("root_rank", "int32", op.root)
    else:
        node.type = NodeType.COMM_SEND if op.kind is Kind.SEND else NodeType.COMM_RECV
        put("comm_src", "int32", rank if op.kind is Kind.SEND else op.peer)
        put("comm_dst", "int32", op.peer if op.kind is Kind.SEND else rank)
        put("comm_size", "int64", op.size_bytes)
        put("comm_tag", "int32", op.tag)
    return node

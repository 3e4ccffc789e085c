"""GOAL's binary form (LogGOPSim's txt2bin): packed, little-endian.

    u64 magic 4223; offsets below count from the byte after it
    u32 ranks, u8 highest cpu, u8 highest nic
    for each rank: u64 start, u64 end of its part
    each part: u32 operations n, u32 roots r; r x u32 operations without dependencies; n operations; appendix of u32
    an operation: u32 dependencies, i8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
                  u32 dependants, u32 first of them, u32 dependants of its start, u32 first of them

Edges point forwards: an operation lists the operations that wait for it, as entries of the appendix. The file has no
checksum, so everything that is stored twice is compared.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB, read_bytes
from fabric.traces.goal.text import MAX_TAG, STAGE
from fabric.traces.goal.writing import durations_ns, unwritable
from fabric.traces.graph import (
    ANY,
    MAX_BYTES,
    MAX_DEPENDENCIES,
    MAX_DURATION_PS,
    MAX_OPERATIONS,
    MAX_RANKS,
    Kind,
    Op,
    Trace,
)
from fabric.units import PS_PER_NS

MAGIC: Final = struct.pack("<Q", 4223)
SIMULATED: Final = struct.pack("<Q", 2342)
"""What LogGOPSim --save-mem leaves: it overwrites the file while it reads it."""
MAX_BINARY_BYTES: Final = 512 * MIB
_HEAD: Final = struct.Struct("<IBB")
_JUMP: Final = struct.Struct("<QQ")
_PART: Final = struct.Struct("<II")
_OPERATION: Final = np.dtype(
    [
        ("n_before", "<u4"), ("type", "i1"), ("peer", "<u4"), ("size", "<u8"), ("tag", "<u4"), ("cpu", "u1"),
        ("nic", "u1"), ("n_after", "<u4"), ("after", "<u4"), ("n_after_start", "<u4"), ("after_start", "<u4"),
    ]
)  # fmt: skip
_KIND: Final = {1: Kind.SEND, 2: Kind.RECV, 3: Kind.COMPUTE}
_TYPE: Final = {kind: number for number, kind in _KIND.items()}
_ANY: Final = 2**32 - 1


class _Damaged(Exception):  # noqa: N818  private, becomes a Problem
    """A contradiction in the file."""


def read_goal_binary(path: Path) -> Trace:
    """A GOAL schedule. Raises: InputErrors where the file is no whole schedule."""
    data = read_bytes(path, MAX_BINARY_BYTES, stage=STAGE)
    if data[:8] == SIMULATED:
        text = "was overwritten by LogGOPSim --save-mem"
        raise InputErrors(STAGE, [Problem(str(path), text, "make it again with txt2bin, and copy it before a run")])
    try:
        return _read(data, path)
    except _Damaged as error:
        raise InputErrors(STAGE, [Problem(str(path), str(error), "make the file again from its text")]) from error


def _read(data: bytes, path: Path) -> Trace:
    if data[:8] != MAGIC:
        raise _Damaged("does not begin with the magic number 4223")
    body = memoryview(data)[8:]
    if len(body) < _HEAD.size:
        raise _Damaged("ends within its header")
    n_ranks, max_cpu, max_nic = _HEAD.unpack_from(body)
    if not 1 <= n_ranks <= MAX_RANKS:
        raise _Damaged(f"has {n_ranks:,} ranks; 1 to {MAX_RANKS:,} are possible")
    end_of_table = _HEAD.size + n_ranks * _JUMP.size
    if len(body) < end_of_table:
        raise _Damaged(f"ends within the table of its {n_ranks:,} ranks")
    trace = Trace([], "goal", [str(path)], "operation")
    expected, total = end_of_table, 0
    for rank in range(n_ranks):
        start, end = _JUMP.unpack_from(body, _HEAD.size + rank * _JUMP.size)
        if start != expected or not start + _PART.size <= end <= len(body):
            text = f"rank {rank} is at bytes {start:,} to {end:,}"
            raise _Damaged(f"{text}; it must begin at {expected:,} and end within {len(body):,}")
        expected = end
        ops = _rank(body[start:end], rank, n_ranks, MAX_OPERATIONS - total)
        total += len(ops)
        trace.ranks.append(ops)
    if expected != len(body):
        raise _Damaged(f"has {len(body) - expected:,} bytes after the last rank")
    cpu = max((op.stream for ops in trace.ranks for op in ops), default=0)
    nic = max((op.nic for ops in trace.ranks for op in ops), default=0)
    if cpu > max_cpu or nic > max_nic:
        raise _Damaged(f"its header has CPUs to {max_cpu} and NICs to {max_nic}; operations use {cpu} and {nic}")
    return trace


def _rank(part: memoryview, rank: int, n_ranks: int, most: int) -> list[Op]:
    n, n_roots = _PART.unpack_from(part)
    if n > most:
        raise _Damaged(f"rank {rank}: more than {MAX_OPERATIONS:,} operations in the file")
    at = _PART.size + 4 * n_roots
    end = at + n * _OPERATION.itemsize
    if n_roots > n or end > len(part) or (len(part) - end) % 4:
        raise _Damaged(f"rank {rank}: {n:,} operations and {n_roots:,} roots do not fit into {len(part):,} bytes")
    roots = np.frombuffer(part[_PART.size : at], "<u4")
    rows = np.frombuffer(part[at:end], _OPERATION)
    appendix = np.frombuffer(part[end:], "<u4")
    if len(appendix) > MAX_DEPENDENCIES:
        raise _Damaged(f"rank {rank}: more than {MAX_DEPENDENCIES:,} dependencies")
    _check_edges(rank, rows, roots, appendix)
    _check_values(rank, rows, n_ranks)
    after: list[list[int]] = [[] for _ in range(n)]
    after_start: list[list[int]] = [[] for _ in range(n)]
    for edges, (number, first) in ((after, ("n_after", "after")), (after_start, ("n_after_start", "after_start"))):
        for earlier in np.flatnonzero(rows[number]).tolist():
            begin = int(rows[first][earlier])
            for later in appendix[begin : begin + int(rows[number][earlier])].tolist():
                edges[later].append(earlier)
    return [
        Op(
            _KIND[kind],
            tuple(dict.fromkeys(after[index])),
            tuple(dict.fromkeys(after_start[index])),
            duration_ps=size * PS_PER_NS if _KIND[kind] is Kind.COMPUTE else 0,
            size_bytes=0 if _KIND[kind] is Kind.COMPUTE else size,
            peer=ANY if peer == _ANY or _KIND[kind] is Kind.COMPUTE else peer,
            tag=ANY if tag == _ANY else tag,
            stream=cpu,
            nic=nic,
            number=index,
        )
        for index, (_, kind, peer, size, tag, cpu, nic, *_) in enumerate(rows.tolist())
    ]


def _check_edges(rank: int, rows: NDArray[np.void], roots: NDArray[np.uint32], appendix: NDArray[np.uint32]) -> None:
    n = len(rows)
    numbers = np.concatenate([rows["n_after"], rows["n_after_start"]]).astype(np.int64)
    firsts = np.concatenate([rows["after"], rows["after_start"]]).astype(np.int64)
    used = numbers > 0
    if int(numbers.sum()) != len(appendix) or (firsts[used] + numbers[used] > len(appendix)).any():
        raise _Damaged(f"rank {rank}: {int(numbers.sum()):,} dependants are counted, {len(appendix):,} are listed")
    order = np.argsort(firsts[used], kind="stable")
    if (np.cumsum(numbers[used][order]) - numbers[used][order] != firsts[used][order]).any():
        raise _Damaged(f"rank {rank}: lists of dependants overlap")
    if len(appendix) and int(appendix.max()) >= n:
        raise _Damaged(f"rank {rank}: operation {int(appendix.max()):,} waits for another; there are {n:,}")
    if (np.bincount(appendix, minlength=n) != rows["n_before"]).any():
        raise _Damaged(f"rank {rank}: the numbers of dependencies differ from the lists of dependants")
    if not np.array_equal(np.sort(roots), np.flatnonzero(rows["n_before"] == 0)):
        raise _Damaged(f"rank {rank}: the list of operations without dependencies is not that of its operations")


def _check_values(rank: int, rows: NDArray[np.void], n_ranks: int) -> None:
    if not np.isin(rows["type"], list(_KIND)).all():
        raise _Damaged(
            f"rank {rank}: an operation of unknown type {rows['type'][~np.isin(rows['type'], list(_KIND))][0]}"
        )
    messages, sends = rows["type"] != _TYPE[Kind.COMPUTE], rows["type"] == _TYPE[Kind.SEND]
    bad = messages & (rows["peer"] >= n_ranks) & (sends | (rows["peer"] != _ANY))
    if bad.any():
        raise _Damaged(f"rank {rank}: a peer {rows['peer'][bad][0]:,}; there are {n_ranks:,} ranks")
    if (sends & (rows["tag"] == _ANY)).any():
        raise _Damaged(f"rank {rank}: a send with any tag")
    if (rows["size"] > np.where(messages, MAX_BYTES, MAX_DURATION_PS // PS_PER_NS).astype(np.uint64)).any():
        raise _Damaged(f"rank {rank}: a size or duration of {int(rows['size'].max()):,}")


def write_goal_binary(trace: Trace, path: Path) -> None:
    """Write a trace without collective operations. Raises: InputErrors, before anything is written."""
    unwritable(trace, MAX_TAG)
    parts = [_part(ops, durations) for ops, durations in zip(trace.ranks, durations_ns(trace), strict=True)]
    cpu = max((op.stream for ops in trace.ranks for op in ops), default=0)
    nic = max((op.nic for ops in trace.ranks for op in ops), default=0)
    at = _HEAD.size + len(parts) * _JUMP.size
    table = bytearray()
    for part in parts:
        table += _JUMP.pack(at, at + len(part))
        at += len(part)
    with path.open("wb") as file:
        file.write(MAGIC + _HEAD.pack(len(parts), cpu, nic) + table)
        for part in parts:
            file.write(part)


def _part(ops: list[Op], durations: list[int]) -> bytes:
    rows = np.zeros(len(ops), _OPERATION)
    later: tuple[list[list[int]], list[list[int]]] = ([[] for _ in ops], [[] for _ in ops])
    for index, op in enumerate(ops):
        rows[index]["n_before"] = len(op.after) + len(op.after_start)
        rows[index]["type"] = _TYPE[op.kind]
        rows[index]["peer"] = 0 if op.kind is Kind.COMPUTE else op.peer % 2**32
        rows[index]["size"] = durations[index] if op.kind is Kind.COMPUTE else op.size_bytes
        rows[index]["tag"] = op.tag % 2**32
        rows[index]["cpu"], rows[index]["nic"] = op.stream, op.nic
        for earlier in op.after:
            later[0][earlier].append(index)
        for earlier in op.after_start:
            later[1][earlier].append(index)
    appendix: list[int] = []
    for index in range(len(ops)):
        for lists, number, first in ((later[0], "n_after", "after"), (later[1], "n_after_start", "after_start")):
            rows[index][number], rows[index][first] = len(lists[index]), len(appendix)
            appendix += lists[index]
    roots = np.flatnonzero(rows["n_before"] == 0).astype("<u4")
    head = _PART.pack(len(ops), len(roots))
    return head + roots.tobytes() + rows.tobytes() + np.array(appendix, "<u4").tobytes()

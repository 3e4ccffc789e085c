"""What the writers of GOAL share, and the text form.

GOAL counts in ns. A stream's remainders are carried from one computation to the next, so that a sum of durations is
exact to 1 ns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.traces.graph import ANY, Kind, Trace
from fabric.units import PS_PER_NS

STAGE: Final = "GOAL schedule"
_MOST: Final = 255


def durations_ns(trace: Trace) -> Iterator[list[int]]:
    """For each rank the durations of its operations, 0 for messages."""
    for ops in trace.ranks:
        left_ps: dict[int, int] = defaultdict(int)
        durations = []
        for op in ops:
            whole_ns, left_ps[op.stream] = divmod(op.duration_ps + left_ps[op.stream], PS_PER_NS)
            durations.append(whole_ns)
        yield durations


def unwritable(trace: Trace, max_tag: int) -> None:
    """Raises: InputErrors where GOAL cannot hold an operation."""
    problems = []
    for rank, ops in enumerate(trace.ranks):
        for index, op in enumerate(ops):
            if op.kind is Kind.COLLECTIVE:
                problems.append(Problem(trace.place(rank, index), f"{op.operation} is not an operation of GOAL",
                                        "make messages of it first: fabric.traces.unfold"))  # fmt: skip
            elif op.tag > max_tag or op.stream > _MOST or op.nic > _MOST:
                problems.append(Problem(trace.place(rank, index), f"tag {op.tag}, cpu {op.stream}, nic {op.nic}",
                                        f"GOAL has tags to {max_tag}, CPUs and NICs to {_MOST}"))  # fmt: skip
    if problems:
        raise InputErrors(STAGE, problems[:20])


def goal_text(trace: Trace, max_tag: int) -> Iterator[str]:
    """Lines of the text form. Raises: InputErrors."""
    unwritable(trace, max_tag)
    yield f"num_ranks {trace.n_ranks}\n"
    for rank, (ops, durations) in enumerate(zip(trace.ranks, durations_ns(trace), strict=True)):
        yield f"\nrank {rank} {{\n"
        for index, (op, duration) in enumerate(zip(ops, durations, strict=True)):
            cpu = f" cpu {op.stream}" if op.stream else ""
            if op.kind is Kind.COMPUTE:
                yield f"l{index}: calc {duration}{cpu}\n"
                continue
            way = f"send {op.size_bytes}b to" if op.kind is Kind.SEND else f"recv {op.size_bytes}b from"
            peer = "-1" if op.peer == ANY else op.peer
            nic = f" nic {op.nic}" if op.nic else ""
            yield f"l{index}: {way} {peer} tag {op.tag}{cpu}{nic}\n"
        for index, op in enumerate(ops):
            for earlier in op.after:
                yield f"l{index} requires l{earlier}\n"
            for earlier in op.after_start:
                yield f"l{index} irequires l{earlier}\n"
        yield "}\n"


def write_goal_text(trace: Trace, path: Path, max_tag: int) -> None:
    """Write a trace without collective operations. Raises: InputErrors, before anything is written."""
    lines = goal_text(trace, max_tag)
    first = next(lines)
    with path.open("w", encoding="ascii") as file:
        file.write(first)
        file.writelines(lines)

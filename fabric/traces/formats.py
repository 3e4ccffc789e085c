"""Formats by name: how a file is told from others, how it is read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.reading import open_bytes
from fabric.traces.chakra.reader import read_chakra
from fabric.traces.chakra.writer import write_chakra
from fabric.traces.goal.binary import MAGIC, SIMULATED, read_goal_binary, write_goal_binary
from fabric.traces.goal.text import MAX_TAG, read_goal_text
from fabric.traces.goal.writing import write_goal_text
from fabric.traces.graph import Kind, Trace
from fabric.traces.lower import Build, lower
from fabric.traces.simai.topology import is_topology
from fabric.traces.simai.workload import POLICIES, read_workload, trace_of
from fabric.traces.unfold import unfold

STAGE: Final = "trace"
_HEAD_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Format:
    """A format whose files are traces."""

    read: Callable[[Path], Trace]
    write: Callable[[Trace, Path], None] | None
    has_collectives: bool
    """Whether a collective operation can be written as one."""


def _write_chakra(trace: Trace, prefix: Path) -> None:
    write_chakra(trace, prefix)


def _write_goal(trace: Trace, path: Path) -> None:
    write_goal_text(trace, path, MAX_TAG)


def _read_simai(path: Path) -> Trace:
    return trace_of(read_workload(path), path)


FORMATS: Final[Mapping[str, Format]] = {
    "chakra": Format(read_chakra, _write_chakra, has_collectives=True),
    "goal": Format(read_goal_text, _write_goal, has_collectives=False),
    "goal-binary": Format(read_goal_binary, write_goal_binary, has_collectives=False),
    "simai": Format(_read_simai, None, has_collectives=True),
}
WRITTEN: Final = {".goal": "goal", ".bin": "goal-binary"}
"""Ending of a file -> its format; other names are prefixes of Chakra files."""


def format_of(path: Path) -> str:
    """The name in FORMATS, 'simai-topology' or 'nccl-tests'; a name that is no file is the prefix of Chakra files.

    Raises: InputErrors where the file is of none of these.
    """
    if not path.exists():
        return "chakra"
    if path.is_dir():
        hint = "name the prefix of its files: DIR/NAME for DIR/NAME.0.et"
        raise InputErrors(STAGE, [Problem(str(path), "is a directory", hint)])
    if path.name.endswith((".et", ".et.gz")):
        hint = "name the prefix, the part before .0.et: a trace has a file for each rank"
        raise InputErrors(STAGE, [Problem(str(path), "is the file of one rank", hint)])
    with open_bytes(path, stage=STAGE) as file:
        head = file.read(_HEAD_BYTES)
    if head[:8] in {MAGIC, SIMULATED}:
        return "goal-binary"
    text = head.decode("utf-8-sig", errors="replace")
    words = text.split(maxsplit=1)
    first = words[0] if words else ""
    if first in POLICIES:
        return "simai"
    if is_topology(text.lstrip().partition("\n")[0]):
        return "simai-topology"
    if first.startswith(("{", "#")) or "# nccl-tests" in text or "out-of-place" in text:
        return "nccl-tests"
    if first == "num_ranks" or first.startswith(("//", "/*")):
        return "goal"
    raise InputErrors(STAGE, [Problem(str(path), "is of no known format",
                                      "give Chakra (a prefix), GOAL, SimAI or nccl-tests files")])  # fmt: skip


def read_trace(path: Path, name: str = "") -> Trace:
    """A trace of any format in FORMATS. Raises: InputErrors."""
    name = name or format_of(path)
    if name not in FORMATS:
        raise InputErrors(STAGE, [Problem(str(path), f"is a {name} file, not a trace of operations",
                                          f"give one of {', '.join(FORMATS)}")])  # fmt: skip
    return FORMATS[name].read(path)


def write_trace(trace: Trace, path: Path, name: str, build: Build) -> Trace:
    """Write a trace; a format without collective operations gets their messages. Returns: what was written.

    Raises: InputErrors where the format cannot hold it, or is read only.
    """
    into = FORMATS[name]
    if into.write is None:
        raise InputErrors(STAGE, [Problem(str(path), f"{name} is read only", f"give a name that ends in "
                                          f"{' or '.join(WRITTEN)}, or a prefix for Chakra")])  # fmt: skip
    if not into.has_collectives and any(op.kind is Kind.COLLECTIVE for ops in trace.ranks for op in ops):
        trace = unfold(lower(trace, build).transfers, trace.n_ranks, trace.files[0])
    into.write(trace, path)
    return trace

"""Jobs and collectives as SimAI workloads: one list of lines that every rank carries out.

The lines that are carried out forward have all operations up to the end of the last forward pass, in their order; the
lines of the last backward pass follow from the end of the file to its beginning, as SimAI carries them out. Reductions
of gradients are in the weight-gradient column, where they overlap what follows. Other operations stop the rank, also
those that the job carries out beside a computation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from fabric.errors import InputErrors, Problem
from fabric.jobs.job import Job
from fabric.jobs.lowering import LoweredJob
from fabric.jobs.rows import JobOperation
from fabric.traces.fold import Call as Folded
from fabric.traces.fold import fold
from fabric.traces.simai.workload import Call, Layer, Workload, group_ranks
from fabric.traces.simai.writer import WRITABLE
from fabric.units import PS_PER_NS
from fabric.workload.batch import Surroundings
from fabric.workload.exported import Schedule, groups_of_job, schedule
from fabric.workload.job import lowered_of
from fabric.workload.spec import CollectiveSpec, JobLoad, WorkloadSpec

POLICY: Final = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
_NOTHING: Final = Call(0, (), "tp", 0)


def workloads(
    entries: Sequence[WorkloadSpec], file: str, around: Surroundings
) -> tuple[list[tuple[str, tuple[Workload, Sequence[str], list[str]]]], list[str]]:
    """((name, (workload, hosts, notes)) of each job and collective, names of other entries). Raises: InputErrors."""
    found: list[tuple[str, tuple[Workload, Sequence[str], list[str]]]] = []
    left_out: list[str] = []
    problems: list[Problem] = []
    for number, spec in enumerate(entries):
        name, path = spec.name or spec.kind, f"{file}: workload[{number}]"
        try:
            match spec:
                case CollectiveSpec():
                    it = schedule(spec, name, path, around)
                    if it is not None:
                        found.append((name, (of_collective(spec, it, path), it.hosts, [])))
                case JobLoad():
                    job = lowered_of(spec.model_copy(update={"steps": 1}), name, path, around)
                    if job is not None:
                        hosts = [around.fabric.nodes[host].name for host in job[1].host_of.tolist()]
                        notes = (
                            [f"the first of {spec.steps} steps: repeat: {spec.steps} runs them"]
                            if spec.steps > 1
                            else []
                        )
                        found.append((name, (of_job(job[0].job, job[2], path), hosts, notes)))
                case _:
                    left_out.append(name)
        except InputErrors as error:
            problems += error.problems
    problems = [*around.problems, *problems]
    if not problems and not found:
        text = f"has no entry of kind collective or job, which SimAI can express: {', '.join(left_out)}"
        problems = [Problem(f"{file}: workload", text, "use --format chakra or goal")]
    if problems:
        raise _refused(problems)
    return found, left_out


def of_collective(spec: CollectiveSpec, it: Schedule, path: str) -> Workload:
    """One line for each operation, of a tensor-parallel group of all ranks. Raises: InputErrors."""
    if spec.operation not in WRITABLE:
        text = f"{spec.operation} is not an operation of a SimAI workload"
        raise _refused([Problem(f"{path}.operation", text, f"use {', '.join(WRITABLE)}, or --format chakra")])
    size = it.groups[0].size_bytes
    workload = Workload(POLICY, tp=len(it.hosts), all_gpus=len(it.hosts))
    call = Call(0, (spec.operation,), "tp", size)
    workload.layers += [Layer(f"operation{number}", call, _NOTHING, _NOTHING, 0, 0) for number in range(len(it.groups))]
    return workload


def of_job(job: Job, lowered: LoweredJob, path: str) -> Workload:
    """The lines of one step. Raises: InputErrors with all that SimAI cannot express."""
    p = job.parallel
    workload = Workload(POLICY, tp=p.tp, ep=p.ep, pp=p.pp, all_gpus=p.n_ranks)
    found: list[str] = []
    if p.pp > 1:
        found.append("pipeline stages, of which the file has no schedule")
    if p.cp > 1:
        found.append("context parallelism, which has no column")
    if p.n_ranks % (p.tp * p.pp) or workload.dp % p.ep:
        found.append("a layout other than TP x DP x PP with EP dividing DP")
    if found:
        raise _refused([Problem(path, f"has {text}", "use --format chakra or goal") for text in found])
    lines = _Lines(workload, lowered)
    lines.fill()
    if lines.problems:
        raise _refused([Problem(path, text, "use --format chakra or goal") for text in lines.problems])
    return workload


@dataclass
class _Lines:
    """Lines of a job with one stage."""

    workload: Workload
    lowered: LoweredJob
    problems: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    forward: list[Layer] = field(default_factory=list)
    backward: list[Layer] = field(default_factory=list)
    """In the order in which they are carried out."""
    left_ps: int = 0
    """Of a ns, carried to the next computation."""

    def fill(self) -> None:
        """All operations in order."""
        calls, duration = self._calls(), self._durations()
        operations = self.lowered.operations
        last_forward = max((place for place, it in enumerate(operations) if _is_forward(it)), default=-1)
        pending_ps = 0
        for number, it in enumerate(operations):
            if it.operation == "end":
                continue
            if it.operation == "compute":
                if it.name.endswith(" optimizer"):
                    pending_ps = self._update(pending_ps, duration.get(number, 0))
                else:
                    pending_ps += duration.get(number, 0)
                continue
            forward = number <= last_forward
            kind = self._kind(it, calls.get(number, []), forward=forward)
            if kind is not None:
                call = Call(0, (it.operation,), kind, it.size_bytes)
                self._add(it.name, pending_ps, call, forward=forward, overlaps=it.kind == "dp")
                pending_ps = 0
        if pending_ps:
            self._add("end", pending_ps, _NOTHING, forward=False)
        self.workload.layers += [*self.forward, *reversed(self.backward)]

    def _update(self, pending_ps: int, duration_ps: int) -> int:
        """The optimizer runs once the last gradients before it are reduced; returns what is left to compute."""
        reduced = [place for place, line in enumerate(self.backward) if line.weight_gradient.operations]
        if pending_ps or not reduced:
            self._add("optimizer", pending_ps, _NOTHING, forward=False)
        place = reduced[-1] if reduced else -1
        whole_ps = duration_ps // PS_PER_NS * PS_PER_NS
        self.backward[place] = self.backward[place]._replace(update_ps=whole_ps)
        return 0

    def _calls(self) -> Mapping[int, list[Folded]]:
        found: dict[int, list[Folded]] = {}
        for call in dict.fromkeys(fold(self.lowered.transfers, groups_of_job(self.lowered)).calls.values()):
            found.setdefault(call.number, []).append(call)
        return found

    def _kind(self, it: JobOperation, calls: Sequence[Folded], *, forward: bool) -> str | None:
        """The group that the file can name; None with a problem where there is none."""
        short = it.name.partition(" ")[2].partition(" ")[2]
        if not calls:
            self._problem(f"has the operation {it.operation}, of which SimAI's file has no kind", short)
            return None
        groups = {call.ranks for call in calls}
        able = ("dp", "dp_ep") if it.kind == "dp" else ("tp", "ep")
        if it.kind == "dp" and forward:
            self._problem(f"has {it.operation} of data-parallel ranks before the last backward pass", short)
            return None
        for kind in able:
            if {group_ranks(self.workload, rank)[kind] for rank in range(self.workload.all_gpus)} == groups:
                return kind
        self._problem(f"has {it.operation} of groups that are none of TP, EP and DP as SimAI numbers ranks", short)
        return None

    def _problem(self, text: str, example: str = "") -> None:
        """One of a kind: a layer that cannot be written is followed by others like it."""
        if text not in self.seen:
            self.seen.add(text)
            self.problems.append(text + (f": {example}" if example else ""))

    def _durations(self) -> dict[int, int]:
        """Operation -> computation of every rank, ps; different times of ranks are a problem."""
        rows = self.lowered.transfers
        computing = np.flatnonzero((rows.src == rows.dst) & (rows.delay_ps > 0))
        of: dict[int, dict[int, int]] = {}
        for row in computing.tolist():
            here = of.setdefault(int(rows.operation[row]), {})
            here[int(rows.src[row])] = here.get(int(rows.src[row]), 0) + int(rows.delay_ps[row] * rows.count[row])
        found = {}
        for number, times in of.items():
            if len(set(times.values())) > 1 or len(times) != self.workload.all_gpus:
                self._problem("has ranks that compute for different times (jitter, slow GPUs)")
            found[number] = max(times.values())
        return found

    def _add(self, name: str, duration_ps: int, call: Call, *, forward: bool, overlaps: bool = False) -> None:
        """A line: a computation, then the operation; one that overlaps is in the weight-gradient column."""
        whole_ns, self.left_ps = divmod(duration_ps + self.left_ps, PS_PER_NS)
        timed = (_NOTHING if overlaps else call)._replace(duration_ps=whole_ns * PS_PER_NS)
        word = "-".join(name.split()[2:]) if name.startswith("step ") else name
        line = Layer(word, _NOTHING, _NOTHING, _NOTHING, 0, 0)
        if forward:
            self.forward.append(line._replace(forward=timed))
        else:
            self.backward.append(line._replace(input_gradient=timed, weight_gradient=call if overlaps else _NOTHING))


def _is_forward(it: JobOperation) -> bool:
    """Not what the backward pass repeats (recompute: full)."""
    return (" forward" in it.name or " loss " in it.name) and " repeated " not in it.name


def _refused(problems: list[Problem]) -> InputErrors:
    return InputErrors("writing a SimAI workload", problems)

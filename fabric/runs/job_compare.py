"""Jobs under several scenarios or placements, and each job alone: simulated one after another, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fabric.errors import InputErrors, Problem
from fabric.jobs.alone import alone
from fabric.jobs.placement import placement_csv
from fabric.jobs.results import jain_index
from fabric.runs import simulate
from fabric.runs.job_times import JobTimes, job_times
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.load import build_scenario
from fabric.scenario.resolved import resolved
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.surroundings import surroundings
from fabric.topology.distances import same_server
from fabric.topology.model import Fabric
from fabric.workload.job import seated
from fabric.workload.spec import InferenceLoad, JobLoad


@dataclass(frozen=True)
class Variant:
    """One run of the comparison."""

    label: str
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Row:
    """One job, or one inference entry, of one variant; times in nanoseconds."""

    variant: str
    name: str
    steps: int
    step_ns: float | None
    """Mean of the steps."""
    longest_step_ns: float | None
    exposed_ns: float | None
    """Mean exposed communication of a step."""
    alone_step_ns: float | None
    """Mean step of the job alone on the same GPUs; None where it was not asked for."""
    slowdown: float | None
    checkpoint_ns: float | None
    """Longest write of a checkpoint, from its first posting to the last arrival."""
    message_p99_ns: float | None
    """Completion time of messages between ranks of different servers, 99th percentile."""
    storage_p99_ns: float | None
    """Completion time of messages from and to storage nodes, 99th percentile."""
    ttft_p99_ns: float | None = None
    tpot_p99_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    """One variant as a whole."""

    variant: str
    pauses: int
    longest_pause_ns: float
    paused_ns: float
    marked: int
    lossless_drops: int
    fairness: float | None
    """Jain's index of the jobs' slowdowns; None without them."""
    digest: str


@dataclass(frozen=True)
class Comparison:
    """All rows, in the order of the variants."""

    rows: tuple[Row, ...]
    wholes: tuple[Whole, ...]


@dataclass(frozen=True)
class Simulator:
    """How runs are made."""

    folder: Path
    """Run directories are made in it."""
    threads: int = 1
    admit: Callable[[Scenario], Admit] | None = None
    hooks: Callable[[str, int, int], Hooks] | None = None
    """(label, number, runs in all) -> callbacks of a run."""

    def run(self, scenario: Scenario, label: str, number: int, total: int) -> tuple[RunDir, Fabric]:
        """Simulate into a new directory."""
        admit = None if self.admit is None else self.admit(scenario)
        compiled, plan = simulate.prepare(scenario, admit=admit)
        out = self.folder / f"{number:02d}-{label}"
        hooks = None if self.hooks is None else self.hooks(label, number, total)
        outcome = simulate.simulate(compiled, plan, simulate.Options(out, threads=self.threads), hooks)
        if outcome.status == "interrupted":
            raise KeyboardInterrupt
        return RunDir.open(out), compiled.fabric


def placed_variants(scenario: Scenario, placements: Sequence[str]) -> list[Variant]:
    """The scenario with every job placed in each of the ways: a name, or 'slurm=FILE' and 'file=FILE'.

    Raises: InputErrors.
    """
    raw, found = scenario.model_dump(mode="json", by_alias=True, exclude_unset=True), []
    for each in placements:
        policy, _, file = each.partition("=")
        entries = []
        for entry in raw["workload"]:
            if entry["kind"] == "job":
                kept = {k: v for k, v in entry.items() if k not in {"placement", "placement_file", "distribution"}}
                entry = {**kept, "placement": policy, **({"placement_file": str(Path(file).resolve())} if file else {})}  # noqa: PLW2901
            entries.append(entry)
        found.append(Variant(policy, build_scenario({**raw, "workload": entries}, scenario.file)))
    return found


def compare(variants: Sequence[Variant], make: Simulator, *, with_alone: bool) -> Comparison:
    """Simulate every variant, and each of its jobs alone.

    Raises: InputErrors where a variant has neither a job nor inference, or cannot be simulated.
    """
    jobs = {it.label: [each for each in it.scenario.workload if isinstance(each, JobLoad)] for it in variants}
    for it in variants:
        if not jobs[it.label] and not any(isinstance(each, InferenceLoad) for each in it.scenario.workload):
            text = "no entry of its workload is a job or inference"
            raise InputErrors("comparing", [Problem(it.scenario.file.name, text, "name a scenario with kind: job")])
    total = len(variants) + with_alone * sum(map(len, jobs.values()))
    rows: list[Row] = []
    wholes: list[Whole] = []
    number = 0
    for it in variants:
        number += 1
        run, fabric = make.run(it.scenario, it.label, number, total)
        times = job_times(run) if jobs[it.label] else []
        alone_ns: dict[str, float] = {}
        if with_alone:
            raw = resolved(it.scenario, fabric)
            for each in times:
                number += 1
                file = make.folder / f"{number:02d}-{it.label}-{each.name}.csv"
                file.write_text(_placement(it.scenario, fabric, each.name), encoding="utf-8")
                single = build_scenario(alone(raw, each.name, str(file.resolve())), it.scenario.file)
                apart, _ = make.run(single, f"{it.label}-{each.name}", number, total)
                alone_ns[each.name] = _mean_ns(job_times(apart)[0])
        mine = [_row(it.label, each, alone_ns.get(each.name), run) for each in times]
        mine += [_served(it.label, served) for served in run.summary.get("inference", ())]
        rows += mine
        wholes.append(_whole(it.label, run, [row.slowdown for row in mine if row.slowdown is not None]))
    return Comparison(tuple(rows), tuple(wholes))


def _placement(scenario: Scenario, fabric: Fabric, name: str) -> str:
    """CSV of the slots that a job has beside the others."""
    problems: list[Problem] = []
    around = surroundings(scenario, fabric, problems)
    for path, each, spec in around.jobs:
        found = seated(spec, each, path, around)
        if each == name and found is not None:
            return placement_csv(found.slots)
    raise InputErrors("placing the job", problems)


def _mean_ns(job: JobTimes) -> float:
    return float(np.mean([step["duration_ns"] for step in job.steps]))


def _row(variant: str, job: JobTimes, alone_ns: float | None, run: RunDir) -> Row:
    mean = _mean_ns(job)
    writes = [it.end_ns - it.start_ns for it in job.storage if it.what == "write" and it.end_ns is not None]
    between, storage = _message_p99(run, job)
    return Row(
        variant,
        job.name,
        len(job.steps),
        mean,
        max(step["duration_ns"] for step in job.steps),
        float(np.mean([step["exposed_ns"] for step in job.steps])),
        alone_ns,
        None if not alone_ns else mean / alone_ns,
        float(max(writes)) if writes else None,
        between,
        storage,
    )


def _message_p99(run: RunDir, job: JobTimes) -> tuple[float | None, float | None]:
    """99th percentile of messages over the network (between ranks, from and to storage), from posting to
    acknowledgement.
    """
    rows = run.transfers(["operation", "src", "dst", "size_bytes"])
    operation = np.array(rows["operation"].to_pylist(), dtype=object).astype(str)
    mine = np.char.startswith(operation, f"{job.name}/")
    stored = np.char.endswith(operation, "checkpoint write") | np.char.endswith(operation, " read")
    fabric = run.fabric
    ends = [np.array([fabric.by_name[name].id for name in rows[side].to_pylist()], np.int64) for side in ("src", "dst")]
    sent = (rows["size_bytes"].to_numpy() > 0) & ~same_server(fabric, ends[0], ends[1])
    messages = run.transfer_messages(["transfer", "start_ns", "end_ns"])
    took = messages["end_ns"].to_numpy(zero_copy_only=False).astype(float) - messages["start_ns"].to_numpy(
        zero_copy_only=False
    ).astype(float)
    of = messages["transfer"].to_numpy()
    found = []
    for kind in (~stored, stored):
        chosen = took[(mine & kind & sent)[of]]
        chosen = chosen[~np.isnan(chosen)]
        found.append(float(np.percentile(chosen, 99, method="inverted_cdf")) if len(chosen) else None)
    return found[0], found[1]


def _served(variant: str, served: dict[str, Any]) -> Row:
    return Row(
        variant, served["name"], served["done"], None, None, None, None, None, None, None, None,
        served["ttft_ns"]["p99"], served["tpot_ns"]["p99"],
    )  # fmt: skip


def _whole(variant: str, run: RunDir, slowdowns: Sequence[float]) -> Whole:
    metrics = run.summary["metrics"]
    return Whole(
        variant,
        metrics["pfc.pauses"],
        metrics["pfc.longest_pause_ns"],
        metrics["pfc.paused_time_ns"],
        metrics["ecn.marked"],
        metrics["drops.lossless"],
        jain_index(slowdowns) if slowdowns else None,
        str(run.manifest["digest"]),
    )

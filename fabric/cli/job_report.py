"""`fabric job report RUN`: what the steps of a run's jobs consist of; with --alone, how much the others slow them."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.cli.job_storage import (
    INFERENCE_COLUMNS,
    STORAGE_COLUMNS,
    inference_rows,
    queue_line,
    report_json,
    storage_rows,
)
from fabric.cli.options.estimating import add_yes
from fabric.cli.terminal.tables import print_table
from fabric.errors import FabricError

if TYPE_CHECKING:  # annotations only
    from fabric.runs.job_times import JobTimes
    from fabric.runs.rundir import RunDir
    from fabric.runs.session import Hooks


@dataclass(frozen=True)
class Comparison:
    """One job beside itself alone."""

    name: str
    steps_ns: Sequence[float]
    """Of the job alone."""
    slowdown_ratio: float | None
    """Time of the steps that ended in both, together over alone; None without such a step."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the run and its options."""
    parser.add_argument("dir", metavar="RUN", type=Path, help="run directory of a scenario with jobs or traces")
    parser.add_argument(
        "--alone",
        action="store_true",
        help="simulate each job alone as well, with the same placement and seed, and print how much slower it was "
        "beside the others; results are kept in RUN/alone",
    )
    parser.add_argument("--quiet", action="store_true", help="with --alone: no progress on standard error")
    add_yes(parser)


def run(args: Namespace) -> int:
    """Print the steps."""
    from fabric.runs.job_times import job_times  # noqa: PLC0415
    from fabric.runs.rundir import RunDir  # noqa: PLC0415

    for option in ("quiet", "yes"):
        if getattr(args, option) and not args.alone:
            raise FabricError(f"--{option} has no effect without --alone", "remove it")
    found = RunDir.open(args.dir)
    served = found.summary.get("inference", [])
    times = job_times(found, required=not served)
    jobs = [it.row for it in times]
    compared = _alone(args, found, jobs) if args.alone else {}
    if args.json:
        data = _as_json(found.summary, jobs, compared)
        for row, it in zip(data["jobs"], times, strict=True):
            row.update(report_json(it))
        print(json.dumps({**data, "inference": served}, indent=1))
    else:
        if jobs:
            _print(found.summary, times, compared)
        if served:
            print_table("Inference", INFERENCE_COLUMNS, list(inference_rows(served)))
    return 130 if args.alone and len(compared) < len(jobs) else 0


def _alone(args: Namespace, found: RunDir, jobs: Sequence[Mapping[str, Any]]) -> dict[str, Comparison]:
    from fabric.api.hooks import hooks_of  # noqa: PLC0415  the engine, for --alone only
    from fabric.cli.terminal import streams  # noqa: PLC0415
    from fabric.cli.terminal.progress import ProgressLine  # noqa: PLC0415
    from fabric.runs.alone import jobs_alone  # noqa: PLC0415
    from fabric.runs.job_summary import job_rows  # noqa: PLC0415
    from fabric.scenario.estimate.admission import Admission  # noqa: PLC0415

    from fabric.cli.options.estimating import confirmed  # noqa: PLC0415  # isort: skip

    @contextmanager
    def watch(name: str) -> Iterator[Hooks]:
        if not args.quiet:
            streams.say(f"{name} alone")
        with ProgressLine(sys.stderr, quiet=args.quiet) as line:
            yield hooks_of(on_progress=line.update)

    check = Admission(found.path.name, None, confirm=(lambda _: True) if args.yes else confirmed)
    runs = jobs_alone(found, [it["name"] for it in jobs], watch, check)
    compared = {}
    for it in jobs:
        if it["name"] in runs and runs[it["name"]].status != "interrupted":
            (same,) = job_rows(runs[it["name"]].summary)
            alone = [step["duration_ns"] for step in same["steps"]]
            both = min(len(alone), len(it["steps"]))
            slowdown = sum(step["duration_ns"] for step in it["steps"][:both]) / sum(alone[:both]) if both else None
            compared[it["name"]] = Comparison(it["name"], alone, slowdown)
    return compared


def _fairness(compared: Mapping[str, Comparison]) -> float | None:
    """Jain's index of the slowdowns; None with fewer than two."""
    from fabric.jobs.results import jain_index  # noqa: PLC0415

    found = [it.slowdown_ratio for it in compared.values() if it.slowdown_ratio is not None]
    return jain_index(found) if len(found) > 1 else None


def _as_json(
    summary: Mapping[str, Any], jobs: Sequence[Mapping[str, Any]], compared: Mapping[str, Comparison]
) -> dict[str, Any]:
    rows = []
    for it in jobs:
        beside = compared.get(it["name"])
        alone = {} if beside is None else {
            "alone": {"steps_ns": list(beside.steps_ns), "slowdown_ratio": beside.slowdown_ratio}
        }  # fmt: skip
        rows.append({**it, "gpus": it["ranks"], **alone})
    data: dict[str, Any] = {"jobs": rows, "jobs_jain_ratio": summary["jobs_jain_ratio"]}
    data["collectives"] = summary["collectives"]
    if compared:
        data["slowdown_jain_ratio"] = _fairness(compared)
    return data


def _print(summary: Mapping[str, Any], times: Sequence[JobTimes], compared: Mapping[str, Comparison]) -> None:
    from fabric.render.tables import cell  # noqa: PLC0415

    jobs = [it.row for it in times]
    for told, it in zip(times, jobs, strict=True):
        beside = compared.get(it["name"])
        rows = []
        for number, step in enumerate(it["steps"]):
            parts = [
                cell(step[f"{part}_ns"], "ns") for part in ("duration", "compute", "bubble", "slow_ranks", "exposed")
            ]
            if beside is not None:
                known = number < len(beside.steps_ns)
                alone = beside.steps_ns[number] if known else None
                parts += [cell(alone, "ns"), cell(step["duration_ns"] / alone if alone else None, "factor")]
            rows.append((f"{number}", *parts))
        of = f"{it['job']} on {it['ranks']:,} GPUs" if it["job"] else f"{it['kind']} of {it['ranks']:,} ranks"
        columns = [">step", ">time", ">computing", ">bubble", ">slow ranks", ">exposed communication"]
        print_table(f"{it['name']}: {of}", (*columns, *([">alone", ">slowdown"] if beside else [])), rows)
        if len(it["steps"]) < it["steps_planned"]:
            print(f"{it['steps_planned'] - len(it['steps'])} of {it['steps_planned']} steps did not end in the run")
        if queued := queue_line(told):
            print(queued)
        if told.storage:
            print_table(f"{it['name']}: storage", STORAGE_COLUMNS, list(storage_rows(told)))
    shown = [
        (it["name"], cell(it["completion_ns"], "ns"), cell(compared[it["name"]].slowdown_ratio, "factor"))
        for it in jobs
        if it["name"] in compared
    ]
    if shown:
        print_table("Beside the others and alone", ("job", ">completion", ">slowdown"), shown)
        fairness = _fairness(compared)
        if fairness is not None:
            print(f"fairness         {fairness:.3f}: Jain's index of the slowdowns")
    elif summary["jobs_jain_ratio"] is not None:
        print(f"fairness         {summary['jobs_jain_ratio']:.3f}: Jain's index of the jobs' progress")

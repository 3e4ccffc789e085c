"""Text and JSON of a job's storage, its place in the queue, and inference, for `fabric job plan` and `report`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fabric.units import PS_PER_NS, PS_PER_S, count, format_duration_s, format_measured_bytes, format_time_ps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabric.jobs.job import Job
    from fabric.jobs.storage import StoragePlan
    from fabric.runs.job_times import JobTimes


def print_storage(job: Job, plan: StoragePlan) -> None:
    """Lines of `fabric job plan`."""
    if plan.checkpoint_bytes:
        size = format_measured_bytes(plan.checkpoint_bytes)
        print(
            f"checkpoint       {size} ({plan.checkpoint_bytes:,} B) every {count(plan.every_steps, 'step')}, "
            f"{format_duration_s(plan.interval_s)}: {plan.bytes_per_day / 10**12:,.4g} TB a day"
        )
        what = (
            "asynchronous" if job.storage and job.storage.checkpoint and job.storage.checkpoint.asynchronous else "sync"
        )
        print(
            f"  written by     {count(plan.writers, 'rank')}, at most {format_measured_bytes(plan.largest_part_bytes)} "
            f"each: {format_time_ps(plan.write_s * PS_PER_S)} at the rate of a NIC"
        )
        print(
            f"  cost           {what}: computing stops for {format_time_ps(plan.stall_s * PS_PER_S)} a checkpoint, "
            f"{100 * (plan.step_ratio - 1):.3g} % of a step on average"
        )
    if plan.read_bytes_per_step:
        print(
            f"dataset          {format_measured_bytes(plan.read_bytes_per_step)} a step; the largest reader takes "
            f"{format_time_ps(plan.read_s * PS_PER_S)} at the rate of a NIC"
        )


def report_json(job: JobTimes) -> dict[str, Any]:
    """Fields of a job in `fabric job report --json`. turnaround_ns counts from its arrival."""
    return {
        "arrival_ns": job.arrival_ps / PS_PER_NS,
        "start_ns": job.start_ps / PS_PER_NS,
        "waiting_ns": (job.start_ps - job.arrival_ps) / PS_PER_NS,
        "end_ns": None if job.end_ps is None else job.end_ps / PS_PER_NS,
        "turnaround_ns": None if job.end_ps is None else (job.end_ps - job.arrival_ps) / PS_PER_NS,
        "storage": [{**asdict(each), "bytes_per_s": each.bytes_per_s} for each in job.storage],
    }


def storage_rows(job: JobTimes) -> Iterator[tuple[object, ...]]:
    """(what, step, start, time, bytes, rate) of each checkpoint and read."""
    for each in job.storage:
        took = "not finished" if each.end_ns is None else format_time_ps((each.end_ns - each.start_ns) * PS_PER_NS)
        rate = "-" if each.bytes_per_s is None else f"{format_measured_bytes(each.bytes_per_s)}/s"
        what = "checkpoint" if each.what == "write" else "dataset"
        start = format_time_ps(each.start_ns * PS_PER_NS)
        yield what, each.step, start, took, format_measured_bytes(each.size_bytes), rate


def queue_line(job: JobTimes) -> str:
    """When the job arrived, began and ended; '' for one that began with the run."""
    if not job.arrival_ps and not job.start_ps:
        return ""
    waited = f"submitted at {format_time_ps(job.arrival_ps)}, waited {format_time_ps(job.start_ps - job.arrival_ps)}"
    if job.end_ps is None:
        return f"{waited}, not done in the run"
    whole = format_time_ps(job.end_ps - job.arrival_ps)
    return f"{waited}, done at {format_time_ps(job.end_ps)}: {whole} in all"


def inference_rows(served: Sequence[Mapping[str, Any]]) -> Iterator[tuple[object, ...]]:
    """(entry, model, requests, TTFT and TPOT percentiles, goodput) of each inference entry of summary.json."""
    for each in served:
        times = [
            "-" if each[metric][which] is None else format_time_ps(each[metric][which] * PS_PER_NS)
            for metric in ("ttft_ns", "tpot_ns")
            for which in ("p50", "p90", "p99")
        ]
        good = each["goodput_per_s"]
        done = f"{each['done']:,} of {each['requests']:,}"
        yield each["name"], each["model"], done, *times, "-" if good is None else f"{good:.4g}/s"


INFERENCE_COLUMNS = (
    "entry", "model", ">requests done", ">TTFT p50", ">p90", ">p99", ">TPOT p50", ">p90", ">p99", ">goodput",
)  # fmt: skip
STORAGE_COLUMNS = ("", ">step", ">start", ">time", ">bytes", ">mean rate")

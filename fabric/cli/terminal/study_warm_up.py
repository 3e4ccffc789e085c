"""The warm-up that pilot runs of a study suggest, in words or JSON: --warm-up of `fabric sweep`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from fabric.render.document import Column, Document, Prose, Section, Status, Table, Unit
from fabric.units import PS_PER_NS, count, format_time_ps

if TYPE_CHECKING:  # --help must not load the compiler
    from fabric.studies.plan import StudyPlan
    from fabric.studies.warm_up import Settling, WarmUp


def tell_warm_up(plan: StudyPlan, found: WarmUp, *, as_json: bool) -> int:
    """Print it. Returns: the exit code, 1 where there is no steady state."""
    if as_json:
        print(json.dumps(_json(plan, found), indent=2))
        return int(found.warm_up_ps is None)
    from fabric.render.text import console_for, print_document  # noqa: PLC0415  it loads much

    print_document(_document(plan, found), console_for(sys.stdout))
    return int(found.warm_up_ps is None)


def _json(plan: StudyPlan, found: WarmUp) -> dict[str, Any]:
    ps = found.warm_up_ps
    return {
        "name": plan.study.name,
        "rule": "MSER-5",
        "seeds": found.seeds,
        "warm_up_ns": None if ps is None else ps / PS_PER_NS,
        "quantities": [
            {
                "workload": it.workload,
                "quantity": it.quantity,
                "samples": it.samples,
                "interval_ns": it.interval_ps / PS_PER_NS,
                "warm_up_ns": None if it.warm_up_ps is None else it.warm_up_ps / PS_PER_NS,
                "mean_bytes": it.mean,
                "mean_after_bytes": it.mean_after,
            }
            for it in found.settlings
        ],
    }


def _document(plan: StudyPlan, found: WarmUp) -> Document:
    columns = (
        Column("workload", "workload"),
        Column("quantity", "quantity"),
        Column("samples", "samples", Unit.COUNT),
        Column("mean_bytes", "mean of all", Unit.BYTES),
        Column("warm_up", "settles after"),
        Column("mean_after_bytes", "mean after it", Unit.BYTES),
    )
    rows = tuple((it.workload, it.quantity, it.samples, it.mean, _settles(it), it.mean_after) for it in found.settlings)
    note = "Payload of one sample; both while messages are posted, as means over the seeds at the same time."
    return Document(
        title=plan.study.name,
        subtitle=f"{count(found.seeds, 'pilot run')} of the baseline, {count(len(plan.workloads), 'workload')}",
        status=Status.WARNING if found.warm_up_ps is None else Status.GOOD,
        verdict=_verdict(found),
        reasons=tuple(_reasons(found)),
        sections=(Section("settling", "How they settle (MSER-5)", (Table("settling", "", columns, rows, note),)),),
    )


def _settles(it: Settling) -> str:
    return "-" if it.warm_up_ps is None else format_time_ps(it.warm_up_ps)


def _verdict(found: WarmUp) -> str:
    if found.warm_up_ps is None:
        return "no warm-up can be given: not every workload has a steady state"
    if found.warm_up_ps == 0:
        return "nothing has to be left out: leave warm_up out of the study"
    return f"write into the study: warm_up: {format_time_ps(found.warm_up_ps)}"


def _reasons(found: WarmUp) -> list[Prose]:
    from fabric.studies.warm_up import FEWEST_SAMPLES  # noqa: PLC0415  it loads the compiler

    lines: dict[str, None] = {}
    for it in found.settlings:
        if it.warm_up_ps is not None:
            continue
        if it.samples < FEWEST_SAMPLES:
            lines[
                f"{it.workload}: {count(it.samples, 'sample')} while messages are posted, and {FEWEST_SAMPLES} are "
                "needed: traffic that is posted at once has no steady state; else shorten telemetry.interval"
            ] = None
        else:
            lines[
                f"{it.workload}, {it.quantity}: does not settle in the first half; let the traffic last longer, or "
                "measure the whole run"
            ] = None
    return [Prose(it, Status.WARNING) for it in lines]

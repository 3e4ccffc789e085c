"""What a study is likely to take, in words or JSON: --estimate of `fabric sweep`, `tune` and `whatif`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fabric.units import format_duration_s, format_measured_bytes
from fabric.visible import visible

if TYPE_CHECKING:  # --help must not load the compiler
    from fabric.scenario.estimate.admission import Objection
    from fabric.studies.admission import Totals
    from fabric.studies.plan import Examined, StudyPlan


def tell_estimate(
    plan: StudyPlan,
    found: Totals,
    asks: Sequence[Objection],
    examined: Examined,
    head: str,
    facts: Mapping[str, object],
    *,
    as_json: bool,
) -> int:
    """Print it. Returns: the exit code, 1 where the study would ask or be refused.

    Parameters
    ----------
    head : str        the first line, with the runs
    facts : mapping   further figures of the JSON object
    """
    if as_json:
        every = {
            "name": plan.study.name,
            "verdict": verdict(asks),
            **facts,
            "runs": found.runs,
            "time_s": found.time_s,
            "workers": found.workers,
            "wall_s": found.wall_s,
            "memory_bytes": found.memory_bytes,
            "left_out": list(examined.invalid.values()),
            "objections": objections_json(asks),
        }
        print(json.dumps(every, indent=2))
        return int(bool(asks))
    print(head)
    wall = format_duration_s(found.wall_s)
    print(f"time: about {format_duration_s(found.time_s)} in all, {wall} on {found.workers} processes")
    print(f"memory: about {format_measured_bytes(found.memory_bytes, 3)} side by side")
    if examined.invalid:
        why = next(iter(examined.invalid.values()))
        what = "corners of the search are" if plan.search else "combinations left out, being"
        print(f"{len(examined.invalid):,} {what} no valid scenario: {visible(why)}")
    tell_verdict(asks)
    return int(bool(asks))


def verdict(asks: Sequence[Objection]) -> str:
    """'refused', 'asks' or 'starts'."""
    return "refused" if any(it.final for it in asks) else "asks" if asks else "starts"


def objections_json(asks: Sequence[Objection]) -> list[dict[str, str]]:
    """For --json."""
    return [{"path": it.problem.path, "text": it.problem.text, "hint": it.problem.hint} for it in asks]


def tell_verdict(asks: Sequence[Objection]) -> None:
    """Print the objections, and what the study would do."""
    for it in asks:
        print(it.problem)
    words = {"refused": "it would be refused", "asks": "it would start with --yes", "starts": "it would start"}
    print(words[verdict(asks)])

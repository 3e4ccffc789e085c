"""The path of RoCE's class for readers and machines: one line a library, or every place of the hosts named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from fabric.validate.class_path import ClassPath, Step
from fabric.validate.output.text import many
from fabric.visible import in_json, visible

_SHOWN: Final = 4


def as_text(paths: Sequence[ClassPath], *, every: bool) -> str:
    """One line for each library; with `every`, the places below it, equal ones together."""
    lines = []
    for path in paths:
        first = path.changes
        verdict = f"kept at all {many(len(path.steps), 'place')}"
        if first is not None:
            verdict = f"changes at {first.where}: {first.what}"
        lines.append(f"{path.host} {path.device} {path.library}: DSCP {path.dscp}, {verdict}".replace("  ", " "))
        if first is not None:
            lines += [f"      {one}" for one in first.evidence]
        lines += _places(path.steps) if every else []
    wrong = sum(path.changes is not None for path in paths)
    lines.append(f"RoCE's class is lost on {wrong} of {many(len(paths), 'way')}")
    return "".join(f"{visible(line)}\n" for line in lines)


def _places(steps: Sequence[Step]) -> list[str]:
    lines = []
    for (what, keeps), group in groupby(steps, key=lambda step: (step.what, step.keeps)):
        names = [step.where for step in group]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        lines.append(f"  {'ok  ' if keeps else 'LOST'} {', '.join(names[:_SHOWN])}{more}: {what}")
    return lines


def as_json(paths: Sequence[ClassPath]) -> str:
    """Every place of every library."""
    rows = [
        {
            "host": path.host,
            "device": path.device,
            "library": path.library,
            "dscp": path.dscp,
            "changes_at": None if path.changes is None else path.changes.where,
            "places": [_step(step) for step in path.steps],
        }
        for path in paths
    ]
    return in_json(json.dumps({"paths": rows}, indent=1, ensure_ascii=False)) + "\n"


def _step(step: Step) -> dict[str, Any]:
    return {
        "where": step.where,
        "what": step.what,
        "keeps": step.keeps,
        "evidence": [
            {
                "label": one.label,
                "value": one.value,
                "file": one.place.file if one.place else None,
                "line": one.place.line if one.place else None,
            }
            for one in step.evidence
        ],
    }

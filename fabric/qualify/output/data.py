"""Results for machines: JSON, and JUnit XML for build servers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from fabric.qualify.output.facts import all_green, assumed, not_emulated, shown_rows, tally
from fabric.qualify.report import Report, Result
from fabric.qualify.schema import LeftOutSpec
from fabric.visible import in_json, in_markup, visible

_UNITS = {"": "count", "time": "ps", "share": "ratio", "bytes": "bytes", "ratio": "ratio", "rate": "bits_per_second"}


def as_data(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> dict[str, Any]:
    """Everything, as what json.dumps takes."""
    return {
        "plan": plan,
        runs[0].what if runs else "switch": switch,
        "green": all_green(runs),
        "checks": dict(tally(runs)),
        "scenarios": [_scenario(one) for one in runs],
        "not_emulated": not_emulated(runs, left_out),
        "assumed": assumed(runs),
    }


def as_json(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> str:
    """Everything as JSON."""
    return (
        in_json(json.dumps(as_data(plan, switch, runs, left_out), indent=1, ensure_ascii=False, allow_nan=False)) + "\n"
    )


def _scenario(one: Report) -> dict[str, Any]:
    return {
        "case": one.case.case,
        "scenario": one.scenario.name,
        "title": one.scenario.title,
        "source": one.case.source,
        "run": one.data,
        "findings": one.findings,
        "checks": [_result(it) for it in one.results],
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "id": result.check.id,
        "title": result.check.title,
        "result": result.colour,
        "holds": list(result.check.holds),
        "source": result.check.source,
        "cause": result.text or None,
        "counters": [
            {
                "measure": it.measure,
                "counter": it.about.counter,
                "unit": _UNITS.get(it.about.unit, it.about.unit),
                "label": it.label,
                "value": None if math.isnan(it.value) else it.value,
                "compared_with": None if it.other is None or math.isnan(it.other) else it.other,
                "ok": it.ok,
            }
            for it in result.rows
        ],
    }


def as_junit(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> str:
    """A test case for each check of each scenario; a finding about the set-up is one that fails."""
    cases = [line for one in runs for line in _cases(plan, one)]
    found = tally(runs)
    lacking = sum(len(one.findings) for one in runs)
    total, failures = sum(found.values()) + lacking, found["red"] + lacking
    head = f'<testsuite name={_attribute(f"fabric qualify {plan} {switch}")} tests="{total}" failures="{failures}" '
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'{head}errors="0" skipped="{found["not run"]}">', *cases]
    rows = [f"  {in_markup(visible(f'not emulated: {it}'))}" for it in not_emulated(runs, left_out)]
    return "\n".join([*lines, "  <system-out>", *rows, "  </system-out>", "</testsuite>"]) + "\n"


def _cases(plan: str, one: Report) -> list[str]:
    where = _attribute(f"{plan}.{one.case.case}.{one.scenario.name}")
    lines = []
    for text in one.findings:
        lines += [f"  <testcase classname={where} name={_attribute('set-up')}>",
                  f"    <failure message={_attribute(text)}/>", "  </testcase>"]  # fmt: skip
    for result in one.results:
        head = f"  <testcase classname={where} name={_attribute(f'{result.check.id} {result.check.title}')}>"
        lines.append(head)
        text = "\n".join([*shown_rows(result), *([f"cause: {result.text}"] if result.text else [])])
        if result.colour == "red":
            about = _attribute("; ".join(result.check.holds))
            lines.append(f"    <failure message={about}>{in_markup(visible(text, lines=True))}</failure>")
        elif result.colour == "not run":
            lines.append(f"    <skipped message={_attribute(result.text)}/>")
        else:
            lines.append(f"    <system-out>{in_markup(visible(text, lines=True))}</system-out>")
        lines.append("  </testcase>")
    lines.append(f"  <!-- {in_markup(visible(one.setup)).replace('--', '- -')} -->")
    return lines


def _attribute(text: str) -> str:
    return f'"{in_markup(visible(text))}"'

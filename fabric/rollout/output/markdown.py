"""A rollout as a comment of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.rollout.output.words import (
    EDITS,
    alike,
    claim,
    effects_of,
    grouped,
    hazards_of,
    legend,
    not_simulated,
    proven,
    proven_of_new,
    runs_of,
    totals,
    verdict,
    warnings,
)
from fabric.rollout.plan import Rollout
from fabric.rollout.solve import Solution
from fabric.units import count
from fabric.validate.output.text import names
from fabric.visible import in_markdown, in_markdown_code

_STATES = 100
"""States in the list: a comment has at most 65,536 characters on GitHub."""


def as_markdown(found: Rollout) -> str:
    """The verdict, what each step does, the order or the hazard, and the states folded away."""
    lines = ["# fabric rollout", "", *(f"{in_markdown(line)}\n" for line in (verdict(found), *warnings(found)))]
    lines += _worse(found)
    if found.not_simulated:
        lines += [*(f"- {in_markdown(line)}" for line in not_simulated(found)), ""]
    if not found.change.units:
        return "\n".join(lines)
    lines += ["## Changes", "", "| units | step | effect | edits |", "|---|---|---|---|"]
    for units, unit in alike(found.change):
        for number, step in enumerate(unit.steps, 1):
            rows = list(effects_of(step)) or [("", step.text, [])]
            for kind, text, edits in rows:
                shown = "; ".join(in_markdown_code(it) for it in edits[:EDITS])
                shown += f" and {len(edits) - EDITS} more" if len(edits) > EDITS else ""
                effect = f"**{kind}**: {in_markdown(text)}" if kind else in_markdown(text)
                lines.append(
                    f"| {in_markdown(names(units))} | {number}. {in_markdown(step.title)} | {effect} | {shown} |"
                )
    lines += ["", *(f"- {in_markdown(line)}" for line in totals(found.change, found.request.release)), ""]
    bad = found.solution.obvious_hazard
    if bad is not None:
        text = f"As listed it is hazardous after {bad[0]} ({bad[1].text}): {hazards_of(bad[1], titles=True)}"
        lines += [in_markdown(text), ""]
        if found.solution.counterexample is None:
            lines += [*(f"- {in_markdown(line)}" for line in proven(found)), ""]
    if found.safe:
        lines += ["## Safe order", "", *_order(found.solution), ""]
    elif not found.passable:
        lines += ["## Hazard", "", *_hazard(found), ""]
    lines += ["<details><summary>States</summary>", "", in_markdown(claim(found.solution, worse=bool(found.worse))), ""]
    for item in found.solution.listed[:_STATES]:
        result = "" if item.checked.safe else f": **hazard** {in_markdown(hazards_of(item.checked))}"
        why = "on the order" if item.on_order else item.why
        lines.append(f"- {in_markdown(why)}: {in_markdown(item.checked.text)}{result}")
    more = len(found.solution.listed) - _STATES
    lines += [f"- and {more} more: `--json`"] if more > 0 else []
    lines += ["", *(f"- {in_markdown(line)}" for line in legend(found.solution))]
    return "\n".join([*lines, "", "</details>"]) + "\n"


def _worse(found: Rollout) -> list[str]:
    """The findings of NEW that OLD does not have."""
    rows = []
    for first, objects in grouped(found.worse):
        text = in_markdown(f"{names(objects)}: {first.check.title}: {first.text}")
        rows.append(f"- {first.severity.word} **{first.check.id}** {text}")
    rows += [f"- {in_markdown(line)}" for line in proven_of_new(found)]
    return ["## Findings of NEW that OLD does not have", "", *rows, ""] if rows else []


def _order(solution: Solution) -> Iterator[str]:
    moves = () if solution.order is None else solution.order.moves
    for title, units, group in runs_of(moves):
        down = sum(len(it.step.flaps) for it in group)
        more = f" (takes down {count(down, 'port or session', 'ports or sessions')})" if down else ""
        yield f"1. {in_markdown(', '.join(units))}: {in_markdown(title)}{more}"


def _hazard(found: Rollout) -> Iterator[str]:
    bad = found.solution.counterexample
    if bad is None:
        return
    first = bad.hazards[0]
    yield f"- state: {in_markdown(bad.text)}"
    what = f"{first.device} {first.object}: {first.check.title}: {first.text}"
    yield f"- {first.check.id} {in_markdown(what)}. {in_markdown(first.check.consequence)}"
    yield from (f"- {in_markdown(line)}" for line in proven(found))
    if found.exposed is not None:
        links = in_markdown(names(list(found.exposed.links), 4)) or "no link that is known"
        yield f"- exposed: {links}; {found.exposed.pairs} ordered pairs of edge switches"
    yield f"- nearest safe state: {in_markdown(found.nearest)}"
    for remedy in found.remedies:
        checked = "validated" if remedy.checked else "not validated"
        yield f"- remedy, {remedy.kind} ({checked}): {in_markdown(remedy.text)}"
    for stage in () if found.split is None else found.split.stages:
        yield f"- **{in_markdown(stage.title)}**: {in_markdown(stage.what)}"
        yield from (f"    {line}" for line in _order(stage.solution))

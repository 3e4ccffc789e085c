"""A rollout as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from fabric.rollout.output.words import (
    EDITS,
    alike,
    claim,
    command_of,
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
    way,
)
from fabric.rollout.plan import Rollout
from fabric.rollout.solve import Solution
from fabric.units import count
from fabric.validate.output.text import names
from fabric.validate.proofs import Proof
from fabric.visible import visible

_STATES = 30
"""States that are listed without --all."""
_EVIDENCE = 4
_WORSE = 12
"""Kinds of findings of NEW that are listed without --all."""


def as_text(found: Rollout, *, everything: bool = False) -> str:
    """Changes with their effects, the listed order, the safe order or the hazard, and the states."""
    request = found.request
    lines = [f"rollout: {request.old} → {request.new}"]
    for units, unit in alike(found.change):
        lines.append(f"  {names(units)}" + (f" ({unit.system})" if unit.system else ""))
        for number, step in enumerate(unit.steps, 1):
            lines.append(
                f"    {number}. {step.title}" + (f": {step.text}" if step.text not in {"", step.title} else "")
            )
            for kind, text, edits in effects_of(step):
                lines.append(f"       {kind}: {text}")
                most = len(edits) if everything else EDITS
                lines += [f"         {edit}" for edit in edits[:most]]
                more = len(edits) - most
                lines += [f"         and {more} more: --all"] if more > 0 else []
    lines += [f"  {line}" for line in totals(found.change, request.release)]
    if found.change.units:
        lines += ["", *_listed_order(found)]
    lines += ["", verdict(found), *_worse(found, everything=everything)]
    lines += [*(f"  {line}" for line in not_simulated(found)), *warnings(found)]
    if found.safe:
        lines += list(_order(found.solution))
    elif not found.passable:
        lines += [way(found)] if found.worse else []
        lines += list(_hazard(found))
    if found.change.units:
        lines += ["", claim(found.solution, worse=bool(found.worse)), *_states(found.solution, everything=everything)]
    return "\n".join(map(visible, lines)) + "\n"


def _worse(found: Rollout, *, everything: bool) -> Iterator[str]:
    """The findings of NEW that OLD does not have, and what to do."""
    groups = list(grouped(found.worse))
    shown = groups if everything else groups[:_WORSE]
    for first, objects in shown:
        yield f"  {first.severity.word} {first.check.id} {names(objects)}: {first.check.title}: {first.text}"
        yield from (f"    {item}" for item in first.evidence[:1])
        yield f"    so: {first.check.consequence}"
    more = len(groups) - len(shown)
    yield from [f"  and {count(more, 'more kind')} of findings: --all"] if more > 0 else []
    yield from _simulated("  ", proven_of_new(found), found.proofs_of_new)
    if groups:
        old, new = (quote(str(it)) for it in (found.request.old, found.request.new))
        yield "  remedy: repair NEW, then ask for the order again; evidence and changes that repair it:"
        yield f"    $ fabric validate {new} --baseline {old}"


def _simulated(indent: str, lines: Sequence[str], proofs: Sequence[Proof]) -> Iterator[str]:
    """What each simulation showed, and the command that shows it again."""
    for line, proof in zip(lines, proofs, strict=True):
        yield f"{indent}{line}"
        yield from (f"{indent}  {it}" for it in command_of(proof))


def _listed_order(found: Rollout) -> Iterator[str]:
    """What happens in the order of the files."""
    solution = found.solution
    no = "no hazard beyond the findings of NEW" if found.worse else "no hazard"
    moves = [it.unit.name for it in solution.obvious_moves]
    yield f"as listed ({names(list(dict.fromkeys(moves)))}):"
    if solution.obvious_hazard is None:
        yield f"  {no} in its states" if solution.complete else f"  {no} in the states that were validated"
        return
    move, bad = solution.obvious_hazard
    yield f"  hazardous after {move} ({bad.text}): {hazards_of(bad, titles=True)}"
    if found.solution.counterexample is None:
        yield from _simulated("    ", proven(found), found.proofs)


def _order(solution: Solution, indent: str = "  ") -> Iterator[str]:
    """Numbered steps; neighbours that make the same step share a line."""
    order = solution.order
    if order is None:
        return
    number = 1
    for title, units, moves in runs_of(order.moves):
        down = sum(len(it.step.flaps) for it in moves)
        last = number + len(moves) - 1
        place = f"{number}" if last == number else f"{number}-{last}"
        more = f"  (takes down {count(down, 'port or session', 'ports or sessions')})" if down else ""
        yield f"{indent}{place:>5}  {names(units, 12)}: {title}{more}"
        number = last + 1


def _hazard(found: Rollout) -> Iterator[str]:
    bad = found.solution.counterexample
    if bad is None:
        return
    first = bad.hazards[0]
    yield f"  state: {bad.text}"
    yield f"  {first.check.id} {first.device} {first.object}: {first.check.title}: {first.text}"
    yield from (f"    {item}" for item in first.evidence[:_EVIDENCE])
    yield f"    so: {first.check.consequence}"
    if len(bad.hazards) > 1:
        yield f"    and {count(len(bad.hazards) - 1, 'more finding')} in this state"
    yield from _simulated("  ", proven(found), found.proofs)
    if found.exposed is not None:
        links = names(list(found.exposed.links), 4) or "none that is known"
        yield f"  exposed links: {links}"
        if found.exposed.pairs:
            yield (
                f"  exposed paths: {found.exposed.paths} of {found.exposed.every}, between "
                f"{count(found.exposed.pairs, 'ordered pair')} of edge switches"
            )
    yield f"  nearest safe state: {found.nearest}"
    for remedy in found.remedies:
        checked = "validated" if remedy.checked else "not validated"
        yield f"  remedy, {remedy.kind} ({checked}): {remedy.text}"
    if found.split is not None:
        for number, stage in enumerate(found.split.stages, 1):
            good = "safe" if stage.solution.safe or not stage.solution.change.units else "HAZARD"
            yield f"  {number}. {stage.title} ({good}, {count(len(stage.solution.listed), 'state')}): {stage.what}"
            yield from _order(stage.solution, "    ")


def _states(solution: Solution, *, everything: bool) -> Iterator[str]:
    shown = solution.listed if everything else solution.listed[:_STATES]
    for item in shown:
        result = "" if item.checked.safe else f"  HAZARD {hazards_of(item.checked)}"
        stands = f" (×{item.stands_for})" if item.stands_for > 1 else ""
        why = "on the order" if item.on_order else item.why
        yield f"  {why}:  {item.checked.text}{stands}{result}"
    more = len(solution.listed) - len(shown)
    if more > 0:
        yield f"  and {more} more: --all"
    yield from (f"  {line}" for line in legend(solution))

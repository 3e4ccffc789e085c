"""A rollout as a page that loads nothing from elsewhere, in the style of the pages of `fabric validate`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fabric.rollout.output.words import (
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
from fabric.validate.output.page import pre, whole_page
from fabric.validate.output.text import names
from fabric.validate.proofs import Proof
from fabric.visible import in_markup as escape

_TITLE: Final = "fabric rollout"
_EDITS: Final = 12
"""Edits of one effect that are shown; the others are folded away."""


def as_html(found: Rollout) -> str:
    """The verdict, the order or the hazard with its remedies, the edits with their effects, and every state."""
    request = found.request
    ends = f"{escape(str(request.old))} → {escape(str(request.new))}, SONiC {escape(request.release)}"
    kind = "info" if found.safe else "error"
    parts = [f"<p>{ends}</p>", f'<section class="{kind}"><h2>{escape(verdict(found))}</h2>']
    parts += [f"<p>{it}</p>" for it in _worse(found)]
    parts += [*_proofs(proven_of_new(found), found.proofs_of_new)]
    parts += [f"<p>{escape(line)}</p>" for line in not_simulated(found)]
    if found.change.units:
        listed = found.solution.obvious_hazard
        parts.append(
            "<p>In the order in which the switches are listed there is no hazard.</p>"
            if listed is None
            else f"<p>As listed it is hazardous after {escape(str(listed[0]))} ({escape(listed[1].text)}): "
            f"{escape(hazards_of(listed[1], titles=True))}</p>"
        )
        parts += list(_proofs(proven(found), found.proofs)) if found.solution.counterexample is None else []
        parts += [_order(found.solution)] if found.safe else [] if found.passable else list(_hazard(found))
    parts.append("</section>")
    parts += [f'<section class="warn"><p>{escape(line)}</p></section>' for line in warnings(found)]
    if not found.change.units:
        return whole_page(_TITLE, parts)
    parts += [
        "<section><h2>Changes</h2>",
        *(f"<p>{escape(line)}</p>" for line in totals(found.change, request.release)),
    ]
    parts += [_table(("switches", "step", "effect and edits"), _changes(found)), "</section>"]
    parts += ["<section><h2>States</h2>", f"<p>{escape(claim(found.solution, worse=bool(found.worse)))}</p>"]
    shown = count(len(found.solution.listed), "state")
    states = _table(("why", "state", "result"), _states(found.solution))
    checks = "".join(f"<br>{escape(line)}" for line in legend(found.solution))
    parts += [f"<details><summary>{shown}</summary>{states}<p>{checks}</p></details></section>"]
    return whole_page(_TITLE, parts)


def _worse(found: Rollout) -> Iterator[str]:
    """The findings of NEW that OLD does not have."""
    for first, objects in grouped(found.worse):
        what = f"{first.check.title}: {first.text}. {first.check.consequence}"
        yield f"<b>{first.check.id} {escape(names(objects, 12))}:</b> {escape(what)}"


def _proofs(lines: Sequence[str], proofs: Sequence[Proof]) -> Iterator[str]:
    """What the simulation of each hazard showed, with its scenario."""
    for line, it in zip(lines, proofs, strict=True):
        scenario = (
            f"<details><summary>scenario</summary>{pre('Scenario', [it.scenario])}</details>" if it.scenario else ""
        )
        yield f"<p>{escape(line)}</p>{scenario}"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Three columns of HTML."""
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _order(solution: Solution) -> str:
    """Numbered steps; neighbours that make the same step share a row."""
    rows, number = [], 1
    for title, units, moves in runs_of(() if solution.order is None else solution.order.moves):
        last = number + len(moves) - 1
        down = sum(len(it.step.flaps) for it in moves)
        more = f"; takes down {count(down, 'port or session', 'ports or sessions')}" if down else ""
        place = f"{number}" if last == number else f"{number} to {last}"
        rows.append((f"<b>{place}</b>", escape(names(units, 12)), f"{escape(title)}{more}"))
        number = last + 1
    return _table(("order", "switches", "step"), rows)


def _hazard(found: Rollout) -> Iterator[str]:
    bad = found.solution.counterexample
    if bad is None:
        return
    first = bad.hazards[0]
    yield f"<p><b>State:</b> {escape(bad.text)}</p>"
    where = f"{first.device} {first.object}"
    yield f"<p><b>{first.check.id} {escape(where)}:</b> {escape(first.check.title)}: {escape(first.text)}</p>"
    yield pre("Evidence", [str(item) for item in first.evidence]) if first.evidence else ""
    yield f"<p>{escape(first.check.consequence)}</p>"
    if len(bad.hazards) > 1:
        rest = [f"{it.check.id} {it.device} {it.object}: {it.text}" for it in bad.hazards[1:]]
        head = f"{count(len(rest), 'more finding')} in this state"
        yield f"<details><summary>{head}</summary>{pre('More findings', rest)}</details>"
    yield from _proofs(proven(found), found.proofs)
    if found.exposed is not None:
        links = names(list(found.exposed.links), 12) or "none that is known"
        pairs = f"{count(found.exposed.pairs, 'ordered pair')} of edge switches"
        paths = (
            f"; {found.exposed.paths} of {found.exposed.every} paths, between {pairs}" if found.exposed.pairs else ""
        )
        yield f"<p><b>Exposed links:</b> {escape(links)}{paths}</p>"
    yield f"<p><b>Nearest safe state:</b> {escape(found.nearest)}</p>"
    for remedy in found.remedies:
        checked = "validated" if remedy.checked else "not validated"
        yield f"<p><b>Remedy, {escape(remedy.kind)}</b> ({checked}): {escape(remedy.text)}</p>"
    for number, stage in enumerate(() if found.split is None else found.split.stages, 1):
        safe = "safe" if stage.solution.safe or not stage.solution.change.units else "hazard"
        its = count(len(stage.solution.listed), "state")
        yield f"<h2>{number}. {escape(stage.title)} ({safe}, {its})</h2><p>{escape(stage.what)}</p>"
        yield _order(stage.solution) if stage.solution.order is not None else ""


def _changes(found: Rollout) -> Iterator[Sequence[str]]:
    for units, unit in alike(found.change):
        for number, step in enumerate(unit.steps, 1):
            cells = [
                f"<p><b>{escape(kind)}:</b> {escape(text)}</p>{_edits(edits)}" for kind, text, edits in effects_of(step)
            ]
            system = f" <small>({escape(unit.system)})</small>" if unit.system else ""
            said = step.text if step.text not in {"", step.title} else ""
            yield (
                f"<b>{escape(names(units))}</b>{system}",
                f"{number}. {escape(step.title)}",
                "".join(cells) or escape(said),
            )


def _edits(edits: Sequence[str]) -> str:
    rows = "<br>".join(f"<code>{escape(edit)}</code>" for edit in edits[:_EDITS])
    more = edits[_EDITS:]
    return rows + (f"<details><summary>{len(more)} more</summary>{pre('Edits', more)}</details>" if more else "")


def _states(solution: Solution) -> Iterator[Sequence[str]]:
    for item in solution.listed:
        bad = "" if item.checked.safe else f'<b class="error">hazard</b> {escape(hazards_of(item.checked))}'
        stands = f" (×{item.stands_for})" if item.stands_for > 1 else ""
        why = "on the order" if item.on_order else item.why
        yield escape(why), escape(item.checked.text) + stands, bad or "no hazard"

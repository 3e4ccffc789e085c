"""Sentences and groups that the text and the Markdown of a rollout share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from fabric.configs.capabilities import CAPABILITIES
from fabric.rollout.check import Checked
from fabric.rollout.effects import APPLIER_S, ROLLBACK
from fabric.rollout.order import Order
from fabric.rollout.plan import Prepared, Rollout
from fabric.rollout.solve import Solution
from fabric.rollout.steps import Step
from fabric.rollout.units import HOSTS, Change, Move, Unit
from fabric.units import count
from fabric.validate.checks.base import Finding
from fabric.validate.proofs import Proof

EDITS = 6
"""Edits of one kind that are shown of a step."""


def promise(prepared: Prepared) -> str:
    """What is going to be done, before it is done."""
    number = len(prepared.checker.change.units)
    if not number:
        return "nothing changes between OLD and NEW"
    return (
        f"{count(number, 'unit')} to change: about {count(prepared.states, 'mixed state')} will be validated if no "
        f"hazard is met, at most {prepared.request.most} in one search; about {max(1, round(prepared.seconds))} s"
    )


def alike(change: Change) -> Iterator[tuple[list[str], Unit]]:
    """Units with the same steps: their names, and the first of them."""
    found: dict[object, tuple[list[str], Unit]] = {}
    for unit in change.units:
        key = (unit.kind, unit.system, *(_signature(step) for step in unit.steps))
        found.setdefault(key, ([], unit))[0].append(unit.name)
    yield from found.values()


def _signature(step: Step) -> tuple[object, ...]:
    return (step.rank, step.text, tuple(str(edit) for edit in step.edits), tuple(it.kind for it in step.effects))


def effects_of(step: Step) -> Iterator[tuple[str, str, list[str]]]:
    """(kind, what it means, edits) for edits of a step with one effect."""
    found: dict[tuple[str, str], list[str]] = {}
    for edit, effect in zip(step.edits, step.effects, strict=True):
        found.setdefault((effect.kind.value, effect.text), []).append(str(edit))
    for (kind, text), edits in found.items():
        yield kind, text, edits


def totals(change: Change, release: str) -> list[str]:
    """Edits by effect, what goes down, and how long the applier waits."""
    steps = [step for unit in change.units for step in unit.steps]
    kinds: dict[str, int] = {}
    for step in steps:
        for kind, number in step.kinds.items():
            kinds[kind.value] = kinds.get(kind.value, 0) + number
    edits = sum(kinds.values())
    lines = []
    if edits:
        shown = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        lines.append(f"{count(edits, 'edit')} on SONiC {release}: {shown}")
        down = sum(len(dict.fromkeys(name for step in unit.steps for name in step.flaps)) for unit in change.units)
        its = count(down, "port or session", "ports or sessions")
        lines.append(f"taken down and up again: {its}" if down else "no port and no session is taken down")
        if any(step.reload for step in steps):
            lines.append(
                "`config apply-patch` refuses a part: those switches need `config reload`, a restart of all ports"
            )
        lines.append(f"the applier waits {APPLIER_S} s after each table; {ROLLBACK}")
    systems = {unit.system for unit in change.units if unit.kind == "switch"}
    other = sorted(it for it in systems if it and not CAPABILITIES[it].tables)
    if other:
        lines.append(f"what a running {', '.join(other)} switch does with an edit is not known")
    return lines


def runs_of(moves: Sequence[Move]) -> Iterator[tuple[str, list[str], list[Move]]]:
    """(step's title, units, moves) for neighbours in an order that make the same step."""
    group: list[Move] = []
    for move in (*moves, None):
        if group and (move is None or move.unit.kind == HOSTS or move.step.title != group[0].step.title):
            yield group[0].step.title, [it.unit.name for it in group], group
            group = []
        if move is not None:
            group.append(move)


def verdict(found: Rollout) -> str:
    """One sentence: the answer."""
    if not found.worse:
        return way(found)
    head = f"HAZARD: NEW is worse than OLD, with {count(len(found.worse), 'finding')} that OLD does not have"
    if not found.change.units:
        return head
    solution = found.solution
    if solution.safe:
        return f"{head}; on the way to it there is no further hazard"
    return f"{head}; {'the way is not decided' if solution.counterexample is None else 'the way is hazardous as well'}"


def way(found: Rollout) -> str:
    """One sentence: whether there is an order through states without a hazard, whatever NEW is."""
    solution = found.solution
    if not found.change.units:
        return "nothing changes between OLD and NEW"
    number = count(len(solution.listed), "state")
    if solution.safe:
        what = "by steps" if solution.by_steps else "switch by switch"
        return f"safe order found, {what}: no hazard among the states that it passes; {number} validated"
    order = solution.order if solution.order is not None else Order()
    first = solution.whole if solution.whole is not None else order
    if solution.counterexample is None:
        return f"not decided: the search ended after {number}, with neither a hazard nor a safe order"
    if not order.exhausted:
        return f"HAZARD, not decided: the search ended after {number} without a safe order"
    firsts = first.exhausted and first.reached == solution.change.start and not solution.by_steps
    if firsts:
        return f"HAZARD: every order is hazardous, because each of its possible first steps is; {number} validated"
    return f"HAZARD: no order leads to NEW through states without a hazard; {number} validated"


def warnings(found: Rollout) -> list[str]:
    """What the verdict does not cover although it is wrong."""
    lines = []
    gone = f"; {found.gone} of OLD are gone" if found.gone else ""
    if found.shared:
        number = count(len(found.shared), "finding")
        lines.append(
            f"note: NEW has {number} that OLD has as well, not held against the rollout ({codes(found.shared)}){gone}"
        )
    for left, come in found.change.replaced:
        lines.append(
            f"warning: {come} comes at the cables of {left}, which goes: they are never there together, though states "
            "below have both; if it is one switch with another name, give it one name in OLD and NEW, rename it apart"
        )
    return lines


def claim(solution: Solution, *, worse: bool = False) -> str:
    """What the list of states says, and no more; `worse`: NEW has findings that OLD does not have."""
    passed = [it for it in solution.listed if it.on_order]
    others = [it for it in solution.listed if not it.on_order]
    bad = sum(not it.checked.safe for it in others)
    what = "no hazard beyond the findings of NEW" if worse else "no hazard"
    parts = [f"{what} in {count(len(passed), 'state')} of this order"] if passed else []
    if others:
        which = "other state" if passed else "state"
        parts.append(f"{count(len(others), which)} validated, {bad} with a hazard")
    equal = sum(it.stands_for for it in solution.listed) - len(solution.listed)
    if equal:
        verb = "equals" if equal == 1 else "equal"
        parts.append(f"{count(equal, 'more state')} that {verb} these but for names of switches")
    parts += [] if solution.complete else ["the limit of states ended the list"]
    return "; ".join(parts) + ". Nothing is said about any other state."


def grouped(findings: Sequence[Finding]) -> Iterator[tuple[Finding, list[str]]]:
    """Findings of one check with one text: the first, and 'switch object' of each."""
    its: dict[tuple[str, str], tuple[Finding, list[str]]] = {}
    for item in findings:
        key = item.check.id, item.text
        its.setdefault(key, (item, []))[1].append(f"{item.device} {item.object}")
    yield from its.values()


def of_checks(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Findings by check, in their order."""
    its: dict[str, list[Finding]] = {}
    for item in findings:
        its.setdefault(item.check.id, []).append(item)
    return its


def codes(findings: Sequence[Finding]) -> str:
    """'4 M1, 1 R11'."""
    return ", ".join(f"{len(its)} {name}" for name, its in of_checks(findings).items())


def hazards_of(checked: Checked, most: int = 2, *, titles: bool = False) -> str:
    """'M2 leaf1 DSCP 26 and 1 more; and 2 more checks', with the titles of the checks where asked; '' without any."""
    its = list(of_checks(checked.hazards).values())
    shown = []
    for group in its[:most]:
        first = group[0]
        also = f" and {len(group) - 1} more" if len(group) > 1 else ""
        title = f": {first.check.title}" if titles else ""
        shown.append(f"{first.check.id} {first.device} {first.object}{also}{title}")
    more = len(its) - most
    return "; ".join(shown) + (f"; and {count(more, 'more check')}" if more > 0 else "")


def legend(solution: Solution) -> list[str]:
    """'M2: a code point changes class from hop to hop' for each check that finds a hazard in a state."""
    found = {it.check.id: it.check.title for listed in solution.listed for it in listed.checked.hazards}
    return [f"{name}: {title}" for name, title in found.items()]


def proven(found: Rollout) -> list[str]:
    """'simulated, M2 leaf1 DSCP 26: proven: 14,115 packets lost' for each hazard that was simulated."""
    return _proven(found.proofs)


def proven_of_new(found: Rollout) -> list[str]:
    """The same for each finding of NEW alone that was simulated."""
    return _proven(found.proofs_of_new)


def not_simulated(found: Rollout) -> list[str]:
    """'not simulated, of NEW: 1 of R11 (...)': what --prove left out, and why."""
    return [f"not simulated, {it}" for it in found.not_simulated]


def command_of(proof: Proof) -> list[str]:
    """'$ fabric run DIR/M2-spine1-DSCP-26.yml', where the scenario of a proven hazard was written."""
    return [f"$ fabric run {quote(proof.file)}"] if proof.file and proof.result == "proven" else []


def _proven(proofs: Sequence[Proof]) -> list[str]:
    return [f"simulated, {it.check} {it.device} {it.object}: {it}" for it in proofs]

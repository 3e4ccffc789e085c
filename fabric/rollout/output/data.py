"""A rollout as JSON: every edit with its effect, every state, the order with its steps."""

from __future__ import annotations

import json
from typing import Any

from fabric.rollout.check import Checked
from fabric.rollout.order import Order
from fabric.rollout.output.words import claim, verdict
from fabric.rollout.plan import Rollout
from fabric.rollout.solve import Solution
from fabric.rollout.steps import Step
from fabric.rollout.units import Unit
from fabric.validate.output.data import finding_as_dict
from fabric.visible import in_json


def as_json(found: Rollout) -> str:
    """The whole result."""
    bad = found.solution.counterexample
    value = {
        "old": str(found.request.old),
        "new": str(found.request.new),
        "sonic_release": found.request.release,
        "safe": found.safe,
        "safe_on_the_way": found.passable,
        "verdict": verdict(found),
        "by_steps": found.solution.by_steps,
        "units": [_unit(it) for it in found.change.units],
        "listed_order": _listed(found.solution),
        "order": _order(found.solution.order) if found.safe else None,
        "claim": claim(found.solution, worse=bool(found.worse)),
        "states": _states(found.solution),
        "hazard": None if bad is None else _hazard(found, bad),
        "proofs": [it.as_dict() for it in found.proofs],
        "proofs_of_new": [it.as_dict() for it in found.proofs_of_new],
        "not_simulated": list(found.not_simulated),
        "findings_of_new_alone": [finding_as_dict(it) for it in found.worse],
        "findings_of_both": [finding_as_dict(it) for it in found.shared],
        "findings_of_old_gone": found.gone,
    }
    return in_json(json.dumps(value, indent=1, ensure_ascii=False)) + "\n"


def _unit(unit: Unit) -> dict[str, Any]:
    return {
        "name": unit.name,
        "kind": unit.kind,
        "system": unit.system or None,
        "steps": [_step(it) for it in unit.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "title": step.title,
        "text": step.text or None,
        "needs_reload": step.reload,
        "flaps": list(step.flaps),
        "edits": [
            {
                "op": edit.op,
                "path": edit.path,
                "old": edit.old,
                "value": edit.new,
                "effect": effect.kind.value,
                "text": effect.text,
                "source": effect.source or None,
            }
            for edit, effect in zip(step.edits, step.effects, strict=True)
        ],
    }


def _order(order: Order | None) -> list[dict[str, Any]]:
    moves = () if order is None else order.moves
    return [
        {"unit": it.unit.name, "step": it.step.title, "level": it.level, "flaps": len(it.step.flaps)} for it in moves
    ]


def _listed(solution: Solution) -> dict[str, Any]:
    bad = solution.obvious_hazard
    return {
        "units": list(dict.fromkeys(it.unit.name for it in solution.obvious_moves)),
        "hazard_after": None if bad is None else bad[0].unit.name,
        "state": None if bad is None else bad[1].text,
    }


def _states(solution: Solution) -> list[dict[str, Any]]:
    return [
        {
            "why": it.why,
            "state": it.checked.text,
            "levels": {
                unit.name: level for unit, level in zip(solution.change.units, it.checked.state, strict=True) if level
            },
            "stands_for": it.stands_for,
            "on_order": it.on_order,
            "safe": it.checked.safe,
            "hazards": [f"{h.check.id} {h.device} {h.object}: {h.check.title}: {h.text}" for h in it.checked.hazards],
            "differences_without_roce": it.checked.harmless,
        }
        for it in solution.listed
    ]


def _hazard(found: Rollout, bad: Checked) -> dict[str, Any]:
    exposed = found.exposed
    return {
        "state": bad.text,
        "findings": [finding_as_dict(it) for it in bad.hazards],
        "exposed": None
        if exposed is None
        else {"links": list(exposed.links), "pairs": exposed.pairs, "paths": exposed.paths, "of": exposed.every},
        "nearest_safe_state": found.nearest,
        "remedies": [{"kind": it.kind, "text": it.text, "validated": it.checked} for it in found.remedies],
        "split": None
        if found.split is None
        else {
            "dscp": found.split.dscp,
            "beside": found.split.beside,
            "safe": found.split.safe,
            "stages": [
                {
                    "title": it.title,
                    "text": it.what,
                    "safe": it.solution.safe or not it.solution.change.units,
                    "units": [_unit(unit) for unit in it.solution.change.units],
                    "order": _order(it.solution.order),
                    "states": _states(it.solution),
                }
                for it in found.split.stages
            ],
        },
    }

"""The score of an answer: kind, place and first act, in points; looks and time beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from telemetry.diagnosis.rehearsed import playbook, runbooks
from telemetry.drill.acts import Verdict, helping, judged
from telemetry.drill.incidents import NONE
from telemetry.drill.lessons import APART

KIND_POINTS: Final = 40
DEVICE_POINTS: Final = 30
PORT_POINTS: Final = 10
CLASS_POINTS: Final = 5
ACT_POINTS: Final = 15


@dataclass(frozen=True, slots=True)
class Answer:
    """A trainee's diagnosis, in the drill's names."""

    kind: str
    device: str = ""
    port: str = ""
    priority: int | None = None
    act: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the score."""

    name: str
    answer: str
    root: str
    right: bool
    points: int
    of: int
    why: str = ""


def parts(answer: Answer, secret: Mapping[str, Any], switches: frozenset[str]) -> list[Part]:
    """Every part that the root has.

    Parameters
    ----------
    answer : Answer
    secret : kind, places ('device' or 'device:port', the drill's names) and priority of the root
    switches : names of the devices that are no hosts
    """
    kind, places = str(secret["kind"]), [str(it) for it in secret["places"]]
    found = [_part("kind", answer.kind, kind, KIND_POINTS, right=answer.kind == kind, why=APART[kind])]
    devices = {it.partition(":")[0] for it in places}
    right_device = answer.device in devices
    ported = [it for it in places if ":" in it]
    if kind != NONE:
        found.append(_part("device", answer.device, " or ".join(_short(devices)), DEVICE_POINTS, right=right_device))
        if ported:
            right = f"{answer.device}:{answer.port}" in places
            found.append(_part("port", answer.port, " or ".join(ported), PORT_POINTS, right=right))
        priority = secret["priority"]
        if priority is not None:
            told = "" if answer.priority is None else str(answer.priority)
            found.append(_part("class", told, str(priority), CLASS_POINTS, right=answer.priority == priority))
    elif answer.device:
        found.append(_part("device", answer.device, "none", DEVICE_POINTS, right=False))
    if answer.act:
        verdict = judged(
            answer.act,
            kind,
            right_device=right_device,
            whole_device=answer.device in switches and (not answer.port or answer.act == "reset"),
            root_has_port=bool(ported),
        )
        right = verdict.verdict is Verdict.SAFE
        why = f"{verdict.verdict.value}: {verdict.why}"
        found.append(_part("act", answer.act, " or ".join(helping(kind)), ACT_POINTS, right=right, why=why))
    else:
        why = "no first act was named (--act)"
        found.append(_part("act", "", " or ".join(helping(kind)), ACT_POINTS, right=False, why=why))
    return found


def scored(
    answer: Answer, secret: Mapping[str, Any], switches: frozenset[str], looks: int, wall_s: int
) -> dict[str, Any]:
    """The whole result as JSON."""
    every = parts(answer, secret, switches)
    kind = str(secret["kind"])
    return {
        "points": sum(it.points for it in every),
        "of": sum(it.of for it in every),
        "parts": [
            {"part": it.name, "answer": it.answer, "root": it.root, "right": it.right, "points": it.points, "of": it.of,
             "why": it.why}
            for it in every
        ],
        "looks": looks,
        "wall_s": wall_s,
        "kind": kind,
        "evidence": list(secret["evidence"]),
        "also": list(secret["also"]),
        "runbooks": list(runbooks(kind)),
        "playbook": playbook(kind),
        "scenario": secret["scenario"],
        "seed": secret["seed"],
        "names": secret["names"],
        "reproduce": list(secret["reproduce"]),
    }  # fmt: skip


def _part(name: str, answer: str, root: str, of: int, *, right: bool, why: str = "") -> Part:
    return Part(name, answer, root, right, of if right else 0, of, why)


def _short(names: set[str]) -> list[str]:
    """At most four names, sorted."""
    found = sorted(names)
    return found if len(found) <= 4 else [*found[:3], f"{len(found) - 3} more"]

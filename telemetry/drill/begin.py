"""The beginning of a drill: draw an incident, simulate it, seal its root, keep what may be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from fabric.errors import InputErrors, Problem
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.select import nearest
from fabric.visible import command
from telemetry.drill.folder import Folder, now
from telemetry.drill.incidents import INCIDENTS, KINDS, NONE, Incident
from telemetry.drill.simulated import FULL, POLLED, Simulated, simulated

ANY: Final = "any"
CHOICES: Final = 5
"""Kinds that level 1 offers, the right one among them."""


@dataclass(frozen=True, slots=True)
class Level:
    """What a trainee gets."""

    text: str
    profile: str
    alerts: bool
    choices: bool
    """Whether a few kinds are named, of which one is right."""
    healthy: bool
    """Whether a network without a fault may be drawn."""


LEVELS: Final[Mapping[int, Level]] = {
    1: Level("every counter at every sample, alerts, and five kinds to choose from", FULL, True, True, False),
    2: Level("counters as SONiC polls them, and alerts", POLLED, True, False, False),
    3: Level("counters as SONiC polls them, no alerts; perhaps nothing is broken", POLLED, False, False, True),
}


def drawn(kind: str, level: int, seed: int) -> Incident:
    """The incident of a seed. Raises: InputErrors for a kind or scenario that no drill has."""
    healthy = LEVELS[level].healthy
    if kind == ANY:
        kinds = [*KINDS, *([NONE] if healthy else [])]
        chosen = Random(f"{seed}/kind").choice(kinds)
        fitting = [it for it in INCIDENTS if it.kind == chosen]
    else:
        fitting = [it for it in INCIDENTS if kind in {it.kind, it.name, it.name.rpartition("/")[2]}]
        if not fitting:
            known = [*KINDS, NONE, ANY, *(it.name for it in INCIDENTS)]
            text = "there is no such kind, and no such scenario"
            raise InputErrors("options", [Problem(f"--kind {kind}", text, nearest(kind, known, "kinds and scenarios"))])
        if not healthy and all(it.kind == NONE for it in fitting):
            hint = "add --level 3, or give another kind"
            text = f"nothing is broken there, and level {level} always has a fault"
            raise InputErrors("options", [Problem(f"--kind {kind}", text, hint)])
    return Random(f"{seed}/incident").choice(fitting)


def begun(incident: Incident, level: int, seed: int, out: Path, admit: Callable[[Scenario], Admit]) -> Folder:
    """Simulate an incident and write its folder. Raises: InputErrors, FabricError for the folder."""
    what = LEVELS[level]
    run = simulated(incident, seed, what.profile, admit)
    fabric = run.aliases.fabric(run.fabric, "drill")
    index: dict[str, Any] = {
        "started": now(),
        "level": level,
        "view": what.text,
        "profile": what.profile,
        "duration_ns": run.duration_ns,
        "choices": _choices(incident.kind, seed) if what.choices else [],
        "shows_alerts": what.alerts,
    }
    alerts = run.alerts if what.alerts else []
    return Folder.write(out, index, fabric, run.seen, alerts, _secret(incident, run, seed))


def _choices(kind: str, seed: int) -> list[str]:
    random = Random(f"{seed}/choices")
    others = [str(it) for it in KINDS if it != kind]
    return sorted([str(kind), *random.sample(others, CHOICES - 1)])


def _secret(incident: Incident, run: Simulated, seed: int) -> dict[str, Any]:
    """What the seal keeps, under the drill's names."""
    told = run.aliases.text
    mine = [it for it in run.roots if it.kind == incident.kind]
    others = [it for it in run.roots if it.kind != incident.kind and it.rank < 2]
    file = f"scenarios/{incident.name}.yml"
    name = incident.name.rpartition("/")[2]
    return {
        "scenario": file,
        "seed": seed,
        "kind": str(incident.kind),
        "places": [_place(run, it) for it in incident.places],
        "priority": incident.priority,
        "evidence": [told(f"{it.place}: {'; '.join(it.evidence)}") for it in mine],
        "also": [told(f"{it.kind.value} at {it.place}: {'; '.join(it.evidence)}") for it in others],
        "names": {place: _place(run, place) for place in incident.places},
        "reproduce": [
            command("fabric", "run", file, "--set", f"run.seed={incident.run_seed(seed)}", "--out", f"runs/{name}"),
            command("fabric", "explain", "roots", f"runs/{name}"),
        ],
    }


def _place(run: Simulated, place: str) -> str:
    device, colon, port = place.partition(":")
    return f"{run.aliases.shown.get(device, device)}{colon}{port}"

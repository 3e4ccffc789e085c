"""A schedule once more without one cause: the scenario of a run, simulated again without a fault or a kind of cause.

Only this is left out: seed, workload and settings are those of the run. What the difference says is how much longer the
schedule took with it, everything else equal; two causes that act together can each explain all of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabric.errors import InputErrors, Problem
from fabric.explain.evidence import Evidence
from fabric.explain.step import Step, Straggler
from fabric.explain.variations import suggested, variations
from fabric.render.document import Column, Section, Table, Unit
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.scenario import Scenario

ALL: Final = "faults"
"""Instead of a name: every fault, one at a time."""
FIRST: Final = "causes"
"""Instead of a name: what the first causes of the critical path suggest."""
MOST_FIRST: Final = 3
_WORDS: Final = f"stragglers, rate-cuts, pauses, collisions, slow-links, losses, or '{FIRST}' for the first of them"


@dataclass(frozen=True, slots=True)
class Again:
    """The duration without one fault, or one kind of cause."""

    left_out: str
    took_ns: int
    finished: bool


def faults_of(run: RunDir, wanted: Sequence[str]) -> list[int]:
    """Positions of the named faults in the scenario. Raises: InputErrors naming those that exist."""
    names = [_name(fault, row) for row, fault in enumerate(_resolved(run).get("faults", []))]
    if not names:
        text = f"{run.path}: its scenario has no faults"
        raise InputErrors("--without", [Problem("--without", text, f"leave the option out, or give {_WORDS}")])
    unknown = [name for name in wanted if name != ALL and name not in names]
    if unknown:
        hint = f"'{ALL}' for each of them, {', '.join(names)}; {_WORDS}"
        raise InputErrors("--without", [Problem("--without", f"no fault is named '{name}'", hint) for name in unknown])
    return list(range(len(names))) if ALL in wanted else [names.index(name) for name in dict.fromkeys(wanted)]


@dataclass(frozen=True)
class Trial:
    """One run without something."""

    text: str
    scenario: Scenario
    change: Callable[[CompiledScenario], CompiledScenario] | None = None


def trials(
    run: RunDir, wanted: Sequence[str], causes: Sequence[tuple[str, int]], stragglers: Sequence[Straggler]
) -> Iterator[Trial]:
    """What --without asks for, each once: faults by name, kinds of causes by word, or the first causes of the path.

    Raises: InputErrors for a word that is neither, or has no effect on this run.
    """
    known = variations(stragglers, run.fabric)
    named = {_name(fault, row) for row, fault in enumerate(_resolved(run).get("faults", []))}
    faults = [word for word in wanted if word in named or word not in {*known, FIRST}]
    words = [word for word in wanted if word not in faults and word != FIRST]
    if FIRST in wanted:
        words += suggested(causes, stragglers, MOST_FIRST)
        if not words and not faults:
            text = "none of the first causes can be left out: they are computation, transmission and propagation"
            raise InputErrors("--without", [Problem("--without", text, f"give a fault, or {_WORDS}")])
    if "stragglers" in words and not stragglers:
        raise InputErrors("--without", [Problem("--without", "no rank is a straggler", "leave the word out")])
    for number in faults_of(run, faults) if faults else []:
        scenario, name = scenario_without(run, number)
        yield Trial(f"fault {name}", scenario)
    for word in dict.fromkeys(words):
        it = known[word]
        yield Trial(f"{word}: {it.text}", scenario_with(run, it.setting), it.change)


def scenario_without(run: RunDir, fault: int) -> tuple[Scenario, str]:
    """(the scenario of a run without one fault, the fault's name).

    Raises: InputErrors where it is not valid any more, such as without its files.
    """
    name = _name(_resolved(run)["faults"][fault], fault)
    return scenario_with(run, lambda raw: raw["faults"].pop(fault)), name


def scenario_with(run: RunDir, setting: Callable[[dict[str, Any]], Any] | None) -> Scenario:
    """The scenario of a run with one setting changed. Raises: InputErrors where it is not valid."""
    raw = deepcopy(_resolved(run))
    if setting is not None:
        setting(raw)
    raw.pop("expectations", None)
    raw.setdefault("telemetry", {})["transfer_messages"] = "on"
    return build_scenario(raw, Path(run.manifest["scenario"]["file"]))


def without(
    run: RunDir,
    scenario: Scenario,
    left_out: str,
    operation: str | None,
    hooks: Hooks,
    admit: Admit | None = None,
    *,
    change: Callable[[CompiledScenario], CompiledScenario] | None = None,
    job: str | None = None,
    number: int | None = None,
) -> Again:
    """Simulate a scenario of scenario_without() or scenario_with() in a temporary folder, for as long as the run.

    `change` is applied to what the engine is given; operation, job, number: the part that is explained.
    Raises: InputErrors.
    """
    compiled, plan = simulate.prepare(scenario, until_ps=int(run.manifest["duration_ps"]), text="", admit=admit)
    if change is not None:
        compiled = change(compiled)
    with tempfile.TemporaryDirectory(prefix="fabric-without-") as folder:
        out = Path(folder) / "run"
        simulate.simulate(compiled, plan, simulate.Options(out, checkpoint_every_s=0), hooks)
        step = Step(Evidence(RunDir.open(out)))
        path = step.path(step.choose(operation, job, number))
    return Again(left_out, path.end_ns - path.start_ns, path.finished)


def section(found: Sequence[Again], took_ns: int) -> Section:
    """The durations beside that of the run."""
    columns = (
        Column("without", "Without"),
        Column("took_ns", "Took", Unit.NS),
        Column("change_ratio", "Change", Unit.RATIO),
        Column("finished", "Done"),
    )
    rows = tuple(
        (it.left_out, it.took_ns, it.took_ns / max(took_ns, 1) - 1, it.finished)
        for it in sorted(found, key=lambda it: it.took_ns)
    )
    note = "The same scenario and seed simulated again, without this and with nothing else changed."
    return Section("without", "Without a cause", (Table("without", "", columns, rows, note),))


def _resolved(run: RunDir) -> dict[str, Any]:
    found: dict[str, Any] = run.manifest["scenario"]["resolved"]
    return found


def _name(fault: dict[str, Any], row: int) -> str:
    return str(fault.get("name") or f"{fault['kind']}-{row}")

"""A change of many switches in an order without hazards, for Python: what `fabric rollout` finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

from fabric.api.configs import Files, Finding, Severity, finding_of
from fabric.api.words import python_words
from fabric.configs.network import Network
from fabric.errors import InputErrors, Problem
from fabric.proof.files import ROLLOUT, Folder
from fabric.rollout import plan
from fabric.rollout.output import data, markdown, page, text, words
from fabric.rollout.steps import Step
from fabric.rollout.units import Unit
from fabric.topology.select import nearest
from fabric.validate.checks.base import Finding as Found
from fabric.validate.checks.base import Severity as Level
from fabric.validate.proofs import Proof
from fabric.validate.runner import Verdict

SonicRelease = Literal["202405", "202411", "202505", "202511"]
_RELEASES: Final = ("202405", "202411", "202505", "202511")
_LEVELS: Final = {"error": Level.ERROR, "warn": Level.WARN, "info": Level.INFO}


@dataclass(frozen=True, slots=True)
class RolloutEdit:
    """One edit of a SONiC switch, and what a running one does with it."""

    path: str
    """JSON Pointer in the CONFIG_DB (RFC 6901)."""
    op: str
    """'add', 'replace' or 'remove'."""
    old: Any
    value: Any
    effect: str
    """'live', 'flap', 'refused', 'ConfigDB and chip differ', 'not known'."""
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """Edits of one switch that are made together; a part of the hosts; the cabling."""

    unit: str
    """Name of the switch, 'hosts' or 'links'."""
    title: str
    text: str
    """What changes, where there are no edits."""
    edits: tuple[RolloutEdit, ...]
    """() of systems other than SONiC."""
    flaps: tuple[str, ...]
    """Ports and BGP sessions that go down."""


@dataclass(frozen=True, slots=True)
class RolloutRemedy:
    """A way round a hazard."""

    kind: str
    """'split', 'drain' or 'window'."""
    text: str
    validated: bool
    """Whether all of its states were validated without a hazard."""


@dataclass(frozen=True, slots=True)
class RolloutProof:
    """One hazard, simulated."""

    state: str
    """'NEW: leaf1', all others OLD; 'NEW' for a finding of NEW alone."""
    check: str
    device: str
    object: str
    result: Literal["proven", "refuted", "not proven"]
    text: str
    """Evidence of a proof; what was seen instead; or why there is none."""
    condition: str
    """'only if ...': the assumed value that the result depends on; '' where it depends on none that was varied."""
    scenario: str
    """YAML for `fabric run` and fabric.load, as configured: the hazard is seen. '' where nothing was simulated."""
    remedied: str
    """The same with the finding remedied: it is not seen."""
    file: Path | None
    """Where the scenario was written; None without prove_out."""


class Rollout:
    """The mixed states between OLD and NEW, and an order through those without a hazard."""

    def __init__(self, found: plan.Rollout) -> None:
        self._found = found
        solution = found.solution
        self.steps: tuple[RolloutStep, ...] = tuple(_step(unit, it) for unit in found.change.units for it in unit.steps)
        """Every step, unit by unit."""
        moves = solution.order.moves if found.safe and solution.order is not None else ()
        self.order: tuple[RolloutStep, ...] = tuple(_step(it.unit, it.step) for it in moves)
        """The steps in a safe order; () where none was found, NEW is worse than OLD, or nothing changes."""
        self.worse: tuple[Finding, ...] = tuple(finding_of(it) for it in found.worse)
        """Findings of NEW that OLD does not have: the rollout ends in a state that is worse than its start."""
        bad = solution.counterexample
        self.hazard: tuple[Finding, ...] = () if bad is None else tuple(finding_of(it) for it in bad.hazards)
        """Findings of the state that is in the way; () where an order was found."""
        self.hazard_state: str = "" if bad is None else bad.text
        """That state: 'NEW: leaf1', all others OLD."""
        self.remedies: tuple[RolloutRemedy, ...] = tuple(
            RolloutRemedy(it.kind, it.text, it.checked) for it in found.remedies
        )
        self.proofs: tuple[RolloutProof, ...] = tuple(
            _proof(state, it) for state, its in found.proofs_by_state.items() for it in its
        )
        """With prove: one hazard of each check in the state that is shown, and each finding of `worse`, simulated."""
        self.not_simulated: tuple[str, ...] = found.not_simulated
        """With prove: hazards that no proof was tried of, and why."""

    @property
    def safe(self) -> bool:
        """Whether NEW is no worse than OLD, and an order without a hazard was found, or nothing changes."""
        return self._found.safe

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return words.verdict(self._found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the verdict does not cover although it is wrong."""
        return tuple(words.warnings(self._found))

    @property
    def states(self) -> int:
        """Mixed states that were validated."""
        return self._found.validated

    def render(self, style: Literal["text", "json", "markdown", "html"] = "text") -> str:
        """As `fabric rollout --format` writes it. Raises: InputErrors for an unknown format."""
        writers: dict[str, Callable[[plan.Rollout], str]] = {
            "text": text.as_text,
            "json": data.as_json,
            "markdown": markdown.as_markdown,
            "html": page.as_html,
        }
        if style not in writers:
            hint = nearest(style, list(writers))
            raise InputErrors("parameters", [Problem("style", f"{style!r} is not a format", hint)])
        return writers[style](self._found)

    def __repr__(self) -> str:
        return f"<fabric.Rollout: {self.verdict}>"


def rollout(
    old: Files,
    new: Files,
    *,
    hosts: Files | tuple[Files, Files] | None = None,
    links: Files | tuple[Files, Files] | None = None,
    headroom_tables: Sequence[str] = (),
    sonic_release: SonicRelease = "202511",
    fail_on: Severity = "error",
    max_states: int = plan.MOST_STATES,
    every_state: bool = False,
    prove: bool = False,
    prove_out: Files | None = None,
) -> Rollout:
    """Validate the mixed states between two sets of configurations, and search for an order without a hazard.

    Parameters
    ----------
    old, new           folders of the present configurations, and of those to arrive at, one file per switch
    hosts              hosts' RoCE settings; two files where they differ (default: hosts.* in each folder)
    links              links file; two where they differ (default: the neighbour tables, or topology.* in each folder)
    headroom_tables    'FILE' for all switches, or 'HWSKU=FILE'
    sonic_release      release whose effects of edits are stated
    fail_on            findings from this severity on are hazards
    max_states         mixed states that are validated at most in one search
    every_state        validate states, too, that are equal but for the names of switches
    prove              simulate the hazards of the state that is shown, and the findings of NEW that OLD does not have
    prove_out          with prove: a folder for their scenarios, new, empty or of an earlier call

    Returns: Rollout. A hazard raises no error: see Rollout.safe.
    Raises: InputErrors with every input that cannot be read or used.
    """
    problems = []
    if fail_on not in _LEVELS:
        problems.append(Problem("fail_on", f"{fail_on!r} is not a severity", "give 'error', 'warn' or 'info'"))
    if sonic_release not in _RELEASES:
        hint = nearest(str(sonic_release), list(_RELEASES))
        problems.append(Problem("sonic_release", f"{sonic_release!r} is not a release that is known", hint))
    if max_states < 1:
        problems.append(Problem("max_states", f"{max_states} states are not possible", "give 1 or more"))
    if prove_out is not None and not prove:
        problems.append(Problem("prove_out", "has no effect without prove", "give prove=True, or leave it out"))
    if problems:
        raise InputErrors("parameters", problems)
    with python_words():
        folder = None if prove_out is None else Folder(Path(prove_out), command=ROLLOUT)
        request = plan.Request(
            Path(old),
            Path(new),
            _paths(hosts),
            _paths(links),
            tuple(headroom_tables),
            sonic_release,
            _LEVELS[fail_on],
            max_states,
            every_state,
        )
        found = plan.carry_out(plan.prepare(request), prove=partial(_proved, folder) if prove else None)
        if folder is not None:
            folder.index_of_states(found.proofs_by_state)
        return Rollout(found)


def _proved(folder: Folder | None, network: Network, hazards: Sequence[Found]) -> tuple[Sequence[Proof], str]:
    """Simulate the hazards of a state, each written as soon as it is made."""
    from fabric.proof.prove import left_out, proofs, tasks  # noqa: PLC0415  it loads the engine

    verdict = Verdict(tuple(hazards))
    made = proofs(network, tasks(verdict))
    return [it if folder is None else folder.write(it) for it in made], left_out(verdict)


def _proof(state: str, proof: Proof) -> RolloutProof:
    return RolloutProof(
        state,
        proof.check,
        proof.device,
        proof.object,
        proof.result,
        proof.text,
        proof.condition,
        proof.scenario,
        proof.remedied,
        Path(proof.file) if proof.file else None,
    )


def _paths(given: Files | tuple[Files, Files] | None) -> tuple[Path, ...]:
    if given is None:
        return ()
    return (Path(given),) if isinstance(given, (str, PathLike)) else tuple(Path(it) for it in given)


def _step(unit: Unit, step: Step) -> RolloutStep:
    edits = tuple(
        RolloutEdit(it.path, it.op, it.old, it.new, effect.kind.value, effect.text, effect.source)
        for it, effect in zip(step.edits, step.effects, strict=True)
    )
    return RolloutStep(unit.name, step.title, step.text, edits, step.flaps)

"""A rollout from two folders of configurations to a result: changes, states, a safe order or a hazard with remedies."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric.configs.load import load_network
from fabric.configs.model import Device
from fabric.configs.network import Network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.errors import InputErrors, Problem
from fabric.rollout.check import Checked, Checker, Ends, Exposure, exposure, judge_ends
from fabric.rollout.edits import Tables
from fabric.rollout.order import Progress, tiers
from fabric.rollout.solve import Solution, estimate, solve
from fabric.rollout.split import Split, split_of
from fabric.rollout.symmetry import Symmetry
from fabric.rollout.units import Change, change_between, tables_of
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.facts import Facts
from fabric.validate.proofs import Proof

MOST_STATES: Final = 1000
Prove = Callable[[Network, Sequence[Finding]], tuple[Sequence[Proof], str]]
"""Simulate the hazards of a state, and say which were left out and why ('' for none): given by a caller that can,
because a rollout itself simulates nothing."""


@dataclass(frozen=True, slots=True)
class Request:
    """The files of a rollout, and its options."""

    old: Path
    new: Path
    hosts: Sequence[Path] = ()
    """One file for both, or that of OLD and that of NEW; (): those in the folders."""
    links: Sequence[Path] = ()
    headroom_tables: Sequence[str] = ()
    release: str = "202511"
    least: Severity = Severity.ERROR
    """Findings from here on are hazards."""
    most: int = MOST_STATES
    """States that are validated at most in one search."""
    every: bool = False
    """Validate states that are equal but for names, too."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A way round a hazard."""

    kind: str
    """split, drain or window."""
    text: str
    checked: bool = False
    """Whether its states were validated without a hazard."""


@dataclass
class Rollout:
    """The result."""

    request: Request
    change: Change
    solution: Solution
    exposed: Exposure | None = None
    """Of the counterexample."""
    nearest: str = ""
    """The safe state to go back to from the counterexample."""
    split: Split | None = None
    remedies: tuple[Remedy, ...] = ()
    proofs: tuple[Proof, ...] = ()
    """Hazards of `shown` that were simulated, one of each check."""
    proofs_of_new: tuple[Proof, ...] = ()
    """The same of `worse`, in NEW."""
    not_simulated: tuple[str, ...] = ()
    """Hazards that no proof was tried of, and why: of the state that is shown, and of NEW."""
    worse: tuple[Finding, ...] = ()
    """Findings of NEW that OLD does not have, bad enough to be hazards: NEW is worse than OLD."""
    shared: tuple[Finding, ...] = ()
    """Those that OLD has as well, which are not held against the rollout."""
    gone: int = 0
    """Findings of OLD that NEW does not have, whether they are fixed or not judged any more."""

    @property
    def shown(self) -> Checked | None:
        """The hazardous state that is shown: the one in the way, else the first of the order as listed."""
        obvious = self.solution.obvious_hazard
        return self.solution.counterexample or (None if obvious is None else obvious[1])

    @property
    def proofs_by_state(self) -> dict[str, tuple[Proof, ...]]:
        """What was simulated, by its state: 'NEW: leaf1', and 'NEW'."""
        found = {} if self.shown is None else {self.shown.text: self.proofs}
        return found | ({"NEW": self.proofs_of_new} if self.proofs_of_new else {})

    @property
    def passable(self) -> bool:
        """Whether an order was found through states without a further hazard, or nothing changes."""
        return self.solution.safe or not self.change.units

    @property
    def safe(self) -> bool:
        """Whether NEW is no worse than OLD, and there is an order to it without a hazard."""
        return self.passable and not self.worse

    @property
    def validated(self) -> int:
        """Mixed states that were validated, those of the split included."""
        stages = () if self.split is None else self.split.stages
        return len(self.solution.listed) + sum(len(it.solution.listed) for it in stages)


@dataclass
class Prepared:
    """Everything that was read, and what is going to be done."""

    request: Request
    checker: Checker
    raw: _Raw
    states: int
    """States that will be validated if no hazard is met."""
    seconds: float
    """About how long that takes."""
    ends: Ends


class _Raw:
    """The CONFIG_DB of each device, read once."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Device, Tables | None]] = {}

    def __call__(self, device: Device) -> Tables | None:
        if id(device) not in self._found:
            self._found[id(device)] = device, tables_of(device)
        return self._found[id(device)][1]


def prepare(request: Request) -> Prepared:
    """Read both folders, validate both ends, and count the states. Raises: InputErrors."""
    problems = [
        Problem(option, f"{len(files)} files were given", "give one for both folders, or one for OLD and one for NEW")
        for option, files in (("--hosts", request.hosts), ("--links", request.links))
        if len(files) not in {0, 1, 2}
    ]
    if problems:
        raise InputErrors("options", problems)
    tables = HeadroomTables.load(list(request.headroom_tables))
    old, new = (_network(request, number, tables) for number in (0, 1))
    raw = _Raw()
    change = change_between(old, new, request.release, raw)
    before = time.perf_counter()
    ends = judge_ends(old, new, request.least)
    each = (time.perf_counter() - before) / 2
    symmetry = None if request.every else Symmetry(change, raw)
    checker = Checker(change, ends.known, least=request.least, symmetry=symmetry)
    number = min(request.most, estimate(checker)) if change.units else 0
    return Prepared(request, checker, raw, number, number * each, ends)


def carry_out(prepared: Prepared, say: Progress | None = None, prove: Prove | None = None) -> Rollout:
    """Validate the states and search for an order; without one, name the hazard and look for a way round it.

    With `prove`, the hazards of the state that is shown are simulated, and the findings of NEW that OLD does not have.
    """
    request, checker = prepared.request, prepared.checker
    solution = solve(checker, most=request.most, say=say) if checker.change.units else Solution(checker.change, checker)
    ends = prepared.ends
    found = Rollout(request, checker.change, solution, worse=ends.worse, shared=ends.shared, gone=ends.gone)
    if prove is not None:
        _prove(found, prove)
    bad = solution.counterexample
    if bad is None:
        return found
    network = checker.change.network(bad.state)
    found.exposed = exposure(bad.hazards[0], network)
    found.nearest = _nearest(checker, bad)
    found.split = split_of(
        checker.change.old,
        checker.change.new,
        release=request.release,
        raw=prepared.raw,
        known=checker.known,
        least=request.least,
        most=request.most,
        every=request.every,
        say=say,
    )
    found.remedies = tuple(_remedies(found, bad, network))
    return found


def _prove(found: Rollout, prove: Prove) -> None:
    """Simulate the hazards of the state that is shown, and those of NEW."""
    left = {}
    if found.shown is not None:
        proofs, left["the state"] = prove(found.change.network(found.shown.state), found.shown.hazards)
        found.proofs = tuple(proofs)
    if found.worse:
        proofs, left["NEW"] = prove(found.change.new, found.worse)
        found.proofs_of_new = tuple(proofs)
    found.not_simulated = tuple(f"of {where}: {text}" for where, text in left.items() if text)


def _network(request: Request, number: int, tables: HeadroomTables) -> Network:
    """OLD (0) or NEW (1)."""
    folder = (request.old, request.new)[number]
    if not folder.is_dir():
        raise InputErrors("options", [Problem(str(folder), "is no folder", "give the folders of OLD and NEW")])
    links, hosts = (files[min(number, len(files) - 1)] if files else None for files in (request.links, request.hosts))
    return load_network([folder], links=links, hosts=hosts, tables=tables)


def _nearest(checker: Checker, bad: Checked) -> str:
    """The safe state that fewest steps back lead to."""
    safe = [it for it in checker.checked if it.safe and all(a <= b for a, b in zip(it.state, bad.state, strict=True))]
    best = min(safe, key=lambda it: sum(bad.state) - sum(it.state), default=None)
    return checker.change.text_of(checker.change.start if best is None else best.state)


def _remedies(found: Rollout, bad: Checked, network: Network) -> list[Remedy]:
    """Split, drain, window: the first that applies comes first."""
    remedies = []
    split = found.split
    if split is not None:
        text = (
            f"map DSCP {split.beside} to the new class on all switches, beside DSCP {split.dscp}; move the hosts to "
            f"DSCP {split.beside}; then remove DSCP {split.dscp} from the switches"
        )
        remedies.append(Remedy("split", text, checked=split.safe))
    name = bad.hazards[0].device
    if (split is None or not split.safe) and _spare(network, name):
        text = f"take {name} out of all paths, change it, and bring it back: every pair has a path around it"
        remedies.append(Remedy("drain", text))
    names = ", ".join(unit.name for unit in found.change.units[:6])
    more = len(found.change.units) - 6
    names += f" and {more} more" if more > 0 else ""
    remedies.append(Remedy("window", f"stop RoCE, change {names}, and start it again"))
    return remedies


def _spare(network: Network, name: str) -> bool:
    """Whether a switch without hosts can go and every edge switch still reaches every other."""
    facts = Facts(network)
    edges = facts.routes.edges
    if name in edges or not edges or name not in tiers(network):
        return False
    near = facts.routes.near
    seen, waiting = {edges[0]}, [edges[0]]
    while waiting:
        for other in near.get(waiting.pop(), ()):
            if other not in seen and other != name:
                seen.add(other)
                waiting.append(other)
    return seen.issuperset(edges)

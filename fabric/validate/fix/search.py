"""The smallest set of changes that clears findings and makes none, found by trying each change on a copy in memory.

Causes are taken in the order of what their change clears: the mistake and all that follows from it. A candidate
(`candidates.py`) is kept if the findings are gone and no warning or error is new, of any check. Where a change makes
findings, their own remedies are tried on top of it; if none helps, the first of these findings names the condition that
the change breaks. At the end each change is left out once, and stays out if nothing comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from fabric.configs.network import Network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.errors import InputErrors
from fabric.units import count
from fabric.validate.causes import Cause, find_causes
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.disagreement import UNDECIDED
from fabric.validate.fix.candidates import candidates, of_baseline
from fabric.validate.fix.peers import Peers
from fabric.validate.fix.state import CannotApplyError, Change, Key, State
from fabric.validate.judge import Request, baseline_of, network_of
from fabric.validate.manual import is_choice, reason
from fabric.validate.output.text import languages
from fabric.validate.runner import Verdict

_DEPTH: Final = 2
"""Findings that a change makes are repaired by further changes, and what these make once more."""
_ROUTING: Final = frozenset("DIOPV")
"""First letters of the checks that use what a file of FRR states."""
_MOST_TRIALS: Final = 600
NOT_TRIED: Final = "not tried"
"""Begins the reason where the trials did not suffice."""
_MOST_DROPPED: Final = 40


@dataclass(frozen=True)
class Step:
    """Changes that clear one cause."""

    cause: Cause
    changes: tuple[Change, ...]
    cleared: tuple[Key, ...]
    """Findings that were asked for and are gone after this step."""


@dataclass(frozen=True)
class Left:
    """A cause without a change."""

    cause: Cause
    reason: str
    conflict: tuple[Finding, ...] = ()
    """Findings that the change would make; the first one names the condition that it breaks."""


@dataclass
class Plan:
    """What to change, and what remains."""

    start: State
    end: State
    steps: list[Step] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    asked: frozenset[Key] = frozenset()
    trials: int = 0
    wanted: tuple[Finding, ...] = ()
    """The findings that were asked for: a report counts each of them, also those of one key."""
    causes: tuple[Cause, ...] = ()
    """Their causes, as the verdict has them."""

    @property
    def changes(self) -> list[Change]:
        """Every change in its order."""
        return [change for step in self.steps for change in step.changes]

    @property
    def gone(self) -> frozenset[Key]:
        """Findings that were asked for and that the changes clear."""
        return (self.asked & self.start.bad.keys()) - self.end.bad.keys()

    def findings(self, keys: Iterable[Key]) -> int:
        """How many findings have these keys."""
        its = frozenset(keys)
        return sum(it.key in its for it in self.wanted)

    def counted(self, severity: Severity) -> tuple[int, int]:
        """(gone, asked for) of the findings of one severity."""
        its = [it.key in self.gone for it in self.wanted if it.severity is severity]
        return sum(its), len(its)

    @property
    def causes_gone(self) -> int:
        """Causes of which no warning or error is left."""
        gone = self.gone
        return sum(all(it.key in gone for it in _bad_of(cause)) for cause in self.causes)

    @property
    def new(self) -> tuple[Finding, ...]:
        """Warnings and errors that the changes make; the search allows none."""
        return self.end.worse(self.start)


def find(request: Request, verdict: Verdict, most_trials: int = _MOST_TRIALS) -> Plan:
    """The changes for the warnings and errors of a verdict, after so many trials at most. Raises: InputErrors."""
    tables = HeadroomTables.load(list(request.headroom_tables))
    before = baseline_of(request, tables)
    start = State(request, tables, before, network_of(request, tables))
    wanted = [it for it in verdict.findings if it.severity >= Severity.WARN]
    asked = frozenset(it.key for it in wanted)
    causes = tuple(it for it in verdict.causes if it.severity >= Severity.WARN)
    plan = _Search(Plan(start, start, asked=asked, wanted=tuple(wanted), causes=causes), before, most_trials).run()
    outside = [it for it in wanted if it.key not in start.bad]  # of files that were not given (R11)
    plan.left += [Left(it, _unknown(it)) for it in find_causes(outside)]
    return plan


class _Search:
    """One search; `plan.end` is the state that has been reached."""

    def __init__(self, plan: Plan, before: Network | None, most_trials: int) -> None:
        self.plan = plan
        self.old = None if before is None else Peers(State(plan.start.request, plan.start.tables, None, before))
        """The blocks of the baseline."""
        self.most_trials = most_trials
        self.reasons: dict[tuple[str, tuple[Key, ...]], Left] = {}
        cut = {(device, what) for check, device, what in plan.start.bad if check == "R13"}
        known = plan.start.network.devices
        routing = {device for device, what in cut if device in known and what in known[device].beside}
        self.cut = {device for device, _ in cut} - routing
        """Switches of which a part was not read."""
        self.routing_cut = routing
        """Switches of which a part of FRR's file was not read: what is wrong with QoS is not because of it."""
        ends = [(cable.a[0], cable.b[0]) for cable in plan.start.network.links]
        self.beside = {far for a, b in ends for near, far in ((a, b), (b, a)) if near in self.cut} - self.cut
        """Switches with a link to one of them."""

    def run(self) -> Plan:
        """Clear cause after cause, then leave out what is not needed."""
        while True:
            causes = _causes(self.plan.end, self.plan.asked)
            todo = [it for it in causes if _name(it) not in self.reasons]
            if not todo:
                break
            cause = max(todo, key=lambda it: len(it.findings) + len(it.consequences))
            found = self._clear(self.plan.end, cause, 0)
            if found is None:
                continue
            changes, state = found
            gone = tuple(sorted(self.plan.asked & (self.plan.end.bad.keys() - state.bad.keys())))
            self.plan.steps.append(Step(cause, changes, gone))
            self.plan.end = state
        self._leave_out()
        rest = {_name(it) for it in _causes(self.plan.end, self.plan.asked)}
        self.plan.left = [left for name, left in self.reasons.items() if name in rest]
        return self.plan

    def _clear(self, now: State, cause: Cause, depth: int) -> tuple[tuple[Change, ...], State] | None:
        """Changes after which the cause's findings are gone and none is new; a part of them where not all can go."""
        why = self._cut(cause) or ("" if self.old else _refused(cause))
        if why:
            self.reasons.setdefault(_name(cause), Left(cause, why))
            return None
        wanted = {it.key for it in cause.findings}
        follow = _keys(cause)
        best: tuple[tuple[int, int, int], tuple[Change, ...], State] | None = None
        conflict: tuple[Finding, ...] = ()
        blocked = ""

        def tried() -> Iterator[tuple[bool, tuple[Change, ...]]]:
            """Other differences from the baseline come last, where nothing at the places of the findings helps."""
            yield from () if _refused(cause) else candidates(now, cause, self.old, further=depth == 0)
            if best is None and depth == 0 and self.old is not None:
                yield from ((True, its) for its in of_baseline(now, cause, self.old))

        for founded, its in tried():
            if self.cut and any(it.device in self.cut for it in its):
                continue
            if self.plan.trials >= self.most_trials:
                blocked = f"{NOT_TRIED} after {count(self.most_trials, 'trial')}"
                break
            self.plan.trials += 1
            try:
                changes, trial = its, now.changed(its)
                bad = trial.bad
            except (CannotApplyError, InputErrors) as error:
                blocked = blocked or (str(error) if founded and isinstance(error, CannotApplyError) else "")
                continue
            if not wanted - bad.keys():
                continue
            new = trial.worse(now)
            if new and depth < _DEPTH:
                repaired = self._repaired(now, trial, new, depth)
                if repaired is not None:
                    changes, trial, new = (*changes, *repaired[0]), repaired[1], ()
            if new:
                conflict = conflict or (new if founded else ())
                continue
            gone = len(wanted - trial.bad.keys()), len(follow - trial.bad.keys()), -len(changes)
            if best is None or gone > best[0]:
                best = gone, changes, trial
            if gone[:2] == (len(wanted), len(follow)) and changes == its:
                break
        if best is not None:
            return best[1], best[2]
        if conflict:
            first = conflict[0]
            blocked = f"its change breaks {first.check.id} ({first.check.title}) on {first.device}: {first.text}"
        self.reasons.setdefault(_name(cause), Left(cause, blocked or _unknown(cause), conflict))
        return None

    def _cut(self, cause: Cause) -> str:
        """Why nothing is changed because of a file of which the end is missing: what seems wrong may stand in it."""
        named = {it.device for it in cause.findings} | {it.root[0] for it in cause.findings}
        its = sorted(self.cut) if named & (self.cut | self.beside) else []
        if not its and any(it.check.id[0] in _ROUTING for it in cause.findings):
            its = sorted(self.routing_cut)
        return (
            f"the file of {', '.join(its)} is cut (R13): collect it again, and validate the whole files" if its else ""
        )

    def _repaired(
        self, now: State, trial: State, new: Sequence[Finding], depth: int
    ) -> tuple[tuple[Change, ...], State] | None:
        """Further changes after which nothing is new any more."""
        changes: tuple[Change, ...] = ()
        for _ in range(_DEPTH + 1):
            keys = {it.key for it in new}
            every = _causes(trial, trial.bad)
            cause = next((it for it in every if not keys.isdisjoint(_keys(it))), None)
            found = None if cause is None else self._clear(trial, cause, depth + 1)
            if found is None:
                return None
            changes, trial = (*changes, *found[0]), found[1]
            new = trial.worse(now)
            if not new:
                return changes, trial
        return None

    def _leave_out(self) -> None:
        """Leave out each change whose effect others have, too."""
        every = self.plan.changes
        if not 1 < len(every) <= _MOST_DROPPED:
            return
        for unit in reversed(_units(every)):
            if self.plan.trials >= self.most_trials:
                break
            kept = [it for it in self.plan.changes if all(it is not one for one in unit)]
            self.plan.trials += 1
            try:
                trial = self.plan.start.changed(kept)
                same = not (trial.bad.keys() & self.plan.asked) - self.plan.end.bad.keys()
            except (CannotApplyError, InputErrors):
                continue
            if same and not trial.worse(self.plan.start):
                self.plan.end = trial
                self.plan.steps = [
                    Step(it.cause, tuple(one for one in it.changes if any(one is its for its in kept)), it.cleared)
                    for it in self.plan.steps
                ]
        self.plan.steps = [it for it in self.plan.steps if it.changes]


def _units(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes of which none is made without the others."""
    found: dict[object, list[Change]] = {}
    for number, it in enumerate(changes):
        found.setdefault((it.device, it.part_of) if it.part_of else number, []).append(it)
    return list(found.values())


def _causes(state: State, keys: Iterable[Key]) -> list[Cause]:
    wanted = frozenset(keys)
    return list(find_causes([it for it in state.findings if it.key in wanted and it.severity >= Severity.WARN]))


def _bad_of(cause: Cause) -> list[Finding]:
    return [it for it in (*cause.findings, *cause.consequences) if it.severity >= Severity.WARN]


def _keys(cause: Cause) -> set[Key]:
    return {it.key for it in (*cause.findings, *cause.consequences)}


def _name(cause: Cause) -> tuple[str, tuple[Key, ...]]:
    return cause.check.id, tuple(sorted({it.key for it in cause.findings}))


def _refused(cause: Cause) -> str:
    """Why nothing is tried: a choice of the design, or two sides of which nothing says which is wrong."""
    if UNDECIDED in cause.first.text:
        return f"{UNDECIDED}: give --baseline, or change the one that is"
    return "" if cause.fixes else is_choice(cause.check.id)


def _unknown(cause: Cause) -> str:
    return reason(cause.check.id, languages(cause)) or "no single change of a value that is known clears it"

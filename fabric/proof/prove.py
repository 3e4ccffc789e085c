"""Proofs of the findings of a verdict, one after the other, each with its guards.

A finding is proven if its traffic on the fabric as configured shows it, the same traffic on the twin (the finding's
item remedied) does not, and the twin had the stimulus that the finding needs. It is refuted if the stimulus was there
and nothing is shown. Everything else is not proven, with the reason.

Guards (the numbers of their texts): g1 RoCE crossed the bad hop, g2 the twin is clean under the stimulus, g3 the
evidence is at the finding's hop (the recipe looks only there), g4 an unfinished message is no success, g5 three seeds
with three phases, g6 the response of a peer, which no configuration states, at both ends of its range.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabric.configs.buffers.headroom import quanta_bytes
from fabric.configs.network import Network
from fabric.errors import FabricError, InputErrors
from fabric.proof.cut import Cut, Cutter
from fabric.proof.files import scenario_text, stem
from fabric.proof.lowering.lower import Lowering
from fabric.proof.outcome import Outcome, simulate
from fabric.proof.recipe import (
    NO_LOSS,
    Case,
    NoProofError,
    Plan,
    Recipe,
    lowered,
    rate_mbps,
    scenario_of,
    traffic_class,
)
from fabric.proof.registry import NO_CLAIM, RECIPES, WITHOUT
from fabric.units import count, listed
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.facts import Facts
from fabric.validate.proofs import Proof
from fabric.validate.runner import Verdict

SEEDS: Final = (1, 2, 3)
_PHASE_NS: Final = 31
"""Of each further seed: a part of a frame's time at 400G (84 ns), so that offsets do not repeat."""
_BISECTIONS: Final = 4
_SHOWN_CHECKS: Final = 6
_HALF: Final = 0.5


@dataclass(frozen=True, slots=True)
class Task:
    """One finding to prove, and how many it stands for."""

    finding: Finding
    alike: int


def tasks(verdict: Verdict) -> list[Task]:
    """The first finding of every check of every cause; notes are left out, and so is what claims nothing of packets."""
    found: dict[tuple[str, str, str], Task] = {}
    for cause in verdict.causes:
        by_check: dict[str, list[Finding]] = {}
        for item in (*cause.findings, *cause.consequences):
            if item.severity > Severity.INFO and (item.check.id in RECIPES or item.check.id in WITHOUT):
                by_check.setdefault(item.check.id, []).append(item)
        for items in by_check.values():
            found.setdefault(items[0].key, Task(items[0], len(items)))
    return list(found.values())


def left_out(verdict: Verdict) -> str:
    """Findings that no proof is tried of, and why: '12 notes (they claim no damage); 2 of B3, E5 (...)'."""
    notes = verdict.count(Severity.INFO)
    rest = [it.check.id for it in verdict.findings if it.severity > Severity.INFO]
    policy = [id_ for id_ in rest if id_ in NO_CLAIM]
    others = [id_ for id_ in rest if id_ not in {*NO_CLAIM, *RECIPES, *WITHOUT}]
    parts = [f"{count(notes, 'note')} (a note claims no damage)"] if notes else []
    for ids, why in (
        (policy, "packets alone show nothing of their rules"),
        (others, "about files, routes and identities, which no packet of RoCE shows"),
    ):
        if ids:
            parts.append(f"{len(ids)} of {listed(list(dict.fromkeys(ids)), _SHOWN_CHECKS)} ({why})")
    return "; ".join(parts)


def proofs(network: Network, work: Sequence[Task]) -> Iterator[Proof]:
    """Prove one finding after the other."""
    facts = Facts(network)
    cutter = Cutter(facts)
    for task in work:
        yield prove(Case(facts, cutter, task.finding), task.alike)


def prove(case: Case, alike: int = 1) -> Proof:
    """One finding. What cannot be simulated is not proven, with the reason; nothing is raised for the user's input."""
    id_ = case.finding.check.id
    recipe = RECIPES.get(id_)
    if recipe is None:
        why = WITHOUT.get(id_, "no traffic is known that shows it")
        return Proof(id_, case.finding.device, case.finding.object, "not proven", why, alike=alike)
    try:
        return _Run(case, recipe, alike).proof()
    except InputErrors as error:
        one = error.problems[0]
        return _without(case, recipe, alike, f"no scenario can be made of it: {one.path}: {one.text}")
    except FabricError as error:
        if error.exit_code != InputErrors.exit_code:  # a broken invariant is a defect of this program
            raise
        return _without(case, recipe, alike, error.text)


def _without(case: Case, recipe: Recipe, alike: int, why: str) -> Proof:
    return Proof(
        case.finding.check.id,
        case.finding.device,
        case.finding.object,
        "not proven",
        why,
        "",
        recipe.claim,
        "",
        "",
        alike,
    )


def shown(case: Case, share: float = _HALF) -> str | None:
    """What the traffic of a finding shows on a fabric, whether a rule speaks there or not: for comparisons of the two.

    Parameters
    ----------
    case     the finding may be that of another configuration of the same fabric: it says where and what
    share    of the time that 802.3 allows a peer to respond to a pause

    Raises: FabricError where it cannot be simulated.
    """
    return _Run(case, RECIPES[case.finding.check.id], 1).shown(share)


class _Run:
    """The runs of one finding."""

    def __init__(self, case: Case, recipe: Recipe, alike: int) -> None:
        self.case, self.recipe, self.alike = case, recipe, alike
        self.plan: Plan = recipe.plan(case)
        _about_roce(case, self.plan)
        self.lowering: Lowering = lowered(self.plan)
        finding = case.finding
        self.name = stem(finding.check.id, finding.device, finding.object)
        title = f"{finding.check.id} {finding.device} {finding.object}: {finding.check.title}"
        self.broken = copy.deepcopy(scenario_of(self.plan, self.lowering, self.name, description=title))
        self.cut: Cut = self.plan.cut.copied()
        self.remedy = recipe.remedy(case, self.plan, self.cut)
        name = f"{self.name}.remedied"
        self.twin = copy.deepcopy(scenario_of(self.plan, lowered(self.plan, self.cut), name, description=title))

    def proof(self) -> Proof:
        """Twin first: expectations may rest on what it measured."""
        twin = simulate(self.twin)
        expected = self._expected(twin)
        if expected is not None:
            self.broken["expectations"] = self.twin["expectations"] = list(expected)
            twin = simulate(self.twin)
        run = simulate(self.broken)
        missing = self.recipe.stimulus(self.plan, twin)
        if missing is not None:
            return self._made("not proven", f"the traffic does not reach what the finding is about: {missing}")
        text, condition = self._shown(run, twin), ""
        if text is None:
            text, condition = self._at_worst(twin)
        if text is None and condition:
            return self._made("not proven", condition)
        if text is None:
            missing = self.recipe.stimulus(self.plan, run)
            if missing is not None:
                return self._made("not proven", f"nothing is seen, and the traffic did not reach it: {missing}")
            seen = ", ".join(f"{one}: {'met' if met else 'not met'}" for one, met in run.expectations)
            return self._made("refuted", f"the rule and the simulation disagree: nothing of it is seen ({seen})")
        if not twin.ok or self.recipe.shows(self.plan, twin, twin) is not None:
            broken = next((one for one, met in twin.expectations if not met), "its evidence")
            return self._made(
                "not proven", f"the remedied configuration shows it, too ({broken}): another cause hides it"
            )
        if not condition:
            unsure = self._other_seeds(twin)
            if unsure:
                return self._made("not proven", unsure)
            condition = self._at_best(twin)
        return self._made("proven", text, condition)

    def shown(self, share: float) -> str | None:
        """Evidence with this response of the peers; the twin keeps the ordinary one."""
        twin = simulate(self.twin)
        expected = self._expected(twin)
        if expected is not None:
            self.broken["expectations"] = list(expected)
        return self._seen(share, twin)

    def _expected(self, twin: Outcome) -> tuple[str, ...] | None:
        """Expectations that rest on what the twin measured; None: those of the plan.

        A loss may be claimed of messages that take longer than the run: marks of the queues that a pause filled slow
        their senders down, in a deep buffer for longer than the run lasts, and that is no fault of the remedy.
        """
        if self.recipe.expects is not None:
            return self.recipe.expects(self.plan, twin)
        slowed = twin.count("ecn.marked") and not twin.count("drops.total") and not twin.cycle
        if self.recipe.claim == "loss" and slowed and NO_LOSS[0] in self.plan.expectations and not twin.ok:
            return NO_LOSS
        return None

    def _shown(self, run: Outcome, twin: Outcome) -> str | None:
        """Evidence, if `fabric run` agrees that something is wrong."""
        text = self.recipe.shows(self.plan, run, twin)
        return None if text is None or run.ok else text

    def _other_seeds(self, twin: Outcome) -> str:
        """g5."""
        for number, seed in enumerate(SEEDS[1:], 1):
            raw = copy.deepcopy(self.broken)
            raw["run"]["seed"] = seed
            for entry in raw["workload"]:
                for message in entry.get("messages", ()):
                    message["start"] = _later(message["start"], number * _PHASE_NS)
            if self._shown(simulate(raw), twin) is None:
                return f"it depends on the phase: seed {seed} with a shift of {number * _PHASE_NS} ns does not show it"
        return ""

    # g6: the response of a peer ---------------------------------------------------------------------------------------

    def _at_best(self, twin: Outcome) -> str:
        """The condition under which the result holds; '' where it holds for every response."""
        if self.recipe.claim != "loss" or self._seen(0.0, twin) is not None:
            return ""
        low, high = 0.0, _HALF
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._seen(middle, twin) is not None else (middle, high)
        return f"only if a peer takes more than {high:.2f} of the time that 802.3 31B.3.7 allows it"

    def _at_worst(self, twin: Outcome) -> tuple[str | None, str]:
        """Evidence with the slowest response that is allowed, whose scenario is then written, and its condition.

        Without evidence the second text says why the response leaves it open; '' where no response shows it.
        """
        if self.recipe.claim != "loss" or self._seen(1.0, twin) is None:
            return None, ""
        slow = simulate(self._with(1.0, self.twin))
        if not slow.ok:
            return None, "seen only with peers that respond slowly, and then the remedied configuration shows it, too"
        low, high = _HALF, 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._seen(middle, twin) is not None else (middle, high)
        self.broken, self.twin = self._with(1.0, self.broken), self._with(1.0, self.twin)
        text = self._shown(simulate(self.broken), slow)
        return text, f"only if a peer takes more than {high:.2f} of the time that 802.3 31B.3.7 allows it"

    def _seen(self, share: float, twin: Outcome) -> str | None:
        return self._shown(simulate(self._with(share, self.broken)), twin)

    def _with(self, share: float, scenario: dict[str, Any]) -> dict[str, Any]:
        """A scenario whose peers take this share of the time that 802.3 allows."""
        raw = copy.deepcopy(scenario)
        for own in raw["switches"]["overrides"]:
            if "port" in own:
                device, _, port = own["port"].partition(":")
                own["response"] = _response(rate_mbps(self.plan.cut.network.devices[device].ports[port]), share)
        for own in raw["hosts"]["overrides"]:
            device, port = self.plan.cut.hosts[own["host"]]
            own["response"] = _response(rate_mbps(self.plan.cut.network.devices[device].ports[port]), share)
        return raw

    def _made(self, result: Any, text: str, condition: str = "") -> Proof:  # noqa: ANN401  one of RESULTS
        finding = self.case.finding
        title = f"{finding.check.id} {finding.device} {finding.object}: {finding.text}"
        origins = self.lowering.origins
        return Proof(
            finding.check.id,
            finding.device,
            finding.object,
            result,
            text,
            condition,
            self.recipe.claim,
            self.recipe.traffic,
            self.remedy,
            self.alike,
            scenario_text(self.broken, [title, f"As configured. {result}: {text}", *self.plan.notes], origins),
            scenario_text(self.twin, [title, f"Remedied: {self.remedy}"], {}),
            "",
            tuple(dict.fromkeys((*self.plan.notes, *_grouped(self.lowering.assumed)))),
            tuple(self.lowering.not_lowered),
        )


def _about_roce(case: Case, plan: Plan) -> None:
    """Raise NoProofError where the finding names a queue, group or priority that RoCE does not use."""
    words = case.finding.object.rpartition("|")
    if not words[2].isdigit() or words[0] not in case.facts.network.devices[case.finding.device].ports:
        return
    hops = [hop.device for hop in plan.cut.hops if hop.device == case.finding.device]
    used = {number for device in hops for number in traffic_class(plan, device)}
    usual = case.facts.usual_class(plan.dscp)
    if usual is not None:
        used |= set(usual)
    if hops and int(words[2]) not in used:
        raise NoProofError(f"RoCE (DSCP {plan.dscp}) is not in {words[2]} here: it is in {sorted(used)}", "")


def _response(mbps: int, share: float) -> str:
    return f"{round(share * quanta_bytes(mbps) * 8_000 / mbps)}ns"


def _later(start: str, shift_ns: int) -> str:
    """A time of a workload, in us or ms, later by some nanoseconds."""
    unit = 1_000_000 if start.endswith("ms") else 1_000
    return f"{round(float(start[:-2]) * unit) + shift_ns}ns"


def _grouped(assumed: Sequence[str]) -> Iterator[str]:
    """'leaf1 latency = 0ns' of many devices as one line."""
    groups: dict[str, list[str]] = {}
    for text in assumed:
        where, _, what = text.partition(" ")
        if "=" in what:
            groups.setdefault(what, []).append(where)
        else:
            yield text
    for what, places in groups.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield f"{what} ({places[0]}{more})"

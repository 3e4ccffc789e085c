"""Each check can fail: a mutant of the healthy configuration fails it, and no other that need not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.dataplane.engine.edits import PauseStorm
from fabric.qualify import case_runs, tester
from fabric.qualify.bench import Bench
from fabric.qualify.case_runs import CaseRun, runs_of
from fabric.qualify.cases import cases_of, chosen, plans
from fabric.validate.facts import Facts
from fabric.validate.judge import Request, network_of
from tests.qualify.plan_mutants import PLAN_MUTANTS
from tests.qualify.qualify_mutants import HEALTHY, MUTANTS, Mutant, mutated
from tests.qualify.seed_mutants import SEED_MUTANTS, WITHOUT

PLAN = "sonic-rocev2"
QUICK = {
    "TC2-q3_single-6", "L01-1", "L01-3", "L01-5", "L06-frames-9100-2", "L12-1", "L15-1", "Y01-1", "ECN-CURVE-fill-50-1",
    "ECN-LOAD-one-1",
}  # fmt: skip
"""All of TC1 are quick."""


def simulated(config: Path, case: str, ports: int | None, *, dcqcn: bool = False, plan: str = PLAN) -> list[CaseRun]:
    (wanted,) = chosen(plan, [case])
    if dcqcn:
        scenarios = tuple(it.model_copy(update={"dcqcn": "on"}) for it in wanted.scenarios)
        wanted = wanted.model_copy(update={"scenarios": scenarios})
    facts = Facts(network_of(Request([config]), HeadroomTables.load([])))
    (device,) = facts.network.devices.values()
    return list(runs_of(facts, device, wanted, ports))


def red(found: list[CaseRun]) -> set[str]:
    return {it.check.id for one in found for it in one.results if it.colour == "red"}


def defective(mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    """The switch does something else than its configuration says, or the tester something else than the plan."""
    bench_of, storms_of = case_runs.bench, tester.storms

    def bench(*args: object) -> Bench:
        made: Bench = bench_of(*args)  # type: ignore[arg-type]
        if mutant.lowered is not None:
            mutant.lowered(made.sections)
        return made

    def storms(made: Bench, *args: object) -> Iterator[PauseStorm]:
        for storm in storms_of(made, *args):  # type: ignore[arg-type]
            sent = storm if mutant.pauses is None else mutant.pauses(made, storm)
            if sent is not None:
                yield sent

    patch.setattr(case_runs, "bench", bench)
    patch.setattr(tester, "storms", storms)


def cases() -> list[object]:
    marks = {True: (), False: (pytest.mark.slow,)}
    quick = {it.name for it in MUTANTS if it.case == "TC1"} | QUICK
    return [pytest.param(it, id=it.name, marks=marks[it.name in quick]) for it in (*MUTANTS, *PLAN_MUTANTS)]


@pytest.mark.parametrize("mutant", cases())
def test_a_mutant_fails_its_check_and_no_other(mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defective(mutant, monkeypatch)
    found = simulated(mutated(mutant, tmp_path), mutant.case, mutant.ports, dcqcn=mutant.dcqcn, plan=mutant.plan)
    assert red(found) == mutant.fails
    assert not any(one.bench.findings for one in found)
    reds = [it for one in found for it in one.results if it.colour == "red"]
    assert all(it.text for it in reds), "a red check says why"


@pytest.mark.parametrize(
    ("case", "ports"),
    [
        ("TC1", 4),
        *(
            pytest.param(*it, marks=pytest.mark.slow)
            for it in (("TC2", 4), ("TC2/q3_single", 3), ("TC3", 4), ("TC4", 4))
        ),
    ],
)
def test_the_healthy_configuration_is_green(case: str, ports: int) -> None:
    for one in simulated(HEALTHY, case, ports):
        assert one.green, (one.scenario.name, one.findings, [it for it in one.results if it.colour == "red"])


@pytest.mark.slow
@pytest.mark.parametrize("plan", ["sonic-ecn-pause", "sonic-pfc-lossless", "sonic-pfc-lossy", "sonic-pfcwd"])
def test_the_healthy_configuration_is_green_in_the_plans_of_pfc_and_ecn(plan: str) -> None:
    for one in (it for case in cases_of(plan) for it in simulated(HEALTHY, case.case, None, plan=plan)):
        assert one.green, (one.scenario.name, one.findings, [it for it in one.results if it.colour == "red"])


def test_every_check_has_a_mutant_or_is_named_as_without_one() -> None:
    tested = {(it.case.partition("/")[0], it.check) for it in (*MUTANTS, *PLAN_MUTANTS)}
    tested |= {(it.case, it.checks[0]) for it in SEED_MUTANTS}
    without = {(case, check) for case, checks in WITHOUT.items() for check in checks}
    reported = {(case.case, it.id) for plan in plans() for case in cases_of(plan) for it in case.checks if not it.holds}
    every = {(case.case, it.id) for plan in plans() for case in cases_of(plan) for it in case.checks}
    assert not tested & without
    assert tested | without | reported == every


def test_a_check_that_fails_with_another_says_why() -> None:
    assert all(bool(it.with_) == bool(it.because) for it in (*MUTANTS, *PLAN_MUTANTS))

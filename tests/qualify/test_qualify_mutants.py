"""Each check can fail: a mutant of the healthy configuration fails it, and no other that need not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.qualify.case_runs import CaseRun, runs_of
from fabric.qualify.cases import cases_of, chosen, plans
from fabric.validate.facts import Facts
from fabric.validate.judge import Request, network_of
from tests.qualify.plan_mutants import NO_CONFIGURATION, PLAN_MUTANTS
from tests.qualify.qualify_mutants import HEALTHY, MUTANTS, Mutant, mutated
from tests.qualify.seed_mutants import SEED_MUTANTS, WITHOUT

PLAN = "sonic-rocev2"
QUICK = {"TC2-q3_single-6", "L01-1", "L01-3", "L06-frames-9100-2", "Y01-1", "ECN-LOAD-one-1"}
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


def cases() -> list[object]:
    marks = {True: (), False: (pytest.mark.slow,)}
    quick = {it.name for it in MUTANTS if it.case == "TC1"} | QUICK
    return [pytest.param(it, id=it.name, marks=marks[it.name in quick]) for it in (*MUTANTS, *PLAN_MUTANTS)]


@pytest.mark.parametrize("mutant", cases())
def test_a_mutant_fails_its_check_and_no_other(mutant: Mutant, tmp_path: Path) -> None:
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
    without = {(case, check) for case, checks in (NO_CONFIGURATION | WITHOUT).items() for check in checks}
    reported = {(case.case, it.id) for plan in plans() for case in cases_of(plan) for it in case.checks if not it.holds}
    every = {(case.case, it.id) for plan in plans() for case in cases_of(plan) for it in case.checks}
    assert not tested & without
    assert tested | without | reported == every


def test_a_check_that_fails_with_another_says_why() -> None:
    assert all(bool(it.with_) == bool(it.because) for it in (*MUTANTS, *PLAN_MUTANTS))

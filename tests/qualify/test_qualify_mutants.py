"""Each check of TC1 and TC2 can fail: a mutant of the healthy configuration fails it, and no other that need not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.qualify.cases import cases_of, chosen
from fabric.qualify.judge import Played, play
from fabric.validate.facts import Facts
from fabric.validate.judge import Request, network_of
from tests.qualify.qualify_mutants import HEALTHY, MUTANTS, Mutant, mutated

PLAN = "sonic-rocev2"
QUICK_TC2 = {"TC2-q3_single-6"}
"""All of TC1 are quick."""


def played(config: Path, case: str, ports: int, *, dcqcn: bool = False) -> list[Played]:
    (wanted,) = chosen(PLAN, [case])
    if dcqcn:
        scenarios = tuple(it.model_copy(update={"dcqcn": "on"}) for it in wanted.scenarios)
        wanted = wanted.model_copy(update={"scenarios": scenarios})
    facts = Facts(network_of(Request([config]), HeadroomTables.load([])))
    (device,) = facts.network.devices.values()
    return list(play(facts, device, wanted, ports))


def red(found: list[Played]) -> set[str]:
    return {it.check.id for one in found for it in one.results if it.colour == "red"}


def cases() -> list[object]:
    marks = {True: (), False: (pytest.mark.slow,)}
    quick = {it.name for it in MUTANTS if it.case == "TC1"} | QUICK_TC2
    return [pytest.param(it, id=it.name, marks=marks[it.name in quick]) for it in MUTANTS]


@pytest.mark.parametrize("mutant", cases())
def test_a_mutant_fails_its_check_and_no_other(mutant: Mutant, tmp_path: Path) -> None:
    found = played(mutated(mutant, tmp_path), mutant.case, mutant.ports, dcqcn=mutant.dcqcn)
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
    for one in played(HEALTHY, case, ports):
        assert one.green, (one.scenario.name, one.findings, [it for it in one.results if it.colour == "red"])


def test_every_check_of_tc1_and_tc2_has_a_mutant() -> None:
    tested = {(it.case.partition("/")[0], it.check) for it in MUTANTS}
    assert tested == {(case.case, it.id) for case in cases_of(PLAN)[:2] for it in case.checks}


def test_a_check_that_fails_with_another_says_why() -> None:
    assert all(bool(it.with_) == bool(it.because) for it in MUTANTS)

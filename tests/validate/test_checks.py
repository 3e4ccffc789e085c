"""What holds for every check, and for the clean fabric."""

from __future__ import annotations

from fabrics import Judge, small_fabric
from test_checks_buffers import CASES as BUFFERS
from test_checks_classes import CASES as CLASSES
from test_checks_hosts import CASES as HOST_SIDE
from test_checks_links import CASES as LINKS
from test_checks_routing import CASES as ROUTING

from fabric.validate.checks.base import Severity
from fabric.validate.checks.registry import CHECKS, FAMILIES

CASES = [*BUFFERS, *CLASSES, *HOST_SIDE, *LINKS, *ROUTING]
I = Severity.INFO  # noqa: E741  as in every table of checks


def test_the_small_fabric_is_clean(judge: Judge) -> None:
    assert [(it.check.id, it.text) for it in judge(small_fabric()) if it.severity > I] == []


def test_every_check_says_all_its_words_and_has_an_id_of_its_family() -> None:
    assert len(CHECKS) >= 92
    assert sum(len(checks) for _, _, checks in FAMILIES) == len(CHECKS)
    for letter, _, checks in FAMILIES:
        for check in checks:
            assert check.id.startswith(letter)
            assert all((check.title, check.condition, check.consequence, check.remedy, check.source))


def test_every_check_of_switches_is_shown_to_speak_by_some_case() -> None:
    elsewhere = {
        "R8",
        "R10",
        "R11",
        "R12",
        "R13",  # tests/validate/test_cut_files.py
        "D1",
        "L10",
        "L11",
        "H8",
        "W6",
        "W9",
        *("W12", "W13", "W14"),
        "E10",
        "T5",
        "N1",
        "N2",
        "N3",
        "N4",
        "N5",
        "N6",
        "N7",
        "V20",  # tests/fix/test_baseline_repairs.py
        "D9",
        "D10",
        "H10",
        "M14",
        "P6",
        "T7",
        *(f"I{number}" for number in range(1, 12)),  # tests/mistakes has a case in each language
        *(f"V{number}" for number in range(1, 20)),
        *(f"P{number}" for number in range(7, 29)),
        *(f"N{number}" for number in range(8, 12)),  # tests/mistakes/host_cases.py
        *("A1", "A2", "A3", "B16", "B17", "M16", "O1", "O2", "O3", "O4"),
        "L13",
        "L14",
        "T8",
        "D12",
        "D13",
    }
    assert {case[0] for case in CASES} | elsewhere == set(CHECKS)

"""Findings on a switch are in the words of its own language: no table, field or command of another one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.output.text import remedy
from fabric.validate.runner import Verdict, validate
from tests.mistakes.mistake import Mistake
from tests.mistakes.score import CASES

SONIC: Final = re.compile(
    r"pfcwd|sonic-db|ecnconfig|CONFIG_DB|PFC_WD|WRED_PROFILE|BUFFER_|SWITCH_HASH|VXLAN_|ecn_none|ecn_all|ecmp_hash|"
    r"(?:green|yellow|red)_\w+|(?:detection|restoration)_time|admin_status|pfc_enable|dynamic_th|config interface"
)
CHECKS: Final = ("E1", "E3", "E4", "E6", "L1", "L12", "M1", "M14", "V5", "W2", "W3", "W6", "D6")
SAMPLE: Final = [
    next(it for it in CASES if (it.language, it.checks.split()[0]) == key)
    for key in sorted({(it.language, it.checks.split()[0]) for it in CASES if it.language != "sonic"})
    if key[1] in CHECKS
]


@cache
def judged(case: Mistake) -> Verdict:
    with TemporaryDirectory() as work:
        case.write(Path(work))
        return validate(load_network([Path(work)]))


def words(verdict: Verdict) -> Iterator[str]:
    """What the causes say, without the words of their checks' consequences."""
    for cause in verdict.causes:
        if cause.severity > Severity.INFO:
            yield from remedy(cause)
            yield cause.first.text
            yield from (item.label for item in cause.first.evidence)
            yield from (item.value for item in cause.first.evidence)


@pytest.mark.parametrize("case", SAMPLE, ids=lambda it: f"{it.language}-{it.checks.split()[0]}")
def test_a_finding_names_no_word_of_sonic_on_a_switch_of_another_language(case: Mistake) -> None:
    assert [text for text in words(judged(case)) if SONIC.search(text)] == []


@pytest.mark.parametrize(
    ("language", "command"),
    [
        ("nvue", "qos pfc-watchdog state enable"),
        ("eos", "priority-flow-control pause watchdog"),
        ("nxos", "priority-flow-control watch-dog-interval on"),
        ("sonic", "pfcwd start"),
    ],
)
def test_a_watchdog_that_is_missing_is_started_by_the_language_s_own_command(language: str, command: str) -> None:
    case = next(it for it in CASES if it.language == language and "W2" in it.checks.split())
    commands = {fix.command for cause in judged(case).causes if cause.check.id == "W2" for fix in cause.fixes}
    assert commands
    assert all(command in it for it in commands)

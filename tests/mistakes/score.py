"""What `fabric validate` says of every mistake: found or not, and whether its cause comes first."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from fabric.configs.load import load_network
from fabric.errors import InputErrors
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.runner import validate
from tests.mistakes import (
    changes_eos,
    changes_nvue,
    changes_nxos,
    changes_second,
    changes_sonic,
    changes_third,
    eos_cases,
    frr_cases,
    further_text,
    further_trees,
    habits,
    interior_cases,
    kinds_more,
    literals_second,
    literals_text,
    literals_trees,
    loopback_cases,
    nvue_cases,
    nxos_cases,
    omissions_eos,
    omissions_nvue,
    omissions_nxos,
    omissions_sonic,
    operators_eos,
    operators_nvue,
    operators_nxos,
    operators_sonic,
    operators_text,
    reach_cases,
    slips_ends,
    slips_ends_nvue,
    slips_more,
    slips_nvue,
    slips_sonic,
    sonic_cases,
    thin_areas,
    upkeep_eos,
    upkeep_nxos,
    upkeep_text,
    ways_out,
)
from tests.mistakes.mistake import Mistake, good, write

CASES: tuple[Mistake, ...] = (
    *sonic_cases.CASES,
    *eos_cases.CASES,
    *nxos_cases.CASES,
    *nvue_cases.CASES,
    *reach_cases.CASES,
    *omissions_sonic.CASES,
    *omissions_eos.CASES,
    *omissions_nxos.CASES,
    *omissions_nvue.CASES,
    *loopback_cases.CASES,
    *further_text.CASES,
    *further_trees.CASES,
    *operators_sonic.CASES,
    *operators_eos.CASES,
    *operators_nxos.CASES,
    *operators_nvue.CASES,
    *operators_text.CASES,
    *slips_sonic.CASES,
    *slips_nvue.CASES,
    *slips_more.CASES,
    *upkeep_eos.CASES,
    *upkeep_nxos.CASES,
    *upkeep_text.CASES,
    *slips_ends.CASES,
    *slips_ends_nvue.CASES,
    *changes_sonic.CASES,
    *changes_nvue.CASES,
    *changes_eos.CASES,
    *changes_nxos.CASES,
    *changes_second.CASES,
    *changes_third.CASES,
    *habits.CASES,
    *interior_cases.CASES,
    *literals_trees.CASES,
    *literals_text.CASES,
    *literals_second.CASES,
    *thin_areas.CASES,
    *ways_out.CASES,
    *kinds_more.CASES,
    *frr_cases.CASES,
)


@dataclass(frozen=True)
class Score:
    """One mistake and the findings about it."""

    mistake: Mistake
    found: bool
    """A finding of a right check at a right switch."""
    first: bool
    """Its cause comes first of those that the working fabric does not have."""
    message: str
    """Checks and switches of the first causes, for the table."""
    causes: int = 0
    """Causes that the working fabric does not have."""
    commands: tuple[tuple[str, str], ...] = ()
    """Check and command of every finding; '' where it has none."""


def one_of_each_check() -> tuple[Mistake, ...]:
    """The first mistake that each check names first: a sample that takes seconds."""
    found: dict[str, Mistake] = {}
    for case in CASES:
        found.setdefault(case.checks.split()[0], case)
    return tuple(found.values())


@cache
def every_score() -> tuple[Score, ...]:
    """The scores of the whole corpus, computed once in a process: several test files ask for them."""
    with TemporaryDirectory(prefix="fabric-mistakes-") as work:
        return tuple(scores(Path(work)))


def judged(folder: Path) -> tuple[Cause, ...]:
    """Causes in the order of the report; warnings and errors only."""
    return tuple(it for it in validate(load_network([folder])).causes if it.severity >= Severity.WARN)


def healthy(language: str, work: Path, *, loopbacks: bool = False, interior: str = "") -> tuple[Cause, ...]:
    """Findings in the working fabric, or in its variant."""
    folder = _emptied(work / f"good-{language}")
    write(language, good(language, loopbacks=loopbacks, interior=interior), folder)
    return judged(folder)


@cache
def _known(language: str, *, loopbacks: bool, interior: str) -> frozenset[tuple[str, str, str]]:
    """What is said of the working fabric; the same for every mistake."""
    with TemporaryDirectory(prefix="fabric-healthy-") as work:
        causes = healthy(language, Path(work), loopbacks=loopbacks, interior=interior)
        return frozenset(it.key for cause in causes for it in _all(cause))


def scores(work: Path, cases: Sequence[Mistake] = CASES) -> Iterator[Score]:
    """Every mistake tried."""
    for case in cases:
        folder = _emptied(work / "case")
        case.write(folder)
        try:
            causes = judged(folder)
        except InputErrors as error:
            refusal = "; ".join(f"{it.path}: {it.text}" for it in error.problems)
            refused = "refused" in case.checks or "R5" in case.checks.split()
            yield Score(
                case, refused and case.where in refusal, refused and case.where in refusal, f"refused: {refusal}"
            )
            continue
        commands = tuple(
            (it.check.id, it.fix.command if it.fix else "")
            for cause in causes
            for it in _all(cause)
            if it.severity >= Severity.WARN
        )
        before = _known(case.language, loopbacks=case.loopbacks, interior=case.interior)
        new = [cause for cause in causes if any(it.key not in before for it in _all(cause))]
        found = any(_right(case, it) for cause in new for it in _all(cause))
        first = bool(new) and any(_right(case, it) for it in new[0].findings)
        yield Score(case, found, first, ", ".join(map(_said, new[:_SAID])) or "nothing", len(new), commands)


_SAID = 6
"""Causes in the table."""


def _all(cause: Cause) -> Iterator[Finding]:
    """The mistake and what follows from it."""
    yield from cause.findings
    yield from cause.consequences


def _said(cause: Cause) -> str:
    """'B2 leaf1 (+ E2, L9)'."""
    follows = f" (+ {', '.join(cause.counts)})" if cause.consequences else ""
    return f"{cause.check.id} {cause.first.device}{follows}"


def _right(case: Mistake, finding: Finding) -> bool:
    text = " ".join((finding.object, finding.text, *(str(item) for item in finding.evidence)))
    return finding.check.id in case.checks.split() and finding.device in case.devices.split() and case.where in text


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder

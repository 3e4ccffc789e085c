"""Each mistake of the corpus is found, at its place, and its cause comes first; a working fabric has no error."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.validate.checks.base import Severity
from tests.mistakes.mistake import CORPUS, Mistake
from tests.mistakes.page import PAGE, page
from tests.mistakes.score import CASES, Score, every_score, healthy, one_of_each_check, scores

KNOWN_MISSES: dict[str, str] = {}
"""Mistakes that are not found yet, each with the reason; one that is found must be taken off."""
KNOWN_SECOND: dict[str, str] = {}
"""Mistakes that are found, but not first."""


@pytest.fixture(scope="module")
def found() -> dict[str, Score]:
    """The score of every mistake."""
    return {it.mistake.id: it for it in every_score()}


@pytest.mark.parametrize("loopbacks", [False, True])
@pytest.mark.parametrize("language", CORPUS)
def test_a_working_fabric_has_no_error(language: str, loopbacks: bool, tmp_path: Path) -> None:
    causes = healthy(language, tmp_path, loopbacks=loopbacks)
    assert not [it for it in causes if it.severity is Severity.ERROR]
    assert {it.check.id for it in causes} <= {"N5"}


@pytest.mark.parametrize(
    ("language", "interior"),
    [("eos", "ospf"), ("eos", "isis"), ("nxos", "ospf"), ("nxos", "isis"), ("nvue", "ospf")],  # Cumulus has no IS-IS
)
def test_a_working_fabric_over_an_interior_protocol_has_no_finding(
    language: str, interior: str, tmp_path: Path
) -> None:
    assert not healthy(language, tmp_path, loopbacks=True, interior=interior)


def test_of_each_check_a_mistake_is_found_and_its_cause_comes_first(tmp_path: Path) -> None:
    sample = [case for case in one_of_each_check() if case.id not in {*KNOWN_MISSES, *KNOWN_SECOND}]
    assert len(sample) > 80
    wrong = {it.mistake.id: it.message for it in scores(tmp_path, sample) if not it.first}
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_mistake_is_found_and_its_cause_comes_first(case: Mistake, found: dict[str, Score]) -> None:
    score = found[case.id]
    assert score.found == (case.id not in KNOWN_MISSES), score.message
    if score.found:
        assert score.first == (case.id not in KNOWN_SECOND), score.message


ALONE = {
    "a loopback is used twice",
    "two leaves have one AS",
    "the ends are in different subnets",
    "the session is shut",
    "a port is shut",
    "a VNI has two VLANs",
    "MTU differs",
}
"""Mistakes with findings of several checks, which are one cause."""


@pytest.mark.slow
@pytest.mark.parametrize("case", [it for it in CASES if it.title in ALONE], ids=lambda case: case.id)
def test_what_follows_from_a_mistake_is_no_cause_of_its_own(case: Mistake, found: dict[str, Score]) -> None:
    score = found[case.id]
    assert score.causes == 1, score.message


def test_the_corpus_is_large_and_in_every_language() -> None:
    assert len(CASES) >= 150
    assert {case.language for case in CASES} == set(CORPUS)
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.slow
def test_the_page_is_what_the_corpus_gives(found: dict[str, Score], tmp_path: Path) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(tmp_path, list(found.values())), "run: python -m tests.mistakes"

"""A switch that is missing because a name is mistyped: the line with the name is the cause, in every language."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabrics import Judge, small_fabric

from fabric.validate.causes import Cause, find_causes
from fabric.validate.checks.base import Finding, Severity
from tests.mistakes.mistake import good, write
from tests.mistakes.score import judged


def _serious(findings: list[Finding]) -> list[Cause]:
    return [it for it in find_causes(findings) if it.severity >= Severity.WARN]


@pytest.mark.parametrize(
    ("language", "file", "old", "new"),
    [
        ("eos", "leaf1.cfg", "hostname leaf1", "hostname laef1"),
        ("nxos", "leaf1.cfg", "hostname leaf1", "hostname leaff1"),
        ("nvue", "leaf1.yaml", "hostname: leaf1", "hostname: lea1"),
        ("sonic", "leaf1.json", '"hostname": "leaf1"', '"hostname": "laef1"'),
    ],
)
def test_the_line_of_a_mistyped_host_name_is_the_first_cause(
    language: str, file: str, old: str, new: str, tmp_path: Path
) -> None:
    write(language, good(language), tmp_path)
    path = tmp_path / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    first = judged(tmp_path)[0]
    assert first.check.id == "R11"
    assert "(did you mean 'leaf1'?)" in first.first.text
    place = first.first.place
    assert place is not None
    assert Path(place.file) == path
    assert place.line == 1 + text[: text.index(old)].count("\n")
    assert [it.value for it in first.fixes] == ["leaf1"]


def test_a_neighbour_that_does_not_exist_is_one_cause_with_the_name_that_was_meant(judge: Judge) -> None:
    fabric = small_fabric()
    fabric["leaf1"]["DEVICE_NEIGHBOR"]["Ethernet24"]["name"] = "spine3"
    [cause] = _serious(judge(fabric))
    assert cause.check.id == "R11"
    assert "(did you mean 'spine2'?)" in cause.first.text
    assert cause.first.evidence[0].label == "DEVICE_NEIGHBOR|Ethernet24"
    assert set(cause.counts) == {"L7"}


def test_a_switch_of_which_no_file_has_the_name_is_only_missing(judge: Judge) -> None:
    fabric = small_fabric()
    del fabric["spine2"]
    [cause] = [it for it in _serious(judge(fabric)) if it.check.id == "R11"]
    assert "did you mean" not in cause.first.text

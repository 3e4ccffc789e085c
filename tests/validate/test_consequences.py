"""What follows from a mistake is listed with it, in a fabric of ten switches."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.configs.make import fabric_of
from fabric.configs.load import load_network
from fabric.validate.runner import validate
from tests.mistakes.mistake import write
from tests.mistakes.score import CASES


@pytest.mark.parametrize(
    ("language", "title", "cause", "following"),
    [
        ("sonic", "a speed in Gb/s", "L2", {"E5", "W5"}),
        ("nxos", "speeds differ", "L2", {"E5"}),
        ("nxos", "a router ID is used twice", "I3", {"V10"}),
    ],
)
def test_what_follows_from_a_mistake_is_no_cause_beside_it(
    language: str, title: str, cause: str, following: set[str], tmp_path: Path
) -> None:
    files = fabric_of(language, 10)
    case = next(it for it in CASES if (it.language, it.title) == (language, title))
    write(language, {**files, case.file: case.edit(files[case.file])}, tmp_path)
    causes = validate(load_network([tmp_path])).causes
    assert following <= {it.check.id for its in causes if its.check.id == cause for it in its.consequences}
    assert not following & {it.check.id for it in causes if any(one.device in case.devices for one in it.findings)}

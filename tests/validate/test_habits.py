"""Mistakes of tests/mistakes/habits.py, and what is like them and right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes.habits import CASES
from tests.mistakes.mistake import Edit, Mistake, put, replaced
from tests.mistakes.score import scores

_WAITS = "   neighbor 10.1.0.1 remote-as 65000\n"


def test_each_of_them_is_found_and_its_cause_comes_first(tmp_path: Path) -> None:
    wrong = {it.mistake.id: it.message for it in scores(tmp_path, CASES) if not it.first}
    assert not wrong


@pytest.mark.parametrize(
    ("language", "file", "edit"),
    [
        ("eos", "leaf1.cfg", replaced(_WAITS, f"{_WAITS}   neighbor 10.1.0.1 passive\n")),
        ("eos", "leaf1.cfg", replaced("   router-id 10.0.0.1\n", "   router-id 10.0.0.1\n   no shutdown\n")),
        # 26 / 8 is 3, what the line said
        ("eos", "leaf1.cfg", replaced("qos map dscp 48", "no qos map dscp 26\nqos map dscp 48")),
        ("nvue", "leaf1.yaml", put("system", "forwarding", "ecmp-hash", value={"source-port": "on"})),
    ],
)
def test_what_is_like_them_and_right_has_no_finding(language: str, file: str, edit: Edit, tmp_path: Path) -> None:
    (score,) = scores(tmp_path, [Mistake(language, "right", "", "", "", file, edit)])
    assert not score.causes, score.message

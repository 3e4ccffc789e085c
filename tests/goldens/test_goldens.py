"""Results of short runs are those that were committed, compiled or not. To renew them: python -m tests.goldens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.goldens.__main__ import FILE, compared
from tests.goldens.cases import CASES
from tests.goldens.digests import golden

LONGEST_HOPS: Final = 10_000
"""Longer runs take tens of seconds each without the compiler. `NUMBA_DISABLE_JIT=1 python -m tests.goldens --check` has
all of them."""
ALSO: Final = {"hpcc-ns3-insertion", "bgp-link-down"}
KEPT: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_run_has_the_committed_result(name: str) -> None:
    assert golden(name) == KEPT[name]


def test_every_committed_result_has_its_case_and_its_mechanism_acts() -> None:
    assert list(KEPT) == list(CASES)
    numbers = {name: {key: value for key, value in row.items() if key != "digest"} for name, row in KEPT.items()}
    assert all(row["messages_done"] for row in numbers.values())
    same = {
        name: [other for other in KEPT if other != name and KEPT[other]["digest"] == KEPT[name]["digest"]]
        for name in KEPT
    }
    assert not {name: others for name, others in same.items() if others}, "these cases do not differ in anything"


def test_a_result_that_changed_since_a_commit_is_named_and_a_new_case_is_no_change() -> None:
    then = {"pfc": {"digest": "1"}, "gone": {"digest": "2"}, "same": {"digest": "3"}}
    changed, text = compared(then, {"pfc": {"digest": "9"}, "same": {"digest": "3"}, "new": {"digest": "4"}})
    assert changed == ["pfc", "gone"]
    assert text == "1 of 3 results are as they were, 1 cases are new: pfc, gone"


@pytest.mark.slow
def test_uncompiled_kernels_give_the_same_results(repo_root: Path) -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    names = [name for name, row in KEPT.items() if row["packet_hops"] <= LONGEST_HOPS or name in ALSO]
    done = subprocess.run(
        [sys.executable, "-m", "tests.goldens", "--json", *names],
        cwd=repo_root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: KEPT[name] for name in names}

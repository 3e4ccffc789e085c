"""Paths of flows are the same with compiled kernels and with their plain Python text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.forked import UNCOMPILED, printed

PROGRAM = """
import json, sys
from pathlib import Path
from fabric.forwarding.walk import walk
from fabric.show.subject import load_subject
at = load_subject(Path(sys.argv[1])).at(0)
steps = walk(at.tables, at.queue_pairs())
names = ("egress", "group", "hashed", "index", "vtep", "outer", "end", "inner_hash", "entropy")
json.dump({name: getattr(steps, name).tolist() for name in names}, sys.stdout)
"""


def walked(scenario: Path, *, compiled: bool) -> dict[str, list[object]]:
    answer = printed(PROGRAM, str(scenario), env=None if compiled else UNCOMPILED)
    found: dict[str, list[object]] = json.loads(answer)
    return found


@pytest.mark.parametrize("name", ["polarised", "tenant-routing"])
def test_paths_are_the_same_compiled_and_uncompiled(name: str, repo_root: Path) -> None:
    scenario = repo_root / "scenarios" / f"{name}.yml"
    steps = walked(scenario, compiled=True)
    assert steps["egress"]
    assert steps == walked(scenario, compiled=False)

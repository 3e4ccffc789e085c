"""EOS without `ip routing`: the checks and the computed reachability say the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabric.validate.checks.base import Severity
from fabric.validate.fix.told import with_remedies
from fabric.validate.judge import Request, judge, reachability
from fabric.validate.output.text import remedy

ROOT = Path(__file__).resolve().parents[2]
WORKING = ROOT / "docs/howto/tenants-example/working"


def _without(line: str, folder: Path) -> Path:
    shutil.copytree(WORKING, folder, dirs_exist_ok=True)
    file = folder / "leaf1.cfg"
    text = file.read_text(encoding="utf-8")
    assert f"\n{line}\n" in text
    file.write_text(text.replace(f"\n{line}\n", "\n"), encoding="utf-8")
    return folder


def test_the_example_that_works_has_no_finding() -> None:
    assert not [it for it in judge(Request([WORKING])).findings if it.severity >= Severity.WARN]


@pytest.mark.parametrize("line", ["ip routing", "ip routing vrf RED"])
def test_a_switch_that_does_not_route_reaches_nobody_and_is_one_cause(line: str, tmp_path: Path) -> None:
    request = Request([_without(line, tmp_path)], baseline=WORKING)
    found = with_remedies(request, judge(request))
    [cause] = [it for it in found.causes if it.severity >= Severity.WARN]
    assert cause.check.id == "R9"
    assert cause.counts == {"V11": len(cause.consequences)}
    assert f"$ {line}" in remedy(cause)
    assert found.changes == (f"leaf1: {line}: present → absent",)


def test_reach_names_the_missing_line(tmp_path: Path) -> None:
    up = [it.down for it in reachability(Request([_without("ip routing", tmp_path)])).sessions]
    assert [str(it).partition(" (")[0] for it in up if it is not None] == [
        "leaf1 does not route: 'ip routing' is missing, and BGP installs no route"
    ]

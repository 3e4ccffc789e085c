"""A hosts file that was changed: the change is listed, and the host is to be changed back, not the switches."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabric.validate.checks.base import Severity
from fabric.validate.fix.told import with_remedies
from fabric.validate.judge import Request, judge

BEFORE = Path(__file__).resolve().parents[2] / "docs/howto/validate-example/before"


@pytest.mark.parametrize(
    ("setting", "old", "new", "check"),
    [
        ("roce_dscp", "26", "24", "M1"),
        ("cnp_dscp", "48", "46", "N3"),
        ("cnp_dscp", "48", "26", "N3"),
        ("pfc_enable", "3", "4", "L1"),
        ("mtu", "9000", "9900", "L4"),
    ],
)
def test_a_changed_setting_of_all_hosts_is_listed_and_is_the_first_cause(
    setting: str, old: str, new: str, check: str, tmp_path: Path
) -> None:
    shutil.copytree(BEFORE, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "hosts.yml"
    text = file.read_text(encoding="utf-8")
    assert f"{setting}: {old}" in text
    file.write_text(text.replace(f"{setting}: {old}", f"{setting}: {new}", 1), encoding="utf-8")
    request = Request([tmp_path], baseline=BEFORE)
    verdict = with_remedies(request, judge(request))
    assert verdict.changes == (f"hosts: {setting}: {old} → {new}",)
    first = next(it for it in verdict.causes if it.severity >= Severity.WARN)
    assert first.check.id == check
    assert [(it.device, it.value) for it in first.fixes] == [("default", old)]
    assert not {it.device for cause in verdict.causes for it in cause.fixes} & {"leaf1", "leaf2", "spine1", "spine2"}


def test_equal_hosts_are_no_change() -> None:
    assert not judge(Request([BEFORE], baseline=BEFORE)).changes

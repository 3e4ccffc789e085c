"""Outputs of hosts' tools beside the switches: a working pair has no finding; of a mistake, the cause comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.causes import Cause
from fabric.validate.runner import validate
from tests.mistakes.host_cases import CASES, HostMistake, write
from tests.mistakes.mistake import LANGUAGES


def causes_of(folder: Path) -> tuple[Cause, ...]:
    """Causes of the fabric in a folder, without notes."""
    return tuple(it for it in validate(load_network([folder])).causes if it.severity.word != "info")


@pytest.mark.parametrize("language", LANGUAGES)
def test_healthy_hosts_beside_healthy_switches_give_no_finding(language: str, tmp_path: Path) -> None:
    write(language, tmp_path)
    network = load_network([tmp_path])
    assert [it.text for it in validate(network).findings if it.check.id[0] in "NR"] == []
    assert not [it.what for it in network.unread]
    assert set(network.hosts) == {"host1", "host2", "host3", "host4"}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id, marks=() if case.shown else pytest.mark.slow) for case in CASES]
)
def test_a_mistake_between_host_and_switch_is_found_and_its_cause_comes_first(
    case: HostMistake, tmp_path: Path
) -> None:
    case.write(tmp_path)
    found = causes_of(tmp_path)
    assert found, "nothing was found"
    first = found[0]
    words = " ".join((first.first.device, first.first.text, *map(str, first.first.evidence)))
    assert first.check.id in case.check.split(), words
    assert case.where in words
    assert case.says in words
    assert any(case.command in fix.command for fix in first.fixes) or not case.command, first.fixes
    assert [it.first.text for it in found[1:]] == [], "the mistake has one cause"

"""The work of `fabric validate` grows with the fabric, not with its square: lines of Python, which no load changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

from bench.configs.plan import Shape, switches
from fabric.configs.load import load_network
from fabric.configs.network import Network
from fabric.validate.checks.registry import CHECKS
from fabric.validate.facts import Facts
from fabric.validate.output.data import as_sarif
from fabric.validate.runner import validate
from tests.mistakes.mistake import LANGUAGES, write

if TYPE_CHECKING:
    from _typeshed import TraceFunction

_T = TypeVar("_T")
_PODS: Final = 5
_LIMIT: Final = 2.15
"""Of twice the fabric over the fabric. What compares each switch with each comes to 2.5 to 4 here."""
_SPARE: Final = 200
"""Lines."""
_BY_POD: Final = frozenset(("D1",))
"""Computes a tree of paths for each pod over all switches."""
_SLOW: Final = [pytest.param(it, marks=pytest.mark.slow) for it in sorted(LANGUAGES) if it != "sonic"]


def _lines(work: Callable[[], _T]) -> tuple[int, _T]:
    """How many lines a function executes; each turn of a comprehension is one."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> TraceFunction:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = work()
    finally:
        sys.settrace(before)
    return count, found


def _fabric(language: str, pods: int, folder: Path) -> Path:
    """So many pods of eight switches."""
    folder.mkdir()
    write(language, LANGUAGES[language].good(switches(Shape(pods, 6, 2, 1))), folder)
    return folder


def test_default_routes_of_all_switches_take_work_in_proportion(tmp_path: Path) -> None:
    work = []
    for pods in (2, 4):
        folder = _fabric("eos", pods, tmp_path / str(pods))
        for file in folder.glob("*.cfg"):
            text = file.read_text(encoding="utf-8")
            text = text.replace("   address-family ipv4\n", "   address-family ipv4\n      network 0.0.0.0/0\n", 1)
            file.write_text(text.replace("router bgp", "ip route 0.0.0.0/0 Null0\n!\nrouter bgp", 1), encoding="utf-8")
        facts = Facts(load_network([folder]))
        lines, found = _lines(lambda facts=facts: list(CHECKS["P27"].run(facts)))  # type: ignore[misc]
        assert len(found) == len(facts.devices)
        work.append(lines)
    assert work[1] <= _LIMIT * work[0] + _SPARE


def _work(network: Network) -> dict[str, int]:
    """Check, or what is done with the findings, to its lines."""
    found = {}
    facts = Facts(network)
    for check in CHECKS.values():
        found[check.id], _ = _lines(lambda check=check: list(check.run(facts)))  # type: ignore[misc]
    verdict = validate(network)
    found["causes"], _ = _lines(lambda: verdict.causes)
    found["SARIF"], _ = _lines(lambda: as_sarif(verdict))
    return found


@pytest.mark.parametrize("language", ["sonic", *_SLOW])
def test_no_check_compares_every_switch_with_every_other(language: str, tmp_path: Path) -> None:
    folders = [_fabric(language, pods, tmp_path / str(pods)) for pods in (_PODS, 2 * _PODS)]
    one, two = (_work(load_network([folder])) for folder in folders)
    grown = {name: f"{one[name]} to {two[name]} lines" for name in one if two[name] > _LIMIT * one[name] + _SPARE}
    assert grown.keys() <= _BY_POD, grown


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_twice_the_files_are_read_with_twice_the_work(language: str, tmp_path: Path) -> None:
    folders = [_fabric(language, pods, tmp_path / str(pods)) for pods in (_PODS, 2 * _PODS)]
    one, two = (_lines(lambda folder=folder: load_network([folder]))[0] for folder in folders)  # type: ignore[misc]
    assert two <= _LIMIT * one

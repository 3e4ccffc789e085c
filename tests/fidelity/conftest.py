"""Shared by fidelity tests: the folder of recorded runs, the oracle, and random cases that both can run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.recordings import NS3

# importmode=importlib puts no test folder on the path; cases.py is shared by the tests of this folder.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def ns3_dir() -> Path:
    """Recorded runs of the public HPCC simulator."""
    return NS3


@pytest.fixture(scope="session")
def oracle_source(ns3_dir: Path) -> str:
    """The simulator's rules as a plain Python program."""
    return (ns3_dir / "oracle.py").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def oracle(oracle_source: str) -> ModuleType:
    """The rules as they were recorded."""
    return _module("ns3_oracle", oracle_source)


@pytest.fixture(scope="session")
def wide_oracle(oracle_source: str) -> ModuleType:
    """The rules and two more that no recorded run used, as the simulator's source has them: windows
    (rdma-queue-pair.cc, IsWinBound) and thresholds of ports faster than the NIC (third.cc, pfc_a_shift).
    """
    source = oracle_source
    for old, new in (
        ("if not port.paused and qp.nxt < qp.size:", "if not port.paused and qp.nxt < qp.size and not bound(qp):"),
        ("def threshold(self) -> int:", "def threshold(self, port) -> int:"),
        ("(self.pool - self.shared) >> 3", "(self.pool - self.shared) >> shift(port.rate)"),
        ("self.threshold()", "self.threshold(port)"),
    ):
        assert old in source, old
        source = source.replace(old, new)
    return _module("ns3_wide_oracle", source + _MORE_RULES)


_MORE_RULES = """

WINDOW, VARIABLE, NIC = 0, False, 100 * 10**9


def bound(qp) -> bool:
    window = WINDOW * qp.rate // qp.line if VARIABLE else WINDOW
    return WINDOW > 0 and qp.nxt - qp.una >= max(window, 1)


def shift(rate) -> int:
    found = 3
    while rate > NIC and found > 0:
        found, rate = found - 1, rate // 2
    return found
"""


def _module(name: str, source: str) -> ModuleType:
    module = ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)  # noqa: S102  the reference, read above
    return module

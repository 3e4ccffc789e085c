"""Limits of a laboratory that only a fault reaches: a machine that runs the tests may be slow."""

from __future__ import annotations

import pytest

from fabric.lab import frr, laboratory
from tests.waiting import LIMIT_S


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Daemons, ports and BFD get much longer than they take."""
    for module, name in ((frr, "_START_S"), (laboratory, "_PORT_S"), (laboratory, "_BFD_S")):
        monkeypatch.setattr(module, name, LIMIT_S)

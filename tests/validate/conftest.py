"""Judges fabrics written to a folder; makes fabrics.py importable by the tests beside it (tests are not packages)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fabrics import HOSTS, Judge, Tables

from fabric.configs.load import load_network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.validate.checks.base import Finding
from fabric.validate.runner import validate


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Write a fabric and its hosts, and return the findings."""

    def run(
        fabric: dict[str, Tables],
        hosts: dict[str, Any] | None = None,
        links: Any = None,  # noqa: ANN401
        only: set[str] | None = None,
    ) -> list[Finding]:
        for name, tables in fabric.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(tables, indent=1), encoding="utf-8")
        (tmp_path / "hosts.json").write_text(json.dumps(HOSTS if hosts is None else hosts), encoding="utf-8")
        if links is not None:
            (tmp_path / "links.json").write_text(json.dumps(links), encoding="utf-8")
        return list(validate(load_network([tmp_path], tables=HeadroomTables()), only=only).findings)

    return run

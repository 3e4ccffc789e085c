"""`fabric explain message` in a run whose messages depend on each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.cli.main import main

_RING = """\
name: ring
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
workload: [{kind: collective, operation: all-reduce, algorithm: ring, size: 64KB}]
run: {duration: 5ms}
"""


def test_the_messages_of_a_collective_are_said_to_be_of_its_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ring.yml").write_text(_RING, encoding="utf-8")
    assert main(["run", str(tmp_path / "ring.yml"), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["explain", "message", str(tmp_path / "run")]) == 2
    text = capsys.readouterr().err
    assert "are those of jobs and collectives" in text
    assert f"fabric explain step {tmp_path / 'run'}" in text

"""Run directories that the families damage: one of a finished run, one of a run that was killed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Final

from tests.reliability.command import call, start

SCENARIO: Final = """\
name: tried
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ['host*'], size: SIZE}
  - {kind: permutation, size: SIZE}
faults:
  - {kind: link-down, link: leaf1--spine1, at: 20us, until: 50us}
telemetry: {interval: 5us}
run: {duration: 600us, seed: SEED}
"""


def scenario(work: Path, size: str = "1MB", seed: int = 3) -> Path:
    """The scenario file."""
    path = work / f"tried-{size}-{seed}.yml"
    path.write_text(SCENARIO.replace("SIZE", size).replace("SEED", str(seed)), encoding="utf-8")
    return path


def finished(work: Path, name: str = "whole", size: str = "1MB", seed: int = 3) -> Path:
    """A finished run."""
    out = work / name
    answer = call("run", scenario(work, size, seed), "--out", out, "--quiet")
    assert answer.code == 0, answer
    return out


def killed(work: Path, name: str = "killed", size: str = "1MB", seed: int = 3) -> Path:
    """A run that was killed when its last checkpoint had three parts of time series."""
    out = work / name
    process = start(
        "run",
        scenario(work, size, seed),
        "--out",
        out,
        "--quiet",
        "--checkpoint-every",
        "0.01",
        env={"NUMBA_DISABLE_JIT": "1"},
    )
    index = out / "checkpoint" / "checkpoint.json"
    while process.poll() is None and not (index.is_file() and _parts(index) >= 3):
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert index.is_file(), "the run was too short to be killed"
    return out


def manifest(folder: Path) -> dict[str, Any]:
    """The description of a run."""
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found


def _parts(index: Path) -> int:
    found = json.loads(index.read_text(encoding="utf-8"))["parts"]["series"]
    return found if isinstance(found, int) else len(found)

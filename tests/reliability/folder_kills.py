"""Processes that are killed at random moments and resumed end with the digest and the files of one that was not."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from fabric.runs import lock
from tests.reliability.command import RESULTS, call, start
from tests.reliability.report import Row

KILLS: Final = 20
SCENARIO: Final = """\
name: killed
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 8, host_rate: 100G, fabric_rate: 400G}
switches: {asic: trident3}
workload:
  - {kind: permutation, size: 8MB}
telemetry: {interval: 5us}
run: {duration: 50ms, seed: 3}
"""


def rows(work: Path) -> list[Row]:
    """Kill -9 and resume, over and over, until KILLS processes were killed."""
    scenario = work / "killed.yml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    whole, cut = work / "whole", work / "cut"
    failures: list[str] = []
    call("run", scenario, "--out", whole, "--quiet")  # compiles the engine where it is not compiled yet
    call("run", scenario, "--out", whole, "--quiet", "--force")
    digest = _manifest(whole)["digest"]
    wall_s = _manifest(whole)["timings"]["wall_s"]
    moments = random.Random(16)
    killed = 0
    while killed < KILLS and len(failures) < KILLS:
        resume = ["--resume"] if (cut / "manifest.json").exists() else []
        process = start("run", scenario, "--out", cut, "--quiet", "--checkpoint-every", "0.02", *resume)
        while process.poll() is None and lock.writer(cut) is None:
            time.sleep(0.005)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a run that ends before its moment is not waited for
            process.wait(moments.uniform(0.0, 0.6) * wall_s)
        process.kill()
        _, err = process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
            continue
        _compare(f"after {killed} kills", process.returncode, err.decode(), whole, cut, digest, failures)
        shutil.rmtree(cut)
    answer = call("run", scenario, "--out", cut, "--quiet", *(["--resume"] if (cut / "manifest.json").exists() else []))
    _compare(f"after {killed} kills", answer.code, answer.err, whole, cut, digest, failures)
    return [
        Row(
            "`kill -9` of `fabric run` at a random moment, then `--resume`: the digest and every byte of the "
            "results are those of a run that was not killed",
            killed,
            "0",
            failures,
        )
    ]


def _compare(case: str, code: int, err: str, whole: Path, cut: Path, digest: str, failures: list[str]) -> None:
    if code != 0:
        failures.append(f"{case}: exit {code}: {err.strip()[-200:]}")
    elif _manifest(cut)["digest"] != digest:
        failures.append(f"{case}: another digest")
    else:
        failures += [
            f"{case}: {name} differs" for name in RESULTS if (whole / name).read_bytes() != (cut / name).read_bytes()
        ]


def _manifest(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found

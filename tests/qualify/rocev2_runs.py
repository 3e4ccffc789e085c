"""`python -m tests.qualify.rocev2_runs`: the plan `sonic-rocev2` on three configurations that come with the package.

Writes rocev2_runs.json, from which docs/qualify.md has its table. Times are of the processor in a new process, start
included, user and system together: those of the wall clock are of the machine's other work, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fabric.visible import in_markdown
from tools.requirements import ROOT

RESULTS: Final = Path(__file__).with_suffix(".json")
PLAN: Final = "sonic-rocev2"
CONFIGURATIONS: Final = (
    "docs/howto/qualify-example",
    "docs/howto/margins-example --dut leaf1",
    "docs/howto/validate-example/after --dut leaf1",
)
_MARKS: Final = {"green": "green", "red": "**red**", "not run": "not run", "reported": "reported"}


def words_of(configuration: str) -> list[str]:
    """Of the command, after `fabric`."""
    return ["qualify", PLAN, *configuration.split()]


def measured(configuration: str) -> dict[str, Any]:
    """Checks of each scenario, findings, and times in seconds."""
    before = os.times()
    done = subprocess.run([sys.executable, "-m", "fabric", *words_of(configuration), "--json"], cwd=ROOT,
                          capture_output=True, text=True, check=False)  # fmt: skip
    after = os.times()
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr)
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return {"configuration": configuration, "cpu_s": round(cpu_s, 1),
            "scenarios": list(outcome(json.loads(done.stdout)))}  # fmt: skip


def outcome(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Of the command's JSON, what the table has."""
    for it in data["scenarios"]:
        run = it["run"] or {"ports": [], "simulated_ns": 0}
        yield {
            "scenario": f"{it['case']}/{it['scenario']}",
            "ports": len(run["ports"]),
            "simulated_ms": run["simulated_ns"] / 1e6,
            "findings": it["findings"],
            "checks": {check["id"]: check["result"] for check in it["checks"]},
            "causes": [f"{check['id']}: {check['cause']}" for check in it["checks"] if check["result"] == "red"],
        }


def markdown() -> Iterator[str]:
    """Lines of the section of docs/qualify.md."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    yield f"## {PLAN} on three configurations\n"
    yield "Measured by `python -m tests.qualify.rocev2_runs`; every check of every scenario, and the time of the whole"
    yield "plan in a new process."
    for row in rows:
        tally: dict[str, int] = {}
        for it in row["scenarios"]:
            for result in it["checks"].values():
                tally[result] = tally.get(result, 0) + 1
        yield f"\n### {row['configuration'].removeprefix('docs/howto/')}\n"
        counted = ", ".join(f"{number} {result}" for result, number in tally.items())
        yield f"`fabric {' '.join(words_of(row['configuration']))}`: {counted};"
        yield f"{row['cpu_s']} s of the processor.\n"
        yield "| scenario | ports | simulated | checks | findings and causes |\n|---|---|---|---|---|"
        for it in row["scenarios"]:
            checks = ", ".join(f"{name} {_MARKS[result]}" for name, result in it["checks"].items())
            lasts = f"{it['simulated_ms']:g} ms" if it["ports"] else ""
            said = in_markdown("; ".join([*it["findings"], *it["causes"]]))
            yield f"| `{it['scenario']}` | {it['ports'] or ''} | {lasts} | {checks} | {said} |"
    yield ""


if __name__ == "__main__":
    found = [measured(it) for it in CONFIGURATIONS]
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{RESULTS.relative_to(ROOT)}\n")

"""The figures that the guides quote are those of the commands beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabric.render.tables import cell
from fabric.runs import simulate
from fabric.runs.session import Hooks
from fabric.scenario.load import load_scenario


def simulated(root: Path, name: str, folder: Path) -> dict[str, Any]:
    """summary.json of a scenario that comes with the emulator."""
    compiled, plan = simulate.prepare(load_scenario(root / "scenarios" / f"{name}.yml"))
    return dict(simulate.simulate(compiled, plan, simulate.Options(out=folder / "run"), Hooks()).summary)


def section(root: Path, number: int) -> str:
    """One section of the guide to tenants."""
    guide = (root / "docs" / "howto" / "tenant-routing.md").read_text(encoding="utf-8")
    return guide.partition(f"\n## {number}. ")[2].partition("\n## ")[0]


def test_the_tables_of_the_guide_to_tenants_are_those_of_its_run(repo_root: Path, tmp_path: Path) -> None:
    found = simulated(repo_root, "tenant-routing", tmp_path)
    block = section(repo_root, 4).partition("```\n")[2].partition("```")[0]
    shown = [" ".join(line.split()) for line in block.splitlines() if not line.startswith(("$", " event ", " port "))]
    units = {"time_ns": "ns", "reaction_ns": "delay", "convergence_ns": "delay", "updates": "", "packets_lost": ""}
    assert shown == [
        *(
            " ".join([row["event"], *(cell(row[name], unit) for name, unit in units.items())])
            for row in found["routing"]["events"]
        ),
        *(
            f"{row['port']} {row['class']} {row['pkts']:,} {cell(row['bytes'], 'bytes')} {row['reasons'][0]}"
            for row in found["drops"]["ports"]
        ),
    ]


def test_the_packets_that_end_at_the_healthy_leaf_are_as_many_as_the_guide_says(
    repo_root: Path, tmp_path: Path
) -> None:
    found = simulated(repo_root, "tenant-leaf-crash", tmp_path)
    ended = sum(row["pkts"] for row in found["drops"]["ports"] if row["port"].startswith("leaf3:"))
    assert f": {ended:,} of them at leaf3 in that run." in section(repo_root, 5)
